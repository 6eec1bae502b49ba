"""One piece of work: cases of some chunks, run and written down; what every executor calls."""

from __future__ import annotations

import math
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from blocks.errors import PlantloopError, SimulationError
from cosim.settings import RunSettings
from cosim.simulation import Simulation
from cosim.study.running import FAILED, CaseOutcome, Runner
from cosim.study.store import FAILURES, StudyStore
from cosim.study.study_plan import StudyPlan
from cosim.version import __version__

Chunk = tuple[int, np.ndarray]
SNAPSHOTS = 20  # of failed runs, in one chunk
SHORTLY = 0.02  # of the time until then: how long before a failure its snapshot is


@dataclass(frozen=True)
class Tally:
    """How a piece of work went, in numbers of cases; `seconds` of a worker."""

    done: int
    failed: int
    unmet: int  # done, with a requirement that is not met
    seconds: float = 0.0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.done + other.done,
            self.failed + other.failed,
            self.unmet + other.unmet,
            self.seconds + other.seconds,
        )


class Worker:
    """Runs pieces of work with engines of its own, one set per thread."""

    def __init__(self, plan: StudyPlan, store: StudyStore) -> None:
        self.plan, self.store = plan, store
        self._local = threading.local()
        self._lock = threading.Lock()
        self._runners: list[Runner] = []
        self.cancelled = False

    def runner(self) -> Runner:
        """That of this thread."""
        found: Runner | None = getattr(self._local, "runner", None)
        if found is None:
            with self._lock:  # flattening and compiling once is enough
                for k in range(len(self.plan.variants)):
                    self.plan.prepared(k)
                found = self._local.runner = Runner(self.plan)
                self._runners.append(found)
        return found

    def work(self, chunks: Sequence[Chunk]) -> Tally:
        """Run and write down the cases of some chunks."""
        total, began = Tally(0, 0, 0), time.perf_counter()
        for chunk, cases in chunks:
            if self.cancelled:
                break
            found = self.runner().run(cases)
            if self.cancelled:
                break
            total += self.keep(chunk, found)
        return replace(total, seconds=time.perf_counter() - began)

    def keep(self, chunk: int, found: CaseOutcome) -> Tally:
        """Write down what came out, and snapshots of what failed."""
        for k in np.flatnonzero(found.table["status"] == FAILED)[:SNAPSHOTS]:
            if (case := int(found.cases[k])) in found.failed_at:  # others were not run
                self._snapshot(case, found.failed_at[case])
        return self.write(chunk, found)

    def write(self, chunk: int, found: CaseOutcome) -> Tally:
        """Write down rows and signals of some cases of a chunk."""
        status = found.table["status"]
        failed = np.flatnonzero(status == FAILED)
        self.store.commit(chunk, found, case_columns(self.plan, found.cases))
        unmet = np.zeros(len(status), bool)
        for name in self.plan.measures.requirements:
            unmet |= ~found.table[name].astype(bool)
        return Tally(len(status), len(failed), int((unmet & (status != FAILED)).sum()))

    def _snapshot(self, case: int, end: float) -> None:
        """Keep the state of a run shortly before it failed at `end` [s], to go on from."""
        content = snapshot_before_failure(self.plan, case, end)
        if content is not None:
            self.store.folder.write(f"{FAILURES}/{case}.npz", content)

    def cancel(self) -> None:
        """Stop soon; what is not written down by then is lost."""
        self.cancelled = True
        for runner in self._runners:
            runner.cancel()

    def close(self) -> None:
        """Close all engines."""
        for runner in self._runners:
            runner.close()


def case_columns(plan: StudyPlan, cases: np.ndarray) -> dict[str, np.ndarray]:
    """What these cases are: variant, seed, and every number, (m,) each."""
    some = plan.cases.take(cases)
    names = np.array(plan.variants, dtype=object)
    found: dict[str, np.ndarray] = {"variant": names[some.variant]} if plan.several else {}
    return found | {"seed": some.seeds.astype(np.int64)} | some.flat


def simulation(plan: StudyPlan, case: int, engine: str | None = None, *, limited: bool = True) -> Simulation:
    """A case as a simulation of its own, at its start; with another engine if one is named.

    limited : False: without the `wall_limit` of its settings

    Raises
    ------
    PlantloopError      a block refuses its numbers
    """
    one = plan.cases.take(np.array([case]))
    ready = plan.prepared(int(one.variant[0]))
    given = ready.context(one.columns, 0)
    for error in plan.asked(int(one.variant[0])).refused(given.p[None]).values():
        raise error
    settings = ready.settings_of(int(one.seeds[0]))
    if engine is not None:
        settings = RunSettings.of(settings, engine=engine)
    if not limited:
        settings = replace(settings, wall_limit=math.inf)
    sim = Simulation(ready.system, settings=settings, signals=list(ready.shown))
    begin = sim.snapshot_of_start()
    for name in ("x", "h", "w", "p", "next", "solution"):
        getattr(begin, name)[:] = getattr(given, name)
    sim.restore(begin)
    return sim


def snapshot_before_failure(plan: StudyPlan, case: int, end: float | None = None) -> bytes | None:
    """A snapshot as a file's content; None where the run fails at its start.

    end : where it fails [s]; by default it is run until there first
    """
    if end is None and (end := _failure(plan, case)) is None:
        return None
    if not end > 0:
        return None
    from cosim.run.snapshot import save

    with simulation(plan, case, limited=False) as sim:  # what took all of its time takes it again
        sim.log([])
        try:
            sim.advance(end * (1 - SHORTLY))
        except Exception:
            return None
        with tempfile.TemporaryDirectory() as place:
            save(Path(place) / "snapshot.npz", sim.snapshot(), sim.system)
            return (Path(place) / "snapshot.npz").read_bytes()


def _failure(plan: StudyPlan, case: int) -> float | None:
    """Where a run fails [s]; None where it does not, or cannot begin."""
    until = plan.bases[int(plan.cases.variant[case])].until
    try:
        made = simulation(plan, case)
    except PlantloopError:
        return None
    with made as sim:
        sim.log([])
        try:
            sim.advance(until)
            return None
        except SimulationError as error:
            return float(sim.time if error.time is None else min(error.time, sim.time))
        except Exception:  # a user's function may raise anything
            return float(sim.time)


def version() -> str:
    """Of plantloop, where this is called."""
    return __version__
