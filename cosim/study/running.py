"""Runs of some cases of a study in this thread, and what comes out of them."""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from blocks.errors import PlantloopError
from cosim.engines.choose import choose
from cosim.engines.engine import Engine
from cosim.engines.starts import DONE, WAITING, Starts
from cosim.study.measures import ROBUSTNESS
from cosim.study.places import put
from cosim.study.study_plan import Prepared, StudyPlan

BATCH = 16 * 2**20  # bytes of rows that are in memory at a time
MOST = 1024  # runs between two looks
FINISHED, STOPPED, FAILED = "done", "stopped", "failed"


@dataclass(frozen=True)
class CaseOutcome:
    """What some cases gave.

    cases : (m,) their numbers; table : column -> (m,); signals : (m, n, width), nan where nothing was
        logged; None
    where nothing is stored
    """

    cases: np.ndarray
    table: dict[str, np.ndarray]
    signals: np.ndarray | None

    @staticmethod
    def joined(parts: Sequence[CaseOutcome]) -> CaseOutcome:
        """Several as one, in the order of their numbers."""
        cases = np.concatenate([p.cases for p in parts])
        order = np.argsort(cases, kind="stable")
        table = {n: np.concatenate([p.table[n] for p in parts])[order] for n in parts[0].table}
        signals = None if parts[0].signals is None else np.concatenate([p.signals for p in parts])[order]
        return CaseOutcome(cases[order], table, signals)


class Runner:
    """Runs cases of a plan with engines of its own: one for each thread."""

    def __init__(self, plan: StudyPlan) -> None:
        self.plan = plan
        self._engines: dict[int, Engine] = {}

    def run(self, cases: Sequence[int] | np.ndarray) -> CaseOutcome:
        """Run these cases; one that fails is a row."""
        numbers = np.asarray(cases, dtype=np.int64)
        parts = []
        for variant in np.unique(self.plan.cases.variant[numbers]):
            mine = numbers[self.plan.cases.variant[numbers] == variant]
            ready = self.plan.prepared(int(variant))
            bytes_each = 8 * len(ready.times) * (2 + ready.system.tree(ready.logged).width)
            size = int(max(1, min(MOST, BATCH // max(1, bytes_each))))
            parts += [self._batch(int(variant), ready, mine[k : k + size]) for k in range(0, len(mine), size)]
        return CaseOutcome.joined(parts)

    def _batch(self, variant: int, ready: Prepared, numbers: np.ndarray) -> CaseOutcome:
        starts = starts_of(self.plan, ready, numbers)
        engine = self._engine(variant, ready, starts)
        began = clock.perf_counter()
        engine.run_starts(starts, 0, len(starts))
        spent = (clock.perf_counter() - began) / len(starts)
        return outcome(self.plan, ready, starts, numbers, engine, spent)

    def _engine(self, variant: int, ready: Prepared, starts: Starts) -> Engine:
        if variant not in self._engines:
            self._engines[variant] = choose(ready.system, ready.settings, starts.context(0))
        return self._engines[variant]

    def cancel(self) -> None:
        """End what another thread is at."""
        for engine in self._engines.values():
            engine.cancel()

    def close(self) -> None:
        """Close what engines hold open."""
        for engine in self._engines.values():
            engine.instances.close()
        self._engines.clear()


def starts_of(plan: StudyPlan, ready: Prepared, numbers: np.ndarray) -> Starts:
    """The starts of some cases, all of one variant."""
    count, start = len(numbers), ready.start
    vectors = {name: np.tile(getattr(start, name), (count, 1)) for name in ("x", "h", "w", "p")}
    some = plan.cases.take(numbers)
    put(ready.system, ready.goals, some.columns, ready.initial, start, vectors)
    width, stop = ready.system.tree(ready.logged).width, any(event.stop for event in ready.system.events)
    return Starts(
        ready.system, ready.settings, ready.system.snapped(ready.until), list(ready.logged), ready.times,
        vectors["x"], vectors["h"], vectors["w"], vectors["p"], some.seeds,
        rows=np.full((count, len(ready.times) + stop, 1 + width), np.nan),
        logged=np.zeros(count, np.int64),
        stopped=np.zeros(count, np.int32),
        ended=np.zeros(count),
        state=np.full(count, WAITING, np.int32),
    )  # fmt: skip


def outcome(
    plan: StudyPlan, ready: Prepared, starts: Starts, numbers: np.ndarray, engine: Engine, spent: float
) -> CaseOutcome:
    """Rows of the table, and signals, from what an engine wrote."""
    count = len(numbers)
    failures: dict[int, str] = {}
    for k in map(int, np.flatnonzero(starts.state != DONE)):
        try:
            engine.run_start(starts, k)
        except PlantloopError as error:
            failures[k] = str(error)
        except Exception as error:  # a user's function may raise anything
            failures[k] = f"{type(error).__name__}: {error}"
    events = ready.system.events
    messages = np.array([events[e - 1].stop if e else "" for e in starts.stopped], dtype=object)
    status = np.where(starts.stopped > 0, STOPPED, FINISHED).astype(object)
    for k, text in failures.items():
        status[k], messages[k] = FAILED, text
    table = _measured(plan, ready, starts, status)
    last = np.maximum(starts.logged - 1, 0)
    table["end_time"] = starts.rows[np.arange(count), last, 0]
    table["status"], table["message"] = status, messages
    table["wall_time"] = np.full(count, spent)
    signals = None
    if ready.stored:
        width = ready.system.tree(ready.stored).width
        signals = starts.rows[:, : len(ready.times), 1 : 1 + width].astype(plan.store.dtype)
        signals[starts.rows[:, : len(ready.times), 0] != ready.times] = np.nan  # the last row of a stop
        if plan.store.keep == "failed":
            wrong = status == FAILED
            for name in plan.measures.requirements:
                wrong |= ~table[name].astype(bool)
            signals[~wrong] = np.nan
    return CaseOutcome(numbers, table, signals)


def _measured(plan: StudyPlan, ready: Prepared, starts: Starts, status: np.ndarray) -> dict[str, np.ndarray]:
    """Metrics and requirements: of runs that logged as many instants together."""
    measures, count = plan.measures, len(starts)
    found: dict[str, np.ndarray] = {}
    for name in measures.columns:
        flag = name in measures.requirements
        found[name] = np.zeros(count, bool) if flag else np.full(count, np.nan)
    if not measures.columns:
        return found
    tree = ready.system.tree(ready.logged)
    names = [n for n in ready.logged if n not in ready.stored]
    fine = status != FAILED
    whole = fine & (starts.stopped == 0) & (starts.logged == len(ready.times))
    groups = [np.flatnonzero(whole), *(np.array([k]) for k in np.flatnonzero(fine & ~whole))]
    for mine in groups:
        logged = int(starts.logged[mine[0]]) if len(mine) else 0
        if logged == 0:
            continue
        rows = (starts.rows if len(mine) == count else starts.rows[mine])[:, :logged]
        columns = {n: rows[:, :, 1 + tree[n].start] for n in names}
        for name, value in measures.evaluate(rows[0, :, 0], columns).items():
            found[name][mine] = value
    return found


__all__ = ["FAILED", "FINISHED", "ROBUSTNESS", "STOPPED", "CaseOutcome", "Runner", "outcome", "starts_of"]
