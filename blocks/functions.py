"""Functions of signals that NumPy lacks; they take symbols and plain numbers alike.

Everything else is NumPy's own: ``np.sin``, ``np.where``, ``np.minimum``, ``@``...
"""

from __future__ import annotations

import hashlib
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.symbols import Array, as_array, column

SMALL_TABLE = 32  # rows up to which a tree of comparisons is cheaper than a call


def clip(x: Array, low: Any = None, high: Any = None) -> Array:
    """`x` within [low, high], elementwise; None leaves a side open.

    Like ``np.clip`` it lets a nan pass, so a run that has gone wrong stops instead of sitting at a limit; a
    limit may be None or a signal. Derivative 1 inside and on the limits, 0 outside.
    """
    if high is not None:
        x = np.where(x > high, high, x)
    return x if low is None else np.where(x < low, low, x)


def polyval(p: Any, x: Array) -> Array:
    """p[0] x^n + ... + p[n] by Horner's rule: ``np.polyval``; p : (n+1,) numbers or symbols."""
    return np.polyval(p, x)


def interp(x: Array, xp: Any, fp: Any) -> Array:
    """Straight lines through (xp, fp), ends held: ``np.interp``, knots checked; nan passes through.

    Parameters
    ----------
    x : (n,) or ()        where to evaluate
    xp : (m,) float       knots, strictly increasing numbers
    fp : (m,)             values at the knots, numbers or symbols

    Costs about m comparisons for each component of x.
    """
    knots = np.asarray(xp, dtype=float)
    if knots.ndim != 1 or knots.size != len(fp) or not np.all(np.diff(knots) > 0):
        raise ValueError(f"interp: {knots.size} knots for {len(fp)} values; knots must increase.")
    return np.interp(x, knots, fp)


def pick(table: Any, index: Array) -> Array:
    """Row `index` of a table: ``table[index]`` for an index known only at run time.

    Parameters
    ----------
    table : (m, k) array, or list of m arrays (k,)     numbers or symbols
    index : ()            whole number from 0 to m - 1

    A table of more than `SMALL_TABLE` rows of plain numbers becomes one look-up of constant cost.
    """
    if len(table) > SMALL_TABLE and isinstance(table, np.ndarray) and table.dtype == float:
        return _looked_up(table, index)
    return _halved(table, index, 0)


def _halved(table: Any, index: Array, first: int) -> Array:
    """Row `index` of a table whose rows count from `first`, by halving."""
    if len(table) == 1:
        return table[0]
    middle = len(table) // 2
    lower = _halved(table[:middle], index, first)
    return np.where(index < first + middle, lower, _halved(table[middle:], index, first + middle))


def _looked_up(table: np.ndarray, index: Array) -> Array:
    if isinstance(index, (int, float, np.number, np.ndarray)):
        return table[int(index)]
    row = ca.MX.sym("row")
    content = hashlib.sha256(repr(table.shape).encode() + table.tobytes()).hexdigest()[:16]
    columns = table.size // len(table)
    # By places of single numbers: the derivative of a row by its number is nan to calls of CasADi 3.8.
    places = columns * row + ca.DM(np.arange(columns))
    function = ca.Function(f"pick_{content}", [row], [ca.MX(ca.DM(table.ravel()))[places]])
    (found,) = function.call([column(index)], False, True)
    # A look-up has derivative 0; the comparison keeps it visible that the result depends on the index.
    return np.where(index >= 0, as_array(found), 0.0)


def norm(x: Array) -> Array:
    """Euclidean length of x, shape (); its derivative at x = 0 is 0 (``np.linalg.norm`` gives nan there)."""
    square = np.sum(x * x)
    return np.where(square == 0, 0.0, np.sqrt(np.where(square == 0, 1.0, square)))


def signed_sqrt(x: Array) -> Array:
    """sign(x) sqrt(|x|), elementwise, as in orifice flow; slope at x = 0, infinite, is taken as 0."""
    return np.where(x == 0, 0.0, np.sign(x) * np.sqrt(np.where(x == 0, 1.0, np.abs(x))))


def round_half_even(x: Array) -> Array:
    """Nearest whole number, halves to the even one: ``np.rint``."""
    return np.rint(x)
