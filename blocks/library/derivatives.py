"""Derivatives of continuous signals, and integrators of second order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.library.expansion import together
from blocks.library.rests import rests
from blocks.library.starts import at_start
from blocks.library.truth import unit_of

__all__ = ["Derivative", "SecondOrderIntegrator"]


@dataclass(frozen=True)
class Derivative(Block):
    """How fast a signal changes, filtered, elementwise: s / (1 + s/cutoff).

    Derivative: x' = cutoff (w - x), w = u - u(0).  Output: y = cutoff (w - x).  Initial value: x = 0, so that
    y(0) = 0.
    Direct feedthrough: u to y.

    The exact derivative is not offered: of a signal that jumps it is infinite, of noise it is worse noise,
    and a loop through it has no states for what it depends on. Take the state that integrates the signal
    where there is one (a plant's speed beside its position), or a cutoff ten times as fast as what matters.

    cutoff : number or (n,) above 0, rad/s, up to where it differentiates; tunable

    Use::

        speed = d.add("speed", Derivative(cutoff=100.0))
        d.connect(source["y"], speed["u"])

    Source: Åström & Murray, Feedback Systems, 2nd ed., sec. 11.5.
    """

    cutoff: ArrayLike | None = None

    def __post_init__(self) -> None:
        if self.cutoff is None:
            hint = (
                "A jump would make it infinite, and a loop through it could not be solved: take the state "
                "that the signal is the integral of, or a cutoff beyond what matters."
            )
            raise checks.fault(self, "cutoff", "is None, the exact derivative", "a number of rad/s", hint)
        checks.assign(self, cutoff=checks.numbers(self, "cutoff"))
        checks.positive(self, "cutoff", " rad/s")

    def define(self, b: Equations) -> None:
        """Declare ports, the state and its derivative."""
        (cutoff,) = b.parameters(cutoff=self.cutoff)
        u, cutoff = together(b, self, u=b.input("u"), cutoff=cutoff)
        x = b.continuous("x", 0.0, size=u.size)
        y = cutoff * (u - at_start(b, "start", u) - x)
        b.derivative(x, y)
        b.output("y", y)


@dataclass(frozen=True)
class SecondOrderIntegrator(Block):
    """Integrate an acceleration twice, elementwise, within limits of position and speed if there are any.

    Derivative: x' = dx,  dx' = u.  At a limit of the position dx becomes 0 (an inelastic stop) and stays so
    until u points away from it, at the start too; at a limit of the speed dx' = 0 while u drives it further.
    Output: x, dx.  Initial value: x = initial, dx = initial_rate.  Direct feedthrough: none.
    Reaching and leaving a limit are events.

    initial : number or (n,), unit of u times s^2; run-time number
    initial_rate : number or (n,), unit of u times s; run-time number
    low, high : number or (n,), limits of x; tunable; None leaves a side open
    rate_low, rate_high : number or (n,), limits of dx; tunable; None leaves a side open

    Use::

        slider = d.add("slider", SecondOrderIntegrator(low=-1.0, high=1.0))
        d.connect(source["y"], slider["u"])
    """

    initial: ArrayLike = 0.0
    initial_rate: ArrayLike = 0.0
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    rate_low: ArrayLike | None = None
    rate_high: ArrayLike | None = None

    def __post_init__(self) -> None:
        for name in ("initial", "initial_rate"):
            checks.assign(self, **{name: checks.numbers(self, name)})
        checks.limits(self)
        for name in ("rate_low", "rate_high"):
            if getattr(self, name) is not None:
                checks.assign(self, **{name: checks.numbers(self, name)})
        for value, low, high in (("initial", "low", "high"), ("initial_rate", "rate_low", "rate_high")):
            self._check_within(value, low, high)

    def _check_within(self, value: str, low: str, high: str) -> None:
        x = np.asarray(getattr(self, value))
        for side, beyond in ((low, np.less), (high, np.greater)):
            limit = getattr(self, side)
            if limit is None:
                continue
            if x.ndim and np.ndim(limit) and x.shape != np.shape(limit):
                raise checks.fault(self, side, f"has {np.size(limit)} components", f"{x.size} as in {value}")
            if np.any(beyond(x, np.asarray(limit))):
                what = f"is {getattr(self, value)}"
                raise checks.fault(self, value, what, f"a value within {side} = {limit}")

    def define(self, b: Equations) -> None:
        """Declare ports, the states and the events of the limits."""
        names = ("low", "high", "rate_low", "rate_high")
        limits = {name: b.parameter(name, v) for name in names if (v := getattr(self, name)) is not None}
        sized = {name: np.zeros(np.shape(getattr(self, name))) for name in ("initial", "initial_rate")}
        u, _, _, *bounds = together(b, self, u=b.input("u"), **sized, **limits)
        at = dict(zip(limits, bounds, strict=True))
        one = np.ones(u.size)
        unit = unit_of(*(at[s] for s in ("low", "high") if s in at)) * one
        speed = unit_of(*(at[s] for s in ("rate_low", "rate_high") if s in at)) * one
        xs, vs = [], []
        for k in range(u.size):
            name = "" if u.size == 1 else f"[{k}]"
            x = b.continuous(f"x{name}", self._of("initial", k), nominal=unit[k])
            v = b.continuous(f"dx{name}", self._of("initial_rate", k), nominal=np.minimum(unit[k], speed[k]))
            rate, acceleration = v[0], u[k]
            for side, sign in (("rate_low", -1.0), ("rate_high", 1.0)):
                if side in at:
                    beyond = sign * (v[0] - at[side][k])
                    at_it = rests(b, f"{side}{name}", beyond, sign * u[k], v[0], speed[k])
                    acceleration = np.where(at_it, 0.0, acceleration)
            for side, sign in (("low", -1.0), ("high", 1.0)):
                if side in at:
                    push = np.where(np.abs(v[0]) > 1e-9 * unit[k], sign * v[0], sign * u[k])
                    stop = [(v, 0.0)]
                    beyond = sign * (x[0] - at[side][k])
                    at_it = rests(b, f"{side}{name}", beyond, push, x[0], unit[k], stop)
                    further = np.where(at_it & (sign * v[0] > 0.0), 1.0, -1.0)
                    b.when(further, stop, "rising", f"{side}{name} at the start")
                    b._eager()
                    rate = np.where(at_it, 0.0, rate)
                    acceleration = np.where(at_it, 0.0, acceleration)
            b.derivative(x, rate)
            b.derivative(v, acceleration)
            xs.append(x[0])
            vs.append(v[0])
        b.output("x", np.stack(xs))
        b.output("dx", np.stack(vs))

    def _of(self, name: str, k: int) -> Any:
        value = getattr(self, name)
        return value if np.ndim(value) == 0 else value[k]
