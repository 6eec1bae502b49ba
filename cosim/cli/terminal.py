"""Output of the command line: headings, rows and errors.

On a terminal they have colours and fold long lines; elsewhere they are plain lines, and rich, which takes
time to import, is left out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import NamedTuple

from cosim.progress import coloured


def visible(text: str) -> str:
    r"""A text with what would steer a terminal written out: names and messages come from files of strangers.

    >>> visible("a\x1b[2J")
    'a\\x1b[2J'
    """
    return _STEERING.sub(lambda found: repr(found[0])[1:-1], text)


_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters but tab and newline, and those that turn the direction of writing."""


class Row(NamedTuple):
    """A row of a table with two columns."""

    name: str
    text: str
    style: str = ""  # style of the text, such as "red"


def print_heading(name: str, description: str) -> None:
    """Print a heading on standard output."""
    name, description = visible(name), visible(description)
    if not coloured(sys.stdout):
        print(f"{name}  {description}" if description else name)
        return
    from rich.console import Console
    from rich.text import Text

    heading = Text(name, style="bold")
    if description:
        heading.append(f"  {description}", style="not bold")
    Console(soft_wrap=True, highlight=False).print(heading)


def print_error(text: str) -> None:
    """Print a line on standard error."""
    print(visible(text), file=sys.stderr)


def print_rows(rows: Iterable[Row]) -> None:
    """Print two columns: as a table that folds long lines on a terminal, as plain lines elsewhere."""
    rows = [Row(visible(row.name), visible(row.text), row.style) for row in rows]
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
        table.add_row(Text(row.name), Text(row.text, row.style))
    Console(soft_wrap=True, highlight=False).print(table)


def print_sections(sections: Iterable[tuple[str, list[str]]]) -> None:
    """Print headings with their lines; "none" under one without lines."""
    print_rows(
        Row(name if k == 0 else "", line)
        for name, found in sections
        for k, line in enumerate(found or ["none"])
    )


def numbers(values: Iterable[float]) -> str:
    """Numbers of a signal as text."""
    listed = [f"{float(v) + 0.0:.6g}" for v in values]  # + 0.0 turns -0 into 0
    return listed[0] if len(listed) == 1 else f"[{', '.join(listed)}]"
