"""Blocks: the contract every block obeys (`Block`, `Equations`) and the library of signal blocks.

One family per file: sources, noise, math, continuous, discrete, delays, controllers, nonlinear, switching,
lookup, tracking, routing, hold, opaque.
"""

from blocks import functions
from blocks.block import Block, Equations
from blocks.continuous import Integrator, StateSpace, TransferFunction
from blocks.controllers import PID, DiscretePID, StateFeedback
from blocks.delays import TransportDelay
from blocks.discrete import DiscreteIntegrator, DiscreteStateSpace, DiscreteTransferFunction, UnitDelay
from blocks.errors import (
    AlgebraicLoopError,
    BlockError,
    ExpressionError,
    ModelError,
    PlantloopError,
    ScenarioError,
    SimulationError,
    WiringError,
)
from blocks.hold import Hold, RateTransition
from blocks.lookup import LookupTable1D, LookupTable2D
from blocks.math import Gain, Product, Sum
from blocks.noise import RandomNumber, UniformRandomNumber
from blocks.nonlinear import Abs, DeadZone, Quantizer, Saturation, Sign
from blocks.opaque import Function, PythonFunction
from blocks.rate import Rate, Ticks
from blocks.routing import Demux, Mux, Selector
from blocks.sources import Clock, Constant, Pulse, Ramp, Sine, Step, TimeTable
from blocks.switching import RateLimiter, Relay, StopWhen, Switch
from blocks.tracking import PeakHold, TurnCounter

__all__ = [
    "PID",
    "Abs",
    "AlgebraicLoopError",
    "Block",
    "BlockError",
    "Clock",
    "Constant",
    "DeadZone",
    "Demux",
    "DiscreteIntegrator",
    "DiscretePID",
    "DiscreteStateSpace",
    "DiscreteTransferFunction",
    "Equations",
    "ExpressionError",
    "Function",
    "Gain",
    "Hold",
    "Integrator",
    "LookupTable1D",
    "LookupTable2D",
    "ModelError",
    "Mux",
    "PeakHold",
    "PlantloopError",
    "Product",
    "Pulse",
    "PythonFunction",
    "Quantizer",
    "Ramp",
    "RandomNumber",
    "Rate",
    "RateLimiter",
    "RateTransition",
    "Relay",
    "Saturation",
    "ScenarioError",
    "Selector",
    "Sign",
    "SimulationError",
    "Sine",
    "StateFeedback",
    "StateSpace",
    "Step",
    "StopWhen",
    "Sum",
    "Switch",
    "Ticks",
    "TimeTable",
    "TransferFunction",
    "TransportDelay",
    "TurnCounter",
    "UniformRandomNumber",
    "UnitDelay",
    "WiringError",
    "functions",
]
