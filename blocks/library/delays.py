"""Delays in continuous time; `UnitDelay` in discrete.py delays by a sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations


@dataclass(frozen=True)
class TransportDelay(Block):
    """Delay a signal by a fixed time.

    Output: y(t) = u(t - delay), initial before t = delay.  Direct feedthrough: none.

    The past is kept as the solver's own interpolation, refined until it follows u within the tolerances; a
    jump of u comes out as a jump at an instant of its own, on which a step ends. No step is longer than the
    delay.
    A linear model cannot hold it: put a Padé approximation in its place there.

    delay : s, above 0; tunable
    initial : number or (n,), unit of u; run-time number

    Use::

        belt = d.add("belt", TransportDelay(0.25))
        d.connect(source["y"], belt["u"])
    """

    delay: float
    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        checks.assign(
            self, delay=checks.numbers(self, "delay", dims=(0,)), initial=checks.numbers(self, "initial")
        )
        checks.positive(self, "delay", " s")

    def define(self, b: Equations) -> None:
        """Declare ports and the delay."""
        (delay,) = b.parameters(delay=self.delay)
        u = b.input("u", size=np.size(self.initial) if np.ndim(self.initial) else None)
        b.output("y", b.delayed(u, delay, self.initial, name="past"))
