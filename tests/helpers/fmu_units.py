"""The test FMUs there are, and what each can do: tables, from which headers and descriptions are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

MOST_LONG = 8  # a dimension given by a structural parameter

FAMILIES = {"Float": "FLOAT", "Int": "SIGNED", "UInt": "UNSIGNED"}
FMI_2_TYPES = {
    "Float64": "Real",
    "Int32": "Integer",
    "Boolean": "Boolean",
    "String": "String",
    "Enumeration": "Enumeration",
}


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
    background: bool = False  # its steps go on after the call (FMI 2.0)


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


def _alarm() -> Unit:
    x, dx = _states(x=0.0)
    counts = [Var(n, "Int32", "output", "discrete", 0, "exact") for n in ("order", "visits")]
    rate = Var("rate", causality="output", variability="discrete", start=1.0, initial="exact")
    reached = Var("reached", "Boolean", start=False, initial="exact")
    return Unit(
        (_out(x), dx, rate, reached, *counts, *_parameters(due=1.0, level=1.0)),
        kinds=("me",), indicators=("x",), directional=False,
    )  # fmt: skip


def _partial() -> Unit:
    u, y = Var("u", causality="input", start=0.0), Var("y", causality="output", depends=("u",))
    calls = Var("calls", "Int32", "output", "discrete", 0, "exact")
    return Unit(
        (u, y, calls, *_parameters(most=0.03)),
        versions=("2.0",), kinds=("cs",), directional=False, step=0.1,
    )  # fmt: skip


def _leaving() -> Unit:
    x, dx = _states(x=1.0)
    whole = Var("events", "Int32", "parameter", "fixed", 0)
    asked = Var("asked", "Int32", "output", "discrete", 0, "exact")
    y = Var("y", causality="output")
    return Unit((x, dx, y, whole, asked, *_parameters(when=0.25)), kinds=("me",), directional=False)


def _latch() -> Unit:
    x, dx = _states(x=0.0)
    single = Var("single", "Float32", "input", start=0.0)
    return Unit((Var("level", "Int32", "input", "discrete", 0), single, _out(x), dx), indicators=("x",))


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


def _wild() -> Unit:
    x, dx = _states(x=1.0)
    return Unit(
        (
            _out(x), dx, Var("y", causality="output", depends=("x",)), Var("z", depends=("x",)),
            Var("fault", "Int32", "parameter", "fixed", 0), Var("side", "Int32", variability="discrete"),
        ),
        directional=False, indicators=("z",), event_mode=True,
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


def _stubborn() -> Unit:
    return Unit(
        (
            Var("u", "Int32", "input", "discrete", 0), Var("y", causality="output"),
            Var("count", "Int32", "output", "discrete", 0, "exact"),
            Var("twice", "Int32", "output", "discrete", depends=("u",)),
            Var("fault", "Int32", "parameter", "tunable", 0), Var("when", "Int32", "parameter", "tunable", 3),
            *_parameters(period=0.25),
        ),
        versions=("3.0",), kinds=("cs",), event_mode=True, directional=False, step=0.1,
    )  # fmt: skip


def _metronome() -> Unit:
    return Unit(
        (
            Var("count", "Int32", "output", "discrete", 0, "exact"), Var("phase", causality="output"),
            Var("most", "Int32", "parameter", "tunable", 100), *_parameters(period=0.2),
        ),
        versions=("3.0",), kinds=("cs",), event_mode=True, directional=False, step=0.1,
    )  # fmt: skip


def _thrown() -> Unit:
    exact = {"causality": "output", "initial": "exact"}
    return Unit(
        (
            Var("push", causality="input", variability="discrete", start=0.0),
            Var("h", start=0.0, **exact), Var("v", start=1.0, **exact),
            Var("landed", "Int32", "output", "discrete", 0, "exact"),
            Var("pushed", variability="discrete", start=0.0, initial="exact"),
            Var("most", "Int32", "parameter", "tunable", 100), *_parameters(g=2.0, e=0.5),
        ),
        versions=("3.0",), kinds=("cs",), event_mode=True, directional=False, step=0.25,
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
    "single": lambda: Unit(
        (
            Var("u", "Float32", "input", start=0.0),
            *_states(x=0.0),
            Var("y", causality="output", depends=("x",)),
            *_parameters(T=1.0),
        ),
        versions=("3.0",),
        directional=False,
        source="lag",
    ),
    "picky": lambda: Unit(
        (Var("u", causality="input", start=0.0), _out(_states(x=0.0)[0]), _states(x=0.0)[1]),
        kinds=("me",),
        directional=False,
    ),
    "stuck": lambda: Unit((_out(_states(x=0.0)[0]), _states(x=0.0)[1]), kinds=("me",), directional=False),
    "vanderpol": _vanderpol,
    "ball": _ball,
    "falling": _falling,
    "alarm": _alarm,
    "leaving": _leaving,
    "latch": _latch,
    "stair": lambda: Unit(
        (Var("counter", "Int32", "output", "discrete", 1, "exact"),), stop=20.0, step=0.2, directional=False
    ),
    "feedthrough": _feedthrough,
    "statespace": _statespace,
    "calendar": lambda: Unit(
        (
            *map(_out, _states(x=0.0)[:1]),
            _states(x=0.0)[1],
            Var("now", causality="output", depends=()),
            Var("days", "Int32", "output", "discrete", 0, "exact"),
        ),
        stop=4.0,
        step=0.25,
    ),
    "resource": lambda: Unit(
        (Var("y", "Int32", "output", "discrete"),), resources={"y.txt": "a"}, directional=False
    ),
    "faulty": _faulty,
    "wild": _wild,
    "partial": _partial,
    "background": lambda: replace(_partial(), source="partial", background=True),
    "counter": _counter,
    "stubborn": _stubborn,
    "metronome": _metronome,
    "thrown": _thrown,
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
    odd : a function, the status that it returns, and from which time on [s]
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
    odd: tuple[str, int | str, float] | None = None
