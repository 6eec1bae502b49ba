"""The margin of a condition, instant by instant: the robustness of signal temporal logic.

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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np

from cosim.study.between import SignalCourse
from cosim.study.formulas import Compared, Formula, Logic, Temporal
from cosim.study.window_ends import edges, found_in, slack_of

Look = Callable[[Formula], np.ndarray]
LEAST = float(np.finfo(float).tiny)  # margin of an equality that holds or does not
SIGNS: Mapping[str, Callable[..., np.ndarray]] = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
    "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


@dataclass(frozen=True)
class Margin:
    """The robustness on the grid, and its extrema between two instants where signals are smooth.

    at : (..., n) at the instants; low, high : (..., n - 1) the least and largest inside each interval, inf
    and -inf where those at its ends are beyond; None where nothing is known of any
    left : (..., n - 1) just before the next instant; None where it is what it is at the instant before
    course : of a comparison, the signal that the margin is
    """

    at: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    left: np.ndarray | None = None
    course: SignalCourse | None = None

    def __neg__(self) -> Margin:
        return Margin(
            -self.at,
            None if self.high is None else -self.high,
            None if self.low is None else -self.low,
            None if self.left is None else -self.left,
            None if self.course is None else -self.course,
        )

    @property
    def held(self) -> np.ndarray:
        """The least value from each instant until before the next, (..., n - 1)."""
        found = self.at[..., :-1] if self.left is None else np.minimum(self.at[..., :-1], self.left)
        return found if self.low is None else np.minimum(found, self.low)

    @property
    def bottom(self) -> np.ndarray:
        """The least value in each interval, its ends included, (..., n - 1)."""
        ends = np.minimum(self.at[..., :-1], self.at[..., 1:])
        return ends if self.low is None else np.minimum(ends, self.low)

    @staticmethod
    def least_of(parts: Sequence[Margin]) -> Margin:
        """The least of several margins, as for "and".

        Its peak inside an interval is that of the one that is below all others there, or where two cross.
        """
        at = reduce(np.minimum, [part.at for part in parts])
        lows = [part.low for part in parts if part.low is not None]
        high = None
        for k, part in enumerate(parts):
            if part.high is None:
                continue
            others = [other.bottom for j, other in enumerate(parts) if j != k]
            mine = np.where(part.high <= reduce(np.minimum, others), part.high, -np.inf)
            high = mine if high is None else np.maximum(high, mine)
        for (i, one), (j, two) in combinations(enumerate(parts), 2):
            if one.course is None or two.course is None:
                continue
            mine = one.course.meets(two.course)
            for k, other in enumerate(parts):
                mine = mine if k in (i, j) else np.where(mine <= other.bottom, mine, -np.inf)
            high = mine if high is None else np.maximum(high, mine)
        lefts = [part.at[..., :-1] if part.left is None else part.left for part in parts]
        return Margin(at, reduce(np.minimum, lows) if lows else None, high, reduce(np.minimum, lefts))


def robustness(formula: Formula, time: np.ndarray, look: Look) -> np.ndarray:
    """Robustness at every instant, (..., n), of signals that are unknown between the instants.

    Parameters
    ----------
    time : (n,) s, increasing
    look : the value of a numeric part of the formula, (..., n)
    """
    return margins(formula, time, lambda part: SignalCourse(time, look(part))).at


def margins(
    formula: Formula,
    time: np.ndarray,
    look: Callable[[Formula], SignalCourse],
    grid: np.ndarray | None = None,
    wanted: np.ndarray | None = None,
) -> Margin:
    """Robustness at the wanted instants and in between; operators over time use both.

    Parameters
    ----------
    time : (n,) s, increasing
    look : the course of a numeric part of the formula
    grid : (n,) bool, the instants that count for every operator; others only where a window begins or ends.
        By default all
    wanted : (n,) bool, the instants of the robustness; by default all
    """
    wanted = np.ones(len(time), bool) if wanted is None else wanted
    match formula:
        case Compared():
            return _apart(formula.sign, look(formula.left).take(wanted), look(formula.right).take(wanted))
        case Logic():
            parts = [margins(part, time, look, grid, wanted) for part in formula.parts]
            match formula.word:
                case "and":
                    return Margin.least_of(parts)
                case "or":
                    return -Margin.least_of([-part for part in parts])
                case "not":
                    return -parts[0]
            return -Margin.least_of([parts[0], -parts[1]])
        case Temporal():
            inside = np.ones(len(time), bool)
            if grid is not None:
                inside = grid | wanted | found_in(time, edges(formula, time[wanted]))
            parts = [margins(part, time, look, grid, inside) for part in formula.parts]
            return Margin(_over_time(formula, parts, time[inside])[..., wanted[inside]])
    raise TypeError(f"{type(formula).__name__} is no condition")


def _over_time(formula: Temporal, parts: Sequence[Margin], time: np.ndarray) -> np.ndarray:
    """The margin of an operator over time at every instant, (..., n), given those of its parts."""
    if formula.word == "until":
        return until(parts[0], parts[1], time, formula.begin, formula.end)
    if formula.word == "always":
        return -_highest(-parts[0], time, formula)
    return _highest(parts[0], time, formula)


def _apart(sign: str, a: SignalCourse, b: SignalCourse) -> Margin:
    """The margin of a comparison."""
    if sign[0] in "<>":
        course = b - a if sign[0] == "<" else a - b
        if course.slopes is None:
            return Margin(course.values)
        return Margin(course.values, -(-course).peaks()[0], course.peaks()[0], course.left(), course)
    apart = np.abs(a.values - b.values)
    apart = np.where(apart == 0, -LEAST, apart)
    return Margin(-apart if sign == "==" else apart)


def _highest(part: Margin, time: np.ndarray, formula: Temporal) -> np.ndarray:
    """The largest margin of each window: of its instants, and of the intervals between two of them."""
    found = largest(part.at, time, formula.begin, formula.end)
    if part.high is not None and np.isfinite(part.high).any():
        found = np.maximum(found, largest(part.high, time, formula.begin, formula.end, between=True))
    return found


def holds(formula: Formula, look: Look) -> np.ndarray:
    """Whether a condition without operators over time is true, instant by instant, (..., n) bool.

    Unlike the sign of its robustness this tells a < b from a <= b where both are equal: a lamp that is 0 is
    not lamp.y > 0.  look : as of `robustness`
    """
    return truth(formula, lambda part: SIGNS[part.sign](look(part.left), look(part.right)))


def truth(formula: Formula, compared: Callable[[Compared], np.ndarray]) -> np.ndarray:
    """The same, given which comparisons are true."""
    match formula:
        case Compared():
            return compared(formula)
        case Logic():
            parts = [truth(part, compared) for part in formula.parts]
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
    slack = slack_of(time)
    first = np.searchsorted(time, time + begin - slack, side="left")
    last = (
        np.full(len(time), len(time))
        if math.isinf(end)
        else np.searchsorted(time, time + end + slack, side="right")
    )
    return first, last


def largest(
    values: np.ndarray, time: np.ndarray, begin: float, end: float, between: bool = False
) -> np.ndarray:
    """The largest value of each window, (..., n); -inf for an empty one.

    By doubling: the largest of 2^k values from each instant on, of which two overlapping cover any window.

    values : (..., n) at the instants; or, `between` them, (..., n - 1), which count where both ends do
    """
    first, last = window(time, begin, end)
    last = last - between
    count = np.maximum(last - first, 0)
    found = np.full((*values.shape[:-1], len(time)), -np.inf)
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


def until(p: Margin, q: Margin, time: np.ndarray, begin: float, end: float) -> np.ndarray:
    """Robustness of ``p until[begin, end] q``, (..., n): p has to hold from each instant until that of q.

    What p falls to and q rises to between two instants counts, before q the least p of the interval. Where p
    does not jump it has to hold when q comes too, since it holds until then.
    """
    first, last = window(time, begin, end)
    shape = np.broadcast_shapes(p.at.shape, q.at.shape)
    found = np.full(shape, -np.inf)
    q_at, stretches = np.broadcast_to(q.at, shape), np.broadcast_to(p.at, shape).copy()
    stretches[..., :-1] = p.held
    inside = None if q.high is None else np.minimum(q.high, p.bottom)
    if p.course is not None and q.course is not None:
        begins = np.minimum(p.course.meets(q.course), p.at[..., :-1])
        crossed = begins if p.low is None else np.minimum(begins, p.low)
        inside = crossed if inside is None else np.maximum(inside, crossed)
    for k in range(len(time)):
        if last[k] <= k:
            continue
        held = np.minimum.accumulate(stretches[..., k : last[k]], axis=-1)
        before = np.concatenate([np.full((*shape[:-1], 1), np.inf), held[..., :-1]], axis=-1)
        begun = max(0, first[k] - k)
        here = np.minimum(q_at[..., k : last[k]], before)[..., begun:]
        if here.shape[-1]:
            found[..., k] = here.max(axis=-1)
        if inside is not None and here.shape[-1] > 1:
            between = np.minimum(inside[..., k : last[k] - 1], before[..., :-1])[..., begun:]
            found[..., k] = np.maximum(found[..., k], between.max(axis=-1))
    return found
