"""The smallest and the largest: of several signals, of the components of one, of the past."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate
from blocks.contract.symbols import Array
from blocks.library.expansion import each, together
from blocks.library.truth import LEVEL

__all__ = ["MinMax", "MinMaxRunning"]


@dataclass(frozen=True)
class MinMax(Block):
    """The smallest or the largest of several signals, elementwise; a change of which it is, is an event.

    Output: y = min(in1, in2, ...) or max(...); with one input the smallest or largest of its components.
    Direct feedthrough: every input to y.

    function : "min" or "max"; structural
    n : number of inputs "in1", "in2", ...; structural

    Use::

        least = d.add("least", MinMax("min", 2))
        d.connect(source["y"], least["in1"])
    """

    function: str = "min"
    n: int = 2

    def __post_init__(self) -> None:
        checks.choice(self, "function", ("min", "max"))
        checks.assign(self, n=checks.count(self, "n"))

    def port_name(self, name: str) -> str:
        """The only input may be called u."""
        return "in1" if name == "u" and self.n == 1 else name

    def define(self, b: Equations) -> None:
        """Declare the inputs and a branch per comparison."""
        inputs = together(b, self, **{f"in{k}": b.input(f"in{k}") for k in range(1, self.n + 1)})
        sign = 1.0 if self.function == "max" else -1.0

        def extreme(p: Array, q: Array) -> Array:
            return np.where(np.isnan(p - q), p - q, b.where_event(sign * (p - q), p, q))

        if self.n == 1:
            b.output("y", reduce(extreme, list(inputs[0])))
        else:
            b.output("y", reduce(lambda p, q: each(extreme, p, q), inputs))


@dataclass(frozen=True)
class MinMaxRunning(Block):
    """The smallest or largest value a sampled signal has had, elementwise, since the start or a reset.

    Output: y_k = max(u_k, y_k-1), or min; with ``reset=True`` there is an input "reset", and where it is on
    (above 0.5) y_k = initial. y = initial before the first tick.
    Update: y.  Direct feedthrough: the inputs to y, at ticks.  In continuous time: `PeakHold`.

    sample, offset : s; structural
    function : "min" or "max"; structural
    initial : number, unit of u, what has to be exceeded; tunable
    reset : is there a reset input? structural

    Use::

        top = d.add("top", MinMaxRunning(0.01, function="max"))
        d.connect(source["y"], top["u"])
    """

    sample: Rate
    offset: Rate = 0
    function: str = "min"
    initial: float = 0.0
    reset: bool = False

    def __post_init__(self) -> None:
        checks.rate(self)
        checks.choice(self, "function", ("min", "max"))
        checks.assign(
            self, initial=checks.numbers(self, "initial", dims=(0,)), reset=checks.flag(self, "reset")
        )

    def define(self, b: Equations) -> None:
        """Declare ports and the value so far."""
        (initial,) = b.parameters(initial=self.initial)
        u = b.input("u")
        old = b.discrete("above_initial", 0.0, self.sample, self.offset, size=u.size)
        past = initial + old
        extreme = np.maximum(u, past) if self.function == "max" else np.minimum(u, past)
        if self.reset:
            on = b.input("reset", size=1)[0]
            extreme = np.where(np.isnan(on), on, np.where(on > LEVEL, initial, extreme))
        y = b.sampled(extreme - initial, self.sample, self.offset, name="now")
        b.update(old, y)
        b.output("y", initial + y)
