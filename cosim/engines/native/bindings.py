"""The runtime's interface in Python: cffi reads runtime/plantloop.h, and nothing of it is written down twice.

A field that does not exist, a number that does not fit and a pointer to another type are refused by cffi.
Calls of the runtime release Python's global lock. Nothing keeps alive what a pointer in a structure points
to: whoever sets it does.
"""

from __future__ import annotations

import ast
import re
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache as once
from pathlib import Path
from typing import Any

import numpy as np

from blocks.contract.derived import Derived

HEADER = Path(__file__).parent / "runtime" / "plantloop.h"
OURS = re.compile(r'^#include "(\w+\.h)"$', re.MULTILINE)

# cffi has no stubs: its objects are Any throughout
Structure = Any  # one of the header's, or a pointer to one
Library = Any

_source: str | None = None  # what `described` returned in an earlier process


def declarations() -> str:
    """The header and those it includes as cffi reads them: without comments, conditions, compilers' words."""
    whole = OURS.sub(lambda found: HEADER.with_name(found[1]).read_text(), HEADER.read_text())
    text = re.sub(r"/\*.*?\*/", "", whole, flags=re.DOTALL)
    constants = re.findall(r"^#define PL_\w+ \d+", text, re.MULTILINE)
    code = [line for line in text.splitlines() if not line.startswith("#")]
    return "\n".join([*constants, *code]).replace("PL_EXPORT ", "")


def described() -> str:
    """The declarations as cffi understands them, as text: to keep, since reading them takes 30 ms."""
    return as_understood(declarations())


def as_understood(*declared: str) -> str:
    """Declarations of C as cffi understands them, as text of which `made` makes them quickly."""
    from cffi import FFI, recompiler

    parsed = FFI()
    for text in declared:
        parsed.cdef(text)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "declared.py"
        recompiler.make_py_source(parsed, "declared", str(place))
        return place.read_text()


def remember(source: str) -> None:
    """Take what `described` returned earlier, of the same header."""
    global _source
    _source = source


_derived = Derived()


@once
def ffi() -> Any:
    """cffi with the declarations of the header: one in a process, whose types fit each other."""
    # one thread makes it where several ask at first; later it is found without a lock
    return _derived.get("ffi", lambda: made(_source if _source is not None else described()))


def made(source: str) -> Any:
    """cffi with what `as_understood` returned."""
    import _cffi_backend

    call = _call(source)
    fields = {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg}
    return _cffi_backend.FFI("plantloop", **fields)


def _call(source: str) -> ast.Call:
    """The call in the text that makes the FFI; only its numbers and strings are used."""
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            return statement.value
    raise ValueError("this is no description of declarations")


@once
def type_of(name: str) -> Any:
    """A type of C by its words."""
    return ffi().typeof(name)


@once
def _pointer_to(name: str) -> Any:
    return ffi().typeof(f"{name} *")


def new(name: str, *count: int) -> Structure:
    """A zero structure, or an array of some; it lives as long as somebody has it."""
    return ffi().new(type_of(f"{name}[]"), *count) if count else ffi().new(_pointer_to(name))


def copy(name: str, structure: Structure) -> Structure:
    """A structure of one's own with the same values."""
    made = new(name)
    made[0] = structure[0]
    return made


KINDS = {
    np.dtype(float): "double[]",
    np.dtype(np.int32): "int32_t[]",
    np.dtype(np.int64): "int64_t[]",
    np.dtype(np.uint64): "uint64_t[]",
}


def pointer(array: np.ndarray, kind: str = "") -> Any:
    """Where the numbers of an array lie, by default as a pointer to what they are.

    kind : another one, "double[]" for instance
    """
    return ffi().from_buffer(type_of(kind or KINDS[array.dtype]), array)


def doubles(arrays: Iterable[np.ndarray]) -> list[Any]:
    """Where the numbers of arrays of doubles lie."""
    kind, place = type_of("double[]"), ffi().from_buffer
    return [place(kind, array) for array in arrays]


class Pointers:
    """Pointers to doubles in arrays, in a row, which keep the arrays.

    start : what a field `const double *const *` is set to
    """

    def __init__(self, arrays: Sequence[np.ndarray]) -> None:
        self._kept = [pointer(array) for array in arrays]
        self.start = new("double *", len(arrays))
        self.start[0 : len(arrays)] = self._kept


def numbers(place: Any, count: int) -> np.ndarray:
    """The doubles a pointer of the runtime points to."""
    if count == 0:
        return np.zeros(0)
    return np.frombuffer(ffi().buffer(place, 8 * count), dtype=float, count=count)


def fields(name: str) -> list[str]:
    """Names of the fields of a structure."""
    return [field for field, _ in type_of(name).fields]


def constant(name: str) -> int:
    """A constant of the header."""
    return int(ffi().integer_const(name))


def size(name: str) -> int:
    """Bytes of a structure."""
    return int(ffi().sizeof(name))


def offset(name: str, field: str) -> int:
    """Where a field of a structure begins [bytes]."""
    return int(ffi().offsetof(name, field))


def at(name: str, memory: Any, place: int) -> Structure:
    """The structure that begins at a place [bytes] of some memory, which somebody else keeps."""
    return ffi().cast(_pointer_to(name), ffi().cast(_pointer_to("char"), memory) + place)


def address(functions: Library, name: str) -> Any:
    """Where a function of a library is."""
    return ffi().addressof(functions, name)


def library(path: Path) -> Library:
    """The functions of a shared library that the header declares; it is unloaded with this object."""
    return ffi().dlopen(str(path))


def fits(code: Structure, nx: int, np: int) -> bool:
    """Does compiled code belong to this version, and to a system of so many states and parameters?"""
    return bool(code.abi == constant("PL_ABI") and code.nx == nx and code.np == np)


def runtime(path: Path) -> Library:
    """The runtime.

    Raises
    ------
    OSError      it is not the one the header belongs to
    """
    found = library(path)
    if found.pl_abi() != constant("PL_ABI") or found.pl_size_of_run() != ffi().sizeof("pl_run"):
        raise OSError("the compiled runtime does not fit this version")
    return found
