"""Comparison of two studies: the verdicts that changed, and how far metrics and signals moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from blocks.errors import PlantloopError
from cosim.study.study_view import StudyView


@dataclass(frozen=True)
class Comparison:
    """Differences between two studies, over the cases that both have run.

    cases : how many those are; worse, better : requirement -> cases that no longer meet it, that newly do
    metrics, signals : name -> (largest absolute difference, its case); changed : parts of the study that
        differ
    """

    cases: int
    worse: Mapping[str, list[int]]
    better: Mapping[str, list[int]]
    metrics: Mapping[str, tuple[float, int]]
    signals: Mapping[str, tuple[float, int]]
    changed: list[str]

    @property
    def same(self) -> bool:
        """Whether no result differs."""
        moved = [*self.metrics.values(), *self.signals.values()]
        return not any(d for d, _ in moved) and not any([*self.worse.values(), *self.better.values()])


def compare(before: StudyView, after: StudyView) -> Comparison:
    """Compare two studies, matching cases by number.

    Raises
    ------
    PlantloopError     they have no case in common, or cases of one number are different ones
    """
    first, second = before.table, after.table
    common = first.index.intersection(second.index)
    if not len(common):
        raise PlantloopError("these studies have no case in common that is done.")
    first, second = first.loc[common], second.loc[common]
    a, b = before.store.manifest, after.store.manifest
    for name in ("variant", *a.parameters):
        if name not in first or name not in second:
            continue
        apart = np.flatnonzero(first[name].to_numpy() != second[name].to_numpy())
        if len(apart):
            k = int(common[apart[0]])
            x, y = first[name].tolist()[apart[0]], second[name].tolist()[apart[0]]
            raise PlantloopError(
                f"case {k} is not the same in both: '{name}' is {x!r} and {y!r}.",
                path=name,
                hint="Compare studies with the same cases.",
            )
    worse, better = {}, {}
    for name in (n for n in a.requirements if n in b.requirements):
        x, y = first[name].to_numpy(dtype=bool), second[name].to_numpy(dtype=bool)
        worse[name], better[name] = [list(map(int, common[which])) for which in (x & ~y, ~x & y)]
    metrics = {}
    for name in (n for n in a.metrics if n in b.metrics):
        metrics[name] = _farthest(
            first[name].to_numpy(float), second[name].to_numpy(float), common.to_numpy()
        )
    parts = dict.fromkeys([*a.fingerprints, *b.fingerprints])
    changed = [n for n in parts if a.fingerprints.get(n) != b.fingerprints.get(n)]
    return Comparison(
        len(common), worse, better, metrics, _signals(before, after, common.to_numpy()), changed
    )


def _farthest(x: np.ndarray, y: np.ndarray, cases: np.ndarray) -> tuple[float, int]:
    with np.errstate(invalid="ignore"):
        apart = np.where((np.isnan(x) & np.isnan(y)) | (x == y), 0.0, np.abs(x - y))
    apart[np.isnan(apart)] = np.inf  # a value in only one of the studies
    k = int(np.argmax(apart))
    return float(apart[k]), int(cases[k])


def _signals(before: StudyView, after: StudyView, cases: np.ndarray) -> dict[str, tuple[float, int]]:
    a, b = before.store.manifest, after.store.manifest
    if a.times != b.times:
        return {}
    names = [n for n in a.stored if b.stored.get(n) == a.stored[n]]
    if not names:
        return {}
    found, (these, those) = {}, (before.signals, after.signals)  # opened once
    for name in names:
        x, y = these[name], those[name]
        best = (0.0, int(cases[0]))
        for start in range(0, len(cases), 1000):
            some = cases[start : start + 1000]
            p, q = (
                view.store.numbers_of(v[some]).reshape(len(some), -1) for view, v in ((before, x), (after, y))
            )
            with np.errstate(invalid="ignore"):
                same = (np.isnan(p) & np.isnan(q)) | (p == q)  # inf, as float32 keeps too large ones
                apart = np.where(same, 0.0, np.abs(p - q)).max(axis=1)
            apart[np.isnan(apart)] = np.inf
            k = int(np.argmax(apart))
            best = max(best, (float(apart[k]), int(some[k])), key=lambda item: item[0])
        found[name] = best
    return found
