"""The contents of the page that `cosim view` makes for its files and options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from blocks.errors import PlantloopError
from blocks.files import is_folder
from cosim.cli.shared import checked_path
from cosim.viewer.early_page import SUFFIXES
from cosim.viewer.open_file import contents_of, of_two_files
from cosim.viewer.page_data import PageData

RESULTS = (".nc", ".npz")


@dataclass(frozen=True)
class ViewOptions:
    """Options of the command; see `cosim.viewer.open_file.contents_of`."""

    until: float | None
    forces: bool
    linear: bool
    trust: bool


def page_of_files(files: Sequence[Path], wanted: ViewOptions) -> PageData:
    """The contents of the page.

    Raises
    ------
    PlantloopError      files or options that do not belong together, and what opening them raises
    """
    if len(files) > 1:
        if len(files) > 2 or wanted.until is not None or wanted.forces or wanted.linear:
            raise PlantloopError(
                "cosim view compares two results, and takes no other option with them.",
                value=[str(file) for file in files],
            )
        first, second = (checked_path(file, "view", RESULTS) for file in files)
        return of_two_files(first, second)
    if not files[0].suffix and not files[0].exists():
        raise PlantloopError(f"there is no file or folder '{files[0]}'.", path=str(files[0]))
    path = files[0] if is_folder(files[0]) else checked_path(files[0], "view", SUFFIXES)
    suffix = path.suffix.lower()
    if wanted.until is not None and suffix != ".xml":
        raise PlantloopError(
            "--until belongs to models; a scenario says until in its table [run].", path=str(path)
        )
    if (wanted.forces or wanted.linear) and suffix not in (".xml", ".toml"):
        raise PlantloopError("--forces and --linear belong to scenarios and models.", path=str(path))
    return contents_of(path, wanted.trust, wanted.until, wanted.forces, wanted.linear)
