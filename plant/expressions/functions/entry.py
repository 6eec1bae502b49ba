"""The facts that the expression language has about one of its functions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import casadi as ca

from plant.expressions.scope import Scope
from plant.expressions.splines import SplineData

Reference = tuple[str, tuple[int | str, ...]]

MARKERS = ("I", "J", "K", "L", "RM")
# name of a literal integer argument: its name in messages, least and greatest value
LITERALS = {
    **dict.fromkeys(MARKERS, ("a marker id", 0, math.inf)),
    "id": ("an element id", 1, math.inf),
    "index": ("a position in a list", 1, math.inf),
    "n": ("a derivative order", 0, 2),
    "jflag": ("the flag for marker I or J", 0, 1),
    "comp": ("a component number", 1, 8),
}


@dataclass(frozen=True)
class LineInTime:
    """``slope * TIME + offset`` with literal numbers; a literal number alone has slope 0."""

    slope: float
    offset: float

    def __sub__(self, other: LineInTime) -> LineInTime:
        return LineInTime(self.slope - other.slope, self.offset - other.offset)

    def zero(self) -> tuple[float, ...]:
        """When the line crosses zero, if it ever does."""
        time = -self.offset / self.slope if self.slope else math.nan
        return (time + 0.0,) if math.isfinite(time) else ()


Lines = Sequence[LineInTime | None]  # one per argument; None where it is not a line in TIME


@dataclass(frozen=True)
class LanguageFunction:
    """One function of the expression language; each family module lists its own in ``FUNCTIONS``.

    name : str           upper case
    signature : str      arguments as a user reads them, ``I [, J [, K]]``, ``x, x0, a0, ...``. Those in
                         `LITERALS` are integer literals, those in `MARKERS` among them marker ids (omitted or
                         0: ground); all others are values, and come first
    evaluate : callable  ``(*values)``, or ``(scope, *values, *literals)`` where there are literals, omitted
                         ones as 0. Returns a scalar (1, 1) SX; may raise `Refusal`.
    example : str        a call in which ``x`` stands for a varying value, for the tests
    at : tuple           x at which value and derivative must be finite: corners, both sides, ends
    refers : callable    ``(*literals)`` to what the value depends on, besides the marker ids
    refuse, caution : callable   ``(*numbers)``, None for each argument that is not a literal number, to the
                         reason to refuse the call, or to warn about it, or None
    corners : callable   ``(lines, spline)`` to the times of corners and jumps of a function of TIME
    jump : callable      ``(scope, lines, *arguments of evaluate after scope)`` to the value where it jumps at
                         literal times, None where it does not
    sides : callable     ``(*values)`` to a value where the function may jump as it changes its sign, and what
                         the function is below and above that
    chosen : callable    ``(*values)`` to one condition per argument that says whether its value counts
    quantity : str       what its value measures, "length", "velocity", ..., where that is always the same
    """

    name: str
    signature: str
    evaluate: Callable[..., ca.SX]
    example: str
    at: tuple[float, ...] = ()
    refers: Callable[..., tuple[Reference, ...]] = lambda *literals: ()
    refuse: Callable[..., str | None] = lambda *numbers: None
    caution: Callable[..., str | None] = lambda *numbers: None
    corners: Callable[[Lines, SplineData | None], Iterable[float]] = lambda lines, spline: ()
    jump: Callable[..., ca.SX | None] = lambda *arguments: None
    sides: Callable[..., tuple[ca.SX, ca.SX, ca.SX]] | None = None
    chosen: Callable[..., tuple[ca.SX, ...]] | None = None
    quantity: str = ""

    @functools.cached_property
    def arguments(self) -> tuple[str, ...]:
        """Names of all arguments, the optional ones included; ``...`` last where more may follow."""
        plain = self.signature.replace("[", "").replace("]", "").replace(":", ",")
        return tuple(name.strip() for name in plain.split(","))

    @property
    def most(self) -> float:
        """Greatest number of arguments."""
        return math.inf if "..." in self.arguments else len(self.arguments)

    @property
    def least(self) -> int:
        """Least number of arguments."""
        return len(self.arguments) - self.signature.count("[") - ("..." in self.arguments)

    @property
    def values(self) -> int:
        """Number of arguments that are values, if there are literals too."""
        return sum(name not in LITERALS for name in self.arguments)

    @property
    def takes_literals(self) -> bool:
        """Whether some arguments are integer literals, so that the value comes from a scope."""
        return any(name in LITERALS for name in self.arguments)

    def __str__(self) -> str:
        return f"{self.name}({self.signature})"


def switched(scope: Scope, line: LineInTime | None, negative: ca.SX, positive: ca.SX) -> ca.SX | None:
    """Value that changes when a line in TIME crosses zero, None if it never does.

    The instant is compared by the scheduler, not here: steps end on it and see one branch only.
    """
    times = line.zero() if line else ()
    if line is None or not times:
        return None
    before, after = (negative, positive) if line.slope > 0 else (positive, negative)
    return ca.if_else(scope.passed(times) > 0.5, after, before)


def zeros(*lines: LineInTime | None) -> tuple[float, ...]:
    """All times at which some of the lines cross zero."""
    return tuple(time for line in lines if line for time in line.zero())


def difference(a: LineInTime | None, b: LineInTime | None) -> LineInTime | None:
    """``a - b``, None where one of them is not a line."""
    return a - b if a and b else None
