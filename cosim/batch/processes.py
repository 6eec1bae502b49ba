"""Many runs in processes: for diagrams that call Python, and for the engine that is Python.

The program divides itself (fork), so that a process has the diagram as it is, whatever is in it. What runs
log goes to memory that all share. A process takes the next run nobody has taken, so the numbers do not depend
on how many there are; one that dies (a crash in a user's library) loses the run it was at and is replaced.
"""

from __future__ import annotations

import gc
import mmap
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import wait
from typing import Any

import numpy as np

from cosim.batch.forked import FORKED
from cosim.cli.signals import ending_signals, uninterrupted
from cosim.engines.engine import Engine
from cosim.engines.starts import DONE, FAILED, RUNNING, WAITING, Starts

WRITTEN = ("rows", "logged", "stopped", "ended", "state")  # arrays of `Starts` that runs write to
LOOK = 0.1  # s between two checks of how many runs are done


def in_processes(
    engine: Engine, starts: Starts, workers: int, progress: Callable[[int], None] | None
) -> None:
    """Do all runs; a run whose process died stays RUNNING, and one that raised an exception is FAILED."""
    written: dict[str, Any] = {name: _shared(getattr(starts, name)) for name in WRITTEN}
    shared = replace(starts, **written)
    taken = FORKED.Value("q", 0)
    alive: list[Any] = []
    try:
        while alive or (shared.state == WAITING).any():
            waiting = int((shared.state == WAITING).sum())
            for _ in range(min(workers - len(alive), waiting)):
                process = FORKED.Process(target=_work, args=(engine, shared, taken))
                with uninterrupted():  # Ctrl-C between both would leave a process that nobody ends
                    process.start()
                    alive.append(process)
            wait([process.sentinel for process in alive], timeout=LOOK)
            alive = [process for process in alive if process.is_alive()]
            if progress is not None:
                progress(shared.done)
    finally:
        for process in alive:
            process.kill()
        for process in alive:
            process.join()
    for name in WRITTEN:
        getattr(starts, name)[:] = getattr(shared, name)


def _shared(array: np.ndarray) -> np.ndarray:
    """A copy in memory that processes share."""
    memory = mmap.mmap(-1, max(1, array.nbytes))
    found: np.ndarray = np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)
    found[...] = array
    return found


def _work(engine: Engine, starts: Starts, taken: Any) -> None:
    """The main function of each process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends the others
    for number in ending_signals():
        signal.signal(number, signal.SIG_DFL)
    gc.freeze()  # shared memory stays unwritten, also by the garbage collector
    parent = os.getppid()
    while os.getppid() == parent:
        with taken.get_lock():
            k = taken.value
            if k >= len(starts):
                return
            starts.state[k] = RUNNING
            taken.value = k + 1
        try:
            engine.run_starts(starts, k, k + 1)
        except BaseException:  # a user's function may raise anything: the first process repeats the run
            starts.state[k] = FAILED
        if starts.state[k] not in (DONE, FAILED):
            starts.state[k] = FAILED
