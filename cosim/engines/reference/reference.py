"""The reference engine: from stop to stop, with everything that happens there, and a log."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cosim.engines.engine import Engine, Logged
from cosim.engines.methods.steppers import AcceptedStep
from cosim.engines.pace import Pace, endless, most_steps
from cosim.engines.reference.crossings import Part
from cosim.engines.reference.events import Repetition
from cosim.engines.reference.interpreter import interpreter
from cosim.engines.reference.log import Log
from cosim.engines.reference.scheduler import one_instant
from cosim.run.context import Context
from cosim.settings import RunSettings
from cosim.system import System


class ReferenceEngine(Engine):
    """Runs a system in Python; its parts are those of an `Interpreter`."""

    name = "reference"

    def __init__(self, system: System, settings: RunSettings, context: Context) -> None:
        super().__init__(system, settings, context)
        self.parts = interpreter(system, settings, context, self.counters)
        self._pace = Pace(0.0, 0.0)
        self._log = self._new_log([], np.zeros(0))

    def _new_log(self, names: Sequence[str], times: np.ndarray | None) -> Log:
        return Log(self.parts.workspace, self.parts.unknowns, self.parts.invariants, names, times)

    def advance(self, until: float, progress: Callable[[float], None] | None = None) -> None:
        """See `Engine.advance`."""
        repetition = Repetition(until, self.parts.events.crossings)
        self._begin(until)
        # trial steps may leave the numbers; what counts is checked
        with self.instances.answering(), np.errstate(all="ignore"):
            self._start(repetition)
            while self.context.t < until and not self.context.stopped:
                self.parts.unknowns.stop_at_delayed_jumps()
                self._to(min(until, self.next_stop()), repetition, progress)

    def approach(self, until: float) -> None:
        """See `Engine.approach`."""
        repetition = Repetition(until, self.parts.events.crossings)
        self._begin(until)
        with self.instances.answering(), np.errstate(all="ignore"):
            while self.context.t < until and not self.context.stopped:
                self.parts.unknowns.stop_at_delayed_jumps()
                self._to(min(until, self.next_stop()), repetition, None, until)

    def arrive(self, ended: str = "") -> None:
        """See `Engine.arrive`."""
        t = self.context.t
        with self.instances.answering(), np.errstate(all="ignore"):
            if not self.context.stopped:
                self.context.stopped = ended
                self._instant(t, Repetition(t, self.parts.events.crossings))

    def log_mark(self) -> Any:
        """See `Engine.log_mark`."""
        return self._log.mark()

    def log_back(self, mark: Any) -> None:
        """See `Engine.log_back`."""
        self._log.back(mark)

    def _begin(self, until: float) -> None:
        self.parts.workspace.deadline = self.deadline
        self.parts.follow_parameters()
        self._pace = Pace(until, most_steps(self.system, self.settings))

    def _start(self, repetition: Repetition) -> None:
        c = self.context
        if not c.started:
            c.started = True
            self.parts.restart.first()
            self._instant(c.t, repetition)

    def _to(
        self,
        stop: float,
        repetition: Repetition,
        progress: Callable[[float], None] | None,
        short_of: float = math.inf,
    ) -> None:
        """One stretch without jumps, then all that happens at its end, if that lies before `short_of`."""
        parts = self.parts

        def accepted(step: AcceptedStep) -> None:
            if progress is not None:
                progress(step.t1)
            self._log.step(step)

        def ended(t: float) -> None:
            if t < stop:
                parts.unknowns.refresh()
                self._log.end_of_step(t)
                self.look_back.note(self.context.copy)
                self._look_at_pace(t)

        started = self.context.t
        parts.events.crossings.left()
        event = parts.integrator.integrate(stop, accepted, ended)
        t = self.context.t
        if event is not None:
            if stop - t <= one_instant(started, stop):
                parts.workspace.put(stop)
            parts.events.iterate(self.context.t, self._log.events, repetition, Part.BEFORE, event)
        if self.context.t < short_of or self.context.stopped:
            self._instant(self.context.t, repetition)
            self.look_back.note(self.context.copy)

    def _look_at_pace(self, t: float) -> None:
        pace = self._pace
        if pace.is_endless(t, self.counters.steps):
            raise endless(self.system, self.counters, t, pace.since, pace.until)

    def _instant(self, t: float, repetition: Repetition) -> None:
        """Ticks and instants at t, then the events they cause; then log."""
        parts, loops = self.parts, self.parts.events.loops
        due = parts.scheduler.count(t)
        loops.begin()

        def handle(segment: int) -> None:
            if parts.events.crossings.begin_segment(segment):
                loops.note(segment)
                counted = parts.scheduler.counts_of(due)
                parts.events.iterate(t, self._log.events, repetition, Part.TIMED, None, counted)

        parts.scheduler.run_segments(t, due, handle)
        if self.system.events:
            loops.repeat(t)
            going_on = True
            while going_on:
                fired = parts.events.iterate(t, self._log.events, repetition)
                followed = fired and parts.scheduler.follow(t)
                going_on = loops.repeat(t) or followed
        parts.unknowns.refresh()
        self._log.instant(t, due)

    def next_stop(self) -> float:
        """See `Engine.next_stop`."""
        return self.parts.scheduler.next_stop()

    def start_log(self, names: Sequence[str], times: np.ndarray | None) -> None:
        """See `Engine.start_log`."""
        self._log = self._new_log(names, times)

    def logged(self) -> Logged:
        """See `Engine.logged`."""
        return self._log.logged()

    def value(self, name: str) -> np.ndarray:
        """See `Engine.value`."""
        expression, workspace = self.system.signal(name).expression, self.parts.workspace
        with self.instances.answering():
            workspace.put(self.context.t)
            self.parts.unknowns.refresh()
            found = workspace.bind(f"signal:{name}", lambda: [expression])().copy()
            workspace.look_for_interrupt()
        return found
