"""What a sampled signal does between its samples.

`hold` is the one place: a plant's ports, the diagram and the `Hold` block all use it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.rate import Rate, Ticks
from blocks.contract.symbols import Array
from blocks.library.expansion import input_like

__all__ = ["Hold", "RateTransition"]


def hold(b: Equations, u: Array, order: int, ticks: Ticks, name: str = "hold", initial: Any = 0.0) -> Array:
    """`u` sampled at `ticks`, extrapolated in between with a polynomial of degree `order`.

    With the newest samples u_k, u_k-1, ..., s = (t - t_k)/T and backward differences
    D u_k = u_k - u_k-1, D^j u_k = D^(j-1) u_k - D^(j-1) u_k-1,

        y(t) = u_k + s D u_k + s (s+1)/2! D^2 u_k + ... + s (s+1)...(s+order-1)/order! D^order u_k

    The term in D^j needs j + 1 samples and is left out before, so with fewer samples the polynomial has the
    highest degree they allow; before the first sample y = initial. At t = t_k, s = 0 and y is exactly u_k.

    Parameters
    ----------
    u : (n,)             the signal, as seen at each tick
    order : int          degree of the polynomial: 0 holds, 1 is linear, 2 quadratic
    ticks : Ticks        the samples
    name : str           prefix of the memories: <name>_now (sampled), <name>_prev1, ... (discrete)
    initial : number or (n,)   value before the first sample

    Returns
    -------
    y : (n,)

    Source: Newton's backward-difference formula; Franklin, Powell & Workman, Digital Control of Dynamic
    Systems, 3rd ed., sec. 5.3 (data extrapolation), where orders 0 and 1 are the zero- and first-order hold.
    """
    now = b.sampled(u, ticks, initial=initial, name=f"{name}_now")
    if order == 0:
        return now
    samples = [now]  # newest first: u_k, u_k-1, ..., u_k-order
    newer = u
    for j in range(1, order + 1):
        older = b.discrete(f"{name}_prev{j}", initial, ticks, size=now.size)
        b.update(older, newer)
        samples.append(older)
        newer = older
    b.sample_history(now, samples[1:])
    return now + _newton(b, samples, ticks)


def _newton(b: Equations, samples: list[Array], ticks: Ticks) -> Array:
    """The terms of Newton's formula after the first, each once there are samples enough for it."""
    taken = b.sample_count(ticks)
    s = (b.time - b.tick_time(ticks)) / float(ticks.period)
    rise: Array = 0.0
    coefficient: Array = 1.0
    for j in range(1, len(samples)):
        samples = [newer - older for newer, older in pairwise(samples)]
        coefficient = coefficient * (s + (j - 1))
        rise = rise + np.where(taken > j, coefficient * samples[0] / math.factorial(j), 0.0)
    return rise


@dataclass(frozen=True)
class Hold(Block):
    """Sample a signal and extrapolate it between the samples.

    Output: the polynomial of degree `order` through the newest samples u_k, u_k-1, ... (see `hold`); with
    fewer samples the highest degree they allow; initial before the first one.  At a tick y is exactly u.
    Direct feedthrough: u to y at ticks, none between them.
    Update: previous samples move one place.

    order : hold_order: 0 holds, 1 is linear, 2 quadratic, ... up to 9; structural
    sample, offset : s; structural
    initial : number or (n,), unit of u; run-time number

    Use::

        smooth = d.add("smooth", Hold(1, sample=0.01))
        d.connect(source["y"], smooth["u"])
    """

    order: int = 0
    sample: Rate = field(kw_only=True)
    offset: Rate = field(default=0, kw_only=True)
    initial: ArrayLike = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        checks.rate(self)
        order = checks.count(self, "order", least=0, most=9)
        checks.assign(self, order=order, initial=checks.numbers(self, "initial"))

    def define(self, b: Equations) -> None:
        """Declare ports and the hold between them."""
        u = input_like(b, "u", self.initial)
        ticks = Ticks.of(self.sample, self.offset)
        b.output("y", hold(b, u, self.order, ticks, initial=self.initial))


@dataclass(frozen=True)
class RateTransition(Block):
    """Hand a signal from one rate to another: a zero-order hold at the given (usually the slower) rate.

    Output: y_k = u_k, held between ticks; initial before the first one.  The same as ``Hold`` of order 0,
    under the name a mixed-rate diagram calls it by.  Unlike Simulink's block of that name it never adds a
    delay: at an instant where both rates tick the order of evaluation is exact.
    Direct feedthrough: u to y at ticks, none between them.

    sample, offset : s; structural
    initial : number or (n,), unit of u; run-time number

    Use::

        slow = d.add("slow", RateTransition(sample=0.1))
        d.connect(source["y"], slow["u"])
    """

    sample: Rate
    offset: Rate = 0
    initial: ArrayLike = 0.0

    def __post_init__(self) -> None:
        checks.rate(self)
        checks.assign(self, initial=checks.numbers(self, "initial"))

    def define(self, b: Equations) -> None:
        """Declare ports and the hold between them."""
        u = input_like(b, "u", self.initial)
        b.output("y", hold(b, u, 0, Ticks.of(self.sample, self.offset), initial=self.initial))
