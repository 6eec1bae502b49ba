"""Blocks: the contract every block obeys (`Block`, `Equations`) and the library of signal blocks.

One family per file: sources, noise, math, continuous, discrete, delays, controllers, nonlinear, switching,
lookup, tracking, routing, hold, Python functions. A family lists its blocks in ``__all__``.

Names are imported on first use, each block with its family.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from blocks.elsewhere import known_elsewhere
from blocks.exports import Exports

if TYPE_CHECKING:
    from blocks import functions as functions
    from blocks.contract.block import Block as Block
    from blocks.contract.block import Equations as Equations
    from blocks.contract.rate import Rate as Rate
    from blocks.contract.rate import Ticks as Ticks
    from blocks.errors import AlgebraicLoopError as AlgebraicLoopError
    from blocks.errors import BlockError as BlockError
    from blocks.errors import ExpressionError as ExpressionError
    from blocks.errors import ModelError as ModelError
    from blocks.errors import PlantloopError as PlantloopError
    from blocks.errors import ScenarioError as ScenarioError
    from blocks.errors import SimulationError as SimulationError
    from blocks.errors import WiringError as WiringError
    from blocks.library import *  # noqa: F403  # exactly what the families list

_HOMES = {
    "AlgebraicLoopError": "blocks.errors",
    "Block": "blocks.contract.block",
    "BlockError": "blocks.errors",
    "Equations": "blocks.contract.block",
    "ExpressionError": "blocks.errors",
    "ModelError": "blocks.errors",
    "PlantloopError": "blocks.errors",
    "Rate": "blocks.contract.rate",
    "ScenarioError": "blocks.errors",
    "SimulationError": "blocks.errors",
    "Ticks": "blocks.contract.rate",
    "WiringError": "blocks.errors",
    "functions": "blocks.functions",
}


def _library() -> dict[str, str]:
    homes: dict[str, str] = importlib.import_module("blocks.library").HOMES
    return homes


if not TYPE_CHECKING:  # type checkers see what is imported above, and nothing else
    _exports = Exports(__name__, _HOMES, _library, lambda name: known_elsewhere(name, {*_HOMES, *_library()}))
    __getattr__, __dir__ = _exports.get, _exports.dir
