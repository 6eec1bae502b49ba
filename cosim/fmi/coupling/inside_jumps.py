"""Jumps inside a macro step: which signals have jumped, and what that costs where two halves cannot tell.

Where an output jumps at s inside a step, a unit that holds its value from before over the step is wrong by
the jump times the time from s to the end, and one that holds the value at the end by the jump times the time
up to s. In the second half of a step the former, in the first half the latter is the same for one step as for
two halves: their difference shows nothing. With the other assumption one step differs from the two halves by
half of the jump times the step, or more, wherever the jump is; no error exceeds that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cosim.fmi.coupling.macro_step import MacroStep

UNEVEN = 8.0  # change over one half to that over the other: a smooth signal has that only near an extremum
STAYS = 0.7  # a change is less in a shorter step, unless it is a jump
EDGE = 1e-9  # of a step: a jump this near its end lies at its end
JUMP = 0.1  # of the tolerance of a run: what a jump inside a step may cost


@dataclass(frozen=True)
class Halves:
    """What two halves have passed: all signals (n,) at the beginning, the middle and the end.

    tolerance : (n,) of a whole run; watched : (n,) bool, those in which jumps matter
    """

    t0: float
    t1: float
    passed: Sequence[np.ndarray]
    tolerance: np.ndarray
    watched: np.ndarray

    @property
    def h(self) -> float:
        """Its length [s]."""
        return self.t1 - self.t0

    def _changes(self) -> tuple[np.ndarray, np.ndarray]:
        start, middle, end = self.passed
        return np.abs(middle - start), np.abs(end - middle)

    @property
    def most(self) -> np.ndarray:
        """The larger change over one of the halves, (n,)."""
        found: np.ndarray = np.maximum(*self._changes())
        return found

    @property
    def jumped(self) -> np.ndarray:
        """Whether signals seem to jump in a half, (n,) bool."""
        most, least = np.maximum(*self._changes()), np.minimum(*self._changes())
        found: np.ndarray = (most > UNEVEN * least) & (most > self.tolerance) & self.watched
        return found

    @property
    def first(self) -> np.ndarray:
        """Whether signals jump in the first half, (n,) bool."""
        first, second = self._changes()
        found: np.ndarray = self.jumped & (first > second)
        return found

    def stays(self, before: np.ndarray) -> bool:
        """Whether the change of a signal that jumps is what it was in a longer step, `before` (n,)."""
        return bool((self.jumped & (self.most >= STAYS * before)).any())

    def is_at_end(self, just_before: np.ndarray) -> bool:
        """Whether all that jumps in the second half does so behind `just_before` (n,)."""
        left = np.abs(self.passed[-1] - just_before)
        return bool((left >= 0.5 * self.most)[self.jumped].all())


class OtherAssumptions:
    """Makes whole steps in which units assume other inputs than the coupling lets them."""

    def __init__(self, macro: MacroStep) -> None:
        self._macro, self._every = macro, range(len(macro.runs))
        self._divisor = 3.0 if macro.order == 0 else 2.0

    @property
    def knows_new(self) -> bool:
        """Whether units get inputs that they could not know when the step began."""
        coupling, repeats = self._macro.coupling, self._macro.repeats is not None
        return bool(coupling.iterate) or coupling.order == "gauss-seidel" or repeats

    def share(self, difference: np.ndarray) -> np.ndarray:
        """The error of two halves that differ from such a step; of smooth signals some more."""
        return np.abs(difference) / self._divisor

    def steps(self, ends: np.ndarray) -> list[Callable[[float], str]]:
        """Make a step to a time [s]; each returns a message if a unit ends the run.

        ends : (m,) outputs of all units there
        """
        found: list[Callable[[float], str]] = []
        if not self._macro.coupling.iterate:
            found.append(lambda t: self._macro.make(t, self._every, ends))
        if self.knows_new:
            found.append(lambda t: self._with_old().make(t, self._every))
        return found

    def _with_old(self) -> MacroStep:
        """Steps with nothing but what is known at their beginning; a log of its own goes with them."""
        old = MacroStep(self._macro.coupled, self._macro.engine, self._macro.exchange)
        old.coupling = replace(self._macro.coupling, order="jacobi", iterate=False)
        return old
