"""Periodic signals and other functions of time. Corners and jumps are ticks, never compared with t."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.pickling import HoldsFunctions
from blocks.contract.rate import Rate, Ticks, rational
from blocks.contract.symbols import Array
from blocks.functions import pick
from blocks.library.persistent_data import named

__all__ = [
    "Chirp",
    "CounterFreeRunning",
    "CounterLimited",
    "GaussianPulse",
    "MultiStep",
    "RepeatingSequence",
    "RepeatingSequenceStair",
    "Sawtooth",
    "Source",
    "SquareWave",
    "Triangle",
]


@dataclass(frozen=True)
class Source(HoldsFunctions, Block):
    """A function of time in plain NumPy, traced into equations.

    Output: y = function(t), any number of components; with a sample time, taken at its ticks and held.
    No inputs, no states. What jumps or has corners in time is better a `Step`, `TimeTable`, `SquareWave`:
    their instants end steps exactly.

    function : ``function(t)``, t in s, with ``np.sin``, ``np.where``, ...
    sample, offset : s; None means continuous

    Use::

        swell = d.add("swell", Source(lambda t: np.sin(t) * np.exp(-0.1 * t)))
        d.connect(swell["y"], sink["u"])
    """

    function: Callable[[Any], Any]
    sample: Rate | None = None
    offset: Rate = 0

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise checks.fault(self, "function", f"is {self.function!r}", "a function of t")
        checks.rate(self, optional=True)

    def define(self, b: Equations) -> None:
        """Trace the function."""
        y = self.function(b.time)
        if y is None:
            what = f"{named(self.function)} returned None"
            raise checks.fault(self, "function", what, "numbers", "Add the return.")
        b.output("y", np.array(y) if isinstance(y, (list, tuple)) else y, self.sample, self.offset)


def _check_period(block: Any, *numbers: str) -> None:
    for name in numbers:
        checks.assign(block, **{name: checks.numbers(block, name)})
    sizes = {np.size(getattr(block, name)) for name in numbers} - {1}
    if len(sizes) > 1:
        raise checks.fault(block, numbers[0], f"and the others have sizes {sorted(sizes)}", "one size")
    for name in ("period", "delay"):
        checks.moment(block, name, getattr(block, name))
    if rational(block.period) <= 0:
        raise checks.fault(block, "period", f"is {block.period} s", "a positive number of seconds")
    if rational(block.delay) < 0:
        raise checks.fault(block, "delay", f"is {block.delay} s", "0 s or more", "Add whole periods.")


def _check_part(block: Any, name: str) -> None:
    checks.moment(block, name, getattr(block, name))
    if not 0 <= rational(getattr(block, name)) <= 1:
        raise checks.fault(block, name, f"is {getattr(block, name)}", "0 to 1, a part of the period")


@dataclass(frozen=True)
class SquareWave(Block):
    """A square wave around a bias.

    Output: y = bias + amplitude for delay + k period <= t < delay + (k + duty) period, k = 0, 1, ..., else
    bias - amplitude; bias before t = delay.  No inputs, no states.  `Pulse` goes between 0 and its amplitude.

    amplitude, bias : number or (n,), any unit; tunable
    period, delay : s; duty : part of the period that is high, 0 to 1; all three structural

    Use::

        square = d.add("square", SquareWave(amplitude=2.0, period=0.5))
        d.connect(square["y"], sink["u"])
    """

    amplitude: ArrayLike = 1.0
    period: Rate = 1.0
    duty: Rate = 0.5
    delay: Rate = 0.0
    bias: ArrayLike = 0.0

    def __post_init__(self) -> None:
        _check_period(self, "amplitude", "bias")
        _check_part(self, "duty")

    def define(self, b: Equations) -> None:
        """Declare the two rates and the output."""
        amplitude, bias = b.parameters(amplitude=self.amplitude, bias=self.bias)
        period, delay = rational(self.period), rational(self.delay)
        _, rises = b.clock(Ticks(period, delay))
        _, falls = b.clock(Ticks(period, delay + rational(self.duty) * period))
        swing = np.where(rises > falls, amplitude, -amplitude)
        b.output("y", bias + np.where(rises > 0, swing, 0.0 * amplitude))


@dataclass(frozen=True)
class Sawtooth(Block):
    """A wave of straight lines that rise slowly and fall at once.

    Output: y = bias + amplitude (2 s - 1), s = (t - delay)/period - k in period k; bias before t = delay.
    No inputs, no states. Each fall is a tick.

    amplitude, bias : number or (n,), any unit; tunable
    period, delay : s; structural

    Use::

        ramps = d.add("ramps", Sawtooth(amplitude=2.0, period=0.5))
        d.connect(ramps["y"], sink["u"])
    """

    amplitude: ArrayLike = 1.0
    period: Rate = 1.0
    delay: Rate = 0.0
    bias: ArrayLike = 0.0

    def __post_init__(self) -> None:
        _check_period(self, "amplitude", "bias")

    def define(self, b: Equations) -> None:
        """Declare the rate and the output."""
        amplitude, bias = b.parameters(amplitude=self.amplitude, bias=self.bias)
        ticks = Ticks(rational(self.period), rational(self.delay))
        fell, falls = b.clock(ticks)
        s = (b.time - fell) / float(ticks.period)
        swing = amplitude * (2.0 * s - 1.0)
        b.output("y", bias + np.where(falls > 0, swing, 0.0 * amplitude))


@dataclass(frozen=True)
class Triangle(Block):
    """A wave of straight lines up and down.

    Output: y = bias - amplitude at the start of a period, bias + amplitude after the part `rise` of it,
    straight in between; bias - amplitude before t = delay.  No inputs, no states. Each corner is a tick.

    amplitude, bias : number or (n,), any unit; tunable
    period, delay : s; rise : part of the period that rises, above 0 and below 1; all three structural

    Use::

        wave = d.add("wave", Triangle(amplitude=2.0, period=0.5))
        d.connect(wave["y"], sink["u"])
    """

    amplitude: ArrayLike = 1.0
    period: Rate = 1.0
    rise: Rate = 0.5
    delay: Rate = 0.0
    bias: ArrayLike = 0.0

    def __post_init__(self) -> None:
        _check_period(self, "amplitude", "bias")
        _check_part(self, "rise")
        if not 0 < rational(self.rise) < 1:
            raise checks.fault(
                self, "rise", f"is {self.rise}", "above 0 and below 1", "Sawtooth falls at once."
            )

    def define(self, b: Equations) -> None:
        """Declare the two rates and the output."""
        amplitude, bias = b.parameters(amplitude=self.amplitude, bias=self.bias)
        period, delay, rise = rational(self.period), rational(self.delay), rational(self.rise)
        low, top = Ticks(period, delay), Ticks(period, delay + rise * period)
        (rose, rises), (fell, falls) = b.clock(low), b.clock(top)
        up = (b.time - rose) / float(rise * period)
        down = 1.0 - (b.time - fell) / float((1 - rise) * period)
        s = np.where(rises > 0, np.where(rises > falls, up, down), 0.0)
        b.output("y", bias + amplitude * (2.0 * s - 1.0))


@dataclass(frozen=True)
class Chirp(Block):
    """A sine wave whose frequency changes.

    Output: y = bias + amplitude sin(phase + p(t)), p' going from start to end (rad/s) in the time `duration`
    and on from there: "linear": p' = start + (end - start) t / duration; "exponential": p' = start
    (end/start)^(t/duration). No inputs, no states.

    amplitude, bias : number, any unit; tunable
    start, end : rad/s, above 0 with "exponential"; tunable
    duration : s; tunable
    phase : rad; tunable
    kind : "linear" or "exponential"; structural

    Use::

        sweep = d.add("sweep", Chirp(1.0, 0.1, 100.0, duration=20.0, kind="exponential"))
        d.connect(sweep["y"], sink["u"])
    """

    amplitude: float = 1.0
    start: float = 1.0
    end: float = 10.0
    duration: float = 10.0
    kind: str = "linear"
    phase: float = 0.0
    bias: float = 0.0

    def __post_init__(self) -> None:
        checks.choice(self, "kind", ("linear", "exponential"))
        for name in ("amplitude", "start", "end", "duration", "phase", "bias"):
            checks.assign(self, **{name: checks.numbers(self, name, dims=(0,))})
        checks.positive(self, "duration", " s")
        if self.kind == "exponential":
            for name in ("start", "end"):
                checks.positive(self, name, " rad/s")
            if self.start == self.end:
                raise checks.fault(
                    self, "end", f"is start, {self.start} rad/s", "another frequency", "Use Sine."
                )

    def define(self, b: Equations) -> None:
        """Declare the output."""
        names = ("amplitude", "start", "end", "duration", "phase", "bias")
        amplitude, start, end, T, phase, bias = b.parameters(**{name: getattr(self, name) for name in names})
        t = b.time
        if self.kind == "linear":
            p = start * t + (end - start) * t * t / (2.0 * T)
        else:
            growth = np.log(end / start) / T
            p = start * np.expm1(growth * t) / growth
        b.output("y", bias + amplitude * np.sin(phase + p))


@dataclass(frozen=True)
class GaussianPulse(Block):
    """A smooth pulse.

    Output: y = bias + amplitude exp(-((t - center)/width)^2 / 2).  No inputs, no states.

    amplitude, bias : number or (n,), any unit; tunable
    center : s; tunable
    width : s, above 0, the standard deviation; tunable

    Use::

        nudge = d.add("nudge", GaussianPulse(2.0, center=1.0, width=0.1))
        d.connect(nudge["y"], sink["u"])
    """

    amplitude: ArrayLike = 1.0
    center: float = 1.0
    width: float = 0.1
    bias: ArrayLike = 0.0

    def __post_init__(self) -> None:
        for name in ("amplitude", "bias"):
            checks.assign(self, **{name: checks.numbers(self, name)})
        for name in ("center", "width"):
            checks.assign(self, **{name: checks.numbers(self, name, dims=(0,))})
        checks.positive(self, "width", " s")
        if np.ndim(self.amplitude) and np.ndim(self.bias) and np.size(self.amplitude) != np.size(self.bias):
            raise checks.fault(self, "bias", f"has {np.size(self.bias)} components", "as many as amplitude")

    def define(self, b: Equations) -> None:
        """Declare the output."""
        amplitude, center, width, bias = b.parameters(
            amplitude=self.amplitude, center=self.center, width=self.width, bias=self.bias
        )
        s = (b.time - center) / width
        b.output("y", bias + amplitude * np.exp(-0.5 * s * s))


@dataclass(frozen=True)
class MultiStep(Block):
    """Several jumps.

    Output: y = initial for t < times[0], values[k] from times[k] on (right-continuous).  No inputs, no
    states.

    times : (n,) s, increasing; run-time numbers, the solver ends a step on each
    values : (n,) or (n, k), any unit; structural
    initial : number or (k,); structural

    Use::

        stairs = d.add("stairs", MultiStep([1.0, 2.0], [0.5, 1.0]))
        d.connect(stairs["y"], sink["u"])
    """

    times: ArrayLike
    values: ArrayLike
    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        listed = checks.entries(self, "times")
        if listed.ndim != 1 or listed.size == 0 or listed.size > 10_000:
            raise checks.fault(self, "times", f"has shape {listed.shape}", "(n,), n at most 10000")
        times = tuple(checks.moment(self, "times", time) for time in listed.tolist())
        checks.assign(self, times=times)
        if np.any(np.diff(np.array(times, dtype=float)) <= 0):
            raise checks.fault(self, "times", f"is {times}", "increasing times", "Sort them.")
        checks.assign(self, values=checks.numbers(self, "values", dims=(0, 1, 2)))
        checks.assign(self, initial=checks.numbers(self, "initial"))
        rows = len(np.atleast_1d(np.asarray(self.values)))
        if rows != len(times):
            raise checks.fault(self, "values", f"has {rows} rows", f"one per time, {len(times)}")
        width = np.asarray(self.values).reshape(len(times), -1).shape[1]
        if np.size(self.initial) not in (1, width):
            raise checks.fault(self, "initial", f"has {np.size(self.initial)} components", f"{width} or one")

    def define(self, b: Equations) -> None:
        """Declare the instants and the output."""
        passed = b.instants(self.times)
        values = np.array(self.values, dtype=float).reshape(len(np.atleast_1d(self.times)), -1)
        first = np.broadcast_to(np.asarray(self.initial, dtype=float), (1, values.shape[1]))
        b.output("y", pick(np.concatenate([first, values]), passed[0]))


@dataclass(frozen=True)
class RepeatingSequence(Block):
    """A course of straight lines that repeats itself.

    Output: y on the straight lines through (times, values), which start anew every times[-1] seconds; where
    the last value is not the first one y jumps there.  No inputs, no states. Each corner is a tick.

    times : (n,) s, increasing from 0; structural
    values : (n,) or (n, k), any unit; tunable

    Use::

        gait = d.add("gait", RepeatingSequence([0, 1, 2], [0, 2, 0]))
        d.connect(gait["y"], sink["u"])
    """

    times: ArrayLike
    values: ArrayLike

    def __post_init__(self) -> None:
        listed = checks.entries(self, "times")
        if listed.ndim != 1 or not 2 <= listed.size <= 1000:
            raise checks.fault(self, "times", f"has shape {listed.shape}", "(n,), n from 2 to 1000")
        times = tuple(checks.moment(self, "times", time) for time in listed.tolist())
        checks.assign(self, times=times, values=checks.numbers(self, "values", dims=(1, 2)))
        if times[0] != 0 or np.any(np.diff(np.array(times, dtype=float)) <= 0):
            raise checks.fault(self, "times", f"is {times}", "increasing times from 0 on")
        if len(times) != len(self.values):  # type: ignore[arg-type]  # a tuple by now
            raise checks.fault(
                self, "values", f"has shape {np.shape(self.values)}", f"one row per time, {len(times)}"
            )

    def define(self, b: Equations) -> None:
        """Declare a rate per corner and the output."""
        exact: Any = [rational(time) for time in np.atleast_1d(np.asarray(self.times, dtype=object)).tolist()]
        (values,) = b.parameters(values=self.values)
        rows = values.reshape(len(exact), -1)
        corners = [Ticks(exact[-1], time) for time in exact[:-1]]
        times, counts = zip(*[b.clock(ticks) for ticks in corners], strict=True)
        piece = (
            sum(counts[1:]) - (len(counts) - 1) * (counts[0] - 1.0) if len(counts) > 1 else 0.0 * counts[0]
        )
        step = np.diff(np.array(exact, dtype=float)).reshape(-1, 1)
        slopes = (rows[1:] - rows[:-1]) / step
        since = b.time - times[0] - pick(np.array(exact[:-1], dtype=float).reshape(-1, 1), piece)
        b.output("y", pick(rows[:-1], piece) + pick(slopes, piece) * since)


@dataclass(frozen=True)
class RepeatingSequenceStair(Block):
    """Values that are shown one per tick, over and over.

    Output: y_k = values[k mod n], held between ticks; values[0] before the first one.  No inputs, no states.

    values : (n,) or (n, k), any unit; tunable
    sample, offset : s; structural

    Use::

        lights = d.add("lights", RepeatingSequenceStair([3, 1, 2], sample=10.0))
        d.connect(lights["y"], sink["u"])
    """

    values: ArrayLike
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        checks.rate(self)
        checks.assign(self, values=checks.numbers(self, "values", dims=(1, 2)))

    def define(self, b: Equations) -> None:
        """Declare the output."""
        (values,) = b.parameters(values=self.values)
        rows = values.reshape(len(np.asarray(self.values)), -1)
        n = float(len(np.asarray(self.values)))
        k = np.maximum(b.tick_count(self.sample, self.offset, anew=True) - 1.0, 0.0)
        b.output("y", pick(rows, k - n * np.floor(k / n)))


@dataclass(frozen=True)
class CounterFreeRunning(Block):
    """Ticks counted in so many bits.

    Output: y_k = k mod 2^bits, held between ticks; 0 before the first one.  No inputs, no states.

    bits : 1 to 52; structural
    sample, offset : s; structural

    Use::

        clock = d.add("clock", CounterFreeRunning(8, sample=0.01))
        d.connect(clock["y"], sink["u"])
    """

    bits: int = 16
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        checks.rate(self)
        checks.assign(self, bits=checks.count(self, "bits", most=52))

    def define(self, b: Equations) -> None:
        """Declare the output."""
        b.output("y", _modulo(b, self, 2.0**self.bits))


@dataclass(frozen=True)
class CounterLimited(Block):
    """Ticks counted up to a limit, then from 0 again.

    Output: y_k = k mod (limit + 1), held between ticks; 0 before the first one.  No inputs, no states.

    limit : whole number, 0 or more; structural
    sample, offset : s; structural

    Use::

        phase = d.add("phase", CounterLimited(3, sample=0.01))
        d.connect(phase["y"], sink["u"])
    """

    limit: int
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        checks.rate(self)
        checks.assign(self, limit=checks.count(self, "limit", least=0, most=2**52))

    def define(self, b: Equations) -> None:
        """Declare the output."""
        b.output("y", _modulo(b, self, self.limit + 1.0))


def _modulo(b: Equations, block: Any, n: float) -> Array:
    k = np.maximum(b.tick_count(block.sample, block.offset, anew=True) - 1.0, 0.0)
    return k - n * np.floor(k / n)
