"""What a Python function keeps between calls outside its own object: found in its code and by looking at it.

Looked at are the function and those of its module it calls: variables of enclosing functions, global ones,
attributes and default values, and the generators that the modules `random` and `numpy.random` share with
everybody. Code that reassigns such a variable and reads it is found before the first call, so are iterators,
which are used up; data that change in place by comparing them before and after calls 1, 2, 4, 8, ...
"""

from __future__ import annotations

import dis
import functools
import io
import random
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from blocks.contract.plain_state import fingerprint
from blocks.errors import KeepsError

LOADS = ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
STORES = ("STORE_GLOBAL", "STORE_DEREF", "DELETE_GLOBAL", "DELETE_DEREF")
NOTES = ("append", "appendleft", "extend", "add", "update")  # write to a collection and return nothing
CURE = (
    "Give a method of an object, or an object with __call__: every run then has a copy of it. Or pass the "
    "object that keeps it as memory=, with save() and load()."
)


def functions_behind(function: Callable[..., Any]) -> list[types.FunctionType]:
    """The Python functions that run when `function` is called, as far as its own module goes."""
    found: dict[int, types.FunctionType] = {}
    queue: list[Any] = [function]
    while queue:
        value = queue.pop()
        while isinstance(value, (functools.partial, types.MethodType)):
            value = value.func if isinstance(value, functools.partial) else value.__func__
        if not isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type)):
            value = next((vars(c)["__call__"] for c in type(value).__mro__ if "__call__" in vars(c)), None)
        if isinstance(value, types.FunctionType) and id(value) not in found:
            found[id(value)] = value
            inner = [v for _, v in (*_cells(value), *_globals(value))]
            queue += [v for v in inner if isinstance(v, types.FunctionType) and _beside(v, value)]
    return list(found.values())


def _beside(other: types.FunctionType, function: types.FunctionType) -> bool:
    return other.__globals__ is function.__globals__


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _cells(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            continue


def _globals(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    names = dict.fromkeys(n for code in _codes(function.__code__) for n in code.co_names)
    yield from ((n, function.__globals__[n]) for n in names if n in function.__globals__)


def _rest(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Attributes and default values."""
    yield from ((f"{function.__name__}.{n}", v) for n, v in vars(function).items() if n != "__wrapped__")
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    yield from (dict(zip(names, defaults, strict=True)) | (function.__kwdefaults__ or {})).items()


def _data_of_class(kind: type) -> Iterator[tuple[str, Any]]:
    for name, value in vars(kind).items():
        if not (name.startswith("__") or callable(value) or hasattr(value, "__get__")):
            yield f"{kind.__name__}.{name}", value


def _shared_generator(name: str, value: Any, function: types.FunctionType) -> dict[str, Any]:
    """The generator that a module of random numbers shares with everybody, where the function may use it."""
    if value is np.random or (value is np and any("random" in c.co_names for c in _codes(function.__code__))):
        return {"numpy.random": np.random.random_sample.__self__}  # type: ignore[attr-defined]
    if value is random:
        return {"random": random.seed.__self__}  # type: ignore[attr-defined]
    owner = getattr(value, "__self__", None)  # of a method that was imported by itself
    return {name: owner} if isinstance(owner, (random.Random, np.random.RandomState)) else {}


class Watch:
    """Looks whether a function keeps something; `mine` says what may change, because it is the run's own.

    Raises
    ------
    KeepsError    its code reassigns a variable outside itself and reads it
    """

    def __init__(
        self, function: Callable[..., Any], mine: Callable[[Any], bool] = lambda value: False
    ) -> None:
        self._function, self._mine = function, mine
        self._behind = functions_behind(function)
        loads, stores = self._uses()
        self._notes = {n for n, kinds in loads.items() if kinds == {True}}
        if kept := sorted(stores & loads.keys() | self._iterators()):
            raise keeps(function, kept)
        self._calls = 0
        self._before: dict[str, str] | None = None

    def _uses(self) -> tuple[dict[str, set[bool]], set[str]]:
        """Outer variables that are read (True: only to note something down in them), and reassigned ones."""
        loads: dict[str, set[bool]] = {}
        stores: set[str] = set()
        for function in self._behind:
            for code in _codes(function.__code__):
                steps = list(dis.get_instructions(code))
                for step, after in zip(steps, [*steps[1:], None], strict=True):
                    if step.opname in STORES and step.argval not in code.co_cellvars:
                        stores.add(step.argval)
                    elif step.opname in LOADS:
                        note = after is not None and after.opname in ("LOAD_ATTR", "LOAD_METHOD")
                        loads.setdefault(step.argval, set()).add(note and after.argval in NOTES)  # type: ignore[union-attr]
        inner = {n for f in self._behind for c in _codes(f.__code__) for n in c.co_cellvars}
        outer = {n for f in self._behind for n in f.__code__.co_freevars}
        return loads, {n for n in stores if n in outer or n not in inner}

    def _iterators(self) -> set[str]:
        """Outer variables that hand out something else each time; a file may be there to be written to."""
        outer = ((n, v) for f in self._behind for n, v in (*_cells(f), *_globals(f)))
        return {
            n for n, v in outer
            if isinstance(v, Iterator) and not isinstance(v, io.IOBase) and not self._mine(v)
        }  # fmt: skip

    def _look(self) -> dict[str, str]:
        """Fingerprints of all data a function could keep something in, by name."""
        data: dict[str, Any] = {}
        for function in self._behind:
            for name, value in (*_cells(function), *_globals(function)):
                if isinstance(value, type) and value.__module__ == function.__module__:
                    data |= _data_of_class(value)
                elif not (name in self._notes and isinstance(value, (list, deque, set, dict))):
                    data[name] = value
                data |= _shared_generator(name, value, function)
            data |= _rest(function)
        owner = getattr(self._function, "__self__", self._function)
        if not isinstance(owner, (types.ModuleType, types.FunctionType, type)):
            data |= _data_of_class(type(owner))
        return {name: fingerprint(value) for name, value in data.items() if not self._mine(value)}

    def before(self) -> None:
        """Called before every call of the function."""
        self._calls += 1
        self._before = None if self._calls & (self._calls - 1) else self._look()

    def after(self) -> None:
        """Called after every call of the function.

        Raises
        ------
        KeepsError    something outside the function is not what it was before
        """
        if self._before is not None:
            before, now = self._before, self._look()
            if kept := sorted(n for n in now.keys() | before.keys() if now.get(n) != before.get(n)):
                raise keeps(self._function, kept)


def keeps(function: Callable[..., Any], names: list[str]) -> KeepsError:
    """The error of a function that keeps something."""
    listed = ", ".join(f"'{n}'" for n in names)
    return KeepsError(
        f"the function {named(function)} keeps something in {listed} from call to call: two runs would share "
        "it, and a run that is repeated would go on where the last one ended.",
        value=names,
        hint=CURE,
    )


def named(function: Callable[..., Any]) -> str:
    """Name of a function and where it is written, as far as it is known."""
    code = getattr(function, "__code__", None)
    name = getattr(function, "__name__", None) or f"of class {type(function).__name__}"
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code else name
