"""The mathematical functions of the language, as Fortran has them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable

import casadi as ca

from plant.expressions.corners import arc_cosine, arc_sine, direction_angle, larger, root, smaller
from plant.expressions.functions.entry import LanguageFunction, LineInTime, Lines, difference, switched, zeros
from plant.expressions.scope import Scope
from plant.expressions.splines import SplineData


def truncated(x: ca.SX) -> ca.SX:
    """The whole number next to x towards zero."""
    return ca.if_else(x >= 0, ca.floor(x), ca.ceil(x))


def nearest(x: ca.SX) -> ca.SX:
    """The nearest whole number, halves away from zero."""
    return ca.if_else(x >= 0, ca.floor(x + 0.5), ca.ceil(x - 0.5))


def signed(a: ca.SX, b: ca.SX) -> ca.SX:
    """``|a|`` with the sign of b; b = 0 counts as positive."""
    return ca.if_else(b >= 0, ca.fabs(a), ca.if_else(b < 0, -ca.fabs(a), b))


def _signed_jump(scope: Scope, lines: Lines, a: ca.SX, b: ca.SX) -> ca.SX | None:
    return switched(scope, lines[1], -ca.fabs(a), ca.fabs(a))


def _sides_of_zero(a: ca.SX, b: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    return b, ca.SX(-ca.fabs(a)), ca.SX(ca.fabs(a))


def _each(lines: Lines, spline: SplineData | None) -> Iterable[float]:
    return zeros(*lines)


def _envelope(lines: list[LineInTime]) -> list[LineInTime]:
    """The upper envelope of lines, by slope: each takes over from the one before."""
    steepest = {line.slope: line for line in sorted(lines, key=lambda line: line.offset)}  # the upper one
    kept: list[LineInTime] = []
    for line in sorted(steepest.values(), key=lambda line: line.slope):
        while len(kept) > 1 and _hidden(kept[-2], kept[-1], line):
            kept.pop()
        kept.append(line)
    return kept


def _hidden(a: LineInTime, b: LineInTime, c: LineInTime) -> bool:
    """Whether b is nowhere above both a and c, the lines with the next smaller and larger slopes."""
    return (c.offset - a.offset) * (b.slope - a.slope) >= (b.offset - a.offset) * (c.slope - a.slope)


FEW = 30
"""Lines of which every two are compared; of more, those that are largest or smallest somewhere."""


def _pairs(lines: Lines, spline: SplineData | None) -> Iterable[float]:
    if len(lines) > FEW:
        known = [line for line in lines if line is not None]
        below = [LineInTime(-line.slope, -line.offset) for line in known]
        return zeros(*(a - b for some in (known, below) for a, b in itertools.pairwise(_envelope(some))))
    return zeros(*itertools.starmap(difference, itertools.combinations(lines, 2)))


def _maximum(*values: ca.SX) -> ca.SX:
    return functools.reduce(larger, values)


def _minimum(*values: ca.SX) -> ca.SX:
    return functools.reduce(smaller, values)


AROUND_ZERO = (-1.5, -0.5, 0.0, 0.5, 1.5)
UNIT = (-1.0, -0.5, 0.0, 0.5, 1.0)

FUNCTIONS = (
    LanguageFunction("ABS", "x", ca.fabs, "ABS(x)", AROUND_ZERO, corners=_each),
    LanguageFunction("SQRT", "x", root, "SQRT(x)", (0.0, 1e-9, 2.0)),
    LanguageFunction("EXP", "x", ca.exp, "EXP(x)", AROUND_ZERO),
    LanguageFunction("LOG", "x", ca.log, "LOG(x)", (1e-9, 1.0, 3.0)),
    LanguageFunction("LOG10", "x", ca.log10, "LOG10(x)", (1e-9, 1.0, 3.0)),
    LanguageFunction("SIN", "x", ca.sin, "SIN(x)", AROUND_ZERO),
    LanguageFunction("COS", "x", ca.cos, "COS(x)", AROUND_ZERO),
    LanguageFunction("TAN", "x", ca.tan, "TAN(x)", AROUND_ZERO),
    LanguageFunction("ASIN", "x", arc_sine, "ASIN(x)", UNIT),
    LanguageFunction("ACOS", "x", arc_cosine, "ACOS(x)", UNIT),
    LanguageFunction("ATAN", "x", ca.atan, "ATAN(x)", AROUND_ZERO),
    LanguageFunction("ATAN2", "y, x", direction_angle, "ATAN2(x, 0)", AROUND_ZERO),
    LanguageFunction("SINH", "x", ca.sinh, "SINH(x)", AROUND_ZERO),
    LanguageFunction("COSH", "x", ca.cosh, "COSH(x)", AROUND_ZERO),
    LanguageFunction("TANH", "x", ca.tanh, "TANH(x)", AROUND_ZERO),
    LanguageFunction("AINT", "x", truncated, "AINT(x)", AROUND_ZERO),
    LanguageFunction("ANINT", "x", nearest, "ANINT(x)", AROUND_ZERO),
    LanguageFunction(
        "MOD", "a, b", ca.fmod, "MOD(x, 0.5)", AROUND_ZERO
    ),  # a - int(a/b)*b: the sign follows a
    LanguageFunction(
        "SIGN",
        "a, b",
        signed,
        "SIGN(2, x)",
        AROUND_ZERO,
        corners=_each,
        jump=_signed_jump,
        sides=_sides_of_zero,
    ),
    LanguageFunction(
        "DIM", "a, b", lambda a, b: larger(a - b, 0), "DIM(x, 0.5)", AROUND_ZERO, corners=_pairs
    ),
    LanguageFunction("MAX", "a, b, ...", _maximum, "MAX(x, 0, 0.5*x)", AROUND_ZERO, corners=_pairs),
    LanguageFunction("MIN", "a, b, ...", _minimum, "MIN(x, 0, 0.5*x)", AROUND_ZERO, corners=_pairs),
)
