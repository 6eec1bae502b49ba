"""The sign of a signal whose feedback holds it at zero: Filippov's equivalent value."""

from __future__ import annotations

import numpy as np

from blocks.contract.block import Equations
from blocks.contract.symbols import Array

JUMP = 1e-6  # unit of the signal: while it slides a jump beyond this ends it; drift by rounding does not


def sliding_sign(b: Equations, u: Array, name: str) -> Array:
    """1 where u > 0, -1 where u < 0; where both sides lead back to 0, the value between that keeps u' = 0.

    u : shape (), which states give, not an algebraic loop; name : a suffix for names
    Returns s, shape ().

    A mode says on which side u is, or that it slides. At a crossing the slopes of u under s = 1 and s = -1
    decide: falling above and rising below it slides, else it goes on to the other side. It leaves where s
    reaches 1 or -1.

    Source: Filippov, Differential Equations with Discontinuous Righthand Sides (1988), sec. 4, eq. 10 and 11.
    """
    side = b.mode(f"side{name}", 1.0, at_ticks=lambda old: np.where(np.abs(u) > JUMP, np.sign(u), old))
    drift = b.mode(f"drift{name}", 0.0)  # how far u stood on the wrong side when it left
    s = b.algebraic(f"s{name}", 1.0, size=1, about=f"the equivalent value of a switch{name}")
    slope = b.slope(u, f"rate{name}")[0]
    above, below = (b.slope(u, f"rate{name} at {v:g}", [(s, v)])[0] for v in (1.0, -1.0))
    apart = np.abs(side[0]) > 0.5
    b.residual(np.where(apart, s[0] - side[0], slope))
    held = np.logical_and(above < 0.0, below > 0.0)
    other = np.where(np.abs(u) > JUMP, np.sign(u), np.where(held, 0.0, -side[0]))
    b.when(
        np.where(apart, side[0] * u + drift[0], 1.0),
        [(side, other), (drift, 0.0)],
        "falling",
        f"meets 0{name}",
    )
    away = np.where(np.abs(u) > JUMP, np.sign(u), np.sign(s[0]))
    over = np.maximum(np.abs(s[0]) - 1.0, np.abs(u) - JUMP)
    back = np.maximum(0.0, -away * u)
    b.when(np.where(apart, -1.0, over), [(side, away), (drift, back)], "rising", f"leaves 0{name}")
    return s[0]
