"""What a joint type is: coordinates for a tree, conditions for a loop, and what algorithms ask about it.

A joint connects frame I to frame J; its axis is the z axis of J. Coordinates are I relative to J, as the
format's functions measure them (``AZ(I,J)``, ``DZ(I,J,J)``). Spatial vectors are angular first.

Source: Featherstone, RBDA, table 4.1 and section 4.4; Haug, Computer-Aided Kinematics and Dynamics, 2nd ed.,
section 9.4; MotionSolve reference guide, Constraint_Joint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from types import MappingProxyType
from typing import Protocol

import casadi as ca
import numpy as np

from plant.mechanics.spatial import Matrix, Transform

ANGLE, LENGTH, UNIT = "rad", "length", "1"  # units of coordinates; "1" marks a quaternion component


@dataclass(frozen=True)
class Closeness:
    """How far a pair of frames is from one a joint allows: a distance [length] and an angle [rad]."""

    distance: float
    angle: float


# --- coordinates ---------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Joint:
    """The coordinates of a joint in a tree: ``jcalc(q) -> (XJ, S)`` and what goes with it.

    The functions are those of a module, so that a joint can be pickled; each takes `numbers` last.

    transform(q) -> (XJ, S) transform from J to I coordinates, (6, nv) motion subspace in I coordinates, so
                            that the velocity of I relative to J is S qd; with six freedoms S^T S = 1
    nearest(r, A)           coordinates (nq,) nearest to a pose of I in J (origin r, axes the columns of A),
                            and how far the pose is from them
    coordinates             (name, unit) of each component of q; `rates` of each component of qd
    bias(q, qd)             (6, 1) rate of S in I coordinates times qd; None where S is constant
    rate(q, qd)             (nq,) rate of q; None where it is qd itself
    twist(qd) -> (w, v)     angular velocity along I and velocity of its origin along J, of joints where both
                            are linear in qd with constant factors: those of bodies on their own
    turn                    index of the coordinate that is the angle about z, if there is one
    rotates                 whether I can turn relative to J
    numbers                 such as a pitch, in the order of `JointType.numbers`
    reversed                seen from I: see `reverse`
    """

    name: str
    nq: int
    nv: int
    transform: Callable[..., tuple[Transform, Matrix]]
    nearest: Callable[..., tuple[np.ndarray, Closeness]]
    coordinates: tuple[tuple[str, str], ...]
    rates: tuple[str, ...]
    bias: Callable[..., Matrix] | None = None
    rate: Callable[[Matrix, Matrix], Matrix] | None = None
    twist: Callable[[Matrix], tuple[Matrix, Matrix]] | None = None
    turn: int | None = None
    rotates: bool = True
    numbers: tuple[float, ...] = ()
    reversed: bool = False

    @property
    def kind(self) -> tuple[object, ...]:
        """Joints of equal kind have equal functions."""
        return self.name, self.numbers, self.reversed

    def jcalc(self, q: Matrix) -> tuple[Transform, Matrix]:
        """Transform XJ from the parent's side to the child's, and motion subspace S there (6, nv).

        Reversed, with v = S qd in I coordinates, the motion of J relative to I is -X v in J coordinates,
        X = XJ^-1.
        """
        XJ, S = self.transform(q, *self.numbers)
        if not self.reversed:
            return XJ, S
        back = XJ.inverse()
        return back, ca.sparsify(-_motions(back, S))

    def cJ(self, q: Matrix, qd: Matrix) -> Matrix:
        """(6, 1) apparent rate of S times qd; reversed -X (v x v + cJ) = -X cJ."""
        if self.bias is None:
            return ca.SX(6, 1)
        found = self.bias(q, qd, *self.numbers)
        if not self.reversed:
            return found
        return -self.transform(q, *self.numbers)[0].inverse().motion(found)

    def initial(self, r: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, Closeness]:
        """Coordinates (nq,) nearest to a pose of I in J, and how far the pose is from them."""
        return self.nearest(r, A, *self.numbers)

    def qdot(self, q: Matrix, qd: Matrix) -> Matrix:
        """(nq, 1) rate of q."""
        return qd if self.rate is None else self.rate(q, qd)

    def invariant(self, q: Matrix) -> Matrix | None:
        """Quantity that stays zero: e.e - 1 of a quaternion; None for plain coordinates."""
        e = [q[k] for k, (_, unit) in enumerate(self.coordinates) if unit == UNIT]
        return sum(c * c for c in e) - 1 if e else None


def reverse(joint: Joint) -> Joint:
    """The same joint seen from I: transform from I to J coordinates, motion of J relative to I.

    The coordinates keep their meaning (I relative to J).
    """
    return replace(joint, reversed=not joint.reversed)


def _motions(X: Transform, S: Matrix) -> Matrix:
    """X applied to every column of S (6, nv)."""
    return ca.horzcat(type(S)(6, 0), *[X.motion(S[:, k]) for k in range(S.shape[1])])


def pose(joint: Joint, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pose of the child's side in the parent's at q (nq,): origin (3,), axes (3, 3) as columns."""
    return _frame(joint.jcalc(ca.DM(np.asarray(q, dtype=float)))[0])


def _frame(X: Transform) -> tuple[np.ndarray, np.ndarray]:
    """Origin (3,) and axes (3, 3), as columns, of a transform of numbers."""
    return np.array(ca.DM(X.r)).ravel(), np.array(ca.DM(X.E)).T


class JointNumbers:
    """Joints at numbers; equal joints at equal coordinates are worked out once."""

    def __init__(self) -> None:
        self._found: dict[object, tuple[Transform, np.ndarray, tuple[np.ndarray, np.ndarray]]] = {}

    def transform(self, joint: Joint, q: np.ndarray) -> Transform:
        """XJ at q (nq,), of numbers."""
        return self._at(joint, q)[0]

    def subspace(self, joint: Joint, q: np.ndarray) -> np.ndarray:
        """(6, nv) motion subspace S at q (nq,)."""
        return self._at(joint, q)[1]

    def pose(self, joint: Joint, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `pose`."""
        return self._at(joint, q)[2]

    def _at(self, joint: Joint, q: np.ndarray) -> tuple[Transform, np.ndarray, tuple[np.ndarray, np.ndarray]]:
        q = np.asarray(q, dtype=float)
        key = joint.kind, q.tobytes()
        found = self._found.get(key)
        if found is None:
            XJ, S = joint.jcalc(ca.DM(q))
            subspace = np.array(ca.DM(S)).reshape(6, joint.nv)
            found = self._found[key] = XJ, subspace, _frame(XJ)
        return found


# --- conditions ----------------------------------------------------------------------------------------
class Posed(Protocol):
    """Origin r (3, 1) and axes A (3, 3), as columns, of a frame in the ground frame."""

    @property
    def r(self) -> ca.SX: ...

    @property
    def A(self) -> ca.SX: ...


@dataclass(frozen=True, eq=False)
class JointSetting:
    """What the equations of a joint that is a constraint may use.

    I, J                poses of its frames
    AZ()                the angle AZ(I,J), full turns counted
    turned(y, x)        how far I has turned about its z axis, full turns counted, since a direction that I
                        sees along (x, y) now was along its x axis; 0 in the design
    r0, A0              pose of I in J in the design
    numbers             such as a pitch, by name
    where               the joint as messages name it
    """

    I: Posed
    J: Posed
    AZ: Callable[[], ca.SX]
    turned: Callable[[ca.SX, ca.SX], ca.SX]
    r0: np.ndarray
    A0: np.ndarray
    numbers: Mapping[str, float]
    where: str

    @property
    def d(self) -> ca.SX:
        """(3, 1) from the origin of J to that of I."""
        return self.I.r - self.J.r

    @property
    def DZ(self) -> ca.SX:
        """Displacement along z_J."""
        return ca.dot(self.d, self.J.A[:, 2])

    def product(self, i: int, j: int) -> ca.SX:
        """Cosine between axis i of I and axis j of J."""
        return ca.dot(self.I.A[:, i], self.J.A[:, j])


Parts = list[tuple[str, ca.SX]]
"""What is fixed, for messages, and the value that is to be zero, of each condition."""


# --- the entry -----------------------------------------------------------------------------------------
class Planarity(Enum):
    """How a joint keeps its bodies in a plane."""

    NOT = "it does not"
    ACROSS = "the plane is at right angles to its z axis"
    ALONG = "its z axis lies in the plane"
    ANY = "nothing moves"
    OUT = "it does not, and pushes them out of one"


@dataclass(frozen=True, eq=False)
class JointType:
    """One joint type: all that is known about it.

    name                the word for it in a deck
    conditions          functions that give its equations where it is a constraint
    fixes               how many equations on displacements, on rotations (a coupling of both is the former)
    joint               its coordinates; None: it is always a constraint
    planarity           whether it keeps bodies in a plane
    freedoms            coordinates couplers and motions can use: "R" is AZ, "T" is DZ
    numbers             what it needs besides two frames: name to what to give
    synonyms            other words for it in a deck
    in_decks            whether the format has it
    jtypes              names of it in spatial_v2, of joints with one coordinate
    parts               what I and J are, where I turns about its z-axis and J travels along its own
    since_design        whether its conditions keep what the design shows of the pose of I in J
    """

    name: str
    conditions: tuple[Callable[[JointSetting], Parts], ...]
    fixes: tuple[int, int]
    joint: Joint | None = None
    planarity: Planarity = Planarity.NOT
    freedoms: tuple[str, ...] = ()
    numbers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    synonyms: tuple[str, ...] = ()
    in_decks: bool = True
    jtypes: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    since_design: bool = False

    @property
    def holds(self) -> bool:
        """Whether it restricts anything."""
        return sum(self.fixes) > 0

    @property
    def shape(self) -> str:
        """What it looks like: a "ball", a "slider", a "pin", or "" for what holds as if welded."""
        if sum(self.fixes) == 6:
            return ""
        if self.fixes == (3, 0):
            return "ball"
        return "slider" if "T" in self.freedoms else "pin"

    def equations(self, setting: JointSetting) -> Parts:
        """Its equations where it is a constraint."""
        return [part for write in self.conditions for part in write(setting)]

    def made(self, numbers: Mapping[str, float]) -> Joint:
        """Its coordinates, with the numbers it needs."""
        assert self.joint is not None  # the caller asked
        return replace(self.joint, numbers=tuple(float(numbers[name]) for name in self.numbers))
