"""The page docs/mutations.md: shares caught per file, and what survived with the reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tests.mutating.changes import Change
from tests.mutating.judging import Verdict

PAGE = Path(__file__).parents[2] / "docs" / "mutations.md"
HEAD = """# Would the tests notice a mistake?

Single changes (an operator, a sign, a comparison, a constant, a dropped term, two arguments or indices in
the wrong order) are drawn at random from each file, made one at a time on a copy, and tests that run the
changed line are run until one fails that passes without the change; for the C runtime with the rules of
time on the native engine, and then the sanitizers. `python -m tests.mutations FILES --count N --seed S
--write` writes this page; what it cannot know, the reason of a survivor, is written here by hand and stays.
A share of a few changes says little about a file: look at how many were drawn. *Same* changes leave what a
user sees as it was. *Not tried* are changes of lines that none of the test files chosen for that run runs.
Neither counts in a share. Tests beyond a budget of time per change were left out, so that a whole run may
catch what survived here; files without a row were not tried at all.
"""
NAMES = ("file", "changes possible", "drawn", "caught", "same", "not tried", "share", "seed")
FILES = f"| {' | '.join(NAMES)} |\n|{' --- |' * len(NAMES)}"
SURVIVORS = "| file | change | what it is |\n| --- | --- | --- |"
NOT_RUN = "no test that was chosen runs it"
SAME = "same:"  # a reason that begins so says that the change changes nothing a user sees


@dataclass(frozen=True)
class Counted:
    """A row of the first table."""

    file: str
    possible: int
    drawn: int
    seed: int


@dataclass(frozen=True)
class Survivor:
    """A row of the second."""

    file: str
    change: str
    reason: str


def escaped(text: str) -> str:
    """In a cell."""
    return text.replace("|", "\\|")


def cells(line: str) -> list[str]:
    """Of a row."""
    return [part.strip().replace("\\|", "|") for part in re.split(r"(?<!\\)\|", line)[1:-1]]


def read(text: str) -> tuple[dict[str, Counted], list[Survivor]]:
    """Both tables."""
    files: dict[str, Counted] = {}
    survivors: list[Survivor] = []
    for line in text.splitlines():
        row = cells(line) if line.startswith("| `") else []
        if len(row) == 8:
            name = row[0].strip("`")
            files[name] = Counted(name, int(row[1]), int(row[2]), int(row[7]))
        elif len(row) == 3:
            survivors.append(Survivor(row[0].strip("`"), row[1], row[2]))
    return files, survivors


def drawn_again(file: str, changes: Sequence[Change]) -> list[Change]:
    """Changes of a file that the page lists as survivors and that are not the same program."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    listed = {s.change for s in read(text)[1] if s.file == file and not s.reason.startswith(SAME)}
    return [change for change in changes if change.described in listed]


def written(
    text: str, file: str, verdicts: Sequence[Verdict], possible: int, seed: int, *, again: bool = False
) -> str:
    """The page with a file's rows made anew; with `again`, with those survivors gone that were caught."""
    files, survivors = read(text)
    lived = [v.change.described for v in verdicts if v.outcome != "caught"]
    reasons = {v.change.described: NOT_RUN for v in verdicts if v.outcome == "not run"}
    reasons |= {s.change: s.reason for s in survivors if s.file == file and s.reason not in ("", NOT_RUN)}
    if again:
        tried = {v.change.described for v in verdicts}
        mine = [s for s in survivors if s.file == file and (s.change not in tried or s.change in lived)]
        mine = [replace(s, reason=reasons.get(s.change, "")) if s.change in tried else s for s in mine]
    else:
        mine = [Survivor(file, change, reasons.get(change, "")) for change in lived]
        files[file] = Counted(file, possible, len(verdicts), seed)
    return page(files, [s for s in survivors if s.file != file] + mine)


def page(files: dict[str, Counted], survivors: Sequence[Survivor]) -> str:
    """The text."""
    rows: list[str] = []
    total = np.zeros(4, dtype=int)  # drawn, caught, same, not tried
    for name in sorted(files):
        row = files[name]
        mine = [s for s in survivors if s.file == name]
        same = sum(s.reason.startswith(SAME) for s in mine)
        idle = sum(s.reason == NOT_RUN for s in mine)
        numbers = [row.drawn, row.drawn - len(mine), same, idle]
        total += numbers
        shown = " | ".join(map(str, numbers))
        rows.append(f"| `{name}` | {row.possible} | {shown} | {share(*numbers)} | {row.seed} |")
    lines = [
        f"| `{s.file}` | {escaped(s.change)} | {escaped(s.reason)} |" for s in sorted(survivors, key=key)
    ]
    drawn, caught, same, idle = map(int, total)
    summary = (
        f"{drawn} changes in {len(files)} files: {caught} caught, {same} the same program, {idle} not tried, "
        f"{drawn - caught - same - idle} survived; {share(drawn, caught, same, idle)} of those that count."
    )
    return "\n".join(
        [HEAD, summary, "", "## Files", "", FILES, *rows, "", "## What survived", "", SURVIVORS, *lines, ""]
    )


def key(survivor: Survivor) -> tuple[str, str]:
    """Order of the second table."""
    return survivor.file, survivor.change


def share(drawn: int, caught: int, same: int, idle: int) -> str:
    """Of the changes that count, in percent."""
    of = drawn - same - idle
    return f"{100 * caught / of:.0f} %" if of else "-"


def with_reason(text: str, file: str, change: str, reason: str) -> str:
    """The page with the reason of one survivor."""
    files, survivors = read(text)
    found = [replace(s, reason=reason) if (s.file, s.change) == (file, change) else s for s in survivors]
    return page(files, found)
