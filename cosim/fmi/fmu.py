"""`FMU`: an FMU as a block of a diagram, and opened to be stepped by hand."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from blocks.arguments import choice, flag, number
from blocks.contract.block import Block, Equations
from blocks.contract.derived import Derived
from blocks.contract.picture import BlockPicture
from blocks.contract.rate import Rate, Ticks
from blocks.contract.recipes import written
from blocks.errors import shown
from cosim.fmi.clock_schedule import common_interval
from cosim.fmi.co_simulation_block import define_co_simulation, driven_co_simulation
from cosim.fmi.description import FMUDescription, Interface, Variable
from cosim.fmi.fmi_errors import FMUError
from cosim.fmi.fmu_picture import fmu_picture
from cosim.fmi.importers import IMPORTERS, check_importer
from cosim.fmi.interface.any_component import AnyComponent
from cosim.fmi.interface.component import Component
from cosim.fmi.interface.exchange import EXACT
from cosim.fmi.interface.input_curves import IntermediateInputs
from cosim.fmi.model_exchange_block import define_model_exchange, model_start
from cosim.fmi.model_exchange_steps import ModelExchangeSteps
from cosim.fmi.package import Package, Unpacked
from cosim.fmi.reading import read
from cosim.fmi.session import Session
from cosim.fmi.setup import Setup
from cosim.fmi.steps import Steps
from cosim.fmi.unit_clock import UnitClock
from cosim.fmi.values import checked_start


@dataclass(frozen=True, eq=False)
class FMU(Block):
    """An FMU of FMI 2.0 or 3.0, for co-simulation, model exchange or scheduled execution.

    Inputs and outputs: those of the FMU that are numbers, under their names; arrays as vectors, row-major.
    Co-simulation: y_k is the output of the FMU after its step to t_k; its inputs are held at u_k from t_k to
    t_k+1. Direct feedthrough: none. With event mode, events at t_k show in y_k, and discrete inputs are set
    at t_k in event mode, so that y_k depends on them at once. Scheduled execution: at t_k the inputs are set
    to u_k, the partitions run whose clocks tick, and then y_k is read. Time-based clocks tick by themselves.
    A triggered input clock is an input port: it ticks when its number, rounded, rises. An output clock is an
    output port that counts its ticks.

    path : the .fmu file. Naming it is consent: it is native code and runs with your rights
    kind : "cs" co-simulation, "me" model exchange, "se" scheduled execution; None: the first of
        these that it has
    sample : communication step [s]; None takes the fixed internal step of the FMU, else the step of its
        default experiment, in scheduled execution the longest step that meets all ticks of its periodic
        clocks. An FMU without any of these needs one, except for `open`. Not used in model exchange
    offset : of the first communication point [s]
    start : start values by name, before initialisation: numbers, texts, bytes, structural parameters; of
        fixed and tunable clocks their intervals [s]
    outputs : names of the outputs, or other variables, to have as ports; None: all outputs
    isolate : run it in a process of its own
    importer : who calls it: "native" is this package, "fmpy" and "pyfmi" are those tools
    timeout : limit of a call of an isolated FMU [s]; None: no limit
    event_mode : use event mode in co-simulation of FMI 3.0; None: only if the FMU has clocks
    stop_time : end of the run [s], for an FMU that does not start without one; None: the FMU gets none
    start_time : time of the FMU when the run begins [s]; its clock is that of the run plus this. Times in
        messages of the FMU, and stop_time, are those of its own clock

    Parameters of the run are the FMU's parameters and start values that are numbers ("motor.J").

    Use::

        motor = d.add("motor", FMU("motor.fmu", kind="cs", sample="1/1000", start={"J": 0.1}))
        d.connect(controller["u"], motor["voltage"])

    Raises
    ------
    FMUError      no FMU, a damaged or unsafe file, an invalid description (with lines), the wrong kind, no
                  binary for this platform, unknown names (with near misses), values of another type
    """

    path: str | os.PathLike[str]
    kind: str | None = None
    sample: Rate | None = None
    start: Mapping[str, Any] | None = None
    outputs: Sequence[str] | None = None
    isolate: bool = False
    importer: str = "native"
    timeout: float | None = None
    offset: Rate = 0
    event_mode: bool | None = None
    stop_time: float | None = None
    start_time: float = 0.0
    left_open: frozenset[str] = field(default=frozenset(), init=False, repr=False)  # inputs, in a diagram
    derived: Derived = field(default_factory=Derived, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.path, (str, os.PathLike)) or not os.fspath(self.path):
            raise FMUError(f"FMU: path is {shown(self.path)}, expected the name of an .fmu file.")
        set_ = object.__setattr__
        set_(self, "path", str(Path(os.fspath(self.path)).absolute()))
        flag(self.isolate, "FMU: isolate", FMUError)
        choice(self.importer, "FMU: importer", IMPORTERS, FMUError)
        if self.timeout is not None:
            number(self.timeout, "FMU: timeout", "a number of seconds above 0", above=0.0, error=FMUError)
        if self.stop_time is not None:
            number(self.stop_time, "FMU: stop_time", "a time [s]", error=FMUError)
        set_(self, "start_time", number(self.start_time, "FMU: start_time", "a time [s]", error=FMUError))
        d = self.description
        if self.stop_time is not None and self.stop_time <= self.start_time:
            what = f"stop_time={self.stop_time:g} s is not after start_time={self.start_time:g} s"
            raise d.fault(what, "Both are times of the FMU's own clock.")
        check_importer(self.importer)
        if self.isolate and self.importer != "native":
            raise d.fault(f"isolate=True and importer='{self.importer}' exclude each other")
        if self.timeout is not None and not self.isolate:
            raise d.fault("timeout is of use with isolate=True only: nobody can interrupt a call here")
        interface = d.interface(self.kind)
        self._check_events(interface)
        if self.importer == "native":
            self._package.library(interface.identifier)  # fails if there is none for this platform
        self._chosen()
        set_(self, "sample", self._checked_sample(interface))

    def picture(self) -> BlockPicture | None:
        """See `Block.picture`."""
        return fmu_picture(self.description.version, self.interface.kind)

    # --- what is known of it ----------------------------------------------------------------------
    @property
    def _package(self) -> Package:
        return self.derived.get("package", lambda: Package(Path(os.fspath(self.path))))

    @property
    def _raw(self) -> FMUDescription:
        return self.derived.get("raw", lambda: read(self._package.xml, os.fspath(self.path)))

    @property
    def description(self) -> FMUDescription:
        """Variables, types, units, structure and capabilities; arrays as large as `start` makes them."""
        return self.derived.get("description", self._sized)

    def _sized(self) -> FMUDescription:
        if self.start is not None and not isinstance(self.start, Mapping):
            what = f"start is {shown(self.start)}, expected values by name"
            raise self._raw.fault(what, "Write start={...}.")
        given = self.start or {}
        names = {v.name for v in self._raw.structural}
        return self._raw.sized(checked_start(self._raw, {n: x for n, x in given.items() if n in names}))

    @property
    def interface(self) -> Interface:
        """The kind that is used, with its capabilities."""
        return self.description.interface(self.kind)

    @property
    def start_values(self) -> dict[str, Any]:
        """The values of `start`, checked, by name."""
        return self.derived.get("start", lambda: checked_start(self.description, self.start or {}))

    def _check_events(self, interface: Interface) -> None:
        d = self.description
        if self.event_mode is not None:
            flag(self.event_mode, "FMU: event_mode", FMUError)
            if interface.kind != "cs":
                raise d.fault("event_mode is given, but it is of use in co-simulation only")
            if self.event_mode and not interface.has_event_mode:
                raise d.fault("event_mode=True, but it has no event mode (hasEventMode is false)")
        if interface.kind == "se" and not any(v.causality == "input" for v in d.clocks):
            raise d.fault("it is for scheduled execution but has no input clock, so nothing of it ever runs")
        if self._ticks and d.clocks and self.importer != "native":
            what = f"it has clocks, which importer='{self.importer}' does not tick"
            raise d.fault(what, "Leave importer away.")

    @property
    def _visits_events(self) -> bool:
        """Whether event mode is used in co-simulation."""
        interface = self.interface
        if interface.kind != "cs" or not interface.has_event_mode:
            return False
        return bool(self.description.clocks) if self.event_mode is None else self.event_mode

    @property
    def _ticks(self) -> bool:
        """Whether clocks tick."""
        return self.interface.kind != "cs" or self._visits_events

    @property
    def input_variables(self) -> tuple[Variable, ...]:
        """The variables that are input ports: numbers, and behind them clocks that tick when theirs rises."""
        return self._setup.ports

    @property
    def output_variables(self) -> tuple[Variable, ...]:
        """The variables that are output ports."""
        return self.derived.get("outputs", self._chosen)

    @property
    def parameter_variables(self) -> tuple[Variable, ...]:
        """The variables that are parameters of a run: numeric start values, except those of inputs."""
        return self.derived.get("parameters", self._find_parameters)

    @property
    def numbers_only(self) -> frozenset[str]:
        """See `Block.numbers_only`: those that `start` gives no True or False either."""
        return self._setup.numbers_only

    def _find_parameters(self) -> tuple[Variable, ...]:
        states = self.description.states if self.interface.kind == "me" else ()

        def is_one(v: Variable) -> bool:
            if v in states:  # it is set by initial=
                return False
            if v.causality in ("input", "structuralParameter") or not v.numeric or v.alias_of is not None:
                return False
            start = self.start_values.get(v.name, self._own_starts.get(v.name, v.start))
            if start is None or not v.is_start_settable or not v.size:
                return False
            fits = np.size(start) == v.size or len(set(np.ravel(start).tolist())) == 1
            return fits and bool(np.all(np.abs(np.asarray(start, dtype=float)) <= EXACT))

        return tuple(v for v in self.description.variables.values() if is_one(v))

    @property
    def _own_starts(self) -> dict[str, tuple[float, ...]]:
        """Start values, read from the FMU, of arrays whose size differs from that in the description."""
        return self.derived.get("own starts", self._asked_starts)

    def _asked_starts(self) -> dict[str, tuple[float, ...]]:
        d, given = self.description, self.start_values
        asked = [v for v in d.variables.values() if v.is_resized and v.name not in given]
        if not asked:
            return {}
        component = self.component()
        try:
            component.configure({v: given[v.name] for v in d.structural if v.name in given})
            return {v.name: tuple(np.ravel(component.get(v)).astype(float).tolist()) for v in asked}
        except FMUError:  # not available: these are not parameters of a run
            return {}
        finally:
            component.close()

    def _chosen(self) -> tuple[Variable, ...]:
        d = self.description
        names: Any = self.outputs
        self.start_values  # noqa: B018  # wrong ones are said before anything else is done
        if names is None:
            return (*d.output_variables, *(d.output_clocks if self._ticks else ()))
        listed = isinstance(names, (list, tuple, set, frozenset, dict))
        if not listed or not all(isinstance(n, str) for n in names):
            raise d.fault(f"outputs is {shown(names)}, expected a list of names")
        found = []
        for name in dict.fromkeys(names):
            v = d.variable(name)
            counted = v.clock is not None and self._ticks
            if not (v.numeric or counted) or (v.causality == "input" and not counted):
                what = "an input" if v.causality == "input" else f"of type {v.type}, no number on a wire"
                hint = "Look at it with get of open()."
                raise d.fault(f"outputs has '{name}', which is {what}", hint, name)
            found.append(v)
        return tuple(found)

    def _checked_sample(self, interface: Interface) -> Any:
        d = self.description
        if interface.kind == "me":
            if self.sample is not None:
                raise d.fault("sample is given, but in model exchange our solver makes the steps")
            return None
        sample: Any = self.sample
        if sample is None:
            sample = interface.fixed_internal_step or d.experiment.step
            if interface.kind == "se":
                sample = common_interval(d, self.start_values) or sample
        if sample is not None:
            ticks = Ticks.of(sample, self.offset)
            _check_multiple(d, float(ticks.period), interface)
        return sample

    @property
    def _communication_step(self) -> Rate:
        if self.sample is None:
            what = "no communication step: its default experiment has none"
            raise self.description.fault(what, 'Give one: FMU(..., sample="1/1000").')
        return self.sample

    # --- running ----------------------------------------------------------------------------------
    def component(self, intermediate: IntermediateInputs | None = None) -> AnyComponent:
        """A new instance of the FMU, in no mode yet; the caller closes it.

        intermediate : takes the callback that the FMU makes during a step
        """
        given = self.derived.get("to instantiate", self._to_instantiate)
        if self.isolate:
            from cosim.fmi.isolated import IsolatedComponent

            return IsolatedComponent(*given, self.timeout)
        if intermediate is not None:
            return Component(*given, update=intermediate.callback)
        made: AnyComponent = IMPORTERS[self.importer](*given)
        return made

    def _to_instantiate(self) -> tuple[FMUDescription, Interface, Unpacked, str, bool]:
        """What all instances are made of, unpacked with the first."""
        d = self.description
        return d, self.interface, self._package.unpacked(), d.name, self._visits_events

    def open(self) -> Session:
        """Open the FMU, to step it by hand.

        Raises
        ------
        FMUError      it cannot be loaded or instantiated, or refuses a start value
        """
        times = (self.start_time, self.stop_time)
        return Session(self.component, self._steps, self.description, self.start_values, *times)

    def _steps(self, session: Session) -> Steps:
        setup = self._setup
        watched = [v for v in self.description.variables.values() if v.numeric]
        if self.interface.kind != "me":
            return setup.steps(session.component, watched)

        def sizes() -> tuple[int, int]:
            d = session.description
            return sum(v.size for v in d.states), d.n_indicators

        rounds = setup.rounds(session.component, watched)
        return ModelExchangeSteps(session.component, sizes, lambda: session.tolerance, rounds)

    @property
    def shares_equations(self) -> bool:
        """See `Block.shares_equations`: in model exchange every block has an instance of the FMU."""
        return self.interface.kind != "me"

    @property
    def _setup(self) -> Setup:
        return Setup(
            self.description,
            self.interface,
            self.output_variables,
            self.parameter_variables,
            self.start_values,
            self.component,
            not self.isolate and self.importer == "native",
            self._ticks,
            self._own_starts,
            self._called,
            self.stop_time,
            UnitClock(self.start_time),
            self.left_open,
        )

    @property
    def _called(self) -> str:
        """Its name in messages about calls from Python, with the reason."""
        why = "scheduled execution" if self.interface.kind == "se" else "event mode"
        if self.importer != "native":
            why = f"importer='{self.importer}'"
        elif self.isolate:
            why = "isolate=True"
        elif self.interface.kind == "me":
            return f"FMU '{Path(self.description.file).name}'"
        return f"FMU '{Path(self.description.file).name}' ({why})"

    def start_of(self, v: Variable) -> Any:
        """The start value of a variable with its present size; None if the FMU has none of this size."""
        return self._setup.start_of(v)

    @property
    def start_only(self) -> Mapping[str, str]:
        """See `Block.start_only`: other names of variables."""
        return self._setup.start_only

    @property
    def built_anew(self) -> Mapping[str, str]:
        """See `Block.built_anew`: structural parameters, texts, bytes, and integers beyond 2^53."""
        return self._setup.built_anew

    def value_names(self) -> list[str]:
        """See `Block.value_names`; start values of the FMU too: "motor.J"."""
        settable = [v.name for v in self.description.variables.values() if v.is_start_settable]
        return list(dict.fromkeys([*super().value_names(), *settable]))

    def with_value(self, name: str, value: Any) -> FMU:
        """See `Block.with_value`."""
        v = self.description.variables.get(name)
        if name in super().value_names() and not (v is not None and v.is_start_settable):
            return self.with_fields(**{name: value})
        return self.with_fields(start={**(written(self, "start") or {}), name: value})

    def opened(self, inputs: frozenset[str]) -> Block:
        """See `Block.opened`: an open input is never set, so that it stays what it is in the FMU."""
        found = copy(self)
        object.__setattr__(found, "left_open", inputs)
        return found

    def driven(self) -> Block:
        """A unit of a co-simulation master; FMUs of other kinds become equations and samples like ours."""
        if self.interface.kind != "cs":
            return self
        setup, sample = self._setup, self._communication_step

        def curved(curves: IntermediateInputs) -> Setup:
            return replace(setup, component=lambda: self.component(curves))

        return driven_co_simulation(setup, sample, self.offset, curved, self.drawn_fields)

    def uncoupled(self) -> Block:
        """The same with sampled outputs and held inputs."""
        if self.interface.kind != "cs":
            return self
        given = (self._setup, self._communication_step, self.offset, None, self.drawn_fields)
        return replace(driven_co_simulation(*given), sampled=True)

    def define(self, b: Equations) -> None:
        """Declare ports, parameters, states and the calls."""
        setup = self._setup
        if self.interface.kind == "me":
            start = self.derived.get(("model start", setup.untouched), lambda: model_start(setup))
            define_model_exchange(b, setup, start)
            return
        define_co_simulation(b, setup, self._communication_step, self.offset)


def _check_multiple(d: FMUDescription, sample: float, interface: Interface) -> None:
    """Warn of communication steps [s] that are not multiples of the FMU's own steps."""
    step = interface.fixed_internal_step
    if interface.variable_step or not step or abs(sample / step - round(sample / step)) < 1e-6:
        return
    warnings.warn(
        f"FMU '{d.file}' makes steps of {step:g} s inside and takes communication steps of whole numbers of "
        f"these only (fixedInternalStepSize); sample is {sample:g} s.",
        stacklevel=5,
    )
