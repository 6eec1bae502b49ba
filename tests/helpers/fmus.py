"""FMUs of our own C sources in `tests/data/fmus`: what they are, and how to build them.

>>> path = build_fmu("mass", version="3.0", kinds=("cs",), rollback=False)

The description is written from the tables in `fmu_units` and may be changed in what it says, so that units
can be built that lie.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.fmu_descriptions import description, initial_of
from tests.helpers.fmu_units import FMI_2_TYPES, MOST_LONG, UNITS, Build, Unit, Var

SOURCES = Path(__file__).parents[1] / "data" / "fmus"
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
# what is quick in $CC as CI says it, which a test may change, compiles units too
QUICK = shutil.which("tcc") if os.environ.get("CC") == "tcc" else None

needs_compiler = pytest.mark.skipif(
    COMPILER is None, reason="no C compiler (cc, gcc or clang) to build test FMUs"
)


def build_fmu(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    version: str = "2.0",
    kinds: Sequence[str] | None = None,
    rollback: bool | None = None,
    serializes: bool | None = None,
    interpolates: bool = True,
    event_mode: bool | None = None,
    directional: bool | None = None,
    variable_step: bool = True,
    lying: bool = False,
    odd: tuple[str, int | str, float] | None = None,
    depends: Mapping[str, Sequence[str] | None] | None = None,
    identifier: str = "",
    token: str = "",
    start: Mapping[str, object] | None = None,
    file: str = "",
    change: Callable[[str], str] | None = None,
) -> Path:
    """The path of a test FMU, built with the host compiler; skips the test where there is none.

    folder : where to, default a new temporary one; file : its name there
    odd : a function (without its prefix), the status that it returns, or what it does in C, from which time
    start : other start values; change : what to make of the description
    """
    if COMPILER is None:
        pytest.skip("no C compiler (cc, gcc or clang) to build test FMUs")
    unit = UNITS[name]()
    if version not in unit.versions:
        pytest.skip(f"unit '{name}' needs FMI {' or '.join(unit.versions)}")
    kept = [v for v in unit.variables if version == "3.0" or v.type in FMI_2_TYPES]  # FMI 2 has fewer types
    kept = [replace(v, start=start[v.name]) if start and v.name in start else v for v in kept]
    unit = replace(unit, variables=tuple(_placed(kept)))
    can = unit.rollback if rollback is None else rollback
    build = Build(
        version, tuple(kinds or unit.kinds), can, can if serializes is None else serializes, interpolates,
        (unit.event_mode if event_mode is None else event_mode) and version == "3.0",
        unit.directional if directional is None else directional, variable_step, lying,
        tuple((n, None if on is None else tuple(on)) for n, on in (depends or {}).items()),
        identifier or name, token or f"{{{name}-1.0}}", odd,
    )  # fmt: skip
    library = _library(name, unit, build)
    folder = Path(tempfile.mkdtemp(prefix="fmu_") if folder is None else folder)
    folder.mkdir(parents=True, exist_ok=True)
    text = description(unit, build)
    where = "binaries/" + (_folder_2() if version == "2.0" else _folder_3())
    path = folder / (file or f"{name}.fmu")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("modelDescription.xml", change(text) if change else text)
        archive.write(library, f"{where}/{build.identifier}{library.suffix}")
        for resource, content in unit.resources.items():
            archive.writestr(f"resources/{resource}", content)
    return path


def _placed(variables: Iterable[Var]) -> Iterable[Var]:
    """With time before them and value references."""
    for k, v in enumerate([Var("time", causality="independent"), *variables]):
        yield replace(v, reference=10 + 3 * k)


# --- the binary -------------------------------------------------------------------------------------------
def _suffix() -> str:
    return {"Windows": ".dll", "Darwin": ".dylib"}.get(platform.system(), ".so")


def _folder_2() -> str:
    return {"Windows": "win64", "Darwin": "darwin64"}.get(platform.system(), "linux64")


def _folder_3() -> str:
    machine = {"arm64": "aarch64", "amd64": "x86_64"}.get(
        platform.machine().lower(), platform.machine().lower()
    )
    return f"{machine}-{platform.system().lower()}"


@functools.cache
def _built(source: str, header: str, version: str) -> Path:
    """The library of a unit; compiled once for all workers of a run."""
    import fmpy

    assert COMPILER is not None
    shared = Path(os.environ.get("PLANTLOOP_TEST_UNITS") or tempfile.mkdtemp(prefix="fmu_binary_"))
    library = shared / (hashlib.sha256(f"{source} {version} {header}".encode()).hexdigest() + _suffix())
    if library.exists():
        return library
    folder = Path(tempfile.mkdtemp(dir=shared))
    (folder / "variables.h").write_text(header)
    headers = Path(fmpy.__file__).parent / "c-code"
    files = [SOURCES / f"fmi{version[0]}.c", SOURCES / "unit.c", SOURCES / f"{source}.c"]
    subprocess.run(
        [QUICK or COMPILER, "-O0", "-shared", "-fPIC", "-fvisibility=hidden", "-I", folder, "-I", SOURCES,
         "-I", headers, "-o", folder / "unit", *files, "-lm"],
        check=True,
    )  # fmt: skip
    return (folder / "unit").replace(library)  # another worker may have been there before: with the same


def _library(name: str, unit: Unit, build: Build) -> Path:
    source = unit.source or name
    text = (SOURCES / f"{source}.c").read_text()
    own = [word for word, found in OWN.items() if found in text] + ["IN_BACKGROUND"] * unit.background
    return _built(source, _header(unit, build, own), build.version)


OWN = {"OWN_STEP": "Status model_step", "OWN_ACCEPTED": "void model_accepted"}
"""What a unit may define besides what all of them do, and how that is found in its source."""


def _header(unit: Unit, build: Build, own: Sequence[str]) -> str:
    places = {v.name: k for k, v in enumerate(unit.variables)}
    first, cells, texts = {}, 0, 0
    for v in unit.variables:
        if v.family in ("STRING", "BINARY"):
            first[v.name], texts = texts, texts + 1
        else:
            size = 1
            for d in v.dims:
                size *= d if isinstance(d, int) else MOST_LONG
            first[v.name], cells = cells, cells + size
    states = [v.state for v in unit.variables if v.state]
    rates = [v.name for v in unit.variables if v.state]
    enums = [f"c_{v.name} = {first[v.name]}, v_{v.name} = {places[v.name]}" for v in unit.variables]
    bits = {v.name: 1 << k for k, v in enumerate([v for v in unit.variables if v.type == "Clock"])}
    rows, starts, text_starts = [], [], []
    for v in unit.variables:
        dims = [str(d) if isinstance(d, int) else str(-1 - places[d]) for d in v.dims]
        inputs, fixed = int(v.causality == "input"), int(v.variability == "fixed")
        settable = v.causality == "input" or (v.causality == "parameter" and v.variability == "tunable")
        kind = 2 if v.causality == "structuralParameter" else int(settable)
        moving = int(v.type.startswith("Float") and v.variability in ("", "continuous"))
        calculated, constant = int(initial_of(v) == "calculated"), int(v.variability == "constant")
        clocked = sum(bits[name] for name in v.clocks)
        rows.append(
            f'{{"{v.name}", {v.family}, {v.bits(build.version)}, {first[v.name]}, {len(dims)}, '
            f"{{{', '.join(dims) or '0'}}}, {kind}, {inputs}, {fixed}, {moving}, {calculated}, {constant}, "
            f"{bits.get(v.name, 0) | clocked}}}"
        )
        if v.family == "CLOCK":
            continue
        if v.family in ("STRING", "BINARY"):
            data = v.start if v.start is not None else ""
            raw = data.encode() if isinstance(data, str) else bytes(data)  # type: ignore[call-overload]
            escaped = "".join(f"\\x{b:02x}" for b in raw)
            text_starts.append(f'[{first[v.name]}] = {{{len(raw)}, "{escaped}"}}')
        elif v.start is not None:
            values = v.start if isinstance(v.start, tuple) else (v.start,)
            member = {"FLOAT": "d", "SIGNED": "i", "UNSIGNED": "u"}[v.family]
            starts += [
                f"[{first[v.name] + k}] = {{.{member} = {_in_c(member, x)}}}" for k, x in enumerate(values)
            ]
    needs = build.version == "2.0" or "OWN_ACCEPTED" in own  # as its description says
    echoes = [str(places.get(v.echo, -1)) for v in unit.variables]
    numbers = lambda found: ", ".join(map(str, found)) or "0"
    return "\n".join([
        *(f"#define {word}" for word in own),
        f"#define INTERNAL_STEP {unit.internal_step!r}",
        *_odd(build.odd),
        f'#define TOKEN "{build.token}"',
        f"enum {{ N_VARIABLES = {len(rows)}, N_CELLS = {cells}, N_TEXTS = {texts or 1} }};",
        f"enum {{ N_STATES = {len(states)}, N_STATES_DECLARED = {len(states)} }};",
        f"enum {{ N_INDICATORS = {len(unit.indicators)}, MOST_LONG = {MOST_LONG} }};",
        f"enum {{ ROLLBACK = {int(build.rollback)}, SERIALIZES = {int(build.serializes)} }};",
        f"enum {{ LYING = {int(build.lying)}, INTERPOLATES = {int(build.interpolates)},",
        f"       DIRECTIONAL = {int(build.directional)},",
        f"       EVENT_MODE = {int(build.event_mode)}, VARIABLE_STEP = {int(build.variable_step)},",
        f"       NEEDS_COMPLETED = {int(needs)} }};",
        f"enum {{ {', '.join(enums)} }};",
        f"#define N_CLOCKS {len(bits)}",
        *(f"enum {{ b_{name} = {bit}, k_{name} = {k} }};" for k, (name, bit) in enumerate(bits.items())),
        f"static const Variable TABLE[] = {{{', '.join(rows)}}};",
        f"static const Value START[N_CELLS] = {{{', '.join(starts) or '{.d = 0}'}}};",
        f"static const Text TEXT_START[N_TEXTS] = {{{', '.join(text_starts) or '{0}'}}};",
        f"static const int STATE[] = {{{numbers(places[s] for s in states)}}};",
        f"static const int RATE[] = {{{numbers(places[r] for r in rates)}}};",
        f"static const int STATE_CELL[] = {{{numbers(first[s] for s in states)}}};",
        f"static const int RATE_CELL[] = {{{numbers(first[r] for r in rates)}}};",
        f"static const int ECHO_OF[] = {{{', '.join(echoes)}}};",
    ])  # fmt: skip


def _odd(odd: tuple[str, int | str, float] | None) -> list[str]:
    if odd is None:
        return []
    return [f'#define ODD_CALL "{odd[0]}"', f"#define ODD_STATUS {odd[1]}", f"#define ODD_FROM {odd[2]!r}"]


def _in_c(member: str, number: float) -> str:
    return repr(float(number)) if member == "d" else f"{int(number)}{'ULL' * (member == 'u')}"
