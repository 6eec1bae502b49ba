"""The page docs/mutations.md: shares caught per file, and what survived with the reason."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
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

A row is about the file as it was then: *code* is a hash of the places where it could be changed, and
`python -m tests.mutations --stale` lists the files that differ by now, and those of the core without a row.
"""
NAMES = ("file", "changes possible", "drawn", "caught", "same", "not tried", "share", "seed", "code")
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
    code: str  # fingerprint of the file that was drawn from


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
        if len(row) == len(NAMES):
            name = row[0].strip("`")
            files[name] = Counted(name, int(row[1]), int(row[2]), int(row[7]), row[8])
        elif len(row) == 3:
            survivors.append(Survivor(row[0].strip("`"), row[1], row[2]))
    return files, survivors


def fingerprint(changes: Sequence[Change]) -> str:
    """Of a file by its changes: another one where code differs that can be changed, not where comments do."""
    return sha256("\n".join(f"{c.before} in {c.shown}" for c in changes).encode()).hexdigest()[:8]


def stale(text: str, now: Mapping[str, Sequence[Change] | None]) -> list[str]:
    """Of these files, with their changes (None: gone), those without a row or with one of another state."""
    rows, _ = read(text)
    found = []
    for file, changes in sorted(now.items()):
        row = rows.get(file)
        if changes is None:
            found.append(f"{file}: is gone and has a row")
        elif row is None and changes:
            found.append(f"{file}: no row, {len(changes)} changes possible")
        elif row is not None and row.code != fingerprint(changes):
            then = f"{row.drawn} of {row.possible} drawn then"
            found.append(f"{file}: changed, {then}, {len(changes)} possible now")
    return found


def drawn_again(file: str, changes: Sequence[Change]) -> list[Change]:
    """Changes of a file that the page lists as survivors and that are not the same program."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    listed = {s.change for s in read(text)[1] if s.file == file and not s.reason.startswith(SAME)}
    return [change for change in changes if change.described in listed]


def written(
    text: str, file: str, verdicts: Sequence[Verdict], every: Sequence[Change], seed: int, *,
    again: bool = False,
) -> str:  # fmt: skip
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
        files[file] = Counted(file, len(every), len(verdicts), seed, fingerprint(every))
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
        rows.append(f"| `{name}` | {row.possible} | {shown} | {share(*numbers)} | {row.seed} | {row.code} |")
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
