"""The past of delayed signals: one quartic polynomial per accepted step."""

from __future__ import annotations

import bisect

import numpy as np

NODES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])  # within a step
_WEIGHTS = np.array([1.0, -4.0, 6.0, -4.0, 1.0])  # barycentric, of equidistant nodes


class History:
    """Values of one signal at five points of every accepted step, newest last."""

    def __init__(self, initial: np.ndarray) -> None:
        self.initial = initial
        self.starts: list[float] = []
        self.ends: list[float] = []
        self.values: list[np.ndarray] = []  # (5, k)

    def add(self, t0: float, t1: float, values: np.ndarray) -> float:
        """Append a step; returns by how much the signal jumped at t0."""
        before = self.values[-1][-1] if self.values else self.initial
        self.starts.append(t0)
        self.ends.append(t1)
        self.values.append(values)
        return float(np.abs(values[0] - before).max(initial=0.0))

    def at(self, t: float) -> np.ndarray:
        """Value at time t [s], right-continuous; `initial` before the first step."""
        k = bisect.bisect_right(self.starts, t) - 1
        if k < 0:
            return self.initial
        s = (t - self.starts[k]) / (self.ends[k] - self.starts[k])
        values = self.values[k]
        distance = s - NODES
        exact = np.flatnonzero(distance == 0.0)
        if len(exact):
            return values[exact[0]]
        weights = _WEIGHTS / distance
        interpolated: np.ndarray = weights @ values / weights.sum()
        return interpolated

    def forget(self, before: float) -> None:
        """Drop steps that end before a time [s]."""
        k = bisect.bisect_right(self.ends, before)
        if k > 64:  # in bulk, not at every step
            del self.starts[:k], self.ends[:k], self.values[:k]
