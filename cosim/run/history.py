"""The past of delayed signals: one quartic polynomial per accepted step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

NODES = (0.0, 0.25, 0.5, 0.75, 1.0)  # within a step
CHECKS = (0.1, 0.6)  # where a quartic through the nodes is compared with what it stands for
_WEIGHTS = (1.0, -4.0, 6.0, -4.0, 1.0)  # barycentric, of equidistant nodes


def _weights_at(s: float) -> list[float]:
    return [weight / (s - node) for weight, node in zip(_WEIGHTS, NODES, strict=True)]


_OF_CHECKS = [np.array([w]).T for w in zip(*map(_weights_at, CHECKS), strict=True)]


def interpolate(values: np.ndarray, s: float) -> np.ndarray:
    """The quartic through values (5, k) at `NODES`, at s; barycentric, sums from left to right."""
    if s in NODES:
        value: np.ndarray = values[NODES.index(s)]
        return value
    if values.shape[1] == 1:  # numbers take a tenth of the time of arrays, and give the same
        total, below = _sums(_weights_at(s), values[:, 0].tolist())
        return np.array([total]) / below  # by an array: far from a step the weights may add up to 0
    total, below = _sums(_weights_at(s), values)
    value = total / below
    return value


def at_checks(values: np.ndarray) -> np.ndarray:
    """The same at `CHECKS`, (2, k)."""
    total, below = _sums(_OF_CHECKS, values)
    found: np.ndarray = total / below
    return found


def _sums(weights: Sequence[Any], values: Sequence[Any] | np.ndarray) -> tuple[Any, Any]:
    """Of weighted values and of weights, from left to right."""
    total, below = weights[0] * values[0], weights[0]
    for weight, value in zip(weights[1:], values[1:], strict=True):
        total = total + weight * value
        below = below + weight
    return total, below


class History:
    """Values of one signal at five points of every accepted step, newest last.

    `rows` are arrays with room for more steps than there are, starts and ends (n,) and values (n, 5, k); the
    native engine writes to them as well.
    """

    def __init__(self, initial: np.ndarray) -> None:
        self.initial = initial
        self.count = 0
        self.rows = (np.zeros(0), np.zeros(0), np.zeros((0, 5, len(initial))))

    @property
    def starts(self) -> np.ndarray:
        """Where the steps begin [s]."""
        return self.rows[0][: self.count]

    @property
    def ends(self) -> np.ndarray:
        """Where the steps end [s]."""
        return self.rows[1][: self.count]

    @property
    def values(self) -> np.ndarray:
        """(count, 5, k)."""
        return self.rows[2][: self.count]

    @property
    def newest(self) -> np.ndarray:
        """Value at the end of the newest step; `initial` before all steps."""
        value: np.ndarray = self.values[-1][-1] if self.count else self.initial
        return value

    def reserve(self, more: int) -> None:
        """Have room for so many more steps."""
        if self.count + more > len(self.rows[0]):
            room = max(2 * len(self.rows[0]), self.count + more)
            starts, ends, values = (np.zeros((room, *old.shape[1:])) for old in self.rows)
            starts[: self.count], ends[: self.count], values[: self.count] = (
                self.starts,
                self.ends,
                self.values,
            )
            self.rows = (starts, ends, values)

    def add(self, t0: float, t1: float, values: np.ndarray) -> None:
        """Append a step."""
        self.reserve(1)
        starts, ends, all_values = self.rows
        starts[self.count], ends[self.count], all_values[self.count] = t0, t1, values
        self.count += 1

    def at(self, t: float, left: bool = False) -> np.ndarray:
        """Value at time t [s], right-continuous or, where it jumps, from the left; first of all `initial`.

        A time within rounding of the start of a step counts as that start: delayed jumps are met there.
        """
        near = 1e-12 * max(1.0, abs(t))
        starts, ends, values = self.rows
        k = int(self.starts.searchsorted(t - near if left else t + near, "right")) - 1
        if k < 0:
            return self.initial
        return interpolate(values[k], (t - float(starts[k])) / (float(ends[k]) - float(starts[k])))

    def forget(self, before: float) -> None:
        """Drop steps that end before a time [s]."""
        k = int(self.ends.searchsorted(before, "right"))
        if k > 64:  # in bulk, not at every step
            for rows in self.rows:
                rows[: self.count - k] = rows[k : self.count].copy()
            self.count -= k

    def parts(self) -> dict[str, np.ndarray]:
        """All of it, without the room that is left."""
        return {"initial": self.initial, "starts": self.starts, "ends": self.ends, "values": self.values}

    @staticmethod
    def of(initial: np.ndarray, starts: np.ndarray, ends: np.ndarray, values: np.ndarray) -> History:
        """What `parts` gave, in arrays of its own."""
        made = History(initial.copy())
        made.count = len(starts)
        made.rows = (np.array(starts), np.array(ends), np.array(values).reshape(len(starts), 5, len(initial)))
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> History:
        return History.of(**self.parts())
