"""What calls of an FMU give back, the same for both versions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """Of a communication step.

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
    """Of a question when a clock ticks next.

    seconds : from the present instant; changed : is this news? known : does the FMU know it?
    """

    seconds: float
    changed: bool
    known: bool


@dataclass(frozen=True, slots=True)
class DiscreteStates:
    """Of an update of the discrete states in event mode; next_time is None where none is announced [s]."""

    again: bool
    terminate: bool
    nominals_changed: bool
    values_changed: bool
    next_time: float | None
