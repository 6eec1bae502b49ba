"""An FMU for co-simulation used with event mode (FMI 3.0): it steps itself, and we handle its events.

A step ends at the time that the FMU announced for its next event, at a tick of one of its clocks, and where
it returns early; what is discrete is set in event mode only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cosim.fmi.clock_schedule import NEAR, reached
from cosim.fmi.description import Variable
from cosim.fmi.event_rounds import EventRounds
from cosim.fmi.fmi_errors import FMUCallError
from cosim.fmi.interface.any_component import AnyComponent
from cosim.fmi.interface.outcomes import DiscreteStates, StepOutcome
from cosim.fmi.steps import PART, Put

MOST = 1000  # most events at one time


class EventModeSteps:
    """Steps in time (`Steps`); `step` handles the events before its end, `arrive` those at it."""

    def __init__(self, component: AnyComponent, rounds: EventRounds) -> None:
        self._component, self._rounds = component, rounds
        self._announced, self._wanted = math.inf, False
        self.jumps = 0  # how often continuous states have jumped at events, as the FMU says
        self.entered = False  # has compiled code entered event mode already?
        self.stays = False  # in event mode, since an event that a visit at the same time will go on with

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

    def begin(self, start: float, triggers: Sequence[Variable] = ()) -> bool:
        """See `Steps.begin`: the FMU is in event mode."""
        return self._settled(self._rounds.run(start, None, triggers))

    def quick(self) -> Callable[[float, float], int] | None:
        """See `Steps.quick`: not available."""
        return None

    @property
    def next(self) -> float:
        """Time of the next event it has announced, or tick of a clock [s]; infinity where none is known."""
        return min(self._announced, self._rounds.next_tick)

    def step(self, t: float, end: float) -> StepOutcome:
        """See `Steps.step`."""
        c, at_once, part = self._component, 0, PART * (end - t)
        self.leave()
        while not end <= t + min(NEAR * max(1.0, abs(t)), part):
            if self.waits(t) and self._event(t, None, ()):
                return StepOutcome(t, terminate=True)
            stop = min(end, self.next) if c.interface.variable_step else end
            outcome = c.step(t, stop - t, no_way_back=False)
            if outcome.terminate or outcome.discarded:
                return outcome
            at_once = 0 if outcome.time > t else at_once + 1
            if at_once > MOST:
                raise self._endless(t)
            self._wanted = outcome.event
            same = min(1e-10 * max(1.0, abs(stop)), part)
            t = stop if abs(outcome.time - stop) <= same else outcome.time
        c.call.time = end
        return StepOutcome(end)

    def waits(self, t: float) -> bool:
        """Whether anything happens at t [s] without a change or a tick that is triggered."""
        return self._wanted or reached(self.next, t)

    def arrive(self, t: float, change: Put | None = None, triggers: Sequence[Variable] = ()) -> bool:
        """See `Steps.arrive`."""
        if change is not None or triggers or self.waits(t):
            return self._event(t, change, triggers)
        self.leave()
        return False

    def meet(self, t: float) -> bool:
        """Handle events at t [s], and stay in event mode until `arrive` or `leave`; see `arrive`."""
        return self._event(t, None, (), stay=True)

    def leave(self) -> None:
        """Leave event mode, if it has stayed in it."""
        if self.stays:
            self.stays = False
            self._component.enter_step_mode()

    def give(self, v: Variable, put: Put) -> None:
        """See `Steps.give`."""
        self._rounds.give(v, put)

    def _event(self, t: float, change: Put | None, triggers: Sequence[Variable], stay: bool = False) -> bool:
        self._component.call.time = t
        if not self.entered and not self.stays:
            self._component.enter_event_mode()
        self.entered = self.stays = False
        return self._settled(self._rounds.run(t, change, triggers), stay)

    def _settled(self, found: DiscreteStates, stay: bool = False) -> bool:
        self._wanted = False
        self.jumps += found.values_changed
        self._announced = math.inf if found.next_time is None else found.next_time
        self.stays = stay and not found.terminate
        if not stay and not found.terminate:
            self._component.enter_step_mode()
        return found.terminate

    def _endless(self, t: float) -> FMUCallError:
        c = self._component
        return FMUCallError(
            f"FMU '{c.description.file}', instance '{c.name}': it returns from its steps without getting "
            f"on at t={t:.9g} s. {c.log.shown()}",
            path=c.name,
            time=t,
        )

    @property
    def wanted(self) -> bool:
        """Whether the newest call for a step asked for an event."""
        return self._wanted

    def found(self, wanted: bool, entered: bool, stays: bool, announced: float | None) -> None:
        """Take over from compiled code, which may have entered event mode; `announced` None: as it was."""
        self._wanted, self.entered, self.stays = wanted, entered, stays
        if announced is not None:
            self._announced = announced

    def kept(self) -> Any:
        """See `Steps.kept`."""
        announced = None if self._announced == math.inf else self._announced
        return {"announced": announced, "wanted": self._wanted, "rounds": self._rounds.kept()}

    def restored(self, kept: Any) -> None:
        """See `Steps.restored`."""
        self._announced = math.inf if kept["announced"] is None else kept["announced"]
        self._wanted, self.entered, self.stays = kept["wanted"], False, False
        self._rounds.restored(kept["rounds"])
