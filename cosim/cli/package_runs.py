"""`cosim run` of an FMU or an SSP package by itself: a table of final values, and the result in a file."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from blocks.errors import SimulationError
from cosim.cli.terminal import Row, numbers, print_error, print_heading, print_rows

if TYPE_CHECKING:
    from cosim.result.result import Result

SHOWN = 12  # most final values shown
DEFAULT_END = 1.0  # s, if there is no default experiment


def length_of(start: float | None, stop: float | None) -> float:
    """The length of a run over a default experiment [s]: runs begin at t = 0, wherever that does."""
    begins = start or 0.0
    return DEFAULT_END if stop is None else stop - begins if stop > begins else stop


def warn_of_start(path: Path, start: float | None, until: float) -> None:
    """Warn of a default experiment that does not begin at t = 0."""
    if start:
        warnings.warn(
            f"the default experiment of '{path.name}' begins at t={start:g} s; runs begin at t=0 s, and this "
            f"one ends at t={until:g} s. An opened FMU begins where it is told to: "
            f"initialize(start_time={start:g}).",
            stacklevel=3,
        )


def run_package(path: Path, folder: Path, made: Callable[[], Result]) -> None:
    """Show and write the results of a run `made`; for a failed run, those up to the failure."""
    print_heading(path.stem, str(path))
    try:
        result = made()
    except SimulationError as error:
        if error.result is not None:
            folder.mkdir(parents=True, exist_ok=True)
            error.result.save(folder / "result.nc")
            print_error(f"partial result written: {folder / 'result.nc'}")
        raise
    folder.mkdir(parents=True, exist_ok=True)
    result.save(folder / "result.nc")
    rows = [Row("run", f"{result.time[-1]:g} s, {result.settings['engine'].value} engine")]
    if result.message:
        rows.append(Row("end", result.message))
    for k, name in enumerate(list(result)[:SHOWN]):
        rows.append(Row("final" if k == 0 else "", f"{name} = {numbers(result[name][-1])}"))
    print_rows([*rows, Row("written", str(folder / "result.nc"))])
