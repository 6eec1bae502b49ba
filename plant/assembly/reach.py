"""How far bodies travel from a start to poses beside it: as far as the mechanism is large, in any unit.

Poses in which bodies are 1e4 times their size apart have levers that no pose of the motion has, and those
moved by 1e-8 of it show nothing that the design does not show.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import casadi as ca
import numpy as np

from plant.mechanics.mechanism import Mechanism

ORDINARY = 1e-2, 1e4  # length: of mechanisms between these one unit of length is a fair way to travel


def travels(mechanism: Mechanism, q: Sequence[np.ndarray], points: Iterable[np.ndarray]) -> np.ndarray:
    """(n,) what a rate is multiplied by: the size of the mechanism for travels, 1 for turns.

    q : coordinates of every link, one (nq,) each; points : (3,) each, where constraints hold bodies
    """
    size = _extent([*points, *[r for r, _ in mechanism.frames_at(q)]])
    if size == 0.0 or ORDINARY[0] <= size <= ORDINARY[1]:
        return np.ones(mechanism.dof)
    pairs = zip(mechanism.links, q, strict=True)
    turning = [_turning(link.joint.jcalc(ca.DM(own))[1]) for link, own in pairs]
    return np.where(np.concatenate([np.zeros(0, dtype=bool), *turning]), 1.0, size)


def _extent(points: Sequence[np.ndarray]) -> float:
    """Longest side of the box around some points."""
    return float(np.ptp(np.array(points), axis=0).max()) if points else 0.0


def _turning(S: ca.DM) -> np.ndarray:
    """Which columns of a motion subspace (6, nv) turn a body."""
    return np.asarray(np.array(S)[:3].any(axis=0))
