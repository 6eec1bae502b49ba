"""How far a run is: reported to a function of one's own, or by a bar on standard error."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TextIO

from blocks.arguments import function

REFRESH = 0.1  # s of wall time between two pictures of the bar
LINES = 10  # where there is no terminal: a line per tenth of the run

FORCED = ("FORCE_COLOR", "TTY_COMPATIBLE")  # variables by which a user asks rich for colours elsewhere

Progress = Callable[[Any], None]


def coloured(stream: TextIO) -> bool:
    """Is it for rich to decide what this stream can show? Otherwise it is plain."""
    return stream.isatty() or any(os.environ.get(name) for name in FORCED)


def check_progress(progress: Any) -> Progress | None:
    """What is called; None for a bar, and for nothing.

    Raises
    ------
    PlantloopError      neither a function nor True, False or None
    """
    if isinstance(progress, bool):
        return None
    return function(progress, "progress", "one number; True shows a bar")


def telling(
    progress: Any, until: float, unit: str = "s simulated"
) -> AbstractContextManager[Progress | None]:
    """What to call with the present time [s] (or another count that ends at `until`).

    progress : a function, called as it is; True for a bar, which is a few lines where standard error is no
        terminal; None or False for nothing

    Raises
    ------
    PlantloopError      something else
    """
    called = check_progress(progress)
    return nullcontext(called) if progress is not True else _bar_or_lines(until, unit)


@contextmanager
def _bar_or_lines(until: float, unit: str) -> Iterator[Progress]:
    with progress_bar(until, unit) as shown:
        yield shown or _lines(until, unit)


def _lines(until: float, unit: str) -> Progress:
    """A line on standard error for every tenth of the way."""
    passed = 0

    def advance(t: float) -> None:
        nonlocal passed
        tenths = int(LINES * t / until + 1e-9) if until > 0 else LINES
        if tenths > passed:
            passed = tenths
            print(f"{t:g} of {until:g} {unit}", file=sys.stderr)

    return advance


@contextmanager
def progress_bar(until: float, unit: str = "s simulated") -> Iterator[Progress | None]:
    """A bar over simulated time [s] on standard error; nothing where that is not a terminal."""
    if not coloured(sys.stderr) or until <= 0:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (
        BarColumn(40),
        TextColumn("{task.completed:.2f} of {task.total:g} " + unit),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=console) as bar:
        task = bar.add_task("", total=until)
        shown = 0.0

        def advance(t: float) -> None:
            nonlocal shown
            now = time.monotonic()
            if now - shown >= REFRESH or t >= until:  # a bar must not cost more than the ticks it counts
                shown = now
                bar.update(task, completed=t)

        yield advance
