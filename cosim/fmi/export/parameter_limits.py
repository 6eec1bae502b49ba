"""Between which numbers blocks take each of their parameters, found by asking them.

A block says what it takes where it is made, in code. A limit is looked for between a number that it takes,
the start value, and one that it refuses, down to neighbouring floats. What moves with other numbers of the
block (low below high) is no limit of one number and is left out, as is one behind which the block takes
numbers again (whole ones).
"""

from __future__ import annotations

import math
import struct
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from cosim.run.context import Context
from cosim.run.parameter_checks import AskedBlock, asked_about
from cosim.system import System

FAR = 1e30
MOST_ENTRIES = 64  # of an array that is asked about
MOST_OTHERS = 16  # other numbers of the block that are moved
Takes = Callable[[float], bool]


@dataclass(frozen=True)
class Limit:
    """An end of what a number may be; `open`: not that end itself."""

    value: float
    open: bool

    def text(self, below: bool) -> str:
        """In words: what is beyond it is refused, `below` or above.

        >>> Limit(0.0, True).text(True), Limit(1.0, False).text(False)
        ('above 0', 'at most 1')
        """
        words = ("above" if self.open else "at least") if below else ("below" if self.open else "at most")
        short = f"{self.value:g}"
        return f"{words} {short if float(short) == self.value else repr(self.value)}"


@dataclass(frozen=True)
class Limits:
    """The least and the largest that a parameter may be, None: there is no limit."""

    low: Limit | None
    high: Limit | None

    @property
    def text(self) -> str:
        """In words."""
        found = [limit.text(below) for limit, below in ((self.low, True), (self.high, False)) if limit]
        return " and ".join(found)


def limits_of(system: System, context: Context) -> dict[int, Limits]:
    """Limits of parameters by their places in p; of those that have any.

    context : with the start values
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of numbers that nobody wants
        return _limits(system, context)


def _limits(system: System, context: Context) -> dict[int, Limits]:
    found: dict[int, Limits] = {}
    for asked in asked_about(system, system.parameters):
        for name, slot in asked.slots.items():
            if len(slot.index) > MOST_ENTRIES:
                continue
            every = _taking(asked, context.p, (name,), slot.index)
            refused = [not every(far) for far in (-FAR, FAR)]  # all entries at once
            for place in map(int, slot.index) if any(refused) else ():
                low, high = (
                    _limit(asked, context.p, name, place, far) if there else None
                    for far, there in zip((-FAR, FAR), refused, strict=True)
                )
                if low or high:
                    found[place] = Limits(low, high)
    return found


def _limit(asked: AskedBlock, p: np.ndarray, name: str, place: int, far: float) -> Limit | None:
    """The limit of one number on the way from its value in p to one that is far off."""
    takes = _taking(asked, p, (name,), place)
    if takes(far) or not takes(float(p[place])):
        return None
    inside, outside = _neighbours(takes, float(p[place]), far)
    if any(map(takes, _beyond(outside, far))):
        return None
    for other, moved in _moved(asked, p, place):
        again = _taking(asked, moved, (name, other), place)
        if again(float(p[place])) and (again(outside) or not again(inside)):
            return None
    if len(repr(outside)) < len(repr(inside)):  # 0, not what follows it
        return Limit(outside, True)
    return Limit(inside, False)


def _taking(asked: AskedBlock, p: np.ndarray, names: tuple[str, ...], place: int | np.ndarray) -> Takes:
    """Does the block take a number in that place, or in several, beside those of these parameters in p?

    It does where it fails at that with any error but its own: what is known is no limit.
    """

    def takes(value: float) -> bool:
        numbers = p.copy()
        numbers[place] = value
        try:
            return asked.error(numbers, names) is None
        except Exception:  # of a user's block, an `assert` too
            return True

    return takes


def _moved(asked: AskedBlock, p: np.ndarray, place: int) -> Iterator[tuple[str, np.ndarray]]:
    """Parameters of the same block, each moved a little up and down."""
    others = [(name, int(k)) for name, slot in asked.slots.items() for k in slot.index if k != place]
    others.sort(key=lambda other: abs(other[1] - place))
    for name, k in others[:MOST_OTHERS]:
        for step in (0.1, -0.1):
            numbers = p.copy()
            numbers[k] += step * (1.0 + abs(numbers[k]))
            yield name, numbers


def _neighbours(takes: Takes, inside: float, outside: float) -> tuple[float, float]:
    """Neighbouring floats, of which one is taken and the other is not."""
    a, b = _rank(inside), _rank(outside)
    for likely in (-1, 0, 1):  # neighbours of 0, where most limits are
        if (likely - a) * (likely - b) < 0:
            a, b = (likely, b) if takes(_ranked(likely)) else (a, likely)
    while abs(a - b) > 1:
        middle = (a + b) // 2
        if takes(_ranked(middle)):
            a = middle
        else:
            b = middle
    return _ranked(a), _ranked(b)


def _beyond(limit: float, far: float) -> Iterator[float]:
    """Numbers from a limit on, towards one that is far off: the next whole ones, and some of all sizes."""
    side = math.copysign(1.0, far)
    first = side * math.ceil(side * limit)
    yield from (first + side * k for k in range(4))
    yield from (v for k in range(-6, 19, 3) for v in (-(10.0**k), 10.0**k) if side * (v - limit) > 0.0)


def _rank(value: float) -> int:
    """The number of a float when all are counted from 0."""
    bits: int = struct.unpack("<q", struct.pack("<d", abs(value)))[0]
    return bits if value >= 0 else -bits


def _ranked(rank: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<q", abs(rank)))[0]
    return value if rank >= 0 else -value
