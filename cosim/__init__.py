"""Wire blocks into diagrams and run them: the diagram, the scheduler, the engines, linear models.

Names are imported on first use, so that ``import cosim`` stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cosim.version import __version__

if TYPE_CHECKING:
    from cosim.diagram import Diagram
    from cosim.linear import OperatingPoint, linearize, trim
    from cosim.result import Result
    from cosim.simulation import Simulation, simulate

_HOMES = {
    "Diagram": "cosim.diagram",
    "OperatingPoint": "cosim.linear",
    "Result": "cosim.result",
    "Simulation": "cosim.simulation",
    "linearize": "cosim.linear",
    "simulate": "cosim.simulation",
    "trim": "cosim.linear",
}

__all__ = [
    "Diagram",
    "OperatingPoint",
    "Result",
    "Simulation",
    "__version__",
    "linearize",
    "simulate",
    "trim",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cosim' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)
