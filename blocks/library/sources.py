"""Sources: signals that depend on time only.

A step, corner or jump in time is never found by comparing `time` with a number: a source counts the
instants or ticks that have passed, and the solver ends a step exactly on each of them.
Every source has one output, "y".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate, Ticks, rational
from blocks.contract.symbols import Array
from blocks.functions import SMALL_TABLE, pick

__all__ = ["Clock", "Constant", "Pulse", "Ramp", "Sine", "Step", "TimeTable"]


@dataclass(frozen=True)
class Constant(Block):
    """A constant signal.

    Output: y = value.  No inputs, no states.

    value : number or (n,), any unit; tunable

    Use::

        zero = d.add("zero", Constant(0.0))
        d.connect(zero["y"], sink["u"])
    """

    value: ArrayLike

    def __post_init__(self) -> None:
        checks.assign(self, value=checks.numbers(self, "value"))

    def define(self, b: Equations) -> None:
        """Declare the output."""
        (value,) = b.parameters(value=self.value)
        b.output("y", value)


@dataclass(frozen=True)
class Clock(Block):
    """Simulated time as a signal.

    Output: y = t [s].  No inputs, no states.

    Compare it with a number only in a sampled block: a continuous step or table in time is `Step`, `Pulse`
    or `TimeTable`, which the solver steps onto exactly.

    Use::

        clock = d.add("clock", Clock())
        d.connect(clock["y"], sink["u"])
    """

    def define(self, b: Equations) -> None:
        """Declare the output."""
        b.output("y", b.time)


@dataclass(frozen=True)
class Step(Block):
    """A jump at one instant.

    Output: y = before for t < time, after from t = time on (right-continuous).  No inputs, no states.

    time : s; run-time number, the solver ends a step on it
    before, after : number or (n,); tunable

    Use::

        push = d.add("push", Step(time=0.5, after=2.0))
        d.connect(push["y"], sink["u"])
    """

    time: Rate = 1.0
    before: ArrayLike = 0.0
    after: ArrayLike = 1.0

    def __post_init__(self) -> None:
        sides = {side: checks.numbers(self, side) for side in ("before", "after")}
        checks.assign(self, **sides, time=checks.moment(self, "time", self.time))
        _one_size(self, "before", "after")

    def define(self, b: Equations) -> None:
        """Declare the instant and the output."""
        passed = b.instants([self.time])
        before, after = b.parameters(before=self.before, after=self.after)
        b.output("y", np.where(passed[0] >= 1, after, before))


@dataclass(frozen=True)
class Ramp(Block):
    """A straight line that starts at one instant.

    Output: y = initial for t < start, initial + slope (t - start) from then on.  No inputs, no states.

    slope : number or (n,), unit of y per s; tunable
    start : s; structural, the solver ends a step on this corner
    initial : number or (n,); tunable

    Use::

        sweep = d.add("sweep", Ramp(slope=0.1, start=2.0))
        d.connect(sweep["y"], sink["u"])
    """

    slope: ArrayLike = 1.0
    start: Rate = 0.0
    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        ends = {field: checks.numbers(self, field) for field in ("slope", "initial")}
        checks.assign(self, **ends, start=checks.moment(self, "start", self.start))
        _one_size(self, "slope", "initial")

    def define(self, b: Equations) -> None:
        """Declare the instant and the output."""
        start = float(self.start)
        passed = b.instants(np.array([self.start], dtype=object))  # a copy: start is used as a number as well
        slope, initial = b.parameters(slope=self.slope, initial=self.initial)
        b.output("y", initial + np.where(passed[0] >= 1, slope * (b.time - start), 0.0))


@dataclass(frozen=True)
class Sine(Block):
    """A sine wave.

    Output: y = bias + amplitude sin(frequency t + phase); with a sample time, taken at its ticks and held.
    No inputs, no states.

    amplitude, bias : number or (n,), any unit; tunable
    frequency : rad/s, phase : rad; number or (n,); tunable
    sample, offset : s; None means continuous

    Use::

        wave = d.add("wave", Sine(amplitude=2.0, frequency=2 * np.pi))
        d.connect(wave["y"], sink["u"])
    """

    amplitude: ArrayLike = 1.0
    frequency: ArrayLike = 1.0
    phase: ArrayLike = 0.0
    bias: ArrayLike = 0.0
    sample: Rate | None = None
    offset: Rate = 0

    def __post_init__(self) -> None:
        fields = ("amplitude", "frequency", "phase", "bias")
        checks.assign(self, **{field: checks.numbers(self, field) for field in fields})
        _one_size(self, *fields)
        checks.rate(self, optional=True)

    def define(self, b: Equations) -> None:
        """Declare the output."""
        amplitude, frequency, phase, bias = b.parameters(
            amplitude=self.amplitude, frequency=self.frequency, phase=self.phase, bias=self.bias
        )
        b.output("y", bias + amplitude * np.sin(frequency * b.time + phase), self.sample, self.offset)


@dataclass(frozen=True)
class Pulse(Block):
    """A train of rectangular pulses.

    Output: y = amplitude for delay + k period <= t < delay + (k + width) period, k = 0, 1, ..., else 0.
    No inputs, no states. The edges are the ticks of two exact rates, never compared with t.

    amplitude : number or (n,), any unit; tunable
    period, delay : s; width : part of the period that is on, 0 to 1 (Simulink's pulse width is 100 width);
    all three structural

    Use::

        pulses = d.add("pulses", Pulse(amplitude=5.0, period=0.2, width=0.25))
        d.connect(pulses["y"], sink["u"])
    """

    amplitude: ArrayLike = 1.0
    period: Rate = 1.0
    width: Rate = 0.5
    delay: Rate = 0.0

    def __post_init__(self) -> None:
        checks.assign(self, amplitude=checks.numbers(self, "amplitude"))
        for field in ("period", "width", "delay"):
            checks.moment(self, field, getattr(self, field))
        if rational(self.period) <= 0:
            raise checks.fault(self, "period", f"is {self.period} s", "a positive number of seconds")
        if not 0 <= rational(self.width) <= 1:
            hint = "It is a part of the period: write 0.25 for 25 %."
            raise checks.fault(self, "width", f"is {self.width}", "0 to 1", hint)
        if rational(self.delay) < 0:
            raise checks.fault(self, "delay", f"is {self.delay} s", "0 s or more", "Add whole periods.")

    def define(self, b: Equations) -> None:
        """Declare the two rates and the output."""
        (amplitude,) = b.parameters(amplitude=self.amplitude)
        period, delay = rational(self.period), rational(self.delay)
        _, rises = b.clock(Ticks(period, delay))
        _, falls = b.clock(Ticks(period, delay + rational(self.width) * period))
        b.output("y", np.where(rises > falls, amplitude, 0.0))


@dataclass(frozen=True)
class TimeTable(Block):
    """A signal given by its values at listed times.

    Output: with "previous" the value at the newest listed time (a staircase, right-continuous), with "linear"
    the straight line between neighbours. The first value holds before the first time, the last one after the
    last. No inputs, no states.

    times : (n,) s, increasing; the solver ends a step on each; structural with "linear", where two equal
        times make a jump from the first of their values to the second
    values : (n,) or (n, k), any unit; tunable (in tables of up to 32 rows; longer ones are structural)

    Use::

        push = d.add("push", TimeTable([0, 1.0, 1.02], [0, 1.0, 0], interpolation="previous"))
        d.connect(push["y"], sink["u"])
    """

    times: ArrayLike
    values: ArrayLike
    interpolation: str = "linear"

    def __post_init__(self) -> None:
        checks.choice(self, "interpolation", ("previous", "linear"))
        times = checks.moments_of(self, "times")
        checks.assign(self, times=times, values=checks.numbers(self, "values", dims=(1, 2)))
        if len(times) != len(self.values):  # type: ignore[arg-type]  # a tuple by now
            expected = f"one row per time, {len(times)}"
            raise checks.fault(self, "values", f"has shape {np.shape(self.values)}", expected)
        self._check_order(times)

    def _check_order(self, times: tuple[Rate, ...]) -> None:
        steps = np.diff(np.array(times, dtype=float))
        least = "increasing" if self.interpolation == "previous" else "increasing or two equal times"
        behind = np.concatenate([[True], steps[:-1] > 0])[: steps.size]  # a jump follows no other
        allowed = (steps > 0) | ((steps == 0) & behind & (self.interpolation == "linear"))
        for k in np.flatnonzero(~allowed)[:1]:
            what = f"goes from {times[k]} s to {times[k + 1]} s at row {k + 1}"
            raise checks.fault(self, "times", what, least, "Sort the rows; keep one of each time.")

    def define(self, b: Equations) -> None:
        """Declare the instants and the output."""
        times = np.array(self.times, dtype=float)
        if times.size <= SMALL_TABLE:
            (values,) = b.parameters(values=self.values)
        else:  # plain numbers: a look-up of constant cost
            values = np.array(self.values)
        columns = values.reshape(times.size, -1)
        if self.interpolation == "previous":
            b.output("y", pick(_lead(columns), b.instants(self.times)[0]))
        else:
            passed = b.instants(list(self.times))[0]  # type: ignore[arg-type]  # a copy, as in Ramp
            start, value, slope = _segments(times, columns)
            b.output("y", pick(value, passed) + pick(slope, passed) * (b.time - pick(start, passed)))


def _lead(columns: Array) -> Array:
    """Row j of the answer is the value once j times have passed: the first row twice, then the others."""
    return np.concatenate([columns[:1], columns])


def _segments(times: np.ndarray, columns: Array) -> tuple[np.ndarray, Array, Array]:
    """Start (n+1, 1) [s], value there (n+1, k) and slope (n+1, k) once 0, 1, ..., n times have passed."""
    step = times[1:] - times[:-1]
    slope = (columns[1:] - columns[:-1]) / np.where(step > 0, step, 1.0).reshape(-1, 1)
    flat = 0.0 * columns[:1]  # before the first time and after the last one
    start = np.concatenate([times[:1], times]).reshape(-1, 1)
    return start, _lead(columns), np.concatenate([flat, slope, flat])


def _one_size(block: Block, *fields: str) -> None:
    """Refuse vectors of different lengths; numbers expand."""
    sizes = {field: np.size(getattr(block, field)) for field in fields if np.ndim(getattr(block, field))}
    if len(set(sizes.values())) > 1:
        first = next(iter(sizes))
        listed = ", ".join(f"{field} {size}" for field, size in sizes.items())
        raise checks.fault(block, first, f"and the others have sizes {listed}", "one size", "Numbers expand.")
