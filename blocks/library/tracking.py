"""Blocks that remember the course of a signal: what they keep is refreshed after every accepted step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.symbols import Array

__all__ = ["PeakHold", "TurnCounter"]


@dataclass(frozen=True)
class PeakHold(Block):
    """The largest (or smallest) value a signal has had, elementwise.

    Output: y = max(peak, u), with "min" min(peak, u).  Direct feedthrough: u to y.
    A step ends where a peak is passed and where u is at its highest (events, by the slope of u), so that no
    part of it is missed; the peaks of a delayed u are those of its values at the ends of steps.

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
            checks.assign(self, initial=checks.numbers(self, "initial", dims=(0,)))

    def define(self, b: Equations) -> None:
        """Declare ports and the memory."""
        u = b.input("u")
        floor = np.full(u.size, -LARGEST if self.kind == "max" else LARGEST)
        start = floor if self.initial is None else np.full(u.size, float(self.initial))

        b.output("y", running(b, u, 1.0 if self.kind == "max" else -1.0, start))


def running(
    b: Equations, u: Array, sign: float, start: np.ndarray, resets: tuple[Array, Any] | None = None
) -> Array:
    """The largest value (sign 1) or the smallest (-1) a signal has had, (n,) as u, found by events.

    resets : a condition under which it is what comes second
    """
    slope, outputs = b.slope(u), list[Array]()

    def reached(old: Array) -> Array:
        for k in range(u.size):
            name = "follows" if u.size == 1 else f"follows[{k}]"
            follows = _follows(b, name, sign, u[k], slope[k], old[k]) | np.isnan(u[k])  # so that a run stops
            if abs(start[k]) == LARGEST:  # in a part that was never active there is nothing yet
                follows = follows | (np.abs(old[k]) >= LARGEST)
            outputs.append(np.where(follows, u[k], old[k]))
        y = np.stack(outputs)
        newest = np.where(sign * y <= sign * old, old, y)
        return newest if resets is None else np.where(resets[0], resets[1], newest)

    b.accepted("peak", reached, start)
    return np.stack(outputs) if resets is None else np.where(resets[0], resets[1], np.stack(outputs))


def _follows(b: Equations, name: str, sign: float, u: Array, slope: Array, old: Array) -> Array:
    """Does u rise above what there was? Else that is held; sign -1 for the lowest."""
    gap, near = sign * (u - old), 1e-9 * (1.0 + np.abs(u))  # wider than the threshold of a crossing

    def at_ticks(was: Array) -> Array:
        return np.where(gap > 0, 1.0, np.where(gap < 0, 0.0, was))

    mode = b.mode(name, 0.0, at_ticks=at_ticks)
    follows = mode[0] > 0.5
    b.when(np.where(follows, -1.0, gap - near), [(mode, 1.0)], "rising", f"{name} passed")
    turned = np.where(gap < -near, -1.0, sign * slope)
    b.when(np.where(follows, turned, 1.0), [(mode, 0.0)], "falling", f"{name} turned")
    b._eager()
    return follows


@dataclass(frozen=True)
class TurnCounter(Block):
    """Make a periodic signal, such as an angle within -pi to pi, continuous by counting turns, elementwise.

    Derivative: course' = u', the slope of u (smooth where u jumps by a period, as atan2 does).
    Output: y = u + period n, n the whole number that brings y nearest to y_a + (course - course_a), with the
    values at the newest accepted step: turns are counted from the rate of u, however many fall in a step.
    Direct feedthrough: u to y.  A sampled or delayed u has no slope here: from one value to the next it must
    not move by more than half a period.

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
            checks.assign(self, **{name: checks.numbers(self, name, dims=(0,))})
        checks.positive(self, "period")

    def define(self, b: Equations) -> None:
        """Declare ports and the memory."""
        (period,) = b.parameters(period=self.period)
        u = b.input("u")

        course = b.continuous("course", 0.0, size=u.size, static="hold", nominal=float(self.period))
        b.derivative(course, b.slope(u))
        since = course - b.accepted("accepted_course", course, 0.0)

        def unwrapped(old: Array) -> Array:
            return u + period * np.floor((old + since - u) / period + 0.5)

        b.output(
            "y", unwrapped(b.accepted("y", unwrapped, np.full(u.size, float(self.initial)), nearest=True))
        )


LARGEST = 1.7e308  # stands for infinity where a memory must be finite
