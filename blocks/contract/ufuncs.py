"""Calls of NumPy's ufuncs on arrays of symbols: elementwise, reduce, accumulate, outer; matrix products."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from blocks.contract.elements import Elements, Shape, taken
from blocks.contract.elementwise import (
    CONDITIONS,
    EMPTY,
    NO_CONDITIONS,
    NUMBERS,
    OF_CONDITIONS,
    ONLY_CONDITIONS,
)
from blocks.contract.refusals import no_symbols

Kind = type[Elements]


def _chosen(name: str, conditions: bool) -> tuple[Callable[..., Any], bool]:
    """The function of columns by this name, and whether it gives conditions."""
    if conditions and name in NO_CONDITIONS:
        raise no_symbols(f"np.{name}", "that are conditions")
    if conditions and name in OF_CONDITIONS:
        logical = OF_CONDITIONS[name]
        return (CONDITIONS[logical] if logical else lambda x: x), True
    if name in ONLY_CONDITIONS or name not in NUMBERS | CONDITIONS:
        raise no_symbols(f"np.{name}")
    return (NUMBERS[name], False) if name in NUMBERS else (CONDITIONS[name], True)


def _made(cls: Kind, value: Any, shape: Shape, boolean: bool) -> Elements:
    column = value if isinstance(value, ca.SX) else ca.SX(value)
    if not column.is_dense():
        column = ca.densify(column)
    n = math.prod(shape)
    if column.numel() != n:
        column = ca.repmat(column, n, 1) if n else ca.SX(0, 1)
    return cls(column, shape, boolean)


def apply(cls: Kind, name: str, *inputs: Any) -> Any:
    """A ufunc by name, elementwise with broadcasting; a tuple where it has several outputs."""
    operands = [cls.operand(value) for value in inputs]
    function, boolean = _chosen(name, all(o.boolean for o in operands))
    shape = operands[0].shape
    if any(o.shape != shape for o in operands):
        shape = np.broadcast_shapes(*(o.shape for o in operands))
    found = function(*[o.spread(shape) for o in operands])
    if isinstance(found, tuple):
        return tuple(_made(cls, part, shape, boolean) for part in found)
    return _made(cls, found, shape, boolean)


def where(cls: Kind, condition: Any, a: Any, b: Any) -> Elements:
    """``np.where(condition, a, b)``."""
    c, x, y = (cls.operand(value) for value in (condition, a, b))
    shape = np.broadcast_shapes(c.shape, x.shape, y.shape)
    found = ca.if_else(c.spread(shape), x.spread(shape), y.spread(shape), False)
    return _made(cls, found, shape, x.boolean and y.boolean)


def _folded(name: str, e: Elements) -> tuple[Callable[..., Any], bool]:
    """The function to fold with; sums and products of conditions count them."""
    return _chosen(name, e.boolean and name not in ("add", "multiply"))


def _slices(name: str, e: Elements, places: np.ndarray) -> list[ca.SX]:
    """Columns of the elements along the first axis of `places`."""
    columns = [e.at(p) for p in places]
    if name.startswith("logical") and not e.boolean:
        columns = [ca.ne(c, 0.0) for c in columns]
    return columns


def reduce(e: Elements, name: str, axis: Any = 0, keepdims: bool = False, initial: Any = None) -> Elements:
    """``ufunc.reduce``: one function folded along axes, from the first element to the last."""
    function, boolean = _folded(name, e)
    axes = normalize_axis_tuple(range(e.ndim) if axis is None else axis, e.ndim)
    rest = tuple(n for k, n in enumerate(e.shape) if k not in axes)
    shape = tuple(1 if k in axes else n for k, n in enumerate(e.shape)) if keepdims else rest
    count = math.prod(e.shape[k] for k in axes)
    if count == 0 and initial is None:
        if name not in EMPTY:
            raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
        initial = EMPTY[name]
    if name == "add" and not rest and initial is None:
        return _made(type(e), ca.sum1(e.column()), shape, boolean)
    places = np.moveaxis(e.places, axes, range(len(axes))).reshape(count, *rest)
    columns = _slices(name, e, places)
    if initial is not None:
        columns.insert(0, type(e).operand(initial).column())
    total = columns[0]
    for column in columns[1:]:
        total = function(total, column)
    return _made(type(e), total, shape, boolean)


def accumulate(e: Elements, name: str, axis: int = 0) -> Elements:
    """``ufunc.accumulate``: what the fold along one axis is after every element."""
    function, boolean = _folded(name, e)
    along = normalize_axis_index(axis, e.ndim)
    places = np.moveaxis(e.places, along, 0)
    columns = _slices(name, e, places)
    for k in range(1, len(columns)):
        columns[k] = function(columns[k - 1], columns[k])
    order = np.moveaxis(np.arange(e.size).reshape(places.shape), 0, along)
    return _made(type(e), taken(ca.vertcat(ca.SX(0, 1), *columns), order), e.shape, boolean)


def outer(cls: Kind, name: str, a: Any, b: Any) -> Any:
    """``ufunc.outer``: every element of a with every one of b."""
    x, y = cls.operand(a), cls.operand(b)
    return apply(cls, name, cls(x.column(), x.shape + (1,) * y.ndim, x.boolean), y)


def matrix(e: Elements) -> ca.SX:
    """A 2-D array as an SX matrix."""
    rows, columns = e.shape
    return ca.reshape(e.column(), columns, rows).T


def from_matrix(cls: Kind, found: ca.SX, shape: Shape | None = None) -> Elements:
    """An SX matrix as a 2-D array, or in another shape of as many elements."""
    column = ca.densify(ca.vec(found.T))
    return cls(column, (int(found.shape[0]), int(found.shape[1])) if shape is None else shape)


def matmul(cls: Kind, a: Any, b: Any) -> Elements:
    """``a @ b`` of vectors, matrices and stacks of matrices."""
    x, y = cls.operand(a), cls.operand(b)
    if not x.ndim or not y.ndim:
        raise ValueError("matmul: a scalar is no matrix; use *")
    inner = y.shape[0] if y.ndim == 1 else y.shape[-2]
    if x.shape[-1] != inner:
        raise ValueError(
            f"matmul: shapes {x.shape} and {y.shape} do not fit: {x.shape[-1]} columns, {inner} rows"
        )
    if x.ndim > 2 or y.ndim > 2:
        return _stacked(cls, x, y)
    left = matrix(x) if x.ndim == 2 else x.column().T
    right = matrix(y) if y.ndim == 2 else y.column()
    product = from_matrix(cls, ca.mtimes(left, right), x.shape[:-1] + y.shape[1:])
    return apply(cls, "not_equal", product, 0.0) if x.boolean and y.boolean else product


def _stacked(cls: Kind, x: Elements, y: Elements) -> Elements:
    one, other = x.ndim == 1, y.ndim == 1
    left = x[None, :] if one else x
    right = y[:, None] if other else y
    product = apply(cls, "multiply", left[..., :, :, None], right[..., None, :, :])
    found = reduce(product, "add", axis=-2)
    found = found[..., 0, :] if one else found
    return found[..., 0] if other else found


def contract(cls: Kind, name: str, a: Any, b: Any) -> Elements:
    """The other products NumPy has as ufuncs: ``vecdot``, ``matvec``, ``vecmat``."""
    x, y = cls.operand(a), cls.operand(b)
    if name not in ("matvec", "vecmat", "vecdot"):
        raise no_symbols(f"np.{name}")
    left = x[..., :, None] if name == "vecmat" else x
    right = y[..., None, :] if name == "matvec" else y
    found = reduce(apply(cls, "multiply", left, right), "add", axis=-2 if name == "vecmat" else -1)
    return apply(cls, "not_equal", found, 0.0) if x.boolean and y.boolean else found
