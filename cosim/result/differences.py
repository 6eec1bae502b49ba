"""How far two results are apart, signal by signal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cosim.signal_tree import SignalTree


class Signals(Protocol):
    """What is compared of a `Result`."""

    @property
    def time(self) -> np.ndarray:
        """(n,) s."""

    @property
    def signals(self) -> Mapping[str, np.ndarray]:
        """(n, k) each."""

    @property
    def tree(self) -> SignalTree:
        """Sizes, labels, units and rates."""


@dataclass(frozen=True)
class SignalDifference:
    """The largest difference of a component of a signal.

    largest : in its unit, at the instant `at` [s], and as a `share` of the largest magnitude in both; all
    None where there is nothing to compare
    instants : how many instants were compared; 0 where the other result does not have the signal
    """

    name: str
    unit: str
    largest: float | None = None
    at: float | None = None
    share: float | None = None
    instants: int = 0


def differences(first: Signals, second: Signals) -> list[SignalDifference]:
    """Differences of all signals of the first result, component by component.

    At the instants of the first that the second covers; the second is taken in between as a line, or as its
    last sample where the signal is sampled.
    """
    found: list[SignalDifference] = []
    inside = np.zeros(len(first.time), bool)
    if len(second.time):
        inside = (first.time >= second.time[0]) & (first.time <= second.time[-1])
    time = first.time[inside]
    for leaf in first.tree.leaves:
        if leaf.name not in first.signals:
            continue
        if leaf.name not in second.signals or second.signals[leaf.name].shape[1] != leaf.size:
            found.append(SignalDifference(leaf.name, ""))
            continue
        for k, name in enumerate(leaf.components):
            one, other = first.signals[leaf.name][inside, k], second.signals[leaf.name][:, k]
            if leaf.rate is not None:
                there = other[np.searchsorted(second.time, time, side="right") - 1]
            elif len(time):
                there = np.interp(time, second.time, other)
            else:
                there = one
            found.append(_apart(name, leaf.unit(k), time, one, there))
    return found


def _apart(name: str, unit: str, time: np.ndarray, one: np.ndarray, there: np.ndarray) -> SignalDifference:
    """The largest difference of two courses at the same instants."""
    apart = np.abs(one - there)
    if not np.isfinite(apart).any():
        return SignalDifference(name, unit, instants=len(time))
    at = int(np.nanargmax(apart))
    size = max(float(np.nanmax(np.abs(one))), float(np.nanmax(np.abs(there))))
    share = float(apart[at]) / size if size > 0 else 0.0
    return SignalDifference(name, unit, float(apart[at]), float(time[at]), share, len(time))
