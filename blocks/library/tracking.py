"""Blocks that remember the course of a signal: what they keep is refreshed after every accepted step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.symbols import Array


@dataclass(frozen=True)
class PeakHold(Block):
    """The largest (or smallest) value a signal has had, elementwise.

    Output: y = max(peak, u), with "min" min(peak, u).  Direct feedthrough: u to y.
    peak is refreshed after every accepted step; between steps a peak shorter than a step is not seen.

    kind : "max" or "min"; structural
    initial : number, unit of u: what has to be exceeded

    Use::

        top = d.add("top", PeakHold())
        d.connect(source["y"], top["u"])
    """

    kind: str = "max"
    initial: float | None = None

    def __post_init__(self) -> None:
        checks.choice(self, "kind", ("max", "min"))
        if self.initial is not None:
            checks.settle(self, initial=checks.numbers(self, "initial", dims=(0,)))

    def define(self, b: Equations) -> None:
        """Declare ports and the memory."""
        u = b.input("u")
        floor = np.full(u.size, -LARGEST if self.kind == "max" else LARGEST)
        start = floor if self.initial is None else np.full(u.size, float(self.initial))

        def extreme(old: Array) -> Array:
            keep = u <= old if self.kind == "max" else u >= old
            return np.where(keep, old, u)  # a nan passes

        b.output("y", extreme(b.accepted("peak", extreme, start)))


@dataclass(frozen=True)
class TurnCounter(Block):
    """Make a periodic signal, such as an angle within -pi to pi, continuous by counting turns, elementwise.

    Output: y = u + period n, n the whole number that brings y nearest to its newest accepted value.
    Direct feedthrough: u to y.  A step must not take u through more than half a period.

    period : of the signal, unit of u; tunable
    initial : number, unit of u: y starts as near to it as a whole number of turns allows

    Use::

        angle = d.add("angle", TurnCounter())
        d.connect(source["y"], angle["u"])
    """

    switches_by_design: ClassVar[bool] = True  # the branch changes where the signal jumps, and takes it back

    period: float = 2 * np.pi
    initial: float = 0.0

    def __post_init__(self) -> None:
        for name in ("period", "initial"):
            checks.settle(self, **{name: checks.numbers(self, name, dims=(0,))})
        checks.positive(self, "period")

    def define(self, b: Equations) -> None:
        """Declare ports and the memory."""
        (period,) = b.parameters(period=self.period)
        u = b.input("u")

        def unwrapped(old: Array) -> Array:
            return u + period * np.floor((old - u) / period + 0.5)

        b.output("y", unwrapped(b.accepted("y", unwrapped, np.full(u.size, float(self.initial)))))


LARGEST = 1.7e308  # stands for infinity where a memory must be finite
