"""Extrema and level crossings of a signal between two instants of the grid, from values and slopes at both.

Between two instants a smooth signal is the cubic with its values and slopes there (Hermite), whose extremum
is off by h^4/384 times the largest fourth derivative (h: the distance of the instants). Signals are not
always smooth, and a peak that is none must not break a requirement. So an extremum is believed only where

- the slope changes its sign from one instant to the next, and the cubic bends one way all along: then its
  extremum lies within the triangle of the two tangents, which a corner in the signal reaches and passes;
- the slope changes like beside it, at most `LIKE` times as fast: else a corner is seen, or the grid is too
  coarse;
- nothing happens in between that makes the signal jump (`smooth`, from `cosim.study.probes`).

Elsewhere the values at the instants are all there is.

A level that lies between the values at two instants is passed in between; when, the cubic says as well, of
which nothing has to be believed: it is off by less than the grid in any case.

Source of the error of the cubic: C. de Boor, "A Practical Guide to Splines", chapter IV.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

HALVINGS = 45  # of an interval in which a level is passed: down to rounding
NEARLY = 1e-6  # of the slopes: a change that small needs none like it beside
LIKE = 3.0  # times the change of slope of a neighbouring interval, per second
SHORT = 0.01  # of an interval: rounding of slopes in a shorter neighbour is not taken for a change


@dataclass(frozen=True)
class SignalCourse:
    """A signal on the grid, in some runs.

    time : (n,) s; values, slopes : (runs, n), slopes None where they are not known
    smooth : (runs or 1, n - 1) bool, where nothing makes it jump between two instants
    """

    time: np.ndarray
    values: np.ndarray
    slopes: np.ndarray | None = None
    smooth: np.ndarray | None = None

    @staticmethod
    def constant(time: np.ndarray, value: float | np.ndarray) -> SignalCourse:
        """A constant signal: one value, or one for each run."""
        column = np.atleast_1d(np.asarray(value, dtype=float))[:, None]
        values = np.broadcast_to(column, (len(column), len(time)))
        return SignalCourse(time, values, np.zeros((1, len(time))))

    def __neg__(self) -> SignalCourse:
        return SignalCourse(
            self.time, -self.values, None if self.slopes is None else -self.slopes, self.smooth
        )

    def __sub__(self, other: SignalCourse) -> SignalCourse:
        known = self.slopes is not None and other.slopes is not None
        slopes = self.slopes - other.slopes if known else None  # type: ignore[operator]
        both = [s for s in (self.smooth, other.smooth) if s is not None]
        smooth = both[0] if both else None
        if len(both) == 2:
            smooth = both[0] & both[1]
        return SignalCourse(self.time, self.values - other.values, slopes, smooth)

    def take(self, chosen: np.ndarray) -> SignalCourse:
        """The signal at some of the instants, (n,) bool; smooth where it is between all in between."""
        if chosen.all():
            return self
        pick = np.flatnonzero(chosen)
        smooth = self.smooth
        if smooth is not None and len(pick):
            jumps = np.concatenate(
                [np.zeros_like(smooth[..., :1], dtype=int), np.cumsum(~smooth, axis=-1)], axis=-1
            )
            smooth = np.diff(jumps[..., pick], axis=-1) == 0
        slopes = None if self.slopes is None else self.slopes[..., pick]
        return SignalCourse(self.time[pick], self.values[..., pick], slopes, smooth)

    def peaks(self) -> tuple[np.ndarray, np.ndarray]:
        """The largest value inside each interval, -inf where an end is larger, and when [s].

        Each is (runs, n - 1).
        """
        shape = (*self.values.shape[:-1], max(0, len(self.time) - 1))
        top, when = np.full(shape, -np.inf), np.zeros(shape)
        if self.slopes is None or len(self.time) < 3:
            return top, when
        d = np.broadcast_to(self.slopes, self.values.shape)
        turns = (d[..., :-1] > 0) & (d[..., 1:] < 0)
        if self.smooth is not None:
            turns &= self.smooth
        at = np.nonzero(turns)
        if len(at[0]):
            self._believed(at, d, top, when)
        return top, when

    def left(self) -> np.ndarray:
        """The value just before the next instant, (runs, n - 1); that at the instant where it may jump."""
        if self.slopes is None:
            return self.values[..., :-1]
        known = (self.slopes[..., :-1] != 0) | (self.slopes[..., 1:] != 0)
        if self.smooth is not None:
            known = known & self.smooth
        return np.where(known, self.values[..., 1:], self.values[..., :-1])

    def meets(self, other: SignalCourse) -> np.ndarray:
        """The value at which two signals cross inside each interval, -inf where they do not, (runs, n - 1).

        Believed where both are smooth, and their slopes change like beside.
        """
        apart = other - self
        shape = (*apart.values.shape[:-1], max(0, len(self.time) - 1))
        found = np.full(shape, -np.inf)
        if apart.slopes is None or len(self.time) < 3:
            return found
        with np.errstate(invalid="ignore"):
            crosses = apart.values[..., :-1] * apart.values[..., 1:] < 0
        if apart.smooth is not None:
            crosses &= apart.smooth
        runs, k = np.nonzero(crosses)
        both = [one.for_runs(len(found)) for one in (self, other)]
        fine = both[0]._like((runs, k)) & both[1]._like((runs, k))
        runs, k = runs[fine], k[fine]
        if len(k):
            when = apart.passes(runs, k, 0.0, self.time[k], self.time[k + 1])
            found[runs, k] = both[0]._between(runs, k, when)
        return found

    def for_runs(self, count: int) -> SignalCourse:
        """The same with a row for every run."""
        shape = (count, len(self.time))
        slopes = None if self.slopes is None else np.broadcast_to(self.slopes, shape)
        return SignalCourse(self.time, np.broadcast_to(self.values, shape), slopes, self.smooth)

    def _like(self, at: tuple[np.ndarray, ...]) -> np.ndarray:
        """Whether slopes are known in some intervals, and change like beside them."""
        assert self.slopes is not None
        *runs, k = at
        after = (*runs, k + 1)
        h, d0, d1 = self.time[k + 1] - self.time[k], self.slopes[at], self.slopes[after]
        known = (d0 != 0) | (d1 != 0) | (self.values[at] == self.values[after])
        beside = LIKE * h * _beside(self.slopes, np.diff(self.time), at)
        return np.asarray(known & (np.abs(d1 - d0) <= beside + NEARLY * (np.abs(d0) + np.abs(d1))))

    def _between(self, runs: np.ndarray, k: np.ndarray, when: np.ndarray) -> np.ndarray:
        """Values of the cubics of some intervals at some instants in them [s]."""
        assert self.slopes is not None
        at, after = (runs, k), (runs, k + 1)
        h, d0, d1 = self.time[k + 1] - self.time[k], self.slopes[at], self.slopes[after]
        s, rise = (when - self.time[k]) / h, (self.values[after] - self.values[at]) / h
        return np.asarray(
            self.values[at] + h * s * (d0 + s * (3 * rise - 2 * d0 - d1 + s * (d0 + d1 - 2 * rise)))
        )

    def passes(
        self,
        runs: np.ndarray,
        k: np.ndarray,
        level: float | np.ndarray,
        begin: np.ndarray,
        end: np.ndarray,
    ) -> np.ndarray:
        """When runs pass a level in some of their intervals [s]; the end of that where it may jump there.

        runs, k : (m,) runs and intervals, by their first instants; level : (m,); begin, end : (m,) s, of the
        part of the interval in which it goes from one side of the level to the other
        """
        at, after = (runs, k), (runs, k + 1)
        t0, t1 = self.time[k], self.time[k + 1]
        if self.slopes is None:
            return t1
        d = np.broadcast_to(self.slopes, self.values.shape)
        h, d0, d1 = t1 - t0, d[at], d[after]
        first, rise = self.values[at] - level, (self.values[after] - self.values[at]) / h
        known = (d0 != 0) | (d1 != 0)
        if self.smooth is not None:
            known &= np.broadcast_to(self.smooth, (len(self.values), self.smooth.shape[-1]))[at]
        a, b = d0 + d1 - 2 * rise, 3 * rise - 2 * d0 - d1

        def over(s: np.ndarray) -> np.ndarray:
            return np.asarray(first + h * s * (d0 + s * (b + s * a)))

        low, high = (begin - t0) / h, (end - t0) / h
        side = over(low) > 0
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            same = (over(middle) > 0) == side
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        return np.where(known, t0 + h * high, t1)

    def times(self, factor: np.ndarray) -> SignalCourse:
        """Each run times a factor of its own, (runs,)."""
        slopes = None if self.slopes is None else self.slopes * factor[:, None]
        return SignalCourse(self.time, self.values * factor[:, None], slopes, self.smooth)

    def highest(self) -> tuple[np.ndarray, np.ndarray]:
        """The largest value of each run and when [s], (runs,)."""
        k = np.argmax(self.values, axis=-1)
        rows = np.arange(len(self.values))
        best, when = self.values[rows, k], self.time[k]
        inside, times = self.peaks()
        if inside.shape[-1]:
            j = np.argmax(inside, axis=-1)
            higher = inside[rows, j] > best
            best = np.where(higher, inside[rows, j], best)
            when = np.where(higher, times[rows, j], when)
        return best, when

    def _believed(self, at: tuple[np.ndarray, ...], d: np.ndarray, top: np.ndarray, when: np.ndarray) -> None:
        """Put the extrema of the intervals `at` that can be trusted into `top` and `when`."""
        *runs, k = at
        after = (*runs, k + 1)
        with np.errstate(all="ignore"):
            h = self.time[k + 1] - self.time[k]
            begin, d0, d1 = self.values[at], d[at], d[after]
            rise = (self.values[after] - begin) / h
            a, b = 3 * (d0 + d1 - 2 * rise), 6 * rise - 4 * d0 - 2 * d1
            fine = (b <= 0) & (2 * a + b <= 0) & (d0 - d1 <= LIKE * h * _beside(d, np.diff(self.time), at))
            s = 2 * d0 / (np.sqrt(b * b - 4 * a * d0) - b)  # where d0 + b s + a s^2 = 0, without cancellation
            found = begin + h * s * (d0 + s * (b / 2 + s * a / 3))
        fine &= np.isfinite(found) & (found > np.maximum(begin, self.values[after]))
        chosen = tuple(part[fine] for part in at)
        top[chosen], when[chosen] = found[fine], (self.time[k] + h * s)[fine]


def _beside(d: np.ndarray, h: np.ndarray, at: tuple[np.ndarray, ...]) -> np.ndarray:
    """The larger of the mean changes of slope d, per second, in the intervals h before and after."""
    change = np.abs(np.diff(d, axis=-1))
    *runs, k = at
    last = change.shape[-1] - 1
    shortest = SHORT * h[k]
    before, behind = np.maximum(k - 1, 0), np.minimum(k + 1, last)
    first = np.where(k > 0, change[(*runs, before)] / np.maximum(h[before], shortest), 0.0)
    second = np.where(k < last, change[(*runs, behind)] / np.maximum(h[behind], shortest), 0.0)
    return np.asarray(np.maximum(first, second))
