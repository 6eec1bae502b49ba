"""Instances of an FMU for co-simulation, stepped at instants: y_k is its output after its step to t_k.

Over [t_k, t_k+1] its inputs are held at u_k. At t_k the inputs of the step before are memory, so y_k does not
depend on u_k. The first instant initialises it with the inputs' start values.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from blocks.contract.driven import Reached
from blocks.errors import BlockError
from cosim.engines.native import bindings
from cosim.fmi.compiled_calls import void
from cosim.fmi.compiled_events import CompiledEvents
from cosim.fmi.compiled_slave import compiled_calls_of
from cosim.fmi.event_mode import EventModeSteps
from cosim.fmi.finite import finite
from cosim.fmi.fmi_errors import FMUCallError, FMUError
from cosim.fmi.interface.component import Component, SavedState
from cosim.fmi.interface.input_curves import InputDerivatives, IntermediateInputs
from cosim.fmi.interface.outcomes import StepOutcome
from cosim.fmi.setup import Setup
from cosim.fmi.steps import CoSimulationSteps, rest_of_step
from cosim.fmi.unit_ports import UnitInputs, UnitOutputs

FORMAT = 1


class CoSimulationUnit:
    """One run's instance of an FMU for co-simulation or scheduled execution (an `Instance` of the contract).

    Its argument is made of inputs, clocks that tick when their number rises, and parameters, in this order;
    it returns the outputs and behind them 1.0 if the FMU asked to end the run, else 0.0. Inputs that are held
    over a step come as they were at its begin, the others as they are at its end. To a co-simulation master
    it is a `SteppingUnit`.

    curves : what lets inputs follow a curve during a step of FMI 3.0, where a master gives it
    """

    def __init__(self, setup: Setup, curves: IntermediateInputs | None = None) -> None:
        self._component, self._description = setup.component(), setup.description
        self._defaults, self._texts, self._input_start = setup.defaults, setup.texts, setup.input_start
        self._parameters = list(setup.parameters)
        self._inputs = UnitInputs(setup, self._component)
        self._steps = setup.steps(self._component, setup.outputs)
        scalars = [v for v in setup.outputs for _ in range(v.size)]
        self._smooth = np.array([v.continuous for v in scalars], dtype=bool)
        self._outputs = UnitOutputs(setup.outputs, self._component, self._steps)
        self._given = self._defaults.copy()  # parameters as last set
        self._time: float | None = None  # s, on the clock of the FMU, as everything inside
        self._ended = False
        self._clock, self._stop_time = setup.clock, setup.stop_time
        self._begun = self._clock.at(0.0)
        self._intermediate, self._end_message = curves, setup.end_message
        self._derivatives: InputDerivatives | None = None
        own = self._component
        self._native = own if isinstance(own, Component) else None  # other importers cannot set derivatives
        self._rooms: list[SavedState] = []  # states of the FMU that compiled code goes back to
        self._table: Any = None
        self._in_code: CompiledEvents | None = None
        self._in_loop = False
        if curves is not None and self._native is not None:
            curves.belongs_to(self._native, setup.ports, setup.untouched)

    def call(self, t: float, u: np.ndarray) -> np.ndarray:
        """Step to t [s] with inputs u, and give the outputs.

        Raises
        ------
        FMUCallError      the FMU fails, discards the step, or a fixed parameter was changed
        """
        t = self._clock.at(t)
        inputs, parameters = u[: self._inputs.size], u[self._inputs.size :]
        if self._time is None:
            self._initialize(t, inputs, parameters)
        elif not self._ended:
            if (parameters != self._given).any():
                self._tune(parameters)
            self._inputs.hold(inputs)
            self._advance(t)
            self._arrive(t, inputs)
        self._time = t
        found = finite(self._component, self._outputs.variables, self._outputs.read())
        return np.append(found, float(self._ended))

    def _initialize(self, t: float, inputs: np.ndarray, parameters: np.ndarray) -> None:
        self._enter(t, inputs, parameters)
        self._component.exit_initialization()
        self._inputs.give_clocked(self._steps)
        self._ended = self._steps.begin(t, self._inputs.risen(inputs))

    def _arrive(self, t: float, inputs: np.ndarray) -> None:
        """Handle everything at t [s], with the inputs that are set there."""
        if not self._ended:
            change = self._inputs.changed(inputs, self._steps)
            self._ended = self._steps.arrive(t, change, self._inputs.risen(inputs))

    def _enter(self, t: float, inputs: np.ndarray, parameters: np.ndarray) -> None:
        """Enter initialisation mode with all start values."""
        c, self._begun = self._component, t
        c.configure({v: x for v, x in self._texts.items() if v.causality == "structuralParameter"})
        for v, x in self._texts.items():
            if v.causality != "structuralParameter":
                c.set(v, x)
        self._put(parameters, self._defaults)
        self._inputs.start(inputs)
        c.enter_initialization(t, self._stop_time)
        self._steps.prepare(t)

    def _put(self, values: np.ndarray, before: np.ndarray) -> None:
        """Set parameters that differ from what they were."""
        changed, start = [], 0
        for v in self._parameters:
            place = slice(start, start + v.size)
            if (values[place] != before[place]).any():
                changed.append((v, values[place]))
            start += v.size
        if changed:
            self._component.setter([v for v, _ in changed]).write(np.concatenate([x for _, x in changed]))
        self._given = values.copy()

    def _tune(self, parameters: np.ndarray) -> None:
        start = 0
        for v in self._parameters:
            place = slice(start, start + v.size)
            start += v.size
            tunable = v.causality == "parameter" and v.variability == "tunable"
            if not tunable and (parameters[place] != self._given[place]).any():
                raise FMUCallError(
                    f"FMU '{self._description.file}': '{v.name}' is {v.variability} and was changed in a "
                    f"run, at t={self._time:.9g} s, to {parameters[place].tolist()}.",
                    port=v.name,
                    time=self._time,
                    hint="Give it before the run, with parameters= or start=.",
                )
        assert self._time is not None  # initialised before
        self._ended = self._steps.arrive(self._time, lambda: self._put(parameters, self._given))

    def _advance(self, t: float, bent: bool = False) -> float:
        """Step to t [s], in one piece if inputs are `bent` over it; returns the time reached."""
        assert self._time is not None  # initialised before
        if bent and isinstance(self._steps, CoSimulationSteps):
            return self._after(self._component.step(self._time, t - self._time, no_way_back=False), t)
        return self._after(self._steps.step(self._time, t), t)

    def _after(self, outcome: StepOutcome, t: float) -> float:
        assert self._time is not None  # initialised before
        if self._intermediate is not None:
            self._intermediate.raise_problem()
        if outcome.terminate:
            self._ended = True
            return outcome.time
        if outcome.discarded or (outcome.early and outcome.time < t):
            did = "discarded" if outcome.discarded else "came back early from"
            raise FMUCallError(
                f"FMU '{self._description.file}', instance '{self._component.name}': it {did} the step "
                f"from t={self._time:.9g} s over {t - self._time:.9g} s, and got to t={outcome.time:.9g} s. "
                f"{self._component.log.shown()}",
                time=outcome.time,
                hint="Give it a smaller sample.",
            )
        return t

    # --- a unit of a co-simulation master ----------------------------------------------------------
    @property
    def slopes(self) -> int:
        """See `SteppingUnit.slopes`."""
        if self._native is None:
            return 0
        if self._intermediate is not None:
            return 2
        return 2 if self._description.major == 2 and self._native.interface.interpolates_inputs else 0

    @property
    def rolls_back(self) -> bool:
        """See `SteppingUnit.rolls_back`."""
        return self._component.interface.can_get_and_set_state

    @property
    def variable_step(self) -> bool:
        """See `SteppingUnit.variable_step`."""
        return self._component.interface.variable_step

    def begin(self, t: float, u: np.ndarray, p: np.ndarray) -> None:
        """See `SteppingUnit.begin`."""
        self._enter(self._clock.at(t), u, p)

    def exchange(self, u: np.ndarray) -> np.ndarray:
        """See `SteppingUnit.exchange`."""
        self._inputs.start(u)
        return self.outputs()

    def start(self) -> np.ndarray:
        """See `SteppingUnit.start`."""
        t = self._begun
        self._component.exit_initialization()
        self._inputs.give_clocked(self._steps)
        self._ended = self._steps.begin(t)
        self._time = t
        return self.outputs()

    def step(self, t: float, h: float, u: np.ndarray, slope: np.ndarray, curvature: np.ndarray) -> Reached:
        """See `SteppingUnit.step`: events at its end are handled, unless it is visited there."""
        self._inputs.hold(u)
        bent = bool(slope.any() or curvature.any())
        if bent:
            self._bend(self._clock.at(t), u, slope, curvature)
        return self._make(t, t + h, lambda there: self._advance(there, bent))

    def _make(self, t: float, end: float, advance: Callable[[float], float]) -> Reached:
        """Make a step from t to `end` [s] of the run, with events at its end.

        `advance` goes on to a time of the FMU and returns the one it has reached [s].
        """
        assert self._time is not None  # initialised before
        events = self._steps if isinstance(self._steps, EventModeSteps) else None
        before = 0 if events is None else events.jumps
        try:
            reached = self._time if self._ended else advance(self._clock.at(end))
        finally:
            if self._intermediate is not None:
                self._intermediate.hold()
        self._time = reached
        jumped = events is not None and (self._meets(events) or events.jumps > before)
        return self._reached(t, end, jumped)

    def _reached(self, t: float, end: float, jumped: bool = False) -> Reached:
        """The result of a step from t to `end` [s] of the run."""
        assert self._time is not None  # initialised before
        there = end if self._time == self._clock.at(end) else max(t, self._clock.run_time(self._time))
        return Reached(there, self._end_message if self._ended else "", jumped)

    def _meets(self, events: EventModeSteps) -> bool:
        """Handle events where it stands, unless it is visited there; returns whether outputs jump."""
        assert self._time is not None  # initialised before
        visits = self._inputs.visits
        if self._ended or (visits and not self._in_loop) or not events.waits(self._time):
            return False
        before = self.outputs().copy()
        self._ended = events.meet(self._time) if visits else events.arrive(self._time)
        return bool((self.outputs() != before)[self._smooth].any())

    def meet_in_loop(self) -> None:
        """See `SteppingUnit.meet_in_loop`."""
        self._in_loop = True

    def visit(self, u: np.ndarray) -> str:
        """See `SteppingUnit.visit`."""
        assert self._time is not None  # initialised before
        if self._in_code is None or not self._in_code.visited():
            self._arrive(self._time, self._inputs.visited(u))
        return self._end_message if self._ended else ""

    # --- called by compiled code
    def calls(self, table: Any) -> list[Any] | None:
        """Fill in the structure `pl_fmu_unit` with functions to call; returns objects that must outlive it.

        None where compiled code cannot call it.
        """
        table.events, self._in_code, self._table = bindings.ffi().NULL, None, table
        if self._native is None or not isinstance(self._steps, (CoSimulationSteps, EventModeSteps)):
            return None
        found = compiled_calls_of(self._native, self._inputs, self._outputs, table)
        if found is not None and isinstance(self._steps, EventModeSteps):
            ports, clocks = (self._inputs, self._outputs), bool(self._description.clocks)
            self._in_code = events = CompiledEvents(
                self._native, self._steps, ports, table, clocks, self._in_loop
            )
            table.events = events.events
            if not events.possible:
                return None
        if found is not None:
            table.slopes, table.clock = self.slopes, self._clock.start
            if self._intermediate is not None:
                found.append(self._intermediate.shared)
                table.asked = bindings.pointer(self._intermediate.shared)
            if table.goes_back and not self._goes_back(table):
                return None
        return found

    def _goes_back(self, table: Any) -> bool:
        """Let compiled code save and restore the state of the FMU."""
        c = self._native
        if c is None or not self.rolls_back:
            return False
        if not self._rooms:
            self._rooms = [c.save() for _ in table.kept]
        d = c.dialect
        functions = (c.call.function(name) for name in (d.save, d.load, d.free_state))
        table.get_state, table.set_state, table.free_state = map(void, functions)
        for there, room in zip(table.kept, self._rooms, strict=True):
            there.state = bindings.ffi().cast("void **", void(room.pointer))
        return True

    def resume(self) -> None:
        """See `CalledUnit.resume`."""
        if self._in_code is not None:
            self._table.ended = self._ended
            self._in_code.resume()

    def pause(self) -> str:
        """See `CalledUnit.pause`."""
        if self._in_code is not None:
            self._in_code.pause()
            self._ended = self._ended or bool(self._table.ended)
        return self._end_message if self._ended else ""

    def came_to(self, t: float) -> None:
        """Note that compiled code has stepped the FMU to t [s]."""
        self._time = self._component.call.time = self._clock.at(t)

    def stepped(self, end: float, status: int, bent: bool) -> Reached:
        """Note that compiled code has stepped it to `end` [s], with a status; see `CalledUnit.stepped`."""
        assert self._native is not None and self._time is not None
        begun, there = self._clock.run_time(self._time), self._clock.at(end)
        if self._in_code is not None:
            events = self._in_code
            return self._make(begun, end, lambda there: self._after(events.rest_of_step(there), there))
        outcome = self._native.stepped(self._time, there - self._time, status)
        if not bent:
            outcome = rest_of_step(self._native, outcome, self._time, there)
        self._time = self._after(outcome, there)
        return self._reached(begun, end)

    def _bend(self, t: float, u: np.ndarray, slope: np.ndarray, curvature: np.ndarray) -> None:
        """Let inputs follow a parabola over the next step."""
        if self._intermediate is not None:
            self._intermediate.follow(t, u, slope, curvature)
            return
        orders = [(1, slope)] + ([(2, curvature)] if curvature.any() else [])
        if self._derivatives is None:
            assert self._native is not None  # its slopes would be 0
            self._derivatives = InputDerivatives(
                self._native, self._description.inputs, self._inputs.untouched
            )
        self._derivatives.set(orders)

    def outputs(self) -> np.ndarray:
        """See `SteppingUnit.outputs`."""
        return self._outputs.read()

    def tune(self, p: np.ndarray) -> None:
        """See `SteppingUnit.tune`."""
        self._tune(p)

    def keep(self, room: Any = None) -> Any:
        """See `SteppingUnit.keep`."""
        steps = self._steps.kept()
        kept = (steps, self._inputs.kept())
        return self._component.save(), kept, self._time, self._ended, self._given.copy()

    def restore(self, kept: Any) -> None:
        """See `SteppingUnit.restore`."""
        state, (steps, inputs), self._time, self._ended, given = kept
        self._component.load(state)
        self._steps.restored(steps)
        self._inputs.restored(inputs)
        self._inputs.give_clocked(self._steps)
        self._component.call.time = self._time
        self._given = given.copy()

    def save(self) -> bytes:
        """The state of the FMU, and its time.

        Raises
        ------
        BlockError      the FMU cannot write its state
        """
        facts = {
            "format": FORMAT, "clock": self._clock.start, "time": self._time, "begun": self._begun,
            "ended": self._ended,
            "given": self._given.tolist(),
            "steps": self._steps.kept() if self._time is not None else None, "inputs": self._inputs.kept(),
        }  # fmt: skip
        state = b""
        if self._time is not None:
            if not self._component.interface.can_serialize_state:
                raise BlockError(
                    f"FMU '{self._description.file}' cannot write its state as bytes (canSerializeFMUState "
                    "is false), so that this diagram has no snapshots.",
                    hint="Run it from the start again, or use an FMU that can.",
                )
            state = self._component.serialized()
        return json.dumps(facts).encode() + b"\n" + state

    def load(self, state: bytes) -> None:
        """Restore what `save` returned, perhaps in another process."""
        head, _, rest = state.partition(b"\n")
        facts = json.loads(head)
        self._clock.check_same(facts.get("clock", 0.0), self._description.file)
        if facts["time"] is None:
            if self._time is not None:
                self._component.reset()
        else:
            if self._time is None:  # an FMU accepts a state only after its initialisation
                begun = facts.get("begun", self._clock.at(0.0))
                self._initialize(begun, self._input_start, np.array(facts["given"]))
            self._component.deserialize(rest)
            self._steps.restored(facts["steps"])
        self._inputs.restored(facts["inputs"])
        if facts["time"] is not None:
            self._inputs.give_clocked(self._steps)
        self._time, self._ended = facts["time"], facts["ended"]
        self._component.call.time = self._time
        self._given = np.array(facts["given"], dtype=float)

    def close(self) -> None:
        """Terminate and free the FMU."""
        for room in self._rooms:
            room.close()
        if self._time is not None:
            with contextlib.suppress(FMUError):  # it is freed whatever it returns
                self._component.terminate()
        self._component.close()
