"""Conditions whose value touches 0 without changing sign: no multiplier can hold a mechanism there.

``MAX(g, 0)``, which holds on one side only, ``ABS(g)``, ``g**2`` or the distance of two points: where such a
value is 0 its gradient is 0 or jumps, so that what a multiplier does there is decided by rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca
import numpy as np

from blocks.errors import ModelError
from plant.constraints.closure import Closure
from plant.expressions.scope import MarkerState

NEAR = (1e-6, 1e-4)  # rad, and of the size of the mechanism: how far markers are moved
TIMES = 8  # per condition; one that changes sign is mistaken for one that touches 0 once in 2^15


class Disturbed:
    """Moves a marker at random: its origin, its axes, its velocities.

    share : rad, and of `size`; size : length
    """

    def __init__(self, share: float, size: float, rng: np.random.Generator) -> None:
        self._share, self._size, self._rng = share, size, rng

    def __call__(self, state: MarkerState) -> MarkerState:
        r, turn, v, w = (self._share * self._rng.standard_normal(3) for _ in range(4))
        return replace(
            state,
            r=state.r + ca.DM(self._size * r),
            A=ca.DM(_turned(turn)) @ state.A,
            v=state.v + ca.DM(self._size * v),
            w=state.w + ca.DM(w),
        )


def _turned(turn: np.ndarray) -> np.ndarray:
    """(3, 3) rotation by a small angle, rad, about an axis along it."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_rotvec(turn).as_matrix())


def written_by_hand(closure: Closure) -> list[int]:
    """Conditions that are a model's own expression and contain no unknown of another equation."""
    unknowns = closure.roots.v
    return closure.rows(lambda c: c.written and not (unknowns.numel() and ca.depends_on(c.value, unknowns)))


def values_beside(closure: Closure, rows: Sequence[int], size: float) -> ca.SX:
    """(len(rows) * n, 1) values of conditions near a state, n for each.

    size : length of the mechanism
    """
    rng = np.random.default_rng(20240503)
    ways = [Disturbed(share, size, rng) for share in NEAR for _ in range(TIMES)]
    return ca.vertcat(ca.SX(0, 1), *[ca.SX(value) for value in closure.beside(rows, ways)])


def refuse_touching(closure: Closure, rows: Sequence[int], beside: np.ndarray) -> None:
    """Raise for the first condition that nowhere has the other sign.

    beside : what `values_beside` gives at the start

    Raises
    ------
    ModelError    naming its element
    """
    for k, near in zip(rows, beside.reshape(len(rows), -1), strict=True):
        if not (np.all(near >= 0.0) or np.all(near <= 0.0)):
            continue
        condition = closure.conditions[k]
        where, sign = condition.constraint.where, "below" if np.all(near >= 0.0) else "above"
        raise ModelError(
            f"{where}: its {condition.text} is nowhere {sign} 0 near the start: it touches 0, where its "
            "gradient is none or jumps, so no force can hold it there.",
            path=where,
            hint="One that holds on one side only (MAX, IF) is a force: IMPACT, BISTOP, a unilateral "
            "Force_Penalty. Of an ABS or a square write what is in it; points that are to stay together "
            "(DM) are a joint.",
        )
