"""Look-up tables of several signals, in two stages, by number, of signals; found at a constant cost."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from blocks.arguments import real_numbers
from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.symbols import Array
from blocks.errors import shown
from blocks.functions import SMALL_TABLE, pick
from blocks.library.lookup import OUTSIDE, check_points, table_call, within
from blocks.library.selection import whole_number

__all__ = ["DirectLookup", "DynamicLookup", "InterpolationUsingPrelookup", "LookupTableND", "Prelookup"]


def _check_grid(block: Any, least: int) -> None:
    try:
        grid = tuple(tuple(float(v) for v in np.atleast_1d(real_numbers(axis))) for axis in block.grid)
        values = real_numbers(block.values)
    except (OverflowError, TypeError, ValueError):
        what = f"is {shown(block.grid)} with values {shown(block.values)}"
        raise checks.fault(
            block, "grid", what, "a list of increasing points per input, and numbers"
        ) from None
    if not 1 <= len(grid) <= 5 or any(len(axis) < least for axis in grid):
        raise checks.fault(
            block, "grid", f"has axes of {[len(a) for a in grid]}", f"1 to 5 of {least} points or more"
        )
    for axis in grid:
        if not np.all(np.isfinite(axis)) or np.any(np.diff(axis) <= 0):
            raise checks.fault(block, "grid", f"has an axis {shown(axis)}", "finite, increasing points")
    if values.shape != tuple(len(axis) for axis in grid) or not np.all(np.isfinite(values)):
        expected = f"finite numbers of shape {tuple(len(a) for a in grid)}"
        raise checks.fault(block, "values", f"has shape {values.shape}", expected)
    checks.assign(block, grid=grid, values=_nested(values.tolist()))


def _nested(value: Any) -> Any:
    return tuple(_nested(part) for part in value) if isinstance(value, list) else value


@dataclass(frozen=True)
class LookupTableND(Block):
    """A function of one to five signals given by its values on a grid.

    Output: "linear": multilinear in the cell of the inputs u1, u2, ..., exact at the points; "cubic": the
    not-a-knot spline through them, a product of splines per axis.  Outside the grid "hold" keeps the values
    of the edge; "extrapolate" goes on with the outer cells (linear only).
    Direct feedthrough: every input to y. The corners are left to error control.

    grid : one list of increasing points per input; structural
    values : as many axes; structural
    interpolation : "linear" or "cubic" (at least 4 points per axis); structural
    outside : see above; structural

    Use::

        lift = d.add("lift", LookupTableND([[0, 1], [0, 1, 2]], [[0, 1, 4], [1, 2, 5]]))
        d.connect(source["y"], lift["u1"])

    Source: ``scipy.interpolate.RegularGridInterpolator`` with the same numbers.
    """

    grid: Sequence[Sequence[float]]
    values: Any
    interpolation: str = "linear"
    outside: str = "hold"

    def __post_init__(self) -> None:
        checks.choice(self, "interpolation", ("linear", "cubic"))
        checks.choice(self, "outside", OUTSIDE)
        if self.interpolation == "cubic" and self.outside == "extrapolate":
            raise checks.fault(self, "outside", "is 'extrapolate'", '"hold" with "cubic"')
        _check_grid(self, 4 if self.interpolation == "cubic" else 2)

    def define(self, b: Equations) -> None:
        """Declare ports and the call."""
        axes, table = [np.array(axis) for axis in self.grid], np.array(self.values)
        inputs = [b.input(f"u{k}", size=1)[0] for k in range(1, len(axes) + 1)]
        if self.interpolation == "cubic":
            spline = ca.interpolant(
                _name("cubic", *axes, table), "bspline", [a.tolist() for a in axes], table.ravel("F")
            )
            ends = [ca.MX(ca.DM(a[[0, -1]])) for a in axes]
            formula = lambda *u: spline(ca.vertcat(*[within(v, e) for v, e in zip(u, ends, strict=True)]))
        else:

            def formula(*u: ca.MX) -> ca.MX:
                knots = [ca.MX(ca.DM(a)) for a in axes]
                held = [within(v, k) if self.outside == "hold" else v for v, k in zip(u, knots, strict=True)]
                low = [ca.low(k, v) for v, k in zip(held, knots, strict=True)]
                parts = [(v - k[i]) / (k[i + 1] - k[i]) for v, i, k in zip(held, low, knots, strict=True)]
                return _corners(table, low, parts)

        y = table_call(f"{self.interpolation} {self.outside}", inputs, formula, *axes, table)
        bad = sum(inputs)
        b.output("y", np.where(np.isnan(bad), bad, y))


def _corners(table: np.ndarray, low: list[Any], parts: list[Any]) -> Any:
    """Multilinear interpolation from the corners of a cell; low: its numbers, parts: how far into it."""
    strides = [int(np.prod(table.shape[k + 1 :])) for k in range(table.ndim)]
    v = ca.MX(ca.DM(table.ravel()))
    start = sum(s * i for s, i in zip(strides, low, strict=True))
    total: Any = 0
    for corner in product((0, 1), repeat=table.ndim):
        weight: Any = 1
        for one, part in zip(corner, parts, strict=True):
            weight = weight * (part if one else 1 - part)
        total = total + weight * v[start + sum(s for s, one in zip(strides, corner, strict=True) if one)]
    return total


def _name(what: str, *numbers: np.ndarray) -> str:
    content = hashlib.sha256(what.encode())
    for array in numbers:
        content.update(repr(np.shape(array)).encode() + np.asarray(array, dtype=float).tobytes())
    return f"spline_{content.hexdigest()[:16]}"


@dataclass(frozen=True)
class Prelookup(Block):
    """Find where a signal lies among points, once for several tables.

    Output: k = number of the interval from 0 on, f = part of it passed, u = points[k] + f (points[k+1] -
    points[k]).  Outside the points "hold" keeps f at 0 or 1, "extrapolate" lets it go beyond.
    Direct feedthrough: u to k and f.

    points : (n,) unit of u, increasing; structural
    outside : see above; structural

    Use::

        place = d.add("place", Prelookup([0, 1, 3]))
        d.connect(source["y"], place["u"])
    """

    points: ArrayLike
    outside: str = "hold"

    def __post_init__(self) -> None:
        checks.choice(self, "outside", OUTSIDE)
        checks.assign(self, points=checks.numbers(self, "points", dims=(1,)))
        check_points(self, "points", least=2)

    def define(self, b: Equations) -> None:
        """Declare ports, the number and the part."""
        points = np.array(self.points)
        u = b.input("u", size=1)[0]
        if points.size <= SMALL_TABLE:
            k: Array = 0.0 * u
            for point in points[1:-1]:
                k = k + np.where(u >= point, 1.0, 0.0)
        else:
            k = table_call("place", [u], lambda v: ca.low(ca.DM(points), v), points)[0]
            k = np.where(np.isnan(u), u, k)
        f = (u - pick(points[:-1].reshape(-1, 1), k)) / pick(np.diff(points).reshape(-1, 1), k)
        if self.outside == "hold":
            f = np.where(f > 1.0, 1.0, np.where(f < 0.0, 0.0, f))
        b.output("k", np.where(np.isnan(u), u, k))
        b.output("f", f)


@dataclass(frozen=True)
class InterpolationUsingPrelookup(Block):
    """A table of one to five signals whose places `Prelookup` has found.

    Output: multilinear between the values around the places (k1, f1), (k2, f2), ...
    Direct feedthrough: every input to y.

    values : an axis per place; structural

    Use::

        lift = d.add("lift", InterpolationUsingPrelookup([0.0, 1.0, 4.0]))
        d.connect(source["y"], lift["k1"])
    """

    values: Any

    def __post_init__(self) -> None:
        try:
            values = real_numbers(self.values)
        except (OverflowError, TypeError, ValueError):
            raise checks.fault(
                self, "values", f"is {shown(self.values)}", "numbers, an axis per place"
            ) from None
        if not 1 <= values.ndim <= 5 or min(values.shape) < 2 or not np.all(np.isfinite(values)):
            raise checks.fault(
                self, "values", f"has shape {values.shape}", "1 to 5 axes of 2 finite numbers or more"
            )
        checks.assign(self, values=_nested(values.tolist()))

    def define(self, b: Equations) -> None:
        """Declare ports and the call."""
        table = np.array(self.values)
        places = range(1, table.ndim + 1)
        inputs = [b.input(f"{name}{j}", size=1)[0] for j in places for name in ("k", "f")]

        def formula(*u: ca.MX) -> ca.MX:
            low = [ca.fmin(ca.fmax(ca.floor(k), 0), n - 2) for k, n in zip(u[::2], table.shape, strict=True)]
            return _corners(table, low, list(u[1::2]))

        safe = [np.where(np.isnan(u), 0.0, u) for u in inputs]
        y = table_call("interpolation", safe, formula, table)
        bad = sum(inputs)
        b.output("y", np.where(np.isnan(bad), bad, y))


@dataclass(frozen=True)
class DirectLookup(Block):
    """An element, a row or a whole slice of a table by its number, or by several numbers.

    Output: y = table[k1, k2, ...], each k a rounded input, within 0 and the last of its axis; what is left of
    the table's axes comes out as one vector, row by row.
    Direct feedthrough: at ticks every input to y, between them none: a change is an event.

    table : numbers, up to six axes; one of one or two axes is tunable up to 32 rows
    indices : how many axes are chosen from: the input "u", or inputs "u1", "u2", ...; structural

    Use::

        gear = d.add("gear", DirectLookup([3.6, 2.1, 1.4, 1.0]))
        d.connect(source["y"], gear["u"])

    Source: ``numpy.ndarray`` indexed by integers.
    """

    table: ArrayLike
    indices: int = 1

    def __post_init__(self) -> None:
        checks.assign(self, table=checks.numbers(self, "table", dims=(1, 2, 3, 4, 5, 6)))
        checks.assign(self, indices=checks.count(self, "indices", most=6))
        axes = np.ndim(np.asarray(self.table))
        if self.indices > axes:
            raise checks.fault(self, "indices", f"is {self.indices}", f"at most the {axes} axes of table")

    def define(self, b: Equations) -> None:
        """Declare ports and the row."""
        shape = np.shape(np.asarray(self.table))
        chosen = shape[: self.indices]
        tunable = len(shape) <= 2 and math.prod(chosen) <= SMALL_TABLE
        table = b.parameters(table=self.table)[0] if tunable else np.array(self.table)
        names = ["u"] if self.indices == 1 else [f"u{k + 1}" for k in range(self.indices)]
        row: Array = np.zeros(())
        for name, n in zip(names, chosen, strict=True):
            row = n * row + whole_number(b, b.input(name, size=1), 0, n, f"n of {name}")
        b.output("y", np.where(np.isnan(row), row, pick(table.reshape(math.prod(chosen), -1), row)))


@dataclass(frozen=True)
class DynamicLookup(Block):
    """Straight lines through points that are signals.

    Output: y on the line between the neighbours of u among the points (x[k], y[k]) of the inputs "x", which
    must increase, and "values"; the end values outside.
    Direct feedthrough: every input to y. The corners are left to error control.

    n : number of points; structural

    Use::

        curve = d.add("curve", DynamicLookup(3))
        d.connect(source["y"], curve["u"])
    """

    switches_by_design = True

    n: int

    def __post_init__(self) -> None:
        checks.assign(self, n=checks.count(self, "n", least=2, most=1000))

    def port_name(self, name: str) -> str:
        """Ports as Simulink calls them."""
        return {"xdat": "x", "ydat": "values"}.get(name, name)

    def define(self, b: Equations) -> None:
        """Declare ports and the pieces."""
        u, x, v = b.input("u", size=1)[0], b.input("x", size=self.n), b.input("values", size=self.n)
        y = v[0]
        for k in range(self.n - 1):
            s = (u - x[k]) / (x[k + 1] - x[k])
            y = np.where(u > x[k], np.where(u < x[k + 1], (1.0 - s) * v[k] + s * v[k + 1], v[k + 1]), y)
        bad = np.sum(x) + np.sum(v) + u
        b.output("y", np.where(np.isnan(bad), bad, y))
