"""Curves and surfaces through the points of a Reference_Spline; one function per kind of spline."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from blocks.errors import ModelError
from plant.expressions.functions.entry import LanguageFunction, LineInTime, Lines
from plant.expressions.scope import Refusal, Scope
from plant.expressions.splines import KINDS, SplineData, choice, curve


def _through(kind: str) -> Callable[..., ca.SX]:
    def value(scope: Scope, x: ca.SX, z: ca.SX, id: int, n: int) -> ca.SX:
        """Value or n-th derivative in x of the spline with this id, at x, or at x and z of a surface."""
        data = scope.spline(id)
        if data.z is None and not z.is_zero():
            raise Refusal(f"{data.where or f'spline {id}'} is a curve, so the second argument must be 0")
        try:
            function = curve(data, kind, n)
        except ModelError as fault:
            raise Refusal(str(fault)) from fault
        return function.call([x] if data.z is None else [x, z], False, True)[0]

    return value


def _knots(kind: str) -> Callable[[Lines, SplineData | None], Iterable[float]]:
    def corners(lines: Lines, spline: SplineData | None) -> Iterable[float]:
        """Times at which x, or z, reaches a point with a corner; the end pieces are extended straight."""
        if spline is None:
            return ()
        x = () if KINDS[kind].smooth else spline.x[1:-1]
        z = () if spline.z is None else spline.z[1:-1]
        return itertools.chain(_reached(lines[0], x), _reached(lines[1], z))

    return corners


def _reached(line: LineInTime | None, points: ArrayLike) -> tuple[float, ...]:
    """Times at which a line in TIME reaches each of the points, in their order."""
    if line is None or not line.slope:
        return ()
    with np.errstate(over="ignore"):
        times = -(line.offset - np.asarray(points, dtype=float)) / line.slope + 0.0
    return tuple(times[np.isfinite(times)].tolist())


def _slope_jump(scope: Scope, lines: Lines, x: ca.SX, z: ca.SX, id: int, n: int) -> ca.SX | None:
    """The slope of a piecewise linear function of a line in TIME: it jumps at every point."""
    data, line = scope.spline(id), lines[0]
    if n != 1 or data.z is not None or line is None or not line.slope:
        return None
    slopes = tuple(float(slope) for slope in KINDS["LINSPL"].pieces(data.x, data.y)[0])
    times = _reached(line, data.x[1:-1])
    if line.slope < 0:
        slopes, times = slopes[::-1], times[::-1]
    if not times:
        return ca.SX(slopes[0])
    return choice(slopes).call([scope.passed(times)], False, True)[0]


FUNCTIONS = tuple(
    LanguageFunction(
        kind,
        "x, z, id [, n]",
        _through(kind),
        f"{kind}(x, 0, 1)",
        (-1.0, 0.0, 1.5, 2.0, 10.0),
        refers=lambda id, n: (("spline", (id,)),),
        corners=_knots(kind),
        jump=_slope_jump if kind == "LINSPL" else lambda *arguments: None,
    )
    for kind in KINDS
)
