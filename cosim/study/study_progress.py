"""The progress of a study: a bar with counts, time to go and runs per second, not in pipes; its warnings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from blocks.contract.user_lines import warn_user
from cosim.progress import check_progress, coloured
from cosim.run.watched import WatchedSignalWarning
from cosim.study.integral_check import warn_of_integrals
from cosim.study.running import BEYOND, WARNINGS
from cosim.study.store import StudyStore
from cosim.study.study_plan import StudyPlan
from cosim.study.work import Tally


class StudyProgress:
    """Adds up tallies, and passes the sum to a function."""

    def __init__(
        self, called: Callable[[Tally], None] | None = None, say: Callable[[str], None] | None = None
    ) -> None:
        self.total = Tally(0, 0, 0)
        self._called, self._say = called, say

    def add(self, tally: Tally) -> None:
        """Add the tally of further cases."""
        self.total = self.total + tally
        if self._called is not None:
            self._called(self.total)

    def say(self, text: str) -> None:
        """Show a line about the work itself."""
        if self._say is not None:
            self._say(text)


def warn_of_cases(store: StudyStore, plan: StudyPlan) -> None:
    """Warn once per message of blocks that watch a signal: in how many cases, and which was the first.

    And of integrals that the steps do not resolve, and of signals whose type is too small for them.
    """
    warn_of_integrals(store, plan)
    if plan.store.dtype == "float32":
        _warn_of_lost_numbers(store)
    if not plan.watches or WARNINGS not in (table := store.table()):
        return  # no block watches, or no case is done
    said = table[WARNINGS]
    found: dict[str, list[int]] = {}
    for case, text in said[said != ""].items():
        for line in text.split("\n"):
            found.setdefault(line, []).append(int(str(case)))
    for line, cases in found.items():
        often = f"in {len(cases)} of {len(said)} cases, case {cases[0]} the first"
        warn_user(f"{line} ({often}).", WatchedSignalWarning)


def _warn_of_lost_numbers(store: StudyStore) -> None:
    """Warn of cases whose signals are beyond what the store holds, and were stored as inf."""
    messages = store.table()["message"]
    lost = messages[messages.str.contains(BEYOND, regex=False)]
    if len(lost):
        text = str(lost.iloc[0])
        often = f"in {len(lost)} of {len(messages)} cases, case {lost.index[0]} the first"
        warn_user(
            f"signals were {text[text.index(BEYOND) :]} ({often}). "
            'Say dtype = "float64" in [store] to keep them.',
            UserWarning,
        )


@contextmanager
def study_progress(progress: Any, count: int) -> Iterator[StudyProgress]:
    """A context with the display that receives tallies.

    progress : a function of the `Tally` so far; True for a bar on standard error, where that is a terminal;
        None or False for nothing
    """
    called = check_progress(progress)
    if progress is not True:
        yield StudyProgress(called)
        return
    if not coloured(sys.stderr):
        yield StudyProgress(None, lambda text: print(text, file=sys.stderr))
        return
    with _bar(count) as display:
        yield display


@contextmanager
def _bar(count: int) -> Iterator[StudyProgress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[counts]}"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task("", total=count, counts="", rate="")

        def advance(total: Tally) -> None:
            speed = shown.tasks[0].speed
            counts = f"{total.done - total.failed - total.unmet} ok"
            counts += f", {total.unmet} unmet" if total.unmet else ""
            counts += f", {total.failed} failed" if total.failed else ""
            rate = f"{speed:.3g} runs/s" if speed else ""
            shown.update(task, completed=total.done, counts=counts, rate=rate)

        yield StudyProgress(advance, console.print)
