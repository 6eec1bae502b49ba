"""Shared libraries of FMUs: cffi reads fmi2.h and fmi3.h, functions are looked up when they are needed."""

from __future__ import annotations

import re
import sys
import weakref
from functools import cache as once
from pathlib import Path
from typing import Any

from blocks.contract.derived import Derived
from cosim.engines.native.bindings import as_understood, made
from cosim.fmi.fmi_errors import FMUError

HEADERS = {2: "fmi2.h", 3: "fmi3.h"}

# The logger of FMI 2.0 takes what printf takes: of the numbers behind the message, whole ones and texts are
# in registers first and then on the stack, floating ones in registers of their own. Where the platform's
# rules are known, a callback that declares all of them finds them; elsewhere they are left out.
REGISTERS = {"x86_64": 1, "aarch64": 3} if sys.platform == "linux" else {}
FLOATING, STACKED = 8, 8
VARIADIC = "void(*)(void *, const char *, int, const char *, const char *{})"


_source: str | None = None  # what `described` returned in another process


@once
def described() -> str:
    """The declarations of both versions as cffi understands them, as text: reading them takes 0.1 s."""
    headers = [(Path(__file__).parent / name).read_text() for name in HEADERS.values()]
    return as_understood(
        "int snprintf(char *, size_t, const char *, ...);",
        "void *calloc(size_t, size_t); void free(void *);",
        *[re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL) for text in headers],
    )


def remember(source: str) -> None:
    """Take what `described` returned in another process."""
    global _source
    _source = source


@once
def ffi() -> Any:
    """cffi with the declarations of both versions: one in a process.

    Made of what cffi writes for modules: the other kind keeps every library that was ever opened.
    """
    return made(_source if _source is not None else described())


@once
def libc() -> Any:
    """Functions of the C library: memory for FMUs, and printf."""
    return ffi().dlopen(None if sys.platform != "win32" else "ucrtbase")


class Library:
    """The binary of an FMU in this process; unloaded with this object.

    version : of FMI, as the binary says it, where somebody has asked; known : functions that were asked for,
    by names without the prefix; derived : what compiled code calls of it

    Raises
    ------
    FMUError      the system cannot load it
    """

    def __init__(self, path: Path, file: str) -> None:
        self.path, self.file = path, file
        self.version: str | None = None
        self.known: dict[str, Any] = {}
        self.derived = Derived()
        if sys.platform == "win32":
            import os

            self._beside = os.add_dll_directory(str(path.parent))
        f = ffi()
        try:
            self._loaded = f.dlopen(str(path), f.RTLD_NOW | f.RTLD_LOCAL)
        except (OSError, UnicodeError) as error:
            raise FMUError(
                f"FMU '{file}': its binary {path.name} cannot be loaded: {error}.",
                path=file,
                hint="It may be made for another system, or need a library that is not installed.",
            ) from error
        self._close = weakref.finalize(self, f.dlclose, self._loaded)

    def has(self, name: str) -> bool:
        """Whether it has a function; not all makers export those that few hosts call."""
        try:
            self.function(name)
        except FMUError:
            return False
        return True

    def function(self, name: str) -> Any:
        """A function of the standard.

        Raises
        ------
        FMUError      the FMU does not have it
        """
        try:
            return getattr(self._loaded, name)
        except (AttributeError, ffi().error):  # which of the two differs between versions of cffi
            raise FMUError(
                f"FMU '{self.file}': its binary has no function {name}, which it must have.",
                path=self.file,
                hint="Ask its maker: the FMU is incomplete.",
            ) from None

    def close(self) -> None:
        """Unload the library; no function of it may be called after this."""
        self._close()
