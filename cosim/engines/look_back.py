"""Copies of the context on the way, so that a run that fails can be looked at from shortly before."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from blocks.errors import PlantloopError
from cosim.run.context import Context

EVERY = 0.05  # s of wall time between two copies
SHARE = 50.0  # a copy is made no sooner than so many times what it takes
STEPS = 50  # between two copies, at least


class LookBack:
    """The two newest copies of a context under way, made every 50 ms of wall time and 50 steps or more.

    The older one is at least that far from where a run stops; copies cost at most 2 % of a run.
    """

    def __init__(self) -> None:
        self._copies: list[Context] = []
        self._due = time.perf_counter() + EVERY
        self._steps = 0

    def note(self, copy: Callable[[], Context], steps: int = 1) -> None:
        """Take a copy, if it is time; `copy` is called where an accepted step has ended, so many steps on."""
        self._steps += steps
        began = time.perf_counter()
        if began < self._due or self._steps < STEPS:
            return
        self._steps = 0
        try:
            self._copies = [*self._copies[-1:], copy()]
        except PlantloopError:  # something in the run cannot be saved
            self._due = math.inf
            return
        now = time.perf_counter()
        self._due = now + max(EVERY, SHARE * (now - began))

    def forget(self) -> None:
        """Forget the copies: something was changed from outside, so they are no past of what follows."""
        self._copies = []

    @property
    def older(self) -> Context | None:
        """The older of two copies."""
        return self._copies[0] if len(self._copies) > 1 else None

    @property
    def only(self) -> Context | None:
        """The only copy there is."""
        return self._copies[0] if len(self._copies) == 1 else None
