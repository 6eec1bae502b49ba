"""PID controllers in continuous and sampled form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate
from blocks.contract.symbols import Array
from blocks.functions import clip
from blocks.library.expansion import together
from blocks.library.resets import RESETS, Trigger, check_threshold
from blocks.library.state_sizes import unless_ordinary
from blocks.library.truth import LEVEL, unit_of

__all__ = ["PID", "DiscretePID"]

FORMS = ("parallel", "ideal", "series")
ANTI_WINDUP = ("back-calculation", "clamping", "none")
OFF_LIMIT = 1e-6  # unit of u: what jumps further away does not slide along the limit any more
LETS_GO = 1e-6  # unit of u per s: how fast v has to leave the limit; one that rests there meets it once
INSIDE, SLIDES, BEYOND = 0.0, 1.0, 2.0  # where v is, about a limit


@dataclass(frozen=True)
class PID(Block):
    """PID controller in parallel form with filtered derivative, output limits and anti-windup.

    Output: u = v within [low, high], v = kp e + i + d, d = cutoff (kd e - x), that is
    V(s) = (kp + ki/s + kd s / (1 + s/cutoff)) E(s).
    Derivative: x' = d,  and, elementwise,

    - "back-calculation": i' = ki e + (u - v) / tracking
    - "clamping": i' = ki e, but 0 while v is beyond a limit and ki e drives it further out; where v comes
      back to the limit and ki e would drive it out again, it stays there: i' = -(v - i)' (events, by the
      slope of the inputs; a sampled controller has no such corner)
    - "none": i' = ki e

    Initial value: i = initial, x = 0, so that d(0) = cutoff kd e(0).  Direct feedthrough: the inputs to u,
    but of "reset" and "tr" none.
    With weights (b, c) the inputs are the reference "r" and the measurement "y" in place of the error "e":
    v = kp (b r - y) + i + d, the integral acts on r - y and the derivative on c r - y.

    Further inputs, where asked for: "ff" is added to v; "tr", with external_tracking, is what really acts (a
    limited actuator, another controller in charge) and takes the place of u in back-calculation, without
    which there is none; "reset" takes i back to initial and x to 0 at an edge through `threshold`, an event.

    kp, ki, kd : number or (n,), unit of u per unit of e, per s and times s; tunable. None (for ki and kd)
        leaves the part and its state out.
    cutoff : rad/s, of the derivative's filter (N in Simulink); tunable
    low, high : number or (n,), unit of u; tunable; None leaves a side open
    anti_windup : see above; structural
    tracking : s, time constant T_t with which back-calculation empties the integral; tunable. Usual values
        lie between kd/kp and kp/ki.
    weights : (b, c) setpoint weights (two degrees of freedom); tunable; None for the error input
    form : "parallel" as above; "ideal", kp (1 + ki/s + kd s), ki and kd the inverse and the time of a part;
        "series", kp (1 + ki/s)(1 + kd s) multiplied out; structural
    feedforward, external_tracking : are there inputs "ff", "tr"? structural
    reset : "none", "rising", "falling" or "either"; structural
    threshold : of the input "reset", 0 as in Simulink or 0.5, between a signal's off and on; tunable
    initial : number or (n,), unit of u, of the integral; run-time number

    Use::

        speed = d.add("speed", PID(kp=2.0, ki=1.0, low=-5.0, high=5.0))
        d.connect(source["y"], speed["e"])

    Source: Åström & Murray, Feedback Systems, 2nd ed., sec. 11.4 (integral windup) and 11.5 (implementation).
    """

    kp: ArrayLike = 1.0
    ki: ArrayLike | None = None
    kd: ArrayLike | None = None
    cutoff: ArrayLike = field(default=100.0, kw_only=True)
    low: ArrayLike | None = field(default=None, kw_only=True)
    high: ArrayLike | None = field(default=None, kw_only=True)
    anti_windup: str = field(default="back-calculation", kw_only=True)
    tracking: ArrayLike = field(default=1.0, kw_only=True)
    weights: tuple[float, float] | None = field(default=None, kw_only=True)
    form: str = field(default="parallel", kw_only=True)
    feedforward: bool = field(default=False, kw_only=True)
    external_tracking: bool = field(default=False, kw_only=True)
    reset: str = field(default="none", kw_only=True)
    threshold: float = field(default=LEVEL, kw_only=True)
    initial: ArrayLike = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        _check_fields(self)

    @property
    def endless_cure(self) -> str:
        """See `Block.endless_cure`."""
        if self.anti_windup != "clamping" or self.ki is None or (self.low is None and self.high is None):
            return ""
        return (
            "With clamping a PID slides along its limit by the slope of its inputs, and that of what comes "
            'out of a continuous delay is not known: take anti_windup="back-calculation", or a DiscretePID'
        )

    def define(self, b: Equations) -> None:
        """Declare ports, the integral and the derivative's filter."""
        ep, e, ed, p = _signals(b, self)
        rest = v = p["kp"] * ep  # without the integral, and with it
        if "ki" in p:
            i = b.continuous("i", self.initial, size=e.size, nominal=unless_ordinary(_reached(p)))
            v = v + i
        if "kd" in p:
            size = _reached(p) / np.maximum(p["cutoff"], 1.0)
            x = b.continuous("x", 0.0, size=e.size, nominal=unless_ordinary(size))
            d = p["cutoff"] * (p["kd"] * ed - x)
            b.derivative(x, d)
            rest, v = rest + d, v + d
        if self.feedforward:
            rest, v, ff = together(b, self, rest=rest, v=v, ff=b.input("ff"))
            rest, v = rest + ff, v + ff
        if self.reset != "none":
            self._reset(b, [i] if "ki" in p else [], [x] if "kd" in p else [])
        limits: dict[str, Array] = {name: p[name] for name in ("low", "high") if name in p}
        if "ki" in p and limits and self.anti_windup == "clamping" and "tracking" not in p:
            u, rate = _clamped(b, v, p["ki"] * e, b.slope(rest), limits)
            b.derivative(i, rate)
        else:
            u = clip(v, **limits)
            if "ki" in p:
                rate = p["ki"] * e
                back = "tracking" in p
                b.derivative(i, rate + (_acting(b, self, u) - v) / p["tracking"] if back else rate)
        b.output("u", u)

    def _reset(self, b: Equations, integrals: list[Array], filters: list[Array]) -> None:
        """Declare the event that takes the states back."""
        resets: list[tuple[Array, Any]] = [(x, np.zeros(x.size)) for x in filters]
        for i in integrals:
            (start,) = b.parameters(initial=self.initial)
            resets.append((i, np.broadcast_to(start, (i.size,))))
        direction = "both" if self.reset == "either" else self.reset
        trigger = b.input("reset", size=1)[0] - b.parameter("threshold", self.threshold)
        b.when(trigger, resets, direction, "reset")


@dataclass(frozen=True)
class DiscretePID(Block):
    """Sampled PID controller in parallel form with filtered derivative, output limits and anti-windup.

    With T the sample time and w = T ki e_k:

    Output: u_k = v_k within [low, high];  v_k = kp e_k + i_k + d_k ("forward": the integral up to now) or
    kp e_k + (i_k + w) + d_k ("backward": with the present error);  d_k = cutoff (kd e_k - x_k+1); u is 0
    before the first tick.
    Update: x_k+1 = (x_k + T cutoff kd e_k) / (1 + T cutoff)  (always backward: stable for every cutoff), and

    - "clamping" (conditional integration): i_k+1 = i_k + w, but i_k while v is beyond a limit and w drives
      it further out
    - "back-calculation": i_k+1 = i_k + w + T (u_k - v_k) / tracking
    - "none": i_k+1 = i_k + w

    Initial value: i_0 = initial, x_0 = 0.  Direct feedthrough: the inputs to u, at ticks, but of "tr" none.
    With weights (b, c) the inputs are "r" and "y" in place of "e", as in `PID`.

    kp, ki, kd : number or (n,), unit of u per unit of e, per s and times s; tunable. None (for ki and kd)
        leaves the part and its state out.
    sample, offset : s; structural
    method : "forward" or "backward", of the integral; structural
    cutoff, low, high, anti_windup, tracking, weights, initial : as in `PID`; tracking at least T
    form, feedforward, external_tracking, reset, threshold : as in `PID`; a reset acts at the tick that sees
        the edge, and the input counts as off before the first one

    Use::

        speed = d.add("speed", DiscretePID(kp=2.0, ki=1.0, low=-5.0, high=5.0, sample=0.01))
        d.connect(source["y"], speed["e"])

    Source: Åström & Wittenmark, Computer-Controlled Systems, 3rd ed., sec. 8.5.
    """

    kp: ArrayLike = 1.0
    ki: ArrayLike | None = None
    kd: ArrayLike | None = None
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)
    method: str = field(default="forward", kw_only=True)
    cutoff: ArrayLike = field(default=100.0, kw_only=True)
    low: ArrayLike | None = field(default=None, kw_only=True)
    high: ArrayLike | None = field(default=None, kw_only=True)
    anti_windup: str = field(default="clamping", kw_only=True)
    tracking: ArrayLike = field(default=1.0, kw_only=True)
    weights: tuple[float, float] | None = field(default=None, kw_only=True)
    form: str = field(default="parallel", kw_only=True)
    feedforward: bool = field(default=False, kw_only=True)
    external_tracking: bool = field(default=False, kw_only=True)
    reset: str = field(default="none", kw_only=True)
    threshold: float = field(default=LEVEL, kw_only=True)
    initial: ArrayLike = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        checks.rate(self)
        checks.choice(self, "method", ("forward", "backward"))
        _check_fields(self)
        back = self.anti_windup == "back-calculation" or self.external_tracking
        tracks = self.ki is not None and back
        if tracks and np.any(np.asarray(self.tracking) < checks.period(self)):
            what, least = f"is {self.tracking} s", f"at least the sample time, {checks.period(self)} s"
            raise checks.fault(self, "tracking", what, least, "A smaller one overshoots from tick to tick.")

    def define(self, b: Equations) -> None:
        """Declare ports, the integral and the derivative's filter."""
        ep, e, ed, p = _signals(b, self)
        T = checks.period(self)
        trigger = None if self.reset == "none" else Trigger(b, self)
        v = p["kp"] * ep
        if "ki" in p:
            state = i = b.discrete("i", self.initial, self.sample, self.offset, size=e.size)
            if trigger is not None:
                (start,) = b.parameters(initial=self.initial)
                i = trigger.chosen(np.broadcast_to(start, (e.size,)), i)
            step = T * p["ki"] * e
            v = v + (i if self.method == "forward" else i + step)
        if "kd" in p:
            x = b.discrete("x", 0.0, self.sample, self.offset, size=e.size)
            old = x if trigger is None else trigger.chosen(np.zeros(e.size), x)
            following = (old + T * p["cutoff"] * p["kd"] * ed) / (1.0 + T * p["cutoff"])
            b.update(x, following)
            v = v + p["cutoff"] * (p["kd"] * ed - following)
        v = _with_feedforward(b, self, v)
        u = clip(v, p.get("low"), p.get("high"))
        if "ki" in p:
            if "tracking" in p:
                step = step + T * (_acting(b, self, u) - v) / p["tracking"]
            elif self.anti_windup == "clamping":
                step = np.where(_may_integrate(step, u, v), step, 0.0)
            b.update(state, i + step)
        b.output("u", u, self.sample, self.offset)


def _check_fields(block: PID | DiscretePID) -> None:
    """Check the fields both controllers have."""
    gains = [name for name in ("kp", "ki", "kd") if getattr(block, name) is not None]
    for name in (*gains, "cutoff", "tracking", "initial"):
        checks.assign(block, **{name: checks.numbers(block, name)})
    checks.positive(block, "cutoff", " rad/s")
    checks.positive(block, "tracking", " s")
    checks.choice(block, "anti_windup", ANTI_WINDUP)
    checks.choice(block, "form", FORMS)
    checks.choice(block, "reset", RESETS[:-1])
    check_threshold(block)
    for name in ("feedforward", "external_tracking"):
        checks.assign(block, **{name: checks.flag(block, name)})
    if block.external_tracking and block.ki is None:
        raise checks.fault(
            block, "external_tracking", "is True without an integral", "ki", "Give ki, or no tr."
        )
    if block.reset != "none" and block.ki is None and block.kd is None:
        raise checks.fault(block, "reset", f"is {block.reset!r} without states", "ki or kd")
    checks.limits(block)
    if block.weights is not None:
        checks.assign(block, weights=checks.numbers(block, "weights", dims=(1,)))
        if np.size(block.weights) != 2:
            raise checks.fault(block, "weights", f"is {block.weights}", "two numbers (b, c)")


def _signals(b: Equations, block: PID | DiscretePID) -> tuple[Array, Array, Array, dict[str, Array]]:
    """Errors of the three parts and the parameters in use, all at one size."""
    names = ["kp", "ki", "kd", "low", "high"]
    names = [name for name in names if getattr(block, name) is not None]
    if block.kd is not None:
        names.append("cutoff")
    limited = block.low is not None or block.high is not None
    calculated_back = limited and block.anti_windup == "back-calculation"
    if block.ki is not None and (calculated_back or block.external_tracking):
        names.append("tracking")
    p = {name: b.parameter(name, getattr(block, name)) for name in names}
    if block.weights is None:
        error = b.input("e")
        errors = {"e": error, "ei": error, "ed": error}
    else:
        (weights,) = b.parameters(weights=block.weights)
        r, y = together(b, block, r=b.input("r"), y=b.input("y"))
        errors = {"e": weights[0] * r - y, "ei": r - y, "ed": weights[1] * r - y}
    ep, ei, ed, *others = together(b, block, **errors, **p)
    return ep, ei, ed, _parallel(block, dict(zip(p, others, strict=True)))


def _parallel(block: PID | DiscretePID, p: dict[str, Array]) -> dict[str, Array]:
    """The parameters with gains as the parallel form has them."""
    if block.form == "parallel":
        return p
    kp, cross = p["kp"], 1.0
    if block.form == "series" and "ki" in p and "kd" in p:
        cross = 1.0 + p["ki"] * p["kd"]
    return {**p, **{name: kp * p[name] for name in p if name in ("ki", "kd")}, "kp": kp * cross}


def _reached(p: dict[str, Array]) -> Array:
    """What an error of 1 makes of the output within 1 s, 1 where it is more."""
    found = np.abs(p["kp"])
    if "ki" in p:
        found = found + np.abs(p["ki"])
    if "kd" in p:
        found = found + np.abs(p["kd"]) * p["cutoff"]
    return np.minimum(found, 1.0)


def _with_feedforward(b: Equations, block: PID | DiscretePID, v: Array) -> Array:
    if not block.feedforward:
        return v
    v, ff = together(b, block, v=v, ff=b.input("ff"))
    return v + ff


def _acting(b: Equations, block: PID | DiscretePID, u: Array) -> Array:
    """What acts on the plant, as far as is known: the limited output, or what the input says."""
    return b.input("tr", size=u.size) if block.external_tracking else u


def _clamped(
    b: Equations, v: Array, rate: Array, slope: Array, limits: dict[str, Array]
) -> tuple[Array, Array]:
    """Output, and rate of the integral, under clamping in continuous time, which may hold v at a limit.

    Where the rest of v leads back from a limit, and the integral would drive v out again, the two sides of
    the switch lead to each other: v slides along the limit.

    rate : of the integral without clamping; slope : of v without the integral

    Source: Filippov, Differential Equations with Discontinuous Righthand Sides (1988), sec. 4.
    """
    held, rates = list(v), list(rate)
    for k in range(v.size):
        for side, limit in limits.items():
            sign, name = (-1.0 if side == "low" else 1.0), side if v.size == 1 else f"{side}[{k}]"
            unit = unit_of(limit[k])
            beyond, back, out = sign * (v[k] - limit[k]) / unit, -sign * slope[k], sign * (rate[k] + slope[k])

            def at_ticks(old, beyond=beyond):  # type: ignore[no-untyped-def]  # arrays of symbols
                stays = (old == SLIDES) & (np.abs(beyond) < OFF_LIMIT)
                return np.where(stays, SLIDES, np.where(beyond > 0.0, BEYOND, INSIDE))

            mode = b.mode(f"at {name}", INSIDE, at_ticks=at_ticks)
            inside, slides, far = (mode[0] == m for m in (INSIDE, SLIDES, BEYOND))
            near = np.abs(beyond) < OFF_LIMIT
            both = near & (back > 0.0) & (out > 0.0)
            met = [(mode, np.where(both, SLIDES, BEYOND))]
            b.when(np.where(inside, beyond, -1.0), met, "rising", f"{name} met from inside")
            met = [(mode, np.where(both, SLIDES, INSIDE))]
            b.when(np.where(far, beyond, 1.0), met, "falling", f"{name} met from beyond")
            stays = np.minimum(np.minimum(back, out) / unit + LETS_GO, OFF_LIMIT - np.abs(beyond))
            left = [(mode, np.where(np.where(near, out - back, beyond) > 0.0, BEYOND, INSIDE))]
            b.when(np.where(slides, stays, 1.0), left, "falling", f"{name} left")
            held[k] = np.where(slides & ~np.isnan(v[k]), limit[k], held[k])
            stopped = np.logical_and(far, sign * rate[k] > 0.0)
            rates[k] = np.where(slides, -slope[k], np.where(stopped, 0.0, rates[k]))
    return clip(np.stack(held), **limits), np.stack(rates)


def _may_integrate(step: Array, u: Array, v: Array) -> Array:
    """Is v inside the limits (u the limited v), or does the step lead back? The rule of clamping."""
    return np.logical_or(u == v, step * (v - u) < 0)
