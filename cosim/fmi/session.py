"""Stepping an FMU by hand: one page for co-simulation and model exchange alike.

>>> with FMU("motor.fmu").open() as m:
...     m.initialize(start_time=0.0, tolerance=1e-6)
...     m.set("u", 1.0)
...     m.step(0.01)
...     m.get("y")
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from blocks.arguments import number
from cosim.fmi.description import FMUDescription, Variable
from cosim.fmi.fmi_errors import FMUCallError, FMUError
from cosim.fmi.interface.any_component import AnyComponent
from cosim.fmi.interface.caller import DISCARD, went_wrong
from cosim.fmi.interface.component import Component
from cosim.fmi.interface.exchange import ValueBatch
from cosim.fmi.interface.outcomes import StepOutcome
from cosim.fmi.steps import Steps, rest_of_step
from cosim.fmi.values import check_has_start, checked_value


@dataclass(frozen=True)
class FMUState:
    """A state of an opened FMU, saved by `save` and restored by `load`; valid while that FMU is open."""

    time: float
    saved: Any
    kept: Any


class Session:
    """An opened FMU.

    Use it in a ``with`` statement; `close` frees the instance.

    time : present time [s], nan before `initialize`
    terminated : has the FMU asked to end the run?
    description : as opened, arrays sized by structural parameters
    """

    def __init__(
        self,
        open_component: Callable[[], AnyComponent],
        steps: Callable[[Session], Steps],
        description: FMUDescription,
        start: Mapping[str, Any],
        start_time: float = 0.0,
        stop_time: float | None = None,
    ) -> None:
        self.component = open_component()
        self._call = self.component.call
        self.description = description
        self.time, self.terminated = math.nan, False
        self._left = False  # has it been told that the run is over?
        self._failed = False  # in a step, after which it can only be reset or set to a saved state
        self._make_steps, self._start_time, self._stop_time = steps, start_time, stop_time
        self._start, self._given, self._opened = dict(start), dict(start), description
        self.tolerance: float | None = None
        self._quick: Callable[[float, float], int] | None = None
        self._getters: dict[str, Callable[[], Any]] = {}
        self._setters: dict[str, Callable[[Any], None]] = {}
        self._begin()

    def _begin(self) -> None:
        d = self.description
        structural = {d.variables[n]: v for n, v in self._start.items() if _is_structural(d, n)}
        try:
            self.component.configure(structural)
            for name, value in self._start.items():
                if not _is_structural(d, name) and d.variables[name].clock is None:
                    self.component.set(d.variables[name], value)
        except BaseException:
            self.close()
            raise
        self._steps = self._make_steps(self)
        self._getters.clear()
        self._setters.clear()

    # --- life -------------------------------------------------------------------------------------
    @property
    def initialized(self) -> bool:
        """Whether `initialize` has been called."""
        return not math.isnan(self.time)

    def initialize(
        self, start_time: float | None = None, tolerance: float | None = None, stop_time: float | None = None
    ) -> None:
        """Initialise at `start_time` [s] with the start values and inputs set before.

        start_time, stop_time : s; None takes those of `FMU(start_time=, stop_time=)`

        Raises
        ------
        FMUError      it is initialised already
        FMUCallError  the FMU fails
        """
        start_time = self._start_time if start_time is None else start_time
        start = number(start_time, "start_time", error=FMUError)
        stop_time = self._stop_time if stop_time is None else stop_time
        if tolerance is not None:
            number(tolerance, "tolerance", "a finite number above 0", above=0.0, error=FMUError)
        if stop_time is not None:
            number(stop_time, "stop_time", "a time after the start", above=start, error=FMUError)
        if self.initialized:
            raise self._fault("it is initialised already", "Call reset first.")
        self._alive()
        self.tolerance = tolerance
        self.component.enter_initialization(start, stop_time, tolerance)
        self._steps.prepare(start)
        self.component.exit_initialization()
        self.time = start
        self._getters.clear()
        self._setters.clear()  # other variables may be set from now on
        self._quick = self._steps.quick()
        self.terminated = self._steps.begin(start)

    def step(self, size: float) -> float:
        """Step by `size` [s]; returns the time reached, which is earlier if the FMU ended the run.

        Raises
        ------
        FMUError      not initialised, terminated, or no positive step
        FMUCallError  the FMU fails, or discards the step
        """
        time = self.time
        if not time == time or self.terminated or self._failed or not (0.0 < size < math.inf):
            raise self._cannot_step(size)
        try:
            if self._quick is not None:  # the most frequent path
                status = self._quick(time, size)
                if status == 0:
                    self.time = self._call.time = time = time + size
                    return time
                found = self.component.stepped(time, size, status)
                return self._arrive(rest_of_step(self.component, found, time, time + size), size)
            return self._arrive(self._steps.step(time, time + size), size)
        except FMUCallError as error:
            said = error.value
            self._failed = isinstance(said, int) and went_wrong(said) and said != DISCARD
            raise

    def _arrive(self, outcome: StepOutcome, size: float) -> float:
        """Handle where a step has come to [s], which is returned."""
        if outcome.terminate:
            self.terminated = True
        elif outcome.discarded:
            raise FMUCallError(
                f"FMU '{self.description.file}': the step from t={self.time:.9g} s over {size:.9g} s was "
                f"discarded; it got to t={outcome.time:.9g} s. {self.component.log.shown()}",
                path=self.component.name,
                time=outcome.time,
                hint="Take a shorter step, from a state that was saved before.",
            )
        elif self._quick is None:
            self.terminated = self._steps.arrive(outcome.time)
        self.time = outcome.time
        return self.time

    def _cannot_step(self, size: Any) -> FMUError:
        if not self.initialized:
            return self._fault("step before initialize", "Call initialize first.")
        if self.terminated:
            return self._fault(f"it has ended the run at t={self.time:.9g} s", "Call reset to begin anew.")
        if self._failed:
            return self._fault(
                f"a step from t={self.time:.9g} s has failed", "Call reset, or load a state that was saved."
            )
        number(size, "the size of a step", "a finite number above 0 [s]", above=0.0, error=FMUError)
        return self._fault(f"a step of {size} s")  # only for numbers that no check names

    def terminate(self) -> None:
        """End the run; values can still be looked at."""
        if self.initialized and not self._left:
            self.component.terminate()
        self.terminated = self._left = True

    def reset(self) -> None:
        """Reset to the state when opened, with the start values given there."""
        self._alive()
        self.component.reset()
        self.time, self.terminated, self._quick, self._left = math.nan, False, None, False
        self._failed = False
        self.description, self._start = self._opened, dict(self._given)
        self._begin()

    def close(self) -> None:
        """Terminate and free the instance."""
        if not self.component.closed:
            with contextlib.suppress(FMUError):  # it is freed whatever it returns
                self.terminate()
        self._quick = None
        self._getters.clear()
        self._setters.clear()
        self.component.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    # --- values -----------------------------------------------------------------------------------
    def get(self, name: str) -> Any:
        """The value of a variable: a number, True or False, a text, bytes; an array where it is one.

        Raises
        ------
        FMUError      no such variable
        """
        found = self._getters.get(name)
        if found is None:
            found = self._getter(name)
        return found()

    def set(self, name: str, value: Any) -> None:
        """Set a variable: before `initialize` start values, afterwards inputs and tunable parameters.

        Raises
        ------
        FMUError      no such variable, none that can be set now, or no value of its type
        """
        found = self._setters.get(name)
        if found is None:
            found = self._setter(name)
        found(value)

    def _getter(self, name: str) -> Callable[[], Any]:
        self._alive()
        v = self.description.variable(name)
        if self.description.major == 2 and not self.initialized:
            raise self._fault(f"get of '{name}' before initialize", "FMI 2.0 allows it only afterwards.")
        component, steps = self.component, self._steps
        if v.causality == "independent" and self.initialized:  # where it stands; CasADi's crash when asked
            return lambda: self.time
        if v.clock is not None:
            return lambda: steps.counts.get(v.name, 0)
        if v.name in steps.values:
            return lambda: (
                steps.values[v.name].reshape(v.shape) if v.shape else steps.values[v.name][0].item()
            )
        if v.shape or not v.numeric or not isinstance(component, Component):
            if v.type == "Float64" and not v.shape:
                one = component.getter([v])
                return self._getters.setdefault(name, lambda: float(one.read()[0]))
            made: Callable[[], Any] = lambda: component.get(v)
        else:
            group = ValueBatch(component.call, component.dialect, [v], "Get")
            run, call, place = group.run, group.prepared(), group.pointer

            def scalar() -> Any:
                if went_wrong(call()):
                    run()  # says why
                return place[0]

            made = scalar if v.type != "Boolean" else lambda: bool(scalar())
        self._getters[name] = made
        return made

    def _setter(self, name: str) -> Callable[[Any], None]:
        self._alive()
        d, component = self.description, self.component
        v = d.variable(name)
        if v in d.triggers and v.name in self._steps.counts:
            return lambda value: self._tick(v, checked_value(d, v, value))
        self._check_settable(v)
        if v.clock is not None:
            raise self._fault(
                f"the interval of clock '{name}' is given where it is opened", "Use start={...}."
            )
        if _is_structural(d, name):
            return lambda value: self._resize(v, checked_value(d, v, value))
        at_events = self.initialized and not v.continuous and self._quick is None
        if at_events:
            made: Callable[[Any], None] = lambda value: self._set_at_event(v, checked_value(d, v, value))
        elif v.type == "Float64" and not v.shape and not isinstance(component, Component):
            many = component.setter([v])
            made = lambda value: many.write(np.array([checked_value(d, v, value)]))
        elif v.type != "Float64" or v.shape or not isinstance(component, Component):
            made = lambda value: component.set(v, checked_value(d, v, value))
        else:
            group = ValueBatch(component.call, component.dialect, [v], "Set")
            run, call, place = group.run, group.prepared(), group.pointer

            def scalar(value: Any) -> None:
                plain = type(value) is float and value == value
                place[0] = value if plain else checked_value(d, v, value)
                if went_wrong(call()):
                    run()

            made = scalar
        self._setters[name] = made
        return made

    def _set_at_event(self, v: Variable, value: Any) -> None:
        put = lambda: self.component.set(v, value)
        if v.clocks:  # it is read when one of its clocks ticks
            self._steps.give(v, put)
        else:
            self.terminated |= self._steps.arrive(self.time, put)

    def _tick(self, v: Variable, ticks: bool) -> None:
        if not self.initialized:
            raise self._fault(f"clock '{v.name}' cannot tick before initialize", "Call initialize first.")
        if ticks and not self.terminated:
            self.terminated = self._steps.arrive(self.time, None, [v])

    def _check_settable(self, v: Variable) -> None:
        if not self.initialized:
            check_has_start(self.description, v)
            return
        tunable = v.causality == "parameter" and v.variability == "tunable"
        if v.causality == "structuralParameter" and v.variability == "tunable":
            if self._quick is not None:  # in step mode, from where reconfiguration mode is entered
                return
            hint, where = "Set it before initialize.", "which is done in co-simulation without event mode"
            raise self._fault(
                f"'{v.name}' changes sizes after initialize, {where}", "Set it before initialize."
            )
        if v.causality != "input" and not tunable:
            kind = f"of variability {v.variability} and causality {v.causality}"
            hint = "Set it before initialize."
            if not v.is_start_settable:
                hint = "Only inputs and tunable parameters can be set."
            raise self._fault(f"'{v.name}' is {kind} and cannot be set after initialize", hint)

    def _resize(self, v: Variable, value: int) -> None:
        self.component.configure({v: value})
        self._start[v.name] = value
        sizes = {n: x for n, x in self._start.items() if _is_structural(self.description, n)}
        self.description = self.description.sized(sizes)
        self._getters.clear()
        self._setters.clear()

    # --- states -----------------------------------------------------------------------------------
    def save(self) -> FMUState:
        """Save the present state of the FMU, which `load` restores.

        Raises
        ------
        FMUError      the FMU cannot save its state
        """
        self._alive()
        return FMUState(self.time, self.component.save(), self._steps.kept())

    def load(self, state: FMUState) -> None:
        """Restore a state that `save` returned, including the time."""
        if not isinstance(state, FMUState):
            raise self._fault(f"load({state!r}): expected what save returned")
        self._alive()
        self.component.load(state.saved)
        self.time, self.terminated, self._left = state.time, False, False
        self._failed = False
        self.component.call.time = state.time
        self._steps.restored(state.kept)

    def _alive(self) -> None:
        if self.component.closed:
            raise self._fault("it is closed", "Open it again.")

    def _fault(self, what: str, hint: str | None = None) -> FMUError:
        return self.description.fault(what, hint)

    def __repr__(self) -> str:
        when = f"at t = {self.time:.9g} s" if self.initialized else "not initialised"
        return f"<FMU '{self.description.name}' opened for {self.component.interface.kind}, {when}>"


def _is_structural(d: FMUDescription, name: str) -> bool:
    return d.variables[name].causality == "structuralParameter"


def scalars(d: FMUDescription, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Numbers among checked start values, as arrays of floats."""
    return {n: np.asarray(v, dtype=float).ravel() for n, v in values.items() if d.variables[n].numeric}
