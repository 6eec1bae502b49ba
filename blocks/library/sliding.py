"""Switches whose feedback holds their signal at zero: Filippov's equivalent value."""

from __future__ import annotations

import numpy as np

from blocks.contract.block import Equations
from blocks.contract.symbols import Array

JUMP = 1e-6  # unit of the signal: while it slides a jump beyond this ends it; drift by rounding does not
BAND = 1e-10  # unit of the signal: how far it goes back before it meets 0 again; rounding does not
SHARED = 1e-12  # of the effect of a switch: where several hold one signal each takes its share
NO_EFFECT = 1e-30  # instead of an effect of 0: the value is then beyond 1, and the sliding ends


class SlidingSwitch:
    """A value s that is 1 where u > 0, -1 where u < 0, and where it slides what keeps u' = 0.

    A mode says on which side u is, or that it slides. It slides from where u meets 0, if u' falls with s, and
    leaves where s reaches 1 or -1; what only goes through 0 does both at once.

    b : whose states give u, not an algebraic loop
    u : shape (); name : a suffix for names; about : the same for names of events

    s, side : shape (); side is 1, -1, or 0 where it slides

    Source: Filippov, Differential Equations with Discontinuous Righthand Sides (1988), sec. 4, eq. 10 and 11.
    """

    def __init__(self, b: Equations, u: Array, name: str, about: str | None = None) -> None:
        self._b, self._u, self.about = b, u, name if about is None else about
        self._mode = b.mode(
            f"side{name}", 1.0, at_ticks=lambda old: np.where(np.abs(u) > JUMP, np.sign(u), old)
        )
        self._drift = b.mode(f"drift{name}", 0.0)  # how far u stood on the wrong side when it left
        away = np.where(self._mode[0] * u > JUMP, 0.0, 1.0)
        self._near = b.accepted(f"near{name}", away, 1.0)  # 0: it was on its side since, and meets 0 there
        self.unknown = b.algebraic(
            f"s{name}", 1.0, size=1, about=f"the equivalent value of a switch{self.about}"
        )
        self.s = self.unknown[0]
        self.side = self._mode[0]

    def close(self, slope: Array, above: Array, below: Array, by_value: bool = False) -> None:
        """Write down the equation of s, and the events.

        slope : u', shape (); above, below : the same with s = 1 and s = -1
        by_value : see `Equations.when`, of the event in which it leaves
        """
        u, mode, side, drift = self._u, self._mode, self.side, self._drift
        apart = np.abs(side) > 0.5
        effect = (above - below) / 2  # du'/ds
        own = (SHARED * effect - NO_EFFECT) * self.s
        self._b.residual(np.where(apart, self.s - side, slope + own))
        met = np.where(above < below, 0.0, -side)
        self._b.when(
            np.where(apart, side * u + drift[0] * self._near[0], 1.0),
            [(mode, np.where(np.abs(u) > JUMP, np.sign(u), met)), (drift, BAND)],
            "falling",
            f"meets 0{self.about}",
        )
        away = np.where(np.abs(u) > JUMP, np.sign(u), np.sign(self.s))
        over = np.maximum(np.minimum(np.abs(self.s), 2.0) - 1.0, np.abs(u) - JUMP)
        self._b.when(
            np.where(apart, -1.0, over),
            [(mode, away), (drift, BAND + np.maximum(0.0, -away * u))],
            "rising",
            f"leaves 0{self.about}",
            by_value=by_value,
        )


def sliding_sign(b: Equations, u: Array, name: str) -> Array:
    """The sign of u, which may slide at 0, shape (); see `SlidingSwitch`."""
    switch = SlidingSwitch(b, u, name)
    slope = b.slope(u, f"rate{name}")[0]
    above, below = (b.slope(u, f"rate{name} at {v:g}", [(switch.unknown, v)])[0] for v in (1.0, -1.0))
    switch.close(slope, above, below)
    return switch.s
