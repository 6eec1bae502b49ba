"""Corners of a right-hand side: where its comparisons switch, and the first such place inside a step.

``np.where``, ``clip``, ``abs``, ``min`` and ``max``, or IF, MAX and IMPACT in a deck, mostly join two smooth
pieces whose values meet. A step over the joint has an error of low order, which the estimate made for smooth
solutions sees badly. An adaptive step therefore ends there. Nothing else happens: no event, no memory, and
the equations on both sides are what they are.

Left to error control: comparisons of delayed signals and of algebraic unknowns, those inside called functions
(long tables), and jumps of other kinds, as of ``floor``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.symbols import hash_of
from cosim.system import System

SWITCHES = frozenset((ca.OP_LT, ca.OP_LE, ca.OP_FMIN, ca.OP_FMAX, ca.OP_FABS))
# What never passes zero: pivots of a mechanism are sizes of 1/x.
ONE_SIGN = frozenset((ca.OP_INV, ca.OP_SQ, ca.OP_SQRT, ca.OP_EXP, ca.OP_FABS))
MARGIN = 1e-6  # of a step: a corner nearer to one of its ends is there already
CLOSE = 1e-7  # of a step: how exactly a corner is found
ROUNDS = 50  # looks at a corner that is searched
LOOKS = 3  # how often an accepted step is made shorter, since it found its corner by a solution across it

Corners = Callable[[float, np.ndarray], np.ndarray]  # (t, x) -> (n,), each zero at a corner; a new array
Inside = Callable[[float], np.ndarray]  # t -> x within a step


def corners_of(s: System) -> ca.SX:
    """Expressions (n,) that are zero where comparisons in the derivative switch."""
    found: ca.SX = s.derived.get("corners", lambda: _found(s))
    return found


def _found(s: System) -> ca.SX:
    none = ca.SX(0, 1)
    f = s.function("derivative", lambda: [s.derivative])
    if not any(_bends(f, k) for k in range(f.n_instructions())):  # all nodes take 10 times as long
        return none
    every = ca.vertcat(none, *_differences(s.derivative))
    moving = ca.which_depends(every, ca.vertcat(s.t, s.x), 1, True)
    unknown = [False] * every.numel()
    if len(s.w0):
        unknown = ca.which_depends(every, s.w, 1, True)
    return ca.vertcat(none, *[every[k] for k in range(every.numel()) if moving[k] and not unknown[k]])


def _bends(f: ca.Function, k: int) -> bool:
    """Is an operation a comparison that may switch?"""
    code = f.instruction_id(k)
    if code not in SWITCHES or code != ca.OP_FABS:
        return code in SWITCHES
    (place,) = f.instruction_input(k)
    made = next(j for j in range(k - 1, -1, -1) if place in f.instruction_output(j))
    return f.instruction_id(made) not in ONE_SIGN


def _differences(expression: ca.SX) -> list[ca.SX]:
    """Differences of the operands of all comparisons in an expression, each pair once."""
    waiting: list[Any] = [*expression.nonzeros()]  # SX; the elements of one have a type of their own
    seen = {hash_of(e) for e in waiting}
    found: dict[frozenset[int], ca.SX] = {}
    while waiting:
        e = waiting.pop()
        parts = [e.dep(k) for k in range(e.n_dep())]
        if parts and e.op() in SWITCHES and not (len(parts) == 1 and _has_one_sign(parts[0])):
            key = frozenset(hash_of(part) for part in parts)
            found.setdefault(key, parts[0] - parts[1] if len(parts) == 2 else parts[0])
        for part in parts:
            if (own := hash_of(part)) not in seen:
                seen.add(own)
                waiting.append(part)
    return list(found.values())


def _has_one_sign(e: ca.SX) -> bool:
    return e.n_dep() > 0 and e.op() in ONE_SIGN


def first_corner(corners: Corners | None, t: float, h: float, inside: Inside) -> float:
    """Time of the first corner within a step of size h from t [s], just behind it; inf where there is none.

    inside : the solution within the step
    """
    if corners is None:
        return math.inf

    def at(time: float) -> np.ndarray:
        return corners(time, inside(time))

    low, high, found = t + MARGIN * h, t + (1.0 - MARGIN) * h, math.inf
    before, behind = at(low), at(high)
    for k in range(len(before)):
        if before[k] * behind[k] < 0.0:
            found, behind = _root(at, k, low, high, before, behind, h)
            high = found
    return found if found > t else math.inf


def _root(
    at: Inside, k: int, low: float, high: float, before: np.ndarray, behind: np.ndarray, h: float
) -> tuple[float, np.ndarray]:
    """Where the sign of one changes, within `CLOSE` steps and just behind it, and all values there.

    Secants; an end that stays has its value halved (Dahlquist & Björck, Numerical Methods in Scientific
    Computing I, sec. 6.2.2, Illinois method). None ends nearer to an end than half of what is asked for.
    """
    first, below, above, near, last = before[k], before[k], behind[k], 0.5 * CLOSE * h, 0
    for _ in range(ROUNDS):
        if not high - low > CLOSE * h:
            break
        time = low + (high - low) * (below / (below - above))
        time = low + near if not time > low + near else high - near if time > high - near else time
        values = at(time)
        if values[k] * first <= 0.0:
            high, above, behind = time, values[k], values
            below *= 0.5 if last > 0 else 1.0
            last = 1
        else:
            low, below = time, values[k]
            above *= 0.5 if last < 0 else 1.0
            last = -1
    return high, behind
