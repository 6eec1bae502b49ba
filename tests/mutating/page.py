"""The page docs/mutations.md: shares caught per file, and what survived with the reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.mutating.changes import Change
from tests.mutating.judging import Verdict

PAGE = Path(__file__).parents[2] / "docs" / "mutations.md"
HEAD = """# Would the tests notice a mistake?

Single changes (an operator, a sign, a comparison, a constant, a dropped term, two arguments or indices in
the wrong order) were drawn at random from each file, made one at a time on a copy, and tests that run the
changed line were run until one failed. `python -m tests.mutations FILES --count N --seed S --write` writes
this page; what it cannot know, the reason of a survivor, is written here by hand and stays. A share of a
few changes says little about a file: look at how many were drawn. *Same* changes leave what a user sees as
it was; they are not counted in a share. Tests beyond a budget of time per change were not tried, so that a
survivor may be caught by a whole run.
"""
NAMES = ("file", "changes possible", "drawn", "caught", "same", "share", "seed")
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
        if len(row) == 7:
            name = row[0].strip("`")
            files[name] = Counted(name, int(row[1]), int(row[2]), int(row[6]))
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
    rows, drawn_all, caught_all, same_all = [], 0, 0, 0
    for name in sorted(files):
        row = files[name]
        mine = [s for s in survivors if s.file == name]
        same = sum(s.reason.startswith(SAME) for s in mine)
        caught = row.drawn - len(mine)
        drawn_all, caught_all, same_all = drawn_all + row.drawn, caught_all + caught, same_all + same
        part = share(caught, row.drawn - same)
        rows.append(f"| `{name}` | {row.possible} | {row.drawn} | {caught} | {same} | {part} | {row.seed} |")
    total = share(caught_all, drawn_all - same_all)
    lines = [
        f"| `{s.file}` | {escaped(s.change)} | {escaped(s.reason)} |" for s in sorted(survivors, key=key)
    ]
    counts = f"{caught_all} caught, {same_all} the same program"
    summary = f"{drawn_all} changes in {len(files)} files: {counts}; {total}."
    return "\n".join(
        [HEAD, summary, "", "## Files", "", FILES, *rows, "", "## What survived", "", SURVIVORS, *lines, ""]
    )


def key(survivor: Survivor) -> tuple[str, str]:
    """Order of the second table."""
    return survivor.file, survivor.change


def share(caught: int, of: int) -> str:
    """In percent."""
    return f"{100 * caught / of:.0f} %" if of else "-"


def with_reason(text: str, file: str, change: str, reason: str) -> str:
    """The page with the reason of one survivor."""
    files, survivors = read(text)
    found = [replace(s, reason=reason) if (s.file, s.change) == (file, change) else s for s in survivors]
    return page(files, found)
