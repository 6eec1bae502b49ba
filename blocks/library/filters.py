"""Filters by name, designed by SciPy, and the simple transfer functions that have a name.

A filter runs in continuous time, or with a sample time as its bilinear equivalent, warped so that the corner
frequencies are kept. Frequencies are in rad/s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate
from blocks.library.cascades import cascade, cascade_sizes
from blocks.library.expansion import together
from blocks.library.sections import check_zeros_and_poles, from_zpk, sections
from blocks.library.state_sizes import unless_ordinary

__all__ = [
    "Bessel",
    "Butterworth",
    "Chebyshev",
    "FirstOrder",
    "LeadLag",
    "Notch",
    "SecondOrder",
    "ZeroPoleGain",
]

KINDS = ("lowpass", "highpass", "bandpass", "bandstop")


@dataclass(frozen=True)
class FirstOrder(Block):
    """First-order lag, elementwise: gain / (1 + time_constant s).

    Derivative: x' = (gain u - x) / time_constant.  Output: y = x.  Initial value: x = initial.
    Direct feedthrough: none.

    gain : number or (n,); tunable
    time_constant : number or (n,) above 0, s; tunable
    initial : number or (n,); run-time number

    Use::

        sensor = d.add("sensor", FirstOrder(1.0, 0.2))
        d.connect(source["y"], sensor["u"])

    Source: Åström & Murray, Feedback Systems, 2nd ed., sec. 6.3.
    """

    gain: ArrayLike = 1.0
    time_constant: ArrayLike = 1.0
    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        for name in ("gain", "time_constant", "initial"):
            checks.assign(self, **{name: checks.numbers(self, name)})
        checks.positive(self, "time_constant", " s")

    def define(self, b: Equations) -> None:
        """Declare ports, the state and its derivative."""
        gain, T = b.parameters(gain=self.gain, time_constant=self.time_constant)
        sized = np.zeros(np.shape(self.initial))
        u, gain, T, _ = together(b, self, u=b.input("u"), gain=gain, time_constant=T, initial=sized)
        x = b.continuous("x", self.initial, size=u.size, nominal=unless_ordinary(np.abs(gain)))
        b.derivative(x, (gain * u - x) / T)
        b.output("y", x)


@dataclass(frozen=True)
class SecondOrder(Block):
    """Second-order lag, elementwise: gain w^2 / (s^2 + 2 damping w s + w^2), w = frequency.

    Derivative: x' = v,  v' = w^2 (gain u - x) - 2 damping w v.  Output: y = x, dy = v.  Initial value:
    x = initial, v = 0.
    Direct feedthrough: none.

    gain : number or (n,); tunable
    frequency : number or (n,) above 0, rad/s, undamped; tunable
    damping : number or (n,), damping ratio; tunable
    initial : number or (n,); run-time number

    Use::

        servo = d.add("servo", SecondOrder(1.0, frequency=20.0, damping=0.7))
        d.connect(source["y"], servo["u"])

    Source: Åström & Murray, Feedback Systems, 2nd ed., sec. 7.3.
    """

    gain: ArrayLike = 1.0
    frequency: ArrayLike = 1.0
    damping: ArrayLike = 0.7
    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        for name in ("gain", "frequency", "damping", "initial"):
            checks.assign(self, **{name: checks.numbers(self, name)})
        checks.positive(self, "frequency", " rad/s")

    def define(self, b: Equations) -> None:
        """Declare ports, the states and their derivatives."""
        gain, w, zeta = b.parameters(gain=self.gain, frequency=self.frequency, damping=self.damping)
        sized = np.zeros(np.shape(self.initial))
        named = {"gain": gain, "frequency": w, "damping": zeta, "initial": sized}
        u, gain, w, zeta, _ = together(b, self, u=b.input("u"), **named)
        y = np.minimum(np.abs(gain), 1.0)
        x = b.continuous("x", self.initial, size=u.size, nominal=unless_ordinary(y))
        v = b.continuous("v", 0.0, size=u.size, nominal=unless_ordinary(y * np.minimum(w, 1.0)))
        b.derivative(x, v)
        b.derivative(v, w * w * (gain * u - x) - 2.0 * zeta * w * v)
        b.output("y", x)
        b.output("dy", v)


@dataclass(frozen=True)
class LeadLag(Block):
    """Lead or lag compensator, elementwise: gain (1 + lead s) / (1 + lag s).

    Derivative: x' = (gain u - x) / lag.  Output: y = x + lead (gain u - x) / lag.  Initial value: x =
    initial.
    Direct feedthrough: u to y.

    gain : number or (n,); tunable
    lead : number or (n,), s, time constant of the zero; tunable
    lag : number or (n,) above 0, s, time constant of the pole; tunable
    initial : number or (n,); run-time number

    Use::

        lead = d.add("lead", LeadLag(2.0, lead=0.5, lag=0.05))
        d.connect(source["y"], lead["u"])

    Source: Franklin, Powell & Emami-Naeini, Feedback Control of Dynamic Systems, 7th ed., sec. 6.7.
    """

    gain: ArrayLike = 1.0
    lead: ArrayLike = 1.0
    lag: ArrayLike = 0.1
    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        for name in ("gain", "lead", "lag", "initial"):
            checks.assign(self, **{name: checks.numbers(self, name)})
        checks.positive(self, "lag", " s")

    def define(self, b: Equations) -> None:
        """Declare ports, the state and its derivative."""
        gain, lead, lag = b.parameters(gain=self.gain, lead=self.lead, lag=self.lag)
        sized = np.zeros(np.shape(self.initial))
        named = {"gain": gain, "lead": lead, "lag": lag, "initial": sized}
        u, gain, lead, lag, _ = together(b, self, u=b.input("u"), **named)
        y = np.minimum(np.abs(gain) * np.maximum(1.0, np.abs(lead) / lag), 1.0)
        shown = np.maximum(1.0, np.abs(1.0 - lead / lag))  # of x in y
        x = b.continuous("x", self.initial, size=u.size, nominal=unless_ordinary(y / shown))
        rate = (gain * u - x) / lag
        b.derivative(x, rate)
        b.output("y", x + lead * rate)


@dataclass(frozen=True)
class ZeroPoleGain(Block):
    """Single-input single-output system given by zeros, poles and gain.

    Output: y(s) = gain (s - z1)(s - z2)... / ((s - p1)(s - p2)...) u(s), as a cascade of sections of second
    order.  Initial value: at rest.
    Direct feedthrough: u to y with as many zeros as poles, else none.

    zeros, poles : rad/s, real or in conjugate pairs, at most as many zeros as poles; structural
    gain : number; tunable

    Use::

        arm = d.add("arm", ZeroPoleGain([-1.0], [-2.0, -1 + 3j, -1 - 3j], 10.0))
        d.connect(source["y"], arm["u"])
    """

    zeros: Sequence[complex]
    poles: Sequence[complex]
    gain: float = 1.0

    def __post_init__(self) -> None:
        check_zeros_and_poles(self)

    def define(self, b: Equations) -> None:
        """Declare ports and the sections."""
        (gain,) = b.parameters(gain=self.gain)
        parts = sections(self.zeros, self.poles)
        b.output("y", cascade(b, gain * b.input("u", size=1), parts, sizes=cascade_sizes(parts)))


def _check_design(block: Any, most: int = 20) -> None:
    checks.assign(block, order=checks.count(block, "order", most=most))
    checks.choice(block, "kind", KINDS)
    checks.assign(block, cutoff=checks.numbers(block, "cutoff"))
    checks.positive(block, "cutoff", " rad/s")
    bands = np.size(block.cutoff)
    wanted = 2 if block.kind.startswith("band") else 1
    if bands != wanted or (wanted == 2 and block.cutoff[0] >= block.cutoff[1]):
        expected = "(lower, upper), increasing" if wanted == 2 else "one number"
        raise checks.fault(block, "cutoff", f"is {block.cutoff}", f"{expected} for a {block.kind}")
    _check_sampling(block, "cutoff")


def _check_sampling(block: Any, frequency: str) -> None:
    checks.rate(block, optional=True)
    if block.sample is not None:
        nyquist = np.pi / checks.period(block)
        if np.any(np.asarray(getattr(block, frequency)) >= nyquist):
            what = f"is {getattr(block, frequency)} rad/s"
            expected = f"less than half the sample rate, {nyquist:.6g} rad/s"
            raise checks.fault(block, frequency, what, expected, "Sample faster.")


def _designed(b: Equations, block: Any, design: Any, *arguments: Any, **options: Any) -> None:
    """Declare ports and the sections of a design of SciPy."""
    corner: Any = block.cutoff if np.ndim(block.cutoff) == 0 or len(block.cutoff) > 1 else block.cutoff[0]
    if block.sample is None:
        zpk = design(block.order, *arguments, corner, block.kind, analog=True, output="zpk", **options)
    else:
        fs = 2.0 * np.pi / checks.period(block)
        zpk = design(block.order, *arguments, corner, block.kind, output="zpk", fs=fs, **options)
    parts = from_zpk(*zpk)
    sizes = cascade_sizes(parts) if block.sample is None else None
    y = cascade(b, b.input("u", size=1), parts, block.sample, block.offset, sizes)
    if block.sample is None:
        b.output("y", y)
    else:
        b.output("y", y, block.sample, block.offset)


@dataclass(frozen=True)
class Butterworth(Block):
    """Butterworth filter: as flat as possible where it passes.

    Output: y = u filtered, in sections of second order.  Initial value: at rest; with a sample time y is 0
    before the first tick.
    Direct feedthrough: u to y, but none of a continuous lowpass or bandpass.

    order : 1 to 20 (a band has twice as many states); structural
    cutoff : rad/s, where the gain is 1/sqrt(2); (lower, upper) for a band; structural
    kind : "lowpass", "highpass", "bandpass" or "bandstop"; structural
    sample, offset : s; None means continuous

    Use::

        smooth = d.add("smooth", Butterworth(4, 10.0))
        d.connect(source["y"], smooth["u"])

    Source: ``scipy.signal.butter``.
    """

    order: int
    cutoff: ArrayLike
    kind: str = "lowpass"
    sample: Rate | None = field(default=None, kw_only=True)
    offset: Rate = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        _check_design(self)

    def define(self, b: Equations) -> None:
        """Declare ports and the sections."""
        from scipy.signal import butter  # slow to import

        _designed(b, self, butter)


@dataclass(frozen=True)
class Chebyshev(Block):
    """Chebyshev filter: steeper than `Butterworth`, with ripple.

    Output: y = u filtered, in sections of second order.  Initial value: at rest; with a sample time y is 0
    before the first tick.
    Direct feedthrough: u to y, but none of a continuous lowpass or bandpass of type 1 or of odd order.

    order : 1 to 20 (a band has twice as many states); structural
    ripple : dB above 0, of type 1 in the band that passes, of type 2 the attenuation in the band that does
        not; structural
    cutoff : rad/s, where the gain leaves the ripple; (lower, upper) for a band; structural
    kind : "lowpass", "highpass", "bandpass" or "bandstop"; structural
    type : 1 or 2; structural
    sample, offset : s; None means continuous

    Use::

        steep = d.add("steep", Chebyshev(4, 1.0, 10.0))
        d.connect(source["y"], steep["u"])

    Source: ``scipy.signal.cheby1`` and ``scipy.signal.cheby2``.
    """

    order: int
    ripple: float
    cutoff: ArrayLike
    kind: str = "lowpass"
    type: int = 1
    sample: Rate | None = field(default=None, kw_only=True)
    offset: Rate = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        _check_design(self)
        checks.assign(self, ripple=checks.numbers(self, "ripple", dims=(0,)))
        checks.positive(self, "ripple", " dB")
        checks.assign(self, type=checks.count(self, "type", most=2))

    def define(self, b: Equations) -> None:
        """Declare ports and the sections."""
        from scipy.signal import cheby1, cheby2  # slow to import

        _designed(b, self, cheby1 if self.type == 1 else cheby2, self.ripple)


@dataclass(frozen=True)
class Bessel(Block):
    """Bessel filter: the delay of what passes hardly depends on frequency, steps do not overshoot.

    Output: y = u filtered, in sections of second order.  Initial value: at rest; with a sample time y is 0
    before the first tick.
    Direct feedthrough: u to y, but none of a continuous lowpass or bandpass.

    order : 1 to 20 (a band has twice as many states); structural
    cutoff : rad/s; (lower, upper) for a band; structural
    kind : "lowpass", "highpass", "bandpass" or "bandstop"; structural
    norm : what cutoff means: "phase" (half of the phase is reached there), "delay" (the delay is 1/cutoff) or
        "mag" (the gain is 1/sqrt(2)); structural
    sample, offset : s; None means continuous

    Use::

        even = d.add("even", Bessel(4, 10.0))
        d.connect(source["y"], even["u"])

    Source: ``scipy.signal.bessel``.
    """

    order: int
    cutoff: ArrayLike
    kind: str = "lowpass"
    norm: str = "phase"
    sample: Rate | None = field(default=None, kw_only=True)
    offset: Rate = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        _check_design(self)
        checks.choice(self, "norm", ("phase", "delay", "mag"))

    def define(self, b: Equations) -> None:
        """Declare ports and the sections."""
        from scipy.signal import bessel  # slow to import

        _designed(b, self, bessel, norm=self.norm)


@dataclass(frozen=True)
class Notch(Block):
    """Take one frequency out of a signal.

    Output: y(s) = (s^2 + w^2) / (s^2 + w/quality s + w^2) u(s), w = frequency; with a sample time the
    bilinear equivalent of one that leaves the notch where it was and as wide. Initial value: at rest; with a
    sample time y is 0 before the first tick.
    Direct feedthrough: u to y.

    frequency : rad/s, above 0; structural
    quality : frequency over the width of the notch at 1/sqrt(2); structural
    sample, offset : s; None means continuous

    Use::

        mains = d.add("mains", Notch(2 * np.pi * 50, quality=10.0))
        d.connect(source["y"], mains["u"])

    Source: ``scipy.signal.iirnotch``.
    """

    frequency: float
    quality: float = 10.0
    sample: Rate | None = field(default=None, kw_only=True)
    offset: Rate = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("frequency", "quality"):
            checks.assign(self, **{name: checks.numbers(self, name, dims=(0,))})
            checks.positive(self, name)
        _check_sampling(self, "frequency")

    def define(self, b: Equations) -> None:
        """Declare ports and the section."""
        w = self.frequency
        if self.sample is None:
            part = ([1.0, 0.0, w * w], [1.0, w / self.quality, w * w])
            b.output("y", cascade(b, b.input("u", size=1), [part], sizes=cascade_sizes([part])))
            return
        from scipy.signal import iirnotch  # slow to import

        num, den = iirnotch(w, self.quality, fs=2.0 * np.pi / checks.period(self))
        part = ([float(c) for c in num], [float(c) for c in den])
        y = cascade(b, b.input("u", size=1), [part], self.sample, self.offset)
        b.output("y", y, self.sample, self.offset)
