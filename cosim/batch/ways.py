"""The way in which many runs are done: in threads, in processes, or one after the other; and why.

A way is a function (engine, starts, workers, progress) that does all runs of `starts` with instances of the
engine and leaves in ``starts.state`` which of them are done. Another one (a cluster, a GPU) is one more file
and one more entry here.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable
from dataclasses import dataclass

from cosim.batch.processes import in_processes
from cosim.batch.threads import in_threads
from cosim.engines.engine import Engine
from cosim.engines.starts import Starts

Progress = Callable[[int], None] | None


@dataclass(frozen=True)
class How:
    """The way of many runs: "threads", "processes" or "one after the other", how many at once, and why."""

    way: str
    workers: int
    why: str

    def __str__(self) -> str:
        return f"{self.way} ({self.workers} at once): {self.why}"


def in_turn(engine: Engine, starts: Starts, workers: int, progress: Progress) -> None:
    """One run after the other, in this process and thread."""
    for k in range(len(starts)):
        engine.run_starts(starts, k, k + 1)
        if progress is not None:
            progress(starts.done)


WAYS: dict[str, Callable[[Engine, Starts, int, Progress], None]] = {
    "threads": in_threads,
    "processes": in_processes,
    "one after the other": in_turn,
}


def way_for(engine: Engine, runs: int, workers: int) -> How:
    """The fastest way possible."""
    python, at_once = engine.needs_python, max(1, min(runs, workers))
    if not python:
        return How("threads", at_once, "compiled code alone, which threads run at the same time")
    if at_once == 1:
        return How("one after the other", 1, f"one run at a time; {python}")
    if (obstacle := no_processes()) is not None:
        return How("one after the other", 1, f"{python}, and {obstacle}")
    return How("processes", at_once, python)


def no_processes() -> str | None:
    """The reason why this program cannot be forked into processes, None if it can."""
    if sys.platform != "linux" or "fork" not in multiprocessing.get_all_start_methods():
        return f"processes that share a diagram are not possible on {sys.platform}"
    if multiprocessing.current_process().daemon:
        return "this is itself such a process, which may have none of its own"
    return None
