"""Between the analog and the digital: converters, encoder, pulse-width modulation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate, Ticks, rational
from blocks.contract.symbols import Array

__all__ = ["ADC", "DAC", "PWM", "Encoder"]


def _check_range(block: Any) -> None:
    checks.rate(block)
    checks.assign(block, bits=checks.count(block, "bits", most=32))
    for name in ("low", "high"):
        checks.assign(block, **{name: checks.numbers(block, name, dims=(0,))})
    if block.low >= block.high:
        raise checks.fault(block, "low", f"is {block.low}", f"less than high = {block.high}")


@dataclass(frozen=True)
class ADC(Block):
    """Analog-to-digital converter, elementwise.

    Output: at ticks code = floor((u - low) / q) within 0 and 2^bits - 1, q = (high - low) / 2^bits; y = low +
    q code (the lower end of the step). Both are held between ticks and 0 before the first one.
    Direct feedthrough: u to y and code, at ticks.

    bits : 1 to 32; structural
    low, high : ends of the range, unit of u; tunable
    sample, offset : s; structural

    Use::

        adc = d.add("adc", ADC(12, 0.0, 5.0, sample=0.001))
        d.connect(source["y"], adc["u"])
    """

    in_steps: ClassVar[bool] = True

    bits: int = 12
    low: float = 0.0
    high: float = 5.0
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        _check_range(self)

    def define(self, b: Equations) -> None:
        """Declare ports and the code."""
        low, high = b.parameters(low=self.low, high=self.high)
        u = b.input("u")
        q = (high - low) / 2.0**self.bits
        code = _within(np.floor((u - low) / q), 2.0**self.bits - 1.0)
        b.output("y", low + q * code, self.sample, self.offset)
        b.output("code", code, self.sample, self.offset)


@dataclass(frozen=True)
class DAC(Block):
    """Digital-to-analog converter with a zero-order hold, elementwise.

    Output: y = low + (high - low) code / 2^bits at ticks, held in between, 0 before the first one;
    code = the input "u" rounded to a whole number within 0 and 2^bits - 1.
    Direct feedthrough: u to y, at ticks.

    bits : 1 to 32; structural
    low, high : ends of the range, unit of y; tunable
    sample, offset : s; structural

    Use::

        dac = d.add("dac", DAC(10, -10.0, 10.0, sample=0.001))
        d.connect(source["y"], dac["u"])
    """

    in_steps: ClassVar[bool] = True

    bits: int = 12
    low: float = 0.0
    high: float = 5.0
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        _check_range(self)

    def define(self, b: Equations) -> None:
        """Declare ports and the voltage."""
        low, high = b.parameters(low=self.low, high=self.high)
        code = _within(np.rint(b.input("u")), 2.0**self.bits - 1.0)
        b.output("y", low + (high - low) / 2.0**self.bits * code, self.sample, self.offset)


def _within(code: Array, most: float) -> Array:
    return np.where(code > most, most, np.where(code < 0.0, 0.0, code))


@dataclass(frozen=True)
class Encoder(Block):
    """Incremental encoder read at ticks, elementwise.

    Output: count = floor(counts u / turn); y = turn count / counts, the angle it stands for. Both are held
    between ticks, and 0 before the first one.
    Direct feedthrough: u to count and y, at ticks.

    counts : whole number per turn (four times the lines of a quadrature encoder); structural
    turn : unit of u per turn; structural
    sample, offset : s; structural

    Use::

        angle = d.add("angle", Encoder(4096, sample=0.001))
        d.connect(source["y"], angle["u"])
    """

    in_steps: ClassVar[bool] = True

    counts: int = 4096
    turn: float = 2 * np.pi
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        checks.rate(self)
        checks.assign(self, counts=checks.count(self, "counts", most=2**40))
        checks.assign(self, turn=checks.numbers(self, "turn", dims=(0,)))
        checks.positive(self, "turn")

    def define(self, b: Equations) -> None:
        """Declare ports and the count."""
        count = np.floor(b.input("u") * (self.counts / self.turn))
        b.output("y", count * (self.turn / self.counts), self.sample, self.offset)
        b.output("count", count, self.sample, self.offset)


@dataclass(frozen=True)
class PWM(Block):
    """Pulse-width modulation: on for a part of every period.

    Output: y = on_value from each tick on for the part u of the period, u taken at the tick and kept within 0
    and 1; off_value for the rest of it, and before the first tick. The end of a pulse is an event.
    Direct feedthrough: none between ticks; at a tick u to y.

    period, offset : s; structural
    on_value, off_value : any unit; tunable

    Use::

        bridge = d.add("bridge", PWM(period=1e-3, on_value=24.0))
        d.connect(source["y"], bridge["u"])
    """

    period: Rate = 1e-3
    offset: Rate = 0
    on_value: float = 1.0
    off_value: float = 0.0

    def __post_init__(self) -> None:
        for name in ("on_value", "off_value"):
            checks.assign(self, **{name: checks.numbers(self, name, dims=(0,))})
        checks.moment(self, "period", self.period)
        checks.moment(self, "offset", self.offset)
        if rational(self.period) <= 0:
            raise checks.fault(self, "period", f"is {self.period} s", "a positive number of seconds")
        if rational(self.offset) < 0:
            raise checks.fault(self, "offset", f"is {self.offset} s", "0 s or more", "Add whole periods.")

    def define(self, b: Equations) -> None:
        """Declare ports, the part that is on and the mode that its end changes."""
        on_value, off_value = b.parameters(on_value=self.on_value, off_value=self.off_value)
        u = b.input("u", size=1)[0]
        ticks = Ticks.of(self.period, self.offset)
        part = b.sampled(np.where(u > 1.0, 1.0, np.where(u < 0.0, 0.0, u)), ticks, name="part")[0]
        left = part * float(ticks.period) - (b.time - b.tick_time(ticks))  # s, until the pulse ends
        left = np.where(b.tick_count(ticks) > 0.5, left, -1.0)
        on = b.mode("on", 0.0, at_ticks=np.where(left > 1e-12 * float(ticks.period), 1.0, 0.0))
        ends = (on[0] > 0.5) & (part < 1.0)  # a whole period long it is on when the next one begins
        b.when(np.where(ends, left, 1.0), [(on, 0.0)], "falling", "end of pulse")
        b.output("y", np.where(on[0] > 0.5, on_value, off_value))
