"""Static nonlinearities."""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from blocks import checks
from blocks.block import Block, Equations
from blocks.functions import clip
from blocks.sizes import together


@dataclass(frozen=True)
class Saturation(Block):
    """Keep a signal within limits.

    Output: y = low where u < low, high where u > high, else u (elementwise; nan passes through, so that the
    run stops).  Direct feedthrough: u to y.

    low, high : number or (n,), unit of u; tunable; None or an infinite number leaves a side open

    Use::

        valve = d.add("valve", Saturation(low=0.0, high=1.0))
        d.connect(source["y"], valve["u"])
    """

    low: ArrayLike | None
    high: ArrayLike | None

    def __post_init__(self) -> None:
        checks.limits(self)

    def define(self, b: Equations) -> None:
        """Declare ports and limits."""
        sides = {"low": self.low, "high": self.high}
        limits = {side: b.parameter(side, value) for side, value in sides.items() if value is not None}
        u, *bounds = together(b, self, u=b.input("u"), **limits)
        b.output("y", clip(u, **dict(zip(limits, bounds, strict=True))))
