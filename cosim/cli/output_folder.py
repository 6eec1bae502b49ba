"""Where a command writes: the folder of --out, or else one in results/ named after what is run."""

from __future__ import annotations

from pathlib import Path

from blocks.errors import PlantloopError
from blocks.files import is_inside

RESULTS = Path("results")


def output_folder(out: Path | None, name: str, trust: bool = False) -> Path:
    """The folder of --out; without it the one of a name in results/, which no link may lead elsewhere.

    Whoever packed a model may have packed a link of that name beside it: only what was asked for leads out.

    Raises
    ------
    PlantloopError      a link leads out of the working folder, without trust
    """
    if out is not None:
        return out
    folder = RESULTS / (name.strip(". ") or "run")  # a file named "...xml" has the stem ".."
    if not trust and not is_inside(folder, [Path.cwd()]):
        raise PlantloopError(
            f"the output folder '{folder}' leads to '{folder.resolve()}' through a link.",
            path=str(folder),
            hint=f"If that is where the files belong, say so: --out {folder}.",
        )
    return folder
