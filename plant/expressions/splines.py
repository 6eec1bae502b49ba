"""Reference_Spline data, and the curves through them as CasADi functions.

Every kind of spline becomes the same thing: a piecewise polynomial in x whose piece is found by binary
search. An expression holds it as one call node; value, derivatives of any order and generated C all come
from CasADi. Adding a kind is one entry of `KINDS`.

Outside the points a curve continues with its end tangent when the data say ``linear_extrap``, else with the
polynomial of its end piece.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from blocks.errors import ModelError


@dataclass(frozen=True, eq=False)
class SplineData:
    """Points of a curve y(x), or of a surface y(x, z). Two with the same points are equal.

    Parameters
    ----------
    x : (n,) float              strictly increasing
    y : (n,) or (n, m) float    values at x, one column per z of a surface
    linear_extrap : bool        continue with the end tangents outside the points, in x
    z : (m,) float, or None     strictly increasing; None for a curve
    where : str                 file, line and element, for messages

    Raises
    ------
    ModelError                  if a size is wrong, x or z does not increase, or a number is not finite
    """

    x: np.ndarray
    y: np.ndarray
    linear_extrap: bool = False
    z: np.ndarray | None = None
    where: str = ""
    key: str = field(init=False)  # a digest of everything that shapes the curve

    def __post_init__(self) -> None:
        for name in ("x", "y") if self.z is None else ("x", "y", "z"):
            numbers = np.array(getattr(self, name), dtype=float)  # a copy: nobody else may change it
            numbers.flags.writeable = False
            object.__setattr__(self, name, numbers)
            if not np.all(np.isfinite(numbers)):
                raise self._fault(
                    f"{name} has a number that is not finite", np.argwhere(~np.isfinite(numbers))
                )
        self._increasing("x", self.x)
        shape: tuple[int, ...] = (self.x.size,)
        if self.z is not None:
            self._increasing("z", self.z)
            shape = (self.x.size, self.z.size)
        if self.y.shape != shape:
            raise self._fault(f"y has shape {self.y.shape}, expected {shape}", self.y.shape)
        digest = hashlib.sha256(repr((shape, bool(self.linear_extrap))).encode())
        for numbers in (self.x, self.y) if self.z is None else (self.x, self.y, self.z):
            digest.update(numbers.tobytes())
        object.__setattr__(self, "key", digest.hexdigest()[:16])

    def _increasing(self, name: str, numbers: np.ndarray) -> None:
        if numbers.ndim != 1 or numbers.size < 2:
            raise self._fault(f"{name} needs at least 2 numbers in a row", numbers.shape)
        stuck = np.flatnonzero(np.diff(numbers) <= 0)
        if stuck.size:
            k = int(stuck[0])
            fault = (
                f"{name} must increase strictly, but point {k + 2} is {numbers[k + 1]:g} after {numbers[k]:g}"
            )
            raise self._fault(fault, float(numbers[k + 1]))

    def _fault(self, problem: str, value: object) -> ModelError:
        return ModelError(f"{problem} in {self.where or 'a spline'}.", path=self.where, value=value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SplineData) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)


# scipy.interpolate is imported only here: it takes a third of a second, and few models have splines


def _natural_cubic(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(x, y, bc_type="natural").c)


def _akima(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    from scipy.interpolate import Akima1DInterpolator

    return np.asarray(Akima1DInterpolator(x, y).c)


def _natural_quintic(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Quintic with y''' = y'''' = 0 at both ends: it minimises the integral of y'''^2.

    The equations are solved in x over the mean gap: derivatives at the ends beside values leave none of the
    digits where a gap is 1e5.

    Source: Herriot and Reinsch, ACM Algorithm 507, 1976.
    """
    from scipy.interpolate import PPoly, make_interp_spline

    free = [(3, 0.0), (4, 0.0)]
    gap = (x[-1] - x[0]) / (x.size - 1)
    polynomial = PPoly.from_spline(make_interp_spline((x - x[0]) / gap, y, k=5, bc_type=(free, free)))
    pieces = polynomial.c[:, np.diff(polynomial.x) > 0]  # repeated end knots: pieces of length zero
    return np.asarray(pieces / gap ** np.arange(5.0, -1.0, -1.0)[:, None])


def _not_a_knot_cubic(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(x, y, bc_type="not-a-knot").c)


def _lines(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.array([np.diff(y) / np.diff(x), y[:-1]])


@dataclass(frozen=True)
class SplineKind:
    """One method to interpolate points by a curve.

    points : int     the least number of points
    pieces : callable (x, y) -> (degree + 1, n - 1) float    one polynomial per gap between points, highest
                     power first, in the distance from the left point
    smooth : bool    whether the slope is continuous
    """

    points: int
    pieces: Callable[[np.ndarray, np.ndarray], np.ndarray]
    smooth: bool = True


KINDS = {
    "LINSPL": SplineKind(2, _lines, smooth=False),
    "CUBSPL": SplineKind(4, _natural_cubic),
    "AKISPL": SplineKind(5, _akima),
    "QUISPL": SplineKind(6, _natural_quintic),
    "FITSPL": SplineKind(4, _not_a_knot_cubic),
}


@functools.lru_cache(maxsize=512)
def curve(data: SplineData, kind: str, order: int = 0) -> ca.Function:
    """The curve through a spline's points as a function of x, or its surface as a function of x and z.

    A surface is interpolated in x by `kind` along every z, and linearly between neighbouring z, also
    outside them.

    Parameters
    ----------
    data : SplineData
    kind : str               a key of `KINDS`
    order : int              of the derivative with respect to x; 0, 1 or 2, and only 0 for a surface

    Returns
    -------
    f : ca.Function          x [, z] -> y, scalars, with exact derivatives

    Raises
    ------
    ModelError               if the kind needs more points, or a derivative of a surface is asked for

    The function cannot be inlined into scalar symbols: call it with ``f.call([x], False, True)``, which
    keeps it one node of the expression.
    """
    place = data.where or "the spline"
    least = KINDS[kind].points
    if data.x.size < least:
        raise ModelError(
            f"{kind} needs at least {least} points, {place} has {data.x.size}.",
            path=data.where,
            hint="Add points.",
        )
    if data.z is not None and order:
        raise ModelError(f"A surface has no derivative here, and {place} is one.", path=data.where)

    breaks, origins, pieces = _pieces(data, kind)
    for _ in range(order):
        pieces = _derivative(pieces)
    x, z = ca.MX.sym("x"), ca.MX.sym("z")
    piece = _interval(breaks, x)
    distance = x - _constants(origins)[piece]

    def along(column: ca.MX | int) -> ca.MX:
        value = ca.MX(0)
        for power in pieces:  # (n - 1, m), highest power first: Horner's rule
            value = value * distance + _constants(power.T.ravel())[piece + column * len(power)]
        return value

    name = f"{kind.lower()}{order}_{data.key}"
    if data.z is None:
        return ca.Function(name, [x], [along(0)], ["x"], ["y"])
    column = _interval(data.z, z)
    share = (z - _constants(data.z)[column]) / _constants(np.diff(data.z))[column]
    value = (1 - share) * along(column) + share * along(column + 1)
    return ca.Function(name, [x, z], [value], ["x", "z"], ["y"])


@functools.lru_cache(maxsize=512)
def choice(values: tuple[float, ...]) -> ca.Function:
    """Entry `index` of a list, as a function of the index, which counts from 0 and must be valid."""
    index = ca.MX.sym("index")
    digest = hashlib.sha256(np.array(values).tobytes()).hexdigest()[:16]
    return ca.Function(f"choice_{digest}", [index], [_constants(np.array(values))[ca.floor(index + 0.5)]])


def _pieces(data: SplineData, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Limits of the pieces of a spline, the origin of each piece's distance, and its coefficients.

    breaks : (p + 1,), origins : (p,), pieces : (degree + 1, p, m), m = 1 for a curve.
    """
    columns = data.y.reshape(data.x.size, -1)
    pieces = np.stack([KINDS[kind].pieces(data.x, y) for y in columns.T], axis=2)
    if not data.linear_extrap:
        return data.x, data.x[:-1], pieces
    tangents = np.zeros((len(pieces), 2, pieces.shape[2]))  # one piece more at each end
    tangents[-1] = columns[[0, -1]]
    slopes = _derivative(pieces)
    tangents[-2, 0] = slopes[-1, 0]
    tangents[-2, 1] = np.polyval(slopes[:, -1], data.x[-1] - data.x[-2])
    breaks = np.concatenate([data.x[:1] - 1, data.x, data.x[-1:] + 1])  # the outermost two are never compared
    origins = np.concatenate([data.x[:1], data.x])
    return breaks, origins, np.concatenate([tangents[:, :1], pieces, tangents[:, 1:]], axis=1)


def _derivative(pieces: np.ndarray) -> np.ndarray:
    """Coefficients of the derivative; that of a constant is the constant 0."""
    degree = len(pieces) - 1
    return pieces[:-1] * np.arange(degree, 0, -1)[:, None, None] if degree else np.zeros_like(pieces)


def _interval(breaks: np.ndarray, x: ca.MX) -> ca.MX:
    """Index of the interval between `breaks` that contains x, by bisection; outside, the nearest one."""
    return ca.low(_constants(breaks), x, {"lookup_mode": "binary"})


def _constants(numbers: np.ndarray) -> ca.MX:
    return ca.MX(ca.DM(numbers))
