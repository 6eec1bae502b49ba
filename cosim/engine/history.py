"""The past of delayed signals: one quartic polynomial per accepted step."""

from __future__ import annotations

import bisect

import numpy as np

NODES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])  # within a step
CHECKS = (0.1, 0.6)  # where a quartic through the nodes is compared with what it stands for
_WEIGHTS = np.array([1.0, -4.0, 6.0, -4.0, 1.0])  # barycentric, of equidistant nodes


def interpolate(values: np.ndarray, s: float) -> np.ndarray:
    """The quartic through values (5, k) at `NODES`, at s; barycentric."""
    distance = s - NODES
    exact = np.flatnonzero(distance == 0.0)
    if len(exact):
        value: np.ndarray = values[exact[0]]
        return value
    weights = _WEIGHTS / distance
    interpolated: np.ndarray = weights @ values / weights.sum()
    return interpolated


class History:
    """Values of one signal at five points of every accepted step, newest last."""

    def __init__(self, initial: np.ndarray) -> None:
        self.initial = initial
        self.starts: list[float] = []
        self.ends: list[float] = []
        self.values: list[np.ndarray] = []  # (5, k)

    @property
    def newest(self) -> np.ndarray:
        """Value at the end of the newest step; `initial` before all steps."""
        return self.values[-1][-1] if self.values else self.initial

    def add(self, t0: float, t1: float, values: np.ndarray) -> None:
        """Append a step."""
        self.starts.append(t0)
        self.ends.append(t1)
        self.values.append(values)

    def at(self, t: float, left: bool = False) -> np.ndarray:
        """Value at time t [s], right-continuous or, where it jumps, from the left; first of all `initial`.

        A time within rounding of the start of a step counts as that start: delayed jumps are met there.
        """
        near = 1e-12 * max(1.0, abs(t))
        k = bisect.bisect_right(self.starts, t - near if left else t + near) - 1
        if k < 0:
            return self.initial
        return interpolate(self.values[k], (t - self.starts[k]) / (self.ends[k] - self.starts[k]))

    def forget(self, before: float) -> None:
        """Drop steps that end before a time [s]."""
        k = bisect.bisect_right(self.ends, before)
        if k > 64:  # in bulk, not at every step
            del self.starts[:k], self.ends[:k], self.values[:k]
