"""One visit to event mode of FMI 3.0, with clocks: ticks, values to set and read, intervals, in order.

Values of clocked variables may be asked for only while one of their clocks ticks, so they are kept here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from cosim.fmi.clock_schedule import ClockSchedule
from cosim.fmi.description import FMUDescription, Variable
from cosim.fmi.finite import check_next_event
from cosim.fmi.fmi_errors import FMUCallError
from cosim.fmi.interface.any_component import AnyComponent
from cosim.fmi.interface.outcomes import DiscreteStates
from cosim.fmi.steps import Put

MOST = 100  # most rounds at one instant


class EventRounds:
    """Event mode of one instance.

    intervals : of clocks, that the user chose; watched : clocked variables whose values are kept
    values : name -> (n,) of the watched ones, as their clocks ticked last
    """

    def __init__(
        self,
        component: AnyComponent,
        description: FMUDescription,
        intervals: Mapping[str, Fraction],
        watched: Sequence[Variable] = (),
    ) -> None:
        self._component, self._description = component, description
        self.clocks = ClockSchedule(component, description, intervals) if description.clocks else None
        self.values = {v.name: _first(v) for v in watched}
        together: dict[tuple[str, ...], list[Variable]] = {}
        for v in watched:
            together.setdefault(v.clocks, []).append(v)
        self._given: dict[str, tuple[Variable, Put]] = {}
        self._watched = [(set(names), vs, component.getter(vs)) for names, vs in together.items()]

    @property
    def next_tick(self) -> float:
        """Instant of the next tick of a clock [s], infinity where none is known."""
        return np.inf if self.clocks is None else self.clocks.next

    @property
    def counts(self) -> Mapping[str, int]:
        """How often each clock has ticked, by name."""
        return {} if self.clocks is None else self.clocks.counts

    @property
    def plain(self) -> bool:
        """Whether there are rounds alone: no clocks, and nothing that is read or set when they tick."""
        return self.clocks is None and not self._watched

    def prepare(self, start: float) -> None:
        """In initialisation mode, at `start` [s]: set intervals of clocks, and values that are known."""
        if self.clocks is not None:
            self.clocks.prepare(start)
        if not self._watched:
            return
        known = {e.name for e in self._description.initial_unknowns}
        for _, members, _ in self._watched:
            for v in members:
                if v.name in known:
                    self.values[v.name] = self._component.getter([v]).read().copy()

    def give(self, v: Variable, put: Put) -> None:
        """Set a clocked input: `put` sets its value whenever one of its clocks ticks."""
        self._given[v.name] = (v, put)

    def run(self, t: float, put: Put | None = None, triggers: Sequence[Variable] = ()) -> DiscreteStates:
        """Do all rounds at t [s], in event mode already, until nothing changes; flags are those of any round.

        Raises
        ------
        FMUCallError      no end after 100 rounds
        """
        terminate = nominals = changed = False
        due = self._due(t, triggers)
        for _ in range(MOST):
            names = {v.name for v in due}
            if due:
                self._component.clocks.tick(due)
            if put is not None:
                put()
                put = None
            for v, give in self._given.values():
                if names.intersection(v.clocks):
                    give()
            self._read(names | self._ticked_inside())
            self._ask(t, names)
            found = self._component.update_once()
            check_next_event(self._component, found.next_time)
            self._ask(t, names)  # some clocks know their next interval only now
            terminate |= found.terminate
            nominals |= found.nominals_changed
            changed |= found.values_changed
            if found.terminate:
                break
            due = self._due(t)
            now = found.next_time is not None and found.next_time <= t
            if not (found.again or due or now):
                break
        else:
            what = f"its discrete states still change after {MOST} rounds at t={t:.9g} s"
            if not (found.again or due):
                what = (
                    f"at t={t:.9g} s it announces its next event for t={found.next_time:.9g} s, {MOST} times"
                )
            raise FMUCallError(
                f"FMU '{self._description.file}', instance '{self._component.name}': {what}. "
                f"{self._component.log.shown()}",
                path=self._component.name,
                time=t,
                hint="Its events set each other off without end: ask its maker.",
            )
        return DiscreteStates(False, terminate, nominals, changed, found.next_time)

    def _due(self, t: float, triggers: Sequence[Variable] = ()) -> list[Variable]:
        """Clocks that tick now; their ticks are counted."""
        if self.clocks is None:
            return []
        due = self.clocks.due(t, triggers)
        for v in due:
            self.clocks.ticked(v)
        return due

    def _ticked_inside(self) -> set[str]:
        """Names of output clocks that the FMU has activated."""
        if self.clocks is None:
            return set()
        clocks = self._description.output_clocks
        found = {v.name for v, t in zip(clocks, self._component.clocks.ticked(clocks), strict=True) if t}
        for v in clocks:
            if v.name in found:
                self.clocks.ticked(v)
        return found

    def _read(self, active: set[str]) -> None:
        for names, members, getter in self._watched:
            if names & active:
                found, at = getter.read(), 0
                for v in members:
                    self.values[v.name] = found[at : at + v.size].copy()
                    at += v.size

    def _ask(self, t: float, ticked: Collection[str]) -> None:
        """Query the next ticks of countdown clocks, and of changing ones that ticked."""
        if self.clocks is None:
            return
        asked = [*self.clocks.countdowns]
        asked += [v for v in self._description.clocks if v.name in ticked and _kind(v) == "changing"]
        for v, interval in zip(asked, self._component.clocks.intervals(asked), strict=True):
            self.clocks.said(v, t, interval, v.name in ticked)

    def kept(self) -> Any:
        """All changing data, as plain data."""
        values = {n: x.tolist() for n, x in self.values.items()}
        return {"clocks": None if self.clocks is None else self.clocks.kept(), "values": values}

    def restored(self, kept: Any) -> None:
        """Put back what `kept` gave."""
        self._given.clear()  # values of inputs are part of the state of the FMU
        if self.clocks is not None:
            self.clocks.restored(kept["clocks"])
        self.values.update({n: np.array(x, dtype=float) for n, x in kept["values"].items()})


def clocked(variables: Sequence[Variable]) -> list[Variable]:
    """Variables whose values may be read only while a clock ticks."""
    return [v for v in variables if v.clocks and v.clock is None and v.causality != "input"]


def _first(v: Variable) -> np.ndarray:
    start = 0.0 if v.start is None else v.start
    return np.array(np.broadcast_to(np.asarray(start, dtype=float).ravel(), v.size))


def _kind(v: Variable) -> str:
    return "" if v.clock is None else v.clock.kind
