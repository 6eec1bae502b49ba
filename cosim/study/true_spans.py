"""Times at which conditions are true between the instants of the grid, for how long, and how often.

Where a side of a comparison jumps, or is not known, a condition is what it was at the instant before. Else it
changes where the cubics of `cosim.study.between` pass each other, twice where one has a peak beyond.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cosim.study.between import SignalCourse
from cosim.study.formulas import Compared, Formula, below
from cosim.study.robustness import SIGNS, truth


@dataclass(frozen=True)
class TrueSpans:
    """A condition in some runs.

    time : (n,) s; at : (runs, n), is it true at the instants
    where : runs and intervals, (m,) each, inside which it may change
    lengths, pieces : (m, pieces) of these, in s, and is it true there
    """

    time: np.ndarray
    at: np.ndarray
    where: tuple[np.ndarray, ...]
    lengths: np.ndarray
    pieces: np.ndarray

    @staticmethod
    def of(formula: Formula, time: np.ndarray, look: Callable[[Formula], SignalCourse]) -> TrueSpans:
        """A condition without operators over time; look : the course of a numeric part of it."""
        parts = {p: _Comparison.of(p, look) for p in below(formula) if isinstance(p, Compared)}
        count = max(len(one.at) for one in parts.values())
        parts = {part: one.for_runs(count) for part, one in parts.items()}
        at = truth(formula, lambda part: parts[part].at)
        changing = np.zeros((len(at), max(0, len(time) - 1)), bool)
        for one in parts.values():
            changing |= one.changing
        where = np.nonzero(changing)
        if not len(where[0]):
            return TrueSpans(time, at, where, np.zeros((0, 1)), np.zeros((0, 1), bool))
        passed = {part: one.passed(*where) for part, one in parts.items()}
        begin, end = time[where[1]], time[where[1] + 1]
        edges = np.sort(np.column_stack([begin, *(t for two in passed.values() for t in two), end]), axis=1)
        middle = 0.5 * (edges[:, :-1] + edges[:, 1:])

        def between(part: Compared) -> np.ndarray:
            first, second = passed[part]
            flips = (middle > first[:, None]) ^ (middle > second[:, None])
            return np.asarray(parts[part].at[where][:, None] ^ flips)

        return TrueSpans(time, at, where, np.diff(edges, axis=1), truth(formula, between))

    def duration(self) -> np.ndarray:
        """The total time for which the condition is true in each run [s], (runs,)."""
        spans = self.at[:, :-1] * np.diff(self.time)
        spans[self.where] = (self.pieces * self.lengths).sum(axis=1)
        return np.asarray(spans.sum(axis=1), dtype=float)

    def count(self) -> np.ndarray:
        """How often the condition becomes true in each run, (runs,); a true start counts."""
        rises = (self.at[:, 1:] & ~self.at[:, :-1]).astype(float)
        runs, k = self.where
        last, found = self.at[runs, k], np.zeros(len(runs))
        for length, true in zip(self.lengths.T, self.pieces.T, strict=True):
            now = np.where(length > 0, true, last)
            found += now & ~last
            last = now
        rises[self.where] = found + (self.at[runs, k + 1] & ~last)
        return np.asarray(self.at[:, 0] + rises.sum(axis=1), dtype=float)


@dataclass(frozen=True)
class _Comparison:
    """One comparison `at` the instants, and its `course`: above 0 where it is true (or false)."""

    at: np.ndarray
    course: SignalCourse

    @staticmethod
    def of(part: Compared, look: Callable[[Formula], SignalCourse]) -> _Comparison:
        """Choose the sign of the course so that its zero is on the side that is not above 0."""
        left, right = look(part.left), look(part.right)
        course = left - right if part.sign in (">", "<=") else right - left
        return _Comparison(SIGNS[part.sign](left.values, right.values), course)

    def for_runs(self, count: int) -> _Comparison:
        """A comparison of constants, repeated for so many runs."""
        shape = (count, self.at.shape[-1])
        values = np.broadcast_to(self.course.values, shape)
        return _Comparison(np.broadcast_to(self.at, shape), replace(self.course, values=values))

    @cached_property
    def beyond(self) -> tuple[np.ndarray, np.ndarray]:
        """Intervals in which it changes and changes back, and an instant between [s], (runs, n - 1) each."""
        (high, when_high), (low, when_low) = self.course.peaks(), (-self.course).peaks()
        above = self.course.values > 0
        up = ~above[:, :-1] & ~above[:, 1:] & (high > 0)
        down = above[:, :-1] & above[:, 1:] & (low >= 0)
        return up | down, np.where(up, when_high, when_low)

    @property
    def changing(self) -> np.ndarray:
        """Intervals in which it may change, (runs, n - 1) bool."""
        return np.asarray((self.at[:, 1:] != self.at[:, :-1]) | self.beyond[0])

    def passed(self, runs: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Instants of two changes in some intervals [s], (m,) each; the ends of those without a change."""
        begin, end = self.course.time[k], self.course.time[k + 1]
        back, peak = self.beyond[0][runs, k], self.beyond[1][runs, k]
        once = self.at[runs, k] != self.at[runs, k + 1]
        first = self.course.passes(runs, k, 0.0, begin, np.where(back, peak, end))
        second = self.course.passes(runs, k, 0.0, np.where(back, peak, begin), end)
        return np.where(once | back, first, end), np.where(back, second, end)
