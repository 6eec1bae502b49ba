"""Blocks that switch: their branches are held during a step and flipped by zero crossings."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.declaring import DIRECTIONS
from blocks.contract.rate import Rate
from blocks.contract.symbols import Array
from blocks.functions import clip
from blocks.library.expansion import together
from blocks.library.starts import start_time
from blocks.library.truth import unit_of

__all__ = ["RateLimiter", "Relay", "StopWhen", "Switch"]

LONG_AGO = 1e30  # s before any run


@dataclass(frozen=True)
class Relay(Block):
    """Two-point switch with hysteresis, elementwise.

    Output: y = on_value once u has reached on_point, off_value once it has come down to off_point; in between
    what it was.  A run that starts in between starts off, or on with on=True.
    Direct feedthrough: none between ticks (y is held, and flipped by a crossing); at a tick u to y.

    on_point, off_point : number or (n,), unit of u, off_point at most on_point; tunable
    on_value, off_value : number or (n,), any unit; tunable
    on : how it starts between the points; structural

    Use::

        heater = d.add("heater", Relay(on_point=0.5, off_point=-0.5, on_value=1000.0))
        d.connect(source["y"], heater["u"])
    """

    on_point: ArrayLike = 0.5
    off_point: ArrayLike = -0.5
    on_value: ArrayLike = 1.0
    off_value: ArrayLike = 0.0
    on: bool = False

    def __post_init__(self) -> None:
        checks.assign(self, on=checks.flag(self, "on"))
        for name in ("on_point", "off_point", "on_value", "off_value"):
            checks.assign(self, **{name: checks.numbers(self, name)})
        if np.any(np.asarray(self.off_point) > np.asarray(self.on_point)):
            expected = f"at most on_point = {self.on_point}"
            raise checks.fault(self, "off_point", f"is {self.off_point}", expected, "Exchange them.")

    def define(self, b: Equations) -> None:
        """Declare ports, and a mode and two events for every component."""
        numbers = b.parameters(
            on_point=self.on_point,
            off_point=self.off_point,
            on_value=self.on_value,
            off_value=self.off_value,
        )
        names = ("on_point", "off_point", "on_value", "off_value")
        u, on_point, off_point, on_value, off_value = together(
            b, self, u=b.input("u"), **dict(zip(names, numbers, strict=True))
        )
        y = []
        for k in range(u.size):
            name = "" if u.size == 1 else f"[{k}]"
            unit = unit_of(on_point[k], off_point[k])
            over, under = (u[k] - on_point[k]) / unit, (u[k] - off_point[k]) / unit

            def at_ticks(old, over=over, under=under):  # type: ignore[no-untyped-def]  # arrays of symbols
                return np.where(over >= 0, 1.0, np.where(under <= 0, 0.0, old))

            mode = b.mode(f"on{name}", 1.0 if self.on else 0.0, at_ticks=at_ticks)
            b.when(np.where(mode[0] < 0.5, over, -1.0), [(mode, 1.0)], "rising", f"switch on{name}")
            b.when(np.where(mode[0] < 0.5, 1.0, under), [(mode, 0.0)], "falling", f"switch off{name}")
            y.append(np.where(mode[0] > 0.5, on_value[k], off_value[k]))
        b.output("y", np.stack(y))


@dataclass(frozen=True)
class Switch(Block):
    """Pass one of two signals, as a third one says.

    Output: y = in1 while control > threshold (criteria ">") or control >= threshold (">="), else in2. The
    other signal is not looked at, even if it is not a number.
    Direct feedthrough: in1 and in2 to y; control to y at ticks only (between them the branch is held, and
    flipped by a crossing).

    threshold : number, unit of control; tunable
    criteria : ">", with which a control of 0 and 1 chooses as it is, or ">="; structural

    Use::

        choice = d.add("choice", Switch(threshold=0.5))
        d.connect(source["y"], choice["control"])
    """

    threshold: float = 0.0
    criteria: str = ">"

    def __post_init__(self) -> None:
        checks.assign(self, threshold=checks.numbers(self, "threshold", dims=(0,)))
        checks.choice(self, "criteria", (">=", ">"))

    def define(self, b: Equations) -> None:
        """Declare ports and the branch."""
        (threshold,) = b.parameters(threshold=self.threshold)
        first, control, second = b.input("in1"), b.input("control", size=1)[0], b.input("in2")
        first, second = together(b, self, in1=first, in2=second)
        over = (control - threshold) / unit_of(threshold)
        if self.criteria == ">=":
            b.output("y", b.where_event(over, first, second))
        else:
            b.output("y", b.where_event(-over, second, first))


@dataclass(frozen=True)
class RateLimiter(Block):
    """Follow a signal no faster than given rates, elementwise.

    With a sample time T, from the tick before:
    Output: y_k = clip(u_k, y_k-1 - falling T, y_k-1 + rising T), held between ticks.

    Without one:
    Output: y = u while it follows; where u gets steeper than rising, or jumps up, it goes on along a line of
    that slope until the line meets u, and likewise down. Taking and leaving the line are events (of the slope
    of u, exactly), between which y is as smooth as u.

    Initial value: y_-1 = y(0) = initial.  Direct feedthrough: u to y.

    rising, falling : number or (n,) above 0, unit of u per s; tunable; falling None is the same as rising
    sample, offset : s; None means continuous
    initial : number or (n,), unit of u; run-time number

    Use::

        ramped = d.add("ramped", RateLimiter(rising=2.0))
        d.connect(source["y"], ramped["u"])
    """

    rising: ArrayLike
    falling: ArrayLike | None = None
    sample: Rate | None = field(default=None, kw_only=True)
    offset: Rate = field(default=0, kw_only=True)
    initial: ArrayLike = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        checks.rate(self, optional=True)
        sides = [s for s in ("rising", "falling") if getattr(self, s) is not None]
        for name in (*sides, "initial"):
            checks.assign(self, **{name: checks.numbers(self, name)})
        for name in sides:
            checks.positive(self, name, hint="It is how fast, not which way: 2.0 for a fall by 2 per second.")

    def define(self, b: Equations) -> None:
        """Declare ports, and what remembers the output."""
        sides = {s: b.parameter(s, v) for s in ("rising", "falling") if (v := getattr(self, s)) is not None}
        sized = np.zeros(np.shape(self.initial))
        u, rising, *falling, _ = together(b, self, u=b.input("u"), **sides, initial=sized)
        up, down = rising, falling[0] if falling else rising
        if self.sample is not None:
            last = b.discrete("last", self.initial, self.sample, self.offset, size=u.size)
            step = checks.period(self)
            y = clip(u, last - down * step, last + up * step)
            b.update(last, y)
            b.output("y", y, self.sample, self.offset, initial=self.initial)
            return
        newest = np.maximum(b.accepted("t", b.time, -LONG_AGO)[0], start_time(b))
        since, slope = b.time - newest, b.slope(u)
        outputs: list[Array] = []

        def limited(last: Array) -> Array:
            for k in range(u.size):
                name = "limit" if u.size == 1 else f"limit[{k}]"
                lines = last[k] + up[k] * since, last[k] - down[k] * since
                outputs.append(_followed(b, name, u[k], slope[k], *lines, up[k], down[k]))
            # what jumps away at an instant is not followed: the mode changes next, and the line starts here
            return clip(np.stack(outputs), last - down * since, last + up * since)

        b.accepted("last", limited, self.initial, size=u.size)
        b.output("y", np.stack(outputs))


def _followed(
    b: Equations, name: str, u: Array, slope: Array, above: Array, below: Array, up: Array, down: Array
) -> Array:
    """u, or the line it must not leave: `above` with slope up, `below` with slope -down.

    The mode is 0 while u is followed, 1 on the line above it, -1 on the one below.
    """
    unit, y = unit_of(up, down), (u, above, below)  # of 1 s on the way
    u, slope, above, below, up, down = (v / unit for v in (u, slope, above, below, up, down))
    near = 1e-9 * (1.0 + np.abs(u))  # wider than the threshold of a crossing
    jumped = 4.0 * near

    def at_ticks(old: Array) -> Array:
        # at the end of a step both lines are one; where a part is called time has passed since the last call
        between = (u < above - jumped) & (u > below + jumped)
        kept = np.where(between, 0.0, old)
        return np.where(u > above + jumped, 1.0, np.where(u < below - jumped, -1.0, kept))

    mode = b.mode(name, 0.0, at_ticks=at_ticks)
    follows, rises, falls = np.abs(mode[0]) < 0.5, mode[0] > 0.5, mode[0] < -0.5
    over, under = u - (above + jumped), below - jumped - u
    b.when(np.where(follows, over, -1.0), [(mode, 1.0)], "rising", f"{name} passed upwards")
    b.when(np.where(follows, under, -1.0), [(mode, -1.0)], "rising", f"{name} passed downwards")
    steep = np.where(follows & (over <= 0.0), slope - up, -1.0)
    b.when(steep, [(mode, 1.0)], "rising", f"{name} reached upwards")
    steep = np.where(follows & (under <= 0.0), -slope - down, -1.0)
    b.when(steep, [(mode, -1.0)], "rising", f"{name} reached downwards")
    met = np.where(u < above - jumped, -1.0, 0.0)
    b.when(np.where(rises, u - above + near, 1.0), [(mode, met)], "falling", f"{name} left from below")
    met = np.where(u > below + jumped, 1.0, 0.0)
    b.when(np.where(falls, below - u + near, 1.0), [(mode, met)], "falling", f"{name} left from above")
    free = follows | np.isnan(u)  # a nan passes, so that the run stops
    return np.where(free, y[0], np.where(rises, y[1], y[2]))


@dataclass(frozen=True)
class StopWhen(Block):
    """End the run where a signal crosses a threshold; what was computed is kept.

    Output: none.  The result is complete, with the message; its last row is the stop.  Direct feedthrough:
    none.

    Only a crossing counts: a run that starts beyond the threshold goes on until u crosses it.

    message : what to say
    threshold : number, unit of u; tunable
    direction : "rising", "falling" or "both"; structural

    Use::

        landed = d.add("landed", StopWhen("touch-down", direction="falling"))
        d.connect(source["y"], landed["u"])
    """

    message: str
    threshold: float = 0.0
    direction: str = "rising"

    def __post_init__(self) -> None:
        if not isinstance(self.message, str) or not self.message:
            raise checks.fault(self, "message", f"is {self.message!r}", "a text that says why the run ends")
        checks.assign(self, threshold=checks.numbers(self, "threshold", dims=(0,)))
        checks.choice(self, "direction", DIRECTIONS)

    def define(self, b: Equations) -> None:
        """Declare the input and the stop."""
        (threshold,) = b.parameters(threshold=self.threshold)
        beyond = (b.input("u", size=1)[0] - threshold) / unit_of(threshold)
        b.stop(beyond, self.message, self.direction)
