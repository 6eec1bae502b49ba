"""The stepping of an FMU of one kind in time, for a block of a run or a user by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from cosim.fmi.description import Variable
from cosim.fmi.interface.any_component import AnyComponent
from cosim.fmi.interface.outcomes import StepOutcome

Put = Callable[[], None]
"""Sets something."""


class Steps(Protocol):
    """Steps of an FMU of one kind in time."""

    @property
    def values(self) -> Mapping[str, np.ndarray]:
        """Values of variables that cannot be read now, name -> (n,): as they were last."""

    @property
    def counts(self) -> Mapping[str, int]:
        """How often each clock has ticked, by name."""

    def prepare(self, start: float) -> None:
        """In initialisation mode, at `start` [s]."""

    def begin(self, start: float, triggers: Sequence[Variable] = ()) -> bool:
        """Begin after initialisation, with ticks of input clocks `triggers`; returns whether the run ends."""

    def step(self, t: float, end: float) -> StepOutcome:
        """Step from t to `end` [s], or as far as possible; events at `end` are left to `arrive`."""

    def arrive(self, t: float, change: Put | None = None, triggers: Sequence[Variable] = ()) -> bool:
        """Handle t [s]: `change` sets what may be set at events only, and `triggers` tick.

        Returns whether the FMU ends the run there.
        """

    def give(self, v: Variable, put: Put) -> None:
        """Set a clocked input: `put` sets its value, now or whenever one of its clocks ticks."""

    def quick(self) -> Callable[[float, float], int] | None:
        """A function (t, h) for a step by the FMU alone, see `Component.stepping`; else None."""

    def kept(self) -> Any:
        """The present state besides that of the FMU, as plain data."""

    def restored(self, kept: Any) -> None:
        """Restore an earlier state."""


MOST_PARTS = 100_000  # of one step
SAME = 1e-12  # relative; closer times are equal
PART = 1e-3  # of a step; times that differ by more are never equal, however large they are


def rest_of_step(component: AnyComponent, outcome: StepOutcome, t: float, end: float) -> StepOutcome:
    """Complete a step from t to `end` [s] of which the FMU has made only the first part.

    Where it takes steps of any length the rest is asked for from where it stands, as often as it gets on.
    """
    same = min(SAME * max(1.0, abs(end)), PART * (end - t))
    for _ in range(MOST_PARTS):
        if outcome.terminate or outcome.event or not outcome.early or not component.interface.variable_step:
            break
        if end - outcome.time <= same:
            return StepOutcome(end)
        if not outcome.time > t:
            break
        t = outcome.time
        outcome = component.step(t, end - t, no_way_back=False)
    return outcome


class CoSimulationSteps:
    """The FMU steps by itself and handles its own events."""

    values: Mapping[str, np.ndarray]
    counts: Mapping[str, int]

    def __init__(self, component: AnyComponent) -> None:
        self._component = component
        self.values, self.counts = {}, {}

    def prepare(self, start: float) -> None:
        """See `Steps.prepare`: there is nothing to do."""

    def begin(self, start: float, triggers: Sequence[Variable] = ()) -> bool:
        """See `Steps.begin`."""
        return False

    def quick(self) -> Callable[[float, float], int] | None:
        """See `Steps.quick`."""
        return self._component.stepping()

    def step(self, t: float, end: float) -> StepOutcome:
        """See `Steps.step`."""
        return rest_of_step(self._component, self._component.step(t, end - t, no_way_back=False), t, end)

    def arrive(self, t: float, change: Put | None = None, triggers: Sequence[Variable] = ()) -> bool:
        """See `Steps.arrive`: it waits for nothing."""
        if change is not None:
            change()
        return False

    def give(self, v: Variable, put: Put) -> None:
        """See `Steps.give`."""
        put()

    def kept(self) -> Any:
        """See `Steps.kept`: nothing."""

    def restored(self, kept: Any) -> None:
        """See `Steps.restored`."""
