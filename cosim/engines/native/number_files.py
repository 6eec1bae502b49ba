"""Long tables in C files, taken out as files of bytes that the assembler copies.

Compilers read numbers slowly: three tables of a million take 13 s, as bytes 0.3 s. They stand in the library
like the constants they are. Where it is not known that compiler and assembler understand this (elsewhere than
on Linux) the text stays as it is.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np

LONG = 256  # numbers; fewer are no work for a compiler
SUFFIX = ".bin"
_TABLE = re.compile(r"static const casadi_real casadi_c(\d+)\[(\d+)\] =\s*\{([^}]*)\};")
_PLAIN = re.compile(r"[\w./ +-]+")  # paths that mean the same in C, in the assembler and on disk


def numbers_apart(name: str, text: str, place: Path) -> str:
    """The text of a C file that CasADi printed, with long tables as files in the folder `place`.

    name : of the file; its tables are called after it
    """
    if not sys.platform.startswith("linux") or not _PLAIN.fullmatch(str(place)):
        return text

    def taken_out(found: re.Match[str]) -> str:
        table, count = found[1], int(found[2])
        numbers = _read(found[3], count) if count >= LONG else None
        if numbers is None:
            return found[0]
        label = f"{Path(name).stem}_numbers{table}"
        file = place / (label + SUFFIX)
        file.write_bytes(numbers.tobytes())
        return _INCLUDED.format(label=label, file=file, table=table, count=count)

    return _TABLE.sub(taken_out, text)


_INCLUDED = """__asm__(".pushsection .rodata\\n.balign 8\\n{label}:\\n.incbin \\"{file}\\"\\n.popsection\\n");
extern const casadi_real casadi_c{table}[{count}] __asm__("{label}") __attribute__((visibility("hidden")));"""


def _read(text: str, count: int) -> np.ndarray | None:
    """The numbers of a table as text, None if it has something else in it."""
    if "nan" in text:
        return None
    found = np.fromstring(text.replace("casadi_inf", "inf"), dtype=float, sep=",")
    return found if found.shape == (count,) else None
