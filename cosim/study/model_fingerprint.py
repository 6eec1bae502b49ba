"""A fingerprint of everything in a model that decides its results besides equations and numbers.

The hash of a system is that of its compiled code, of which instants, signals behind all states, files and
Python functions are no part. What is looked at here must be the same in any process: functions count by
their code and what it uses of modules that are not installed, files by their content, classes that are not
installed by what stands in them, objects by what pickle would write of them, and those that cannot be pickled
by their class alone.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.block import Block
from blocks.contract.callback import PythonCall
from blocks.contract.memories import CountedInstants
from blocks.files import is_file, is_inside
from cosim.function_text import text_of
from cosim.system import System

DEPTH = 40  # most levels of objects inside one another
PLAIN = (bool, int, float, complex, str, bytes, type(None))
INSTALLED = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
PACKAGES = ("site-packages", "dist-packages")  # folders of others that are installed
OURS = ("blocks", "plant", "cosim")


def model_fingerprint(system: System, names: Sequence[str]) -> str:
    """Print of the instants a system lists, the Python code it calls, and the expressions of some signals."""
    signals = ca.vertcat(ca.SX(0, 1), *(system.signal(name).expression for name in names))
    shown = ca.Function("f", [system.t, system.x, system.h, system.w, system.p], [signals])
    digest = hashlib.sha256(text_of(shown).encode())
    for name, slot in system.held_of(CountedInstants).items():
        digest.update(repr((name, [str(time) for time in slot.times])).encode())
    outside = [s.external.make for s in system.schedule if s.external is not None]
    for one in (*outside, *system.calls, *(unit.block for unit in system.units)):
        for part in as_texts(one):
            digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:16]


def as_texts(value: Any, depth: int = 0, seen: dict[int, tuple[int, Any]] | None = None) -> Iterator[str]:
    """An object as texts that are the same in any process.

    seen : what is among them already, by its address: its number, and itself, which keeps the address its own
    """
    if depth > DEPTH:
        return
    seen = {} if seen is None else seen
    yield type(value).__name__
    if id(value) in seen:
        yield f"number {seen[id(value)][0]} again"
        return
    inner: Iterable[Any] = ()
    match value:
        case Path():
            yield _file(value)
        case str() if Path(value).suffix and len(value) < 1000 and "\0" not in value:
            yield value if not is_file(Path(value)) else _file(Path(value))
        case _ if isinstance(value, PLAIN) or (isinstance(value, np.generic) and not value.dtype.hasobject):
            yield repr(value)
        case np.ndarray() if not value.dtype.hasobject:
            yield repr((value.shape, value.dtype.str, hashlib.sha256(value.tobytes()).hexdigest()))
        case np.ndarray():
            inner = (value.shape, *value.ravel().tolist())
        case bytearray():
            yield repr(bytes(value))
        case tuple() if type(value) is tuple:
            if not all(isinstance(part, PLAIN) for part in value):  # constants may or may not be one object
                _note(value, seen)
            inner = value
        case list() if type(value) is list:
            _note(value, seen)
            inner = value
        case set() | frozenset():
            inner = sorted([*as_texts(part, depth + 1, {})] for part in value)
        case dict() if type(value) is dict:
            _note(value, seen)
            inner = [part for item in value.items() for part in item]
        case functools.partial():
            inner = (value.func, value.args, value.keywords)
        case types.MethodType():
            inner = (value.__func__, value.__self__)
        case types.FunctionType():
            _note(value, seen)
            inner = (value.__defaults__, value.__kwdefaults__, *_closed_over(value))
            if _installed(value.__module__):
                yield f"{value.__module__}.{value.__qualname__}"
            else:
                inner = (*_code(value.__code__), *inner, *_used(value))
        case types.ModuleType():
            yield value.__name__
        case type():
            _note(value, seen)
            yield f"{value.__module__}.{value.__qualname__}" if _installed(value.__module__) else ""
            inner = _contents(value)
        case staticmethod() | classmethod():
            inner = (value.__func__,)
        case property():
            inner = (value.fget, value.fset, value.fdel)
        case functools.cached_property():
            inner = (value.func,)
        case functools._lru_cache_wrapper():
            inner = (value.__wrapped__,)
        case PythonCall():
            inner = [v for n, v in sorted(vars(value).items()) if n[0] != "_" and n != "this"]  # no addresses
        case Block() if value.reaches:  # the files it writes are not part of it
            yield repr(value)
        case _ if dataclasses.is_dataclass(value):  # blocks too
            fields = [f.name for f in dataclasses.fields(value) if f.compare or not _ours(value)]
            inner = (type(value), *(getattr(value, name, None) for name in fields))
        case _:
            _note(value, seen)
            inner = (type(value), *(() if _ours(value) else _of_table(value) or _pickled(value)))
    for part in inner:
        yield from as_texts(part, depth + 1, seen)


def _note(value: Any, seen: dict[int, tuple[int, Any]]) -> None:
    seen[id(value)] = len(seen), value


def _ours(value: Any) -> bool:
    """Whether an object is of a class of ours: what counts of it is in dataclasses, and texts have paths."""
    return type(value).__module__.partition(".")[0] in OURS


@functools.lru_cache(maxsize=10_000)
def _installed(module: str | None) -> bool:
    """Whether a module is one of ours, or is installed: it does not change while a study is worked at."""
    if module is None:
        return False
    if module.partition(".")[0] in (*OURS, "builtins"):
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:  # of the user's session, or in C
        return module in sys.builtin_module_names
    return bool(set(Path(file).parts) & set(PACKAGES)) or is_inside(Path(file), INSTALLED)


def _contents(cls: type) -> list[Any]:
    """What stands in a class and those it is made from, without what is installed."""
    return [
        value
        for one in cls.__mro__
        if not _installed(one.__module__)
        for name, value in sorted(vars(one).items())
        if isinstance(value, types.FunctionType) or not (name.startswith("__") or name == "_abc_impl")
    ]


def _of_table(value: Any) -> list[Any]:
    """What a table, column or index of pandas holds, however it holds it; nothing of other objects."""
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return []
    if isinstance(value, pandas.DataFrame):
        return [value.columns, value.index, *(value.iloc[:, k] for k in range(value.shape[1]))]
    if isinstance(value, pandas.Series):
        return [str(value.dtype), value.name, value.index, value.to_numpy()]
    if isinstance(value, pandas.Index):
        return [str(value.dtype), list(value.names), value.to_numpy()]
    return []


def _pickled(value: Any) -> list[Any]:
    """What pickle would write of an object; nothing where that fails."""
    try:
        found = value.__reduce_ex__(4)
        if isinstance(found, str):
            return [found]
        items = [[*part] if part is not None else None for part in found[3:5]]
        return [*found[:3], *items]
    except Exception:  # a user's method may raise anything
        return []


def _file(path: Path) -> str:
    """The content of a file; its name if there is no such file."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if is_file(path) else path.name


def _code(code: types.CodeType) -> list[Any]:
    """The code of a function, independent of its place in its file."""
    found: list[Any] = [code.co_code, code.co_names]
    for constant in code.co_consts:
        found += _code(constant) if isinstance(constant, types.CodeType) else [constant]
    return found


def _names(code: types.CodeType) -> Iterator[str]:
    """Names that a function uses, also in functions and comprehensions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _closed_over(function: types.FunctionType) -> Iterator[Any]:
    """The values a function closes over."""
    for cell in function.__closure__ or ():
        if cell.cell_contents is not function:
            yield cell.cell_contents


def _used(function: types.FunctionType) -> Iterator[Any]:
    """What a function names of its module, and of users' modules that are imported there."""
    names = list(dict.fromkeys(_names(function.__code__)))
    spaces = [function.__globals__]
    for space in spaces:  # it grows
        for value in _named(names, space):
            if isinstance(value, types.ModuleType):
                inside = vars(value)
                if not (_installed(value.__name__) or any(inside is one for one in spaces)):
                    spaces.append(inside)
            elif value is not function:
                yield value


def _named(names: Iterable[str], among: Mapping[str, Any]) -> Iterator[Any]:
    """Values by their names, without functions and classes that are installed."""
    for value in (among[name] for name in names if name in among):
        code = isinstance(value, (types.FunctionType, type))
        if not (code and _installed(value.__module__)):
            yield value
