"""Conditions that several joint types are put together from.

Source: Haug, Computer-Aided Kinematics and Dynamics, 2nd ed., section 9.4.
"""

from __future__ import annotations

import math

import casadi as ca
import numpy as np

from plant.mechanics.joints.joint import JointSetting, Parts

AXES = "xyz"


def coincident(s: JointSetting) -> Parts:
    """The origins are one point."""
    return [(f"displacement along global {AXES[k]}", s.d[k]) for k in range(3)]


def on_line(s: JointSetting) -> Parts:
    """The origin of I is on the z axis of J."""
    return [(f"displacement along {AXES[k]} of J", ca.dot(s.d, s.J.A[:, k])) for k in (0, 1)]


def in_plane(s: JointSetting) -> Parts:
    """The origin of I is in the x-y plane of J."""
    return [("displacement along z of J", s.DZ)]


def parallel_z(s: JointSetting) -> Parts:
    """The z axes are parallel."""
    return [("rotation about y of J", s.product(2, 0)), ("rotation about x of J", s.product(2, 1))]


def aligned(s: JointSetting) -> Parts:
    """All axes are parallel."""
    return _kept(s, np.eye(3))


def aligned_as_designed(s: JointSetting) -> Parts:
    """All axes as in the design, where z_I and z_J are parallel."""
    angle = math.atan2(s.A0[1, 0], s.A0[0, 0])
    c, sn = math.cos(angle), math.sin(angle)
    return _kept(s, np.array([[c, -sn, 0.0], [sn, c, 0.0], [0.0, 0.0, 1.0]]))


def _kept(s: JointSetting, A0: np.ndarray) -> Parts:
    """A_J^T A_I = A0: three off-diagonal cosines, one on each side."""
    turned = s.I.A @ ca.SX(ca.sparsify(ca.DM(np.where(np.abs(A0) < 1e-15, 0.0, A0))).T)
    return [
        (f"rotation about {AXES[3 - i - j]} of J", ca.dot(turned[:, i], s.J.A[:, j]))
        for i, j in ((0, 1), (1, 2), (2, 0))
    ]


def perpendicular_z(s: JointSetting) -> Parts:
    """The z axes are at right angles."""
    return [("angle between the z-axes", s.product(2, 2))]
