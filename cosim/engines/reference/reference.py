"""The reference engine: drives a `Machine` from stop to stop and keeps its log."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cosim.engines.engine import Engine, Logged
from cosim.engines.methods.steppers import Step
from cosim.engines.native.host_calls import interrupts
from cosim.engines.reference.log import Log
from cosim.engines.reference.machine import Machine
from cosim.run.context import Context
from cosim.settings import RunSettings
from cosim.system import System


class ReferenceEngine(Engine):
    """Drives a `Machine` from stop to stop and keeps its log."""

    name = "reference"

    def __init__(self, system: System, settings: RunSettings, context: Context) -> None:
        super().__init__(system, settings, context)
        self.machine = Machine(system, settings, context, self.counters)
        self._log = Log(self.machine, [], np.zeros(0))

    def advance(self, until: float, progress: Callable[[float], None] | None = None) -> None:
        """See `Engine.advance`."""
        # trial steps may leave the numbers; what counts is checked
        with interrupts(self.system.calls), np.errstate(all="ignore"):
            self.machine.events.be_patient()
            self._start()
            while self.context.t < until and not self.context.stopped:
                self.machine.unknowns.foresee()
                self._to(min(until, self.machine.next_stop()), progress)

    def _start(self) -> None:
        c = self.context
        if not c.started:
            c.started = True
            self.machine.begin()
            self._instant(c.t)

    def _to(self, stop: float, progress: Callable[[float], None] | None) -> None:
        """One stretch without jumps, then everything that happens at its end."""
        machine = self.machine

        def accepted(step: Step) -> None:
            if progress is not None:
                progress(step.t1)
            self._log.step(step)

        def ended(t: float) -> None:
            if t < stop:
                machine.fresh()
                self._log.end_of_step(t)

        started = self.context.t
        event = machine.integrate(stop, accepted, ended)
        t = self.context.t
        if event is not None:
            if stop - t <= 1e-12 * (stop - started):
                machine.put(stop)
            machine.events.settle(self.context.t, self._log.events, event)
        self._instant(self.context.t)

    def _instant(self, t: float) -> None:
        """Ticks and instants at t, then the events they cause; then log."""
        machine = self.machine
        due = machine.settle(t)
        if machine.events:
            machine.events.settle(t, self._log.events)
        machine.fresh()
        self._log.instant(t, due)

    def next_stop(self) -> float:
        """See `Engine.next_stop`."""
        return self.machine.next_stop()

    def start_log(self, names: Sequence[str], times: np.ndarray | None) -> None:
        """See `Engine.start_log`."""
        self._log = Log(self.machine, names, times)

    def logged(self) -> Logged:
        """See `Engine.logged`."""
        return self._log.logged()

    def value(self, name: str) -> np.ndarray:
        """See `Engine.value`."""
        expression = self.system.signal(name).expression
        with interrupts(self.system.calls):
            self.machine.put(self.context.t)
            self.machine.fresh()
            found = self.machine.bind(f"signal:{name}", lambda: [expression])().copy()
            self.machine.look_for_interrupt()
        return found
