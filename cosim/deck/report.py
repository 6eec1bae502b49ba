"""The files and lines of a finished deck: its result, the saved models, one line per command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cosim.deck.outcome import DeckRun
from cosim.result.result import Result

MOST_ROWS = 6  # most signals in the picture


def write(result: Result, name: str, folder: Path, plot: bool = False) -> list[Path]:
    """Write a result and, if asked for, a picture of its first signals into a folder; returns the files."""
    if not len(result.time):
        return []
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / "result.nc"]
    result.save(files[0])
    if plot and result.signals:
        files.append(folder / f"{Path(name).stem}.png")
        result.plot(*_first(result), path=files[1])
    return files


def _first(result: Result) -> list[str]:
    """The first signals; states, which come last, only if there are no others."""
    known = result.signals if result.origin is None else result.origin[1].signals
    return ([name for name in result if name in known] or list(result))[:MOST_ROWS]


def rows(run: DeckRun) -> Iterator[tuple[str, str]]:
    """One line per command, the modes of every linear analysis, and final values of signals."""
    for step in run.steps:
        source = step.command.source
        where = f"line {source.line}" if source else step.command.tag
        yield where, step.text
        if step.linear is not None and step.linear.modes.modes:
            yield from (("", line) for line in step.linear.modes.table().splitlines())
    result = run.result
    if len(result.time):
        for k, name in enumerate(_first(result)):
            last = ", ".join(f"{float(v) + 0.0:.6g}" for v in result[name][-1].ravel())
            yield ("final" if k == 0 else ""), f"{name} = {last}"
    if run.message:
        yield "ended", run.message
