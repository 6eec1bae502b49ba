"""What `Diagram.view` and `Diagram.draw` show: a page that is a file, one that steers a run, a picture."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from blocks.errors import PlantloopError
from cosim.drawing.sheet import draw
from cosim.viewer.diagram_data import diagram_data
from cosim.viewer.page import view
from cosim.viewer.page_data import of_diagram

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def view_diagram_as_asked(
    diagram: Any,
    out: str | os.PathLike[str] | None,
    show: bool,
    live: bool,
    options: Mapping[str, Any],
) -> Any:
    """The page of a diagram; arguments as of `Diagram.view`.

    Raises
    ------
    PlantloopError      options that do not belong together; the page cannot be written; it cannot run
    """
    if live:
        if out is not None:
            raise PlantloopError("a live view is no file: leave out= away, and save its result.", value=out)
        # live views know diagrams, which import this: they are looked for when they are asked for
        return import_module("cosim.viewer.server.live_view").view_diagram(diagram, show=show, **options)
    if options:
        raise PlantloopError(f"{', '.join(options)} belongs to live views.", hint="Add live=True.")
    return view(of_diagram(diagram), out, show)


def draw_diagram(diagram: Any, path: str | os.PathLike[str] | None) -> Figure:
    """A picture of a diagram; one that cannot run says why.

    Raises
    ------
    PlantloopError      the picture cannot be written
    """
    system, problems = None, ""
    try:
        system = diagram.system()
    except PlantloopError as error:
        problems = str(error)
    return draw(diagram_data(diagram.netlist(), system, problems), path)
