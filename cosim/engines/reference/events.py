"""Events: the resets of crossings that fired, until no sign changes any more (semantics, section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from blocks.errors import SimulationError
from cosim.engines.reference.crossings import Crossings
from cosim.engines.reference.restart import Restart
from cosim.engines.reference.unknowns import Unknowns
from cosim.engines.reference.workspace import Workspace
from cosim.result.record import Event

ROUNDS = 100


@dataclass
class Repetition:
    """How many events followed each other at one time; every advance begins a new count."""

    time: float = -np.inf
    count: int = 0

    def endless(self, t: float) -> bool:
        """Count one more at time t [s]; True if there were too many."""
        if abs(t - self.time) <= 1e-12 * max(1.0, abs(t)):
            self.count += 1
        else:
            self.time, self.count = t, 1
        return self.count > ROUNDS


class Events:
    """Applies resets."""

    def __init__(
        self, workspace: Workspace, unknowns: Unknowns, crossings: Crossings, restart: Restart
    ) -> None:
        self.workspace, self.unknowns, self.crossings, self.restart = workspace, unknowns, crossings, restart
        self.events = workspace.system.events
        self._resets = [
            workspace.bind(
                f"resets{k}",
                lambda e=e: [ca.vertcat(ca.SX(0, 1), *[v for _, _, v in e.resets])],  # type: ignore[misc]
            )
            for k, e in enumerate(self.events)
        ]

    def iterate(
        self, t: float, happened: list[Event], repetition: Repetition, located: int | None = None
    ) -> None:
        """Event iteration at an instant: resets until no sign changes; each round is added to `happened`.

        A crossing that was `located` but neither moves on nor counts as crossed is counted as a repetition.

        Raises
        ------
        SimulationError     two resets of one state at once, or no end after a hundred rounds
        """
        due = self.crossings.fired()
        if located is not None and not due and repetition.endless(t):
            raise self.endless(t, [located])
        rounds = 0
        while due:
            rounds += 1
            if rounds > ROUNDS or repetition.endless(t):
                raise self.endless(t, due)
            happened += self._apply(t, due)
            self.restart.after_event()
            due = self.crossings.fired()

    def endless(self, t: float, due: list[int]) -> SimulationError:
        """The error about events that follow each other without end."""
        names = ", ".join(f"'{self.events[k].name}'" for k in due)
        return SimulationError(
            f"events follow each other without end at t={t:.9g} s (chattering or Zeno): {names}.",
            path=self.events[due[0]].path,
            time=t,
            hint="Add hysteresis, a dead zone or a rest state, so that the event disarms itself; an event of "
            'one way only, as a bounce on the way down, says so: b.when(..., direction="falling").',
        )

    def _apply(self, t: float, due: list[int]) -> list[Event]:
        """All resets that are due, from the values before any of them."""
        workspace, c = self.workspace, self.workspace.context
        self.unknowns.refresh()
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
                raise workspace.non_finite(t, event.place)
        workspace.counters.events += len(due)
        return [
            Event(t, self.events[k].name, old, self._targets(k)) for k, old in zip(due, before, strict=True)
        ]

    def _targets(self, k: int) -> dict[str, Any]:
        c, event = self.workspace.context, self.events[k]
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
