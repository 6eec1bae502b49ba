"""Play and limits that are signals: backlash, hysteresis, saturation, dead zone and rate limiter."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate
from blocks.contract.symbols import Array
from blocks.functions import clip
from blocks.library.expansion import each, together
from blocks.library.truth import unit_of

__all__ = ["Backlash", "BoucWen", "DynamicDeadZone", "DynamicRateLimiter", "DynamicSaturation"]


@dataclass(frozen=True)
class Backlash(Block):
    """A gear with play, elementwise: what is driven moves only where it is pushed.

    Output: y follows u at the distance width/2 while u pushes, and stays while u moves within the play.
    Touching and leaving a flank are events (by the slope of u), so that no part of the way is lost. The
    flanks of a delayed u are met at the ends of steps.
    Direct feedthrough: u to y.

    width : number or (n,), 0 or more, unit of u; tunable
    initial : number or (n,), unit of u, y at the start, as far as u leaves it there; run-time number

    Use::

        gear = d.add("gear", Backlash(0.1))
        d.connect(source["y"], gear["u"])

    Source: Nordin & Gutman, Automatica 38 (2002) 1633-1649, sec. 2.
    """

    width: ArrayLike = 1.0
    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        for name in ("width", "initial"):
            checks.assign(self, **{name: checks.numbers(self, name)})
        if np.any(np.asarray(self.width) < 0):
            raise checks.fault(self, "width", f"is {self.width}", "0 or more")

    def define(self, b: Equations) -> None:
        """Declare ports, and what remembers the output."""
        (width,) = b.parameters(width=self.width)
        sized = np.zeros(np.shape(self.initial))
        u, width, _ = together(b, self, u=b.input("u"), width=width, initial=sized)
        slope = b.slope(u)
        outputs: list[Array] = []

        def driven(old: Array) -> Array:
            for k in range(u.size):
                name = "contact" if u.size == 1 else f"contact[{k}]"
                outputs.append(_driven(b, name, u[k], slope[k], 0.5 * width[k], old[k]))
            return np.stack(outputs)

        b.accepted("last", driven, self.initial, size=u.size)
        b.output("y", np.stack(outputs))


def _driven(b: Equations, name: str, u: Array, slope: Array, half: Array, old: Array) -> Array:
    """`old`, or what a flank makes of u; the mode is 1 where one pushes up, -1 where one pushes down."""
    unit = unit_of(half)
    near = 1e-9 * (1.0 + np.abs(u / unit))  # wider than the threshold of a crossing
    over, under, slope = (u - half - old) / unit, (old - (u + half)) / unit, slope / unit

    def at_ticks(was: Array) -> Array:
        left = ((was > 0.5) & (over < 0)) | ((was < -0.5) & (under < 0))
        return np.where(over > 0, 1.0, np.where(under > 0, -1.0, np.where(left, 0.0, was)))

    mode = b.mode(name, 0.0, at_ticks=at_ticks)
    up, down = mode[0] > 0.5, mode[0] < -0.5
    free = np.abs(mode[0]) < 0.5
    b.when(np.where(free, over - near, -1.0), [(mode, 1.0)], "rising", f"{name} from below")
    b.when(np.where(free, under - near, -1.0), [(mode, -1.0)], "rising", f"{name} from above")
    # a speed of rounding, as at an equilibrium, lets go of nothing
    left = np.where(up, np.where(over < -near, -1.0, slope + near), 1.0)
    b.when(left, [(mode, 0.0)], "falling", f"{name} left upwards")
    b._eager()  # where u moves away from the start on
    left = np.where(down, np.where(under < -near, -1.0, near - slope), 1.0)
    b.when(left, [(mode, 0.0)], "falling", f"{name} left downwards")
    b._eager()
    return np.where(np.isnan(u), u, np.where(up, u - half, np.where(down, u + half, old)))


@dataclass(frozen=True)
class BoucWen(Block):
    """Smooth hysteresis of a displacement, as of magnets, wire ropes and dampers, elementwise.

    Derivative: z' = (1 - (beta sign(u' z) + gamma) |z|^n) u', with u' the slope of u.  Output: y = z, between
    about -(beta + gamma)^(-1/n) and the same positive.  Initial value: z = 0.
    Direct feedthrough: none. Its corners at turns of u are left to error control.

    beta, gamma : shape of the loop, beta + gamma above 0; tunable
    n : sharpness of the knees, at least 1; tunable

    Use::

        loop = d.add("loop", BoucWen(beta=0.5, gamma=0.5))
        d.connect(source["y"], loop["u"])

    Source: Ismail, Ikhouane & Rodellar, Arch. Comput. Methods Eng. 16 (2009) 161-188, eq. 2.
    """

    beta: float = 0.5
    gamma: float = 0.5
    n: float = 1.0

    def __post_init__(self) -> None:
        for name in ("beta", "gamma", "n"):
            checks.assign(self, **{name: checks.numbers(self, name, dims=(0,))})
        if self.beta + self.gamma <= 0:
            raise checks.fault(self, "beta", f"is {self.beta}", f"more than -gamma = {-self.gamma}")
        if self.n < 1:
            raise checks.fault(self, "n", f"is {self.n}", "at least 1")

    def define(self, b: Equations) -> None:
        """Declare ports, the state and its derivative."""
        beta, gamma, n = b.parameters(beta=self.beta, gamma=self.gamma, n=self.n)
        u = b.input("u")
        slope = b.slope(u)
        z = b.continuous("z", 0.0, size=u.size, static="hold")
        size = np.abs(z)
        power = np.where(size > 0, size**n, 0.0)
        b.derivative(z, slope - (beta * np.abs(slope) * np.sign(z) + gamma * slope) * power)
        b.output("y", z)


@dataclass(frozen=True)
class DynamicSaturation(Block):
    """Keep a signal within limits that are signals, elementwise.

    Output: y = high where u > high, low where u < low, else u; corners are events. Where low is above high,
    y = low.
    Direct feedthrough: every input to y.

    Use::

        valve = d.add("valve", DynamicSaturation())
        d.connect(source["y"], valve["high"])
    """

    def port_name(self, name: str) -> str:
        """Ports as Simulink calls them."""
        return {"up": "high", "lo": "low"}.get(name, name)

    def define(self, b: Equations) -> None:
        """Declare ports and the branches of every component."""
        ports = {name: b.input(name) for name in ("high", "u", "low")}

        def limited(high: Array, u: Array, low: Array) -> Array:
            below = b.where_event(high - u, u, high)
            y = b.where_event(low - below, low, below)
            return np.where(np.isnan(u + high + low), u + high + low, y)

        b.output("y", each(limited, *together(b, self, **ports)))


@dataclass(frozen=True)
class DynamicDeadZone(Block):
    """Pass nothing of a signal within a zone whose ends are signals, elementwise.

    Output: y = u - high where u > high, u - low where u < low, else 0; corners are events.
    Direct feedthrough: every input to y.

    Use::

        play = d.add("play", DynamicDeadZone())
        d.connect(source["y"], play["u"])
    """

    def port_name(self, name: str) -> str:
        """Ports as Simulink calls them."""
        return {"up": "high", "lo": "low"}.get(name, name)

    def define(self, b: Equations) -> None:
        """Declare ports and the branches of every component."""
        ports = {name: b.input(name) for name in ("high", "u", "low")}

        def beyond(high: Array, u: Array, low: Array) -> Array:
            inside = b.where_event(low - u, low, u)
            y = u - b.where_event(u - high, high, inside)
            return np.where(np.isnan(u + high + low), u + high + low, y)

        b.output("y", each(beyond, *together(b, self, **ports)))


@dataclass(frozen=True)
class DynamicRateLimiter(Block):
    """Follow a sampled signal no faster than rates that are signals, elementwise; T the sample time.

    Output: y_k = u_k within y_k-1 + T falling and y_k-1 + T rising; y_-1 = initial.  Update: y.
    Direct feedthrough: every input to y, at ticks.  With fixed rates, and in continuous time: `RateLimiter`.

    sample, offset : s; structural
    initial : number or (n,), unit of u; run-time number

    Use::

        ramped = d.add("ramped", DynamicRateLimiter(sample=0.01))
        d.connect(source["y"], ramped["rising"])
    """

    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)
    initial: ArrayLike = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        checks.rate(self)
        checks.assign(self, initial=checks.numbers(self, "initial"))

    def port_name(self, name: str) -> str:
        """Ports as Simulink calls them."""
        return {"up": "rising", "lo": "falling"}.get(name, name)

    def define(self, b: Equations) -> None:
        """Declare ports and the output of the tick before."""
        ports = {name: b.input(name) for name in ("rising", "u", "falling")}
        sized = np.zeros(np.shape(self.initial))
        rising, u, falling, _ = together(b, self, **ports, initial=sized)
        last = b.discrete("last", self.initial, self.sample, self.offset, size=u.size)
        T = checks.period(self)
        y = clip(u, last + T * falling, last + T * rising)
        y = np.where(np.isnan(rising + falling), rising + falling, y)
        b.update(last, y)
        b.output("y", y, self.sample, self.offset, initial=self.initial)
