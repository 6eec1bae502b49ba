"""Runs at the pace of a clock: the lateness of each instant, and how often it was too much."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from blocks.arguments import number
from blocks.errors import PlantloopError
from cosim.simulation import Simulation

SLICE = 0.01  # s simulated between two readings of the clock, where there are no ticks
SPIN = 2e-3  # s before an instant from which on the clock is polled instead of sleeping


@dataclass(frozen=True)
class PaceReport:
    """How well a run kept pace with the clock.

    overruns : how often an instant was not done when as much time as led to it had passed again
    late : (instants,) s behind the clock when each began
    """

    pace: float
    overruns: int
    late: np.ndarray

    @property
    def instants(self) -> int:
        """The number of readings of the clock."""
        return len(self.late)

    def rows(self) -> list[tuple[str, str]]:
        """The report as rows of text."""
        if not len(self.late):
            return [("pace", f"{self.pace:g} x real time, nothing to wait for")]
        middle, high, most = np.percentile(self.late, [50, 99, 100]) * 1e6
        return [
            ("pace", f"{self.pace:g} x real time, {self.instants} instants"),
            ("overruns", f"{self.overruns} instants took longer than there was"),
            ("jitter", f"{middle:.3g} us in the middle, {high:.3g} us at 99 %, {most:.3g} us at most"),
        ]


def paced(sim: Simulation, until: float, pace: float = 1.0) -> PaceReport:
    """Run a simulation to `until` [s] so that a simulated second takes 1/pace s; from tick to tick.

    A run that falls behind goes on as fast as it can until it has caught up. This is no real-time system: how
    late it was is in the report.

    Raises
    ------
    PlantloopError       pace is no positive number
    SimulationError      the run stopped before its end
    """
    pace = number(pace, "pace", "a number above 0")
    if pace <= 0:
        raise PlantloopError(f"pace is {pace:g}, expected a number above 0.", value=pace)
    begun, start = time.perf_counter(), sim.time
    sim.advance(start)
    late: list[float] = []
    overruns = 0
    while sim.time < until:
        before = sim.time
        stop = sim.next_stop
        target = min(until, stop if math.isfinite(stop) else before + SLICE)
        due = begun + (target - start) / pace
        _wait(due)
        late.append(time.perf_counter() - due)
        sim.advance(target)
        overruns += time.perf_counter() > due + (target - before) / pace
        if sim.time == before:
            break  # a stop event ended it
    return PaceReport(pace, int(overruns), np.array(late))


def _wait(due: float) -> None:
    left = due - time.perf_counter()
    if left > SPIN:
        time.sleep(left - SPIN)
    while time.perf_counter() < due:
        pass
