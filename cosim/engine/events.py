"""Zero crossings: signs, location on dense output, and the event iteration (semantics, section 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from blocks.errors import SimulationError
from cosim.engine.steppers import Step
from cosim.result import Event

if TYPE_CHECKING:
    from cosim.engine.machine import Machine

THRESHOLD = 1e-10  # |g| up to this counts as on the threshold
ROUNDS = 100


class Events:
    """Watches the crossings of a machine's system; the signs are part of the context."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.events = machine.system.events
        s = machine.system
        g = ca.vertcat(ca.SX(0, 1), *[e.crossing for e in self.events])
        self._g = machine.bind("crossings", lambda: [g])
        self._rate = machine.bind(
            "crossing rates",
            lambda: [ca.jtimes(g, s.x, s.derivative) + ca.jtimes(g, s.t, ca.SX(1))],
        )
        self._resets = [
            machine.bind(
                f"resets{k}",
                lambda e=e: [ca.vertcat(ca.SX(0, 1), *[v for _, _, v in e.resets])],  # type: ignore[misc]
            )
            for k, e in enumerate(self.events)
        ]
        self._last = (-np.inf, 0)  # time of the newest event and how many there were at that time

    def __bool__(self) -> bool:
        return bool(self.events)

    def signs(self) -> np.ndarray:
        """Sign of every crossing: by its value, on the threshold by where it moves (0: nowhere)."""
        self.machine.fresh()
        g = self._g().copy()
        signs = np.sign(g)
        on = np.abs(g) <= THRESHOLD
        if on.any():
            signs[on] = np.sign(self._rate()[on])
        return signs

    def fired(self) -> list[int]:
        """Events due at this instant; their new signs are stored."""
        stored = self.machine.context.signs
        due = []
        for k, (event, sign) in enumerate(zip(self.events, self.signs(), strict=True)):
            if sign == 0.0 or sign == stored[k]:
                continue
            if stored[k] == 0.0 and not self._on_threshold(k):  # the start of a run, away from the threshold
                stored[k] = sign
                continue
            stored[k] = sign
            if event.direction in (0, sign):
                due.append(k)
        return due

    def _on_threshold(self, k: int) -> bool:
        return bool(abs(self._g()[k]) <= THRESHOLD)

    def locate(self, step: Step) -> tuple[float, int] | None:
        """First crossing inside a step: its time and its event, None if there is none."""
        stored = self.machine.context.signs
        self.machine.put(step.t1, step.x1)
        signs = self.signs()
        changed = np.flatnonzero((signs != 0.0) & (signs != stored))
        due = [int(k) for k in changed if self.events[k].direction in (0, signs[k])]
        if due:
            return min((self._root(step, k), k) for k in due)
        stored[changed] = signs[changed]
        return None

    def _root(self, step: Step, k: int) -> float:
        """Bisection to the last bit that matters; the end that has crossed is returned."""
        sign = -self.machine.context.signs[k] if self.machine.context.signs[k] else 1.0
        low, high = step.t0, step.t1
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

    def settle(self, t: float, located: int | None = None) -> list[Event]:
        """Event iteration at an instant: resets until no sign changes.

        A crossing that was `located` but neither moves on nor counts as crossed only costs patience.

        Raises
        ------
        SimulationError     two resets of one state at once, or no end after a hundred rounds
        """
        happened: list[Event] = []
        due = self.fired()
        if located is not None and not due and self._no_progress(t):
            raise self._endless(t, [located])
        rounds = 0
        while due:
            rounds += 1
            if rounds > ROUNDS or self._no_progress(t):
                raise self._endless(t, due)
            happened += self._apply(t, due)
            self.machine.after_event()
            due = self.fired()
        return happened

    def _no_progress(self, t: float) -> bool:
        time, count = self._last
        count = count + 1 if t - time <= 1e-12 * max(1.0, abs(t)) else 1
        self._last = (t if count == 1 else time, count)
        return count > ROUNDS

    def _endless(self, t: float, due: list[int]) -> SimulationError:
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
            if event.stop and not machine.stopped:
                machine.stopped = event.stop
            for vector, places, _ in event.resets:
                for place in places:
                    other = owner.setdefault((vector, int(place)), event.name)
                    if other != event.name:
                        raise self._conflict(t, event.name, other)
                target = c.x if vector == "x" else c.h
                target[places] = found[start : start + len(places)]
                start += len(places)
            c.next[event.discrete] = c.h[event.discrete]
            if not np.isfinite(found).all():
                raise machine.non_finite(t, event.name)
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
    def _conflict(t: float, first: str, second: str) -> SimulationError:
        return SimulationError(
            f"'{first}' and '{second}' reset one state at the same instant t={t:.9g} s.",
            path=first,
            time=t,
            hint="Let one event do both, or make their conditions exclude each other.",
        )
