"""Events that come ever faster where a step size collapses: the error says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from blocks.errors import StepCollapsed
from cosim.result.record import Event

FEW = 20  # so many events ...
NEAR = 1e-3  # ... within this part of the run so far are a crowd


def say_crowded(error: StepCollapsed, events: Sequence[Event], since: float) -> None:
    """Add to the error of a collapsed step which events crowd before it, if they do.

    events : those of the run, in order; since : when the first of what was logged was [s]
    """
    if error.time is None or len(events) < FEW:
        return
    last = events[-FEW:]
    within = error.time - last[0].time
    if not within <= NEAR * (error.time - since):
        return
    names = ", ".join(f"'{name}'" for name, _ in Counter(e.name for e in last).most_common(3))
    error.append(
        f"Events crowd before it, the last {FEW} within {within:.3g} s: {names}. "
        "What makes them come ever faster needs hysteresis, a dead zone or a rest state."
    )
