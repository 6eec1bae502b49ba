"""The variables of an exported model: their names, the places of their numbers, and which may be set.

Every number has a reference; a variable of several numbers has those that follow each other, and is called
by the first. FMI 3 has variables of any shape, FMI 2 the numbers one by one. Names are those of the diagram
in the grammar of FMI ("structured"): "arm/motor.w" is arm.motor.w, parts that are no identifiers stand in
quotes, and components are counted from 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.units import SECOND, units_of
from blocks.errors import PlantloopError
from cosim.engines.methods.tolerances import nominal_sizes
from cosim.fmi.export.parameter_limits import Limits, limits_of
from cosim.run.context import Context
from cosim.slots import MemorySlot
from cosim.system import System
from cosim.system_parts import Signal

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
INDEXED = re.compile(r"(.*?)((?:\[[\d,]+\])?)$", re.DOTALL)
QUOTABLE = re.compile(r"[^A-Za-z0-9_!#$%&()*+,\-./:;<>=?@\[\]^{}|~ ]")


@dataclass(frozen=True)
class Exported:
    """A variable.

    kind : where its numbers are, a constant of unit.h ("UNIT_INPUT")
    places : (size,) in that vector; -1 for what is zero by structure
    start : (size,) float, None where the model computes it
    shape : of an array, () for a number; reference : of its first number
    derivative_of : reference of the state whose derivative it is
    limits : by number, what a parameter may be
    """

    name: str
    reference: int
    kind: str
    places: tuple[int, ...]
    shape: tuple[int, ...]
    causality: str
    variability: str
    initial: str
    start: np.ndarray | None = None
    nominal: tuple[float, ...] = ()
    units: tuple[str, ...] = ()
    text: str = ""
    derivative_of: int | None = None
    limits: Mapping[int, Limits] = field(default_factory=dict, hash=False)

    @property
    def size(self) -> int:
        """Number of numbers."""
        return len(self.places)

    @property
    def unit(self) -> str:
        """The unit that all components share, empty if they differ or none is known."""
        return self.units[0] if self.units and len(set(self.units)) == 1 else ""

    def scalars(self) -> Iterator[tuple[str, int]]:
        """Names and indices of its numbers, one by one; without those that are zero by structure."""
        for k, indices in enumerate(np.ndindex(self.shape)):
            if self.places[k] >= 0:
                yield _indexed(self.name, indices, self.derivative_of is not None), k


def _indexed(name: str, indices: Sequence[int], rate: bool) -> str:
    """The name of an entry: y[2], or of a rate der(x[2])."""
    if not indices:
        return name
    inside = f"[{','.join(str(i + 1) for i in indices)}]"
    return f"{name[:-1]}{inside})" if rate else name + inside


@dataclass(frozen=True)
class Variables:
    """All variables in the order of their references.

    shown : the signals that are shown, their places in the vector of all signals; `UNIT_SIGNAL` counts these
    """

    every: tuple[Exported, ...]
    shown: tuple[int, ...]

    def of(self, kind: str) -> list[Exported]:
        """Variables of a kind."""
        return [v for v in self.every if v.kind == kind]

    @property
    def outputs(self) -> list[Exported]:
        """The variables that are outputs."""
        return [v for v in self.every if v.causality == "output"]

    @property
    def numbers(self) -> list[tuple[str, int]]:
        """Kind and place of every number, by reference."""
        return [(v.kind if p >= 0 else "UNIT_ZERO", max(p, 0)) for v in self.every for p in v.places]

    @property
    def sizes(self) -> list[int]:
        """By reference: the number of values of the variable that begins there, else 0."""
        return [n for v in self.every for n in (v.size, *[0] * (v.size - 1))]


def fmi_name(path: str) -> str:
    """A name of ours in the grammar of FMI.

    >>> fmi_name("arm/motor.w[2]"), fmi_name("plant.Joint_Revolute/31.q")
    ('arm.motor.w[3]', "plant.Joint_Revolute.'31'.q")
    """
    base, index = INDEXED.fullmatch(path).groups()  # type: ignore[union-attr]
    parts = [p if IDENTIFIER.fullmatch(p) else _quoted(p) for p in re.split(r"[./]", base)]
    counted = ",".join(str(int(i) + 1) for i in index.strip("[]").split(",")) if index else ""
    return ".".join(parts) + (f"[{counted}]" if counted else "")


def _quoted(text: str) -> str:
    """A part of a name between quotes: any printable ASCII but quotes and backslashes, which become "_"."""
    return f"'{QUOTABLE.sub('_', text) or '_'}'"


class _Maker:
    """Makes references and names that are unique."""

    def __init__(self, prefix: str) -> None:
        self.every: list[Exported] = []
        self._prefix, self._next = prefix, 0
        self._taken: set[str] = set()

    def add(
        self, path: str, kind: str, places: Iterable[int], causality: str, variability: str, initial: str, *,
        name: str = "", shape: tuple[int, ...] | None = None, **more: object,
    ) -> Exported:  # fmt: skip
        numbers = tuple(int(p) for p in places)
        if shape is None:
            shape = (len(numbers),) if len(numbers) != 1 else ()
        wanted = name or fmi_name(path.removeprefix(self._prefix))
        unique, k, rate = wanted, 2, more.get("derivative_of") is not None
        while self._taken & (names := {unique, *(_indexed(unique, i, rate) for i in np.ndindex(shape))}):
            base, index = INDEXED.fullmatch(wanted).groups()  # type: ignore[union-attr]
            unique, k = f"{base}_{k}{index}", k + 1
        self._taken |= names
        made = Exported(
            unique, self._next, kind, numbers, shape, causality, variability, initial, **more  # type: ignore[arg-type]
        )  # fmt: skip
        self.every.append(made)
        self._next += len(numbers)
        return made


def variables_of(
    system: System, context: Context, local: Sequence[str] = (), outputs: Sequence[str] | None = None
) -> Variables:
    """Variables of an exported system: time, inputs, outputs, parameters, states, and the signals in `local`.

    outputs : names of signals; None for the outputs of the diagram, or all signals where it has none

    Raises
    ------
    PlantloopError      a name in `local` or `outputs` is no signal; for `local` it may be a state, a mode or
                        a parameter too, which are variables anyway
    """
    if outputs is None:
        outputs = [*system.outports] or [name for name in system.signals if name not in system.inputs]
    shown = _Shown(system, context, outputs)
    shown.add_time()
    shown.add_inputs()
    for name in outputs:
        full, component = system.locate(name)
        if full not in system.signals:
            raise PlantloopError(
                f"outputs has '{name}', which is no signal but a state, a mode or a parameter.",
                path=name,
                value=name,
                hint="The FMU has it as a variable of its own.",
            )
        shown.add_signal(name, full, component, "output")
    shown.add_parameters()
    shown.add_locals(local)
    shown.add_states()
    shown.add_held()
    shown.add_indicators()
    return Variables(tuple(shown.make.every), tuple(shown.places))


class _Shown:
    """Names what a system shows, kind by kind; the order of the calls is that of the references.

    places : those of the shown signals in the vector of all signals
    """

    def __init__(self, system: System, context: Context, outputs: Sequence[str]) -> None:
        self.system, self.context, self.outputs = system, context, outputs
        self.make = _Maker(system.prefix)
        self.places: list[int] = []
        sizes = [signal.size for signal in system.signals.values()]
        self._begins = dict(zip(system.signals, accumulate(sizes, initial=0), strict=False))

    def add_time(self) -> None:
        taken = {fmi_name(name) for name in (*self.system.inputs, *self.outputs)}
        name = "'time'" if "time" in taken else "time"
        self.make.add("time", "UNIT_TIME", [0], "independent", "continuous", "",
                      name=name, units=("s",), text="time")  # fmt: skip

    def add_inputs(self) -> None:
        for name, slot in self.system.inputs.items():
            start, units = self.context.h[slot.index], _input_units(self.system, name)
            self.make.add(name, "UNIT_INPUT", slot.index, "input", "continuous", "exact",
                          start=start, units=units)  # fmt: skip

    def add_signal(self, path: str, full: str, component: int | None, causality: str) -> None:
        """A signal, or one component of it, under the name `path`."""
        signal = self.system.signals[full]
        chosen = range(signal.size) if component is None else [component]
        places = range(len(self.places), len(self.places) + len(chosen))
        self.places.extend(self._begins[full] + k for k in chosen)
        units = tuple(_units(self.system, full)[k] for k in chosen)
        self.make.add(path, "UNIT_SIGNAL", places, causality, _variability(self.system, signal), "calculated",
                      units=units, text=_labels(signal))  # fmt: skip

    def add_parameters(self) -> None:
        limits = limits_of(self.system, self.context)
        for name, parameter in self.system.parameters.items():
            places = np.full(math.prod(parameter.shape), -1)
            places[np.ravel(parameter.mask)] = parameter.index
            start = np.zeros(len(places))
            start[places >= 0] = self.context.p[parameter.index]
            units = (parameter.unit,) * len(places) if parameter.unit else ()
            own = {k: limits[p] for k, p in enumerate(places.tolist()) if p in limits}
            self.make.add(name, "UNIT_PARAMETER", places, "parameter", "tunable", "exact",
                          shape=tuple(parameter.shape), start=start, units=units,
                          limits=own)  # fmt: skip

    def add_locals(self, names: Sequence[str]) -> None:
        """Further signals to show, unless another variable shows the same."""
        s = self.system
        own = {name: s.x[slot.index.tolist()] for name, slot in s.states.items()}
        own |= {name: s.h[slot.index.tolist()] for name, slot in s.inputs.items()}
        for name in names:
            full, component = s.locate(name)
            if full not in s.signals:  # a variable of its own
                continue
            is_output = name in self.outputs or (full in self.outputs and component is None)
            if is_output or (full in own and ca.is_equal(own[full], s.signals[full].expression)):
                continue
            self.add_signal(name, full, component, "local")

    def add_states(self) -> None:
        """Continuous states, each followed by its derivative."""
        initial = "approx" if self.system.invariants.numel() else "exact"
        sizes = nominal_sizes(self.system, self.context.p)
        for name, state in self.system.states.items():
            nominal = tuple(sizes[state.index].tolist())
            x = self.make.add(name, "UNIT_STATE", state.index, "local", "continuous", initial,
                              nominal=nominal, start=self.context.x[state.index], units=state.units,
                              text=", ".join(filter(None, state.labels)))  # fmt: skip
            self.make.add(name, "UNIT_RATE", state.index, "local", "continuous", "calculated",
                          name=f"der({x.name})", derivative_of=x.reference,
                          units=_per_second(state.units))  # fmt: skip

    def add_held(self) -> None:
        for name, held in _settable(self.system).items():
            kind = "UNIT_DISCRETE" if held.memory.has_next else "UNIT_HELD"
            start = self.context.h[held.index]
            self.make.add(name, kind, held.index, "local", "discrete", "exact", start=start,
                          units=held.units)  # fmt: skip

    def add_indicators(self) -> None:
        for k, event in enumerate(self.system.events):
            name = fmi_name(event.name.removeprefix(self.system.prefix))
            self.make.add("", "UNIT_INDICATOR", [k], "local", "continuous", "calculated",
                          name=f"indicators.{name}")  # fmt: skip


def _settable(system: System) -> dict[str, MemorySlot[Any]]:
    """Discrete states, modes and sampled memories whose start value may be given."""
    known = system.names("state").known
    return {name: slot for name, slot in known.items() if name not in system.states}


def _variability(system: System, signal: Signal) -> str:
    """Whether a signal moves between instants: with time, states, unknowns or inputs."""
    moving = [system.t, system.x, system.w]
    inputs = [int(k) for slot in system.inputs.values() for k in slot.index]
    if inputs:
        moving.append(system.h[inputs])
    column = ca.vertcat(*moving)
    depends = any(ca.which_depends(signal.expression, column, 1, True)) if column.numel() else False
    return "continuous" if depends else "discrete"


def _per_second(units: tuple[str, ...]) -> tuple[str, ...]:
    """Units of the derivatives of states."""
    known = [units_of(text, "a state")[0] if text else None for text in units]
    rates = [None if unit is None else unit.times(SECOND, -1) for unit in known]
    return tuple("" if rate is None else rate.name for rate in rates)


def _labels(signal: Signal) -> str:
    return ", ".join(signal.labels) if any(signal.labels) else ""


def _input_units(system: System, name: str) -> tuple[str, ...]:
    """The declared units of an input."""
    signal = system.signals.get(name)
    return signal.units if signal is not None else ()


def _units(system: System, name: str) -> list[str]:
    """Units of the components of a signal, as declared or as in their labels."""
    leaf = system.tree([name])[name]
    return [leaf.unit(k).strip() for k in range(leaf.size)]
