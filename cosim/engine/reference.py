"""The reference engine: walks the schedule in readable Python over CasADi's virtual machine.

The rules of an instant are those of ARCHITECTURE.md, "What happens at a tick"; the numbers in the comments
of `Machine.tick` are its steps.
"""

from __future__ import annotations

import bisect
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np

from blocks.errors import PlantloopError, SimulationError
from cosim.context import Context
from cosim.engine.diagnose import explain
from cosim.engine.draws import draw, stream
from cosim.engine.engine import Counters, Engine, Logged, SolverSettings
from cosim.engine.events import Events
from cosim.engine.history import NODES
from cosim.engine.log import Log
from cosim.engine.steppers import AdaptiveMemory, AdaptiveStepper, FixedStepper, Step, Stepper
from cosim.engine.tableau import tableau
from cosim.engine.unknowns import newton
from cosim.system import Delay, Segment, System, pick


class Bound:
    """A function of the system bound to fixed arrays: calling it costs no conversions."""

    def __init__(self, function: ca.Function, arguments: list[np.ndarray]) -> None:
        self.outputs = [np.zeros(function.nnz_out(k)) for k in range(function.n_out())]
        self._buffer, self._evaluate = function.buffer()
        for k, array in enumerate(arguments):
            if array.size:
                self._buffer.set_arg(k, memoryview(array))  # type: ignore[call-arg, arg-type]
        for k, array in enumerate(self.outputs):
            if array.size:
                self._buffer.set_res(k, memoryview(array))  # type: ignore[call-arg, arg-type]
        self._arguments = arguments  # the buffer only holds pointers

    def __call__(self) -> np.ndarray:
        """Evaluate; returns the first output, overwritten by the next call."""
        self._evaluate()
        return self.outputs[0]


class Machine:
    """A system with a context: evaluates, integrates, ticks.

    The listener is told of every accepted step and every instant; it logs.
    """

    def __init__(
        self, system: System, settings: SolverSettings, context: Context, counters: Counters | None = None
    ) -> None:
        self.system, self.settings, self.context = system, settings, context
        self.counters = counters or Counters()
        c = context
        self.time = np.zeros(1)
        self.trial = c.x.copy()
        inner = [self.time, self.trial, c.h, c.w, c.p]
        self.outer = [self.time, c.x, c.h, c.w, c.p]
        self._derivative = Bound(system.function("derivative", lambda: [system.derivative]), inner)
        self._segments = [
            (s, Bound(system.function(f"segment{k}", lambda s=s: [s.expression]), self.outer))  # type: ignore[misc]
            for k, s in enumerate(system.schedule)
        ]
        self._accepted = self.bind("accepted", lambda: [system.accepted[0]])
        self._accepted_places = system.accepted[1]
        self._projection = self._bind_projection() if system.invariants.numel() else None
        grid = system.grid
        self._grid = grid
        self._first = [int(r.offset * grid) for r in system.rates]
        self._period = [int(r.period * grid) for r in system.rates]
        self._discrete = self._discrete_places()
        self._instants = sorted(
            (float(t), name, int(slot.index[0]))
            for name, slot in system.held.items()
            if slot.kind == "instants"
            for t in slot.times
        )
        self.stopped = ""  # message of the stop event that ended the run
        self._nz = system.residual.numel()
        self._solves = [self._bind_residual(arguments) for arguments in (inner, self.outer)]
        self._delayed = [(d, *self._bind_delay(d)) for d in system.delays]
        self._loops = self._bind_loops()
        self._substreams = {d.name: stream(d.name) for d in system.draws}
        self.events = Events(self)
        self.memory = AdaptiveMemory(c.step, c.error)
        self.stepper = self._make_stepper()
        self.time_of_last_good = 0.0

    # --- building --------------------------------------------------------------------------------
    def bind(self, name: str, make: Callable[[], list[ca.SX]]) -> Bound:
        """Bind a function of the system to the context."""
        return Bound(self.system.function(name, make), self.outer)

    def _make_stepper(self) -> Stepper:
        s, method = self.settings, tableau(self.settings.solver)
        if not method.adaptive:
            return FixedStepper(self.derivative, self.counters, method, s.step)
        states = self.system.states.values()
        nominal = [np.full(slot.size, slot.memory.nominal) for slot in states if slot.memory]
        atol = s.atol * np.concatenate([np.zeros(0), *nominal])
        return AdaptiveStepper(
            self.derivative,
            self.counters,
            method,
            s.rtol,
            atol,
            s.max_step,
            self.memory,
            self.system.state_name,
        )

    def _discrete_places(self) -> list[np.ndarray]:
        places: dict[int, list[np.ndarray]] = defaultdict(list)
        for slot in self.system.held.values():
            if slot.kind == "discrete" and slot.rate is not None:
                places[slot.rate].append(slot.index)
        empty = np.zeros(0, dtype=int)
        return [np.concatenate([empty, *places[k]]) for k in range(len(self.system.rates))]

    def _bind_projection(self) -> Bound:
        s = self.system
        return self.bind("invariants", lambda: [s.invariants, ca.densify(ca.jacobian(s.invariants, s.x))])

    def _bind_residual(self, arguments: list[np.ndarray]) -> Bound:
        s = self.system
        z = s.w[: self._nz]
        return Bound(s.function("residual", lambda: [s.residual, ca.jacobian(s.residual, z)]), arguments)

    def _bind_delay(self, delay: Delay) -> tuple[Bound, Bound]:
        signal = self.bind(f"delayed signal {delay.name}", lambda: [delay.signal])
        return signal, self.bind(f"delay {delay.name}", lambda: [delay.seconds])

    def _bind_loops(self) -> dict[int, Bound]:
        """For each loop at a tick: mismatch and Jacobian, by its places in h and the unknowns of w."""
        s, found = self.system, {}
        for k, segment in enumerate(s.schedule):
            if segment.kind == "solve":
                unknowns = ca.vertcat(pick(s.h, segment.writes), s.w[: self._nz])
                mismatch = ca.vertcat(segment.expression - pick(s.h, segment.writes), s.residual)
                found[k] = self.bind(f"loop{k}", lambda r=mismatch, u=unknowns: [r, ca.jacobian(r, u)])  # type: ignore[misc]
        return found

    # --- evaluation ------------------------------------------------------------------------------
    def derivative(self, t: float, x: np.ndarray) -> np.ndarray:
        """x' at (t, x) with everything held as it is; a new array."""
        self.time[0] = t
        self.trial[:] = x
        if len(self.context.w):
            self._find_w(t, self._solves[0])
        return self._derivative().copy()

    def fresh(self) -> None:
        """Bring w up to date with the time and states that bound functions see."""
        if len(self.context.w):
            self._find_w(float(self.time[0]), self._solves[1])

    def _find_w(self, t: float, solve: Bound) -> None:
        """Delayed signals from their history, then the algebraic unknowns."""
        c = self.context
        for delay, _, seconds in self._delayed:
            c.w[delay.places] = c.histories[delay.name].at(t - float(seconds()[0]))
        if self._nz:
            c.w[: self._nz] = c.solution

            def residual() -> tuple[np.ndarray, np.ndarray]:
                value = solve().copy()
                return value, solve.outputs[1].reshape(self._nz, self._nz).T

            newton(residual, c.w, np.arange(self._nz), self.system.loops, t)

    def put(self, t: float, x: np.ndarray | None = None) -> None:
        """Set the time (and continuous states) that bound functions see."""
        self.time[0] = t
        self.context.t = t
        if x is not None:
            self.context.x[:] = x

    # --- time ------------------------------------------------------------------------------------
    def next_stop(self) -> float:
        """Time of the next tick or listed instant [s]; inf if there is none."""
        position = min(self._tick_positions(), default=None)
        stop = math.inf if position is None else position / self._grid
        done = sum(self.context.instants.values())
        if done < len(self._instants):
            stop = min(stop, self._instants[done][0])
        stops = self.context.stops
        while stops and stops[0] <= self.context.t:
            stops.pop(0)
        return min(stop, stops[0]) if stops else stop

    def _tick_positions(self) -> list[int]:
        return [
            first + k * period
            for first, k, period in zip(self._first, self.context.ticks, self._period, strict=True)
        ]

    def settle(self, t: float) -> list[int]:
        """Everything that happens at instant t itself; returns the rates that ticked."""
        self.put(t)
        self._pass_instants(t)
        self.fresh()
        due = [k for k, n in enumerate(self._tick_positions()) if n / self._grid <= t]
        if due:
            self.tick(t, due)
        return due

    def _pass_instants(self, t: float) -> None:
        done = sum(self.context.instants.values())
        while done < len(self._instants) and self._instants[done][0] <= t:
            _, name, place = self._instants[done]
            self.context.h[place] += 1
            self.context.instants[name] += 1
            done += 1

    def tick(self, t: float, due: list[int]) -> None:
        """One instant at which the rates `due` hit."""
        c = self.context
        for k in due:  # 2. next becomes current
            time_place, count_place, fresh_place = self.system.tick_slots[k]
            c.ticks[k] += 1
            c.h[time_place] = t
            c.h[count_place] = c.ticks[k]
            c.h[fresh_place] += 1
            c.h[self._discrete[k]] = c.next[self._discrete[k]]
        self._draw(due)
        hits = set(due)
        for k, (segment, function) in enumerate(self._segments):  # 3. output phase, then 4. update phase
            if segment.rate in hits:
                self.fresh()
                if segment.kind == "solve":
                    self._solve(k, segment, t)
                else:
                    self._run(segment, function, t)

    def _draw(self, due: list[int]) -> None:
        c = self.context
        for d in self.system.draws:
            if d.rate in due:
                substream, size = self._substreams[d.name], len(d.places)
                c.h[d.places] = draw(d.distribution, size, self.settings.seed, substream, c.ticks[d.rate])

    def _solve(self, k: int, segment: Segment, t: float) -> None:
        """Sampled memories that depend on themselves, together with the unknowns of w."""
        c, loop = self.context, self._loops[k]
        n = len(segment.writes)
        unknowns = np.concatenate([c.h[segment.writes], c.w[: self._nz]])

        def residual() -> tuple[np.ndarray, np.ndarray]:
            c.h[segment.writes], c.w[: self._nz] = unknowns[:n], unknowns[n:]
            value = loop().copy()
            return value, loop.outputs[1].reshape(len(unknowns), len(unknowns)).T

        newton(residual, unknowns, np.arange(len(unknowns)), [*segment.names, *self.system.loops], t)
        residual()

    def _run(self, segment: Segment, function: Bound, t: float) -> None:
        target = self.context.next if segment.kind == "update" else self.context.h
        value = function()
        if segment.external is not None:
            value = self._call(segment, value.copy(), t)
        if not np.isfinite(value).all():
            raise self.non_finite(t, segment.names)
        target[segment.writes] = value

    def _call(self, segment: Segment, argument: np.ndarray, t: float) -> np.ndarray:
        """Call an opaque block; what goes wrong inside is told with its path."""
        assert segment.external is not None  # checked by the caller
        path = segment.path
        try:
            value = np.ravel(np.asarray(segment.external.function(t, argument), dtype=float))
        except PlantloopError:
            raise
        except Exception as error:  # a user's function may raise anything
            raise SimulationError(
                f"the function of block '{path}' raised {type(error).__name__} at t={t:.9g} s: {error}.",
                path=path,
                time=t,
            ) from error
        if value.size != len(segment.writes):
            raise SimulationError(
                f"the function of block '{path}' returned {value.size} values at t={t:.9g} s, expected "
                f"{len(segment.writes)}.",
                path=path,
                time=t,
                value=value,
                hint="Return as many numbers as the block's size says.",
            )
        return value

    def integrate(self, stop: float, listener: Callable[[Step], Any]) -> int | None:
        """Advance the continuous states to exactly `stop`, or to the first zero crossing before it.

        Returns
        -------
        event : int or None     the crossing that was met; the context stands just behind it
        """
        c = self.context
        if not len(c.x):
            step = Step(c.t, stop, c.x, c.x, lambda _: c.x)
            return self._accept(step, listener)
        self._bound_step()
        self.memory.step, self.memory.error = c.step, c.error
        for step in self.stepper.integrate(c.t, c.x.copy(), stop):
            if not np.isfinite(step.x1).all():
                self.put(step.t1, step.x1)
                raise self.non_finite(step.t1, ())
            if self._projection is not None:
                self._project(step)
            c.step, c.error = self.memory.step, self.memory.error
            met = self._accept(step, listener)
            if met is not None:
                return met
            self._bound_step()
        return None

    def _accept(self, step: Step, listener: Callable[[Step], Any]) -> int | None:
        """Take a step over, up to the first crossing in it."""
        c = self.context
        met = None
        if self.events and (found := self.events.locate(step)) is not None:
            time, met = found
            if time < step.t1:
                step = Step(step.t0, time, step.x0, step.inside(time), step.inside)
        listener(step)
        for delay, signal, seconds in self._delayed:
            self._remember(step, delay, signal, float(seconds()[0]))
        self.put(step.t1, step.x1)
        self.time_of_last_good = step.t1
        self.fresh()
        c.solution[:] = c.w[: self._nz]
        self._refresh_accepted()
        return met

    def _remember(self, step: Step, delay: Delay, signal: Bound, seconds: float) -> None:
        """Keep a delayed signal's course over a step; where it jumped, the delayed jump is a stop."""
        c, history = self.context, self.context.histories[delay.name]
        values = []
        for s in NODES:
            t = step.t0 + s * (step.t1 - step.t0) if s < 1.0 else step.t1
            self.put(t, step.inside(t) if 0.0 < s < 1.0 else (step.x0, step.x1)[int(s)])
            self.fresh()
            values.append(signal().copy())
        jump = history.add(step.t0, step.t1, np.array(values))
        if jump > 1e-12 * (1.0 + float(np.abs(values[0]).max())):
            bisect.insort(c.stops, step.t0 + seconds)
        history.forget(step.t1 - 2 * seconds)

    def _bound_step(self) -> None:
        """No step is longer than the shortest delay, so that the past it reads is known."""
        if self._delayed:
            self.fresh()
            shortest = min(float(seconds()[0]) for _, _, seconds in self._delayed)
            if not shortest > 0.0:
                names = ", ".join(repr(d.name) for d, _, _ in self._delayed)
                raise SimulationError(
                    f"delay of {shortest:g} s at t={self.context.t:.9g} s, expected a positive time: {names}.",
                    time=self.context.t,
                )
            self.stepper.limit = shortest

    def _refresh_accepted(self) -> None:
        if len(self._accepted_places):
            value = self._accepted()
            if not np.isfinite(value).all():
                raise self.non_finite(self.context.t, ())
            self.context.h[self._accepted_places] = value

    def begin(self) -> None:
        """Before the first instant: modes that depend on where the run starts."""
        expression, places = self.system.starting
        if len(places):
            start = self.bind("starting", lambda: [expression])
            for _ in range(2):  # one may depend on another
                self.fresh()
                self.context.h[places] = start()

    def after_event(self) -> None:
        """Resets were applied: holds and step size control start anew, invariants and loops hold again."""
        c = self.context
        for *_, fresh_place in self.system.tick_slots:
            c.h[fresh_place] = min(c.h[fresh_place], 1.0)
        c.step, c.error = 0.0, 1e-4
        self.put(c.t, c.x)
        if self._projection is not None:
            step = Step(c.t, c.t, c.x, c.x.copy(), lambda _: c.x)
            self._project(step)
            c.x[:] = step.x1
        self.fresh()
        c.solution[:] = c.w[: self._nz]
        self._refresh_accepted()

    def _project(self, step: Step) -> None:
        """Move the end of a step onto the invariants: least change, Gauss-Newton, at most five rounds."""
        projection = self._projection
        assert projection is not None  # checked by the caller
        for _ in range(5):
            self.put(step.t1, step.x1)
            residual = projection()
            if np.abs(residual).max() <= 1e-14:
                return
            jacobian = projection.outputs[1].reshape(len(step.x1), len(residual)).T
            correction = np.linalg.lstsq(jacobian, residual, rcond=None)[0]
            step.x1 = step.x1 - correction
            step.corrected = True

    def non_finite(self, t: float, names: tuple[str, ...]) -> SimulationError:
        """The error that names the block, the signal and the first bad term."""
        return explain(self.system, self.outer, t, self.time_of_last_good, names)


class ReferenceEngine(Engine):
    """Drives a `Machine` from stop to stop and keeps its log."""

    name = "reference"

    def __init__(self, system: System, settings: SolverSettings, context: Context) -> None:
        super().__init__(system, settings, context)
        self.machine = Machine(system, settings, context, self.counters)
        self._log = Log(self.machine, [], np.zeros(0))

    def advance(self, until: float, progress: Callable[[float], None] | None = None) -> None:
        """See `Engine.advance`."""
        self._start()
        while self.context.t < until and not self.stopped:
            self._to(min(until, self.machine.next_stop()))
            if progress is not None:
                progress(self.context.t)

    def _start(self) -> None:
        c = self.context
        if not c.started:
            c.started = True
            self.machine.begin()
            self._instant(c.t)

    def _to(self, stop: float) -> None:
        """One stretch without jumps, then everything that happens at its end."""
        machine = self.machine

        def accepted(step: Step) -> None:
            self._log.step(step)
            if step.t1 < stop:
                machine.put(step.t1, step.x1)
                machine.fresh()
                self._log.end_of_step(step.t1)

        started = self.context.t
        event = machine.integrate(stop, accepted)
        t = self.context.t
        if event is not None:
            if stop - t <= 1e-12 * (stop - started):
                machine.put(stop)
            self._log.events += machine.events.settle(self.context.t, event)
        self._instant(self.context.t)

    def _instant(self, t: float) -> None:
        """Ticks and instants at t, then the events they cause; then log."""
        machine = self.machine
        due = machine.settle(t)
        if machine.events:
            self._log.events += machine.events.settle(t)
        machine.fresh()
        self.stopped = machine.stopped
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
        self.machine.put(self.context.t)
        self.machine.fresh()
        return self.machine.bind(f"signal:{name}", lambda: [expression])().copy()
