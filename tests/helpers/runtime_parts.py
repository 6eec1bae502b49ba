"""Functions of the C runtime by themselves, called with numbers.

A part is a C text that includes a file of the runtime, so that its hidden functions can be called too, and
has what else that file calls as stubs. An index beyond an array of fixed length ends the process.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cffi import FFI

from cosim.engines.native import bindings, compiler
from tests.helpers.compilers import users_compiler

FLAGS = ["-std=c99", "-fPIC", "-shared", "-O0", "-ffp-contract=off"]
BOUNDS = ["-fsanitize=bounds", "-fsanitize-undefined-trap-on-error"]


def parts(folder: Path, texts: Mapping[str, str], declarations: str) -> tuple[FFI, Any]:
    """cffi with the runtime's header and more declarations, and the library of all parts.

    texts : C text of every part by a name; declarations : of the functions that are called, as in C
    """
    if not sys.platform.startswith("linux"):
        pytest.skip("what no test calls is left undefined, which linkers elsewhere refuse")
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CC", users_compiler())
            command = compiler.find().command
    except compiler.CompilerError as missing:
        pytest.skip(f"no C compiler: {missing}")
    files = []
    for name, text in texts.items():
        files.append(folder / f"part_{name}.c")
        files[-1].write_text(text)
    library = folder / "parts.so"
    options = [*FLAGS, *BOUNDS, f"-I{bindings.HEADER.parent}", "-o", str(library)]
    call = [*command, *options, *map(str, files), "-lm"]
    made = subprocess.run(call, check=False, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    ffi = FFI()
    ffi.cdef(bindings.declarations() + "\n" + declarations)
    return ffi, ffi.dlopen(str(library), ffi.RTLD_LAZY)


class Runtime:
    """The functions, and structures whose arrays live as long as this."""

    def __init__(self, ffi, library):
        self.ffi, self.c, self.kept = ffi, library, []

    def array(self, values, kind="double"):
        """Numbers in C."""
        self.kept.append(self.ffi.new(f"{kind}[]", list(values)))
        return self.kept[-1]

    def new(self, name, **fields):
        """A structure with these fields, the others zero."""
        made = self.ffi.new(f"{name} *")
        for field, value in fields.items():
            setattr(made, field, value)
        self.kept.append(made)
        return made

    def function(self, kind, of):
        """A function of the test that C calls, of a kind written as in C."""
        self.kept.append(self.ffi.callback(kind, of))
        return self.kept[-1]

    def pointer(self, kind, of):
        """A function of the test as a pointer of an FMU's structure."""
        return self.ffi.cast("void *", self.function(kind, of))

    def batch(self, kind, type, places, items=(), items_from=()):
        """Values of an FMU of one C type and where in a row they are; and the values."""
        n = len(places)
        made = self.new("pl_fmu_batch", n=n, total=n, kind=kind, places=self.array(places, "int32_t"))
        made.values = values = self.array([0] * n, type)
        if items_from:
            made.items, made.items_from = self.array(items), self.array(items_from, "int32_t")
        return made, values

    def run(self, model=None, system=None, **fields):
        """A run of a model and a system with these fields, the others zero."""
        made = self.new("pl_run", **fields)
        made.model = self.new("pl_model", **(model or {}))
        made.system = self.new("pl_system", **(system or {}))
        return made
