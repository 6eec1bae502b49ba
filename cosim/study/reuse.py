"""Reuse of cases of an earlier study: their rows and signals are copied instead of run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from blocks.errors import PlantloopError
from cosim.study.running import WARNINGS, CaseOutcome
from cosim.study.store import FAILURES, Manifest, StudyStore
from cosim.study.study_plan import CASES, StudyPlan
from cosim.study.work import Tally, Worker, case_columns


def comparable(old: Manifest, new: Manifest, url: str) -> None:
    """Check that two studies are the same except for their cases.

    Raises
    ------
    PlantloopError     names what differs
    """
    before, now = old.fingerprints, new.fingerprints
    changed = [n for n in dict.fromkeys([*before, *now]) if n != CASES and before.get(n) != now.get(n)]
    if (old.stored, old.times) != (new.stored, new.times):
        changed.append("what is stored")
    if changed:
        raise PlantloopError(
            f"no case of '{url}' can be used again: {', '.join(changed)} changed.",
            path=url,
            value=changed,
            hint="Leave --reuse (reuse=) out, or undo the change.",
        )


def reused(
    plan: StudyPlan, store: StudyStore, wanted: np.ndarray, old: StudyStore
) -> tuple[np.ndarray, Tally]:
    """Copy results of these cases from an earlier study; returns the cases it lacks, and a tally of the rest.

    A case is the same if its variant and numbers are, and its seed where something draws; the rest is what
    `comparable` looks at.
    """
    new = store.manifest
    table = old.table()
    names = [n for n in ("variant", *new.parameters, *(("seed",) if draws(plan) else ())) if n in table]
    if not set(new.parameters) <= set(table.columns):
        return wanted, Tally(0, 0, 0)
    known = dict(zip(_keys({n: table[n].to_numpy() for n in names}), table.index.tolist(), strict=True))
    keeper, total, left = Worker(plan, store), Tally(0, 0, 0), []
    for chunk, cases in store.by_chunk(wanted):
        columns = case_columns(plan, cases)
        found = np.array([known.get(key, -1) for key in _keys({n: columns[n] for n in names})])
        left.append(cases[found < 0])
        if (found >= 0).any():
            total += keeper.write(chunk, _copied(old, cases[found >= 0], found[found >= 0], plan))
            _copy_snapshots(old, store, cases, found)
    return np.concatenate([np.zeros(0, np.int64), *left]), total


def draws(plan: StudyPlan) -> bool:
    """Whether a run depends on its seed; code that cannot be inspected is assumed to."""
    return plan.python or any(plan.prepared(k).system.draws for k in range(len(plan.variants)))


def _keys(columns: Mapping[str, np.ndarray]) -> list[bytes]:
    """A key per case; keys are equal if all columns are."""
    parts = [
        column.astype(str).tolist() if column.dtype == object else column.tolist()
        for column in columns.values()
    ]
    rows: Sequence[tuple[object, ...]] = list(zip(*parts, strict=True)) if parts else []
    return [hashlib.sha256(repr(row).encode()).digest() for row in rows]


def _copied(old: StudyStore, cases: np.ndarray, found: np.ndarray, plan: StudyPlan) -> CaseOutcome:
    """Rows and signals of cases `found` of the earlier study, renumbered as `cases` of this one."""
    rows = old.table().loc[found]
    said = [WARNINGS] if plan.watches else []
    columns = [*plan.measures.columns, "end_time", "status", "message", *said, "wall_time"]
    return CaseOutcome(cases, {n: rows[n].to_numpy() for n in columns}, old.signals_of(found))


def _copy_snapshots(old: StudyStore, store: StudyStore, cases: np.ndarray, found: np.ndarray) -> None:
    for case, was in zip(cases.tolist(), found.tolist(), strict=True):
        name = f"{FAILURES}/{was}.npz"
        if was >= 0 and old.folder.exists(name):
            store.folder.write(f"{FAILURES}/{case}.npz", old.folder.read(name))
