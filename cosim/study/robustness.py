"""How much margin a condition has, instant by instant: the robustness of signal temporal logic.

A comparison a < b has the robustness b - a: positive where it holds, and by how much; "and" is the least of
its parts, "or" the largest, "not" the negative. Where a and b are equal a == b holds and a != b does not: the
sign of their margins says so, which are as small as a number can be there. ``always[a, b]`` is the least
robustness between a and b seconds from now, ``eventually[a, b]`` the largest; ``p until[a, b] q`` the
best over times s of that window of q at s and p up to before s. What of a window is after the end of the run
is left out: the least of nothing is inf.

Source: A. Donzé, O. Maler, "Robust satisfaction of temporal logic over real-valued signals", FORMATS 2010,
definition 3; on sampled signals as in the library RTAMT.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np

from cosim.study.formulas import Compared, Formula, Logic, Temporal

Look = Callable[[Formula], np.ndarray]
LEAST = float(np.finfo(float).tiny)  # margin of what holds, or does not, by equality
SIGNS: Mapping[str, Callable[..., np.ndarray]] = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
    "==": np.equal, "!=": np.not_equal,
}  # fmt: skip
SLACK = 1e-9  # relative: a window whose end misses an instant by rounding reaches it


def robustness(formula: Formula, time: np.ndarray, look: Look) -> np.ndarray:
    """Robustness at every instant, (..., n).

    Parameters
    ----------
    time : (n,) s, increasing
    look : the value of a numeric part of the formula, (..., n)
    """
    match formula:
        case Compared():
            a, b = look(formula.left), look(formula.right)
            match formula.sign[0]:
                case "<":
                    return np.asarray(b - a)
                case ">":
                    return np.asarray(a - b)
            apart = np.abs(a - b)
            apart = np.where(apart == 0, -LEAST, apart)
            return -apart if formula.sign == "==" else apart
        case Logic():
            parts = [robustness(part, time, look) for part in formula.parts]
            match formula.word:
                case "and":
                    return reduce(np.minimum, parts)
                case "or":
                    return reduce(np.maximum, parts)
                case "not":
                    return -parts[0]
            return np.maximum(-parts[0], parts[1])
        case Temporal():
            parts = [robustness(part, time, look) for part in formula.parts]
            if formula.word == "until":
                return until(parts[0], parts[1], time, formula.begin, formula.end)
            if formula.word == "always":
                return -largest(-parts[0], time, formula.begin, formula.end)
            return largest(parts[0], time, formula.begin, formula.end)
    raise TypeError(f"{type(formula).__name__} is no condition")


def holds(formula: Formula, look: Look) -> np.ndarray:
    """Is a condition without operators over time true, instant by instant, (..., n) bool.

    Unlike the sign of its robustness this tells a < b from a <= b where both are equal: a lamp that is 0 is
    not lamp.y > 0.  look : as of `robustness`
    """
    match formula:
        case Compared():
            return SIGNS[formula.sign](look(formula.left), look(formula.right))
        case Logic():
            parts = [holds(part, look) for part in formula.parts]
            match formula.word:
                case "and":
                    return reduce(np.logical_and, parts)
                case "or":
                    return reduce(np.logical_or, parts)
                case "not":
                    return ~parts[0]
            return ~parts[0] | parts[1]
    raise TypeError(f"{type(formula).__name__} is no condition of an instant")


def window(time: np.ndarray, begin: float, end: float) -> tuple[np.ndarray, np.ndarray]:
    """First and last + 1 instant of the window of each instant, (n,) each."""
    slack = SLACK * (time[-1] - time[0]) / max(1, len(time) - 1) if len(time) else 0.0
    first = np.searchsorted(time, time + begin - slack, side="left")
    last = (
        np.full(len(time), len(time))
        if math.isinf(end)
        else np.searchsorted(time, time + end + slack, side="right")
    )
    return first, last


def largest(values: np.ndarray, time: np.ndarray, begin: float, end: float) -> np.ndarray:
    """The largest value of each window, (..., n); -inf for an empty one.

    By doubling: the largest of 2^k values from each instant on, of which two overlapping cover any window.
    """
    first, last = window(time, begin, end)
    count = np.maximum(last - first, 0)
    found = np.full(values.shape, -np.inf)
    level, table = 0, np.asarray(values, dtype=float)
    power = np.zeros(len(count), int)
    power[count > 0] = np.floor(np.log2(count[count > 0])).astype(int)
    for level in range(int(power.max(initial=0)) + 1):
        mine = np.flatnonzero((count > 0) & (power == level))
        if len(mine):
            found[..., mine] = np.maximum(table[..., first[mine]], table[..., last[mine] - 2**level])
        step = 2**level
        if step < table.shape[-1]:
            table = np.concatenate(
                [np.maximum(table[..., :-step], table[..., step:]), table[..., -step:]], axis=-1
            )
    return found


def until(p: np.ndarray, q: np.ndarray, time: np.ndarray, begin: float, end: float) -> np.ndarray:
    """``p until[begin, end] q``, (..., n): from each instant on, p has to hold before the instant of q."""
    first, last = window(time, begin, end)
    shape = np.broadcast_shapes(p.shape, q.shape)
    found = np.full(shape, -np.inf)
    p, q = np.broadcast_to(p, shape), np.broadcast_to(q, shape)
    for k in range(len(time)):
        if last[k] <= k:
            continue
        held = np.minimum.accumulate(p[..., k : last[k]], axis=-1)
        before = np.concatenate([np.full((*shape[:-1], 1), np.inf), held[..., :-1]], axis=-1)
        here = np.minimum(q[..., k : last[k]], before)[..., max(0, first[k] - k) :]
        if here.shape[-1]:
            found[..., k] = here.max(axis=-1)
    return found
