"""Delays by whole numbers of samples, `Memory`, and tapped delay lines. By one sample: `UnitDelay`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate
from blocks.contract.symbols import Array
from blocks.functions import pick
from blocks.library.expansion import input_like, together
from blocks.library.resets import RESETS, Trigger, check_threshold
from blocks.library.truth import LEVEL

__all__ = [
    "Delay",
    "EnabledDelay",
    "Memory",
    "ResettableDelay",
    "TappedDelay",
    "VariableIntegerDelay",
]

LONGEST = 10_000  # samples of one delay


@dataclass(frozen=True)
class Delay(Block):
    """Delay a signal by n samples.

    Output: y_k = u_k-n, initial for k < n.  Update: a shift of n samples.  Direct feedthrough: none, but u to
    y at ticks for n = 0.

    n : samples, 0 or more; structural
    sample, offset : s; structural
    initial : number or (m,), unit of u; run-time number

    Use::

        late = d.add("late", Delay(5, sample=0.01))
        d.connect(source["y"], late["u"])
    """

    n: int
    sample: Rate
    offset: Rate = 0
    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        _check(self, least=0)

    def define(self, b: Equations) -> None:
        """Declare ports and the samples."""
        u = input_like(b, "u", self.initial)
        if self.n == 0:
            b.output("y", u, self.sample, self.offset, initial=self.initial)
            return
        x = [_past(b, self, k, u.size) for k in range(1, self.n + 1)]
        for k in range(self.n):
            b.update(x[k], x[k - 1] if k else u)
        b.output("y", x[-1])


@dataclass(frozen=True)
class ResettableDelay(Block):
    """Delay a signal by n samples, forgetting them on demand.

    Output: y_k = u_k-n, initial for k < n; at a tick with a reset y = initial, and the samples before it are
    forgotten. With ``external_initial=True`` the input "x0" stands in the place of initial.
    Direct feedthrough: reset (and x0) to y, at ticks.

    n : samples, 1 or more; structural
    sample, offset : s; structural
    initial : number or (m,), unit of u; tunable
    reset : "rising", "falling", "either" (edges of the input "reset" through `threshold`) or "level" (as long
        as it is above); structural
    threshold : of the input "reset", 0 as in Simulink or 0.5, between a signal's off and on; tunable
    external_initial : is there an input x0? structural

    Use::

        late = d.add("late", ResettableDelay(5, sample=0.01))
        d.connect(source["y"], late["reset"])
    """

    n: int
    sample: Rate
    offset: Rate = 0
    initial: ArrayLike = 0.0
    reset: str = "rising"
    external_initial: bool = False
    threshold: float = field(default=LEVEL, kw_only=True)

    def __post_init__(self) -> None:
        _check(self, least=1)
        checks.choice(self, "reset", RESETS[1:])
        check_threshold(self)
        checks.assign(self, external_initial=checks.flag(self, "external_initial"))

    def define(self, b: Equations) -> None:
        """Declare ports, the samples and the reset."""
        u = input_like(b, "u", self.initial)
        (initial,) = b.parameters(initial=self.initial)
        u, initial = together(b, self, u=u, initial=initial)
        start = b.input("x0", size=u.size) if self.external_initial else initial
        trigger = Trigger(b, self)
        # samples since the start or a reset
        taken = b.discrete("taken", 0.0, self.sample, self.offset, size=1)
        count = trigger.chosen(np.zeros(1), taken)
        b.update(taken, np.minimum(count + 1.0, float(self.n)))
        x = [b.discrete(f"u{k}", 0.0, self.sample, self.offset, size=u.size) for k in range(1, self.n + 1)]
        for k in range(self.n):
            b.update(x[k], x[k - 1] if k else u)
        late = np.where(count[0] > self.n - 0.5, x[-1], start)
        b.output("y", trigger.chosen(start, late), self.sample, self.offset, initial=self.initial)


@dataclass(frozen=True)
class EnabledDelay(Block):
    """Delay a signal by n samples, counting those ticks only at which it is enabled.

    Output: y_k = u at the n-th enabled tick before k, initial as long as there are not so many; the input
    "enable" is on above 0.5.  Update: a shift of n samples at enabled ticks.  Direct feedthrough: none.

    n : samples, 1 or more; structural
    sample, offset : s; structural
    initial : number or (m,), unit of u; run-time number

    Use::

        late = d.add("late", EnabledDelay(1, sample=0.01))
        d.connect(source["y"], late["enable"])
    """

    n: int
    sample: Rate
    offset: Rate = 0
    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        _check(self, least=1)

    def define(self, b: Equations) -> None:
        """Declare ports and the samples."""
        u, on = input_like(b, "u", self.initial), b.input("enable", size=1)[0] > LEVEL
        x = [_past(b, self, k, u.size) for k in range(1, self.n + 1)]
        for k in range(self.n):
            b.update(x[k], np.where(on, x[k - 1] if k else u, x[k]))
        b.output("y", x[-1])


@dataclass(frozen=True)
class VariableIntegerDelay(Block):
    """Delay a signal by a number of samples that is a signal itself.

    Output: y_k = u_k-d, d the input "d" rounded down, within 0 and n; initial where k < d.
    Update: a shift of n samples.  Direct feedthrough: u and d to y, at ticks.

    n : largest delay in samples; structural
    sample, offset : s; structural
    initial : number or (m,), unit of u; run-time number

    Use::

        late = d.add("late", VariableIntegerDelay(10, sample=0.01))
        d.connect(source["y"], late["d"])
    """

    n: int
    sample: Rate
    offset: Rate = 0
    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        _check(self, least=1)

    def define(self, b: Equations) -> None:
        """Declare ports, the samples and the choice."""
        u, d = input_like(b, "u", self.initial), b.input("d", size=1)[0]
        x = [_past(b, self, k, u.size) for k in range(1, self.n + 1)]
        for k in range(self.n):
            b.update(x[k], x[k - 1] if k else u)
        steps = np.minimum(np.maximum(np.floor(d), 0.0), float(self.n))
        y = np.where(np.isnan(d), d, pick([u, *x], steps))
        b.output("y", y, self.sample, self.offset, initial=self.initial)


@dataclass(frozen=True)
class TappedDelay(Block):
    """The newest n samples of a signal, side by side.

    Output: y_k = [u_k-n, ..., u_k-1], oldest first, or newest first; with ``include_current=True`` u_k as
    well. Before there are so many samples initial stands in their place.
    Update: a shift of n samples.  Direct feedthrough: u to its own place at ticks with include_current, else
    none.

    n : samples; structural
    sample, offset : s; structural
    initial : number, unit of u; run-time number
    include_current : is u_k part of y? structural
    newest_first : in which order; structural

    Use::

        window = d.add("window", TappedDelay(4, sample=0.01))
        d.connect(source["y"], window["u"])
    """

    n: int
    sample: Rate
    offset: Rate = 0
    initial: float = 0.0
    include_current: bool = False
    newest_first: bool = False

    def __post_init__(self) -> None:
        _check(self, least=1)
        checks.assign(self, initial=checks.numbers(self, "initial", dims=(0,)))
        for name in ("include_current", "newest_first"):
            checks.assign(self, **{name: checks.flag(self, name)})

    def define(self, b: Equations) -> None:
        """Declare ports and the samples."""
        u = b.input("u", size=1)
        x = b.discrete("x", self.initial, self.sample, self.offset, size=self.n)
        b.update(x, np.concatenate([u, x[:-1]]))
        newest = x
        if self.include_current:
            now = b.sampled(u, self.sample, self.offset, initial=self.initial, name="now")
            newest = np.concatenate([now, x])
        b.output("y", newest if self.newest_first else newest[::-1])


@dataclass(frozen=True)
class Memory(Block):
    """The signal as it was at the newest accepted step of the solver.

    Output: y = u at the end of the step before, initial during the first one.  Direct feedthrough: none.

    How long ago that is depends on the solver: take it to break a loop whose exact timing does not matter,
    `UnitDelay` or `TransportDelay` where it does.

    initial : number or (n,), unit of u; run-time number

    Use::

        last = d.add("last", Memory())
        d.connect(source["y"], last["u"])
    """

    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        checks.assign(self, initial=checks.numbers(self, "initial"))

    def define(self, b: Equations) -> None:
        """Declare ports and the memory."""
        u = input_like(b, "u", self.initial)
        b.output("y", b.accepted("last", u, self.initial, size=u.size))


def _check(block: Any, least: int) -> None:
    checks.assign(block, n=checks.count(block, "n", least=least, most=LONGEST))
    checks.rate(block)
    checks.assign(block, initial=checks.numbers(block, "initial"))


def _past(b: Equations, block: Any, k: int, size: int) -> Array:
    """State that holds u_k-k; the oldest is called as in `UnitDelay` where there is one only."""
    return b.discrete(f"x{k}", block.initial, block.sample, block.offset, size=size)
