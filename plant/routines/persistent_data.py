"""What a script keeps from call to call: data in its global variables, and attributes of its functions.

Which variables that can be is known when the script is loaded, so that a call looks at these only.
"""

from __future__ import annotations

import contextlib
import copy
import dis
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

CODE = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)
UNCHANGEABLE = (int, float, str, bytes, complex, bool, type(None))


class Kept:
    """The data of a namespace in which a script was run.

    namespace : dict           the script's global variables; what is kept stays in it
    writes : set of str        those that some function of the script assigns, see `written_globals`
    """

    def __init__(self, namespace: dict[str, Any], writes: frozenset[str]) -> None:
        self.writes = writes
        self._namespace = namespace
        own = {name: value for name, value in namespace.items() if not name.startswith("__")}
        self._functions = {n: f for n, f in own.items() if isinstance(f, types.FunctionType)}
        fixed = (*CODE, *UNCHANGEABLE, tuple)
        data = [name for name, value in own.items() if not isinstance(value, fixed)]
        self._names = tuple(dict.fromkeys([*data, *sorted(writes)]))  # others cannot change

    def copied(self) -> dict[str, Any]:
        """A copy of all of it, by name; an attribute of a function is ``function.name``."""
        found: dict[str, Any] = {}
        for name, function in self._functions.items():
            if function.__dict__:
                found |= {f"{name}.{a}": copy_of(v) for a, v in vars(function).items()}
        for name in self._names:
            if name in self._namespace and not isinstance(value := self._namespace[name], CODE):
                with contextlib.suppress(TypeError):  # open files and the like cannot be copied
                    found[name] = copy_of(value)
        return found

    def put_back(self, state: Mapping[str, Any]) -> None:
        """Put back what `copied` gave: these very objects, not copies of them."""
        for name, value in state.items():
            owner, _, attribute = name.partition(".")
            if attribute:
                setattr(self._namespace[owner], attribute, value)
            else:
                self._namespace[owner] = value

    def changed_since(self, state: Mapping[str, Any]) -> list[str]:
        """Names of what is not as `copied` gave it."""
        return [name for name, value in self.copied().items() if not _same(value, state.get(name))]


def copy_of(value: Any) -> Any:
    """A copy that shares nothing that could change."""
    kind = type(value)
    if kind in UNCHANGEABLE:
        return value
    if kind is list and all(type(v) in UNCHANGEABLE for v in value):  # what routines keep most
        return value[:]
    if kind is np.ndarray and not value.dtype.hasobject:
        return value.copy()
    return copy.deepcopy(value)


def written_globals(code: types.CodeType) -> frozenset[str]:
    """Global variables that the functions in a script's code assign, those inside others included."""
    found = {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_GLOBAL"}
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return frozenset(found.union(*map(written_globals, inner)))


def _same(a: Any, b: Any) -> bool:
    try:
        return bool(np.all(a == b))
    except Exception:
        return False
