"""Continuous linear systems: integrator, state space, transfer function."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.recipes import of_expressions
from blocks.contract.symbols import Array
from blocks.library.realisation import (
    OF_CONTROL,
    canonical,
    canonical_sizes,
    check_polynomials,
    check_state_space,
    from_control,
)
from blocks.library.resets import RESETS, check_threshold
from blocks.library.rests import rests
from blocks.library.starts import at_start
from blocks.library.state_sizes import state_sizes
from blocks.library.truth import LEVEL, unit_of

__all__ = ["Integrator", "StateSpace", "TransferFunction"]


@dataclass(frozen=True)
class Integrator(Block):
    """Integrate a signal over time, elementwise, within limits if there are any.

    Derivative: x' = u, but 0 while x is at a limit and u drives it further (no wind-up).
    Output: y = x.  Initial value: x = initial.  Direct feedthrough: none; with ``reset="level"`` of the
    initial value from outside to y.

    Reaching and leaving a limit are events, so the corner is met exactly. With a reset there is an input
    "reset" (one component): where it rises through `threshold`, falls, or does either, all of x goes back to
    `initial`, an event at that very instant; with "level" x is kept there as long as it is above. A run that
    starts with the input above starts as usual. With ``external_initial=True`` the input "x0" takes the
    place of `initial`: at the start (its value then; in a conditional part where that is active first, and
    where it starts anew) and at resets (its value then). With
    ``state_port=True`` there is an output "state": x, without feedthrough, so that it may decide about the
    reset; at the instant of one it shows everything else there what x was before.

    initial : number or (n,), unit of u times s; run-time number (the value a reset goes back to is tunable)
    low, high : number or (n,), unit of x; tunable; None leaves a side open
    reset : False, or True or "rising", "falling", "either", "level"; structural
    threshold : of the input "reset", 0 as in Simulink or 0.5, between a signal's off and on; tunable
    external_initial : is there an input x0? structural
    state_port : is there an output state? with a reset only; structural

    Use::

        position = d.add("position", Integrator(initial=0.1))
        d.connect(source["y"], position["u"])
    """

    units_follow = True
    initial: ArrayLike = 0.0
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    reset: bool | str = False
    external_initial: bool = field(default=False, kw_only=True)
    threshold: float = field(default=LEVEL, kw_only=True)
    state_port: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if isinstance(self.reset, str):
            checks.choice(self, "reset", RESETS)
            checks.assign(self, reset={"none": False, "rising": True}.get(self.reset, self.reset))
        else:
            checks.assign(self, reset=checks.flag(self, "reset"))
        checks.assign(
            self,
            initial=checks.numbers(self, "initial"),
            external_initial=checks.flag(self, "external_initial"),
            state_port=checks.flag(self, "state_port"),
        )
        check_threshold(self)
        if self.state_port and not self.reset:
            raise checks.fault(self, "state_port", "is True without a reset", "False", "Give reset=...")
        checks.limits(self)
        x = np.asarray(self.initial)
        for side, beyond in (("low", np.less), ("high", np.greater)):
            limit = getattr(self, side)
            if limit is None:
                continue
            if x.ndim and np.ndim(limit) and x.shape != np.shape(limit):
                raise checks.fault(self, side, f"has {np.size(limit)} components", f"{x.size} as in initial")
            if np.any(beyond(x, np.asarray(limit))) and not self.external_initial:
                what = f"is {self.initial}"
                raise checks.fault(self, "initial", what, f"a value within {side} = {limit}")

    def define(self, b: Equations) -> None:
        """Declare ports, the state, its derivative and the events of limits and reset."""
        sized = next((v for v in (self.initial, self.low, self.high) if v is not None and np.ndim(v)), None)
        u = b.input("u", size=None if sized is None else np.size(sized))
        sides = {s: b.parameter(s, v) for s in ("low", "high") if (v := getattr(self, s)) is not None}
        limits = {side: np.broadcast_to(limit, (u.size,)) for side, limit in sides.items()}
        unit = np.broadcast_to(unit_of(*limits.values()), (u.size,)) if limits else np.ones(u.size)
        size = unit if limits else 1.0
        if self.external_initial:  # x counts from the value at the start
            x0 = b.input("x0", size=u.size)
            x, begin = b.continuous("x", 0.0, size=u.size, nominal=size), at_start(b, "start", x0)
        else:
            x, begin = b.continuous("x", self.initial, size=u.size, nominal=size), np.zeros(u.size)
        rate = u
        for side, limit in limits.items():
            sign = -1.0 if side == "low" else 1.0
            bound = limit - begin if self.external_initial else limit
            beyond, rates = sign * (x - bound), []
            for k in range(u.size):
                name = side if u.size == 1 else f"{side}[{k}]"
                at_it = rests(b, name, beyond[k], sign * u[k], x[k], unit[k])
                rates.append(np.where(at_it, 0.0, rate[k]))
            rate = np.stack(rates)
        y = x + begin if self.external_initial else x
        before = _BeforeReset(b, y) if self.state_port else None
        if self.reset:
            (to,) = (x0,) if self.external_initial else b.parameters(initial=self.initial)
            to = np.broadcast_to(to, (u.size,))
            resets = [(x, to - begin), *(before.resets if before else ())]
            rate, y = self._resettable(b, rate, y, to, resets)
        b.derivative(x, rate)
        b.output("y", y)
        if before:
            b.output("state", before.shown)

    def _resettable(
        self, b: Equations, rate: Array, y: Array, to: Array, resets: list[tuple[Array, Array]]
    ) -> tuple[Array, Array]:
        """Rate and output of a state that an event resets."""
        trigger = b.input("reset", size=1)[0] - b.parameter("threshold", self.threshold)
        if self.reset == "level":
            free = b.where_event(trigger, 0.0, 1.0, name="free")
            rate, y = free * rate, np.where(free > 0.5, y, to)
        words = {"falling": "falling", "either": "both", "level": "both"}
        b.when(trigger, resets, words.get(str(self.reset), "rising"), "reset")
        return rate, y


class _BeforeReset:
    """The state of an integrator as it was before a reset, until all else at that instant is done.

    shown : the value of the port; resets : what an event that resets the state changes besides
    """

    def __init__(self, b: Equations, value: Array) -> None:
        old, count = b.mode("before", 0.0, size=value.size), b.mode("resets", 0.0)
        seen = b.afterwards("resets seen", 0.0, lambda _: count, start=count)
        self.shown = np.where(count == seen, value, old)
        self.resets = [(old, self.shown), (count, count + 1.0)]


@dataclass(frozen=True)
class StateSpace(Block):
    """Linear time-invariant system in state-space form.

    Derivative: x' = A x + B u.  Output: y = C x + D u.  Initial value: x = initial.
    Direct feedthrough: u[j] to y[i] where D[i, j] is not 0; zeros of all four matrices are structural.

    A : (n, n) 1/s, B : (n, m), C : (p, n), D : (p, m), None for 0; tunable. A vector B is one column, a
        vector C or D one row.
    initial : number or (n,); run-time number

    Use::

        motor = d.add("motor", StateSpace([[0, 1], [0, -2]], [[0], [3]], [[1, 0]]))
        d.connect(source["y"], motor["u"])

    Source: Åström & Murray, Feedback Systems, 2nd ed., eq. 6.1.
    """

    also_made_by: ClassVar[str] = OF_CONTROL

    A: ArrayLike
    B: ArrayLike
    C: ArrayLike
    D: ArrayLike | None = None
    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        check_state_space(self)

    @classmethod
    @of_expressions
    def of(cls, system: Any, initial: ArrayLike = 0.0) -> StateSpace:
        """Block of a continuous python-control system (StateSpace or TransferFunction)."""
        A, B, C, D, _ = from_control(system, discrete=False)
        return cls(A, B, C, D, initial)

    def define(self, b: Equations) -> None:
        """Declare ports, states and the four products."""
        A, B, C, D = b.parameters(A=self.A, B=self.B, C=self.C, D=self.D)
        u = b.input("u", size=np.shape(self.B)[1])
        x = b.continuous("x", self.initial, size=np.shape(self.A)[0], nominal=state_sizes)
        b.derivative(x, A @ x + B @ u)
        b.output("y", C @ x + D @ u)


@dataclass(frozen=True)
class TransferFunction(Block):
    """Single-input single-output proper transfer function num(s) / den(s).

    With den(s) = a0 s^n + ... + an and num(s) = b0 s^n + ... + bn, in controllable canonical form:

    Derivative: x[0]' = w = (u - a1 x[0] - ... - an x[n-1]) / a0,  x[i]' = x[i-1].
    Output: y = b0 w + b1 x[0] + ... + bn x[n-1].  Initial value: x = initial, else 0.
    Direct feedthrough: u to y when num and den have the same degree.

    num, den : coefficients in falling powers of s, kept without leading zeros; tunable
    initial : None for 0, number or (n,); run-time number

    Use::

        lag = d.add("lag", TransferFunction([1.0], [0.5, 1.0]))
        d.connect(source["y"], lag["u"])

    Source: Franklin, Powell & Emami-Naeini, Feedback Control of Dynamic Systems, 7th ed., sec. 7.4.1.
    """

    also_made_by: ClassVar[str] = OF_CONTROL

    num: ArrayLike
    den: ArrayLike
    initial: ArrayLike | None = None

    def __post_init__(self) -> None:
        check_polynomials(self)

    @classmethod
    @of_expressions
    def of(cls, system: Any, initial: ArrayLike | None = None) -> TransferFunction:
        """Block of a continuous single-input single-output ``control.TransferFunction``."""
        num, den, _ = from_control(system, discrete=False, polynomials=True)
        return cls(num, den, initial)

    def define(self, b: Equations) -> None:
        """Declare ports, states and the canonical form."""
        num, den = b.parameters(num=self.num, den=self.den)
        u = b.input("u", size=1)
        order = np.size(self.den) - 1
        if order == 0:
            b.output("y", num[0] / den[0] * u)
            return
        start = 0.0 if self.initial is None else self.initial
        x: Array = b.continuous("x", start, size=order, nominal=canonical_sizes)
        derivative, y = canonical(num, den, u, x)
        b.derivative(x, derivative)
        b.output("y", y)
