"""An FMU for scheduled execution: partitions of its model run when their clocks tick.

In order of time, then of priority; all in one thread, so that none interrupts another. A partition may tick
output clocks, and count down to another one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from cosim.fmi.clock_schedule import ClockSchedule, reached
from cosim.fmi.description import FMUDescription, Variable
from cosim.fmi.fmi_errors import FMUCallError
from cosim.fmi.interface.any_component import AnyComponent
from cosim.fmi.interface.outcomes import StepOutcome
from cosim.fmi.steps import Put

MOST = 1000  # most runs of partitions at one instant


class ScheduledSteps:
    """Steps in time (`Steps`): partitions due before the end run in `step`, others in `arrive`."""

    def __init__(
        self, component: AnyComponent, description: FMUDescription, intervals: Mapping[str, Fraction]
    ) -> None:
        self._component, self._description = component, description
        self._clocks = ClockSchedule(component, description, intervals)
        self._given: dict[str, tuple[Variable, Put]] = {}
        self.values: Mapping[str, np.ndarray] = {}  # variables are read when they are queried

    @property
    def counts(self) -> Mapping[str, int]:
        """See `Steps.counts`."""
        return self._clocks.counts

    def prepare(self, start: float) -> None:
        """See `Steps.prepare`."""
        self._clocks.prepare(start)

    def begin(self, start: float, triggers: Sequence[Variable] = ()) -> bool:
        """See `Steps.begin`."""
        self._run(start, triggers)
        return False

    def quick(self) -> Callable[[float, float], int] | None:
        """See `Steps.quick`: there is none."""
        return None

    def step(self, t: float, end: float) -> StepOutcome:
        """See `Steps.step`."""
        while not reached(end, self._clocks.next):
            self._run(self._clocks.next, ())
        self._component.call.time = end
        return StepOutcome(end)

    def arrive(self, t: float, change: Put | None = None, triggers: Sequence[Variable] = ()) -> bool:
        """See `Steps.arrive`."""
        if change is not None:
            change()
        self._run(t, triggers)
        return False

    def give(self, v: Variable, put: Put) -> None:
        """See `Steps.give`: set before each run of a partition whose clock is one of its clocks."""
        self._given[v.name] = (v, put)
        put()  # the caller sees it

    def _run(self, t: float, triggers: Sequence[Variable]) -> None:
        """Run all partitions due at t [s]; one may make another due."""
        for _ in range(MOST):
            due = self._clocks.due(t, triggers)
            if not due:
                return
            clock = due[0]
            triggers = [v for v in triggers if v is not clock]
            self._clocks.ticked(clock)
            for v, put in self._given.values():
                if clock.name in v.clocks:
                    put()
            ticked, intervals = self._component.activate(clock, t)
            for name in ticked:
                self._clocks.counts[name] += 1
            for name, interval in intervals:
                self._clocks.said(self._description.variables[name], t, interval, name == clock.name)
        raise FMUCallError(
            f"FMU '{self._description.file}', instance '{self._component.name}': its clocks tick without end "
            f"at t={t:.9g} s.",
            path=self._component.name,
            time=t,
            hint="One of them counts down to zero again and again: ask its maker.",
        )

    def kept(self) -> Any:
        """See `Steps.kept`."""
        return self._clocks.kept()

    def restored(self, kept: Any) -> None:
        """See `Steps.restored`."""
        self._given.clear()  # values of inputs are part of the state of the FMU
        self._clocks.restored(kept)
