"""`cosim run` of an FMU or an SSP package by itself: a table of final values, and the result in a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from blocks.errors import SimulationError
from cosim.cli.terminal import Row, numbers, print_error, print_heading, print_rows

if TYPE_CHECKING:
    from cosim.result.result import Result

SHOWN = 12  # most final values shown


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
