"""The native engine: the system as compiled C, driven by the runtime in C.

Python gives the runtime the context's arrays and buffers for the log. It is called back only when a buffer is
full, an opaque block has its tick, something went wrong, or a slice of time is over (Ctrl-C).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from blocks.errors import SimulationError
from cosim.engines.engine import Engine, Logged, out_of_time
from cosim.engines.methods.rosenbrock import RosenbrockStepper
from cosim.engines.methods.solvers import STIFF
from cosim.engines.methods.steppers import AdaptiveStepper, Stepper
from cosim.engines.methods.tableau import TABLEAUS, Tableau, tableau
from cosim.engines.methods.tolerances import RunSizes, sized_by
from cosim.engines.native import bindings as b
from cosim.engines.native.build import compiled
from cosim.engines.native.host_calls import HostAnswers
from cosim.engines.native.methods import run_settings
from cosim.engines.native.rows import Rows
from cosim.engines.native.run_log import RunLog
from cosim.engines.native.stiff_room import StiffRoom
from cosim.engines.pace import endless
from cosim.engines.reference.interpreter import Interpreter, interpreter
from cosim.engines.starts import Starts
from cosim.run.context import ARRAYS, Context
from cosim.segments import Segment
from cosim.settings import RunSettings
from cosim.system import System

SLICE = 0.05  # s of wall time between two looks at Ctrl-C
FIRST_BUDGET = 2000  # steps of the first slice
PIECES, STOPS = 1024, 64  # room in a history, and for the stops of delays, that is there when it is needed


class NativeEngine(Engine):
    """Runs one context with compiled code."""

    name = "native"

    def __init__(self, system: System, settings: RunSettings, context: Context) -> None:
        super().__init__(system, settings, context)
        self._code = code = compiled(system)
        self._pl = code.runtime
        self._lists = list(context.instants)
        self._ticks = np.zeros(len(system.rates), dtype=np.int64)
        self._instants = np.zeros(len(self._lists), dtype=np.int64)
        self._limited = np.zeros(max(1, len(system.x0)), dtype=np.int64)
        self._stiff = StiffRoom(system) if settings.solver == STIFF else None
        self._settings = run_settings(system, settings)
        self._state = b.new("pl_context")
        self._state.histories = self._histories = b.new("pl_history", len(system.delays))
        self._rows: list[Any] = [None] * len(system.delays)  # where the histories were last
        self._stops = np.zeros(max(STOPS, len(system.delays)))
        for name, place in zip(ARRAYS, b.doubles(map(vars(context).__getitem__, ARRAYS)), strict=True):
            setattr(self._state, name, place)
        self._state.ticks, self._state.instants = b.pointer(self._ticks), b.pointer(self._instants)
        self._log = RunLog(system, code)
        self._run = run = b.new("pl_run")
        self._host: HostAnswers | None = None
        run.model, run.system = code.model, code.tables
        self._sizes: RunSizes | None = None
        if system.sizes:
            self._sizes = RunSizes(system, context.p)
            run.system = self._tables = b.copy("pl_system", code.tables)
            self._tables.nominal = b.pointer(self._sizes.values)
        run.settings = self._settings
        run.context = self._state
        run.log = self._log.table
        run.numbers = (self._stiff or code).numbers.start
        if self._stiff:
            run.stiff = self._stiff.table
        if system.calls:
            called = self._stiff.host_functions if self._stiff else code.host_functions
            self._host = HostAnswers(run, called, self.instances, self._pl)
        self._loses = self._host is not None and self._host.loses
        run.counters.refused_by = -1
        run.counters.limited_by = b.pointer(self._limited)
        self._room = np.zeros(code.workspace)
        self._pl.pl_instantiate(run, b.pointer(self._room))
        self._budget = FIRST_BUDGET
        self._interpreter: Interpreter | None = None
        self._starts: Starts | None = None

    # --- running ---------------------------------------------------------------------------------
    def advance(self, until: float, progress: Callable[[float], None] | None = None) -> None:
        """See `Engine.advance`; `progress` is called after every slice of wall time."""
        self._log.reserve(until - self.context.t)
        self._enter()
        self._run.cancel = 0
        try:
            with self.instances.answering(self._loses):
                self._advance(until, progress)
        finally:
            self._leave()
            self._pl.pl_reset(self._run)
        if progress is not None:
            progress(until)

    def approach(self, until: float) -> None:
        """See `Engine.approach`."""
        self._log.reserve(until - self.context.t)
        self._enter()
        self._pl.pl_reset(self._run)  # an instant approached before may have been left again
        self._run.cancel, self._run.approach = 0, 1
        try:
            with self.instances.answering(self._loses):
                self._advance(until, None)
        except BaseException:
            self._pl.pl_reset(self._run)
            raise
        finally:
            self._run.approach = 0
            self._leave()

    def arrive(self, ended: str = "") -> None:
        """See `Engine.arrive`."""
        ended = "" if self.context.stopped else ended
        self.context.stopped = self.context.stopped or ended
        self._log.reserve(0.0)
        self._enter()
        if ended:
            self._pl.pl_end_here(self._run)
        try:
            with self.instances.answering(self._loses):
                self._advance(self._state.t, None)
        finally:
            self._leave()
            self._pl.pl_reset(self._run)

    def walk(
        self,
        go: Callable[[b.Library], int],
        serve: Callable[[int], bool],
        until: float,
        progress: Callable[[float], None] | None,
    ) -> None:
        """Let compiled code of a co-simulation master advance this run to `until` [s].

        go : goes on in the runtime, and returns why it came back
        serve : does what other reasons than the runtime's own ask for, with the context up to date; returns
            whether that ended the run
        """
        self._log.reserve(until - self.context.t)
        self._enter()
        self._run.cancel = 0

        def served(reason: int) -> bool:
            if reason < self._pl.PL_UNITS_HOST:
                self._serve(reason)
                return False
            self._leave()
            ended = serve(reason)
            self._enter()
            return ended

        try:
            with self.instances.answering(self._loses):
                self._advance(until, progress, lambda: go(self._pl), served)
        finally:
            self._run.approach = 0
            self._leave()
            self._pl.pl_reset(self._run)
        if progress is not None:
            progress(self._state.t)

    def back(self, coupling: b.Structure, log: Any) -> None:
        """To where a step of a co-simulation master began; `log` as `log_mark` gave it then."""
        self._pl.pl_couple_back(coupling)
        self.log_back(log)
        self._leave()

    @property
    def run(self) -> b.Structure:
        """The run as the runtime sees it."""
        return self._run

    def _advance(
        self,
        until: float,
        progress: Callable[[float], None] | None,
        go: Callable[[], int] | None = None,
        serve: Callable[[int], bool] | None = None,
    ) -> None:
        run, there = self._run, (self._pl.PL_DONE, self._pl.PL_APPROACHED)
        go = go or (lambda: int(self._pl.pl_advance(run, until)))
        run.budget, began = self._budget, time.perf_counter()
        if began > self.deadline and self._state.t < until:
            raise out_of_time(self.settings, self._state.t)
        try:
            while (reason := go()) not in there:
                if reason != self._pl.PL_PAUSE:
                    if serve is None:
                        self._serve(reason)
                    elif serve(reason):
                        return
                    if time.perf_counter() > self.deadline:
                        run.budget = 0  # it pauses at the next step
                    continue
                if time.perf_counter() > self.deadline:
                    raise out_of_time(self.settings, self._state.t)
                spent = time.perf_counter() - began
                self._budget = int(self._budget * min(10.0, max(0.1, SLICE / max(spent, 1e-9)))) + 1
                if self.instances.ended is not None:
                    raise self._failure(self._pl.PL_CANCELLED)
                self._leave()
                self.look_back.note(self.context.copy, self._budget)
                if progress is not None:
                    progress(self._state.t)
                run.budget, began = self._budget, time.perf_counter()
        except KeyboardInterrupt:
            if self._state.t < run.t1 and not run.cancel:  # in the middle of a stretch, to log what it has
                self._end_step(until)
            raise

    def _end_step(self, until: float) -> None:
        """Finish the step whose logging was interrupted, so that the context stands where the log ends."""
        self._run.budget = 0
        while (reason := self._pl.pl_advance(self._run, until)) not in (self._pl.PL_DONE, self._pl.PL_PAUSE):
            self._serve(reason)

    def _serve(self, reason: int) -> None:
        """Do what the runtime asked for."""
        run = self._run
        if reason == self._pl.PL_FULL:
            self._log.rows.renew()
        elif reason == self._pl.PL_FULL_TICKS:
            self._log.samples[run.index][0].renew()
        elif reason == self._pl.PL_CALL:
            self.call(run.index)
        elif reason == self._pl.PL_FULL_EVENTS:
            self._log.events.grow()
        elif reason == self._pl.PL_FULL_HISTORY:
            self._leave_delays()
            self._enter_delays()
        else:
            raise self._failure(reason)

    def call(self, index: int) -> None:
        """Call the opaque block of an external segment."""
        segment, t = self.system.schedule[index], self._state.t
        python = self._interpreter or self._in_python()  # it needs no more of the context than its arrays
        python.workspace.put(t)
        python.workspace.last_good = self._run.last_good
        python.scheduler.take(segment, self._returned(segment), t)

    def _returned(self, segment: Segment) -> np.ndarray:
        return b.numbers(self._run.out, segment.expression.numel()).copy()

    def _failure(self, reason: int) -> BaseException:
        """The error of a run that cannot go on, in the words of the reference engine."""
        if (ended := self.instances.ended) is not None:
            return ended
        run, python, t, events = self._run, self._in_python(), self._state.t, self.system.events
        python.unknowns.horizon = run.horizon
        if reason == self._pl.PL_CANCELLED:
            return KeyboardInterrupt()
        if reason == self._pl.PL_COLLAPSED:
            return self._collapsed(python.stepper)
        if reason == self._pl.PL_NOT_FINITE and run.index == self._pl.PL_IN_STEP:
            method, x0, k, x1 = self._newest_step()
            return python.stepper.non_finite(method, run.t0, x0, run.h, k, x1)
        if reason == self._pl.PL_ENDLESS:
            return endless(self.system, self.counters, t, run.pace_since, run.until)
        if reason == self._pl.PL_UNMET:
            return python.invariants.apart(run.t1, run.index)
        if reason == self._pl.PL_NO_DELAY:
            python.unknowns.longest_step()  # says so
        if reason == self._pl.PL_NO_SOLUTION:
            return self._no_solution(python)
        if reason == self._pl.PL_NO_SIGN:
            return python.workspace.non_finite(t, events[run.index].place)
        if reason == self._pl.PL_CHATTERING:
            return python.events.endless(t, list(run.fired[0 : run.n_fired]))
        if reason == self._pl.PL_NO_LAST_ROUND:
            return python.scheduler.endless(self.system.schedule[run.index], t)
        if reason == self._pl.PL_UNSETTLED:
            looped = (k for k, s in enumerate(self.system.schedule) if s.repeated_by >= 0)
            repeated = [k for i, k in enumerate(looped) if run.loop_fired[i] == 2]
            return python.events.loops.unsettled(repeated, t)
        if reason == self._pl.PL_CONFLICT:
            return python.events.conflict(t, events[run.index].name, events[run.other].name)
        if run.index == self._pl.PL_IN_RESET:
            return python.workspace.non_finite(t, events[run.other].place, in_reset=True)
        if run.index >= 0:
            segment = self.system.schedule[run.index]
            python.scheduler.take(segment, self._returned(segment), t)
        return python.workspace.non_finite(t)

    def _collapsed(self, stepper: Stepper) -> SimulationError:
        """The error of a step that became too small."""
        run, t = self._run, self._state.t
        if run.value == 0.0:
            return stepper.collapsed(t, run.index, run.h)
        if isinstance(stepper, RosenbrockStepper):
            return stepper.gives_up(t, self._private(run.x0)[0], run.h, self._state.step)
        assert isinstance(stepper, AdaptiveStepper)  # others never reject
        _, x0, k, x1 = self._newest_step()
        return stepper.gives_up(t, x0, run.h, k, x1, run.value, run.index, self._state.step)

    def _newest_step(self) -> tuple[Tableau, np.ndarray, list[np.ndarray], np.ndarray]:
        """Method, start, stages and end of the newest step of an explicit method that was tried."""
        run, own, method = self._run, self._private, tableau(self.settings.solver)
        return method, own(run.x0)[0], [*own(run.k, method.stages)], own(run.x1)[0]

    def _no_solution(self, python: Interpreter) -> SimulationError:
        """A loop without a solution: found again in Python, which explains it."""
        run, t = self._run, self._run.unsolved_time
        python.workspace.put(t, self._private(run.unprojected)[0])
        python.unknowns.refresh()
        if run.unsolved_segment >= 0:
            python.unknowns.solve_tick(run.unsolved_segment, self.system.schedule[run.unsolved_segment], t)
        names = ", ".join(dict.fromkeys(sought.name for sought in self.system.loops))
        return SimulationError(f"no solution for {names} was found at t={t:.9g} s.", time=t)

    def _private(self, where: b.Structure, rows: int = 1) -> np.ndarray:
        """Rows of the runtime's own numbers, as long as the states."""
        n = len(self.context.x)
        return b.numbers(where, rows * n).copy().reshape(rows, n)

    def _in_python(self) -> Interpreter:
        """The parts of the reference engine on the same context, at the same time."""
        if self._interpreter is None:
            self._interpreter = interpreter(self.system, self.settings, self.context, self.counters)
        self._leave()
        self._interpreter.workspace.put(self._state.t)
        self._interpreter.workspace.last_good = self._run.last_good
        return self._interpreter

    def _enter(self) -> None:
        """Give the runtime what the context holds as plain Python numbers."""
        if self._host is not None:
            self._host.refresh()
        if self._sizes is not None:
            self._sizes.follow(self.context.p)
        c, s = self.context, self._state
        s.t, s.step, s.error, s.started = c.t, c.step, c.error, c.started
        s.stopped = self.system.stop_event(c.stopped)
        self._ticks[:] = c.ticks
        self._instants[:] = [c.instants[name] for name in self._lists]
        self._enter_delays()

    def _enter_delays(self) -> None:
        """The context's own histories, with room for more; its stops are copied."""
        c, s = self.context, self._state
        for k, (delay, past) in enumerate(zip(self.system.delays, self._histories, strict=False)):
            history = c.histories[delay.name]
            history.reserve(PIECES)
            if history.rows is not self._rows[k]:
                self._rows[k] = history.rows
                past.starts, past.ends, past.values = map(b.pointer, history.rows)
                past.capacity = len(history.rows[0])
            past.count = history.count
        if len(c.stops) + max(STOPS, len(self.system.delays)) > len(self._stops):
            self._stops = np.zeros(2 * (len(c.stops) + len(self._stops)))
        self._stops[: len(c.stops)] = c.stops
        s.stops, s.n_stops, s.stops_capacity = b.pointer(self._stops), len(c.stops), len(self._stops)

    def _leave_delays(self) -> None:
        c = self.context
        for delay, past in zip(self.system.delays, self._histories, strict=False):
            c.histories[delay.name].count = past.count
        c.stops = self._stops[: self._state.n_stops].tolist()

    def _leave(self) -> None:
        c, s, counted = self.context, self._state, self._run.counters
        c.t, c.step, c.error, c.started = s.t, s.step, s.error, bool(s.started)
        c.stopped = self.system.stops[s.stopped - 1] if s.stopped else ""
        c.ticks[:] = self._ticks.tolist()
        c.instants = dict(zip(self._lists, self._instants.tolist(), strict=True))
        self._leave_delays()
        self.counters.steps, self.counters.rejected = counted.steps, counted.rejected
        self.counters.evaluations, self.counters.events = counted.evaluations, counted.events
        self.counters.refused_by = int(counted.refused_by)
        self.counters.limited_by = {k: int(self._limited[k]) for k in self._limited.nonzero()[0].tolist()}

    @property
    def needs_python(self) -> str:
        """See `Engine.needs_python`."""
        s = self.system
        paths = [g.path for g in s.schedule if g.external is not None]
        listed = [f"'{path}'" for path in dict.fromkeys([*s.opaque, *paths])]
        more = f" and {len(listed) - 3} more" if len(listed) > 3 else ""
        return f"'{s.name}' has Python in it ({', '.join(listed[:3])}{more})" if listed else ""

    def run_starts(self, starts: Starts, first: int, end: int) -> None:
        """See `Engine.run_starts`."""
        if self.needs_python or math.isfinite(self.settings.wall_limit):
            super().run_starts(starts, first, end)
            return
        if self._starts is not starts:
            self.start_log(starts.names, starts.times)
            self._starts = starts
        batch = b.new("pl_batch")
        batch.until, batch.seed = starts.until, b.pointer(starts.seeds)
        batch.capacity = starts.rows.shape[1]
        for name in ("x", "h", "w", "p", "rows", "logged", "stopped", "ended"):
            setattr(batch, name, b.pointer(getattr(starts, name)))
        batch.reason = b.pointer(starts.state)
        self._log.only_rows()
        self._enter()
        while first < end:
            last = self._follow_sizes(starts, first, end)
            again = 0
            while (first := self._pl.pl_run_batch(self._run, batch, first, last, again)) < last:
                self._leave_delays()
                self._enter_delays()
                again = 1
            if self.cancelled:
                return

    def _follow_sizes(self, starts: Starts, first: int, end: int) -> int:
        """Take the sizes of states for run `first` of a batch; returns before which run they hold."""
        if self._sizes is None:
            return end
        self._sizes.follow(starts.p[first])
        given = starts.p[first:end, sized_by(self.system)]
        others = np.flatnonzero((given != given[0]).any(axis=1))
        return first + int(others[0]) if len(others) else end

    def cancel(self) -> None:
        """See `Engine.cancel`."""
        super().cancel()
        self._run.cancel = 1

    def next_stop(self) -> float:
        """See `Engine.next_stop`."""
        self._enter()
        return float(self._pl.pl_next_stop(self._run))

    @property
    def samples(self) -> list[tuple[Rows, list[str]]]:
        """Samples at the ticks of each rate, and their names."""
        return self._log.samples

    # --- log -------------------------------------------------------------------------------------
    def start_log(self, names: Sequence[str], times: np.ndarray | None) -> None:
        """See `Engine.start_log`."""
        self._log.start(names, times)

    def log_mark(self) -> Any:
        """See `Engine.log_mark`."""
        return self._log.mark()

    def log_back(self, mark: Any) -> None:
        """See `Engine.log_back`."""
        self._log.back(mark)

    def logged(self) -> Logged:
        """See `Engine.logged`."""
        return self._log.logged()

    def value(self, name: str) -> np.ndarray:
        """See `Engine.value`."""
        self.system.signal(name)
        self._enter()
        rows = Rows(self._code, [name], b.new("pl_buffer"))
        row = np.zeros(max(1, rows.buffer.width))
        with self.instances.answering(self._loses):
            self._pl.pl_evaluate_signals(self._run, rows.buffer, b.pointer(row))
            if (ended := self.instances.ended) is not None:
                raise ended
        return row[: rows.buffer.width]


def obstacles(system: System, settings: RunSettings) -> list[str]:
    """Features that this engine cannot run, in words."""
    found = [*system.derived.get("delays without code", lambda: _delays_in_python(system))]
    if settings.solver not in (*TABLEAUS, STIFF):
        found.append(f"solver '{settings.solver}' runs in Python")
    return found


def _delays_in_python(system: System) -> list[str]:
    return [
        f"'{d.name}' is a delay that depends on a delay or a loop"
        for d in system.delays
        if any(ca.which_depends(d.seconds, system.w, 1, False))
    ]
