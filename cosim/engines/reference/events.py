"""Events: the resets of crossings that fired, until no sign changes any more (ARCHITECTURE.md, "Events")."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import casadi as ca
import numpy as np

from blocks.errors import SimulationError
from cosim.engines.reference.crossings import Crossings, Part
from cosim.engines.reference.event_loops import EventLoops
from cosim.engines.reference.restart import Restart
from cosim.engines.reference.unknowns import Unknowns
from cosim.engines.reference.workspace import Workspace
from cosim.result.record import Event

ROUNDS, REPEATS = 100, 1000
WINDOW = 1e-9  # of the time still to go: REPEATS rounds of events within it do not end


class Repetition:
    """How events follow each other on the way to `until` [s]; every advance begins a new count."""

    def __init__(self, until: float, crossings: Crossings) -> None:
        self._until, self._crossings = until, crossings
        self._since, self._dense = np.nan, 0
        self._idle = np.zeros(len(crossings.events), dtype=int)
        crossings.begin()

    def endless(self, t: float, due: list[int]) -> bool:
        """Count one more round at time t [s]; True if they follow each other without end.

        Either time hardly goes on, or a crossing comes back to zero again and again without ever having left
        its threshold.
        """
        if t - self._since <= WINDOW * (self._until - self._since):
            self._dense += 1
        else:
            self._since, self._dense = t, 1
        if due:
            self._idle[due] = np.where(self._crossings.idle(due), self._idle[due] + 1, 0)
        return self._dense > REPEATS or bool((self._idle > REPEATS).any())


class Events:
    """Applies resets."""

    def __init__(
        self, workspace: Workspace, unknowns: Unknowns, crossings: Crossings, restart: Restart
    ) -> None:
        self.workspace, self.unknowns, self.crossings, self.restart = workspace, unknowns, crossings, restart
        self.loops = EventLoops(workspace, unknowns)
        self.events = workspace.system.events
        self._resets = [
            workspace.bind(
                f"resets{k}",
                lambda e=e: [ca.vertcat(ca.SX(0, 1), *[v for _, _, v in e.resets])],  # type: ignore[misc]
            )
            for k, e in enumerate(self.events)
        ]

    def iterate(
        self,
        t: float,
        happened: list[Event],
        repetition: Repetition,
        part: Part = Part.AFTER,
        located: int | None = None,
        counted: Collection[int] = (),
    ) -> bool:
        """Event iteration in a part of an instant: resets until no sign changes; `happened` gets each round.

        A crossing that was `located` but neither moves on nor counts as crossed is counted as a repetition;
        `counted` as for `Restart.after_events`.

        Returns
        -------
        any : bool          was there an event?

        Raises
        ------
        SimulationError     two resets of one state at once, or no end, see `Repetition`
        """
        if located is not None and self.crossings.waiting(part)[located]:
            located = None
        if located is not None:
            self.crossings.located([located])
        due = self.crossings.fired(part)
        if located is not None:
            self.crossings.located(due)
        if located is not None and not due and repetition.endless(t, due):
            raise self.endless(t, [located])
        rounds = 0
        while due:
            rounds += 1
            if rounds > ROUNDS or repetition.endless(t, due):
                raise self.endless(t, due)
            happened += self._apply(t, due)
            self.restart.after_events((p for k in due for p in self.events[k].counts), counted)
            self.loops.fired(due)
            self.crossings.reset_by(due)
            due = self.crossings.fired(part)
        return rounds > 0

    def endless(self, t: float, due: list[int]) -> SimulationError:
        """The error about events that follow each other without end."""
        names = ", ".join(f"'{self.events[k].name}'" for k in due)
        hint = "Add hysteresis, a dead zone or a rest state, so that the event disarms itself; "
        hint += "Sign and CoulombFriction slide on their switch with sliding=True"
        if any(self.events[k].direction == 0 and self.events[k].resets for k in due):
            hint += "; an event of one way only, as a bounce on the way down, says so: "
            hint += 'b.when(..., direction="falling")'
        blocks = (self.workspace.system.parts.get(self.events[k].path) for k in due)
        hint = next((found[0].endless_cure for found in blocks if found and found[0].endless_cure), hint)
        return SimulationError(
            f"events follow each other without end at t={t:.9g} s (chattering or Zeno): {names}.",
            path=self.events[due[0]].path,
            time=t,
            hint=f"{hint}.",
        )

    def _apply(self, t: float, due: list[int]) -> list[Event]:
        """All resets that are due, from the values before any of them."""
        workspace, c = self.workspace, self.workspace.context
        self.unknowns.refresh()
        values = [self._resets[k]().copy() for k in due]
        before = [self._targets(k) for k in due]
        times = self.crossings.event_times()
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
                raise workspace.non_finite(t, event.place, in_reset=True)
        self.crossings.moved(times)
        workspace.counters.events += len(due)
        return [
            Event(t, self.events[k].name, self.events[k].before(old), self._targets(k))
            for k, old in zip(due, before, strict=True)
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
            hint="Let one event do both, make their conditions exclude each other, or let them come one "
            "after the other: b.when(..., in_turn=True).",
        )
