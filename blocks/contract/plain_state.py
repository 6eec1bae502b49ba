"""The data inside an object as bytes, and back into an object of the same kind, without running code.

Plain data are numbers, texts, bytes, NumPy arrays and generators, lists, tuples, dicts, sets, deques, and
objects whose attributes are plain. Functions, classes and modules are no data: they stay what they are.
`restore` writes into an object that is there, so that nothing a file names is ever constructed or called.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import json
import random
import types
from collections import deque
from collections.abc import Callable, Iterator
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from typing import Any

import numpy as np

FIXED = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, type, np.ufunc,
         functools.partial, PurePath)  # fmt: skip
MOST = 5000  # numbers, texts and containers in a fingerprint; what is beyond them is not looked at
_EXACT: dict[type, tuple[str, Callable[[Any], str], Callable[[str], Any]]] = {
    float: ("float", float.hex, float.fromhex),
    Fraction: ("fraction", str, Fraction),
    Decimal: ("decimal", str, Decimal),
    bytes: ("bytes", lambda v: base64.b64encode(v).decode(), base64.b64decode),
}


class NotPlain(Exception):
    """Something is no plain data; the text says where in the object it lies."""


def encode(value: Any) -> bytes:
    """All plain data of an object.

    Raises
    ------
    NotPlain    an attribute that is neither plain data nor code
    """
    return json.dumps(_Encoder().of(value, "")).encode()


def restore(state: bytes, target: Any) -> Any:
    """Put what `encode` gave back into `target`, an object of the same kind; returns it, or the new value.

    Raises
    ------
    NotPlain    the state is not one of such an object
    """
    try:
        return _Restorer().of(json.loads(state.decode()), target)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise NotPlain(f"the state is not one of a {type(target).__name__}: {error}") from error


def plain_part(data: dict[str, Any]) -> dict[str, Any]:
    """The entries that `encode` takes."""
    found = {}
    for name, value in data.items():
        with contextlib.suppress(NotPlain):
            encode(value)
            found[name] = value
    return found


def fingerprint(value: Any) -> str:
    """Text that changes where plain data in an object does; what is not plain counts by its identity."""
    encoder = _Encoder(lenient=True)
    return hashlib.sha256(json.dumps(encoder.of(value, "")).encode()).hexdigest()


def attributes(value: Any) -> dict[str, Any] | None:
    """An object's attributes, also those in slots; None if it has none of either kind."""
    found: dict[str, Any] = {}
    slots = [n for c in type(value).__mro__ for n in _slots(c) if n not in ("__dict__", "__weakref__")]
    found |= {n: getattr(value, n) for n in slots if hasattr(value, n)}
    if hasattr(value, "__dict__"):
        return found | vars(value)
    return found if slots else None


def _all_in_attributes(value: Any) -> bool:
    """Is an object what its attributes say, with nothing behind them in C, as files and locks have?"""
    reduce: Any = type(value).__reduce__
    if isinstance(reduce, types.FunctionType):
        return True
    if reduce is not vars(object)["__reduce__"]:
        return False
    try:
        object.__reduce_ex__(value, 2)
    except Exception:  # a class's own __getstate__ may raise anything
        return False
    return True


def _slots(kind: type) -> Iterator[str]:
    own = kind.__dict__.get("__slots__", ())
    yield from (own,) if isinstance(own, str) else own


class _Encoder:
    def __init__(self, lenient: bool = False) -> None:
        self._seen: dict[int, int] = {}  # id of a container -> in which turn it came
        self._kept: list[Any] = []  # so that ids stay unique
        self._lenient, self._left = lenient, MOST

    def of(self, value: Any, where: str) -> Any:
        """One value as lists and texts of JSON."""
        self._left -= 1
        if self._lenient and self._left < 0:
            return ["beyond"]
        kind = type(value)
        if value is None or kind in (bool, str, int):
            return value
        if kind in _EXACT:
            name, write, _ = _EXACT[kind]
            return [name, write(value)]
        if kind is complex:
            return ["complex", value.real.hex(), value.imag.hex()]
        if isinstance(value, Enum):
            return ["enum", value.name]
        if isinstance(value, np.generic):
            return ["scalar", value.dtype.str, base64.b64encode(value.tobytes()).decode()]
        if isinstance(value, FIXED):
            return ["fixed", str(id(value)) if self._lenient else ""]
        if id(value) in self._seen:
            return ["same", self._seen[id(value)]]
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)
        return self._container(value, where)

    def _container(self, value: Any, where: str) -> Any:
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            return ["array", value.dtype.str, list(value.shape), base64.b64encode(value.tobytes()).decode()]
        if isinstance(value, random.Random):
            return ["random", self.of(value.getstate(), where)]
        if isinstance(value, np.random.Generator):
            return ["generator", self.of(value.bit_generator.state, where)]
        if isinstance(value, np.random.RandomState):
            return ["legacy", self.of(value.get_state(legacy=False), where)]
        if isinstance(value, dict):
            items = [[self.of(k, where), self.of(v, f"{where}[{k!r}]")] for k, v in list(value.items())]
            return ["dict", items, *self._more(value, where)]
        for base, name in ((list, "list"), (deque, "deque"), (tuple, "tuple")):
            if isinstance(value, base):
                entries = [self.of(v, f"{where}[{k}]") for k, v in enumerate(list(value))]
                return [name, entries, *self._more(value, where)]
        if isinstance(value, (set, frozenset)):
            name = "set" if isinstance(value, set) else "frozenset"
            return [name, sorted((self.of(v, where) for v in value), key=json.dumps)]
        found = attributes(value)
        if found is None or not _all_in_attributes(value):
            if self._lenient:
                return ["fixed", str(id(value))]
            what = f"is a {type(value).__name__}, which is no plain data"
            raise NotPlain(f"'{where.lstrip('.') or 'it'}' {what}")
        return ["object", type(value).__name__, {n: self.of(v, f"{where}.{n}") for n, v in found.items()}]

    def _more(self, value: Any, where: str) -> list[Any]:
        """Attributes of a container of a class of its own."""
        found = attributes(value) if type(value).__module__ not in ("builtins", "collections") else None
        return [{n: self.of(v, f"{where}.{n}") for n, v in found.items()}] if found else []


class _Restorer:
    def __init__(self) -> None:
        self._seen: list[Any] = []

    def of(self, state: Any, old: Any) -> Any:
        """The value a state stands for; containers and objects that are there are written to."""
        if not isinstance(state, list):
            return state
        name, *rest = state
        for write, _, read in _EXACT.values():
            if name == write:
                return read(rest[0])
        if name == "complex":
            return complex(float.fromhex(rest[0]), float.fromhex(rest[1]))
        if name == "enum":
            return type(old)[rest[0]]
        if name == "scalar":
            return np.frombuffer(base64.b64decode(rest[1]), np.dtype(rest[0]))[0]
        if name == "fixed":
            return old
        if name == "same":
            return self._seen[rest[0]]
        place = len(self._seen)
        self._seen.append(old)
        self._seen[place] = value = self._container(name, rest, old, place)
        return value

    def _container(self, name: str, rest: list[Any], old: Any, place: int) -> Any:
        if name == "array":
            value = np.frombuffer(base64.b64decode(rest[2]), np.dtype(rest[0])).reshape(rest[1])
            if isinstance(old, np.ndarray) and (old.shape, old.dtype) == (value.shape, value.dtype):
                old[...] = value
                return old
            return value.copy()
        if name == "random":
            old.setstate(self.of(rest[0], None))
        elif name == "generator":
            old.bit_generator.state = self.of(rest[0], None)
        elif name == "legacy":
            old.set_state(self.of(rest[0], None))
        elif name == "object":
            if type(old).__name__ != rest[0]:
                raise NotPlain(f"there is a {type(old).__name__} where the state has a {rest[0]}")
            self._attributes(old, rest[1])
        else:
            return self._collection(name, rest, old, place)
        return old

    def _collection(self, name: str, rest: list[Any], old: Any, place: int) -> Any:
        if name == "tuple":
            same = isinstance(old, tuple) and len(old) == len(rest[0])
            return tuple(self.of(v, old[k] if same else None) for k, v in enumerate(rest[0]))
        if name in ("set", "frozenset"):
            found = {self.of(v, None) for v in rest[0]}
            if name == "set" and isinstance(old, set):
                old.clear()
                old.update(found)
                return old
            return found if name == "set" else frozenset(found)
        value: Any
        if name == "dict":
            value = old if isinstance(old, dict) else {}
            self._seen[place], before = value, dict(value)
            entries = [(self.of(key, None), state) for key, state in rest[0]]
            content: Any = {key: self.of(state, before.get(key)) for key, state in entries}
        else:
            kind = list if name == "list" else deque
            value = old if isinstance(old, kind) else kind()
            self._seen[place], there = value, [*value, *[None] * len(rest[0])]
            content = [self.of(v, o) for v, o in zip(rest[0], there, strict=False)]
        value.clear()
        (value.update if name == "dict" else value.extend)(content)
        if len(rest) > 1:
            self._attributes(value, rest[1])
        return value

    def _attributes(self, owner: Any, states: dict[str, Any]) -> None:
        there = attributes(owner) or {}
        for n in there.keys() - states.keys():
            object.__delattr__(owner, n)
        for n, state in states.items():
            value = self.of(state, there.get(n))
            if n not in there or value is not there[n]:
                object.__setattr__(owner, n, value)
