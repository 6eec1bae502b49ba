"""Coordinates that move no inertia, and what makes a mechanism regular although it has such.

A slender rod has no moment about its own axis, a link may have no mass. The mass matrix H is singular then,
but the equations of motion need not be: the constraints may hold what H leaves free. With weights W >= 0 and

    H + J^T W J,        Q + J^T W gamma

in place of H and Q, accelerations and multipliers are the same, since J qdd = gamma, and the matrix is
regular wherever constraints and inertia together are.

Source: Nocedal and Wright, Numerical Optimization, 2nd ed., section 16.2 (augmented Lagrangian form).
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from blocks.errors import ModelError
from plant.mechanics.inertia import plain_inertia
from plant.mechanics.joints import JointNumbers
from plant.mechanics.mechanism import GROUND, Mechanism

SLENDER = 1e-6  # of a body's largest principal moment: below it a moment loses digits
SINGULAR = 1e-13
"""Smallest eigenvalue of an inertia matrix scaled to ones on its diagonal: below it is singular."""


class SingularMass(ModelError):
    """The mechanism has directions that neither inertia nor constraints restrict."""


def massless_links(mechanism: Mechanism) -> list[int]:
    """Links whose own joint moves no inertia in some of its directions, with all that hangs on them."""
    found = []
    numbers = JointNumbers()
    moved = [plain_inertia(mechanism, i) for i in range(len(mechanism.links))]
    for i in reversed(range(len(mechanism.links))):
        link = mechanism.links[i]
        felt = numbers.subspace(link.joint, link.q0)
        if link.joint.nv and is_singular(felt.T @ moved[i] @ felt):
            found.append(i)
        if link.parent != GROUND:
            X = np.array(ca.DM((numbers.transform(link.joint, link.q0) @ link.Xtree).matrix))
            moved[link.parent] = moved[link.parent] + X.T @ moved[i] @ X
    return found[::-1]


def slender_rates(mechanism: Mechanism) -> dict[int, float]:
    """Turning rates of bodies on their own with a principal moment next to nothing, and that moment.

    In joint coordinates a body turns with what it hangs on, and nothing is lost.
    """
    found: dict[int, float] = {}
    if not mechanism.absolute:
        return found
    start = 0
    numbers = JointNumbers()
    for i, link in enumerate(mechanism.links):
        S = numbers.subspace(link.joint, link.q0)
        turning = np.flatnonzero(np.abs(S[:3]).max(axis=0, initial=0.0))
        moments = np.linalg.eigvalsh(S[:, turning].T @ plain_inertia(mechanism, i) @ S[:, turning])
        if len(turning) > 1 and 0.0 < moments[0] < SLENDER * moments[-1]:
            found |= {start + int(k): float(moments[0]) for k in turning}
        start += link.joint.nv
    return found


def is_singular(H: np.ndarray) -> bool:
    """Whether a symmetric matrix (n, n) that should be positive definite is not, whatever its units."""
    diagonal = np.diag(H)
    if diagonal.min() <= 0.0:
        return True
    scale = 1 / np.sqrt(diagonal)
    return bool(np.linalg.eigvalsh(H * np.outer(scale, scale)).min() <= SINGULAR)
