"""Runs whose steps have become so small that they never come to their end."""

from __future__ import annotations

import math
from dataclasses import dataclass

from blocks.errors import SimulationError
from cosim.engines.counters import Counters
from cosim.run.run_length import MANY
from cosim.settings import RunSettings
from cosim.system import System

LOOKED_AT = 10_000
"""Steps in a row whose mean size says how long the rest takes; a transient that passes has fewer."""


def most_steps(system: System, settings: RunSettings) -> float:
    """How many steps the rest of a run may take at its present pace; 0 where that is not looked at.

    It is not where a wall_limit or a stop event may end the run before.
    """
    ended = math.isfinite(settings.wall_limit) or any(system.stops)
    return MANY if settings.adaptive and not ended else 0.0


@dataclass
class Pace:
    """How far steps lead on the way to `until` [s]; every advance begins a new count. As in `runtime/pace.c`.

    most : steps that the rest may take, 0: any number
    since, steps : time [s] and number of steps at which the count began; nan: at the next step
    """

    until: float
    most: float
    since: float = math.nan
    steps: int = 0

    def is_endless(self, t: float, steps: int) -> bool:
        """At the end of a step at t [s], the run's number `steps`: would the rest take more than `most`?"""
        if not self.most or (self.since == self.since and steps - self.steps < LOOKED_AT):
            return False
        if (self.until - t) * (steps - self.steps) > self.most * (t - self.since):
            return True
        self.since, self.steps = t, steps
        return False


def endless(system: System, counters: Counters, t: float, since: float, until: float) -> SimulationError:
    """The error of a run to `until` [s] whose last `LOOKED_AT` steps led from `since` to t [s] only."""
    mean = (t - since) / LOOKED_AT
    limits = [(-count, index) for index, count in counters.limited_by.items()]
    worst = counters.refused_by if counters.refused_by >= 0 or not limits else min(limits)[1]
    name = system.state_name(worst) if worst >= 0 else ""
    limited = f" The state that limits the steps is '{name}'." if name else ""
    return SimulationError(
        f"the run to {until:g} s does not come to its end: {LOOKED_AT} steps in a row, {mean:.2g} s in the "
        f"mean, led to t={t:.9g} s, and the rest takes {(until - t) / mean:.2g} more at that pace.{limited}",
        path=name,
        time=t,
        hint="Where an equation or a force jumps (np.sign, np.where, SIGN, IF), make it smooth (STEP5 over a "
        "small speed) or an event (b.where_event); else end it earlier, loosen rtol and atol, take "
        "solver='rodas4' for what is stiff, or give wall_limit= [s] to run as far as it gets.",
    )
