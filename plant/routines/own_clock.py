"""When a routine that samples by a clock of its own will sample next, found by asking it.

Such a routine (a VARSUB with discrete states) compares TIME with an instant it keeps, and changes what it
keeps once TIME has come there. Asked with the same states and later times it tells that instant: the first at
which something changes. Numbers that change at once whenever TIME goes on (a count of calls, the time of the
last call, an integral) are no samples and are left out; extremes and the like follow the states, not TIME.

Not found are clocks that are due within a window only, such as ``time % 0.1 < 1e-6``.

Source: MotionSolve reference guide, Reference_Variable, comment 9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from blocks.contract.plain_state import attributes

NEVER = 1e300  # s, when nothing is due: what is held between instants stays finite
AT_ONCE = 1e-9  # s, of max(1, |t|): what changes within that follows TIME itself
FIRST, GROWTH, FARTHEST = 1e-6, 8.0, 1e6  # s: how far ahead is looked; small enough for `while time >= due`
SEARCHES = 2  # in vain, before every further one waits for twice as many changes
ROUNDING = 4e-15  # s, of max(1, |t|): how far behind its instant an event may be located
NEAR = 2.0**-47  # relative: how far from a period after the last sample the next one is looked for first
SLACK = 1e-8  # s, of max(1, |t|): routines allow for rounding, `time >= due - 1e-9`

Leaves = dict[tuple[Any, ...], Any]


class OwnClock:
    """What is known of the clock of one routine in one run; part of its snapshots.

    due : float      the next sample [s], `NEVER` if none is known
    last : float     the last instant before it at which the routine is known to change nothing [s]
    """

    def __init__(self) -> None:
        self.due = self.last = NEVER
        self._sampled = math.nan  # the sample before
        self._at_once: set[tuple[Any, ...]] = set()
        self._begun = False
        self._vain, self._waiting = 0, 0

    def data(self) -> list[Any]:
        """All of it as plain data."""
        numbers = [self.due, self.last, self._sampled, self._begun, self._vain, self._waiting]
        return [numbers, sorted(self._at_once, key=repr)]

    def put_back(self, data: list[Any]) -> None:
        """Put back what `data` gave."""
        (self.due, self.last, self._sampled, self._begun, self._vain, self._waiting), at_once = data
        self._at_once = {tuple(path) for path in at_once}

    def within(self, t: float) -> float:
        """The time [s] to ask the routine at inside a step that reaches t: no sample is taken there."""
        return min(t, self.last)

    def at_accepted(self, t: float) -> float:
        """The time [s] to ask the routine at where a step to t was accepted: no sample before it is due."""
        if t < self.due:
            return min(t, self.last)
        return self.due if t - self.due <= ROUNDING * max(1.0, abs(t)) else t

    def accepted(
        self,
        t: float,
        before: Mapping[str, Any],
        after: Mapping[str, Any],
        ask: Callable[[float], Mapping[str, Any]],
    ) -> None:
        """The routine was called at t and may have changed what it keeps.

        ask : what it would keep, were it called at another time [s] with the same states
        """
        now = leaves(after)
        news = changed(leaves(before), now) - self._at_once
        if self._begun and t < self.due and not news:
            return
        self._begun = True
        if self._vain >= SEARCHES:
            self._waiting -= 1
            if self._waiting >= 0:
                return
        if t >= self.due:
            period, self._sampled = self.due - self._sampled, self.due
        else:
            period, self._sampled = math.nan, t
        self.due = self.last = NEVER
        try:
            self._look(t, period, now, ask)
        except Exception:  # a routine need not live with times far ahead
            self.due = self.last = NEVER
        if self.due < NEVER:
            self._vain = 0
            return
        self._vain += 1
        self._waiting = 2**self._vain

    def _look(self, t: float, period: float, now: Leaves, ask: Callable[[float], Mapping[str, Any]]) -> None:
        soon = AT_ONCE * max(1.0, abs(t))
        self._at_once |= changed(now, leaves(ask(t + soon)))

        def samples(time: float) -> bool:
            return bool(changed(now, leaves(ask(time))) - self._at_once)

        low, high = t + soon, math.nan
        if period > 2 * soon:  # most often the next one is a period later, but for rounding
            after = self._sampled + period
            near = NEAR * abs(after)
            if samples(after + near):
                bounds = [after - margin for margin in (near, SLACK * max(1.0, abs(after)))]
                low = next((early for early in bounds if not samples(early)), low)
                high = after + near if low in bounds else high
        ahead = FIRST
        while math.isnan(high) and ahead <= FARTHEST:
            if samples(t + ahead):
                high = t + ahead
            elif t + ahead > low:
                low = t + ahead
            ahead *= GROWTH
        if math.isnan(high):
            return
        while low < (middle := 0.5 * (low + high)) < high:
            if samples(middle):
                high = middle
            else:
                low = middle
        self.due, self.last = rounded_up(high), low


def rounded_up(t: float) -> float:
    """The round number just behind t [s] that a routine meant which allows for rounding; else t."""
    slack = SLACK * max(1.0, abs(t))
    for digits in range(7):
        found = round(t, digits)
        if 0.0 < found - t <= min(slack, 10.0 ** -(digits + 2)):
            return found
    return t


def leaves(state: Mapping[str, Any]) -> Leaves:
    """Every number or text in what a routine keeps, by where it is."""
    return dict(_leaves(dict(state), (), set()))


def changed(old: Leaves, new: Leaves) -> set[tuple[Any, ...]]:
    """Where two differ."""
    found = old.keys() ^ new.keys()
    return found | {k for k in old.keys() & new.keys() if not _same(old[k], new[k])}


def _same(a: Any, b: Any) -> bool:
    return bool(a is b or a == b or (a != a and b != b))


def _leaves(value: Any, path: tuple[Any, ...], inside: set[int]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, (int, float, complex, str, bytes, type(None))):
        yield path, value
        return
    if id(value) in inside:
        return
    inside.add(id(value))
    if isinstance(value, Mapping):
        parts: list[tuple[Any, Any]] = [(repr(k), v) for k, v in value.items()]
    elif isinstance(value, np.ndarray):
        parts = list(enumerate(value.ravel().tolist()))
    elif isinstance(value, (set, frozenset)):
        yield path, frozenset(map(repr, value))
        parts = []
    elif hasattr(value, "__iter__") and hasattr(value, "__len__"):
        parts = list(enumerate(value))
    else:
        parts = list((attributes(value) or {}).items())
    for name, part in parts:
        yield from _leaves(part, (*path, name), inside)
    inside.discard(id(value))
