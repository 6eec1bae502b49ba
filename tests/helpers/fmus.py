"""FMUs of our own C sources in `tests/data/fmus`: what they are, and how to build them.

>>> path = build_fmu("mass", version="3.0", kinds=("cs",), rollback=False)

The description is written from the tables below and may be changed in what it says, so that units can be
built that lie.
"""

from __future__ import annotations

import functools
import os
import platform
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest

SOURCES = Path(__file__).parents[1] / "data" / "fmus"
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
MOST_LONG = 8  # a dimension given by a structural parameter

FAMILIES = {"Float": "FLOAT", "Int": "SIGNED", "UInt": "UNSIGNED"}
FMI_2_TYPES = {
    "Float64": "Real",
    "Int32": "Integer",
    "Boolean": "Boolean",
    "String": "String",
    "Enumeration": "Enumeration",
}

needs_compiler = pytest.mark.skipif(
    COMPILER is None, reason="no C compiler (cc, gcc or clang) to build test FMUs"
)


@dataclass(frozen=True)
class Var:
    """A variable of a test FMU.

    ticks : of a clock, the attributes that say when; clocks : of a clocked variable
    start : number, text, bytes, or numbers of an array; state : name of the state it is the derivative of
    dims : numbers, or names of structural parameters; depends : names, None: on all; echo : of which input
    """

    name: str
    type: str = "Float64"
    causality: str = "local"
    variability: str = ""
    start: object = None
    initial: str = ""
    state: str = ""
    dims: tuple[int | str, ...] = ()
    unit: str = ""
    depends: tuple[str, ...] | None = ()
    echo: str = ""
    reference: int = -1
    ticks: Mapping[str, object] = field(default_factory=dict, hash=False)
    clocks: tuple[str, ...] = ()

    @property
    def family(self) -> str:
        """The family in C."""
        fixed = {
            "Boolean": "SIGNED",
            "Enumeration": "SIGNED",
            "String": "STRING",
            "Binary": "BINARY",
            "Clock": "CLOCK",
        }
        return fixed.get(self.type) or FAMILIES[self.type.rstrip("0123456789")]

    def bits(self, version: str) -> int:
        """The width in C; 0 where there is no choice."""
        fixed = {
            "Boolean": 1,
            "String": 0,
            "Binary": 0,
            "Clock": 0,
            "Enumeration": 64 if version == "3.0" else 32,
        }
        return fixed[self.type] if self.type in fixed else int(re.sub(r"\D", "", self.type))


def _states(**starts: float) -> list[Var]:
    """States with start values and their derivatives."""
    found = [Var(name, start=start, initial="exact") for name, start in starts.items()]
    return found + [Var(f"der_{name}", state=name, depends=None) for name in starts]


def _parameters(**starts: float) -> list[Var]:
    return [Var(n, causality="parameter", variability="tunable", start=s) for n, s in starts.items()]


@dataclass(frozen=True)
class Unit:
    """A test FMU: its variables beside time, and its model in C."""

    variables: tuple[Var, ...]
    source: str = ""
    versions: tuple[str, ...] = ("2.0", "3.0")
    kinds: tuple[str, ...] = ("cs", "me")
    indicators: tuple[str, ...] = ()  # the variables that are indicators (of FMI 3: their references)
    internal_step: float = 1e-3
    event_mode: bool = False
    step: float = 0.01
    stop: float = 1.0
    resources: Mapping[str, str] = field(default_factory=dict)
    rollback: bool = True
    directional: bool = True


def _out(variable: Var) -> Var:
    return replace(variable, causality="output")


def _mass() -> Unit:
    x, v, dx, dv = _states(x=0.1, v=0.0)
    return Unit(
        (
            Var("f", causality="input", start=0.0, unit="N"),
            replace(_out(x), unit="m"), replace(_out(v), unit="m/s"), dx, dv,
            Var("a", causality="output", depends=("f", "x", "v"), unit="m/s2"),
            *_parameters(m=1.0, k=100.0, c=0.5),
        )
    )  # fmt: skip


def _coupled() -> Unit:
    x, v, dx, dv = _states(x=-0.05, v=1.0)
    return Unit(
        (
            Var("x1", causality="input", start=0.0, unit="m"),
            Var("v1", causality="input", start=0.0, unit="m/s"),
            replace(_out(x), unit="m"), replace(_out(v), unit="m/s"), dx, dv,
            Var("f", causality="output", depends=("x1", "v1", "x", "v"), unit="N"),
            *_parameters(m=2.0, k=50.0, c=0.2, kc=80.0, cc=1.0),
        )
    )  # fmt: skip


def _feedthrough() -> Unit:
    types = ["Float64", "Float32", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64"]
    starts: dict[str, object] = {
        "Boolean": False,
        "String": "set me",
        "Binary": b"\x01\x02",
        "Enumeration": 1,
    }
    found = []
    for kind in [*types, *starts]:
        start = starts.get(kind, 0)
        varies = "continuous" if kind.startswith("Float") else "discrete"
        found.append(Var(f"{kind}_input", kind, "input", varies, start))
        found.append(
            Var(f"{kind}_output", kind, "output", varies, depends=(f"{kind}_input",), echo=f"{kind}_input")
        )
    found.append(Var("fixed_parameter", "Float64", "parameter", "fixed", 0.5))
    found.append(Var("tunable_parameter", "Float64", "parameter", "tunable", 0.25))
    return Unit(tuple(found), event_mode=True, stop=2.0, step=0.1)


def _statespace() -> Unit:
    sizes = [Var(n, "UInt64", "structuralParameter", "fixed", 3) for n in "nmr"]
    tunable = {"causality": "parameter", "variability": "tunable"}
    eye = tuple(1.0 if i % 4 == 0 else 0.0 for i in range(9))
    return Unit(
        (
            *sizes,
            Var("A", start=eye, dims=("n", "n"), **tunable), Var("B", start=eye, dims=("n", "m"), **tunable),
            Var("C", start=eye, dims=("r", "n"), **tunable), Var("D", start=eye, dims=("r", "m"), **tunable),
            Var("x0", start=(0.0, 0.0, 0.0), dims=("n",), **tunable),
            Var("u", causality="input", start=(1.0, 2.0, 3.0), dims=("m",)),
            Var("y", causality="output", dims=("r",), depends=("u", "x")),
            Var("x", dims=("n",), initial="calculated", depends=("x0",)),
            Var("der_x", dims=("n",), state="x", depends=None),
        ),
        versions=("3.0",),
        directional=False,
        stop=10.0,
    )  # fmt: skip


def _ball() -> Unit:
    h, v, dh, dv = _states(h=1.0, v=0.0)
    return Unit(
        (
            replace(_out(h), unit="m"), replace(_out(v), unit="m/s"), dh, dv,
            Var("g", causality="parameter", variability="fixed", start=-9.81),
            Var("e", causality="parameter", variability="tunable", start=0.7),
            Var("v_min", causality="parameter", variability="fixed", start=0.1),
            Var("resting", "Boolean", start=False, initial="exact"),
            Var("bounces", "Int32", "output", "discrete", 0, "exact"),
        ),
        indicators=("h",),
        directional=False,
        stop=3.0,
    )  # fmt: skip


def _falling() -> Unit:
    x, dx = _states(x=1.0)
    return Unit((_out(x), dx), kinds=("me",), indicators=("x",), directional=False)


def _vanderpol() -> Unit:
    x0, x1, d0, d1 = _states(x0=2.0, x1=0.0)
    return Unit((_out(x0), _out(x1), d0, d1, *_parameters(mu=1.0)), stop=20.0, internal_step=0.01)


def _faulty() -> Unit:
    return Unit(
        (
            Var("u", causality="input", start=0.0), Var("y", causality="output", depends=("u",)),
            Var("fault", "Int32", "parameter", "tunable", 0), *_parameters(when=0.5, megabytes=64.0),
        ),
        directional=False, kinds=("cs",), step=0.1,
    )  # fmt: skip


def _counter() -> Unit:
    return Unit(
        (
            Var("u", "Int32", "input", "discrete", 0),
            Var("count", "Int32", "output", "discrete", 0, "exact"),
            Var("sum", "Int32", "output", "discrete", depends=("u",)), *_parameters(period=0.25),
        ),
        event_mode=True, directional=False, step=0.1,
    )  # fmt: skip


def _clock(name: str, kind: str, causality: str = "input", **ticks: object) -> Var:
    return Var(name, "Clock", causality, ticks={"intervalVariability": kind, **ticks})


def _counts(**clocks: tuple[str, ...]) -> list[Var]:
    return [Var(n, "Int32", "output", "discrete", 0, "exact", clocks=on) for n, on in clocks.items()]


def _clockwork() -> Unit:
    every = ("every", "chosen", "own", "varying", "later", "press")
    return Unit(
        (
            _clock("every", "constant", intervalDecimal=0.2, shiftDecimal=0.1, priority=2),
            _clock("chosen", "fixed", intervalCounter=1, resolution=4, intervalDecimal=0.25),
            _clock("own", "tunable"),
            _clock("varying", "changing"),
            _clock("later", "countdown"),
            _clock("press", "triggered"),
            _clock("alarm", "triggered", "output"),
            Var("u", causality="input", variability="discrete", start=0.0, clocks=("every",)),
            Var("w", causality="input", variability="discrete", start=0.0),
            Var("sum", causality="output", variability="discrete", start=0.0, initial="exact",
                clocks=("every",), depends=("u",)),
            Var("twice_w", causality="output", variability="discrete", depends=("w",)),
            *_counts(n_every=("every",), n_chosen=("chosen",), n_own=("own",), n_varying=("varying",),
                     n_later=("later",), n_press=("press",), total=every),
            Var("when", causality="output", variability="discrete", start=0.0, initial="exact", clocks=every),
            Var("rung", "Int32", "output", "discrete", 0, "exact", clocks=("alarm",)),
            replace(_out(_states(x=0.0)[0])), _states(x=0.0)[1],
        ),
        versions=("3.0",), event_mode=True, directional=False, stop=2.0, step=0.05,
    )  # fmt: skip


def _partitions() -> Unit:
    every = ("fast", "slow", "press", "later")
    return Unit(
        (
            _clock("slow", "fixed", intervalDecimal=0.5, priority=1),
            _clock("fast", "constant", intervalDecimal=0.1, priority=0),
            _clock("press", "triggered", priority=2),
            _clock("later", "countdown", priority=0),
            _clock("alarm", "triggered", "output"),
            Var("u", causality="input", variability="discrete", start=0.0, clocks=("fast",)),
            Var("sum", causality="output", variability="discrete", start=0.0, initial="exact",
                clocks=("fast",), depends=("u",)),
            Var("when", causality="output", variability="discrete", start=0.0, initial="exact",
                clocks=("later",)),
            *_counts(n_fast=("fast",), n_slow=("slow",), n_press=("press",), n_later=("later",), total=every),
            *_parameters(gain=1.0),
        ),
        versions=("3.0",), kinds=("se",), directional=False, stop=2.0, step=0.05,
    )  # fmt: skip


UNITS: Mapping[str, Callable[[], Unit]] = {
    "mass": _mass,
    "coupled": _coupled,
    "dahlquist": lambda: Unit(
        (_out(_states(x=1.0)[0]), _states(x=1.0)[1], *_parameters(k=1.0)), stop=10.0, step=0.1
    ),
    "lag": lambda: Unit(
        (
            Var("u", causality="input", start=0.0),
            *_states(x=0.0),
            Var("y", causality="output", depends=("x",)),
            *_parameters(T=1.0),
        )
    ),
    "vanderpol": _vanderpol,
    "ball": _ball,
    "falling": _falling,
    "stair": lambda: Unit(
        (Var("counter", "Int32", "output", "discrete", 1, "exact"),), stop=20.0, step=0.2, directional=False
    ),
    "feedthrough": _feedthrough,
    "statespace": _statespace,
    "resource": lambda: Unit(
        (Var("y", "Int32", "output", "discrete"),), resources={"y.txt": "a"}, directional=False
    ),
    "faulty": _faulty,
    "partial": lambda: Unit(
        (
            Var("u", causality="input", start=0.0),
            Var("y", causality="output", depends=("u",)),
            Var("calls", "Int32", "output", "discrete", 0, "exact"),
            *_parameters(most=0.03),
        ),
        versions=("2.0",),
        kinds=("cs",),
        directional=False,
        step=0.1,
    ),
    "counter": _counter,
    "clockwork": _clockwork,
    "partitions": _partitions,
}
"""The units there are; each has its C source of the same name."""


@dataclass(frozen=True)
class Build:
    """What one FMU is to be, beyond its `Unit`.

    rollback, serializes, interpolates, event_mode, directional : what it can do, and says
    lying : setting a saved state does nothing although it says OK
    depends : output -> what its description says it depends on, instead of the truth
    identifier : of the binary; token : guid, or instantiation token
    """

    version: str
    kinds: tuple[str, ...]
    rollback: bool
    serializes: bool
    interpolates: bool
    event_mode: bool
    directional: bool
    variable_step: bool
    lying: bool
    depends: tuple[tuple[str, tuple[str, ...] | None], ...]
    identifier: str
    token: str


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
    depends: Mapping[str, Sequence[str] | None] | None = None,
    identifier: str = "",
    token: str = "",
    start: Mapping[str, object] | None = None,
    file: str = "",
    change: Callable[[str], str] | None = None,
) -> Path:
    """The path of a test FMU, built with the host compiler; skips the test where there is none.

    folder : where to, default a new temporary one; file : its name there
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
        identifier or name, token or f"{{{name}-1.0}}",
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
    import fmpy

    assert COMPILER is not None
    folder = Path(tempfile.mkdtemp(prefix="fmu_binary_"))
    (folder / "variables.h").write_text(header)
    library = folder / f"unit{_suffix()}"
    headers = Path(fmpy.__file__).parent / "c-code"
    files = [SOURCES / f"fmi{version[0]}.c", SOURCES / "unit.c", SOURCES / f"{source}.c"]
    subprocess.run(
        [COMPILER, "-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-I", folder, "-I", SOURCES,
         "-I", headers, "-o", library, *files, "-lm"],
        check=True,
    )  # fmt: skip
    return library


def _library(name: str, unit: Unit, build: Build) -> Path:
    source = unit.source or name
    own_step = "Status model_step" in (SOURCES / f"{source}.c").read_text()
    return _built(source, _header(unit, build, own_step), build.version)


def _header(unit: Unit, build: Build, own_step: bool) -> str:
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
        clocked = sum(bits[name] for name in v.clocks)
        rows.append(
            f'{{"{v.name}", {v.family}, {v.bits(build.version)}, {first[v.name]}, {len(dims)}, '
            f"{{{', '.join(dims) or '0'}}}, {kind}, {inputs}, {fixed}, {bits.get(v.name, 0) | clocked}}}"
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
    echoes = [str(places.get(v.echo, -1)) for v in unit.variables]
    numbers = lambda found: ", ".join(map(str, found)) or "0"
    return "\n".join([
        *(["#define OWN_STEP"] if own_step else []),
        f"#define INTERNAL_STEP {unit.internal_step!r}",
        f'#define TOKEN "{build.token}"',
        f"enum {{ N_VARIABLES = {len(rows)}, N_CELLS = {cells}, N_TEXTS = {texts or 1} }};",
        f"enum {{ N_STATES = {len(states)}, N_STATES_DECLARED = {len(states)} }};",
        f"enum {{ N_INDICATORS = {len(unit.indicators)}, MOST_LONG = {MOST_LONG} }};",
        f"enum {{ ROLLBACK = {int(build.rollback)}, SERIALIZES = {int(build.serializes)} }};",
        f"enum {{ LYING = {int(build.lying)}, INTERPOLATES = {int(build.interpolates)},",
        f"       DIRECTIONAL = {int(build.directional)},",
        f"       EVENT_MODE = {int(build.event_mode)} }};",
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


def _in_c(member: str, number: float) -> str:
    return repr(float(number)) if member == "d" else f"{int(number)}{'ULL' * (member == 'u')}"


# --- the description --------------------------------------------------------------------------------------
def _attributes(**values: object) -> str:
    shown = {
        k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in values.items() if v not in (None, "")
    }
    return "".join(f" {k}={quoteattr(v)}" for k, v in shown.items())


def _text_of(start: object) -> str:
    if isinstance(start, tuple):
        return " ".join(repr(float(x)) for x in start)
    return str(start).lower() if isinstance(start, bool) else str(start)


def _says(build: Build, v: Var) -> tuple[str, ...] | None:
    return dict(build.depends).get(v.name, v.depends)


def description(unit: Unit, build: Build) -> str:
    """The modelDescription of a test FMU."""
    return _description_2(unit, build) if build.version == "2.0" else _description_3(unit, build)


UNIT_LINES = {
    "m": '<BaseUnit m="1"/>',
    "m/s": '<BaseUnit m="1" s="-1"/>',
    "m/s2": '<BaseUnit m="1" s="-2"/>',
    "N": '<BaseUnit kg="1" m="1" s="-2"/>',
}


def _units(unit: Unit) -> str:
    used = sorted({v.unit for v in unit.variables if v.unit})
    lines = "".join(f"<Unit name={quoteattr(u)}>{UNIT_LINES[u]}</Unit>" for u in used)
    return f"<UnitDefinitions>{lines}</UnitDefinitions>\n" if used else ""


def _initial(v: Var) -> str:
    if v.initial or v.causality in ("input", "parameter", "structuralParameter", "independent"):
        return v.initial
    return "exact" if v.start is not None else "calculated"


def _calculated(unit: Unit) -> list[Var]:
    """Initial unknowns."""
    states = {v.state for v in unit.variables if v.state}
    return [
        v for v in unit.variables
        if _initial(v) == "calculated" and not v.clocks
        and (v.causality == "output" or v.state or v.name in states)
    ]  # fmt: skip


def _description_2(unit: Unit, build: Build) -> str:
    index = {v.name: k for k, v in enumerate(unit.variables, 1)}
    flags = {
        "canGetAndSetFMUstate": build.rollback, "canSerializeFMUstate": build.serializes,
        "providesDirectionalDerivative": build.directional,
    }  # fmt: skip
    kinds = ""
    if "me" in build.kinds:
        kinds += f"<ModelExchange{_attributes(modelIdentifier=build.identifier, **flags)}/>\n"
    if "cs" in build.kinds:
        cs = {
            "canHandleVariableCommunicationStepSize": build.variable_step,
            "canInterpolateInputs": build.interpolates,
        }
        kinds += f"<CoSimulation{_attributes(modelIdentifier=build.identifier, **cs, **flags)}/>\n"
    lines = []
    for v in unit.variables:
        kind = FMI_2_TYPES[v.type]
        initial = "" if v.causality in ("input", "independent") else _initial(v)
        inner = {"derivative": index[v.state] if v.state else None, "unit": v.unit}
        if kind == "Enumeration":
            inner = {"declaredType": "Option"}
        needs_start = v.start is not None and initial != "calculated"
        start = {"start": _text_of(v.start)} if needs_start else {}
        varies = v.variability or ("continuous" if kind == "Real" else "discrete")
        outer = {"name": v.name, "valueReference": v.reference, "causality": v.causality}
        lines.append(
            f"<ScalarVariable{_attributes(**outer, variability=varies, initial=initial)}>"
            f"<{kind}{_attributes(**inner, **start)}/></ScalarVariable>"
        )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName={quoteattr(build.identifier)} guid={quoteattr(build.token)}
  numberOfEventIndicators="{len(unit.indicators)}" generationTool="tests of plantloop">
{kinds}{_units(unit)}{_options_2(unit)}{_experiment(unit)}
<ModelVariables>
{chr(10).join(lines)}
</ModelVariables>
<ModelStructure>
{_structure_2(unit, build, index)}
</ModelStructure>
</fmiModelDescription>
"""


def _experiment(unit: Unit) -> str:
    return f'<DefaultExperiment startTime="0" stopTime="{unit.stop}" stepSize="{unit.step}"/>'


def _options_2(unit: Unit) -> str:
    if not any(v.type == "Enumeration" for v in unit.variables):
        return ""
    items = '<Item name="one" value="1"/><Item name="two" value="2"/>'
    option = f'<SimpleType name="Option"><Enumeration>{items}</Enumeration></SimpleType>'
    return f"<TypeDefinitions>{option}</TypeDefinitions>\n"


def _structure_2(unit: Unit, build: Build, index: Mapping[str, int]) -> str:
    def unknown(v: Var) -> str:
        on = _says(build, v)
        listed = "" if on is None else f' dependencies="{" ".join(str(index[n]) for n in on)}"'
        return f'<Unknown index="{index[v.name]}"{listed}/>'

    parts = []
    for element, found in (
        ("Outputs", [v for v in unit.variables if v.causality == "output"]),
        ("Derivatives", [v for v in unit.variables if v.state]),
        ("InitialUnknowns", _calculated(unit)),
    ):
        if found:
            parts.append(f"<{element}>{''.join(map(unknown, found))}</{element}>")
    return "\n".join(parts)


def _description_3(unit: Unit, build: Build) -> str:
    reference = {v.name: v.reference for v in unit.variables}
    flags = {
        "canGetAndSetFMUState": build.rollback, "canSerializeFMUState": build.serializes,
        "providesDirectionalDerivatives": build.directional, "providesAdjointDerivatives": build.directional,
    }  # fmt: skip
    kinds = ""
    if "me" in build.kinds:
        kinds += f"<ModelExchange{_attributes(modelIdentifier=build.identifier, **flags)}/>\n"
    if "cs" in build.kinds:
        cs = {
            "canHandleVariableCommunicationStepSize": build.variable_step,
            "providesIntermediateUpdate": build.interpolates, "hasEventMode": build.event_mode,
            "mightReturnEarlyFromDoStep": build.event_mode,
        }  # fmt: skip
        if build.interpolates:
            cs["recommendedIntermediateInputSmoothness"] = 1
        kinds += f"<CoSimulation{_attributes(modelIdentifier=build.identifier, **cs, **flags)}/>\n"
    if "se" in build.kinds:
        kinds += f"<ScheduledExecution{_attributes(modelIdentifier=build.identifier, **flags)}/>\n"
    lines = [_variable_3(v, build, reference) for v in unit.variables]
    z = 10 + 3 * len(unit.variables)
    for k, name in enumerate(unit.indicators):
        lines.append(f'<Float64 name="z{k}_{name}" valueReference="{z + 3 * k}" initial="calculated"/>')
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName={quoteattr(build.identifier)}
  instantiationToken={quoteattr(build.token)} generationTool="tests of plantloop">
{kinds}{_units(unit)}{_options_3(unit)}{_experiment(unit)}
<ModelVariables>
{chr(10).join(lines)}
</ModelVariables>
<ModelStructure>
{_structure_3(unit, build, reference, z)}
</ModelStructure>
</fmiModelDescription>
"""


def _variable_3(v: Var, build: Build, reference: Mapping[str, int]) -> str:
    varies = v.variability or ("continuous" if v.type.startswith("Float") else "discrete")
    initial = "" if v.causality in ("input", "independent") or v.type == "Clock" else _initial(v)
    shown = {
        "name": v.name,
        "valueReference": v.reference,
        "causality": v.causality,
        "variability": varies,
        "initial": initial,
    }
    if v.type == "Enumeration":
        shown["declaredType"] = "Option"
    shown |= {"clocks": " ".join(str(reference[n]) for n in v.clocks), **v.ticks}
    shown |= {"derivative": reference[v.state] if v.state else None, "unit": v.unit}
    if v.causality == "input" and v.type == "Float64" and build.interpolates:
        shown["intermediateUpdate"] = True
    inner = "".join(
        f'<Dimension start="{d}"/>' if isinstance(d, int) else f'<Dimension valueReference="{reference[d]}"/>'
        for d in v.dims
    )
    if v.start is not None and initial != "calculated":
        if v.type in ("String", "Binary"):
            value = v.start.hex() if isinstance(v.start, bytes) else str(v.start)
            inner += f"<Start value={quoteattr(value)}/>"
        else:
            shown["start"] = _text_of(v.start)
    return f"<{v.type}{_attributes(**shown)}>{inner}</{v.type}>"


def _options_3(unit: Unit) -> str:
    if not any(v.type == "Enumeration" for v in unit.variables):
        return ""
    items = '<Item name="one" value="1"/><Item name="two" value="2"/>'
    return f'<TypeDefinitions><EnumerationType name="Option">{items}</EnumerationType></TypeDefinitions>\n'


def _structure_3(unit: Unit, build: Build, reference: Mapping[str, int], z: int) -> str:
    def unknown(element: str, v: Var) -> str:
        on = _says(build, v)
        listed = "" if on is None else f' dependencies="{" ".join(str(reference[n]) for n in on)}"'
        return f'<{element} valueReference="{v.reference}"{listed}/>'

    lines = [unknown("Output", v) for v in unit.variables if v.causality == "output"]
    lines += [unknown("ContinuousStateDerivative", v) for v in unit.variables if v.state]
    lines += [unknown("InitialUnknown", v) for v in _calculated(unit)]
    lines += [f'<EventIndicator valueReference="{z + 3 * k}"/>' for k in range(len(unit.indicators))]
    return "\n".join(lines)
