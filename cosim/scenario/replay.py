"""The actions on a run that was watched, and how they are replayed, bit for bit.

A run that is watched stops at multiples of an interval, and at the instants a user stepped to. Numbers are
changed at these stops. Stops of an adaptive solver affect the last digits of all later results, so they are
part of the recording::

    [replay]
    every = "1/50"                      # s: the run stopped at all multiples of this
    stops = [0.013]                     # s: and here

    [[replay.changes]]
    at = 0.02                           # s
    name = "controller.K"               # a parameter, or an input of the diagram
    value = [[70.0, 18.0, -23.0, -14.0]]
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from blocks.contract.rate import Rate, rational
from cosim.engines.reference.log import log_times
from cosim.result.result import Result
from cosim.simulation import Simulation, check_log


@dataclass(frozen=True)
class Change:
    """A value given to a parameter or an input at a time [s]."""

    at: float
    name: str
    value: Any


@dataclass
class Recording:
    """All actions on a run.

    every : s      the run stopped at all multiples of this
    stops : list   and at these instants [s], increasing
    changes : list of Change, in the order in which they were made
    """

    every: Rate
    stops: list[float] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._interval: Fraction = rational(self.every, "every")

    def stop(self, k: int) -> float:
        """The k-th multiple of the interval, as an instant [s]."""
        return float(k * self._interval)

    def add(self, change: Change) -> None:
        """Note a change; it replaces an earlier one of the same name at the same instant."""
        keep = [c for c in self.changes if c.at != change.at or c.name != change.name]
        self.changes[:] = keep
        self.changes.append(change)

    def until(self, end: float) -> Recording:
        """The part of the recording up to an instant [s]."""
        return replace(
            self,
            stops=[t for t in self.stops if t <= end],
            changes=[c for c in self.changes if c.at <= end],
        )

    def all_stops(self, end: float) -> Iterator[float]:
        """All instants [s] at which the run stopped; the last one is its end."""
        left, k = list(self.stops), 1
        while True:
            t = self.stop(k)
            if left and left[0] < t:
                t = left.pop(0)
            else:
                k += 1
            if t >= end:
                break
            yield t
        yield end


def put(sim: Simulation, name: str, value: Any) -> None:
    """Set the input of a diagram or the parameter with this name.

    Raises
    ------
    PlantloopError      there is no such name, or the value does not fit
    """
    if name in sim.system.inputs:
        sim.set_input(name, np.asarray(value, dtype=float))
    else:
        sim.set_parameter(name, value)


def play(
    sim: Simulation, recording: Recording, until: float, progress: Callable[[float], None] | None
) -> None:
    """Advance a simulation to `until` [s] and repeat everything that was recorded.

    Raises
    ------
    SimulationError     as for `Simulation.advance`
    PlantloopError      a name or value does not fit
    """
    left = list(recording.changes)
    sim.advance(sim.time)
    _change(sim, left)
    for stop in recording.all_stops(until):
        sim.advance(stop)
        _change(sim, left)
        if progress is not None:
            progress(sim.time)


def played(
    sim: Simulation, recording: Recording, until: float, log: tuple[Any, Any], progress: Any = None
) -> Result:
    """Run a simulation with everything that was recorded and return its result.

    log : log_every and log_at, as for `cosim.simulate`

    Ctrl-C ends it and returns what was computed, with ``complete=False``.
    """
    times = log_times(0.0, until, *log)
    check_log(sim, 0.0, until, times)
    with sim:
        sim.log(times)
        with contextlib.suppress(KeyboardInterrupt):
            play(sim, recording, until, progress)
            return sim.result()
        return sim.result(complete=False, message=f"interrupted at t={sim.time:.9g} s")


def _change(sim: Simulation, left: list[Change]) -> None:
    while left and left[0].at <= sim.time:
        put(sim, left[0].name, left.pop(0).value)
