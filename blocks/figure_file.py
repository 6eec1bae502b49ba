"""Pictures written to files, whichever part of the project draws them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from blocks.arguments import file_path
from blocks.errors import PlantloopError
from blocks.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write the picture; the suffix chooses among the formats matplotlib knows (.png, .svg, .pdf, ...)."""
    target = file_path(path, "the file of a picture", "run.png")
    known = figure.canvas.get_supported_filetypes()
    if target.suffix.lower().lstrip(".") not in known:
        raise PlantloopError(
            f"cannot save a picture as '{target}': the suffix '{target.suffix}' is unknown.",
            path=str(target),
            hint=f"Use .png, or one of {', '.join('.' + k for k in sorted(known))}.",
        )
    with replacing(target) as temporary:
        figure.savefig(temporary)
