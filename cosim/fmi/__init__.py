"""FMUs in and out: an FMU as a block of a diagram, or opened and stepped by hand; a diagram as an FMU.

Names are imported on first use, so that ``import cosim`` stays fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from blocks.exports import Exports

if TYPE_CHECKING:
    from cosim.fmi.export.fmu_file import export_fmu as export_fmu
    from cosim.fmi.fmu import FMU as FMU

_HOMES = {"FMU": "cosim.fmi.fmu", "export_fmu": "cosim.fmi.export.fmu_file"}

if not TYPE_CHECKING:  # type checkers see only what is imported above
    _exports = Exports(__name__, _HOMES)
    __getattr__, __dir__ = _exports.get, _exports.dir
