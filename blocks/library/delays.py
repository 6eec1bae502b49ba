"""Delays in continuous time; `UnitDelay` in discrete.py delays by a sample."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.symbols import Array
from blocks.functions import clip
from blocks.library.expansion import input_like

__all__ = ["PipeDelay", "TransportDelay", "VariableTransportDelay"]


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
        u = input_like(b, "u", self.initial)
        b.output("y", b.delayed(u, delay, self.initial, name="past"))


@dataclass(frozen=True)
class VariableTransportDelay(Block):
    """Delay a signal by a time that is a signal itself.

    Output: y(t) = u(t - T), T the input "delay" [s] within shortest and longest; initial while t < T. (What
    enters a pipe whose speed varies leaves it after a time that solves an integral: `PipeDelay`.)
    Direct feedthrough: none from u, which shortest forbids.

    The past is kept as in `TransportDelay`, but no step ends where a jump of u comes out, unless T stands
    still: it is left to error control. No step is longer than shortest.

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
        _check_ends(self)
        checks.assign(self, initial=checks.numbers(self, "initial"))

    def define(self, b: Equations) -> None:
        """Declare ports and the delay."""
        u = input_like(b, "u", self.initial)
        shortest, longest = float(self.shortest), float(self.longest)
        delay = clip(b.input("delay", size=1), shortest, longest)
        past = b.delayed(u, delay, self.initial, name="past", shortest=shortest, longest=longest)
        b.output("y", past)


@dataclass(frozen=True)
class PipeDelay(Block):
    """What flows through a pipe, or lies on a belt, whose speed is a signal.

    Output: y(t) = u(t - T), T the time for which what leaves now was on its way: the integral of v from t - T
    to t is length; initial until what entered at t = 0 has arrived. delay = T.
    Derivative: T' = 1 - v(t) / v(t - T), less a multiple of what the integral of v misses, so that errors die
    out; T(0) = the geometric mean of shortest and longest, as if the speed had been length / T(0) before.
    Direct feedthrough: none.

    The input "v" [unit of length / s] counts within length / longest and length / shortest: nothing flows
    backwards, and a flow that stops goes on at the lower of the two. No step is longer than shortest. Corners
    of u and v, where they arrive, are left to error control.
    Simulink's Variable Transport Delay with its input Ti is ``PipeDelay(1.0)`` with v = 1 / Ti.

    length : above 0; tunable with limits that hold for it
    longest, shortest : s, limits of T; structural
    initial : number or (n,), unit of u; run-time number

    Use::

        pipe = d.add("pipe", PipeDelay(2.0, longest=20.0, shortest=0.5))
        d.connect(source["y"], pipe["u"])

    Source: Zhang & Yeddanapudi, Modeling and simulation of time-varying delays, TMS/DEVS 2012.
    """

    length: float
    longest: float = 10.0
    shortest: float = 0.1
    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        checks.assign(self, length=checks.numbers(self, "length", dims=(0,)))
        checks.positive(self, "length")
        _check_ends(self)
        checks.assign(self, initial=checks.numbers(self, "initial"))

    def define(self, b: Equations) -> None:
        """Declare ports, the time on the way and what entered so long ago."""
        (length,) = b.parameters(length=self.length)
        u = input_like(b, "u", self.initial)
        shortest, longest = float(self.shortest), float(self.longest)
        v = _within(b, b.input("v", size=1)[0] / length, 1.0 / longest, 1.0 / shortest)  # pipes per second
        start = math.sqrt(shortest * longest)
        T = b.continuous("T", start, size=1, static="hold")
        T_within = clip(T, shortest, longest)
        ends = {"shortest": shortest, "longest": longest}
        way = b.continuous("way", 0.0, size=1, static="hold")  # pipes that passed more than at 1 / start
        b.derivative(way, np.stack([v - 1.0 / start]))
        both = b.delayed(np.stack([v, way[0]]), T_within, [1.0 / start, 0.0], name="past speed", **ends)
        too_much = way - both[1] + T / start - 1.0  # between both ends: errors of the rate of T die out
        b.derivative(T, 1.0 - (v + 10.0 / start * too_much) / both[0])
        b.output("y", b.delayed(u, T_within, self.initial, name="past", **ends))
        b.output("delay", T)


def _within(b: Equations, u: Array, low: float, high: float) -> Array:
    """A signal between two limits, whose corners are events."""
    above = b.where_event(u - high, high, u, name="fast")
    return np.where(np.isnan(u), u, b.where_event(u - low, above, low, name="slow"))


def _check_ends(block: PipeDelay | VariableTransportDelay) -> None:
    for name in ("longest", "shortest"):
        checks.assign(block, **{name: checks.numbers(block, name, dims=(0,))})
        checks.positive(block, name, " s")
    if block.shortest >= block.longest:
        raise checks.fault(
            block, "shortest", f"is {block.shortest} s", f"less than longest = {block.longest} s"
        )
