"""What happens at an instant: listed instants, ticks, draws and segments.

The rules are those of ARCHITECTURE.md, "What happens at a tick"; the numbers in the comments of
`Scheduler` are its steps.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from blocks.contract.event_memories import NEVER
from blocks.contract.memories import ROUNDS, CountedInstants
from blocks.errors import PlantloopError, SimulationError, text_of_error
from cosim.engines.reference.draws import draw, stream
from cosim.engines.reference.unknowns import Unknowns
from cosim.engines.reference.workspace import Workspace
from cosim.segments import EventSegment, RepeatSegment, Segment, SolveSegment
from cosim.slots import Place
from cosim.timed_events import timed_events


def one_instant(started: float, stop: float) -> float:
    """How long before a stop an event is at that stop [s], in steps from `started` [s] on."""
    return 1e-12 * (stop - started) + 2.0**-50 * abs(stop) if math.isfinite(stop) else 0.0


class Scheduler:
    """Says when the next instant is, and executes instants."""

    def __init__(self, workspace: Workspace, unknowns: Unknowns) -> None:
        self.workspace, self.context, self.unknowns = workspace, workspace.context, unknowns
        self.system = system = workspace.system
        self._segments = [
            (s, workspace.bind(f"segment{k}", lambda s=s: [s.expression]))  # type: ignore[misc]
            for k, s in enumerate(system.schedule)
        ]
        self._branches = any(s.activation.due(()) for s in system.schedule)
        self._again = [k for k, s in enumerate(system.schedule) if s.activation.again]
        self._grid = grid = system.grid
        self._first = [int(r.offset * grid) for r in system.rates]
        self._period = [int(r.period * grid) for r in system.rates]
        self._discrete = system.discrete_places
        _, self._event_times = timed_events(system)
        lists = [(name, int(slot.index[0])) for name, slot in system.held_of(CountedInstants).items()]
        times, of = system.listed_instants()
        self._instants = [(t, *lists[k]) for t, k in zip(times.tolist(), of.tolist(), strict=True)]
        self._substreams = {d.name: stream(d.name) for d in system.draws}

    def next_stop(self) -> float:
        """Time of the next tick, listed instant or event to come [s]; inf if there is none."""
        position = min(self._tick_positions(), default=None)
        stop = math.inf if position is None else position / self._grid
        done = sum(self.context.instants.values())
        if done < len(self._instants):
            stop = min(stop, self._instants[done][0])
        stops = self.context.stops
        while stops and stops[0] <= self.context.t:
            stops.pop(0)
        stop = min(stop, stops[0]) if stops else stop
        if len(self._event_times):
            to_come = self.context.h[self._event_times]
            first = to_come[(to_come > self.context.t) & (to_come < NEVER)].min(initial=math.inf)
            if not first >= stop - one_instant(self.context.t, stop):  # else it is there
                return float(first)
        return stop

    def _tick_positions(self) -> list[int]:
        return [
            first + k * period
            for first, k, period in zip(self._first, self.context.ticks, self._period, strict=True)
        ]

    def count(self, t: float) -> list[int]:
        """Steps 1 and 2 of an instant t: listed instants and ticks; returns the rates that hit."""
        self.workspace.put(t)
        self._pass_instants(t)
        self.unknowns.refresh()
        due = [k for k, n in enumerate(self._tick_positions()) if n / self._grid <= t]
        self._count_ticks(t, due)
        return due

    def counts_of(self, due: list[int]) -> set[int]:
        """Places in h of the counts of samples that ticks of the rates `due` have raised."""
        return {int(place) for k in due for place in self.system.tick_slots[k].since}

    def _pass_instants(self, t: float) -> None:
        done = sum(self.context.instants.values())
        while done < len(self._instants) and self._instants[done][0] <= t:
            _, name, place = self._instants[done]
            self.context.h[place] += 1
            self.context.instants[name] += 1
            done += 1

    def _count_ticks(self, t: float, due: list[int]) -> None:
        c = self.context
        for k in due:  # 2. next becomes current
            places = self.system.tick_slots[k]
            c.ticks[k] += 1
            c.h[places.time] = t
            c.h[places.count] = c.ticks[k]
            for place in places.since:
                c.h[place] += 1
            c.h[self._discrete[k]] = c.next[self._discrete[k]]
        self._draw(due)

    def run_segments(self, t: float, due: list[int], handle: Callable[[int], object]) -> None:
        """Steps 3 and 4 of an instant at which the rates `due` hit.

        handle : handles the timed events of a segment, by its number
        """
        if not due and not self._branches:
            return
        hits = set(due)
        for k in range(len(self._segments)):  # 3. output phase, then 4. update phase
            if isinstance(self._segments[k][0], EventSegment):
                handle(k)
            elif self._segments[k][0].activation.due(hits):
                self._call_segment(k, t)

    def follow(self, t: float) -> bool:
        """Conditional parts follow what events at this instant have changed; False where there are none."""
        for k in self._again:
            self._call_segment(k, t)
        return bool(self._again)

    def _call_segment(self, k: int, t: float) -> None:
        segment, function = self._segments[k]
        if segment.asked >= 0 and self.context.h[segment.asked] < 0.5:
            return
        self.unknowns.refresh()
        if isinstance(segment, SolveSegment):
            self.unknowns.solve_tick(k, segment, t)
            return
        for _ in range(segment.limit if isinstance(segment, RepeatSegment) else 1):
            value = function()
            self.take(segment, value, t)
            if not isinstance(segment, RepeatSegment) or not value[0]:
                return
            self.unknowns.refresh()
        raise self.endless(segment, t)

    @staticmethod
    def endless(segment: Segment, t: float) -> SimulationError:
        """The error about rounds that do not end."""
        if isinstance(segment, RepeatSegment) and segment.limit != ROUNDS:
            return SimulationError(
                f"'{segment.path}' has had {segment.limit} rounds at t={t:.9g} s, as many as it may.",
                path=segment.path,
                time=t,
                value=segment.limit,
                hint="Give the loop a smaller count; of a chart inside, leave a gap between guards that "
                "lead to each other.",
            )
        return SimulationError(
            f"transitions of '{segment.path}' follow each other without end at t={t:.9g} s (chattering).",
            path=segment.path,
            time=t,
            hint="Two guards hold at once, each leading to the other: leave a gap between them.",
        )

    def _draw(self, due: list[int]) -> None:
        c = self.context
        for d in self.system.draws:
            if d.rate in due:
                substream, seed = self._substreams[d.name], self.workspace.settings.seed
                tick = c.ticks[d.rate] if d.counter < 0 else int(c.h[d.counter]) + 1
                c.h[d.places] = draw(d.distribution, len(d.places), seed, substream, tick)

    def take(self, segment: Segment, value: np.ndarray, t: float) -> None:
        """Store what a segment's function returned, after calling the opaque block if it has one."""
        target = self.context.next if segment.writes_next else self.context.h
        if segment.external is not None:
            if not np.isfinite(value).all():
                raise self.workspace.non_finite(t, Place(f"{segment.path}.argument", segment.path))
            value = self._call(segment, value.copy(), t)
        finite = np.isfinite(value)
        if not finite.all():  # those before it are good, and what the signals behind it see
            bad = np.flatnonzero(~finite)
            target[segment.writes[: bad[0]]] = value[: bad[0]]
            raise self.workspace.non_finite(t, segment.place_of(int(bad[0]), self.system.held), value[bad[0]])
        target[segment.writes] = value

    def _call(self, segment: Segment, argument: np.ndarray, t: float) -> np.ndarray:
        """Call an opaque block; errors inside it carry its path."""
        path, began = segment.path, time.perf_counter()
        try:
            given = self.workspace.instances.call(segment, t, argument)
            value = np.zeros(0) if given is None else np.asarray(given, dtype=float).reshape(-1)
        except PlantloopError:
            raise
        except Exception as error:  # a user's function may raise anything
            raised = f"raised {type(error).__name__} at t={t:.9g} s: {text_of_error(error)}"
            raise SimulationError(
                f"the function of block '{path}' {raised}.",
                path=path,
                time=t,
            ) from error
        finally:
            spent = self.workspace.counters.python
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
