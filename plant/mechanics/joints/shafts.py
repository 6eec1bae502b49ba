"""Joints between shafts that meet in a point: two cross bars, or equal speeds."""

from __future__ import annotations

import casadi as ca
import numpy as np

from plant.mechanics.joints.joint import ANGLE, Closeness, Joint, JointSetting, JointType, Parts
from plant.mechanics.joints.joint_conditions import coincident
from plant.mechanics.joints.poses import NOWHERE
from plant.mechanics.spatial import Matrix, Transform, constant, matrix, rx, ry, rz, vector

PLAIN = 1e-3  # what a condition of drawn axes is missed by at least where it is not meant to hold


# --- universal: z_J and z_I are the cross bars, A_J_I = Rz(q1) Rx(90 deg) Rz(q2) -----------------------
def _universal(q: Matrix) -> tuple[Transform, Matrix]:
    quarter = constant([[1, 0, 0], [0, 0, 1], [0, -1, 0]])
    s, c = ca.sin(q[1]), ca.cos(q[1])
    S = matrix([[s, 0], [c, 0], [0, 1], [0, 0], [0, 0], [0, 0]])
    return Transform(rz(q[1]) @ quarter @ rz(q[0]), NOWHERE), S


def _universal_bias(q: Matrix, qd: Matrix) -> Matrix:
    rate = qd[0] * qd[1]
    return vector([rate * ca.cos(q[1]), -rate * ca.sin(q[1]), 0, 0, 0, 0])


def _nearest_universal(r: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, Closeness]:
    psi, phi = np.arctan2(A[0, 2], -A[1, 2]), np.arctan2(A[2, 0], A[2, 1])
    if abs(A[2, 2]) == 1.0:  # parallel bars: all directions are as near; x_I stays
        psi, phi = np.arctan2(A[1, 0], A[0, 0]), 0.0
    tilt = abs(float(np.arcsin(np.clip(A[2, 2], -1, 1))))
    return np.array([psi, phi]), Closeness(float(np.linalg.norm(r)), tilt)


def _z_bars(s: JointSetting) -> Parts:
    return [("angle between the cross bars", s.product(2, 2))]


UNIVERSAL = JointType(
    "UNIVERSAL",
    (coincident, _z_bars),
    fixes=(3, 1),
    joint=Joint(
        "UNIVERSAL",
        2,
        2,
        _universal,
        _nearest_universal,
        (("angle about z_J", ANGLE), ("angle about z_I", ANGLE)),
        ("rate about z_J", "rate about z_I"),
        bias=_universal_bias,
    ),
)


# --- Hooke: x_I and y_J are the cross bars, A_J_I = Ry(q1) Rx(q2) --------------------------------------
def _hooke(q: Matrix) -> tuple[Transform, Matrix]:
    s, c = ca.sin(q[1]), ca.cos(q[1])
    S = matrix([[0, 1], [c, 0], [-s, 0], [0, 0], [0, 0], [0, 0]])
    return Transform(rx(q[1]) @ ry(q[0]), NOWHERE), S


def _hooke_bias(q: Matrix, qd: Matrix) -> Matrix:
    rate = qd[0] * qd[1]
    return vector([0, -rate * ca.sin(q[1]), -rate * ca.cos(q[1]), 0, 0, 0])


def _nearest_hooke(r: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, Closeness]:
    first, second = np.arctan2(-A[2, 0], A[0, 0]), np.arctan2(-A[1, 2], A[1, 1])
    tilt = abs(float(np.arcsin(np.clip(A[1, 0], -1, 1))))
    return np.array([first, second]), Closeness(float(np.linalg.norm(r)), tilt)


def _xy_bars(s: JointSetting) -> Parts:
    return [("angle between the cross bars", s.product(0, 1))]


HOOKE = JointType(
    "HOOKE",
    (coincident, _xy_bars),
    fixes=(3, 1),
    joint=Joint(
        "HOOKE",
        2,
        2,
        _hooke,
        _nearest_hooke,
        (("angle about y_J", ANGLE), ("angle about x_I", ANGLE)),
        ("rate about y_J", "rate about x_I"),
        bias=_hooke_bias,
    ),
)


# --- constant velocity ---------------------------------------------------------------------------------
def _equal_speeds(s: JointSetting) -> Parts:
    """The shafts spin alike, whether z_I goes on along z_J or both point away from the joint.

    x_I . y_J = y_I . x_J of the former, where both turn alike about their z axes; of the latter they turn
    oppositely about them, x_I . y_J = -y_I . x_J. Which of them is meant shows in the design, where one holds
    and the other does not, as in a file that was saved while the shafts were folded. Where both do, or
    neither, it is the former if z_I . z_J >= 0.
    """
    first, second = abs(s.A0[1, 0] - s.A0[0, 1]), abs(s.A0[1, 0] + s.A0[0, 1])
    away = bool(s.A0[2, 2] < 0.0)
    if max(first, second) > PLAIN and min(first, second) < PLAIN**2 * max(first, second):
        away = bool(second < first)
    return [("rotation about the axes", s.product(0, 1) + (1.0 if away else -1.0) * s.product(1, 0))]


CONSTANT_VELOCITY = JointType(
    "CONSTANT_VELOCITY", (coincident, _equal_speeds), fixes=(3, 1), since_design=True
)

JOINT_TYPES = (UNIVERSAL, HOOKE, CONSTANT_VELOCITY)
