"""`cosim run` of an FMU or an SSP package by itself: a table of final values, and the result in a file.

The run is that of the default experiment, and its result has the time of the FMUs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from blocks.errors import SimulationError
from cosim.cli.terminal import Row, numbers, print_error, print_heading, print_rows
from cosim.fmi.unit_clock import UnitClock
from cosim.result.record import TickSeries

if TYPE_CHECKING:
    from cosim.result.result import Result

SHOWN = 12  # most final values shown
DEFAULT_END = 1.0  # s, if there is no default experiment


@dataclass(frozen=True)
class ExperimentSpan:
    """The span of a default experiment [s] on the clock of the FMUs; a run counts from its start."""

    start: float
    length: float

    @staticmethod
    def of(start: float | None, stop: float | None) -> ExperimentSpan:
        """From the attributes of a description; without a stop that makes sense, `DEFAULT_END` long."""
        span = ExperimentSpan(0.0 if start is None else start, DEFAULT_END)
        return span if stop is None or stop < span.start else span.to(stop)

    def to(self, stop: float) -> ExperimentSpan:
        """From the same start to another end [s] on that clock."""
        return ExperimentSpan(self.start, UnitClock(self.start).run_time(stop))


@dataclass(frozen=True)
class PackageRun:
    """A run that is ready to be made: its span, and what makes it."""

    span: ExperimentSpan
    made: Callable[[], Result]


def on_clock(result: Result, start: float) -> Result:
    """The result of a run without a coupling, on a clock that shows `start` [s] where the run begins."""
    if not start:
        return result
    events = tuple(event._replace(time=event.time + start) for event in result.events)
    ticks = {name: TickSeries(s.time + start, s.values) for name, s in result.ticks_of.items()}
    return replace(result, time=result.time + start, events=events, ticks_of=ticks)


def run_package(path: Path, folder: Path, prepared: Callable[[], PackageRun]) -> None:
    """Show and write the results of a run; for a failed run, those up to the failure."""
    print_heading(path.stem, str(path))
    run = prepared()
    span = run.span
    try:
        result = on_clock(run.made(), span.start)
    except SimulationError as error:
        if error.result is not None:
            folder.mkdir(parents=True, exist_ok=True)
            on_clock(error.result, span.start).save(folder / "result.nc")
            print_error(f"partial result written: {folder / 'result.nc'}")
        if span.start:
            print_error(
                f"times that are not those of an FMU are counted from the start at t={span.start:g} s"
            )
        raise
    folder.mkdir(parents=True, exist_ok=True)
    result.save(folder / "result.nc")
    begin = f"from {span.start:g} to " if span.start else ""
    rows = [Row("run", f"{begin}{result.time[-1]:g} s, {result.settings['engine'].value} engine")]
    if result.message:
        rows.append(Row("end", result.message))
    for k, name in enumerate(list(result)[:SHOWN]):
        rows.append(Row("final" if k == 0 else "", f"{name} = {numbers(result[name][-1])}"))
    print_rows([*rows, Row("written", str(folder / "result.nc"))])
