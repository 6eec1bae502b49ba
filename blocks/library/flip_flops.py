"""Flip-flops and counters: one bit, or a number, that remembers what signals did.

With a sample time they look at their inputs at ticks. Without one every change is an event, located where the
signal crosses the level 0.5: above it a signal is on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate
from blocks.contract.symbols import Array
from blocks.library.truth import LEVEL, answer

__all__ = ["Counter", "DFlipFlop", "JKFlipFlop", "SRFlipFlop"]

EDGES = ("rising", "falling", "either")


@dataclass(frozen=True)
class SRFlipFlop(Block):
    """A bit that one signal sets and another resets.

    Output: Q = 1 once S is on (above 0.5), 0 once R is on, else what it was; not_Q = 1 - Q.  Where both are
    on, `dominant` says which wins.
    Direct feedthrough: with a sample time S and R to Q and not_Q at ticks; without one none between ticks (Q
    is held, and flipped by a crossing), at a tick S and R to both.

    initial : False or True (0 or 1), Q before anything happens; structural
    dominant : "reset" or "set"; structural
    sample, offset : s; None means continuous

    Use::

        latch = d.add("latch", SRFlipFlop())
        d.connect(source["y"], latch["S"])
    """

    initial: bool = False
    dominant: str = "reset"
    sample: Rate | None = None
    offset: Rate = 0

    def __post_init__(self) -> None:
        _check_bit(self)
        checks.choice(self, "dominant", ("reset", "set"))

    def port_name(self, name: str) -> str:
        """Ports as Simulink, IEC 61131-3 and plain words call them."""
        return _PORTS.get(name.lower(), name)

    def define(self, b: Equations) -> None:
        """Declare ports and the bit."""
        S, R = b.input("S", size=1)[0], b.input("R", size=1)[0]

        def following(old: Array) -> Array:
            if self.dominant == "reset":
                return np.where(R > LEVEL, 0.0, np.where(S > LEVEL, 1.0, old))
            return np.where(S > LEVEL, 1.0, np.where(R > LEVEL, 0.0, old))

        if self.sample is not None:
            last = b.discrete("last", float(self.initial), self.sample, self.offset, size=1)
            Q = _sampled(b, self, answer(following(last), S, R), float(self.initial))
            b.update(last, Q)
        else:
            bit = b.mode("Q", float(self.initial), size=1, at_ticks=following)
            Q = bit
            off = np.where(R > LEVEL, -1.0, S - LEVEL) if self.dominant == "reset" else S - LEVEL
            on = R - LEVEL if self.dominant == "reset" else np.where(S > LEVEL, -1.0, R - LEVEL)
            b.when(np.where(bit[0] < 0.5, off, -1.0), [(bit, 1.0)], "rising", "set")
            b.when(np.where(bit[0] < 0.5, -1.0, on), [(bit, 0.0)], "rising", "reset")
        b.output("Q", Q)
        b.output("not_Q", 1.0 - Q)


@dataclass(frozen=True)
class DFlipFlop(Block):
    """A bit that is taken over at an edge of a clock.

    Output: Q = 1 if D was on (above 0.5) at the newest edge of CLK, else 0; not_Q = 1 - Q.
    Direct feedthrough: with a sample time D and CLK to Q and not_Q at ticks; without one none (the edge is an
    event).

    edge : of CLK through 0.5: "rising", "falling" or "either"; structural
    initial : False or True (0 or 1), Q before the first edge; structural
    sample, offset : s; None means continuous. With one, CLK counts as off before the first tick

    Use::

        bit = d.add("bit", DFlipFlop())
        d.connect(source["y"], bit["D"])
    """

    edge: str = "rising"
    initial: bool = False
    sample: Rate | None = None
    offset: Rate = 0

    def __post_init__(self) -> None:
        _check_bit(self)
        checks.choice(self, "edge", EDGES)

    def port_name(self, name: str) -> str:
        """Ports as Simulink and plain words call them."""
        return _PORTS.get(name.lower(), name)

    def define(self, b: Equations) -> None:
        """Declare ports and the bit."""
        D, clock = b.input("D", size=1)[0], b.input("CLK", size=1)[0]
        Q = _at_edges(b, self, lambda old: np.where(D > LEVEL, 1.0, 0.0), clock, [D])
        b.output("Q", Q)
        b.output("not_Q", 1.0 - Q)


@dataclass(frozen=True)
class JKFlipFlop(Block):
    """A bit that is set, reset, toggled or kept at an edge of a clock.

    Output: at an edge of CLK Q becomes 1 where J alone is on (above 0.5), 0 where K alone is, 1 - Q where
    both are; else it stays; not_Q = 1 - Q.
    Direct feedthrough: with a sample time every input to Q and not_Q at ticks; without one none (the edge is
    an event).

    edge : of CLK through 0.5: "rising", "falling" or "either"; structural
    initial : False or True (0 or 1), Q before the first edge; structural
    sample, offset : s; None means continuous. With one, CLK counts as off before the first tick

    Use::

        toggle = d.add("toggle", JKFlipFlop())
        d.connect(source["y"], toggle["CLK"])
    """

    edge: str = "rising"
    initial: bool = False
    sample: Rate | None = None
    offset: Rate = 0

    def __post_init__(self) -> None:
        _check_bit(self)
        checks.choice(self, "edge", EDGES)

    def port_name(self, name: str) -> str:
        """Ports as Simulink and plain words call them."""
        return _PORTS.get(name.lower(), name)

    def define(self, b: Equations) -> None:
        """Declare ports and the bit."""
        J, clock, K = b.input("J", size=1)[0], b.input("CLK", size=1)[0], b.input("K", size=1)[0]

        def following(old: Array) -> Array:
            set_, reset = J > LEVEL, K > LEVEL
            return np.where(set_ & reset, 1.0 - old, np.where(set_, 1.0, np.where(reset, 0.0, old)))

        Q = _at_edges(b, self, following, clock, [J, K])
        b.output("Q", Q)
        b.output("not_Q", 1.0 - Q)


@dataclass(frozen=True)
class Counter(Block):
    """Count the edges of a signal, up or down, within limits if there are any.

    Output: y = initial plus (or less) the number of edges of u through 0.5 so far; at a limit it stays, or
    goes on from the other one with wrap=True. With ``reset=True`` there is an input "reset": an edge of the
    same kind takes y back to initial, before an edge of u at the same instant counts.
    Direct feedthrough: with a sample time the inputs to y at ticks; without one none (an edge is an event).

    direction : "up" or "down"; structural
    initial : number, where counting starts, within the limits; tunable
    low, high : number; None leaves a side open; tunable
    wrap : at a limit on to the other one? Then both are given; structural
    edge : "rising", "falling" or "either"; structural
    reset : is there a reset input? structural
    sample, offset : s; None means continuous. With one, signals count as off before the first tick

    Use::

        parts = d.add("parts", Counter(high=99, wrap=True, low=0))
        d.connect(source["y"], parts["u"])
    """

    direction: str = "up"
    initial: float = 0.0
    low: float | None = None
    high: float | None = None
    wrap: bool = False
    edge: str = "rising"
    reset: bool = False
    sample: Rate | None = None
    offset: Rate = 0

    def __post_init__(self) -> None:
        checks.rate(self, optional=True)
        checks.choice(self, "direction", ("up", "down"))
        checks.choice(self, "edge", EDGES)
        for name in ("wrap", "reset"):
            checks.assign(self, **{name: checks.flag(self, name)})
        for name in ("initial", "low", "high"):
            if name == "initial" or getattr(self, name) is not None:
                checks.assign(self, **{name: checks.numbers(self, name, dims=(0,))})
        low, high = (-np.inf if self.low is None else self.low), (np.inf if self.high is None else self.high)
        if not low <= self.initial <= high:
            raise checks.fault(self, "initial", f"is {self.initial}", f"a number from {low} to {high}")
        if self.wrap and (self.low is None or self.high is None):
            raise checks.fault(self, "wrap", "is True without both limits", "low and high", "Give both.")

    def define(self, b: Equations) -> None:
        """Declare ports and the number."""
        sides = {s: b.parameter(s, v) for s in ("low", "high") if (v := getattr(self, s)) is not None}
        (start,) = b.parameters(initial=self.initial)
        signals = [b.input(name, size=1)[0] for name in ("u", *(["reset"] if self.reset else []))]
        n = self._counted(b, *signals)
        y = start + n if self.direction == "up" else start - n
        if self.wrap:
            y = sides["low"] + np.mod(y - sides["low"], sides["high"] - sides["low"] + 1.0)
        elif self.direction == "up" and "high" in sides:
            y = np.where(y > sides["high"], sides["high"], y)
        elif self.direction == "down" and "low" in sides:
            y = np.where(y < sides["low"], sides["low"], y)
        b.output("y", y)

    def _counted(self, b: Equations, *signals: Array) -> Array:
        """Edges since the newest reset, shape (); a reset keeps the number of edges there were before it."""
        if self.sample is None:
            direction = "both" if self.edge == "either" else self.edge
            count, base = b.mode("count", 0.0), b.mode("base", 0.0)
            for name, state, value, u in zip(
                ("edge", "reset"), (count, base), (count + 1.0, count), signals, strict=False
            ):
                b.when(u - LEVEL, [(state, value)], direction, name)
            return count[0] - base[0]
        edges = [self._edge_at_tick(b, f"last{k}", u) for k, u in enumerate(signals)]
        counts = b.discrete("counts", 0.0, self.sample, self.offset, size=2)
        base = counts[1]
        if self.reset:
            base = np.where(np.isnan(edges[1]), edges[1], np.where(edges[1] > 0.5, counts[0], base))
        new = np.stack([counts[0] + edges[0], base])
        b.update(counts, new)
        return b.sampled(new[0] - new[1], self.sample, self.offset, name="now")[0]

    def _edge_at_tick(self, b: Equations, name: str, u: Array) -> Array:
        """1 where there is an edge at a tick, shape ()."""
        assert self.sample is not None  # it is asked only then
        last = b.discrete(name, 0.0, self.sample, self.offset, size=1)
        b.update(last, u)
        return answer(_edge(self, u, last[0]), u)


_PORTS = {
    "s": "S",
    "set": "S",
    "r": "R",
    "reset": "R",
    "d": "D",
    "j": "J",
    "k": "K",
    "clk": "CLK",
    "clock": "CLK",
    "q": "Q",
    "!q": "not_Q",
    "~q": "not_Q",
    "not_q": "not_Q",
    "notq": "not_Q",
}


def _check_bit(block: Any) -> None:
    checks.rate(block, optional=True)
    if isinstance(block.initial, (int, float)) and block.initial in (0, 1):
        checks.assign(block, initial=bool(block.initial))
    checks.assign(block, initial=checks.flag(block, "initial"))


def _sampled(b: Equations, block: Any, value: Array, initial: Any) -> Array:
    return b.sampled(value, block.sample, block.offset, initial=initial, name="now")


def _edge(block: Any, now: Array, last: Array) -> Array:
    """Is there an edge between two samples?"""
    rose, fell = (now > LEVEL) & (last <= LEVEL), (now <= LEVEL) & (last > LEVEL)
    return {"rising": rose, "falling": fell, "either": rose | fell}[block.edge]


def _at_edges(
    b: Equations, block: Any, following: Callable[[Array], Array], clock: Array, others: list[Array]
) -> Array:
    """A bit that becomes ``following(old)`` at each edge of a clock, (1,)."""
    if block.sample is None:
        mode = b.mode("Q", float(block.initial), size=1)
        direction = "both" if block.edge == "either" else block.edge
        b.when(clock - LEVEL, [(mode, following(mode))], direction, "edge")
        return mode
    old = b.discrete("last", float(block.initial), block.sample, block.offset, size=1)
    before = b.discrete("last_clock", 0.0, block.sample, block.offset, size=1)
    value: Array = np.where(_edge(block, clock, before[0]), following(old), old)
    for signal in (clock, *others):
        value = np.where(np.isnan(signal), signal, value)
    b.update(before, clock)
    now = _sampled(b, block, value, float(block.initial))
    b.update(old, now)
    return now
