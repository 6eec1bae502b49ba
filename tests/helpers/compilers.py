"""Which C compiler tests use: a quick one for most, the users' one where machine code itself is looked at."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path


def quick_compiler() -> str:
    """For $CC: tcc where it makes libraries, else the system's compiler without optimising; "" without any.

    Compiling takes longer than running for most models of the tests, and tcc a twentieth of the time that gcc
    takes at its lowest level. Every compiler and level gives the same bits.
    """
    if platform.machine() == "x86_64" and (tcc := shutil.which("tcc")) and _makes_libraries(tcc):
        return "tcc"
    return "cc -O0" if shutil.which("cc") else ""


def _makes_libraries(compiler: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "one.c"), Path(folder, "one.so")
        source.write_text("#include <math.h>\ndouble one(double x) { return cos(0.0 * x); }\n")
        command = [compiler, "-shared", "-o", str(library), str(source), "-lm"]
        try:
            done = subprocess.run(command, capture_output=True, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0 and library.exists()


def users_compiler() -> str:
    """What $CC would say, without the level and the quick compiler (tcc) it says for tests."""
    words = [w for w in os.environ.get("CC", "").split() if not w.startswith("-O")]
    return "" if words[:1] == ["tcc"] else " ".join(words)
