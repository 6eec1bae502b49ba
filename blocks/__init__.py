"""Blocks: the contract every block obeys (`Block`, `Equations`) and the library of signal blocks.

One family per file: sources, noise, math, continuous, discrete, delays, controllers, nonlinear, switching,
lookup, tracking, routing, hold, Python functions. A family lists its blocks in ``__all__``.
"""

from blocks import functions, library
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
from blocks.library import *  # noqa: F403  # exactly what the families list

__all__ = [
    "AlgebraicLoopError",
    "Block",
    "BlockError",
    "Equations",
    "ExpressionError",
    "ModelError",
    "PlantloopError",
    "Rate",
    "ScenarioError",
    "SimulationError",
    "Ticks",
    "WiringError",
    "functions",
]
__all__ += library.__all__
