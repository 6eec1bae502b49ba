"""Signals with several values, such as angles, on the way to an equilibrium: the one nearest to the last.

A run counts the turns of an angle step by step. On the way to an equilibrium they are counted from point to
point, or the torque of a bushing that is turned by more than half a turn would jump there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from blocks.contract.memories import NearestValue
from cosim.columns import pick

if TYPE_CHECKING:
    from cosim.analysis.operating import SystemAtPoint

SAME = 1e-6  # closer values are one branch


class FollowedBranches:
    """The memories with which a system says on which branch its signals are, in the context of a model."""

    def __init__(self, model: SystemAtPoint) -> None:
        s, self._model = model.system, model
        self._slots = s.held_of(NearestValue)
        self._places = np.concatenate([np.zeros(0, int), *[slot.index for slot in self._slots.values()]])
        rows = {int(place): k for k, place in enumerate(s.accepted[1])}
        self._rows = [rows[int(place)] for place in self._places]
        self._time = np.zeros(1)
        if self._rows:
            key = f"branches:{self._places.tolist()}"
            function = s.function(key, lambda: [pick(s.accepted[0], np.array(self._rows))])
            self._values = model.bound(function, self._time)

    @property
    def now(self) -> np.ndarray:
        """The values (n,) that those of the signals are nearest to."""
        found: np.ndarray = self._model.context.h[self._places]
        return found

    def begin_at(self, values: np.ndarray) -> None:
        """Go back to values (n,) as `now` gave them."""
        self._model.context.h[self._places] = values

    def go_on(self) -> None:
        """The signals are here now: further on they are nearest to what they are here."""
        if self._rows:
            self._time[0] = self._model.context.t
            self.begin_at(self._values().copy())

    def left(self) -> Iterator[tuple[str, np.ndarray]]:
        """Names and values of those that a run which begins here would have on another branch."""
        if not self._rows:
            return
        self.go_on()
        here = self.now.copy()
        self.begin_at(np.concatenate([slot.initial for slot in self._slots.values()]))
        self.go_on()
        other = np.abs(self.now - here) > SAME
        self.begin_at(here)
        start = 0
        for name, slot in self._slots.items():
            if other[start : start + slot.size].any():
                yield name, here[start : start + slot.size].copy()
            start += slot.size
