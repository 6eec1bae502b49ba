"""Results of calls of an FMU, the same for both versions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """Result of a communication step.

    time : where the FMU stands now [s]
    terminate : it asks to end the run
    event : it asks for event mode; early : it stopped before the end that was asked for
    discarded : it could not do the step, and stands at `time`
    """

    time: float
    terminate: bool = False
    event: bool = False
    early: bool = False
    discarded: bool = False


@dataclass(frozen=True, slots=True)
class ClockInterval:
    """Result of a query for the next tick of a clock.

    seconds : from the present instant; changed : is this news? known : does the FMU know it?
    """

    seconds: float
    changed: bool
    known: bool


@dataclass(frozen=True, slots=True)
class DiscreteStates:
    """Result of an update of the discrete states in event mode; next_time [s] is None without one."""

    again: bool
    terminate: bool
    nominals_changed: bool
    values_changed: bool
    next_time: float | None
