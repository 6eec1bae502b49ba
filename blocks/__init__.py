"""Blocks: the contract every block obeys (`Block`, `Equations`) and the library of signal blocks.

One family per file: sources, math, continuous, discrete, controllers, nonlinear, routing, hold, opaque.
"""

from blocks import functions
from blocks.block import Block, Equations
from blocks.continuous import Integrator, StateSpace, TransferFunction
from blocks.controllers import PID, DiscretePID, StateFeedback
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
from blocks.math import Gain, Product, Sum
from blocks.nonlinear import Saturation
from blocks.opaque import Function, PythonFunction
from blocks.rate import Rate, Ticks
from blocks.routing import Demux, Mux, Selector
from blocks.sources import Clock, Constant, Pulse, Ramp, Sine, Step, TimeTable

__all__ = [
    "PID",
    "AlgebraicLoopError",
    "Block",
    "BlockError",
    "Clock",
    "Constant",
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
    "ModelError",
    "Mux",
    "PlantloopError",
    "Product",
    "Pulse",
    "PythonFunction",
    "Ramp",
    "Rate",
    "RateTransition",
    "Saturation",
    "ScenarioError",
    "Selector",
    "SimulationError",
    "Sine",
    "StateFeedback",
    "StateSpace",
    "Step",
    "Sum",
    "Ticks",
    "TimeTable",
    "TransferFunction",
    "UnitDelay",
    "WiringError",
    "functions",
]
