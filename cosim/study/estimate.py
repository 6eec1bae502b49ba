"""An estimate of the cost of a study, from a few of its cases."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from blocks.errors import PlantloopError
from cosim.batch.ways import no_processes
from cosim.study.apart import in_own_process
from cosim.study.running import Runner
from cosim.study.store import Manifest, chunk_size
from cosim.study.study_plan import StudyPlan
from cosim.study.work import simulation

ROW = 40  # bytes of a row besides its numbers, compressed
NUMBER = 8


@dataclass(frozen=True)
class Estimate:
    """Estimates for a study before it is run.

    seconds : of one case, on one processor; table, signals : bytes on disk, signals uncompressed
    """

    cases: int
    seconds: float
    table: int
    signals: int
    chunk: int


def estimated(plan: StudyPlan, manifest: Manifest, sample: int, cases: np.ndarray) -> Estimate:
    """Run a few of these cases, evenly spread, without writing anything.

    Raises
    ------
    PlantloopError     one of them ends its process
    """
    count = len(cases)
    some = cases[np.unique(np.linspace(0, count - 1, max(1, min(sample, count))).astype(int))]
    seconds, end = _safely(plan, partial(_seconds_of, plan, some))
    if seconds is None:
        raise PlantloopError(
            f"a case that was tried ended its process: {end}.",
            value=some.tolist(),
            hint='In a run with executor "processes" it becomes a row, and the others go on.',
        )
    columns = len(manifest.parameters) + len(plan.measures.columns) + 2
    width = sum(size for size, _ in manifest.stored.values())
    each = len(manifest.times) * width * np.dtype(manifest.dtype).itemsize
    chunk = chunk_size(len(plan.cases), each, seconds, 1)
    return Estimate(count, seconds, count * (ROW + NUMBER * columns), count * each, chunk)


def _seconds_of(plan: StudyPlan, some: np.ndarray) -> float:
    """The time of one of some cases [s], which are run together."""
    runner = Runner(plan)
    # what is compiled is compiled once
    runner.run(some[np.unique(plan.cases.variant[some], return_index=True)[1]])
    began = time.perf_counter()
    runner.run(some)
    seconds = (time.perf_counter() - began) / len(some)
    runner.close()
    return seconds


def _safely(plan: StudyPlan, timed: Callable[[], float]) -> tuple[float | None, str]:
    """A time, or None and a text where a run ends its process: Python code may, which gets one of its own."""
    if not plan.python or no_processes() is not None:
        return timed(), ""
    return in_own_process(timed)


SHARE = 0.02  # of a run that is timed
QUICK, SOME = 0.05, 8  # s that a case may take for some whole ones to be timed, and how many at least
LONG, PART = 0.05, 50  # s that these should take together; at most one of so many cases is timed


def seconds_of_a_case(plan: StudyPlan, apart: bool = True) -> float:
    """The approximate time of one case [s] among many that are run together; 1 s where the timing fails.

    apart : Python code is run in a process of its own, which it may end
    """
    timed = partial(_seconds_of_the_first, plan)
    seconds, _ = _safely(plan, timed) if apart else (timed(), "")
    return 1.0 if seconds is None else seconds


def _seconds_of_the_first(plan: StudyPlan) -> float:
    until = plan.bases[0].until
    try:
        with simulation(plan, 0) as sim:
            sim.log([])
            sim.advance(0.0)
            began = time.perf_counter()
            sim.advance(SHARE * until)
            found = (time.perf_counter() - began) / SHARE
    except PlantloopError:
        return 1.0
    if found > QUICK or plan.python:
        return found
    runner = Runner(plan)
    try:
        runner.run(np.arange(min(SOME, len(plan.cases))))  # the first runs make an engine and allocate memory
        return _timed(runner, len(plan.cases))
    finally:
        runner.close()


def _timed(runner: Runner, cases: int) -> float:
    """The time of one case [s], from as many cases as take long enough to hide the fixed cost of a batch."""
    count, most = min(SOME, cases), max(min(SOME, cases), cases // PART)
    while True:
        began = time.perf_counter()
        runner.run(np.arange(count))
        took = time.perf_counter() - began
        if took >= LONG or count >= most:
            return took / count
        count = min(4 * count, most)


def in_units(size: float) -> str:
    """A number of bytes in words."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            break
        size /= 1000
    return f"{size:.3g} {unit}"
