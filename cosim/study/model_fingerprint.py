"""A fingerprint of everything in a model that decides its results besides equations and numbers.

The hash of a system is that of its compiled code, of which instants, signals behind all states, files and
Python functions are no part. What is looked at here must be the same in any process: functions count by
their code and the data and functions of their module that it uses, files by their content, objects of users'
classes by their attributes and methods, and others that are not known by their class alone.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator, Sequence
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

DEPTH = 12  # most levels of objects inside one another
PLAIN = (bool, int, float, complex, str, bytes, type(None))
DATA = (list, tuple, dict, set, frozenset, np.ndarray, np.generic)
INSTALLED = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
HEAP = 1 << 9  # flag of classes that are written in Python


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


def as_texts(value: Any, depth: int = 0, seen: set[int] | None = None) -> Iterator[str]:
    """An object as texts that are the same in any process.

    seen : addresses of the functions and objects that are among them already
    """
    if depth > DEPTH:
        return
    seen = set() if seen is None else seen
    yield type(value).__name__
    inner: Iterable[Any] = ()
    match value:
        case Path():
            yield _file(value)
        case str() if Path(value).suffix and len(value) < 1000 and "\0" not in value:
            yield value if not is_file(Path(value)) else _file(Path(value))
        case _ if isinstance(value, (*PLAIN, np.generic)):
            yield repr(value)
        case np.ndarray() if not value.dtype.hasobject:
            yield repr((value.shape, value.dtype.str, hashlib.sha256(value.tobytes()).hexdigest()))
        case list() | tuple():
            inner = value
        case set() | frozenset():
            inner = sorted([*as_texts(part, depth + 1, seen)] for part in value)
        case dict():
            inner = [part for item in value.items() for part in item]
        case np.random.Generator():
            inner = (value.bit_generator.state,)
        case functools.partial():
            inner = (value.func, value.args, value.keywords)
        case types.MethodType():
            inner = (value.__func__, value.__self__)
        case types.FunctionType() if id(value) not in seen:
            seen.add(id(value))
            inner = (*_code(value.__code__), value.__defaults__, value.__kwdefaults__, *_used(value))
        case PythonCall():
            inner = [v for n, v in sorted(vars(value).items()) if n[0] != "_" and n != "this"]  # no addresses
        case Block() if value.reaches:  # the files it writes are not part of it
            yield repr(value)
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):  # blocks too
            inner = [getattr(value, f.name, None) for f in dataclasses.fields(value)]
        case _ if _of_a_user(type(value)) and id(value) not in seen:
            seen.add(id(value))
            inner = (*_methods(type(value)), _state(value))
    for part in inner:
        yield from as_texts(part, depth + 1, seen)


def _of_a_user(cls: type) -> bool:
    """Whether it is a class in Python outside of our packages, whose objects are data and methods."""
    ours = cls.__module__.partition(".")[0] in ("blocks", "plant", "cosim")
    kept = getattr(cls, "__getstate__", None)
    plain = kept is object.__getstate__ or isinstance(kept, types.FunctionType)
    return bool(cls.__flags__ & HEAP) and plain and not ours and not issubclass(cls, type)


def _methods(cls: type) -> list[types.FunctionType]:
    """The functions of a class that is not installed, without those of classes it is made from."""
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    if file is not None and is_inside(Path(file), INSTALLED):
        return []
    return [f for _, f in sorted(vars(cls).items()) if isinstance(f, types.FunctionType)]


def _state(value: Any) -> Any:
    """The attributes of an object, or what it has pickled in their place; None where that fails."""
    try:
        return value.__getstate__()
    except Exception:  # a user's method may raise anything
        return None


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


def _used(function: types.FunctionType) -> Iterator[Any]:
    """What a function uses: values it closes over, and data, objects and functions of its module."""
    for cell in function.__closure__ or ():
        if cell.cell_contents is not function:
            yield cell.cell_contents
    for name in dict.fromkeys(_names(function.__code__)):
        value = function.__globals__.get(name)
        own = isinstance(value, types.FunctionType) and value.__module__ == function.__module__
        if isinstance(value, (*PLAIN, *DATA)) or _of_a_user(type(value)) or (own and value is not function):
            yield value
