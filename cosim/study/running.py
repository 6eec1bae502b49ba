"""Runs of some cases of a study in this thread, and their results."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from blocks.errors import PlantloopError, text_of_error
from cosim.batch.watched_runs import WatchedRuns
from cosim.engines.choose import choose
from cosim.engines.engine import Engine
from cosim.engines.starts import DONE, WAITING, Starts
from cosim.study.measures import ROBUSTNESS
from cosim.study.places import put
from cosim.study.study_plan import Prepared, StudyPlan
from cosim.study.verdicts import with_verdicts

BATCH = 4 * 2**20  # bytes of rows that are in memory at a time
MOST = 1024  # runs between two looks
FINISHED, STOPPED, FAILED = "done", "stopped", "failed"
BEYOND = "stored as inf, beyond the largest number of float32:"  # in the message of a case, before signals
WARNINGS = "warnings"  # column of the messages of blocks that watch a signal, if there are any


@dataclass(frozen=True)
class CaseOutcome:
    """The results of some cases.

    cases : (m,) their numbers; table : column -> (m,)
    signals : (m, n, width), nan where nothing was logged; None where nothing is stored
    failed_at : case -> where a run that failed stood [s]
    """

    cases: np.ndarray
    table: dict[str, np.ndarray]
    signals: np.ndarray | None
    failed_at: Mapping[int, float] = field(default_factory=dict)

    @staticmethod
    def joined(parts: Sequence[CaseOutcome], signals: np.ndarray | None) -> CaseOutcome:
        """Several outcomes as one, in the order of their numbers; `signals` has the signals in that order."""
        cases = np.concatenate([p.cases for p in parts])
        order = np.argsort(cases, kind="stable")
        table = {n: np.concatenate([p.table[n] for p in parts])[order] for n in parts[0].table}
        failed_at = {case: time for p in parts for case, time in p.failed_at.items()}
        return CaseOutcome(cases[order], table, signals, failed_at)


class Runner:
    """Runs cases of a plan with engines of its own: one for each thread."""

    def __init__(self, plan: StudyPlan) -> None:
        self.plan = plan
        self._engines: dict[int, Engine] = {}
        self._memory = np.zeros(0)  # of rows, used again for every batch

    def run(self, cases: Sequence[int] | np.ndarray) -> CaseOutcome:
        """Run these cases, each once, in the order of their numbers; a case that fails becomes a row."""
        numbers = np.unique(np.asarray(cases, dtype=np.int64))
        variants = self.plan.cases.variant[numbers]
        signals = self._room(len(numbers))
        parts = []
        for variant in np.unique(variants):
            mine = np.flatnonzero(variants == variant)
            ready = self.plan.prepared(int(variant))
            bytes_each = 8 * len(ready.times) * (2 + ready.system.tree(ready.logged).width)
            size = int(max(1, min(MOST, BATCH // max(1, bytes_each))))
            for some in (mine[k : k + size] for k in range(0, len(mine), size)):
                parts.append(self._batch(int(variant), ready, numbers[some], signals, some))
        return CaseOutcome.joined(parts, signals)

    def _room(self, count: int) -> np.ndarray | None:
        """Memory for the stored signals of `count` cases; None where nothing is stored."""
        ready = self.plan.prepared(0)
        if not ready.stored:
            return None
        width = ready.system.tree(ready.stored).width
        return np.empty((count, len(self.plan.times), width), self.plan.store.dtype)

    def _rows(self, count: int, capacity: int, width: int) -> np.ndarray:
        """Memory for what the engine logs, (count, capacity, width)."""
        needed = count * capacity * width
        if len(self._memory) < needed:
            self._memory = np.zeros(needed)
        return self._memory[:needed].reshape(count, capacity, width)

    def _batch(
        self, variant: int, ready: Prepared, numbers: np.ndarray, signals: np.ndarray | None, into: np.ndarray
    ) -> CaseOutcome:
        """Run some cases; their signals go to the rows `into` of `signals`."""
        starts = starts_of(self.plan, ready, numbers, self._rows)
        if refused := self.plan.asked(variant).refused(starts.p):
            return self._without(variant, ready, numbers, signals, into, refused)
        engine = self._engine(variant, ready, starts)
        began = clock.perf_counter()
        engine.run_starts(starts, 0, len(starts))
        spent = (clock.perf_counter() - began) / len(starts)
        found = outcome(self.plan, ready, starts, numbers, engine, spent)
        if signals is not None:
            _keep_signals(self.plan, ready, starts, found.table, signals, into)
        return found

    def _without(
        self,
        variant: int,
        ready: Prepared,
        numbers: np.ndarray,
        signals: np.ndarray | None,
        into: np.ndarray,
        refused: Mapping[int, PlantloopError],
    ) -> CaseOutcome:
        """Run the cases that no block refuses; `refused` : the reasons for the others, by their places."""
        bad = sorted(refused)
        if signals is not None:
            signals[into[bad]] = np.nan
        parts = [refused_outcome(self.plan, numbers[bad], [str(refused[k]) for k in bad])]
        fine = np.delete(np.arange(len(numbers)), bad)
        if len(fine):
            parts.append(self._batch(variant, ready, numbers[fine], signals, into[fine]))
        return CaseOutcome.joined(parts, signals)

    def _engine(self, variant: int, ready: Prepared, starts: Starts) -> Engine:
        if variant not in self._engines:
            made = self._engines[variant] = choose(ready.system, ready.settings, starts.context(0))
            made.instances.close()  # every run has its own: what these hold, such as ports, is free for them
        return self._engines[variant]

    def cancel(self) -> None:
        """Cancel what another thread is running."""
        for engine in self._engines.values():
            engine.cancel()

    def close(self) -> None:
        """Close resources that engines hold open."""
        for engine in self._engines.values():
            engine.instances.close()
        self._engines.clear()


def starts_of(
    plan: StudyPlan, ready: Prepared, numbers: np.ndarray, room: Callable[[int, int, int], np.ndarray]
) -> Starts:
    """The starts of some cases, all of one variant; `room` gives memory for their rows."""
    count, start = len(numbers), ready.start
    vectors = {name: np.tile(getattr(start, name), (count, 1)) for name in ("x", "h", "w", "p")}
    some = plan.cases.take(numbers)
    put(ready.system, ready.goals, some.columns, ready.initial, start, vectors)
    width, stop = ready.system.tree(ready.logged).width, any(event.stop for event in ready.system.events)
    return Starts(
        ready.system, ready.settings, ready.system.snapped(ready.until), list(ready.logged), ready.times,
        vectors["x"], vectors["h"], vectors["w"], vectors["p"], some.seeds,
        rows=room(count, len(ready.times) + stop, 1 + width),
        logged=np.zeros(count, np.int64),
        stopped=np.zeros(count, np.int32),
        ended=np.zeros(count),
        state=np.full(count, WAITING, np.int32),
    )  # fmt: skip


def outcome(
    plan: StudyPlan, ready: Prepared, starts: Starts, numbers: np.ndarray, engine: Engine, spent: float
) -> CaseOutcome:
    """Rows of the table, and signals, from the rows of an engine."""
    count = len(numbers)
    failures: dict[int, str] = {}
    failed_at: dict[int, float] = {}
    for k in map(int, np.flatnonzero(starts.state != DONE)):
        end = None
        try:
            if (known := starts.errors.get(k)) is not None:
                raise known
            engine.run_start(starts, k)  # again, for its message
            continue
        except PlantloopError as error:
            failures[k], end = plan.measures.told(error), getattr(error, "time", None)
        except Exception as error:  # a user's function may raise anything
            failures[k] = f"{type(error).__name__}: {text_of_error(error)}"
        stood = float(starts.ended[k])
        failed_at[int(numbers[k])] = stood if end is None else min(end, stood)
    messages = np.array([ready.endings[e - 1] if e else "" for e in starts.stopped], dtype=object)
    status = np.where(starts.stopped > 0, STOPPED, FINISHED).astype(object)
    for k, text in failures.items():
        status[k], messages[k] = FAILED, text
    table = _measured(plan, ready, starts, status)
    last = np.maximum(starts.logged - 1, 0)
    table["end_time"] = starts.rows[np.arange(count), last, 0]
    table["status"], table["message"] = status, messages
    if plan.watches:
        table[WARNINGS] = warnings_of(starts)
    table["wall_time"] = np.full(count, spent)
    return CaseOutcome(numbers, table, None, failed_at)


def refused_outcome(plan: StudyPlan, numbers: np.ndarray, messages: Sequence[str]) -> CaseOutcome:
    """Rows of the table for cases that were not run, as those whose numbers a block refuses."""
    count = len(numbers)
    table = _unmeasured(plan, count)
    table["end_time"] = np.full(count, np.nan)
    table["status"], table["message"] = np.full(count, FAILED, object), np.array(messages, dtype=object)
    if plan.watches:
        table[WARNINGS] = np.full(count, "", object)
    table["wall_time"] = np.zeros(count)
    return CaseOutcome(numbers, table, None)


def warnings_of(starts: Starts) -> np.ndarray:
    """Messages of blocks that watch a signal in each run, (runs,): a line per block, or ""."""
    lines: list[list[str]] = [[] for _ in range(len(starts))]
    for (path, text), numbers in WatchedRuns.of(starts, range(len(starts))).found.items():
        for k in numbers:
            lines[k].append(f"'{path}': {text}")
    return np.array(["\n".join(own) for own in lines], dtype=object)


def _keep_signals(
    plan: StudyPlan,
    ready: Prepared,
    starts: Starts,
    table: dict[str, np.ndarray],
    signals: np.ndarray,
    into: np.ndarray,
) -> None:
    """Copy signals from an engine's rows; nan where nothing was logged, and for runs that are not kept.

    Where a variant ends between two instants of the grid, its end is measured and has no place in the store.
    """
    width = signals.shape[2]
    places = np.flatnonzero(ready.gridded)
    count = int(np.count_nonzero(ready.times[places] == plan.times[: len(places)]))
    places = places[:count]
    place = slice(into[0], into[-1] + 1) if into[-1] - into[0] == len(into) - 1 else into
    columns = slice(count) if ready.gridded[:count].all() else places
    given = starts.rows[:, columns, 1 : 1 + width]
    with np.errstate(over="ignore"):
        signals[place, :count] = given
    signals[place, count:] = np.nan
    for k in np.flatnonzero((starts.logged < len(ready.times)) | (starts.stopped > 0)):
        logged = places < starts.logged[k]
        there = starts.rows[k, places, 0] == ready.times[places]  # not so the last row of a run that stops
        signals[into[k], :count][~(logged & there)] = np.nan
    if plan.store.keep == "failed":
        fine = table["status"] != FAILED
        for name in plan.measures.requirements:
            fine &= table[name].astype(bool)
        signals[into[fine]] = np.nan
    if signals.dtype != given.dtype:
        lost = (np.isinf(signals[place, :count]) & np.isfinite(given)).any(axis=1)
        for k in np.flatnonzero(lost.any(axis=1)):
            text = f"{BEYOND} {', '.join(_names_of_columns(ready, np.flatnonzero(lost[k])))}"
            table["message"][k] = f"{table['message'][k]}\n{text}".lstrip()


def _names_of_columns(ready: Prepared, columns: np.ndarray) -> list[str]:
    """The stored signals that some columns of the store belong to, each once."""
    tree = ready.system.tree(ready.stored)
    ends = np.cumsum([tree[name].size for name in ready.stored])
    return [ready.stored[k] for k in np.unique(np.searchsorted(ends, columns, side="right"))]


def _unmeasured(plan: StudyPlan, count: int) -> dict[str, np.ndarray]:
    """Metrics and requirements of runs without results."""
    return {
        name: np.zeros(count, bool) if name in plan.measures.requirements else np.full(count, np.nan)
        for name in plan.measures.columns
    }


def _measured(plan: StudyPlan, ready: Prepared, starts: Starts, status: np.ndarray) -> dict[str, np.ndarray]:
    """Metrics and requirements; runs with the same number of logged instants are evaluated together."""
    measures, count = plan.measures, len(starts)
    found = _unmeasured(plan, count)
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
        time = rows[0, :, 0]
        grid = None if ready.gridded.all() else ready.on_grid(time)
        for name, value in measures.evaluate(time, columns, ready.smooth(time, columns), grid).items():
            found[name][mine] = value
        for name, signal in ready.verdicts.items():
            margin = with_verdicts(found[name + ROBUSTNESS][mine], columns[signal][:, -1])
            found[name][mine], found[name + ROBUSTNESS][mine] = margin >= 0, margin
    return found


__all__ = [
    "BEYOND",
    "FAILED",
    "FINISHED",
    "ROBUSTNESS",
    "STOPPED",
    "WARNINGS",
    "CaseOutcome",
    "Runner",
    "outcome",
    "starts_of",
]
