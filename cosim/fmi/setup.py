"""The facts a block derives from an FMU: variables that are ports and parameters, start values, options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from blocks.contract.block import Equations
from blocks.contract.derived import Derived
from blocks.contract.units import PhysicalUnit, UnitText
from cosim.fmi.description import PARAMETERS, FMUDescription, Interface, Unit, Variable
from cosim.fmi.event_mode import EventModeSteps
from cosim.fmi.event_rounds import EventRounds, clocked
from cosim.fmi.interface.any_component import AnyComponent
from cosim.fmi.scheduled import ScheduledSteps
from cosim.fmi.steps import CoSimulationSteps, Steps
from cosim.fmi.unit_clock import UnitClock


@dataclass(frozen=True)
class Setup:
    """Everything that the equations of an FMU block need.

    outputs, parameters : the variables that are ports, and parameters of a run
    start : checked start values that the user gave, by name
    component : makes an instance, in no mode yet
    """

    description: FMUDescription
    interface: Interface
    outputs: tuple[Variable, ...]
    parameters: tuple[Variable, ...]
    start: Mapping[str, Any]
    component: Callable[[], AnyComponent]
    compiles: bool = True  # whether compiled code can call it
    ticks: bool = False  # whether its clocks tick and discrete inputs are set in event mode
    own_starts: Mapping[str, Any] = field(default_factory=dict)  # of arrays with other sizes
    called: str = "an FMU"  # name in messages
    stop_time: float | None = None  # s; the end of the run that the FMU is given
    clock: UnitClock = field(default_factory=UnitClock)  # where its time stands when the run begins
    left_open: frozenset[str] = frozenset()  # inputs that nothing is connected to
    derived: Derived = field(default_factory=Derived, init=False, repr=False, compare=False)

    @property
    def triggers(self) -> tuple[Variable, ...]:
        """Input clocks that are ports: each ticks when its port rises."""
        return self.description.triggers if self.ticks else ()

    @property
    def ports(self) -> tuple[Variable, ...]:
        """All input ports: numbers, followed by clocks."""
        return (*self.description.inputs, *self.triggers)

    @property
    def untouched(self) -> frozenset[str]:
        """Inputs that are never set: nothing is connected, and the FMU has their start values itself."""
        return self.left_open.difference(self.start)

    def held(self, v: Variable) -> bool:
        """Whether an input is held over a communication step, so that no output depends on it directly."""
        if self.interface.kind == "se":
            return False
        return not self.ticks or v.continuous

    @property
    def visited(self) -> tuple[Variable, ...]:
        """Input ports that are set in event mode, where a co-simulation master visits it."""
        return tuple(v for v in self.ports if v.clock is not None or not self.held(v))

    def follows_visits(self, v: Variable) -> bool:
        """Whether an output depends at once on inputs that are set in event mode, or on ticks of clocks."""
        if v.clock is not None or v.clocks or v.causality != "output":
            return True
        on = self.description.dependencies(v.name)
        return on is None or not {u.name for u in self.visited}.isdisjoint(on)

    @cached_property
    def intervals(self) -> dict[str, Fraction]:
        """Intervals of clocks that the user chose [s], by name."""
        clocks = {v.name for v in self.description.clocks}
        return {n: x for n, x in self.start.items() if n in clocks}

    def rounds(self, component: AnyComponent, watched: Sequence[Variable]) -> EventRounds:
        """Event mode of an instance; `watched`: variables among which some are clocked."""
        return EventRounds(component, self.description, self.intervals, clocked(watched))

    def steps(self, component: AnyComponent, watched: Sequence[Variable]) -> Steps:
        """The stepping in time of an instance for co-simulation or scheduled execution."""
        if self.interface.kind == "se":
            return ScheduledSteps(component, self.description, self.intervals)
        if self.ticks:
            return EventModeSteps(component, self.rounds(component, watched))
        return CoSimulationSteps(component)

    @cached_property
    def end_message(self) -> str:
        """The message about the end of a run that the FMU requested."""
        return f"FMU '{Path(self.description.file).name}' ended the run (terminateSimulation)"

    @cached_property
    def texts(self) -> dict[Variable, Any]:
        """Start values that cannot be parameters of a run: texts, structural parameters, long integers."""
        d = self.description
        found = {d.variables[n]: x for n, x in self.start.items()}
        return {v: x for v, x in found.items() if v not in self.parameters and v.causality != "input"}

    @property
    def _untunable(self) -> list[Variable]:
        tunable = {v.name for v in self.parameters}
        variables = self.description.variables.values()
        named = (v for v in variables if v.causality in PARAMETERS and v.is_start_settable)
        return [v for v in named if v.name not in tunable]

    @property
    def start_only(self) -> dict[str, str]:
        """Other names of parameters, each with advice."""
        aliases = (v for v in self._untunable if v.alias_of is not None)
        return {v.name: f"It is another name of '{v.alias_of}'." for v in aliases}

    @property
    def numbers_only(self) -> frozenset[str]:
        """Parameters that are not Boolean, by name."""
        return frozenset(v.name for v in self.parameters if v.type != "Boolean")

    @property
    def built_anew(self) -> dict[str, str]:
        """Parameters of the FMU that a run takes only where it is made anew, each with advice."""
        return {
            v.name: f"Give it where the FMU is named: FMU(..., start={{'{v.name}': ...}})."
            for v in self._untunable
            if v.alias_of is None
        }

    @cached_property
    def defaults(self) -> np.ndarray:
        """Start values of the parameters in the description, (np,); nan where it has none of this size."""
        found = []
        for v in self.parameters:
            start = self.own_starts.get(v.name, v.start)
            if isinstance(start, tuple) and len(start) != v.size:
                # of any size: the FMU has it by itself, and many refuse what is neither parameter nor input
                own = len(set(start)) == 1 and v.causality not in PARAMETERS
                start = start[0] if own else None
            if start is None:
                start = np.nan  # any given value differs from nan
            found.append(_spread(start, v))
        return _kept(found)

    @cached_property
    def parameter_start(self) -> np.ndarray:
        """Start values of the parameters of a run, (np,)."""
        return _kept(_spread(self.start_of(v), v) for v in self.parameters)

    @cached_property
    def input_start(self) -> np.ndarray:
        """Start values of the inputs, (nu,); of clocks 0."""
        return _kept(_spread(None if v.clock else self.start_of(v), v) for v in self.ports)

    def start_of(self, v: Variable) -> Any:
        """The start value of a variable; None if there is none of its size."""
        found = self.start.get(v.name, self.own_starts.get(v.name, v.start))
        if v.shape and isinstance(found, tuple) and len(found) != v.size:
            return (found[0],) * v.size if found and len(set(found)) == 1 else None
        return found

    def declare_inputs(self, b: Equations) -> list[Any]:
        """Declare all inputs as ports, with clocks last."""
        found = []
        for v in self.ports:
            start = None if v.clock else self.start_of(v)
            value = None if start is None else _spread(start, v)
            found.append(b.input(v.name, size=v.size, unit=self.unit_of(v), unconnected=value))
        return found

    def unit_of(self, v: Variable) -> UnitText:
        """The unit of a variable as the description defines it, "" if it has none."""
        if not v.unit:
            return ""
        defined = self.description.units.get(v.unit, Unit(v.unit))
        offset = 0.0 if v.relative_quantity else defined.offset
        return PhysicalUnit.of_file(v.unit, defined.exponents, defined.factor, offset)

    def declare_parameters(self, b: Equations) -> list[Any]:
        """All parameters of a run, each raveled."""
        found = []
        for v in self.parameters:
            found.append(np.ravel(b.parameter(v.name, self.shaped_start(v), unit=self.unit_of(v), full=True)))
        return found

    def shaped_start(self, v: Variable) -> np.ndarray:
        """The start value of a variable in its own shape."""
        return _spread(self.start_of(v), v).reshape(v.shape)


def _kept(parts: Iterable[np.ndarray]) -> np.ndarray:
    """One vector, (n,), that nobody changes."""
    found = np.concatenate([np.zeros(0), *parts])
    found.flags.writeable = False
    return found


def _spread(start: Any, v: Variable) -> np.ndarray:
    value = np.asarray(0.0 if start is None else start, dtype=float)
    return np.broadcast_to(value.ravel() if value.ndim else value, v.size)
