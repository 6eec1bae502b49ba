"""Blocks: the contract every block obeys (`Block`, `Equations`) and the library of signal blocks.

One family per file: sources, noise, math, continuous, discrete, delays, controllers, nonlinear, switching,
lookup, tracking, routing, hold, opaque.
"""

from blocks import functions
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate, Ticks
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
from blocks.library.continuous import Integrator, StateSpace, TransferFunction
from blocks.library.controllers import PID, DiscretePID, StateFeedback
from blocks.library.delays import TransportDelay
from blocks.library.discrete import (
    DiscreteIntegrator,
    DiscreteStateSpace,
    DiscreteTransferFunction,
    UnitDelay,
)
from blocks.library.hold import Hold, RateTransition
from blocks.library.lookup import LookupTable1D, LookupTable2D
from blocks.library.math import Gain, Product, Sum
from blocks.library.noise import RandomNumber, UniformRandomNumber
from blocks.library.nonlinear import Abs, DeadZone, Quantizer, Saturation, Sign
from blocks.library.python_function import Function, PythonFunction
from blocks.library.routing import Demux, Mux, Selector
from blocks.library.sources import Clock, Constant, Pulse, Ramp, Sine, Step, TimeTable
from blocks.library.switching import RateLimiter, Relay, StopWhen, Switch
from blocks.library.tracking import PeakHold, TurnCounter

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
