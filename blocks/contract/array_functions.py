"""NumPy's array functions on arrays of symbols: which are done how, and which are refused.

What only moves elements is in `moving`. What NumPy itself writes in Python as a formula of others
(`NUMPYS_OWN`) is run as it is on object arrays of scalars. Sums and matrices are in `reductions` and
`matrices`, the rest of what equations need is here; everything else is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract import moving, ufuncs
from blocks.contract.elements import Elements, has_symbols
from blocks.contract.matrices import MATRICES
from blocks.contract.reductions import REDUCTIONS
from blocks.contract.refusals import no_symbols
from blocks.errors import BlockError

Kind = type[Elements]
Function = Callable[..., Any]
_np: Any = np  # its functions take our arrays by protocol, which its stubs cannot know
_NONE = np._NoValue  # NumPy's mark of an argument that was not given


def call(cls: Kind, function: Function, args: Any, kwargs: Any) -> Any:
    """The outcome of a NumPy function on arrays of symbols."""
    name = name_of(function)
    if function in moving.OF_ONE or function in moving.OF_MANY or function in moving.IN_PLACE:
        return moving.move(cls, function, name, args, kwargs)
    if function in moving_each:
        return moving.of_each(cls, function, args)
    if function in OURS:
        try:
            return OURS[function](cls, *args, **kwargs)
        except TypeError as error:
            if "argument" in str(error):  # one that symbols do not take
                raise no_symbols(name, "with these arguments") from error
            raise
    if function in NUMPYS_OWN:
        return _numpys_own(cls, function, name, args, kwargs)
    raise no_symbols(name)


def _numpys_own(cls: Kind, function: Any, name: str, args: Any, kwargs: Any) -> Any:
    if function in (np.einsum, np.tensordot) and all(e.boolean for e in args if isinstance(e, Elements)):
        raise no_symbols(name, "that are conditions")
    named = dict(zip(kwargs, _as_objects(cls, tuple(kwargs.values())), strict=True))
    try:
        found = from_objects(cls, function._implementation(*_as_objects(cls, args), **named))
    except (BlockError, NotImplementedError, TypeError) as error:
        raise no_symbols(name, "in this way") from error
    if function is np.einsum and isinstance(found, Elements) and len(args) == 2:
        found.writeable = False  # of one array NumPy's is a view: what is put into it would go into the array
    return found


def name_of(function: Function) -> str:
    """``np.linalg.eig`` as it is written."""
    module = str(function.__module__).removeprefix("numpy").lstrip(".")
    place = f"{module}." if module in ("linalg", "fft") else ""
    return f"np.{place}{function.__name__}"


def _as_objects(cls: Kind, value: Any) -> Any:
    if isinstance(value, Elements):
        return value.objects()
    if isinstance(value, (list, tuple)) and has_symbols(value):
        return type(value)(_as_objects(cls, part) for part in value)
    return value


def from_objects(cls: Kind, found: Any) -> Any:
    """Object arrays of signals, also in lists, as arrays of symbols; anything else as it is."""
    if isinstance(found, (list, tuple)):
        return type(found)(from_objects(cls, part) for part in found)
    if isinstance(found, ca.SX) or (isinstance(found, np.ndarray) and found.dtype == object):
        return cls.operand(found)
    return found


moving_each = (np.atleast_1d, np.atleast_2d, np.atleast_3d)

# Formulas that NumPy writes in Python: elementwise functions, sums, products and moves.
NUMPYS_OWN: frozenset[Function] = frozenset(
    (
        np.cross, np.kron, np.outer, np.trapezoid, np.gradient, np.diff, np.ediff1d, np.convolve,
        np.correlate, np.vander, np.polyadd, np.polysub, np.polymul, np.polyder, np.polyint, np.average,
        np.inner, np.linalg.cross, np.linalg.outer, np.linalg.matrix_power, np.einsum, np.tensordot,
    )
)  # fmt: skip


# --- branches ---------------------------------------------------------------------------------------------
def _where(cls: Kind, condition: Any, x: Any = _NONE, y: Any = _NONE) -> Elements:
    if x is _NONE or y is _NONE:
        raise no_symbols("np.nonzero", "and np.where neither, with a condition alone")
    return ufuncs.where(cls, condition, x, y)


def _select(cls: Kind, condlist: Any, choicelist: Any, default: Any = 0) -> Elements:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    found = cls.operand(default)
    for condition, value in zip(reversed(condlist), reversed(choicelist), strict=True):
        found = ufuncs.where(cls, condition, value, found)
    return found


def _clip(
    cls: Kind, a: Any, a_min: Any = _NONE, a_max: Any = _NONE, out: Any = None, *, min: Any = _NONE,
    max: Any = _NONE,
) -> Any:  # fmt: skip
    if out is not None:
        raise no_symbols("np.clip", "with out")
    low, high = (b if a is _NONE else a for a, b in ((a_min, min), (a_max, max)))
    found: Any = cls.operand(a)
    if low is not None and low is not _NONE:
        found = ufuncs.apply(cls, "maximum", found, low)
    return found if high is None or high is _NONE else ufuncs.apply(cls, "minimum", found, high)


def _round(cls: Kind, a: Any, decimals: int = 0, out: Any = None) -> Any:
    if out is not None:
        raise no_symbols("np.round", "with out")
    scale = 10.0 ** abs(decimals)
    if decimals == 0:
        return ufuncs.apply(cls, "rint", a)
    up, down = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    return ufuncs.apply(cls, down, ufuncs.apply(cls, "rint", ufuncs.apply(cls, up, a, scale)), scale)


def _nan_to_num(
    cls: Kind, x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    if cls.operand(x).boolean:
        return x
    largest = float(np.finfo(float).max)
    found = ufuncs.where(cls, ufuncs.apply(cls, "isnan", x), nan, x)
    above = ufuncs.apply(cls, "greater", found, largest)
    found = ufuncs.where(cls, above, largest if posinf is None else posinf, found)
    below = ufuncs.apply(cls, "less", found, -largest)
    return ufuncs.where(cls, below, -largest if neginf is None else neginf, found)


def _isclose(
    cls: Kind, a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Any:
    apply = ufuncs.apply
    a, b = (_astype(cls, value, float) for value in (a, b))
    bound = apply(cls, "add", apply(cls, "multiply", apply(cls, "absolute", b), rtol), atol)
    near = apply(cls, "less_equal", apply(cls, "absolute", apply(cls, "subtract", a, b)), bound)
    near = apply(cls, "logical_and", near, apply(cls, "isfinite", b))
    near = apply(cls, "logical_or", near, apply(cls, "equal", a, b))
    if equal_nan:
        both = apply(cls, "logical_and", apply(cls, "isnan", a), apply(cls, "isnan", b))
        near = apply(cls, "logical_or", near, both)
    return near


def _allclose(
    cls: Kind, a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Any:
    return ufuncs.reduce(_isclose(cls, a, b, rtol, atol, equal_nan), "logical_and", None)


def _array_equal(cls: Kind, a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    x, y = cls.operand(a1), cls.operand(a2)
    if x.shape != y.shape:
        return False
    return ufuncs.reduce(ufuncs.apply(cls, "equal", x, y), "logical_and", None)


# --- functions of one variable ----------------------------------------------------------------------------
def _interp(
    cls: Kind, x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Elements:
    """Straight lines through (xp, fp); as many comparisons for each component of x as there are knots."""
    if has_symbols(xp):
        raise no_symbols("np.interp", "as knots")
    knots = np.asarray(xp, dtype=float)
    values = cls.operand(fp)
    if knots.ndim != 1 or values.shape != knots.shape or not knots.size:
        raise ValueError(f"interp: {knots.size} knots for {values.size} values")
    apply, at = ufuncs.apply, cls.operand(x)
    if period is not None:
        at = apply(cls, "remainder", at, abs(period))
        order = np.argsort(knots % abs(period), kind="stable")
        knots = (knots % abs(period))[order]
        values = values[order]
        knots = np.concatenate([knots[-1:] - abs(period), knots, knots[:1] + abs(period)])
        values = cls.operand([values[k] for k in (-1, *range(values.size), 0)])
    if np.any(np.diff(knots) <= 0):
        raise ValueError("interp: knots must increase")
    first, last = values[0], values[-1]
    found = ufuncs.where(cls, apply(cls, "less", at, knots[0]), first, at)
    for k in range(len(knots) - 1):
        slope = apply(
            cls, "divide", apply(cls, "subtract", values[k + 1], values[k]), knots[k + 1] - knots[k]
        )
        line = apply(
            cls, "add", values[k], apply(cls, "multiply", slope, apply(cls, "subtract", at, knots[k]))
        )
        found = ufuncs.where(cls, apply(cls, "greater_equal", at, knots[k]), line, found)
    found = ufuncs.where(cls, apply(cls, "greater_equal", at, knots[-1]), last, found)
    if left is not None and period is None:
        found = ufuncs.where(cls, apply(cls, "less", at, knots[0]), left, found)
    if right is not None and period is None:
        found = ufuncs.where(cls, apply(cls, "greater", at, knots[-1]), right, found)
    return found


def _polyval(cls: Kind, p: Any, x: Any) -> Any:
    coefficients = cls.operand(p)
    at = cls.operand(x)
    value: Any = _full_like(cls, at, 0.0)
    for coefficient in coefficients:
        value = ufuncs.apply(cls, "add", ufuncs.apply(cls, "multiply", value, at), coefficient)
    return value


def _sinc(cls: Kind, x: Any) -> Any:
    y = ufuncs.apply(cls, "multiply", ufuncs.where(cls, ufuncs.apply(cls, "equal", x, 0.0), 1e-20, x), np.pi)
    return ufuncs.apply(cls, "divide", ufuncs.apply(cls, "sin", y), y)


def _isneginf(cls: Kind, x: Any) -> Any:
    return ufuncs.apply(cls, "less", x, -float(np.finfo(float).max))


def _isposinf(cls: Kind, x: Any) -> Any:
    return ufuncs.apply(cls, "greater", x, float(np.finfo(float).max))


def _linspace(
    cls: Kind, start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False,
    dtype: Any = None, axis: int = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    if dtype is not None and np.dtype(dtype) != float:
        raise no_symbols("np.linspace", f"with dtype {np.dtype(dtype)}")
    first, last = (ufuncs.apply(cls, "multiply", e, 1.0) for e in _broadcast_arrays(cls, start, stop))
    parts = num - 1 if endpoint else num
    step = ufuncs.apply(cls, "divide", ufuncs.apply(cls, "subtract", last, first), float(parts or np.nan))
    way = (ufuncs.apply(cls, "multiply", step, float(k)) for k in range(num))
    rows = [ufuncs.apply(cls, "add", first, part) for part in way]
    if endpoint and num > 1:
        rows[-1] = last
    found = _np.stack(rows, axis=axis)
    return (found, step) if retstep else found


# --- new arrays, facts ------------------------------------------------------------------------------------
def _like(value: float) -> Function:
    def function(
        cls: Kind, a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *,
        device: Any = None,
    ) -> Elements:  # fmt: skip
        return _full_like(cls, a, value, dtype, order, subok, shape)

    return function


def _full_like(
    cls: Kind, a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True,
    shape: Any = None, *, device: Any = None,
) -> Elements:  # fmt: skip
    e = cls.operand(a)
    size = e.shape
    if shape is not None:
        size = (shape,) if isinstance(shape, int) else tuple(shape)
    if dtype is not None and np.dtype(dtype) not in (float, bool):
        raise no_symbols("np.full_like", f"with dtype {np.dtype(dtype)}")
    boolean = e.boolean if dtype is None else np.dtype(dtype) == bool
    value = cls.operand(fill_value)
    if boolean and not value.boolean:
        value = ufuncs.apply(cls, "not_equal", value, 0.0)
    if np.broadcast_shapes(value.shape, size) != size:
        raise ValueError(f"could not broadcast from shape {value.shape} into shape {size}")
    n = int(np.prod(size))
    column = value.spread(size)
    return cls(ca.repmat(column, n, 1) if column.numel() != n else column, size, boolean)


def _broadcast_arrays(cls: Kind, *args: Any, subok: bool = False) -> Any:
    made = [cls.operand(a) for a in args]
    shape = np.broadcast_shapes(*(e.shape for e in made))
    sources = [(e, e.places) for e in made]
    return tuple(e.moved(np.broadcast_to(places, shape), places) for e, places in sources)


def _astype(cls: Kind, x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    e, wanted = cls.operand(x), np.dtype(dtype)
    conditions = wanted.kind == "b"
    if wanted in (np.int64, np.int32):
        whole = ufuncs.apply(cls, "trunc", ufuncs.apply(cls, "multiply", e, 1.0))
        whole.writeable = False  # what is put into whole numbers loses its fraction
        return whole
    if wanted not in (float, bool):
        raise no_symbols("np.astype", f"with dtype {wanted}")
    if e.boolean == conditions:
        return e.copy() if copy else e  # type: ignore[attr-defined]
    return ufuncs.apply(cls, "not_equal", e, 0.0) if conditions else cls(e.column(), e.shape)


def _size(cls: Kind, a: Any, axis: Any = None) -> int:
    e = cls.operand(a)
    return e.size if axis is None else int(np.prod([e.shape[k] for k in np.atleast_1d(axis)]))


OURS: dict[Function, Function] = {
    **REDUCTIONS,
    **MATRICES,
    np.where: _where,
    np.select: _select,
    np.clip: _clip,
    **dict.fromkeys((np.round, np.around), _round),
    np.fix: lambda cls, x: ufuncs.apply(cls, "trunc", x),
    np.nan_to_num: _nan_to_num,
    np.isclose: _isclose,
    np.allclose: _allclose,
    np.array_equal: _array_equal,
    np.interp: _interp,
    np.linspace: _linspace,
    np.polyval: _polyval,
    np.sinc: _sinc,
    np.isneginf: _isneginf,
    np.isposinf: _isposinf,
    **dict.fromkeys((np.zeros_like, np.empty_like), _like(0.0)),
    np.ones_like: _like(1.0),
    np.full_like: _full_like,
    np.broadcast_arrays: _broadcast_arrays,
    np.astype: _astype,
    np.shape: lambda cls, a: cls.operand(a).shape,
    np.ndim: lambda cls, a: cls.operand(a).ndim,
    np.size: _size,
    np.real: lambda cls, val: val,
    np.imag: lambda cls, val: _full_like(cls, val, 0.0),
    np.iscomplexobj: lambda cls, x: False,
    np.isrealobj: lambda cls, x: True,
    np.result_type: lambda cls, *arrays: np.dtype(float),
    np.common_type: lambda cls, *arrays: np.float64,
}
