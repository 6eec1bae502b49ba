"""Filters and derivatives of sampled signals. Continuous designs of filters are in `filters`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate
from blocks.contract.symbols import Array
from blocks.library.cascades import cascade
from blocks.library.expansion import input_like
from blocks.library.sections import check_zeros_and_poles, sections

__all__ = [
    "FIR",
    "Biquad",
    "Difference",
    "DiscreteDerivative",
    "DiscreteZeroPoleGain",
    "MovingAverage",
]


@dataclass(frozen=True)
class Difference(Block):
    """How much a sampled signal has changed since the tick before, elementwise.

    Output: y_k = u_k - u_k-1, with u_-1 = initial; 0 before the first tick.
    Update: u.  Direct feedthrough: u to y, at ticks.

    sample, offset : s; structural
    initial : number or (n,), unit of u; run-time number

    Use::

        change = d.add("change", Difference(sample=0.01))
        d.connect(source["y"], change["u"])
    """

    sample: Rate
    offset: Rate = 0
    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        checks.rate(self)
        checks.assign(self, initial=checks.numbers(self, "initial"))

    def define(self, b: Equations) -> None:
        """Declare ports and the signal of the tick before."""
        u = input_like(b, "u", self.initial)
        last = b.discrete("last", self.initial, self.sample, self.offset, size=u.size)
        b.update(last, u)
        b.output("y", u - last, self.sample, self.offset)


@dataclass(frozen=True)
class DiscreteDerivative(Block):
    """How fast a sampled signal changes, from two samples, elementwise; T the sample time.

    Output: y_k = gain (u_k - u_k-1) / T, with u_-1 = initial; 0 before the first tick.
    Update: u.  Direct feedthrough: u to y, at ticks.

    sample, offset : s; structural
    gain : number or (n,); tunable
    initial : number or (n,), unit of u; run-time number

    Use::

        speed = d.add("speed", DiscreteDerivative(sample=0.01))
        d.connect(source["y"], speed["u"])
    """

    sample: Rate
    offset: Rate = 0
    gain: ArrayLike = 1.0
    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        checks.rate(self)
        for name in ("gain", "initial"):
            checks.assign(self, **{name: checks.numbers(self, name)})

    def define(self, b: Equations) -> None:
        """Declare ports and the signal of the tick before."""
        (gain,) = b.parameters(gain=self.gain)
        u = input_like(b, "u", self.initial)
        last = b.discrete("last", self.initial, self.sample, self.offset, size=u.size)
        b.update(last, u)
        b.output("y", gain * (u - last) / checks.period(self), self.sample, self.offset)


@dataclass(frozen=True)
class FIR(Block):
    """Finite impulse response filter.

    Output: y_k = b[0] u_k + b[1] u_k-1 + ... + b[n] u_k-n, u = 0 before the first tick; y = 0 before it.
    Update: a shift of n samples.  Direct feedthrough: u to y at ticks.

    coefficients : (n+1,), as of ``scipy.signal.firwin``; tunable
    sample, offset : s; structural

    Use::

        smooth = d.add("smooth", FIR([0.25, 0.5, 0.25], sample=0.01))
        d.connect(source["y"], smooth["u"])

    Source: Oppenheim & Schafer, Discrete-Time Signal Processing, 3rd ed., sec. 6.5.
    """

    coefficients: ArrayLike
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        checks.rate(self)
        given = checks.numbers(self, "coefficients")
        checks.assign(self, coefficients=given if isinstance(given, tuple) else (given,))

    def define(self, b: Equations) -> None:
        """Declare ports and the samples."""
        (c,) = b.parameters(coefficients=self.coefficients)
        u = b.input("u", size=1)
        y = c[0] * u
        if c.size > 1:
            x = b.discrete("x", 0.0, self.sample, self.offset, size=c.size - 1)
            b.update(x, np.concatenate([u, x[:-1]]))
            y = y + np.sum(c[1:] * x)
        b.output("y", y, self.sample, self.offset)


@dataclass(frozen=True)
class MovingAverage(Block):
    """The mean of the newest n samples, elementwise.

    Output: y_k = (u_k + u_k-1 + ... + u_k-n+1) / n, with initial in the place of samples before the first
    tick; initial before it.
    Update: a shift of n - 1 samples.  Direct feedthrough: u to y, at ticks.

    n : samples; structural
    sample, offset : s; structural
    initial : number or (m,), unit of u; run-time number

    Use::

        mean = d.add("mean", MovingAverage(10, sample=0.01))
        d.connect(source["y"], mean["u"])
    """

    n: int
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)
    initial: ArrayLike = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        checks.rate(self)
        checks.assign(self, n=checks.count(self, "n", most=10_000), initial=checks.numbers(self, "initial"))

    def define(self, b: Equations) -> None:
        """Declare ports and the samples."""
        u = input_like(b, "u", self.initial)
        total = newer = u
        for k in range(1, self.n):
            x = b.discrete(f"x{k}", self.initial, self.sample, self.offset, size=u.size)
            b.update(x, newer)
            total, newer = total + x, x
        b.output("y", total / float(self.n), self.sample, self.offset, initial=self.initial)


def _cascade(b: Equations, block: Any, u: Array, rows: Array) -> Array:
    """Second-order sections one after the other, transposed direct form II; rows (m, 6)."""
    for k in range(len(rows)):
        b0, b1, b2, a0, a1, a2 = (rows[k][j] for j in range(6))
        s = b.discrete(f"s{k}", 0.0, block.sample, block.offset, size=2)
        y = (b0 * u + s[0:1]) / a0
        b.update(s, np.concatenate([b1 * u - a1 * y + s[1:2], b2 * u - a2 * y]))
        u = y
    return u


@dataclass(frozen=True)
class Biquad(Block):
    """A cascade of second-order sections, as filters of higher order are best written.

    Output: each row of `sos` filters the output of the one before,
    y_k = (b0 u_k + s_k[0]) / a0.  Update: s_k+1 = [b1 u_k - a1 y_k + s_k[1], b2 u_k - a2 y_k] (transposed
    direct form II).  Initial value: at rest; y is 0 before the first tick.
    Direct feedthrough: u to y, at ticks.

    sos : (m, 6), rows b0, b1, b2, a0, a1, a2, as of ``scipy.signal.butter(..., output="sos")``; tunable
    sample, offset : s; structural

    Use::

        lowpass = d.add("lowpass", Biquad([[0.25, 0.5, 0.25, 1.0, 0.0, 0.0]], sample=0.01))
        d.connect(source["y"], lowpass["u"])

    Source: Oppenheim & Schafer, Discrete-Time Signal Processing, 3rd ed., sec. 6.3.
    """

    sos: ArrayLike
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        checks.rate(self)
        checks.assign(self, sos=checks.matrix(self, "sos", (None, 6)))
        if np.any(np.asarray(self.sos)[:, 3] == 0):
            raise checks.fault(self, "sos", "has a section with a0 = 0", "a0 other than 0")

    def define(self, b: Equations) -> None:
        """Declare ports and the sections."""
        (rows,) = b.parameters(sos=self.sos)
        b.output("y", _cascade(b, self, b.input("u", size=1), rows), self.sample, self.offset)


@dataclass(frozen=True)
class DiscreteZeroPoleGain(Block):
    """Sampled single-input single-output system given by zeros, poles and gain.

    Output: y(z) = gain (z - z1)(z - z2)... / ((z - p1)(z - p2)...) u(z), as a cascade of second-order
    sections (see `Biquad`).  Initial value: at rest; y is 0 before the first tick.
    Direct feedthrough: u to y at ticks with as many zeros as poles, else none.

    zeros, poles : real or in conjugate pairs, at most as many zeros as poles; structural
    gain : number; tunable
    sample, offset : s; structural

    Use::

        lead = d.add("lead", DiscreteZeroPoleGain([0.9], [0.5], 2.0, sample=0.01))
        d.connect(source["y"], lead["u"])
    """

    zeros: Sequence[complex]
    poles: Sequence[complex]
    gain: float = 1.0
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        checks.rate(self)
        check_zeros_and_poles(self)

    def define(self, b: Equations) -> None:
        """Declare ports and the sections."""
        (gain,) = b.parameters(gain=self.gain)
        u = gain * b.input("u", size=1)
        y = cascade(b, u, sections(self.zeros, self.poles), self.sample, self.offset)
        b.output("y", y, self.sample, self.offset)
