"""Downhill to a rest: a system let go again and again from standing still, by long implicit steps.

A step of the implicit Euler method from rates of zero, after which rates are set to zero again, moves a
mechanism down its potential energy, from q to about the least of V(q) + |q - q0|_M^2 / (2 h^2): along a stiff
penalty's valley it slides, however steep the walls are, where Newton's method would go up a wall or meets a
singular Jacobian. With ever longer steps h it becomes Newton's method. Other states just settle.

Source: proximal point method; linearly implicit Euler method with the check of Deuflhard, Newton Methods for
Nonlinear Problems, section 6.4 (pseudo-transient continuation), that the next iteration is much shorter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

ROUNDS = 3000  # along a bent valley steps are as short as the third root of its stiffness says
WORK, FEWEST = 1e7, 200  # (n, n) systems of numbers in all, and rounds of the largest systems
SHORTER = 0.3  # of a step: how long the next iteration may be
LONGER, LESS = 3.0, 0.25  # next step after a good one, and after one that was too long
DOWNHILL = 0.5  # of the time in which the fastest growing motion grows e times
SHORTEST, LONGEST = 1e-12, 1e12  # s
ARRIVED = 1e-13  # of the size of the unknowns: a step is none
STANDING = 1e-8  # of the size of the unknowns: so short, once corrected,
IN_A_ROW = 10  # steps one after the other, there is no more


@dataclass(frozen=True)
class Descent:
    """What is let go: the free states of a system, (n,), in this order.

    rates(x) -> f             (n,) derivatives at x (n,)
    slopes(x) -> A            (n, n) their Jacobian
    corrected(x) -> x         back onto the invariants
    still : (n,) bool         which of them are rates, that are zero at rest
    low, high : (n,)          bounds
    arrived(x)                called where a step ends
    """

    rates: Callable[[np.ndarray], np.ndarray]
    slopes: Callable[[np.ndarray], np.ndarray]
    corrected: Callable[[np.ndarray], np.ndarray]
    still: np.ndarray
    low: np.ndarray
    high: np.ndarray
    arrived: Callable[[np.ndarray], None] = lambda x: None


def relaxed(motion: Descent, start: np.ndarray) -> np.ndarray:
    """States (n,) to which the system settles from `start`, nearly; whether it is a rest is to be seen."""
    with np.errstate(all="ignore"):  # a step may leave the numbers, and is then too long
        return _settled(motion, start)


def _settled(motion: Descent, start: np.ndarray) -> np.ndarray:
    x = last = np.where(motion.still, 0.0, start)
    f, A = motion.rates(x), motion.slopes(x)
    h = 1.0 / (1.0 + np.sqrt(np.abs(A).max(initial=0.0)))
    standing = 0
    for _ in range(int(np.clip(WORK / max(1, len(x)) ** 2, FEWEST, ROUNDS))):
        if not (np.isfinite(f).all() and np.isfinite(A).all()) or h < SHORTEST:
            return last
        rising = float(np.linalg.eigvals(A).real.max(initial=0.0))
        if h * rising > DOWNHILL:  # a longer step leads up to a hilltop, or a pass
            h = DOWNHILL / rising
        size = np.maximum(np.abs(x), 1e-3 * max(1.0, float(np.abs(x).max(initial=0.0))))
        length = lambda move, size=size: float(np.linalg.norm((move / size)[~motion.still]))
        try:
            inverse = np.linalg.inv(np.eye(len(x)) - h * A)
        except np.linalg.LinAlgError:
            h *= LESS
            continue
        step = inverse @ (h * f)
        more = inverse @ (h * motion.rates(x + step) - step)
        if length(step) <= ARRIVED:
            break
        if not length(more) <= SHORTER * length(step):
            h *= LESS
            continue
        moved = np.clip(np.where(motion.still, 0.0, x + step + more), motion.low, motion.high)
        if length(moved - x) <= ARRIVED:  # at a bound
            break
        last, x = x, np.where(motion.still, 0.0, motion.corrected(moved))
        motion.arrived(x)
        standing = standing + 1 if length(x - last) <= STANDING else 0
        if standing == IN_A_ROW:  # where rounding moves what invariants hold, steps never become none
            break
        f, A = motion.rates(x), motion.slopes(x)
        h *= LONGER
        if h > LONGEST:  # it goes on for ever
            break
    return x
