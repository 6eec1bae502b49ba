"""Zero crossings: signs, location on dense output, and the event iteration (semantics, section 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from blocks.contract.block import THRESHOLD
from blocks.errors import SimulationError
from cosim.engines.methods.steppers import Step
from cosim.result.record import Event
from cosim.run.history import CHECKS, NODES, interpolate
from cosim.system import System, pick

if TYPE_CHECKING:
    from cosim.engines.reference.machine import Machine

ROUNDS = 100


class Events:
    """Watches the crossings of a machine's system; the signs are part of the context."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.events = machine.system.events
        s = machine.system
        g = ca.vertcat(ca.SX(0, 1), *[e.crossing for e in self.events])
        self._g = machine.bind("crossings", lambda: [g])
        self._rate = machine.bind("crossing rates", lambda: [rate_along(g, s)])
        self._resets = [
            machine.bind(
                f"resets{k}",
                lambda e=e: [ca.vertcat(ca.SX(0, 1), *[v for _, _, v in e.resets])],  # type: ignore[misc]
            )
            for k, e in enumerate(self.events)
        ]
        self.in_time = move_in_time(s)
        self._threshold = thresholds(s)
        self._rest = np.array([float(e.rest) for e in self.events])
        self.be_patient()

    def be_patient(self) -> None:
        """Begin anew to count events that follow each other, as every advance does."""
        self._last = (-np.inf, 0)  # time of the newest event and how many there were at that time

    def __bool__(self) -> bool:
        return bool(self.events)

    def signs(self) -> tuple[np.ndarray, np.ndarray]:
        """Sign of every crossing, -1 or 1, and which are on the threshold and moving.

        By its value; on the threshold by where it moves, and at rest there as its event says.
        """
        self.machine.fresh()
        g = self._g().copy()
        signs = np.sign(g)
        on = np.abs(g) <= self._threshold
        if on.any():
            signs[on] = np.sign(self._rate()[on])
        moving = on & (signs != 0.0)
        signs = np.where(signs == 0.0, self._rest, signs)
        bad = np.flatnonzero(np.isnan(g) | np.isnan(signs))
        if len(bad):
            raise self.machine.non_finite(self.machine.context.t, self.events[bad[0]].place)
        return signs, moving

    def fired(self) -> list[int]:
        """Events due at this instant; their new signs are stored."""
        stored = self.machine.context.signs
        due = []
        signs, moving = self.signs()
        for k, (event, sign) in enumerate(zip(self.events, signs, strict=True)):
            if sign == stored[k]:
                continue
            armed = stored[k] != 0.0 or moving[k]  # 0: the start of a run, where only a crossing counts
            stored[k] = sign
            if armed and event.direction in (0, sign):
                due.append(k)
        return due

    def locate(self, step: Step) -> tuple[float, int] | None:
        """First crossing inside a step: its time and its event, None if there is none.

        Signs are looked at in quarters of a step, and, where crossings move with time past what the error
        control sees, in pieces that a quartic follows: two that are close to each other are not overlooked.
        """
        return self._search(step, step.t0, step.t1, 0)

    def _search(self, step: Step, t0: float, t1: float, depth: int) -> tuple[float, int] | None:
        if self.in_time and depth < 10 and not self._resolved(step, t0, t1):
            middle = 0.5 * (t0 + t1)
            return self._search(step, t0, middle, depth + 1) or self._search(step, middle, t1, depth + 1)
        stored = self.machine.context.signs
        low = t0
        for s in NODES[1:]:
            high = t1 if s == 1.0 else t0 + float(s) * (t1 - t0)
            self._put(step, high)
            signs, _ = self.signs()
            changed = np.flatnonzero(signs != stored)
            due = [int(k) for k in changed if self.events[k].direction in (0, signs[k])]
            if due:
                return min((self._root(step, k, signs[k], low, high), k) for k in due)
            stored[changed] = signs[changed]
            low = high
        return None

    def _put(self, step: Step, t: float) -> None:
        self.machine.put(t, step.x1 if t == step.t1 else step.inside(t))

    def _resolved(self, step: Step, t0: float, t1: float) -> bool:
        """Does a quartic through five points of a piece follow every crossing?"""

        def values(s: float) -> np.ndarray:
            self._put(step, t1 if s == 1.0 else t0 + s * (t1 - t0))
            self.machine.fresh()
            return self._g().copy()

        known = np.array([values(float(s)) for s in NODES])
        size = np.abs(known).max(axis=0)
        return not any((np.abs(interpolate(known, s) - values(s)) > 0.05 * size).any() for s in CHECKS)

    def _root(self, step: Step, k: int, sign: float, low: float, high: float) -> float:
        """Bisection to the last bit that matters; the end that has crossed, to `sign`, is returned."""
        for _ in range(80):
            middle = 0.5 * (low + high)
            if not low < middle < high or high - low <= 1e-15 * max(1.0, abs(high)):
                break
            self.machine.put(middle, step.inside(middle))
            self.machine.fresh()
            if self._g()[k] * sign > 0.0:
                high = middle
            else:
                low = middle
        return high

    def settle(self, t: float, happened: list[Event], located: int | None = None) -> None:
        """Event iteration at an instant: resets until no sign changes; each round is added to `happened`.

        A crossing that was `located` but neither moves on nor counts as crossed only costs patience.

        Raises
        ------
        SimulationError     two resets of one state at once, or no end after a hundred rounds
        """
        due = self.fired()
        if located is not None and not due and self._no_progress(t):
            raise self.endless(t, [located])
        rounds = 0
        while due:
            rounds += 1
            if rounds > ROUNDS or self._no_progress(t):
                raise self.endless(t, due)
            happened += self._apply(t, due)
            self.machine.after_event()
            due = self.fired()

    def _no_progress(self, t: float) -> bool:
        time, count = self._last
        count = count + 1 if abs(t - time) <= 1e-12 * max(1.0, abs(t)) else 1
        self._last = (t if count == 1 else time, count)
        return count > ROUNDS

    def endless(self, t: float, due: list[int]) -> SimulationError:
        """The error about events that follow each other without end."""
        names = ", ".join(f"'{self.events[k].name}'" for k in due)
        return SimulationError(
            f"events follow each other without end at t={t:.9g} s (chattering or Zeno): {names}.",
            path=self.events[due[0]].path,
            time=t,
            hint="Add hysteresis, a dead zone or a rest state, so that the event disarms itself.",
        )

    def _apply(self, t: float, due: list[int]) -> list[Event]:
        """All resets that are due, from the values before any of them."""
        machine, c = self.machine, self.machine.context
        machine.fresh()
        values = [self._resets[k]().copy() for k in due]
        before = [self._targets(k) for k in due]
        owner: dict[tuple[str, int], str] = {}
        for k, found in zip(due, values, strict=True):
            event, start = self.events[k], 0
            if event.stop and not c.stopped:
                c.stopped = event.stop
            for vector, places, _ in event.resets:
                for place in places:
                    other = owner.setdefault((vector, int(place)), event.name)
                    if other != event.name:
                        raise self.conflict(t, event.name, other)
                target = c.x if vector == "x" else c.h
                target[places] = found[start : start + len(places)]
                start += len(places)
            c.next[event.discrete] = c.h[event.discrete]
            if not np.isfinite(found).all():
                raise machine.non_finite(t, event.place)
        machine.counters.events += len(due)
        return [
            Event(t, self.events[k].name, old, self._targets(k)) for k, old in zip(due, before, strict=True)
        ]

    def _targets(self, k: int) -> dict[str, Any]:
        c, event = self.machine.context, self.events[k]
        return {
            name: tuple((c.x if vector == "x" else c.h)[places].tolist())
            for name, (vector, places, _) in zip(event.targets, event.resets, strict=True)
        }

    @staticmethod
    def conflict(t: float, first: str, second: str) -> SimulationError:
        """The error about two events that reset one state."""
        return SimulationError(
            f"'{first}' and '{second}' reset one state at the same instant t={t:.9g} s.",
            path=first,
            time=t,
            hint="Let one event do both, or make their conditions exclude each other.",
        )


def move_in_time(s: System) -> bool:
    """Do crossings move with time past what the error control sees?"""
    g = ca.vertcat(ca.SX(0, 1), *[e.crossing for e in s.events])
    return bool(s.events) and bool(np.any(ca.which_depends(g, ca.vertcat(s.t, s.w), 1, False)))


def thresholds(s: System) -> np.ndarray:
    """How close to zero a crossing counts as on the threshold, where its rate of change decides.

    Zero for those of delayed signals: how they move is not known.
    """
    places = np.concatenate([np.zeros(0, int), *[d.places for d in s.delays]])
    found = np.full(len(s.events), THRESHOLD)
    for k, event in enumerate(s.events):
        if len(places) and any(ca.which_depends(event.crossing, pick(s.w, places), 1, False)):
            found[k] = 0.0
    return found


def rate_along(g: ca.SX, s: System) -> ca.SX:
    """dg/dt along the right-hand side, algebraic unknowns moving with it; delayed signals are at rest."""
    rate = ca.jtimes(g, s.x, s.derivative) + ca.jtimes(g, s.t, ca.SX(1))
    n = s.residual.numel()
    if n == 0:
        return rate
    z = s.w[:n]
    r = s.residual
    drift = ca.jtimes(r, s.x, s.derivative) + ca.jtimes(r, s.t, ca.SX(1))
    return rate - ca.mtimes(ca.jacobian(g, z), ca.solve(ca.jacobian(r, z), drift))
