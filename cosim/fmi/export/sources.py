"""All C files of an exported model: the fixed ones, its equations, its data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache as once
from pathlib import Path

from cosim.engines.codegen.model_c import CFile
from cosim.engines.native.build import RUNTIME, runtime_file

UNIT = Path(__file__).parent / "unit"
CALLED = re.compile(r"\bpl_call\d+")  # functions that equations call
UNUSED = (
    "batch.c", "fmus.c", "fmu_values.c", "fmu_events.c", "coupling.c", "curves.c", "exchange.c", "iterated.c",
    "direct_feedthrough.c", "macro_control.c", "macro_step.c", "rollback.c", "steady.c", "units.c",
)  # fmt: skip
"""Of the runtime: many runs in one call, calls and coupling of imported FMUs."""
DEFINED = re.compile(r"^(?:const )?(?:void|int|pl_jacobian \*)\s*\*?(\w+)\(", re.MULTILINE)


@once
def headers() -> dict[str, str]:
    """Headers by name, which belong beside all C files."""
    found = (*RUNTIME.glob("*.h"), *UNIT.glob("*.h"))
    return {p.name: p.read_text() for p in sorted(found)}


def headers_of(version: str) -> dict[str, str]:
    """Headers that the sources of one version of FMI include."""
    own = f"fmi{version[0]}"
    return {name: text for name, text in headers().items() if name.startswith(own) or name[:3] != "fmi"}


@once
def common() -> tuple[CFile, ...]:
    """The runtime, and instances: the same for all models and versions."""
    kept = [p for p in sorted(RUNTIME.glob("*.c")) if p.name not in UNUSED]
    return _files([*kept, *sorted(UNIT.glob("unit*.c"))])


@once
def of_version(version: str) -> tuple[CFile, ...]:
    """The functions of one version of FMI."""
    return _files(sorted(UNIT.glob(f"fmi{version[0]}*.c")))


def fixed(version: str) -> tuple[CFile, ...]:
    """All files that are the same for all models."""
    return (*common(), *of_version(version))


def _files(paths: Sequence[Path]) -> tuple[CFile, ...]:
    return tuple(runtime_file(p) for p in paths)


def renamed(files: Sequence[CFile], prefix: str, entry: str) -> list[CFile]:
    """Code of more functions for one library: files and all names that others see begin with `prefix`.

    entry : what `pl_get_jacobian` is called then
    """
    names = {n for f in files for n in DEFINED.findall(f.text) if not CALLED.match(n)} - {"pl_get_jacobian"}
    defined = "".join(f"#define {n} {prefix}_{n}\n" for n in sorted(names))
    defined += f"#define pl_get_jacobian {entry}\n"
    include = '#include "functions.h"\n'
    made = []
    for f in files:
        text = CALLED.sub(rf"{prefix}_\g<0>", f.text)  # CasADi's own helpers begin with the name of the file
        text = text.replace(include, include + defined)  # functions that are called have no such line
        made.append(CFile(f"{prefix}_{f.name}", text, f.level))
    return made
