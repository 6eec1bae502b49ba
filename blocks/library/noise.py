"""Random signals: drawn at ticks from a stream that depends on run's seed, block's path and tick only."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate
from blocks.contract.symbols import Array


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


def _check_fields(block: RandomNumber | UniformRandomNumber, *fields: str) -> None:
    checks.rate(block)
    checks.assign(block, **{name: checks.numbers(block, name) for name in fields})
    sizes = {np.size(getattr(block, name)) for name in fields} - {1}
    if len(sizes) > 1:
        raise checks.fault(block, fields[0], f"and {fields[1]} have sizes {sorted(sizes)}", "one size")


def _draw(b: Equations, block: RandomNumber | UniformRandomNumber, kind: str, *numbers: ArrayLike) -> Array:
    size = max(np.size(n) for n in numbers)
    return b.random(block.sample, kind, size, block.offset, name="draw")
