"""Joints that turn about an axis, slide along it or in a plane, turn about a point; FIXED and FREE."""

from __future__ import annotations

import casadi as ca
import numpy as np

from plant.mechanics.joints.joint import ANGLE, LENGTH, Closeness, Joint, JointType, Planarity
from plant.mechanics.joints.joint_conditions import (
    aligned,
    aligned_as_designed,
    coincident,
    in_plane,
    on_line,
    parallel_z,
)
from plant.mechanics.joints.poses import (
    ALIGNED,
    NOWHERE,
    QUATERNION,
    TRAVEL,
    TURN,
    XYZ,
    V,
    W,
    about,
    angle_of,
    aside,
    axes,
)
from plant.mechanics.spatial import (
    Matrix,
    Transform,
    constant,
    cross,
    matrix,
    quaternion_of,
    quaternion_rate,
    quaternion_rotation,
    rz,
    vector,
)


# --- revolute ------------------------------------------------------------------------------------------
def _revolute(q: Matrix) -> tuple[Transform, Matrix]:
    return Transform(rz(q[0]), NOWHERE), axes(2)


def _nearest_revolute(r: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, Closeness]:
    angle, tilt = about(2, A)
    return np.array([angle]), Closeness(float(np.linalg.norm(r)), tilt)


REVOLUTE = JointType(
    "REVOLUTE",
    (coincident, parallel_z),
    fixes=(3, 2),
    joint=Joint("REVOLUTE", 1, 1, _revolute, _nearest_revolute, (TURN,), ("angle rate",), turn=0),
    planarity=Planarity.ACROSS,
    freedoms=("R",),
    jtypes=("R", "Rz", "r"),
)


# --- translational -------------------------------------------------------------------------------------
def _translational(q: Matrix) -> tuple[Transform, Matrix]:
    return Transform(ALIGNED, vector([0, 0, q[0]])), axes(5)


def _nearest_translational(r: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, Closeness]:
    # "all axes stay aligned as at the start": a constant turn about z is kept, whatever it is
    return np.array([r[2]]), Closeness(aside(2, r), about(2, A)[1])


TRANSLATIONAL = JointType(
    "TRANSLATIONAL",
    (on_line, aligned_as_designed),
    fixes=(2, 3),
    joint=Joint(
        "TRANSLATIONAL", 1, 1, _translational, _nearest_translational, (TRAVEL,), ("velocity",), rotates=False
    ),
    planarity=Planarity.ALONG,
    freedoms=("T",),
    jtypes=("P", "Pz"),
    since_design=True,
)


# --- cylindrical ---------------------------------------------------------------------------------------
def _cylindrical(q: Matrix) -> tuple[Transform, Matrix]:
    return Transform(rz(q[0]), vector([0, 0, q[1]])), axes(2, 5)


def _nearest_cylindrical(r: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, Closeness]:
    angle, tilt = about(2, A)
    return np.array([angle, r[2]]), Closeness(aside(2, r), tilt)


CYLINDRICAL = JointType(
    "CYLINDRICAL",
    (on_line, parallel_z),
    fixes=(2, 2),
    joint=Joint(
        "CYLINDRICAL",
        2,
        2,
        _cylindrical,
        _nearest_cylindrical,
        (TURN, TRAVEL),
        ("angle rate", "velocity"),
        turn=0,
    ),
    freedoms=("R", "T"),
)


# --- spherical -----------------------------------------------------------------------------------------
def _spherical(q: Matrix) -> tuple[Transform, Matrix]:
    return Transform(quaternion_rotation(q), NOWHERE), axes(0, 1, 2)


def _nearest_spherical(r: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, Closeness]:
    return quaternion_of(A), Closeness(float(np.linalg.norm(r)), 0.0)


SPHERICAL = JointType(
    "SPHERICAL",
    (coincident,),
    fixes=(3, 0),
    joint=Joint("SPHERICAL", 4, 3, _spherical, _nearest_spherical, QUATERNION, W, rate=quaternion_rate),
    synonyms=("ATPOINT",),
)


# --- planar --------------------------------------------------------------------------------------------
def _planar(q: Matrix) -> tuple[Transform, Matrix]:
    s, c = ca.sin(q[2]), ca.cos(q[2])
    S = matrix([[0, 0, 0], [0, 0, 0], [0, 0, 1], [c, s, 0], [-s, c, 0], [0, 0, 0]])
    return Transform(rz(q[2]), vector([q[0], q[1], 0])), S


def _planar_bias(q: Matrix, qd: Matrix) -> Matrix:
    s, c = ca.sin(q[2]), ca.cos(q[2])
    return vector([0, 0, 0, qd[2] * (c * qd[1] - s * qd[0]), -qd[2] * (c * qd[0] + s * qd[1]), 0])


def _planar_twist(qd: Matrix) -> tuple[Matrix, Matrix]:
    return ca.vertcat(ca.SX(2, 1), qd[2]), ca.vertcat(qd[:2], ca.SX(1, 1))


def _nearest_planar(r: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, Closeness]:
    angle, tilt = about(2, A)
    return np.array([r[0], r[1], angle]), Closeness(abs(float(r[2])), tilt)


PLANAR = JointType(
    "PLANAR",
    (in_plane, parallel_z),
    fixes=(1, 2),
    joint=Joint(
        "PLANAR",
        3,
        3,
        _planar,
        _nearest_planar,
        (("x", LENGTH), ("y", LENGTH), ("angle", ANGLE)),
        ("v_x", "v_y", "angle rate"),
        bias=_planar_bias,
        twist=_planar_twist,
        turn=2,
    ),
    planarity=Planarity.ACROSS,
)


# --- fixed ---------------------------------------------------------------------------------------------
def _fixed(q: Matrix) -> tuple[Transform, Matrix]:
    return Transform(ALIGNED, NOWHERE), constant(np.zeros((6, 0)))


def _nearest_fixed(r: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, Closeness]:
    return np.zeros(0), Closeness(float(np.linalg.norm(r)), angle_of(A))


FIXED = JointType(
    "FIXED",
    (coincident, aligned),
    fixes=(3, 3),
    joint=Joint("FIXED", 0, 0, _fixed, _nearest_fixed, (), (), rotates=False),
    planarity=Planarity.ANY,
)


# --- free ----------------------------------------------------------------------------------------------
def _free(q: Matrix) -> tuple[Transform, Matrix]:
    # qd = [w along I; rate of the position along J], so the position's rate is qd itself
    E = quaternion_rotation(q[:4])
    return Transform(E, q[4:]), ca.sparsify(ca.diagcat(ALIGNED, E))


def _free_bias(q: Matrix, qd: Matrix) -> Matrix:
    moved = quaternion_rotation(q[:4]) @ qd[3:]  # along I; its rate there is -w x moved
    return ca.vertcat(NOWHERE, cross(moved, qd[:3]))


def _free_rate(q: Matrix, qd: Matrix) -> Matrix:
    return ca.vertcat(quaternion_rate(q[:4], qd[:3]), qd[3:])


def _free_twist(qd: Matrix) -> tuple[Matrix, Matrix]:
    return qd[:3], qd[3:]


def _nearest_free(r: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, Closeness]:
    return np.concatenate([quaternion_of(A), r]), Closeness(0.0, 0.0)


FREE = JointType(
    "FREE",
    (),
    fixes=(0, 0),
    joint=Joint(
        "FREE",
        7,
        6,
        _free,
        _nearest_free,
        (*QUATERNION, *XYZ),
        (*W, *V),
        bias=_free_bias,
        rate=_free_rate,
        twist=_free_twist,
    ),
)


# --- a body that never turns, which no joint holds -----------------------------------------------------
def _free_point(q: Matrix) -> tuple[Transform, Matrix]:
    return Transform(ALIGNED, q), axes(3, 4, 5)


def _free_point_twist(qd: Matrix) -> tuple[Matrix, Matrix]:
    return ca.SX(3, 1), qd


def _nearest_free_point(r: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, Closeness]:
    return np.array(r), Closeness(0.0, 0.0)


FREE_POINT = JointType(
    "FREE_POINT",
    (aligned,),
    fixes=(0, 3),
    joint=Joint(
        "FREE_POINT", 3, 3, _free_point, _nearest_free_point, XYZ, V, twist=_free_point_twist, rotates=False
    ),
    in_decks=False,
)

JOINT_TYPES = (REVOLUTE, TRANSLATIONAL, CYLINDRICAL, SPHERICAL, PLANAR, FIXED, FREE, FREE_POINT)
