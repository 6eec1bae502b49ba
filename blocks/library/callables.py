"""A run's own copy of a Python function: of the object it is or belongs to, or of the memory it works on."""

from __future__ import annotations

import copy
import functools
import types
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np

from blocks.contract.plain_state import FIXED, NotPlain, attributes, encode, restore
from blocks.errors import BlockError, KeepsError
from blocks.library.persistent_data import Watch, functions_behind, named

Function = Callable[[float, np.ndarray], Any]


@runtime_checkable
class Saved(Protocol):
    """What keeps a `PythonFunction`'s memory, so that snapshots of a run are complete."""

    def save(self) -> bytes:
        """All that changes from call to call."""

    def load(self, state: bytes) -> None:
        """Put back what `save` returned."""


class OwnCopy:
    """One run's copy of a function that is given as a function, a method, an object or with a memory.

    A plain function is called as it is and may keep nothing. Otherwise the object, the owner of the method,
    or the memory is copied, and the function is tied to the copy.

    Raises
    ------
    BlockError    something cannot be copied
    KeepsError    a function keeps something that is not copied
    """

    def __init__(self, function: Function, memory: Saved | None) -> None:
        self._original = memory
        self._memory: Any = None
        self._data: Any = None  # what changes, where that has no save() of its own
        memo: dict[int, Any] = {}
        if memory is not None:
            self._memory = _copied(memory, memo, function)
            self._function = _tied(function, memory, memo)
        else:
            owner = _owner(function)
            self._function = function if owner is None else _rebound(function, memo)
            if isinstance(mine := _owner(self._function), Saved):
                self._memory = mine
            elif mine is not None:
                self._data = _data(self._function)
        own = self._memory
        self._watch = Watch(self._function, lambda value: own is not None and _reaches(value, own))
        self._calls = 0

    def call(self, t: float, u: np.ndarray) -> Any:
        """Value at t [s] and u (n,).

        Raises
        ------
        KeepsError    it keeps something that is not this run's own
        """
        self._calls += 1
        looks = self._original is not None and not self._calls & (self._calls - 1)
        before = self._original.save() if looks and self._original else b""
        self._watch.before()
        value = self._function(t, u)
        self._watch.after()
        if looks and self._original and self._original.save() != before:
            raise KeepsError(
                f"the function {named(self._function)} works on its memory itself, not on the copy that "
                "belongs to the run.",
                hint="Let it be a method of the memory, a function that names the memory, or an object that "
                "holds it.",
            )
        return value

    def save(self) -> bytes:
        """What the function keeps.

        Raises
        ------
        BlockError    an attribute is no plain data
        """
        if self._memory is not None:
            return bytes(self._memory.save())
        try:
            return b"" if self._data is None else encode(self._data)
        except NotPlain as error:
            raise BlockError(
                f"what the function {named(self._function)} keeps cannot be saved: {error}.",
                hint="Give its class save() -> bytes and load(bytes).",
            ) from error

    def load(self, state: bytes) -> None:
        """Put back what `save` gave."""
        if self._memory is not None:
            self._memory.load(state)
        elif self._data is not None:
            try:
                restore(state, self._data)
            except NotPlain as error:
                raise BlockError(f"what {named(self._function)} kept cannot be put back: {error}.") from error

    def close(self) -> None:
        """Close the copy, if it can be."""
        close = getattr(self._memory if self._memory is not None else _owner(self._function), "close", None)
        if callable(close):
            close()


def _owner(function: Any) -> Any:
    """The object whose data a call may change: a method's, or a callable itself; None for a function."""
    if isinstance(function, functools.partial):
        return function
    if isinstance(function, (types.MethodType, types.BuiltinFunctionType)):
        owner = function.__self__
        return None if owner is None or isinstance(owner, (type, types.ModuleType)) else owner
    return None if isinstance(function, FIXED) else function


def _data(function: Any) -> Any:
    """What changes in a callable."""
    if isinstance(function, functools.partial):
        return [_data(function.func), list(function.args), function.keywords]
    return _owner(function)


def _copied(value: Any, memo: dict[int, Any], function: Any) -> Any:
    try:
        return copy.deepcopy(value, memo)
    except Exception as error:  # a user's __deepcopy__, and what copy makes of files, locks, generators
        raise BlockError(
            f"what the function {named(function)} works on, a {type(value).__name__}, cannot be copied for a "
            f"run: {type(error).__name__}: {error}.",
            hint="Give its class __deepcopy__, or let it open files, devices and the like in its first call. "
            "A block of your own can make what it needs for each run: b.external(make=...).",
        ) from error


def _rebound(function: Any, memo: dict[int, Any]) -> Any:
    """A method of a copy of its owner, a copy of a callable object."""
    if isinstance(function, types.BuiltinFunctionType):  # such as the send of a generator
        return getattr(_copied(function.__self__, memo, function), function.__name__)
    if isinstance(function, functools.partial):
        inner = function.func if _owner(function.func) is None else _rebound(function.func, memo)
        args, named_args = _copied((function.args, function.keywords), memo, function)
        return functools.partial(inner, *args, **named_args)
    if isinstance(function, types.MethodType):
        return types.MethodType(function.__func__, _copied(function.__self__, memo, function))
    return _copied(function, memo, function)


def _tied(function: Any, memory: Any, memo: dict[int, Any]) -> Any:
    """`function` with the copy of `memory` that `memo` knows in the place of the memory."""
    if _owner(function) is not None:
        return _rebound(function, memo)
    if not isinstance(function, types.FunctionType):
        return function
    cells = tuple(_tied_cell(cell, memory, memo) for cell in function.__closure__ or ())
    names = {n for f in functions_behind(function) for n in f.__code__.co_names}
    known = {
        n: _in_place(v, memory, memo)
        for n in names
        if (v := function.__globals__.get(n)) is not None and _reaches(v, memory)
    }
    if not known and all(new is old for new, old in zip(cells, function.__closure__ or (), strict=True)):
        return function
    scope = {**function.__globals__, **known} if known else function.__globals__
    made = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _tied_cell(cell: Any, memory: Any, memo: dict[int, Any]) -> Any:
    try:
        value = cell.cell_contents
    except ValueError:  # not assigned
        return cell
    return types.CellType(_in_place(value, memory, memo)) if _reaches(value, memory) else cell


def _in_place(value: Any, memory: Any, memo: dict[int, Any]) -> Any:
    is_function = isinstance(value, types.FunctionType)
    return _tied(value, memory, memo) if is_function else _copied(value, memo, value)


def _reaches(value: Any, memory: Any) -> bool:
    """Does one get from a value to a memory through attributes, entries and variables of functions?"""
    queue: list[Any] = [value]
    seen: set[int] = set()
    while queue and len(seen) < 1000:
        this = queue.pop()
        if this is memory:
            return True
        if id(this) in seen or isinstance(this, (str, bytes, int, float, np.ndarray, type, types.ModuleType)):
            continue
        seen.add(id(this))
        if isinstance(this, dict):
            queue += this.values()
        elif isinstance(this, (list, tuple, set, frozenset)):
            queue += this
        elif isinstance(this, types.FunctionType):
            queue += [c.cell_contents for c in this.__closure__ or () if _assigned(c)]
        elif isinstance(this, types.MethodType):
            queue.append(this.__self__)
        else:
            queue += (attributes(this) or {}).values()
    return False


def _assigned(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  # raises where there is nothing yet
    except ValueError:
        return False
    return True
