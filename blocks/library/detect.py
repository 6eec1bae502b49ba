"""Blocks that notice what a signal does: from sample to sample, or at the instant it happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate
from blocks.contract.symbols import Array
from blocks.library.expansion import together
from blocks.library.truth import answer, unit_of

__all__ = ["DetectChange", "DetectDecrease", "DetectFall", "DetectIncrease", "DetectRise", "HitCrossing"]

DIRECTIONS = ("rising", "falling", "either")


@dataclass(frozen=True)
class DetectRise(Block):
    """Notice where a sampled signal comes above a threshold, elementwise.

    Output: y_k = 1 where u_k > threshold and u_k-1 <= threshold, else 0; 0 before the first tick.
    Update: the signal of the tick before.  Direct feedthrough: u to y, at ticks.

    sample, offset : s; structural
    threshold : number or (n,), unit of u; tunable
    initial : number or (n,), u before the first tick; run-time number

    Use::

        start = d.add("start", DetectRise(sample=0.01))
        d.connect(source["y"], start["u"])
    """

    sample: Rate
    offset: Rate = 0
    threshold: ArrayLike = 0.0
    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        _check(self, "threshold")

    def define(self, b: Equations) -> None:
        """Declare ports and the signal of the tick before."""
        (threshold,) = b.parameters(threshold=self.threshold)
        _detect(b, self, lambda u, last, level: (u > level) & (last <= level), threshold)


@dataclass(frozen=True)
class DetectFall(Block):
    """Notice where a sampled signal comes down to a threshold, elementwise: the end of what `DetectRise` saw.

    Output: y_k = 1 where u_k <= threshold and u_k-1 > threshold, else 0; 0 before the first tick.
    Update: the signal of the tick before.  Direct feedthrough: u to y, at ticks.

    sample, offset : s; structural
    threshold : number or (n,), unit of u; tunable
    initial : number or (n,), u before the first tick; run-time number

    Use::

        end = d.add("end", DetectFall(sample=0.01))
        d.connect(source["y"], end["u"])
    """

    sample: Rate
    offset: Rate = 0
    threshold: ArrayLike = 0.0
    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        _check(self, "threshold")

    def define(self, b: Equations) -> None:
        """Declare ports and the signal of the tick before."""
        (threshold,) = b.parameters(threshold=self.threshold)
        _detect(b, self, lambda u, last, level: (u <= level) & (last > level), threshold)


@dataclass(frozen=True)
class DetectChange(Block):
    """Notice where a sampled signal is another than at the tick before, elementwise.

    Output: y_k = 1 where u_k != u_k-1, else 0; 0 before the first tick.
    Update: the signal of the tick before.  Direct feedthrough: u to y, at ticks.

    sample, offset : s; structural
    initial : number or (n,), u before the first tick; run-time number

    Use::

        news = d.add("news", DetectChange(sample=0.01))
        d.connect(source["y"], news["u"])
    """

    sample: Rate
    offset: Rate = 0
    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        _check(self)

    def define(self, b: Equations) -> None:
        """Declare ports and the signal of the tick before."""
        _detect(b, self, lambda u, last: u != last)


@dataclass(frozen=True)
class DetectIncrease(Block):
    """Notice where a sampled signal is larger than at the tick before, elementwise.

    Output: y_k = 1 where u_k > u_k-1, else 0; 0 before the first tick.
    Update: the signal of the tick before.  Direct feedthrough: u to y, at ticks.

    sample, offset : s; structural
    initial : number or (n,), u before the first tick; run-time number

    Use::

        grows = d.add("grows", DetectIncrease(sample=0.01))
        d.connect(source["y"], grows["u"])
    """

    sample: Rate
    offset: Rate = 0
    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        _check(self)

    def define(self, b: Equations) -> None:
        """Declare ports and the signal of the tick before."""
        _detect(b, self, lambda u, last: u > last)


@dataclass(frozen=True)
class DetectDecrease(Block):
    """Notice where a sampled signal is smaller than at the tick before, elementwise.

    Output: y_k = 1 where u_k < u_k-1, else 0; 0 before the first tick.
    Update: the signal of the tick before.  Direct feedthrough: u to y, at ticks.

    sample, offset : s; structural
    initial : number or (n,), u before the first tick; run-time number

    Use::

        shrinks = d.add("shrinks", DetectDecrease(sample=0.01))
        d.connect(source["y"], shrinks["u"])
    """

    sample: Rate
    offset: Rate = 0
    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        _check(self)

    def define(self, b: Equations) -> None:
        """Declare ports and the signal of the tick before."""
        _detect(b, self, lambda u, last: u < last)


def _check(block: Any, *more: str) -> None:
    checks.rate(block)
    checks.assign(block, **{name: checks.numbers(block, name) for name in ("initial", *more)})


def _detect(b: Equations, block: Any, condition: Callable[..., Array], *levels: Array) -> None:
    """Declare ports, the signal of the tick before and what the condition says about both."""
    sized = np.zeros(np.shape(block.initial))
    named = {f"threshold{k}": level for k, level in enumerate(levels)}
    u, _, *levels_ = together(b, block, u=b.input("u"), initial=sized, **named)
    last = b.discrete("last", block.initial, block.sample, block.offset, size=u.size)
    b.update(last, u)
    b.output("y", answer(condition(u, last, *levels_), u, last), block.sample, block.offset)


@dataclass(frozen=True)
class HitCrossing(Block):
    """Count where a signal crosses a value, elementwise; every crossing is an event that a step ends on.

    Output: y = how often u has crossed offset so far; time = when it did last [s], -1 before it ever has.
    Crossings inside a step are located on the solver's own interpolation, jumps at ticks count at the tick.
    A pulse of no duration, as Simulink's block gives, would be seen by nothing.
    Direct feedthrough: none.

    offset : number or (n,), unit of u; tunable
    direction : "rising", "falling" or "either"; structural

    Use::

        hits = d.add("hits", HitCrossing(offset=1.0, direction="rising"))
        d.connect(source["y"], hits["u"])
    """

    offset: ArrayLike = 0.0
    direction: str = "either"

    def __post_init__(self) -> None:
        checks.assign(self, offset=checks.numbers(self, "offset"))
        checks.choice(self, "direction", DIRECTIONS)

    @property
    def counts_calls(self) -> tuple[str, ...]:
        """See `Block.counts_calls`."""
        return ("y",)

    def define(self, b: Equations) -> None:
        """Declare ports and the modes that a crossing changes."""
        (offset,) = b.parameters(offset=self.offset)
        u, offset = together(b, self, u=b.input("u"), offset=offset)
        counts, times = [], []
        for k in range(u.size):
            name = "" if u.size == 1 else f"[{k}]"
            count, last = b.mode(f"count{name}", 0.0), b.mode(f"last{name}", -1.0)
            direction = "both" if self.direction == "either" else self.direction
            beyond = (u[k] - offset[k]) / unit_of(offset[k])
            b.when(beyond, [(count, count + 1.0), (last, b.time)], direction, f"hit{name}")
            counts.append(count[0])
            times.append(last[0])
        b.output("y", np.stack(counts))
        b.output("time", np.stack(times))
