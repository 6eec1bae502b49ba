"""What stands around the tracing of equations: symbols as arrays, arrays as columns, and what Python borrows.

A signal is a `SignalArray`; NumPy's functions take it as one of their own. Some functions ask nobody:
those of ``math`` want a float, ``np.array`` makes an object array of a list of signals. `tracing` lets them
take signals for as long as a block's ``define`` runs.
"""

from __future__ import annotations

import contextlib
import math
import random
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract import array_functions
from blocks.contract.elements import Elements, has_symbols
from blocks.contract.elementwise import CONDITIONS, NUMBERS
from blocks.contract.no_numbers import no_numbers
from blocks.contract.refusals import line_now, no_draw, no_number, no_symbols, no_truth
from blocks.contract.signals import SignalArray
from blocks.errors import BlockError

Array = Any  # np.ndarray or SignalArray: both take the same NumPy calls

_lock = threading.RLock()  # what is replaced is process-global
_here = threading.local()  # is this thread the one that traces?


# --- functions that ask nobody ----------------------------------------------------------------------------
def _hypot(*values: Any) -> Any:
    return np.sqrt(sum(v * v for v in values))


_MATH: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in NUMBERS if hasattr(math, name) and hasattr(np, name)},
    **{name: getattr(np, name) for name in CONDITIONS if hasattr(math, name)},
    **{name: getattr(np, f"arc{name[1:]}") for name in ("asin", "acos", "atan", "atan2")},
    **{name: getattr(np, f"arc{name[1:]}") for name in ("asinh", "acosh", "atanh")},
    "pow": np.power,
    "hypot": _hypot,
    "dist": lambda p, q: np.linalg.norm(np.subtract(p, q)),
    "log": lambda x, base=math.e: np.log(x) / (1.0 if base == math.e else np.log(base)),
    "remainder": lambda x, y: x - y * np.rint(x / y),
    "erf": lambda x: SignalArray(ca.erf(x.column()), x.shape),
    "fsum": lambda values: sum(values),
    "sumprod": lambda p, q: sum(a * b for a, b in zip(p, q, strict=True)),
    "prod": lambda values, start=1.0: start * np.prod(values),
    "isclose": lambda a, b, rel_tol=1e-9, abs_tol=0.0: (
        abs(a - b) <= np.maximum(rel_tol * np.maximum(abs(a), abs(b)), abs_tol)
    ),
}


def of_numbers_and_signals(name: str) -> Callable[..., Any]:
    """A function of ``math`` that takes signals of one component as well."""
    plain, symbolic = getattr(math, name), _MATH.get(name)
    many = name in ("dist", "fsum", "sumprod", "prod")

    def function(*arguments: Any, **named: Any) -> Any:
        if not has_symbols(arguments):
            return plain(*arguments, **named)
        if symbolic is None:
            raise no_symbols(f"math.{name}")
        if not many and any(isinstance(a, Elements) and a.size != 1 for a in arguments):
            raise no_symbols(f"math.{name}", "of more than one component, but np has it")
        scalars = [a if many else _np.reshape(SignalArray.operand(a), ()) for a in arguments]
        return symbolic(*scalars, **named)

    return function


def _arrays(name: str) -> Callable[..., Any]:
    """``np.array`` and its like, of lists of signals as well."""
    plain = getattr(np, name)

    def function(*args: Any, **kwargs: Any) -> Any:
        if not args or not has_symbols(args[0]):
            return plain(*args, **kwargs)
        made = SignalArray.operand(args[0])
        if name == "full":
            raise no_symbols("np.full", "as the shape")
        dtype = kwargs.get("dtype", args[1] if len(args) > 1 else None)
        if dtype is not None and dtype is not object:
            made = made.astype(dtype, copy=False)
        while made.ndim < kwargs.get("ndmin", 0):
            made = made[None]
        copied = made is args[0] and name == "array" and kwargs.get("copy", True) is not False
        return made.copy() if copied else made

    return function


def _full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", **more: Any) -> Any:
    if not has_symbols(fill_value):
        return _plain_full(shape, fill_value, dtype, order, **more)
    if dtype is not None and np.dtype(dtype) not in (float, bool):
        raise no_symbols("np.full", f"with dtype {np.dtype(dtype)}")
    full = _np.broadcast_to(SignalArray.operand(fill_value), shape)
    return full.copy() if dtype is None else full.astype(dtype)


def _of_lists(name: str) -> Callable[..., Any]:
    """``np.sum`` and its like of lists of signals: as of the array they make."""
    plain = getattr(np, name)

    def function(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], (list, tuple)) and has_symbols(args[0]):
            args = (SignalArray.operand(args[0]), *args[1:])
        return plain(*args, **kwargs)

    return function


def _no_draws(module: Any, name: str) -> Callable[..., Any]:
    plain = getattr(module, name)

    def function(*args: Any, **kwargs: Any) -> Any:
        if getattr(_here, "tracing", False):  # other threads may draw
            raise no_draw(f"{'np.' if module is np.random else ''}random.{name}")
        return plain(*args, **kwargs)

    return function


_np: Any = np  # its functions take our arrays by protocol, which its stubs cannot know
_plain_full: Any = np.full
_isscalar = np.isscalar


class _Joined:
    """``np.r_`` and ``np.c_`` of signals as well."""

    def __init__(self, plain: Any) -> None:
        self._plain = plain

    def __getitem__(self, key: Any) -> Any:
        return array_functions.from_objects(SignalArray, self._plain[key])


_ARRAYS = ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "asarray_chkfinite")
_REDUCTIONS = set("sum prod any all max min amax amin mean var std ptp cumsum cumprod".split())  # noqa: SIM905
# Numbers out of the generator that Python, or NumPy, has for everybody.
_DRAWS = set("random uniform choice randint gauss rand randn normal standard_normal".split())  # noqa: SIM905
_REPLACED: dict[tuple[Any, str], Any] = {
    **{(np, name): _of_lists(name) for name in _REDUCTIONS},
    **{(random, name): _no_draws(random, name) for name in _DRAWS if hasattr(random, name)},
    **{(np.random, name): _no_draws(np.random, name) for name in _DRAWS if hasattr(np.random, name)},
    (np, "isscalar"): lambda e: not e.ndim if isinstance(e, Elements) else _isscalar(e),
    **{(np, name): _arrays(name) for name in _ARRAYS},
    (np, "full"): _full,
    (np, "r_"): _Joined(np.r_),
    (np, "c_"): _Joined(np.c_),
    **{
        (math, name): of_numbers_and_signals(name)
        for name, value in vars(math).items()
        if callable(value) and not name.startswith("_")
    },
}
_BY_IDENTITY = {id(getattr(owner, name)): new for (owner, name), new in _REPLACED.items()}


# --- symbols of CasADi as they are ------------------------------------------------------------------------
def _refuse_float(symbol: Any) -> float:
    if symbol.is_constant() and symbol.numel() == 1:
        return float(ca.DM(symbol))
    raise no_number()


def _refuse_bool(symbol: Any) -> bool:
    if symbol.is_constant() and symbol.numel() == 1:
        return bool(float(ca.DM(symbol)))
    raise no_truth()


_OF_SX: dict[tuple[Any, str], Any] = {
    (ca.SX, "__float__"): _refuse_float,
    (ca.SX, "__int__"): _refuse_float,
    (ca.SX, "__bool__"): _refuse_bool,
    (ca.SX, "__array_ufunc__"): SignalArray.__array_ufunc__,
    (ca.SX, "__array_function__"): SignalArray.__array_function__,
}
_ABSENT = object()


@contextlib.contextmanager
def tracing(names: MutableMapping[str, Any] | None = None) -> Iterator[None]:
    """Let ``math`` and ``np.array`` take signals, and CasADi's symbols be refused as numbers, for this block.

    names : global variables of the equations' module; those that are such functions (``from math import
            sin``) are replaced as well meanwhile
    """
    replaced = _REPLACED | _OF_SX
    with _lock, no_numbers():
        before = {key: vars(key[0]).get(key[1], _ABSENT) for key in replaced}
        own = _borrowed(names)
        for (owner, name), new in replaced.items():
            setattr(owner, name, new)
        outside, _here.tracing = getattr(_here, "tracing", False), True
        try:
            yield
        finally:
            _here.tracing = outside
            for (owner, name), original in before.items():
                if original is _ABSENT:
                    delattr(owner, name)
                else:
                    setattr(owner, name, original)
            if names is not None:
                names.update(own)


def _borrowed(names: MutableMapping[str, Any] | None) -> Mapping[str, Any]:
    """Replace what a module has imported by name; what was there before."""
    if names is None:
        return {}
    own = {name: value for name, value in names.items() if id(value) in _BY_IDENTITY}
    for name, value in own.items():
        names[name] = _BY_IDENTITY[id(value)]
    return own


# --- to arrays and back -----------------------------------------------------------------------------------
def as_array(symbol: ca.SX) -> Array:
    """CasADi column of n symbols as a 1-D NumPy-like array (n,), which cannot be changed in place."""
    return SignalArray(_dense(symbol), (int(symbol.numel()),), writeable=False)


def as_scalar(symbol: ca.SX) -> Array:
    """One CasADi symbol as a NumPy-like scalar of shape ()."""
    return SignalArray(_dense(symbol), ())


def _dense(symbols: ca.SX) -> ca.SX:
    return symbols if symbols.is_dense() else ca.densify(symbols)


def as_matrix(symbols: ca.SX) -> Array:
    """CasADi matrix as a 2-D array of the same shape, which cannot be changed in place."""
    return SignalArray(
        ca.densify(ca.vec(symbols.T)), (int(symbols.shape[0]), int(symbols.shape[1])), writeable=False
    )


def column(expression: Any, what: str = "an expression") -> ca.SX:
    """What a block's author wrote (array, number, list of scalars) as one dense SX column, row-major.

    `what` is its name in complaints.
    """
    if isinstance(expression, Elements):
        flat = expression.column()
    elif isinstance(expression, ca.SX):
        flat = expression if expression.is_column() else ca.vec(expression.T)
    elif isinstance(expression, (list, tuple)):
        parts = [column(part, what) for part in expression]
        flat = ca.vertcat(*parts) if parts else ca.SX(0, 1)
    elif isinstance(expression, np.ndarray) and expression.dtype == object and has_symbols(expression):
        flat = SignalArray.operand(expression).column()
    else:
        flat = ca.SX(ca.DM(_numbers(expression, what)))
    return _dense(flat)


def _numbers(value: Any, what: str) -> np.ndarray:
    """Plain numbers as (n,) float."""
    try:
        if value is not None:
            return np.ravel(np.asarray(value, dtype=float))
    except (TypeError, ValueError, OverflowError):
        pass
    hint = "Does a function lack its return?" if value is None else "Give signals, numbers or a list of them."
    raise BlockError(
        f"{what} is {value!r}, expected signals or numbers. At {line_now()}.", value=value, hint=hint
    )


def hash_of(element: Any) -> int:
    """Identity of one scalar of an SX; two symbols of the same name have different ones."""
    found: int = element.element_hash()  # the stubs do not know it
    return found
