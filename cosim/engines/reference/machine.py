"""A system with a context in readable Python over CasADi's virtual machine: evaluate, integrate, tick.

The rules of an instant are those of ARCHITECTURE.md, "What happens at a tick"; the numbers in the comments
of `Machine.tick` are its steps.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from blocks.errors import PlantloopError, SimulationError
from cosim.engines.engine import Counters
from cosim.engines.methods.jacobian import Jacobian
from cosim.engines.methods.solvers import STEPPERS
from cosim.engines.methods.steppers import AdaptiveMemory, Step, Stepper, pieces
from cosim.engines.native.host_calls import interrupted
from cosim.engines.reference.bound import Bound
from cosim.engines.reference.diagnose import explain
from cosim.engines.reference.draws import draw, stream
from cosim.engines.reference.events import Events
from cosim.engines.reference.unknowns import Unknowns
from cosim.run.context import Context
from cosim.settings import RunSettings
from cosim.system import Place, Segment, System

NOISE = 1e4  # times what the last digit of the state changes is no error of a step
EPSILON = float(np.finfo(float).eps)


class Machine:
    """A system with a context: evaluates, integrates, ticks.

    The listener is told of every accepted step and every instant; it logs.
    """

    def __init__(
        self, system: System, settings: RunSettings, context: Context, counters: Counters | None = None
    ) -> None:
        self.system, self.settings, self.context = system, settings, context
        self.counters = counters or Counters()
        c = context
        self.time = np.zeros(1)
        self.trial = c.x.copy()
        self._inner = inner = [self.time, self.trial, c.h, c.w, c.p]
        self._jacobian: Jacobian | None = None
        self.outer = [self.time, c.x, c.h, c.w, c.p]
        self._derivative = Bound(system.function("derivative", lambda: [system.derivative]), inner)
        self._segments = [
            (s, Bound(system.function(f"segment{k}", lambda s=s: [s.expression]), self.outer))  # type: ignore[misc]
            for k, s in enumerate(system.schedule)
        ]
        self._branches = any(s.rate < 0 for s in system.schedule)
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
        self.unknowns = Unknowns(self, inner, self.outer)
        self._substreams = {d.name: stream(d.name) for d in system.draws}
        self.events = Events(self)
        moving = ca.which_depends(system.accepted[0], ca.vertcat(system.t, system.w), 1, False)
        self._watched = bool(self.events.in_time or self.unknowns.delays or np.any(moving))
        self.memory = AdaptiveMemory(c.step, c.error)
        self.stepper: Stepper = STEPPERS[settings.solver](self)
        self.stepper.explain = self._explain
        self.stepper.noise = None if self._projection is None else self.noise
        self.time_of_last_good = 0.0

    # --- building --------------------------------------------------------------------------------
    def bind(self, name: str, make: Callable[[], list[ca.SX]]) -> Bound:
        """Bind a function of the system to the context."""
        return Bound(self.system.function(name, make), self.outer)

    def _discrete_places(self) -> list[np.ndarray]:
        places: dict[int, list[np.ndarray]] = defaultdict(list)
        for slot in self.system.held.values():
            if slot.kind == "discrete" and slot.rate is not None:
                places[slot.rate].append(slot.index)
        empty = np.zeros(0, dtype=int)
        return [np.concatenate([empty, *places[k]]) for k in range(len(self.system.rates))]

    def _bind_projection(self) -> tuple[Bound, Bound]:
        s = self.system
        invariants = self.bind("invariants", lambda: [s.invariants])
        return invariants, self.bind("correction", lambda: [s.correction])

    # --- evaluation ------------------------------------------------------------------------------
    def derivative(self, t: float, x: np.ndarray) -> np.ndarray:
        """x' at (t, x) with everything held as it is; a new array."""
        self.time[0] = t
        self.trial[:] = x
        self.unknowns.find(t, at_trial=True)
        return self._derivative().copy()

    def linearise(self, t: float, x: np.ndarray) -> tuple[Any, np.ndarray]:
        """Exact Jacobian (nx, nx) of the derivative, unknowns included, and its derivative in time (nx,)."""
        if self._jacobian is None:
            self._jacobian = Jacobian(self, self._inner)
        self.derivative(t, x)  # sets the trial point and its unknowns
        return self._jacobian()

    def fresh(self) -> None:
        """Bring w up to date with the time and states that bound functions see."""
        self.unknowns.find(float(self.time[0]), at_trial=False)

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
        if due or self._branches:
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
            if segment.rate in hits or segment.rate < 0:
                self.fresh()
                if segment.kind == "solve":
                    self.unknowns.solve_tick(k, segment, t)
                else:
                    self.take(segment, function(), t)

    def _draw(self, due: list[int]) -> None:
        c = self.context
        for d in self.system.draws:
            if d.rate in due:
                substream, size = self._substreams[d.name], len(d.places)
                c.h[d.places] = draw(d.distribution, size, self.settings.seed, substream, c.ticks[d.rate])

    def take(self, segment: Segment, value: np.ndarray, t: float) -> None:
        """Store what a segment's function returned, after calling the opaque block if it has one."""
        target = self.context.next if segment.kind == "update" else self.context.h
        if segment.external is not None:
            if not np.isfinite(value).all():
                raise self.non_finite(t, Place(f"{segment.path}.argument", segment.path))
            value = self._call(segment, value.copy(), t)
        finite = np.isfinite(value)
        if not finite.all():  # those before it are good, and what the signals behind it see
            bad = np.flatnonzero(~finite)
            target[segment.writes[: bad[0]]] = value[: bad[0]]
            raise self.non_finite(t, segment.place_of(int(bad[0]), self.system), value[bad[0]])
        target[segment.writes] = value

    def _call(self, segment: Segment, argument: np.ndarray, t: float) -> np.ndarray:
        """Call an opaque block; what goes wrong inside is told with its path."""
        assert segment.external is not None  # checked by the caller
        path, began = segment.path, time.perf_counter()
        try:
            given = segment.external.function(t, argument)
            value = np.zeros(0) if given is None else np.asarray(given, dtype=float).reshape(-1)
        except PlantloopError:
            raise
        except Exception as error:  # a user's function may raise anything
            raise SimulationError(
                f"the function of block '{path}' raised {type(error).__name__} at t={t:.9g} s: {error}.",
                path=path,
                time=t,
            ) from error
        finally:
            spent = self.counters.python
            spent[path] = spent.get(path, 0.0) + time.perf_counter() - began
        if value.size != len(segment.writes):
            raise SimulationError(
                f"the function of block '{path}' returned "
                f"{'None' if given is None else f'{value.size} values'} at t={t:.9g} s, expected "
                f"{len(segment.writes)}.",
                path=path,
                time=t,
                value=value,
                hint="Return as many numbers as the block's size says.",
            )
        return value

    def integrate(
        self, stop: float, listener: Callable[[Step], Any], ended: Callable[[float], Any]
    ) -> int | None:
        """Advance the continuous states to exactly `stop`, or to the first zero crossing before it.

        Parameters
        ----------
        listener : told of every accepted step while the context still stands at its start
        ended : told the time [s] at the end of each that met no crossing, where the context stands then

        Returns
        -------
        event : int or None     the crossing that was met; the context stands just behind it
        """
        self.unknowns.end = stop
        try:
            return self._integrate(stop, listener, ended)
        finally:
            self.unknowns.end = math.inf

    def _integrate(
        self, stop: float, listener: Callable[[Step], Any], ended: Callable[[float], Any]
    ) -> int | None:
        c = self.context
        self.stepper.limit = self.unknowns.longest_step()
        if not len(c.x):
            return self._walk(stop, listener, ended)
        self.memory.step, self.memory.error = c.step, c.error
        for step in self.stepper.integrate(c.t, c.x.copy(), stop):
            if self._projection is not None:
                self._project(step)
            c.step, c.error = self.memory.step, self.memory.error
            met = self._accept(step, listener, ended)
            if met is not None:
                return met
            self.stepper.limit = self.unknowns.longest_step()
        return None

    def _walk(
        self, stop: float, listener: Callable[[Step], Any], ended: Callable[[float], Any]
    ) -> int | None:
        """Without continuous states: one step, or pieces where something must be watched on the way."""
        c, begin, s = self.context, self.context.t, self.settings
        longest = math.inf
        if self._watched:
            longest = min(self.stepper.limit, s.max_step if math.isfinite(s.max_step) else s.step)
        n = pieces(begin, stop, longest)
        for k in range(n):
            t1 = stop if k == n - 1 else begin + (k + 1) * (stop - begin) / n
            met = self._accept(Step(c.t, t1, c.x, c.x, lambda _: c.x), listener, ended)
            if met is not None:
                return met
        return None

    def _accept(
        self, step: Step, listener: Callable[[Step], Any], ended: Callable[[float], Any]
    ) -> int | None:
        """Take a step over, up to the first crossing in it."""
        self.look_for_interrupt()
        met = None
        if self.events and (found := self.events.locate(step)) is not None:
            time, met = found
            if time < step.t1:
                step = Step(step.t0, time, step.x0, step.inside(time), step.inside)
        listener(step)
        self.unknowns.remember(step)
        self.put(step.t1, step.x1)
        self.time_of_last_good = step.t1
        self.fresh()
        self.unknowns.accept()
        self._refresh_accepted()
        if met is None:  # what a crossing does comes first
            ended(step.t1)
        return met

    def _refresh_accepted(self) -> None:
        if len(self._accepted_places):
            value = self._accepted()
            if not np.isfinite(value).all():
                raise self.non_finite(self.context.t)
            self.context.h[self._accepted_places] = value

    def begin(self) -> None:
        """Before the first instant: invariants hold; modes that depend on where the run starts."""
        expression, places = self.system.starting
        self.context.x[:] = self.on_invariants(self.context.t, self.context.x.copy())
        if len(places):
            start = self.bind("starting", lambda: [expression])
            for _ in range(len(places) + 1):  # one may depend on another
                self.fresh()
                before = self.context.h[places]
                self.context.h[places] = start()
                if np.array_equal(before, self.context.h[places]):
                    break

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
        self.unknowns.accept()
        self._refresh_accepted()

    def _project(self, step: Step) -> None:
        """Move the end of a step onto the invariants."""
        found = self.on_invariants(step.t1, step.x1)
        if found is not step.x1:
            step.x1 = found
            step.corrected = True

    def on_invariants(self, t: float, x: np.ndarray) -> np.ndarray:
        """States at which the invariants hold: x itself where they do to a tenth of their tolerance.

        Corrections are repeated until they hold and as long as it helps, at most eight times. The first
        round, and those far from holding, may make some worse.
        """
        if self._projection is None:
            return x
        invariants, correction = self._projection
        before = math.inf
        for k in range(8):
            self.put(t, x)
            worst = float((np.abs(invariants()) / self.system.tolerances).max())
            if not worst > (1.0 if k else 0.1) or worst >= before:  # held, not finite, or no better
                break
            before = worst if k and worst < 1e4 else math.inf
            x = x + correction()
        return x

    def noise(self, t: float, x: np.ndarray) -> np.ndarray:
        """What rounding makes of the state: how far it moves by its last digit and back onto the invariants.

        Near singular poses that is far, and an error estimate below it means nothing.
        """
        assert self._projection is not None  # asked for only where there are invariants
        correction = self._projection[1]
        digit = (np.arange(len(x), dtype=np.uint32) * np.uint32(2654435761)) >> np.uint32(31)
        beside = x * (1.0 + np.where(digit, EPSILON, -EPSILON))
        for _ in range(2):  # velocities follow the positions
            self.put(t, beside)
            beside = beside + correction()
        self.put(t, x)
        return NOISE * np.abs(beside - x)

    def look_for_interrupt(self) -> None:
        """Raise what is to end the run though it came where nothing may be raised."""
        if (ended := interrupted(self.system.calls)) is not None:
            raise ended

    def _explain(self, t: float, x: np.ndarray) -> SimulationError:
        self.put(t, x)
        self.fresh()
        return self.non_finite(t)

    def non_finite(self, t: float, place: Place | None = None, value: float = math.nan) -> SimulationError:
        """The error that names the block, the signal and the first bad term."""
        self.look_for_interrupt()
        return explain(self.system, self.outer, t, self.time_of_last_good, place, value)
