"""Sums, products, extremes and means of arrays of symbols along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from blocks.contract import ufuncs
from blocks.contract.elements import Elements
from blocks.contract.refusals import no_symbols

Kind = type[Elements]
Function = Callable[..., Any]
_np: Any = np  # its functions take our arrays by protocol, which its stubs cannot know
_NONE = np._NoValue  # NumPy's mark of an argument that was not given


def _reduction(ufunc: str) -> Function:
    def function(
        cls: Kind, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = _NONE,
        initial: Any = _NONE,
    ) -> Elements:  # fmt: skip
        _plain(f"np.{ufunc}", dtype, out)
        start = None if initial is _NONE else initial
        return ufuncs.reduce(cls.operand(a), ufunc, axis, keepdims is not _NONE and bool(keepdims), start)

    return function


def _extreme(ufunc: str) -> Function:
    fold = _reduction(ufunc)

    def function(
        cls: Kind, a: Any, axis: Any = None, out: Any = None, keepdims: Any = _NONE, initial: Any = _NONE
    ) -> Elements:
        found: Elements = fold(cls, a, axis, None, out, keepdims, initial)
        return found

    return function


def _running(ufunc: str) -> Function:
    def function(cls: Kind, a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Elements:
        _plain(f"np.{ufunc}.accumulate", dtype, out)
        e = cls.operand(a)
        if axis is None:
            return ufuncs.accumulate(cls(e.column(), (e.size,), e.boolean), ufunc, 0)
        return ufuncs.accumulate(e, ufunc, axis)

    return function


def _cumulative(ufunc: str) -> Function:
    running = _running(ufunc)

    def function(
        cls: Kind, x: Any, *, axis: Any = None, dtype: Any = None, out: Any = None,
        include_initial: bool = False,
    ) -> Any:  # fmt: skip
        e = cls.operand(x)
        if axis is None and e.ndim > 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        along = 0 if axis is None else axis
        found = running(cls, _np.atleast_1d(e), along, dtype, out)
        if not include_initial:
            return found
        first = np.zeros_like(np.take(found, [0], axis=along)) + (1.0 if ufunc == "multiply" else 0.0)
        return np.concatenate([first, found], axis=along)

    return function


def _plain(name: str, dtype: Any, out: Any) -> None:
    if out is not None or (dtype is not None and np.dtype(dtype) != float):
        raise no_symbols(name, "with out or a dtype other than float")


def _mean(
    cls: Kind, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = _NONE
) -> Any:
    e = cls.operand(a)
    total = _reduction("add")(cls, e, axis, dtype, out, keepdims)
    return ufuncs.apply(cls, "divide", total, float(e.size / max(total.size, 1)))


def _var(
    cls: Kind,
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: Any = _NONE,
) -> Any:
    e = cls.operand(a)
    off = ufuncs.apply(cls, "subtract", 1.0 * e, _mean(cls, e, axis, dtype, out, True))  # type: ignore[operator]
    total = _reduction("add")(cls, ufuncs.apply(cls, "square", off), axis, None, None, keepdims)
    return ufuncs.apply(cls, "divide", total, float(e.size / max(total.size, 1)) - ddof)


def _std(
    cls: Kind,
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: Any = _NONE,
) -> Any:
    return ufuncs.apply(cls, "sqrt", _var(cls, a, axis, dtype, out, ddof, keepdims))


def _ptp(cls: Kind, a: Any, axis: Any = None, out: Any = None, keepdims: Any = _NONE) -> Any:
    high, low = (_extreme(name)(cls, a, axis, out, keepdims) for name in ("maximum", "minimum"))
    return ufuncs.apply(cls, "subtract", high, low)


def _trace(
    cls: Kind, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    return _reduction("add")(cls, _np.diagonal(cls.operand(a), offset, axis1, axis2), -1, dtype, out)


def _last_trace(cls: Kind, x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return _trace(cls, x, offset, -2, -1, dtype)


REDUCTIONS: dict[Function, Function] = {
    np.sum: _reduction("add"),
    np.prod: _reduction("multiply"),
    np.any: _reduction("logical_or"),
    np.all: _reduction("logical_and"),
    **dict.fromkeys((np.max, np.amax), _extreme("maximum")),
    **dict.fromkeys((np.min, np.amin), _extreme("minimum")),
    np.cumsum: _running("add"),
    np.cumprod: _running("multiply"),
    np.cumulative_sum: _cumulative("add"),
    np.cumulative_prod: _cumulative("multiply"),
    np.mean: _mean,
    np.var: _var,
    np.std: _std,
    np.ptp: _ptp,
    np.trace: _trace,
    np.linalg.trace: _last_trace,
}
