"""Static nonlinearities. Their corners and jumps are zero crossings that the solver ends a step on.

`Saturation` alone has none: adaptive steps end at its corners, which is no event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.symbols import Array
from blocks.functions import clip
from blocks.library.expansion import each, together
from blocks.library.sliding import sliding_sign
from blocks.library.truth import unit_of

__all__ = ["Abs", "DeadZone", "Quantizer", "Saturation", "Sign"]


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


@dataclass(frozen=True)
class DeadZone(Block):
    """Pass nothing of a signal within a zone, and what lies beyond it outside.

    Output: y = u - high where u > high, u - low where u < low, else 0 (elementwise).
    Direct feedthrough: u to y.

    low, high : number or (n,), unit of u; tunable

    Use::

        play = d.add("play", DeadZone(-0.1, 0.1))
        d.connect(source["y"], play["u"])
    """

    low: ArrayLike
    high: ArrayLike

    def __post_init__(self) -> None:
        checks.limits(self)

    def define(self, b: Equations) -> None:
        """Declare ports and the two branches of every component."""
        low, high = b.parameters(low=self.low, high=self.high)

        def beyond(u: Array, low: Array, high: Array) -> Array:
            unit = unit_of(low, high)
            inside = b.where_event((low - u) / unit, low, u)
            return u - b.where_event((u - high) / unit, high, inside)

        u, low, high = together(b, self, u=b.input("u"), low=low, high=high)
        b.output("y", each(beyond, u, low, high))


@dataclass(frozen=True)
class Sign(Block):
    """The sign of a signal, elementwise.

    Output: y = 1 where u > 0, -1 where u < 0, 0 where u rests at 0.
    Direct feedthrough: none between ticks (y is held, and flipped by a crossing); at a tick u to y.

    In a loop that leads u back to 0 from both sides the sign chatters, which ends the run. With sliding=True
    u slides on 0 there: y is the value between -1 and 1 that keeps it there (an algebraic unknown; u comes
    from states). Events "meets 0" and "leaves 0" say when.

    sliding : structural

    Use::

        direction = d.add("direction", Sign())
        d.connect(source["y"], direction["u"])
    """

    sliding: bool = False

    def __post_init__(self) -> None:
        checks.assign(self, sliding=checks.flag(self, "sliding"))

    def define(self, b: Equations) -> None:
        """Declare ports and the two branches of every component, or what slides."""
        u = b.input("u")
        if self.sliding:
            names = [""] if u.size == 1 else [f"[{k}]" for k in range(u.size)]
            b.output("y", np.stack([sliding_sign(b, u[k], name) for k, name in enumerate(names)]))
            return
        b.output("y", each(lambda u: b.where_event(-u, 0.0, 1.0) - b.where_event(u, 0.0, 1.0), u))


@dataclass(frozen=True)
class Abs(Block):
    """The magnitude of a signal, elementwise; its corner is an event.

    Output: y = |u|.  Direct feedthrough: u to y.

    Use::

        speed = d.add("speed", Abs())
        d.connect(source["y"], speed["u"])
    """

    def define(self, b: Equations) -> None:
        """Declare ports and a branch per component."""
        b.output("y", each(lambda u: b.where_event(u, u, -u), b.input("u")))


@dataclass(frozen=True)
class Quantizer(Block):
    """Round a signal to whole multiples of an interval, elementwise.

    Output: y = interval n with n = u/interval rounded to the nearest whole number, halves away from zero (as
    in Simulink; ``np.round`` rounds them to the even neighbour).  Every change of n is an event.
    Direct feedthrough: none between ticks; at a tick u to y.

    interval : number or (n,) above 0, unit of u; tunable

    Use::

        encoder = d.add("encoder", Quantizer(2 * np.pi / 4096))
        d.connect(source["y"], encoder["u"])
    """

    in_steps: ClassVar[bool] = True

    interval: ArrayLike

    def __post_init__(self) -> None:
        checks.assign(self, interval=checks.numbers(self, "interval"))
        checks.positive(self, "interval")

    def define(self, b: Equations) -> None:
        """Declare ports, a mode for the whole number and the events that change it by one.

        Where the signal jumps over several levels the mode takes its value at that instant.
        """
        (interval,) = b.parameters(interval=self.interval)
        u, interval = together(b, self, u=b.input("u"), interval=interval)
        ratio = u / interval
        nearest = np.sign(ratio) * np.floor(np.abs(ratio) + 0.5)
        levels = []
        for k in range(u.size):
            name = f"n{k}"
            n = b.mode(name, 0.0, at_ticks=nearest[k])
            b.when(ratio[k] - (n[0] + 0.5), [(n, n[0] + 1.0)], "rising", f"{name} up")
            b.when(ratio[k] - (n[0] - 0.5), [(n, n[0] - 1.0)], "falling", f"{name} down")
            levels.append(n[0])
        b.output("y", interval * np.stack(levels))
