"""An FMU for model exchange stepped by hand: our adaptive integrator between its events.

Inputs are what was set last. Events are located on the dense output of the integrator, by bisection.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from blocks.errors import SimulationError
from cosim.engines.counters import Counters
from cosim.engines.methods.steppers import AcceptedStep, AdaptiveStepper, Control, Problem
from cosim.engines.methods.tableau import tableau
from cosim.fmi.clock_schedule import reached
from cosim.fmi.contradictions import check_counts
from cosim.fmi.description import Variable
from cosim.fmi.event_rounds import EventRounds
from cosim.fmi.fmi_errors import FMUCallError
from cosim.fmi.interface.any_component import AnyComponent
from cosim.fmi.interface.caller import DISCARD
from cosim.fmi.interface.outcomes import DiscreteStates, StepOutcome
from cosim.fmi.steps import Put

RTOL, ATOL = 1e-8, 1e-10  # the tolerances of runs
QUARTERS = (0.25, 0.5, 0.75, 1.0)
MOST = 250  # most events at one time, which is
WINDOW = 1e-9  # of the step that is still to go


class ModelExchangeSteps:
    """Steps in time with states, events and `completedIntegratorStep` as the standard describes.

    sizes : numbers of states and of indicators, asked for when it begins; tolerance : of the user, or None
    """

    def __init__(
        self,
        component: AnyComponent,
        sizes: Callable[[], tuple[int, int]],
        tolerance: Callable[[], float | None],
        rounds: EventRounds,
    ) -> None:
        self._component, self._sizes, self._tolerance = component, sizes, tolerance
        self._rounds = rounds
        self._control, self._next = Control(), math.inf
        self._x, self._z = np.zeros(0), np.zeros(0)

    @property
    def values(self) -> Mapping[str, np.ndarray]:
        """See `Steps.values`."""
        return self._rounds.values

    @property
    def counts(self) -> Mapping[str, int]:
        """See `Steps.counts`."""
        return self._rounds.counts

    def prepare(self, start: float) -> None:
        """See `Steps.prepare`."""
        self._rounds.prepare(start)

    def give(self, v: Variable, put: Put) -> None:
        """See `Steps.give`."""
        self._rounds.give(v, put)

    def begin(self, start: float, triggers: Sequence[Variable] = ()) -> bool:
        """See `Steps.begin`: the FMU is in event mode."""
        nx, nz = self._sizes()
        self._x, self._z = np.zeros(nx), np.zeros(nz)
        nominals = np.abs(self._component.nominals(np.ones(nx)))
        rtol = self._tolerance() or RTOL
        problem = Problem(
            f=self._rate,
            linearise=_never,
            atol=ATOL * (rtol / RTOL) * np.where(np.isfinite(nominals) & (nominals > 0), nominals, 1.0),
            counters=Counters(),
            state_name=lambda k: f"state {k}",
            on_invariants=lambda t, x: x,
            longest_step=lambda: math.inf,
            explain=self._explained,
        )
        self._stepper = AdaptiveStepper(problem, tableau("dopri5"), rtol, math.inf)
        check_counts(self._component, nx, nz)
        return self._settled(self._rounds.run(start, None, triggers))

    def _rate(self, t: float, x: np.ndarray) -> np.ndarray:
        """Derivatives; nan if the FMU discards the call, which asks for a shorter step."""
        try:
            return self._asked_rate(t, x)
        except FMUCallError as error:
            if error.value != DISCARD:
                raise
            return np.full(len(x), np.nan)

    def _asked_rate(self, t: float, x: np.ndarray) -> np.ndarray:
        self._stand(t, x)
        return self._component.derivatives(np.zeros(len(x)))

    def _stand(self, t: float, x: np.ndarray) -> None:
        self._component.set_time(t)
        self._component.set_states(np.ascontiguousarray(x))

    def _explained(self, t: float, x: np.ndarray) -> SimulationError:
        c = self._component
        try:
            found = self._asked_rate(t, x).tolist()
        except FMUCallError as error:
            return error
        return FMUCallError(
            f"FMU '{c.description.file}', instance '{c.name}': its derivatives at t={t:.9g} s are "
            f"{found}, which is not finite. {c.log.shown()}",
            path=c.name,
            time=t,
        )

    def _settled(self, found: DiscreteStates) -> bool:
        """Leave event mode; returns whether the run is over."""
        announced = math.inf if found.next_time is None else found.next_time
        self._next = min(announced, self._rounds.next_tick)
        if not found.terminate:
            self._component.enter_continuous_time_mode()
        self._component.states(self._x)
        if len(self._z):
            self._component.indicators(self._z)
        self._control = Control()
        return found.terminate

    def quick(self) -> Callable[[float, float], int] | None:
        """See `Steps.quick`: there is none."""
        return None

    def step(self, t: float, end: float) -> StepOutcome:
        """See `Steps.step`."""
        at_once, since = 0, t
        if self._jumped() and self._event(t):
            return StepOutcome(t, terminate=True)
        while t < end:
            # an event that differs from the end by rounding is there, at the very time that was announced
            stop = self._next if reached(self._next, end) else end
            got, wanted, terminate = self._stretch(t, stop)
            at_once, since = (at_once + 1, since) if got - since <= WINDOW * (end - since) else (0, got)
            t = got
            if terminate or ((wanted or t >= self._next) and self._event(t)):
                return StepOutcome(t, terminate=True)
            if at_once > MOST:
                raise self._endless(t)
        return StepOutcome(t)

    def _jumped(self) -> bool:
        """Whether indicators are on other sides by inputs that were set since the newest step or event."""
        if not len(self._z):
            return False
        now = self._component.indicators(np.zeros(len(self._z)))
        return bool(((now > 0.0) != (self._z > 0.0)).any())

    def _endless(self, t: float) -> FMUCallError:
        c = self._component
        indicators, said = self._z.tolist(), c.log.shown()
        return FMUCallError(
            f"FMU '{c.description.file}', instance '{c.name}': its events follow each other without end at "
            f"t={t:.9g} s (chattering or Zeno); its event indicators are {indicators} there. {said}"
            + ("\n" if "\n" in said else ""),
            path=c.name,
            time=t,
            hint="Its equations need a hysteresis or a rest state there: ask its maker, or use kind='cs'.",
        )

    def _event(self, t: float, change: Put | None = None, triggers: Sequence[Variable] = ()) -> bool:
        self._component.enter_event_mode()
        return self._settled(self._rounds.run(t, change, triggers))

    def arrive(self, t: float, change: Put | None = None, triggers: Sequence[Variable] = ()) -> bool:
        """See `Steps.arrive`: events at the end of a step were part of it."""
        if change is None and not triggers:
            return False
        return self._event(t, change, triggers)

    def _stretch(self, t: float, stop: float) -> tuple[float, bool, bool]:
        """Integrate to `stop` or the first event before it; returns the time, is it an event or the end."""
        if stop <= t:
            return t, False, False
        if not len(self._x):
            return self._accept(AcceptedStep(t, stop, self._x, self._x, lambda _: self._x))
        for step in self._stepper.integrate(t, self._x.copy(), stop, self._control):
            self._control = step.control
            reached, wanted, terminate = self._accept(step)
            if wanted or terminate:
                return reached, wanted, terminate
        return stop, False, False

    def _accept(self, step: AcceptedStep) -> tuple[float, bool, bool]:
        c, crossed = self._component, self._crossing(step)
        t1 = step.t1 if crossed is None else crossed
        self._x[:] = step.x1 if t1 == step.t1 else step.inside(t1)
        self._stand(t1, self._x)
        if len(self._z):
            c.indicators(self._z)
        event = terminate = False
        if c.interface.needs_completed_step:
            event, terminate = c.completed_step()
        return t1, crossed is not None or event, terminate

    def _at(self, step: AcceptedStep, t: float) -> np.ndarray:
        self._stand(t, step.x1 if t == step.t1 else step.inside(t))
        return self._component.indicators(np.zeros(len(self._z)))

    def _crossing(self, step: AcceptedStep) -> float | None:
        """Time of the first indicator that changes its side in a step, just behind it."""
        if not len(self._z):
            return None
        side, low = self._z > 0.0, step.t0
        for quarter in QUARTERS:
            high = step.t1 if quarter == 1.0 else step.t0 + quarter * (step.t1 - step.t0)
            if ((self._at(step, high) > 0.0) != side).any():
                return self._root(step, side, low, high)
            low = high
        return None

    def _root(self, step: AcceptedStep, side: np.ndarray, low: float, high: float) -> float:
        for _ in range(80):
            middle = 0.5 * (low + high)
            if not low < middle < high or high - low <= 1e-15 * max(1.0, abs(high)):
                break
            if ((self._at(step, middle) > 0.0) != side).any():
                high = middle
            else:
                low = middle
        return high

    def kept(self) -> Any:
        """See `Steps.kept`: the time of the next event, what step size control remembers, clocks."""
        return self._next, self._control, self._rounds.kept()

    def restored(self, kept: Any) -> None:
        """See `Steps.restored`."""
        self._next, self._control, rounds = kept
        self._rounds.restored(rounds)
        self._component.states(self._x)
        if len(self._z):
            self._component.indicators(self._z)


def _never(t: float, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Refuse a request that an explicit method never makes."""
    raise NotImplementedError
