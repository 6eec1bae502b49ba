"""What the command line shows: headings, rows, errors and a progress bar.

On a terminal they have colours and fold long lines; elsewhere they are plain lines, and rich, which takes
time to import, is left out.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TextIO

REFRESH = 0.1  # s of wall time between two pictures of the progress bar


FORCED = ("FORCE_COLOR", "TTY_COMPATIBLE")  # variables by which a user asks rich for colours elsewhere


class Row(NamedTuple):
    """A line of a table in two columns."""

    name: str
    text: str
    style: str = ""  # of the text, such as "red"


def _coloured(stream: TextIO) -> bool:
    """Is it for rich to decide what this stream can show? Otherwise it is plain."""
    return stream.isatty() or any(os.environ.get(name) for name in FORCED)


def print_heading(name: str, description: str) -> None:
    """A heading on standard output."""
    if not _coloured(sys.stdout):
        print(f"{name}  {description}" if description else name)
        return
    from rich.console import Console
    from rich.text import Text

    heading = Text(name, style="bold")
    if description:
        heading.append(f"  {description}", style="not bold")
    Console(soft_wrap=True, highlight=False).print(heading)


def print_error(text: str) -> None:
    """A line on standard error."""
    print(text, file=sys.stderr)


def print_rows(rows: Iterable[Row]) -> None:
    """Two columns: a table that folds long lines on a terminal, plain lines elsewhere."""
    rows = list(rows)
    if not sys.stdout.isatty():
        width = max((len(row.name) for row in rows), default=0)
        for row in rows:
            print(f"{row.name:<{width}}  {row.text}".rstrip())
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(row.name, Text(row.text, row.style))
    Console(soft_wrap=True, highlight=False).print(table)


def print_sections(sections: Iterable[tuple[str, list[str]]]) -> None:
    """Headings with their lines; "none" under one that has none."""
    print_rows(
        Row(name if k == 0 else "", line)
        for name, found in sections
        for k, line in enumerate(found or ["none"])
    )


@contextmanager
def progress_bar(until: float) -> Iterator[Callable[[float], None] | None]:
    """A bar over simulated time [s] on standard error; nothing where that is not a terminal."""
    if not _coloured(sys.stderr) or until <= 0:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (
        BarColumn(40),
        TextColumn("{task.completed:.2f} of {task.total:g} s simulated"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("", total=until)
        shown = 0.0

        def advance(t: float) -> None:
            nonlocal shown
            now = time.monotonic()
            if now - shown >= REFRESH or t >= until:  # a bar must not cost more than the ticks it counts
                shown = now
                bar.update(task, completed=t)

        yield advance
