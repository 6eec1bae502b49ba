"""Delays in continuous time; `UnitDelay` in discrete.py delays by a sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.functions import clip

__all__ = ["TransportDelay", "VariableTransportDelay"]


@dataclass(frozen=True)
class TransportDelay(Block):
    """Delay a signal by a fixed time.

    Output: y(t) = u(t - delay), initial before t = delay.  Direct feedthrough: none.

    The past is kept as the solver's own interpolation, refined until it follows u within the tolerances; a
    jump of u comes out as a jump at an instant of its own, on which a step ends. No step is longer than the
    delay.
    Linear models: `linearize(..., pade=4)` puts a rational system in its place; of a held signal it is exact.

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


@dataclass(frozen=True)
class VariableTransportDelay(Block):
    """Delay a signal by a time that is a signal itself.

    Output: y(t) = u(t - T), T the input "delay" [s] within shortest and longest; initial while t < T. (What
    enters a pipe whose speed varies leaves it after a time that solves an integral: that is another block of
    Simulink; this one is its variable time delay.)
    Direct feedthrough: none from u, which shortest forbids.

    The past is kept as in `TransportDelay`. No step is longer than shortest.

    longest : s, above shortest; structural
    shortest : s, above 0; structural
    initial : number or (n,), unit of u; run-time number

    Use::

        belt = d.add("belt", VariableTransportDelay(longest=2.0))
        d.connect(source["y"], belt["u"])
    """

    longest: float = 10.0
    shortest: float = 0.01
    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        for name in ("longest", "shortest"):
            checks.assign(self, **{name: checks.numbers(self, name, dims=(0,))})
            checks.positive(self, name, " s")
        if self.shortest >= self.longest:
            raise checks.fault(
                self, "shortest", f"is {self.shortest} s", f"less than longest = {self.longest} s"
            )
        checks.assign(self, initial=checks.numbers(self, "initial"))

    def define(self, b: Equations) -> None:
        """Declare ports and the delay."""
        u = b.input("u", size=np.size(self.initial) if np.ndim(self.initial) else None)
        shortest, longest = float(self.shortest), float(self.longest)
        delay = clip(b.input("delay", size=1), shortest, longest)
        past = b.delayed(u, delay, self.initial, name="past", shortest=shortest, longest=longest)
        b.output("y", past)
