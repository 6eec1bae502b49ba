"""`SignalArray`: what a block's equations see, an array of symbols that NumPy takes for one of its own.

Every ufunc, array function, method, operator and kind of indexing gives NumPy's values and shapes, or is
refused with a `BlockError` that names it and what works instead.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from blocks.contract import array_functions, ufuncs
from blocks.contract.elements import Elements
from blocks.contract.elementwise import CONDITIONS, NUMBERS, OF_CONDITIONS
from blocks.contract.flat import Flat
from blocks.contract.refusals import no_number, no_symbols, no_truth, no_whole_number, read_only
from blocks.errors import BlockError

# Methods of NumPy's arrays that are a function of the array.
_METHODS = set(
    "all any argmax argmin argpartition argsort choose clip cumprod cumsum diagonal dot max mean "  # noqa: SIM905
    "min nonzero prod put ravel repeat round searchsorted squeeze std sum swapaxes take trace var".split()
)
_np: Any = np  # its functions take our arrays by protocol, which its stubs cannot know
_REFUSED = [n for n in dir(np.ndarray) if not n.startswith("_")]


_KNOWN = (Elements, ca.SX, bool, int, float, Fraction, np.number, np.bool_, np.ndarray, list, tuple)


def _operator(name: str) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """A Python operator as its ufunc: plain, reflected and in place."""

    def plain(self: Any, other: Any) -> Any:
        return ufuncs.apply(SignalArray, name, self, other) if isinstance(other, _KNOWN) else NotImplemented

    def reflected(self: Any, other: Any) -> Any:
        return ufuncs.apply(SignalArray, name, other, self) if isinstance(other, _KNOWN) else NotImplemented

    def in_place(self: Any, other: Any) -> Any:
        if not self.ndim:  # scalars are values, as NumPy's are
            return plain(self, other)
        if not self.writeable:
            raise read_only()
        found = ufuncs.apply(SignalArray, name, self, other)
        if found.shape != self.shape:
            raise ValueError(f"an array of shape {self.shape} cannot hold one of shape {found.shape}")
        self[...] = found
        return self

    return plain, reflected, in_place


def _unary(name: str) -> Callable[..., Any]:
    def function(self: Any) -> Any:
        return ufuncs.apply(SignalArray, name, self)

    return function


class _NoAttribute(BlockError, AttributeError):
    """A method of NumPy's arrays that symbols do not have; ``hasattr`` says no."""


class SignalArray(Elements):
    """An array of symbols; see `Elements` for what it is made of."""

    __slots__ = ()
    __array_priority__: ClassVar[float] = 1000.0

    # --- NumPy's protocols --------------------------------------------------------------------------------
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """NEP 13."""
        return _ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        """NEP 18."""
        return array_functions.call(SignalArray, function, args, kwargs)

    def __SX__(self) -> ca.SX:  # CasADi's own protocol
        if self.ndim == 2:
            return ufuncs.matrix(self)
        return self.column()

    # --- conversions Python asks for ----------------------------------------------------------------------
    def _constant(self, refusal: Callable[[], BlockError]) -> float:
        column = self.column()
        if column.numel() == 1 and column.is_constant():
            return float(column)
        raise refusal()

    def __float__(self) -> float:
        return self._constant(no_number)

    def __int__(self) -> int:
        return int(self._constant(no_number))

    def __complex__(self) -> complex:
        return complex(self._constant(no_number))

    def __bool__(self) -> bool:
        return bool(self._constant(no_truth))

    def __index__(self) -> int:
        raise no_whole_number()

    def __contains__(self, value: Any) -> bool:
        return bool(_np.any(self == value))

    __hash__ = object.__hash__  # a key by identity: b.when(g, {v: -e * v})

    def __round__(self, digits: int | None = None) -> Any:
        return _np.round(self, digits or 0)

    def __repr__(self) -> str:
        return f"<signal {self.column()!r} of shape {self.shape}>"

    def __copy__(self) -> SignalArray:
        return self.copy()

    # --- attributes and methods of NumPy's arrays ---------------------------------------------------------
    @property
    def dtype(self) -> np.dtype[Any]:
        """What NumPy's would be: bool for conditions, else float."""
        return np.dtype(bool if self.boolean else float)

    @property
    def T(self) -> Any:
        """The transpose."""
        return _np.transpose(self)

    @property
    def mT(self) -> Any:
        """The transpose of the last two axes."""
        return _np.matrix_transpose(self)

    @property
    def real(self) -> SignalArray:
        """The array itself."""
        return self

    @property
    def imag(self) -> Any:
        """Zeros."""
        return _np.imag(self)

    @property
    def flat(self) -> Flat:
        """All elements in turn."""
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        Flat(self)[:] = value

    def copy(self, order: str = "C") -> SignalArray:
        """A copy that may be changed."""
        return SignalArray(self.column(), self.shape, self.boolean)

    def flatten(self, order: str = "C") -> Any:
        """A copy with one axis."""
        return _np.ravel(self, order).copy()

    def reshape(self, *shape: Any, order: str = "C", copy: Any = None) -> Any:
        """The same elements in another shape."""
        size = shape[0] if len(shape) == 1 else shape
        return _np.reshape(self, size, order=order)

    def transpose(self, *axes: Any) -> Any:
        """Other order of axes."""
        order = axes[0] if len(axes) == 1 else axes or None
        return _np.transpose(self, order)

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """As float, as a condition, or whole numbers towards zero."""
        return _np.astype(self, dtype, copy=copy)

    def compress(self, condition: Any, axis: int | None = None, out: Any = None) -> Any:
        """The parts along an axis where a condition, known beforehand, holds."""
        return _np.compress(condition, self, axis, out)

    def conj(self) -> SignalArray:
        """The array itself."""
        return self

    def fill(self, value: Any) -> None:
        """Put one value everywhere."""
        self[...] = value

    def item(self, *key: Any) -> Any:
        """One element."""
        if not key and self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        at = key[0] if len(key) == 1 else key
        return self.flatten()[at or 0] if not isinstance(at, tuple) or not at else self[at]

    def tolist(self) -> Any:
        """Nested lists of scalars."""
        return [part.tolist() for part in self] if self.ndim else self

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            function = getattr(np, name)
            return lambda *args, **kwargs: function(self, *args, **kwargs)
        if (
            name in NUMBERS or name in CONDITIONS or name in OF_CONDITIONS
        ):  # NumPy asks elements of object arrays
            return lambda *others: ufuncs.apply(SignalArray, name, self, *others)
        if name in _REFUSED:
            bare = no_symbols(f"np.{name}", f"as in .{name}()" if callable(getattr(np.ndarray, name)) else "")
            raise _NoAttribute(bare.args[0])
        raise AttributeError(f"'SignalArray' object has no attribute '{name}'")

    # --- operators ----------------------------------------------------------------------------------------
    __add__, __radd__, __iadd__ = _operator("add")
    __sub__, __rsub__, __isub__ = _operator("subtract")
    __mul__, __rmul__, __imul__ = _operator("multiply")
    __truediv__, __rtruediv__, __itruediv__ = _operator("divide")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _operator("floor_divide")
    __mod__, __rmod__, __imod__ = _operator("remainder")
    __pow__, __rpow__, __ipow__ = _operator("power")
    __and__, __rand__, __iand__ = _operator("bitwise_and")
    __or__, __ror__, __ior__ = _operator("bitwise_or")
    __xor__, __rxor__, __ixor__ = _operator("bitwise_xor")
    __divmod__, __rdivmod__, _ = _operator("divmod")
    __lt__, __gt__, _ = _operator("less")
    __le__, __ge__, _ = _operator("less_equal")
    __eq__, _, _ = _operator("equal")  # an array of conditions, as NumPy's
    __ne__, _, _ = _operator("not_equal")
    __neg__, __pos__, __abs__ = _unary("negative"), _unary("positive"), _unary("absolute")
    __invert__, __floor__, __ceil__ = _unary("invert"), _unary("floor"), _unary("ceil")
    __trunc__ = _unary("trunc")

    def __matmul__(self, other: Any) -> Any:
        return ufuncs.matmul(SignalArray, self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return ufuncs.matmul(SignalArray, other, self)


def _ufunc(ufunc: np.ufunc, method: str, inputs: Any, kwargs: dict[str, Any]) -> Any:
    """One call of a ufunc, as NumPy hands it over."""
    name, cls = ufunc.__name__, SignalArray
    full = f"np.{name}" if method == "__call__" else f"np.{name}.{method}"
    out = kwargs.pop("out", None)
    if kwargs.pop("where", True) is not True:
        raise no_symbols(full, "with where=")
    if np.dtype(kwargs.pop("dtype", None) or float) != float:
        raise no_symbols(full, "with a dtype other than float")
    for ignored in ("casting", "order", "subok"):
        kwargs.pop(ignored, None)
    if method == "__call__" and not kwargs:
        found = _called(ufunc, name, inputs)
    elif method == "reduce":
        start = kwargs.pop("initial", None)
        first = cls.operand(inputs[0])
        found = ufuncs.reduce(
            first, name, kwargs.get("axis", 0), bool(kwargs.get("keepdims")),
            None if start is np._NoValue else start,
        )  # fmt: skip
    elif method == "accumulate":
        found = ufuncs.accumulate(cls.operand(inputs[0]), name, kwargs.get("axis", 0))
    elif method == "outer" and not kwargs:
        found = ufuncs.outer(cls, name, *inputs)
    else:
        raise no_symbols(full, f"with {', '.join(sorted(kwargs))}" if kwargs else "")
    return found if out is None else _stored(full, found, out)


def _called(ufunc: np.ufunc, name: str, inputs: Any) -> Any:
    if ufunc.signature is None:
        return ufuncs.apply(SignalArray, name, *inputs)
    if name == "matmul":
        return ufuncs.matmul(SignalArray, *inputs)
    return ufuncs.contract(SignalArray, name, *inputs)


def _stored(name: str, found: Any, out: tuple[Any, ...]) -> Any:
    results = found if isinstance(found, tuple) else (found,)
    for result, target in zip(results, out, strict=True):
        if not isinstance(target, SignalArray):
            raise no_symbols(name, "into an array of numbers, as in z += u of z = np.zeros(n)")
        target[...] = result
    return out[0] if len(out) == 1 else out
