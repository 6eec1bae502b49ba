"""A diagram as a picture, also one that cannot run."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from blocks.errors import PlantloopError
from cosim.compile.netlist import Netlist
from cosim.drawing.sheet import draw
from cosim.system import System
from cosim.viewer.diagram_data import diagram_data
from cosim.viewer.page_data import blocks_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_diagram(drawn: Netlist, flat: Callable[[], System], path: str | os.PathLike[str] | None) -> Figure:
    """The picture of a diagram; if `flat()` fails, the picture says why.

    Raises
    ------
    PlantloopError      the picture cannot be written
    """
    system, problems = None, ""
    try:
        system = flat()
    except PlantloopError as error:
        problems = str(error)
    pictures = {where: made for where, block in blocks_of(drawn) if (made := block.picture()) is not None}
    return draw(diagram_data(drawn, system, problems), path, pictures)
