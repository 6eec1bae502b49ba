"""The joint types of a plant: one entry per type in `JOINTS`.

A joint connects frame I to frame J and answers one question, ``jcalc(q) -> (XJ, S)``: the transform from J
to I coordinates and the motion subspace in I coordinates, so that the velocity of I relative to J is S qd.
The joint axis is the z axis of J; coordinates are I relative to J, as the format's functions measure them
(``AZ(I,J)``, ``DZ(I,J,J)``). Spatial vectors are angular first.

Source: Featherstone, RBDA, table 4.1 and section 4.4; MotionSolve reference guide, Constraint_Joint.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from plant.mechanics.spatial import (
    Matrix,
    Transform,
    constant,
    cross,
    matrix,
    quaternion_of,
    quaternion_rate,
    quaternion_rotation,
    rx,
    ry,
    rz,
    vector,
)

ANGLE, LENGTH, UNIT = "rad", "length", "1"  # units of coordinates; "1" marks a quaternion component


@dataclass(frozen=True)
class Closeness:
    """How far a pair of frames is from one a joint allows: a distance [length] and an angle [rad]."""

    distance: float
    angle: float


@dataclass(frozen=True, eq=False)
class Joint:
    """One joint type.

    jcalc(q) -> (XJ, S)     transform from J to I coordinates, (6, nv) motion subspace in I coordinates;
                            of a joint with six degrees of freedom S^T S = 1
    initial(r, A)           coordinates (nq,) nearest to a pose of I in J (origin r, axes the columns of A),
                            and how far the pose is from them
    cJ(q, qd)               (6, 1) rate of S in I coordinates times qd; None where S is constant
    rate(q, qd)             (nq,) rate of q; None where it is qd itself
    coordinates             (name, unit) of each component of q; `rates` of each component of qd
    turn                    index of the coordinate that is the angle about z, if there is one
    rotates                 whether I can turn relative to J
    """

    name: str
    nq: int
    nv: int
    jcalc: Callable[[Matrix], tuple[Transform, Matrix]]
    initial: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, Closeness]]
    coordinates: tuple[tuple[str, str], ...]
    rates: tuple[str, ...]
    cJ: Callable[[Matrix, Matrix], Matrix] | None = None
    rate: Callable[[Matrix, Matrix], Matrix] | None = None
    turn: int | None = None
    rotates: bool = True
    reversed: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        # its functions cannot be pickled; the table has them
        return _named, (self.name, self.reversed)

    def qdot(self, q: Matrix, qd: Matrix) -> Matrix:
        """(nq, 1) rate of q."""
        return qd if self.rate is None else self.rate(q, qd)

    def invariant(self, q: Matrix) -> Matrix | None:
        """Quantity that stays zero: e.e - 1 of a quaternion; None for plain coordinates."""
        e = [q[k] for k, (_, unit) in enumerate(self.coordinates) if unit == UNIT]
        return sum(c * c for c in e) - 1 if e else None


def reverse(joint: Joint) -> Joint:
    """The same joint seen from I: transform from I to J coordinates, motion of J relative to I.

    The coordinates keep their meaning (I relative to J). With v = S qd in I coordinates the motion of J
    relative to I is -X v in J coordinates, X = XJ^-1. Its apparent rate is -X (v x v + cJ) = -X cJ.
    """

    def jcalc(q: Matrix) -> tuple[Transform, Matrix]:
        XJ, S = joint.jcalc(q)
        back = XJ.inverse()
        return back, ca.sparsify(-_motions(back, S))

    def rate_of_subspace(q: Matrix, qd: Matrix) -> Matrix:
        assert joint.cJ is not None
        return -joint.jcalc(q)[0].inverse().motion(joint.cJ(q, qd))

    cJ = None if joint.cJ is None else rate_of_subspace
    return replace(joint, jcalc=jcalc, cJ=cJ, reversed=not joint.reversed)


def _motions(X: Transform, S: Matrix) -> Matrix:
    """X applied to every column of S (6, nv)."""
    return ca.horzcat(type(S)(6, 0), *[X.motion(S[:, k]) for k in range(S.shape[1])])


# --- frames --------------------------------------------------------------------------------------------
_NOWHERE = constant(np.zeros(3))
_ALIGNED = constant(np.eye(3))


def _axes(*which: int) -> Matrix:
    """(6, nv) subspace of unit columns: 0, 1, 2 turn about x, y, z; 3, 4, 5 move along them."""
    return constant(np.eye(6)[:, list(which)])


def _angle_of(A: np.ndarray) -> float:
    """Angle [rad] of the rotation A (3, 3), accurate near zero."""
    axial = np.array([A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]])
    return float(np.arctan2(np.linalg.norm(axial), np.trace(A) - 1))


def _turned(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _about_z(A: np.ndarray) -> tuple[float, float]:
    """AZ(I,J) [rad] of I's axes A in J, and the tilt of z_I from z_J."""
    angle = float(np.arctan2(A[1, 0], A[0, 0]))
    return angle, float(np.arctan2(np.hypot(A[0, 2], A[1, 2]), A[2, 2]))


# --- the entries' formulas -----------------------------------------------------------------------------
def _revolute(r: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, Closeness]:
    angle, tilt = _about_z(A)
    return np.array([angle]), Closeness(float(np.linalg.norm(r)), tilt)


def _translational(r: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, Closeness]:
    # "all axes stay aligned as at the start": a constant turn about z is kept, whatever it is
    return np.array([r[2]]), Closeness(float(np.hypot(r[0], r[1])), _about_z(A)[1])


def _cylindrical(r: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, Closeness]:
    angle, tilt = _about_z(A)
    return np.array([angle, r[2]]), Closeness(float(np.hypot(r[0], r[1])), tilt)


def _spherical(r: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, Closeness]:
    return quaternion_of(A), Closeness(float(np.linalg.norm(r)), 0.0)


def _universal(r: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, Closeness]:
    psi, phi = np.arctan2(A[0, 2], -A[1, 2]), np.arctan2(A[2, 0], A[2, 1])
    return np.array([psi, phi]), Closeness(
        float(np.linalg.norm(r)), abs(float(np.arcsin(np.clip(A[2, 2], -1, 1))))
    )


def _universal_jcalc(q: Matrix) -> tuple[Transform, Matrix]:
    # z_J and z_I are the cross bars: A_J_I = Rz(q1) Rx(90 deg) Rz(q2)
    quarter = constant([[1, 0, 0], [0, 0, 1], [0, -1, 0]])
    s, c = ca.sin(q[1]), ca.cos(q[1])
    S = matrix([[s, 0], [c, 0], [0, 1], [0, 0], [0, 0], [0, 0]])
    return Transform(rz(q[1]) @ quarter @ rz(q[0]), _NOWHERE), S


def _universal_cJ(q: Matrix, qd: Matrix) -> Matrix:
    rate = qd[0] * qd[1]
    return vector([rate * ca.cos(q[1]), -rate * ca.sin(q[1]), 0, 0, 0, 0])


def _hooke(r: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, Closeness]:
    first, second = np.arctan2(-A[2, 0], A[0, 0]), np.arctan2(-A[1, 2], A[1, 1])
    tilt = abs(float(np.arcsin(np.clip(A[1, 0], -1, 1))))
    return np.array([first, second]), Closeness(float(np.linalg.norm(r)), tilt)


def _hooke_jcalc(q: Matrix) -> tuple[Transform, Matrix]:
    # x_I and y_J are the cross bars: A_J_I = Ry(q1) Rx(q2)
    s, c = ca.sin(q[1]), ca.cos(q[1])
    S = matrix([[0, 1], [c, 0], [-s, 0], [0, 0], [0, 0], [0, 0]])
    return Transform(rx(q[1]) @ ry(q[0]), _NOWHERE), S


def _hooke_cJ(q: Matrix, qd: Matrix) -> Matrix:
    rate = qd[0] * qd[1]
    return vector([0, -rate * ca.sin(q[1]), -rate * ca.cos(q[1]), 0, 0, 0])


def _planar(r: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, Closeness]:
    angle, tilt = _about_z(A)
    return np.array([r[0], r[1], angle]), Closeness(abs(float(r[2])), tilt)


def _planar_jcalc(q: Matrix) -> tuple[Transform, Matrix]:
    s, c = ca.sin(q[2]), ca.cos(q[2])
    S = matrix([[0, 0, 0], [0, 0, 0], [0, 0, 1], [c, s, 0], [-s, c, 0], [0, 0, 0]])
    return Transform(rz(q[2]), vector([q[0], q[1], 0])), S


def _planar_cJ(q: Matrix, qd: Matrix) -> Matrix:
    s, c = ca.sin(q[2]), ca.cos(q[2])
    return vector([0, 0, 0, qd[2] * (c * qd[1] - s * qd[0]), -qd[2] * (c * qd[0] + s * qd[1]), 0])


def _fixed(r: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, Closeness]:
    return np.zeros(0), Closeness(float(np.linalg.norm(r)), _angle_of(A))


def _free(r: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, Closeness]:
    return np.concatenate([quaternion_of(A), r]), Closeness(0.0, 0.0)


def _free_jcalc(q: Matrix) -> tuple[Transform, Matrix]:
    # qd = [w along I; rate of the position along J], so the position's rate is qd itself
    E = quaternion_rotation(q[:4])
    S = ca.sparsify(ca.diagcat(_ALIGNED, E))
    return Transform(E, q[4:]), S


def _free_cJ(q: Matrix, qd: Matrix) -> Matrix:
    moved = quaternion_rotation(q[:4]) @ qd[3:]  # along I; its rate there is -w x moved
    w = qd[:3]
    return ca.vertcat(_NOWHERE, cross(moved, w))


def _free_rate(q: Matrix, qd: Matrix) -> Matrix:
    return ca.vertcat(quaternion_rate(q[:4], qd[:3]), qd[3:])


def _point(r: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, Closeness]:
    return np.array(r), Closeness(0.0, 0.0)


_QUATERNION = (("e0", UNIT), ("e1", UNIT), ("e2", UNIT), ("e3", UNIT))
_W = ("w_x", "w_y", "w_z")
_XYZ = (("x", LENGTH), ("y", LENGTH), ("z", LENGTH))

JOINTS: dict[str, Joint] = {
    joint.name: joint
    for joint in (
        Joint(
            "REVOLUTE", 1, 1,
            jcalc=lambda q: (Transform(rz(q[0]), _NOWHERE), _axes(2)),
            initial=_revolute,
            coordinates=(("angle", ANGLE),), rates=("angle rate",), turn=0,
        ),
        Joint(
            "TRANSLATIONAL", 1, 1,
            jcalc=lambda q: (Transform(_ALIGNED, vector([0, 0, q[0]])), _axes(5)),
            initial=_translational,
            coordinates=(("position", LENGTH),), rates=("velocity",), rotates=False,
        ),
        Joint(
            "CYLINDRICAL", 2, 2,
            jcalc=lambda q: (Transform(rz(q[0]), vector([0, 0, q[1]])), _axes(2, 5)),
            initial=_cylindrical,
            coordinates=(("angle", ANGLE), ("position", LENGTH)), rates=("angle rate", "velocity"), turn=0,
        ),
        Joint(
            "SPHERICAL", 4, 3,
            jcalc=lambda q: (Transform(quaternion_rotation(q), _NOWHERE), _axes(0, 1, 2)),
            initial=_spherical,
            coordinates=_QUATERNION, rates=_W, rate=quaternion_rate,
        ),
        Joint(
            "UNIVERSAL", 2, 2, _universal_jcalc, _universal,
            coordinates=(("angle about z_J", ANGLE), ("angle about z_I", ANGLE)),
            rates=("rate about z_J", "rate about z_I"), cJ=_universal_cJ,
        ),
        Joint(
            "HOOKE", 2, 2, _hooke_jcalc, _hooke,
            coordinates=(("angle about y_J", ANGLE), ("angle about x_I", ANGLE)),
            rates=("rate about y_J", "rate about x_I"), cJ=_hooke_cJ,
        ),
        Joint(
            "PLANAR", 3, 3, _planar_jcalc, _planar,
            coordinates=(("x", LENGTH), ("y", LENGTH), ("angle", ANGLE)),
            rates=("v_x", "v_y", "angle rate"), cJ=_planar_cJ, turn=2,
        ),
        Joint(
            "FIXED", 0, 0,
            jcalc=lambda q: (Transform(_ALIGNED, _NOWHERE), constant(np.zeros((6, 0)))),
            initial=_fixed, coordinates=(), rates=(), rotates=False,
        ),
        Joint(
            "FREE", 7, 6, _free_jcalc, _free,
            coordinates=(*_QUATERNION, *_XYZ), rates=(*_W, "v_x", "v_y", "v_z"),
            cJ=_free_cJ, rate=_free_rate,
        ),
        # a Body_Point that no joint holds: it never turns
        Joint(
            "FREE_POINT", 3, 3,
            jcalc=lambda q: (Transform(_ALIGNED, q), _axes(3, 4, 5)),
            initial=_point, coordinates=_XYZ, rates=("v_x", "v_y", "v_z"), rotates=False,
        ),
    )
}  # fmt: skip
"""Joint types by the name the format gives them. Add a joint: add an entry here."""


def _named(name: str, reversed: bool) -> Joint:
    return reverse(JOINTS[name]) if reversed else JOINTS[name]


def pose(joint: Joint, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pose of I in J at coordinates q (nq,): origin (3,), axes as columns (3, 3)."""
    XJ: Any = joint.jcalc(ca.DM(np.asarray(q, dtype=float)))[0]
    return np.array(ca.DM(XJ.r)).ravel(), np.array(ca.DM(XJ.E)).T
