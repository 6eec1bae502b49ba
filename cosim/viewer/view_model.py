"""The page that `view` of a diagram or a plant shows: a file, or a page that controls a run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from blocks.arguments import flag
from blocks.contract.block import Block
from blocks.errors import PlantloopError
from cosim.diagram import Diagram
from cosim.viewer.page import view
from cosim.viewer.page_data import of_diagram


def view_model(
    model: Diagram | Block,
    out: str | os.PathLike[str] | None,
    show: bool,
    live: bool,
    options: Mapping[str, Any],
) -> Any:
    """The page of a diagram, or of a block alone; arguments as of `Diagram.view`.

    Raises
    ------
    PlantloopError      options that do not belong together; the page cannot be written; it cannot run
    """
    if flag(live, "live"):
        if out is not None:
            raise PlantloopError("a live view is no file: leave out= away, and save its result.", value=out)
        from cosim.viewer.server.live_view import view_diagram  # imports a web server

        return view_diagram(model, show=show, **options)
    if options:
        raise PlantloopError(f"{', '.join(options)} belongs to live views.", hint="Add live=True.")
    return view(of_diagram(model), out, show)
