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
from blocks.library.tracking import running
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
        checks.assign(self, n=checks.ports(self, "n"))

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
    """The smallest or largest value a signal has had, elementwise, since the start or a reset.

    Output: with `sample`, y_k = max(u_k, y_k-1), or min, y = initial before the first tick; without, y(t) is
    the extreme of u up to t, found by events as in `PeakHold`. With ``reset=True`` there is an input "reset",
    and while it is on (above 0.5) y = initial.
    Update: y.  Direct feedthrough: the inputs to y, with `sample` at ticks; without, u.

    sample, offset : s, None in continuous time; structural
    function : "min" or "max"; structural
    initial : number, unit of u, what has to be exceeded; tunable
    reset : is there a reset input? structural

    Use::

        top = d.add("top", MinMaxRunning(0.01, function="max"))
        d.connect(source["y"], top["u"])
    """

    sample: Rate | None = None
    offset: Rate = 0
    function: str = "min"
    initial: float = 0.0
    reset: bool = False

    def __post_init__(self) -> None:
        checks.rate(self, optional=True)
        checks.choice(self, "function", ("min", "max"))
        checks.assign(
            self, initial=checks.numbers(self, "initial", dims=(0,)), reset=checks.flag(self, "reset")
        )

    def define(self, b: Equations) -> None:
        """Declare ports and the value so far."""
        (initial,) = b.parameters(initial=self.initial)
        u = b.input("u")
        on = b.input("reset", size=1)[0] if self.reset else None
        if self.sample is None:
            b.output("y", initial + self._continuous(b, u - initial, on))
            return
        old = b.discrete("above_initial", 0.0, self.sample, self.offset, size=u.size)
        past = initial + old
        extreme = np.maximum(u, past) if self.function == "max" else np.minimum(u, past)
        if on is not None:
            extreme = np.where(np.isnan(on), on, np.where(on > LEVEL, initial, extreme))
        y = b.sampled(extreme - initial, self.sample, self.offset, name="now")
        b.update(old, y)
        b.output("y", initial + y)

    def _continuous(self, b: Equations, above: Array, on: Array | None) -> Array:
        """How far the extreme is from the initial value."""
        sign, start = 1.0 if self.function == "max" else -1.0, np.zeros(above.size)
        if on is None:
            return running(b, above, sign, start)
        off = b.where_event(LEVEL - on, 1.0, 0.0, name="reset") > 0.5
        since = np.where(off, above, 0.0)
        found = running(b, since, sign, start, (np.logical_not(off), 0.0))
        return np.where(np.isnan(above), above, found)  # a nan passes, so that the run stops
