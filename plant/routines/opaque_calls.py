"""User subroutines the equations call at run time, and what becomes of the memory they keep.

Their Jacobians come from central differences. What a routine raises stops the run, unless it was at a trial
value that the integrator can do without; the error of the run names the element and has it as its cause.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.block import Equations
from blocks.contract.plain_state import encode, plain_part, restore
from plant.routines.own_clock import NEVER, OwnClock

STEP = 6e-6  # of 1 + |x|: the cube root of the rounding error, best for central differences
WIDE_STEP = 1e-4  # the fourth root, best for second ones
CLOCK = "@clock"  # no name of a variable


@dataclass(frozen=True, eq=False)
class OpaqueRoutine:
    """A routine outside the equations, in one run.

    function(x, dflag) -> y    x (n,), y (m,); dflag is true while differences are taken
    routine                    has ``keeps``, ``state`` and ``restore`` if it may keep something, and perhaps
                               a ``close``
    """

    name: str
    function: Callable[[np.ndarray, bool], np.ndarray]
    n: int
    m: int
    routine: Any
    clock: OwnClock = field(default_factory=OwnClock)  # by which a routine that keeps something may sample

    @property
    def keeps(self) -> bool:
        """Does the routine keep something from call to call?"""
        return bool(getattr(self.routine, "keeps", False))

    def trial(self, x: np.ndarray, dflag: bool = False) -> np.ndarray:
        """Value at x; the routine forgets this call."""
        if not self.keeps:
            return self.function(x, dflag)
        before = self.routine.state()
        try:
            return self.function(x, dflag)
        finally:
            self.routine.restore(before)

    def inside(self, x: np.ndarray) -> np.ndarray:
        """Value at a trial point x of a step, where the routine does not sample."""
        return self.trial(np.array([self.clock.within(float(x[0])), *x[1:]]))

    def remembered(self, x: np.ndarray) -> np.ndarray:
        """Value at x, whose first entry is the time, and when the routine samples next [s], (m + 1,).

        The routine remembers this call.
        """
        before, t = self.routine.state(), float(x[0])
        value = self.function(np.array([self.clock.at_accepted(t), *x[1:]]), False)
        self.clock.accepted(t, before, self.routine.state(), lambda t: self._kept_after(t, x))
        return np.append(value, self.clock.due)

    def _kept_after(self, t: float, x: np.ndarray) -> dict[str, Any]:
        """What the routine would keep after a call at another time; it forgets this call."""
        before = self.routine.state()
        try:
            self.function(np.array([t, *x[1:]]), False)
            return dict(self.routine.state())
        finally:
            self.routine.restore(before)

    def save(self) -> bytes:
        """The plain data among what the routine keeps, and what is known of its clock."""
        if not self.keeps:
            return b""
        return encode(plain_part(self.routine.state()) | {CLOCK: self.clock.data()})

    def load(self, state: bytes) -> None:
        """Put back what `save` gave."""
        if self.keeps and state:
            found = restore(state, self.routine.state())
            if CLOCK in found:
                self.clock.put_back(found.pop(CLOCK))
            self.routine.restore(found)

    def close(self) -> None:
        """End what the routine runs in, if anything is to be ended."""
        if hasattr(self.routine, "close"):
            self.routine.close()

    def slope(self, x: np.ndarray) -> np.ndarray:
        """(m, n) Jacobian by central differences."""
        J = np.zeros((self.m, self.n))
        for k in range(self.n):
            h = STEP * (1.0 + abs(x[k]))
            above, below = x.copy(), x.copy()
            above[k] += h
            below[k] -= h
            J[:, k] = (self.trial(above, True) - self.trial(below, True)) / (above[k] - below[k])
        return J

    def rate(self, x: np.ndarray) -> np.ndarray:
        """(1,) derivative of the first value in the first entry of x, the time."""
        h = STEP * (1.0 + abs(x[0]))
        late, early = ([x[0] + s * h, *x[1:]] for s in (1, -1))
        return (self.trial(np.array(late), True) - self.trial(np.array(early), True))[:1] / (2 * h)

    def differenced(self, slope: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
        """(n, n) derivatives of a gradient (n,) by central differences, made symmetric."""
        H = np.zeros((self.n, self.n))
        for k in range(self.n):
            step = np.zeros(self.n)
            step[k] = STEP * (1.0 + abs(x[k]))
            H[:, k] = (slope(x + step) - slope(x - step)).ravel() / (2 * step[k])
        return (H + H.T) / 2

    def curvature(self, x: np.ndarray) -> np.ndarray:
        """(m, n, n) second derivatives by central differences."""
        h = WIDE_STEP * (1.0 + np.abs(x))
        H = np.zeros((self.m, self.n, self.n))
        middle = self.trial(x, True)
        steps = np.diag(h)
        for k in range(self.n):
            ends = self.trial(x + steps[k], True) + self.trial(x - steps[k], True)
            H[:, k, k] = (ends - 2 * middle) / h[k] ** 2
            for other in range(k):
                plus, minus = steps[k] + steps[other], steps[k] - steps[other]
                same = self.trial(x + plus, True) + self.trial(x - plus, True)
                mixed = self.trial(x + minus, True) + self.trial(x - minus, True)
                H[:, k, other] = H[:, other, k] = (same - mixed) / (4 * h[k] * h[other])
        return H


def opaque_function(
    make: Callable[[], OpaqueRoutine],
    keeps: bool,
    m: int,
    argument: ca.SX,
    b: Equations,
    name: str,
    about: str,
) -> ca.SX:
    """(m, 1) value of a routine at (n, 1) `argument`, whose first entry is the time.

    make : gives every run a routine of its own; keeps : does it keep something from call to call?
    name : unique in the block; about : the element and its routine, for messages
    """
    n = int(argument.numel())
    given = argument[1:] if n > 1 else ca.SX(1, 1)

    def joined(t: float, u: np.ndarray) -> np.ndarray:
        return np.concatenate([[t], u])[:n]

    def value(own: OpaqueRoutine, t: float, u: np.ndarray) -> np.ndarray:
        return own.inside(joined(t, u)) if keeps else own.trial(joined(t, u))

    def slope(own: OpaqueRoutine, t: float, u: np.ndarray) -> np.ndarray:
        J = own.slope(joined(t, u))[:, 1:]
        return J if n > 1 else np.zeros((m, 1))

    y = b.opaque(name, value, ca.densify(given), m, slope, make=make, about=about)
    if keeps:  # at the start, at ticks, after every accepted step and event

        def remembered(own: OpaqueRoutine, t: float, u: np.ndarray) -> np.ndarray:
            return own.remembered(joined(t, u))

        done = b.opaque(f"{name}_accepted", remembered, ca.densify(given), m + 1, make=make, about=about)
        nothing = np.append(np.zeros(m), NEVER)
        start = b.mode(f"{name}_start", nothing, m + 1, at_ticks=done)
        found = b.accepted(f"{name}_accepted", done, nothing)
        sets = np.where(found[m] < NEVER, np.abs(found[m] - start[m]), 0.0) > 0.0  # its clock, by itself
        due = np.where(sets, 1.0, b.time - start[m])
        b.when(due, {start: found}, "rising", f"{name} samples", by_value=True)
    return ca.SX(y)
