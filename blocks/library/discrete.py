"""Sampled linear systems: delay, integrator, state space, transfer function.

At a tick k the state x_k is current, the output y_k = h(x_k, u_k) is taken and held until the next tick, and
x_k+1 = f(x_k, u_k) shows from that tick on. Before the first tick a block with an offset shows its initial
value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate
from blocks.contract.recipes import of_expressions
from blocks.contract.symbols import Array
from blocks.functions import clip
from blocks.library.expansion import input_like, together
from blocks.library.realisation import (
    OF_CONTROL,
    canonical,
    check_polynomials,
    check_state_space,
    from_control,
    sample_of,
)
from blocks.library.resets import RESETS, Trigger, check_threshold
from blocks.library.truth import LEVEL

__all__ = ["DiscreteIntegrator", "DiscreteStateSpace", "DiscreteTransferFunction", "UnitDelay"]


@dataclass(frozen=True)
class UnitDelay(Block):
    """Delay a signal by one sample.

    Output: y_k = x_k.  Update: x_k+1 = u_k.  Initial value: x_0 = initial.  Direct feedthrough: none.

    sample, offset : s; structural
    initial : number or (n,), unit of u; run-time number

    Use::

        last = d.add("last", UnitDelay(sample=0.01))
        d.connect(source["y"], last["u"])
    """

    sample: Rate
    offset: Rate = 0
    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        checks.rate(self)
        checks.assign(self, initial=checks.numbers(self, "initial"))

    def define(self, b: Equations) -> None:
        """Declare ports, the state and its update."""
        u = input_like(b, "u", self.initial)
        x = b.discrete("x", self.initial, self.sample, self.offset, size=u.size)
        b.update(x, u)
        b.output("y", x)


@dataclass(frozen=True)
class DiscreteIntegrator(Block):
    """Integrate a sampled signal, elementwise, T the sample time, within limits if there are any.

    Update: x_k+1 = x_k + T u_k.  Initial value: x_0 = initial.  Output:

    - "forward" (Euler): y_k = x_k.  Direct feedthrough: none.
    - "backward" (Euler): y_k = x_k + T u_k.  Direct feedthrough: u to y.
    - "trapezoidal" (Tustin): y_k = x_k + T/2 u_k.  Direct feedthrough: u to y.

    Before the first tick y = initial. Output and state are kept within the limits. With a reset there is an
    input "reset" (one component): at a tick where it fires y = initial, from where integration goes on;
    with ``external_initial=True`` the input "x0" takes the place of initial at the start and at resets.
    Direct feedthrough of reset and x0: to y, at ticks.

    sample, offset : s; method : see above; structural
    initial : number or (n,), unit of u times s; run-time number (the value a reset goes back to is tunable)
    low, high : number or (n,), unit of y; None leaves a side open; tunable
    reset : "none", "rising", "falling", "either" (edges through `threshold`) or "level" (as long as it is
        above); structural
    threshold : of the input "reset", 0 as in Simulink or 0.5, between a signal's off and on; tunable
    external_initial : is there an input x0? structural

    Use::

        area = d.add("area", DiscreteIntegrator(sample=0.01, method="trapezoidal"))
        d.connect(source["y"], area["u"])

    Source: Åström & Wittenmark, Computer-Controlled Systems, 3rd ed., sec. 8.3.
    """

    sample: Rate
    offset: Rate = 0
    method: str = "forward"
    initial: ArrayLike = 0.0
    low: ArrayLike | None = field(default=None, kw_only=True)
    high: ArrayLike | None = field(default=None, kw_only=True)
    reset: str = field(default="none", kw_only=True)
    external_initial: bool = field(default=False, kw_only=True)
    threshold: float = field(default=LEVEL, kw_only=True)

    def __post_init__(self) -> None:
        checks.rate(self)
        checks.choice(self, "method", ("forward", "backward", "trapezoidal"))
        checks.assign(self, initial=checks.numbers(self, "initial"))
        checks.limits(self)
        checks.choice(self, "reset", RESETS)
        check_threshold(self)
        checks.assign(self, external_initial=checks.flag(self, "external_initial"))

    def define(self, b: Equations) -> None:
        """Declare ports, the state and its update."""
        u = input_like(b, "u", self.initial)
        if self.low is not None or self.high is not None or self.reset != "none" or self.external_initial:
            self._full(b, u)
            return
        x = b.discrete("x", self.initial, self.sample, self.offset, size=u.size)
        step = checks.period(self) * u
        b.update(x, x + step)
        if self.method == "forward":
            b.output("y", x)
        else:
            y = x + step if self.method == "backward" else x + 0.5 * step
            b.output("y", y, self.sample, self.offset, initial=self.initial)

    def _full(self, b: Equations, u: Array) -> None:
        """The same with limits, reset and initial value from outside."""
        sides = {s: b.parameter(s, v) for s in ("low", "high") if (v := getattr(self, s)) is not None}
        (initial,) = b.parameters(initial=self.initial)
        u, initial, *bounds = together(b, self, u=u, initial=initial, **sides)
        limits = dict(zip(sides, bounds, strict=True))
        step = checks.period(self) * u
        x = b.discrete("x", self.initial, self.sample, self.offset, size=u.size)
        start, old = initial, x
        if self.external_initial:
            start = b.input("x0", size=u.size)
            old = np.where(b.tick_count(self.sample, self.offset, anew=True) < 1.5, start, x)
        part = {"forward": 0.0, "backward": 1.0, "trapezoidal": 0.5}[self.method]
        y = old + part * step if part else old
        if self.reset != "none":
            y = Trigger(b, self).chosen(start, y)
        y = clip(y, **limits)
        b.output("y", y, self.sample, self.offset, initial=self.initial)
        b.update(x, clip(y + (1.0 - part) * step, **limits) if part != 1.0 else y)


@dataclass(frozen=True)
class DiscreteStateSpace(Block):
    """Sampled linear time-invariant system in state-space form; observers and LQG controllers have this form.

    Output: y_k = C x_k + D u_k.  Update: x_k+1 = A x_k + B u_k.  Initial value: x_0 = initial; y is 0 before
    the first tick.
    Direct feedthrough: u[j] to y[i] where D[i, j] is not 0; zeros of all four matrices are structural.

    A : (n, n), B : (n, m), C : (p, n), D : (p, m), None for 0; tunable. A vector B is one column, a vector C
        or D one row.
    sample, offset : s; structural
    initial : number or (n,); run-time number

    Use::

        observer = d.add("observer", DiscreteStateSpace(0.9, 0.1, 1.0, sample=0.01))
        d.connect(source["y"], observer["u"])

    Source: Åström & Wittenmark, Computer-Controlled Systems, 3rd ed., eq. 2.3.
    """

    also_made_by: ClassVar[str] = OF_CONTROL

    A: ArrayLike
    B: ArrayLike
    C: ArrayLike
    D: ArrayLike | None = None
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)
    initial: ArrayLike = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        checks.rate(self)
        check_state_space(self)

    @classmethod
    @of_expressions
    def of(
        cls, system: Any, sample: Rate | None = None, offset: Rate = 0, initial: ArrayLike = 0.0
    ) -> DiscreteStateSpace:
        """Block of a discrete python-control system; `sample` [s] defaults to its dt."""
        A, B, C, D, dt = from_control(system, discrete=True)
        return cls(A, B, C, D, sample=sample_of(dt, sample), offset=offset, initial=initial)

    def define(self, b: Equations) -> None:
        """Declare ports, states and the four products."""
        A, B, C, D = b.parameters(A=self.A, B=self.B, C=self.C, D=self.D)
        u = b.input("u", size=np.shape(self.B)[1])
        x = b.discrete("x", self.initial, self.sample, self.offset, size=np.shape(self.A)[0])
        b.output("y", C @ x + D @ u, self.sample, self.offset)
        b.update(x, A @ x + B @ u)


@dataclass(frozen=True)
class DiscreteTransferFunction(Block):
    """Sampled single-input single-output proper transfer function num(z) / den(z).

    With den(z) = a0 z^n + ... + an and num(z) = b0 z^n + ... + bn, in controllable canonical form:

    Output: y_k = b0 w_k + b1 x_k[0] + ... + bn x_k[n-1],  w_k = (u_k - a1 x_k[0] - ... - an x_k[n-1]) / a0.
    Update: x_k+1[0] = w_k,  x_k+1[i] = x_k[i-1].  Initial value: x_0 = initial, else 0; y is 0 before the
    first tick.
    Direct feedthrough: u to y when num and den have the same degree.

    num, den : coefficients in falling powers of z, kept without leading zeros; tunable. A filter given in
        powers of z^-1 has the same coefficients once both lists are made equally long with zeros at the end.
    sample, offset : s; structural
    initial : None for 0, number or (n,); run-time number

    Use::

        smooth = d.add("smooth", DiscreteTransferFunction([0.1, 0.0], [1.0, -0.9], sample=0.01))
        d.connect(source["y"], smooth["u"])

    Source: Franklin, Powell & Workman, Digital Control of Dynamic Systems, 3rd ed., sec. 4.2.
    """

    also_made_by: ClassVar[str] = OF_CONTROL

    num: ArrayLike
    den: ArrayLike
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)
    initial: ArrayLike | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        checks.rate(self)
        check_polynomials(self)

    @classmethod
    @of_expressions
    def of(
        cls, system: Any, sample: Rate | None = None, offset: Rate = 0, initial: ArrayLike | None = None
    ) -> DiscreteTransferFunction:
        """Block of a discrete ``control.TransferFunction``; `sample` [s] defaults to its dt."""
        num, den, dt = from_control(system, discrete=True, polynomials=True)
        return cls(num, den, sample=sample_of(dt, sample), offset=offset, initial=initial)

    def define(self, b: Equations) -> None:
        """Declare ports, states and the canonical form."""
        num, den = b.parameters(num=self.num, den=self.den)
        u = b.input("u", size=1)
        order = np.size(self.den) - 1
        if order == 0:
            b.output("y", num[0] / den[0] * u, self.sample, self.offset)
            return
        initial = 0.0 if self.initial is None else self.initial
        x = b.discrete("x", initial, self.sample, self.offset, size=order)
        following, y = canonical(num, den, u, x)
        b.output("y", y, self.sample, self.offset)
        b.update(x, following)
