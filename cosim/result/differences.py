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
    last sample where the signal is sampled. A signal that one of them knows by another name too (the outport
    of a subsystem, which is an output of an FMU in the other) is compared by that name.
    """
    found: list[SignalDifference] = []
    inside = np.zeros(len(first.time), bool)
    if len(second.time):
        inside = (first.time >= second.time[0]) & (first.time <= second.time[-1])
    time = first.time[inside]
    counterparts = pairs(first, second)
    for leaf in first.tree.leaves:
        if leaf.name not in first.signals:
            continue
        theirs = counterparts.get(leaf.name)
        if theirs is None or second.signals[theirs].shape[1] != leaf.size:
            found.append(SignalDifference(leaf.name, ""))
            continue
        for k, name in enumerate(leaf.components):
            one, other = first.signals[leaf.name][inside, k], second.signals[theirs][:, k]
            if leaf.rate is not None:
                there = other[np.searchsorted(second.time, time, side="right") - 1]
            elif len(time):
                there = np.interp(time, second.time, other)
            else:
                there = one
            found.append(_apart(name, leaf.unit(k), time, one, there))
    return found


def pairs(first: Signals, second: Signals) -> dict[str, str]:
    """Signals of the first result that the second has too, and what they are called there.

    The same name comes first, then another name that one of them has for the signal.
    """
    found = {name: name for name in first.signals if name in second.signals}
    for alias, name in second.tree.aliases.items():
        if alias in first.signals and name in second.signals:
            found.setdefault(alias, name)
    for alias, name in first.tree.aliases.items():
        if name in first.signals:
            theirs = alias if alias in second.signals else second.tree.aliases.get(alias, "")
            if theirs in second.signals:
                found.setdefault(name, theirs)
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
