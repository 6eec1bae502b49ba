"""Frames and poses the joint types are put together from."""

from __future__ import annotations

from functools import cache

import numpy as np

from plant.mechanics.joints.joint import ANGLE, LENGTH, UNIT
from plant.mechanics.spatial import Matrix, constant

NOWHERE = constant(np.zeros(3))
ALIGNED = constant(np.eye(3))

QUATERNION = (("e0", UNIT), ("e1", UNIT), ("e2", UNIT), ("e3", UNIT))
W = ("w_x", "w_y", "w_z")
XYZ = (("x", LENGTH), ("y", LENGTH), ("z", LENGTH))
V = ("v_x", "v_y", "v_z")
TURN, TRAVEL = ("angle", ANGLE), ("position", LENGTH)


@cache
def axes(*which: int) -> Matrix:
    """(6, nv) subspace of unit columns: 0, 1, 2 turn about x, y, z; 3, 4, 5 move along them."""
    return constant(np.eye(6)[:, list(which)])


def angle_of(A: np.ndarray) -> float:
    """Angle [rad] of the rotation A (3, 3), accurate near zero."""
    axial = np.array([A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]])
    return float(np.arctan2(np.linalg.norm(axial), np.trace(A) - 1))


def about(axis: int, A: np.ndarray) -> tuple[float, float]:
    """Angle [rad] of I's axes A in J about one of them (AZ(I,J) for 2), and the tilt of I's axis from J's."""
    x, y, z = (axis + 1) % 3, (axis + 2) % 3, axis
    angle = float(np.arctan2(A[y, x], A[x, x]))
    return angle, float(np.arctan2(np.hypot(A[x, z], A[y, z]), A[z, z]))


def aside(axis: int, r: np.ndarray) -> float:
    """Distance of a point r (3,) from an axis."""
    return float(np.hypot(r[(axis + 1) % 3], r[(axis + 2) % 3]))
