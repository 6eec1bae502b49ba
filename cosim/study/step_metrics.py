"""Metrics of a response: settling, rise, overshoot and percentiles, of many runs at a time.

As in step responses: shares of the way from the first value to the last, or to `value`. Where a signal is
smooth between two instants of the grid, it passes a level when the cubic there does (`cosim.study.between`);
else at the instant behind. What a peak between two instants reaches is reached. nan: it does not settle, or
does not rise so far.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cosim.study.between import SignalCourse
from cosim.study.study_schema import MetricTable
from cosim.study.window_ends import SLACK


def described(table: MetricTable, course: SignalCourse) -> np.ndarray:
    """A metric that is written as a table, (runs,)."""
    values = course.values
    if table.percentile is not None:
        return np.asarray(np.percentile(values, table.q or 0.0, axis=1))
    start = values[:, 0]
    default = 0.0 if table.settling is not None and not table.relative else "final"
    wanted = default if table.value is None else table.value
    end = values[:, -1] if wanted == "final" else np.full(len(values), float(wanted))
    way = end - start
    with np.errstate(all="ignore"):
        if table.overshoot is not None:
            return _overshoot(course, end, way)
        if table.rise is not None:
            return _rise(course, start, way, (table.low, table.high))
        band = (table.band or 0.0) * (np.abs(way) if table.relative else 1.0)
        return settling(course, end, np.broadcast_to(band, end.shape))


def _overshoot(course: SignalCourse, end: np.ndarray, way: np.ndarray) -> np.ndarray:
    """Overshoot beyond the end value, in percent of the change from the start to it."""
    beyond = np.where(way > 0, course.highest()[0] - end, (-course).highest()[0] + end)
    beyond = np.where(way == 0, 0.0, beyond)
    return np.asarray(np.maximum(100.0 * beyond / np.abs(way), 0.0))


def _rise(course: SignalCourse, start: np.ndarray, way: np.ndarray, limits: Sequence[float]) -> np.ndarray:
    """Time from reaching the first of two fractions of the change until reaching the second [s]."""
    sign = np.where(way < 0, -1.0, 1.0)
    upwards = course.times(sign)
    low, high = (_first(upwards, sign * (start + share * way), way) for share in limits)
    return high - low


def _first(course: SignalCourse, level: np.ndarray, way: np.ndarray) -> np.ndarray:
    """When each run first reaches its level from below [s]; nan if it never does, or if nothing changes."""
    runs, n = course.values.shape
    there = course.values >= (level - SLACK * np.abs(way))[:, None]
    at = np.where(there.any(axis=1), np.argmax(there, axis=1), n)
    found = np.where(at == 0, course.time[0], np.nan)
    if n > 1:
        top, when = course.peaks()
        reached = top >= level[:, None]
        inside = np.where(reached.any(axis=1), np.argmax(reached, axis=1), n)
        k = np.minimum(at - 1, inside)
        begun = np.clip(k, 0, n - 2)
        until = np.where(inside < at, when[np.arange(runs), begun], course.time[begun + 1])
        passed = course.passes(np.arange(runs), begun, level, course.time[begun], until)
        found = np.where((k >= 0) & (k < n - 1), passed, found)
    return np.where(way == 0, np.nan, found)


def settling(course: SignalCourse, end: np.ndarray, band: np.ndarray) -> np.ndarray:
    """When each run enters its band about its end value for good [s]; nan if it ends outside.

    end, band : (runs,)
    """
    runs, n = course.values.shape
    above = course - SignalCourse.constant(course.time, end)
    outside = ~(np.abs(above.values) <= band[:, None])
    last = _last(outside)
    if n == 1:
        return np.where(last < 0, course.time[0], np.nan)
    (top, when_top), (low, when_low) = above.peaks(), (-above).peaks()
    inside = _last(np.maximum(top, low) > band[:, None])
    k = np.maximum(last, inside)
    rows, begun = np.arange(runs), np.clip(k, 0, n - 2)
    up = np.where(inside == k, top[rows, begun] > band, above.values[rows, begun] > 0)
    peak = np.where(up, when_top[rows, begun], when_low[rows, begun])
    since = np.where(inside == k, peak, course.time[begun])
    found = above.passes(rows, begun, np.where(up, band, -band), since, course.time[begun + 1])
    return np.where(k < 0, course.time[0], np.where(last == n - 1, np.nan, found))


def _last(true: np.ndarray) -> np.ndarray:
    """The last place where each row is true, (runs,); -1 if it never is."""
    return np.where(true.any(axis=1), true.shape[1] - 1 - np.argmax(true[:, ::-1], axis=1), -1)
