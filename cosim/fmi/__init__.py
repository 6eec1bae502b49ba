"""FMUs in and out: an FMU as a block of a diagram, or opened and stepped by hand; a diagram as an FMU.

Names are imported on first use, so that ``import cosim`` stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cosim.fmi.export.fmu_file import export_fmu
    from cosim.fmi.fmu import FMU

_HOMES = {"FMU": "cosim.fmi.fmu", "export_fmu": "cosim.fmi.export.fmu_file"}

__all__ = ["FMU", "export_fmu"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cosim.fmi' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)
