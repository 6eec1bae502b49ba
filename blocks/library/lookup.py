"""Tables of signals: values given at points, interpolated in between. Tables in time are `TimeTable`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.symbols import Array, as_array, column
from blocks.functions import SMALL_TABLE

__all__ = ["LookupTable1D", "LookupTable2D"]

OUTSIDE = ("hold", "extrapolate")


@dataclass(frozen=True)
class LookupTable1D(Block):
    """A function of a signal given by its values at points.

    Output: "linear": straight lines between neighbours, exact at the points; "cubic": the not-a-knot spline
    through them, twice continuously differentiable; "makima": cubics that do not overshoot flat parts.
    Outside the points "hold" keeps the end value, "extrapolate" goes on with the end piece.  One column of
    values: elementwise for a vector u.
    Direct feedthrough: u to y.  Adaptive steps end at the corners of "linear" with up to 32 rows; others
    are left to error control.

    points : (n,) unit of u, increasing; structural
    values : (n,) or (n, k), any unit; tunable where interpolation is linear and n at most 32, else structural
    interpolation, outside : see above; structural

    Use::

        torque = d.add("torque", LookupTable1D([0, 200, 420], [170, 185, 190]))
        d.connect(source["y"], torque["u"])

    Source: the spline as in de Boor, A Practical Guide to Splines, ch. IV (not-a-knot end conditions); makima
    as in ``scipy.interpolate.Akima1DInterpolator``.
    """

    points: ArrayLike
    values: ArrayLike
    interpolation: str = "linear"
    outside: str = "hold"

    def __post_init__(self) -> None:
        checks.choice(self, "interpolation", ("linear", "cubic", "makima"))
        checks.choice(self, "outside", OUTSIDE)
        checks.assign(
            self,
            points=checks.numbers(self, "points", dims=(1,)),
            values=checks.numbers(self, "values", dims=(1, 2)),
        )
        check_points(self, "points", least={"cubic": 4, "makima": 3}.get(self.interpolation, 2))
        if len(self.values) != len(self.points):  # type: ignore[arg-type]  # tuples by now
            expected = f"one row per point, {np.size(self.points)}"
            raise checks.fault(self, "values", f"has shape {np.shape(self.values)}", expected)

    def define(self, b: Equations) -> None:
        """Declare ports and the pieces of the function."""
        knots, flat = np.array(self.points), np.ndim(self.values) == 1
        u = b.input("u", size=None if flat else 1)
        small = knots.size <= SMALL_TABLE and self.interpolation == "linear"
        if small:
            (values,) = b.parameters(values=self.values)
        else:
            values = np.array(self.values)
        table = values.reshape(knots.size, -1)
        step = np.diff(knots).reshape(-1, 1)
        rows = [table[:-1], (table[1:] - table[:-1]) / step]  # coefficients of (u - knot)^j, piece by piece
        if self.interpolation == "cubic":
            rows = [table[:-1], *spline_coefficients(knots, table)]
        elif self.interpolation == "makima":
            rows = _makima(knots, table)
        held = self.outside == "hold"

        def at(x: Array, columns: slice) -> Array:
            pieces = [row[:, columns] for row in rows]
            return _pieces(x, knots, pieces, table[-1, columns], held, small)

        width = 1 if flat else int(np.shape(self.values)[1])
        if flat:
            y = [at(u[k], slice(0, 1))[0] for k in range(u.size)]
        else:
            y = [at(u[0], slice(c, c + 1))[0] for c in range(width)]
        b.output("y", np.stack(y))


@dataclass(frozen=True)
class LookupTable2D(Block):
    """A function of two signals given by its values on a grid, bilinear between the points.

    Output: with s = (u1 - r_i)/(r_i+1 - r_i) and t likewise in the columns,
    y = (1-s)(1-t) v_i,j + s (1-t) v_i+1,j + (1-s) t v_i,j+1 + s t v_i+1,j+1; exact at the points.
    Outside the grid "hold" keeps the values of the edge, "extrapolate" goes on with the outer cells.
    Direct feedthrough: u1 and u2 to y.

    rows : (m,) unit of u1, columns : (n,) unit of u2, both increasing; values : (m, n); structural
    outside : see above; structural

    Use::

        lift = d.add("lift", LookupTable2D([0, 1], [0, 1, 2], [[0, 1, 4], [1, 2, 5]]))
        d.connect(source["y"], lift["u1"])
    """

    rows: ArrayLike
    columns: ArrayLike
    values: ArrayLike
    outside: str = "hold"

    def __post_init__(self) -> None:
        checks.choice(self, "outside", OUTSIDE)
        for name in ("rows", "columns"):
            checks.assign(self, **{name: checks.numbers(self, name, dims=(1,))})
            check_points(self, name, least=2)
        shape = (np.size(self.rows), np.size(self.columns))
        checks.assign(self, values=checks.matrix(self, "values", shape))

    def define(self, b: Equations) -> None:
        """Declare ports and the call."""
        first, second = b.input("u1", size=1)[0], b.input("u2", size=1)[0]
        table = np.array(self.values)
        b.output(
            "y", _bilinear(first, second, np.array(self.rows), np.array(self.columns), table, self.outside)
        )


def check_points(block: Any, field: str, least: int) -> None:
    points = np.asarray(getattr(block, field))
    if points.size < least:
        raise checks.fault(block, field, f"has {points.size} points", f"at least {least}")
    back = np.flatnonzero(np.diff(points) <= 0)
    if back.size:
        what = f"goes from {points[back[0]]:g} to {points[back[0] + 1]:g}"
        raise checks.fault(block, field, what, "increasing points", "Sort them; keep one of each.")


def _makima(knots: np.ndarray, table: np.ndarray) -> list[np.ndarray]:
    """Coefficients of (u - knot)^j, rising, of every piece of the modified Akima interpolation, by SciPy."""
    from scipy.interpolate import Akima1DInterpolator  # slow to import

    falling = Akima1DInterpolator(knots, table, axis=0, method="makima").c
    return [np.asarray(row) for row in falling[::-1]]


def spline_coefficients(knots: np.ndarray, table: np.ndarray) -> list[np.ndarray]:
    """Coefficients of (u - knot), its square and cube for every piece of the not-a-knot cubic spline.

    The unknowns are the second derivatives M at the knots: continuity of the first derivative inside,
    continuity of the third at the second and the last but one knot.
    """
    h = np.diff(knots)
    slope = np.diff(table, axis=0) / h[:, None]
    rhs = np.zeros((knots.size, table.shape[1]))
    rhs[1:-1] = 6 * np.diff(slope, axis=0)
    M = _solved_in_bands(h, rhs) if knots.size > SMALL_TABLE else np.linalg.solve(_conditions(h), rhs)
    first = slope - h[:, None] * (2 * M[:-1] + M[1:]) / 6
    return [first, M[:-1] / 2, np.diff(M, axis=0) / (6 * h[:, None])]


def _conditions(h: np.ndarray) -> np.ndarray:
    """(n, n) matrix of the conditions on M for pieces of lengths h (n-1,)."""
    inside = np.arange(1, h.size)
    A = np.zeros((h.size + 1, h.size + 1))
    A[inside, inside - 1], A[inside, inside], A[inside, inside + 1] = h[:-1], 2 * (h[:-1] + h[1:]), h[1:]
    A[0, :3] = h[1], -(h[0] + h[1]), h[0]
    A[-1, -3:] = h[-1], -(h[-2] + h[-1]), h[-2]
    return A


def _solved_in_bands(h: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """M (n, k) by the five bands of the same matrix: a long table must not ask for n^2 numbers."""
    from scipy.linalg import solve_banded  # slow to import, and small tables do without

    n = h.size + 1
    bands = np.zeros((5, n))  # row 2 + i - j holds entry (i, j)
    bands[1, 2:], bands[2, 1:-1], bands[3, :-2] = h[1:], 2 * (h[:-1] + h[1:]), h[:-1]
    bands[2, 0], bands[1, 1], bands[0, 2] = h[1], -(h[0] + h[1]), h[0]
    bands[4, n - 3], bands[3, n - 2], bands[2, n - 1] = h[-1], -(h[-2] + h[-1]), h[-2]
    return np.asarray(solve_banded((2, 2), bands, rhs))


def _pieces(x: Array, knots: np.ndarray, rows: list[Any], last: Array, held: bool, small: bool) -> Array:
    """Piecewise polynomial at x (), shape (1,); `rows` are coefficients (n-1, 1) in rising powers."""

    def polynomial(coefficients: list[Any], knot: Any) -> Array:
        value = coefficients[-1]
        for c in coefficients[-2::-1]:
            value = value * (x - knot) + c
        return value

    if not small:
        ends = np.append(rows[0], last)  # of the pieces, and of the last one
        what = f"pieces {held}"
        return table_call(
            what, [x], lambda u: _gather_1d(u, knots, [ends, *rows[1:]], held), knots, *rows, ends
        )
    y = _by_halving(x, knots, lambda k: polynomial([row[k] for row in rows], knots[k]), 0, knots.size - 1)
    if not held:  # the end piece, but exact at its end
        return np.where(x == knots[-1], last, y)
    return np.where(x >= knots[-1], last, np.where(x < knots[0], rows[0][0], y))


def _by_halving(x: Array, knots: np.ndarray, piece: Callable[[int], Array], first: int, end: int) -> Array:
    """Piece of x among the pieces first to end - 1; a nan goes to the first one, and through it."""
    if end - first == 1:
        return piece(first)
    middle = (first + end) // 2
    upper = _by_halving(x, knots, piece, middle, end)
    return np.where(x >= knots[middle], upper, _by_halving(x, knots, piece, first, middle))


def _gather_1d(u: ca.MX, knots: np.ndarray, rows: list[np.ndarray], held: bool) -> ca.MX:
    """As `_pieces`, by looking up; the first of the rows has the value at the end as well."""
    points, columns, n = ca.MX(ca.DM(knots)), [ca.MX(ca.DM(row)) for row in rows], knots.size
    k = ca.low(points, u)
    dx = u - points[k]
    value = columns[-1][k]
    for column_ in columns[-2::-1]:
        value = value * dx + column_[k]
    first, last = columns[0][0], columns[0][n - 1]
    if not held:
        return ca.if_else(u == points[n - 1], last, value)
    return ca.if_else(u >= points[n - 1], last, ca.if_else(u < points[0], first, value))


def _bilinear(
    first: Array, second: Array, rows: np.ndarray, columns: np.ndarray, table: np.ndarray, outside: str
) -> Array:
    def gather(u1: ca.MX, u2: ca.MX) -> ca.MX:
        r, c = ca.MX(ca.DM(rows)), ca.MX(ca.DM(columns))
        if outside == "hold":
            u1, u2 = within(u1, r), within(u2, c)
        i, j = ca.low(r, u1), ca.low(c, u2)
        s, t = (u1 - r[i]) / (r[i + 1] - r[i]), (u2 - c[j]) / (c[j + 1] - c[j])
        v, n = ca.MX(ca.DM(table.ravel())), columns.size
        k = n * i + j
        return (
            (1 - s) * (1 - t) * v[k] + s * (1 - t) * v[k + n] + (1 - s) * t * v[k + 1] + s * t * v[k + n + 1]
        )

    return table_call(f"bilinear {outside}", [first, second], gather, rows, columns, table)


def within(u: ca.MX, points: ca.MX) -> ca.MX:
    """u within the points (n,), which may be the numbers of a table; a nan passes."""
    first, last = points[0], points[points.numel() - 1]
    upper: ca.MX = ca.if_else(u > last, last, u)
    within: ca.MX = ca.if_else(upper < first, first, upper)
    return within


def table_call(what: str, inputs: list[Array], formula: Callable[..., ca.MX], *numbers: np.ndarray) -> Array:
    """A table as a function that is called: looked up at a cost that does not grow with the table."""
    content = hashlib.sha256(what.encode())
    for array in numbers:
        content.update(repr(np.shape(array)).encode() + np.asarray(array, dtype=float).tobytes())
    symbols = [ca.MX.sym(f"u{k}") for k in range(len(inputs))]
    name = f"table_{content.hexdigest()[:16]}"
    function = ca.Function(name, symbols, [formula(*symbols)])
    (found,) = function.call([column(u) for u in inputs], False, True)
    return as_array(found)
