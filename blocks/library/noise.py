"""Random signals: drawn at ticks from a stream that depends on run's seed, block's path and tick only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate
from blocks.contract.symbols import Array

__all__ = ["BandLimitedWhiteNoise", "PinkNoise", "RandomNumber", "UniformRandomNumber"]


@dataclass(frozen=True)
class RandomNumber(Block):
    """Normally distributed numbers, one at every tick, held in between.

    Output: y_k = mean + sqrt(variance) n_k with independent n_k of mean 0 and variance 1; y = mean before the
    first tick.  No inputs, no states: the numbers depend on the seed of the run (``simulate(seed=...)``), the
    block's path and k only, so a run repeats itself and other blocks do not change them.

    mean, variance : number or (n,), unit of y and its square; tunable
    sample, offset : s; structural

    For white noise of spectral density S (two-sided, unit^2 s) take variance = S / sample.

    Use::

        noise = d.add("noise", RandomNumber(variance=1e-4, sample=0.01))
        d.connect(noise["y"], sink["u"])
    """

    mean: ArrayLike = 0.0
    variance: ArrayLike = 1.0
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        _check_fields(self, "mean", "variance")
        if np.any(np.asarray(self.variance) < 0):
            raise checks.fault(self, "variance", f"is {self.variance}", "0 or more")

    def define(self, b: Equations) -> None:
        """Declare the draw and the output."""
        mean, variance = b.parameters(mean=self.mean, variance=self.variance)
        b.output("y", mean + np.sqrt(variance) * _draw(b, self, "normal", self.mean, self.variance))


@dataclass(frozen=True)
class UniformRandomNumber(Block):
    """Uniformly distributed numbers, one at every tick, held in between.

    Output: y_k = low + (high - low) r_k with independent r_k in [0, 1); y = low before the first tick.
    No inputs, no states: the numbers depend on the seed of the run, the block's path and k only.

    low, high : number or (n,), unit of y; tunable
    sample, offset : s; structural

    Use::

        dither = d.add("dither", UniformRandomNumber(-0.5, 0.5, sample=0.01))
        d.connect(dither["y"], sink["u"])
    """

    low: ArrayLike = 0.0
    high: ArrayLike = 1.0
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        _check_fields(self, "low", "high")
        if np.any(np.asarray(self.low) > np.asarray(self.high)):
            expected = f"at most high = {self.high}"
            raise checks.fault(self, "low", f"is {self.low}", expected, "Exchange them.")

    def define(self, b: Equations) -> None:
        """Declare the draw and the output."""
        low, high = b.parameters(low=self.low, high=self.high)
        b.output("y", low + (high - low) * _draw(b, self, "uniform", self.low, self.high))


@dataclass(frozen=True)
class BandLimitedWhiteNoise(Block):
    """White noise up to half the sample rate.

    Output: y_k = sqrt(power / T) n_k with independent normal n_k, T the sample time, held between ticks; 0
    before the first one.  No inputs, no states: the numbers depend on the seed of the run, the block's path
    and k only.

    power : number or (n,), 0 or more, unit of y squared times s: the two-sided spectral density; tunable
    sample, offset : s; a hundredth of the fastest time constant that listens, or less; structural

    Use::

        gusts = d.add("gusts", BandLimitedWhiteNoise(0.1, sample=0.01))
        d.connect(gusts["y"], sink["u"])
    """

    power: ArrayLike = 0.1
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        _check_fields(self, "power")
        if np.any(np.asarray(self.power) < 0):
            raise checks.fault(self, "power", f"is {self.power}", "0 or more")

    def define(self, b: Equations) -> None:
        """Declare the draw and the output."""
        (power,) = b.parameters(power=self.power)
        y = np.sqrt(power / checks.period(self)) * _draw(b, self, "normal", self.power)
        b.output("y", np.reshape(y, (-1,)))


PINK = (
    (0.049922035, -0.095993537, 0.050612699, -0.004408786),
    (1.0, -2.494956002, 2.017265875, -0.522189400),
)
PINK_VARIANCE = 0.00742874233891302  # of what the filter makes of white noise of variance 1


@dataclass(frozen=True)
class PinkNoise(Block):
    """Noise whose spectral density falls as 1/f, by 3 dB per octave.

    Output: white noise through a filter of third order that is pink within 0.6 dB from 1/2000 of the sample
    rate to half of it, scaled to the given variance; held between ticks, 0 before the first one.
    Update: the states of the filter. No inputs: the numbers depend on the seed of the run, the block's path
    and the tick only.

    variance : number, 0 or more, unit of y squared; tunable
    sample, offset : s; structural

    Use::

        flicker = d.add("flicker", PinkNoise(1e-4, sample=0.01))
        d.connect(flicker["y"], sink["u"])

    Source: J. O. Smith, Spectral Audio Signal Processing, "Example: Synthesis of 1/F Noise".
    """

    variance: float = 1.0
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        checks.rate(self)
        checks.assign(self, variance=checks.numbers(self, "variance", dims=(0,)))
        if self.variance < 0:
            raise checks.fault(self, "variance", f"is {self.variance}", "0 or more")

    def define(self, b: Equations) -> None:
        """Declare the draw, the filter and the output."""
        (variance,) = b.parameters(variance=self.variance)
        u = _draw(b, self, "normal", 0.0)
        num, den = PINK
        x = b.discrete("x", 0.0, self.sample, self.offset, size=3)
        y = x[0] + num[0] * u[0]
        rows = [num[k] * u[0] - den[k] * y + (x[k] if k < 3 else 0.0) for k in (1, 2, 3)]
        b.update(x, np.stack(rows))
        b.output("y", np.sqrt(variance / PINK_VARIANCE) * y, self.sample, self.offset)


def _check_fields(block: Any, *fields: str) -> None:
    checks.rate(block)
    checks.assign(block, **{name: checks.numbers(block, name) for name in fields})
    sizes = {np.size(getattr(block, name)) for name in fields} - {1}
    if len(sizes) > 1:
        raise checks.fault(block, fields[0], f"and {fields[1]} have sizes {sorted(sizes)}", "one size")


def _draw(b: Equations, block: Any, kind: str, *numbers: ArrayLike) -> Array:
    size = max(np.size(n) for n in numbers)
    return b.random(block.sample, kind, size, block.offset, name="draw")
