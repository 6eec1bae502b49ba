"""NumPy's functions that only move elements, run by NumPy itself on whole numbers that stand for them.

So tiling, padding, stacking, rolling, splitting ... of arrays of symbols are NumPy's own.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.elements import Elements, has_symbols, taken
from blocks.contract.refusals import no_symbols

Function = Callable[..., Any]

# Functions of one array that add nothing to it; the result is a view where NumPy gives one.
OF_ONE: dict[Function, str] = {
    **dict.fromkeys((np.reshape, np.ravel, np.take, np.squeeze, np.expand_dims, np.swapaxes), "a"),
    **dict.fromkeys((np.transpose, np.permute_dims, np.moveaxis, np.rollaxis, np.roll, np.copy), "a"),
    **dict.fromkeys((np.diagonal, np.repeat, np.compress, np.resize), "a"),
    **dict.fromkeys((np.flip, np.fliplr, np.flipud, np.rot90), "m"),
    **dict.fromkeys((np.array_split, np.split, np.hsplit, np.vsplit, np.dsplit), "ary"),
    **dict.fromkeys((np.matrix_transpose, np.linalg.matrix_transpose, np.linalg.diagonal, np.unstack), "x"),
    np.tile: "A",
    np.delete: "arr",
    np.take_along_axis: "arr",
    np.extract: "arr",
    np.broadcast_to: "array",
    np.fft.fftshift: "x",
    np.fft.ifftshift: "x",
}
# Functions that join arrays, or put zeros or given values between their elements: which arguments are data.
OF_MANY: dict[Function, tuple[str, ...]] = {
    **dict.fromkeys((np.stack, np.block), ("arrays",)),
    **dict.fromkeys((np.vstack, np.hstack, np.dstack, np.column_stack), ("tup",)),
    np.concatenate: ("arrays",),
    np.append: ("arr", "values"),
    np.insert: ("arr", "values"),
    np.pad: ("array", "constant_values"),
    np.diag: ("v",),
    np.diagflat: ("v",),
    np.triu: ("m",),
    np.tril: ("m",),
    np.choose: ("choices",),
    np.meshgrid: ("xi",),
}
# Functions that replace elements of their first argument: which arguments are data.
IN_PLACE: dict[Function, tuple[str, ...]] = {
    np.put: ("a", "v"),
    np.putmask: ("a", "values"),
    np.place: ("arr", "vals"),
    np.copyto: ("dst", "src"),
    np.fill_diagonal: ("a", "val"),
    np.put_along_axis: ("arr", "values"),
}
# Names of arguments of functions that have no signature to ask.
_SIGNATURES = {
    np.concatenate: "arrays axis out dtype casting",
    np.putmask: "a mask values",
    np.copyto: "dst src casting where",
}
_PADDING = ("constant", "edge", "reflect", "symmetric", "wrap", "empty")


def of_each(cls: type[Elements], function: Function, arrays: Any, *more: Any) -> Any:
    """``np.atleast_1d(a, b, ...)`` and its like: each array for itself, views as of one."""
    made = [cls.operand(a) for a in arrays]
    sources = [(e, e.places) for e in made]
    found = tuple(e.moved(function(places, *more), places) for e, places in sources)
    return found[0] if len(found) == 1 else found


def move(cls: type[Elements], function: Function, name: str, args: Any, kwargs: Any) -> Any:
    """The outcome of one of these functions on arrays of symbols."""
    given = _named(function, args, kwargs)
    if function in OF_ONE:
        return _of_one(cls, function, name, given)
    data = OF_MANY.get(function) or IN_PLACE[function]
    if any(has_symbols(value) for key, value in given.items() if key not in data):
        raise no_symbols(name, f"as {next(k for k, v in given.items() if k not in data and has_symbols(v))}")
    if function is np.pad and given.get("mode", "constant") not in _PADDING:
        raise no_symbols(name, f"with mode={given['mode']!r}")
    if given.get("dtype") is not None or given.get("out") is not None:
        raise no_symbols(name, "with dtype or out")
    pool = Pool(cls)
    coded = {key: pool.codes(value) if key in data else value for key, value in given.items()}
    if function in IN_PLACE:
        target = given[data[0]]
        if not isinstance(target, Elements):
            raise no_symbols(name, "to be put into an array of numbers")
        first = coded[data[0]] = np.array(coded[data[0]])
        _called(function, coded)
        target[...] = pool.decoded(first)
        return None
    found = pool.decoded(_called(function, coded))
    if function is np.meshgrid:
        for part, given_part in zip(found, given["xi"], strict=True):
            part.boolean = cls.operand(given_part).boolean
    return found


def _of_one(cls: type[Elements], function: Function, name: str, given: dict[str, Any]) -> Any:
    data = OF_ONE[function]
    if any(has_symbols(value) for key, value in given.items() if key != data):
        raise no_symbols(name, f"as {next(k for k, v in given.items() if k != data and has_symbols(v))}")
    if given.get("out") is not None:
        raise no_symbols(name, "with out")
    e = cls.operand(given[data])
    source = e.places
    found = _called(function, {**given, data: source})
    if function is np.copy:
        found = np.array(found)
    if isinstance(found, (list, tuple)):
        return type(found)(e.moved(part, source) for part in found)
    return e.moved(found, source)


@functools.cache
def _parameters(function: Function) -> tuple[tuple[str, ...], str]:
    """Names of a function's positional parameters, and of the one that takes any number ("" for none)."""
    if function in _SIGNATURES:
        return tuple(_SIGNATURES[function].split()), ""
    parameters = inspect.signature(function).parameters.values()
    many = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "")
    return tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)), many


def _named(function: Function, args: Any, kwargs: Any) -> dict[str, Any]:
    names, many = _parameters(function)
    found = dict(zip(names, args, strict=False))
    if many:
        found[many] = args[len(names) :]
    return found | kwargs


def _called(function: Function, given: dict[str, Any]) -> Any:
    names, many = _parameters(function)
    positional = []
    rest = dict(given)
    for name in names:
        if name not in rest:
            break
        positional.append(rest.pop(name))
    return function(*positional, *rest.pop(many, ()), **rest)


class Pool:
    """Elements of several arrays under one numbering: 0 is zero, the others follow in order of arrival."""

    def __init__(self, cls: type[Elements]) -> None:
        self._cls = cls
        self._columns: list[ca.SX] = [ca.SX(0.0)]
        self._count = 1
        self._boolean = True

    def codes(self, value: Any) -> Any:
        """Numbers that stand for the elements of an array, or of arrays in lists."""
        if isinstance(value, (list, tuple)):
            return type(value)(self.codes(part) for part in value)
        e = self._cls.operand(value)
        self._boolean &= e.boolean
        found = np.arange(self._count, self._count + e.size).reshape(e.shape)
        self._columns.append(e.column())
        self._count += e.size
        return found

    def decoded(self, codes: Any) -> Any:
        """The arrays that numbers stand for."""
        if isinstance(codes, (list, tuple)):
            return type(codes)(self.decoded(part) for part in codes)
        column = taken(ca.vertcat(*self._columns), codes)
        return self._cls(column, np.shape(codes), self._boolean)
