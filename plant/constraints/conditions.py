"""What every constraint element demands, as scalar conditions between markers.

Each joint type has one entry in `JOINT_CONDITIONS`: the equations of the joint as functions of the poses of
its markers I and J. Joints that carry coordinates (see `mechanics.joints`) need them only where they close a
loop, or in absolute coordinates.

Source: MotionSolve reference guide, Constraint_Joint, Constraint_Coupler, Constraint_General, Motion_Joint,
Motion_Marker; Haug, Computer-Aided Kinematics and Dynamics, 2nd ed., section 9.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from blocks.errors import ModelError
from plant.constraints.local import Local
from plant.elements import (
    Constraint_Coupler,
    Constraint_General,
    Constraint_Joint,
    Element,
    Model,
    Motion_Joint,
    Motion_Marker,
    Reference_Variable,
    UserSubroutine,
)
from plant.expressions.functions.corners import arc_sine, direction_angle
from plant.expressions.scope import MarkerState, Refusal
from plant.mechanics.mechanism import in_frame

POSITION, VELOCITY, ACCELERATION = 0, 1, 2
PARALLEL = 1e-6  # sine of the angle between axes that count as parallel

CONSTRAINTS: tuple[type[Element], ...] = (
    Constraint_Joint,
    Constraint_Coupler,
    Constraint_General,
    Motion_Joint,
    Motion_Marker,
)


@dataclass(frozen=True, eq=False)
class Condition:
    """One scalar equation of a constraint element, in terms of local markers.

    element : Element         whose it is; its multiplier is part of that element's reaction
    text : str                what it fixes, for messages
    value : (1, 1)            displacement that is fixed or driven; of a `moving` condition a velocity
    level : int               which of value, its rate and its second rate is prescribed
    drive : (1, 1)            what it is to be (0 at position level: it is part of the value)
    moving : bool             the value is itself a velocity (rolling without slip)
    reacts : bool             its multiplier acts on the bodies along the gradient
    start : (1, 1) or None    value at the start, where level leaves it open; `start_rate` of its rate
    """

    element: Element
    text: str
    value: ca.SX
    level: int = POSITION
    drive: ca.SX = ca.SX(0)  # noqa: RUF009  # a constant, never changed
    moving: bool = False
    reacts: bool = True
    start: float | None = None
    start_rate: float | None = None


# --- joints ----------------------------------------------------------------------------------------------
Pair = tuple[MarkerState, MarkerState]
Parts = list[tuple[str, ca.SX]]
AXES = "xyz"


@dataclass(frozen=True, eq=False)
class Setting:
    """What a joint's equations may use: poses of I and J, the angle AZ(I,J), the relative design pose.

    ``turned`` counts the full turns of an angle of the joint's own.
    """

    I: MarkerState
    J: MarkerState
    AZ: Callable[[], ca.SX]
    turned: Callable[[ca.SX], ca.SX]
    r0: np.ndarray
    A0: np.ndarray
    element: Constraint_Joint

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


def _coincident(s: Setting) -> Parts:
    return [(f"displacement along global {AXES[k]}", s.d[k]) for k in range(3)]


def _on_line(s: Setting) -> Parts:
    return [(f"displacement along {AXES[k]} of J", ca.dot(s.d, s.J.A[:, k])) for k in (0, 1)]


def _in_plane(s: Setting) -> Parts:
    return [("displacement along z of J", s.DZ)]


def _parallel_z(s: Setting) -> Parts:
    return [("rotation about y of J", s.product(2, 0)), ("rotation about x of J", s.product(2, 1))]


def _aligned(s: Setting) -> Parts:
    return _kept(s, np.eye(3))


def _aligned_as_designed(s: Setting) -> Parts:
    """All axes as in the design, where z_I and z_J are parallel."""
    angle = math.atan2(s.A0[1, 0], s.A0[0, 0])
    c, sn = math.cos(angle), math.sin(angle)
    return _kept(s, np.array([[c, -sn, 0.0], [sn, c, 0.0], [0.0, 0.0, 1.0]]))


def _kept(s: Setting, A0: np.ndarray) -> Parts:
    """A_J^T A_I = A0: three off-diagonal cosines, one on each side."""
    turned = s.I.A @ ca.SX(ca.sparsify(ca.DM(np.where(np.abs(A0) < 1e-15, 0.0, A0))).T)
    return [
        (f"rotation about {AXES[3 - i - j]} of J", ca.dot(turned[:, i], s.J.A[:, j]))
        for i, j in ((0, 1), (1, 2), (2, 0))
    ]


def _constant_velocity(s: Setting) -> Parts:
    return [("rotation about the axes", s.product(0, 1) - s.product(1, 0))]


def _screw(s: Setting) -> Parts:
    pitch = float(s.element.pitch or 0.0)
    angle0 = math.atan2(s.A0[1, 0], s.A0[0, 0])
    return [("travel per turn", s.DZ - float(s.r0[2]) - (s.AZ() - angle0) * (pitch / (2 * math.pi)))]


def _rack_and_pinion(s: Setting) -> Parts:
    """The rack J travels along z_J by the radius times the turn of the pinion I about z_I, since the design.

    The turn is read from where z_J points in the pinion's plane: it goes round the other way.
    """
    radius = float(s.element.pitch_diameter or 0.0) / 2
    x0, y0 = float(s.A0[2, 0]), float(s.A0[2, 1])
    if math.hypot(x0, y0) < PARALLEL:
        raise ModelError(
            f"{s.element.where}: the z-axes of its markers are parallel; the pinion I turns about its "
            "z-axis, and the rack J travels along its own.",
            path=s.element.where,
            hint="Turn one of the markers: the axes are at right angles in an ordinary rack and pinion.",
        )
    x, y = s.product(0, 2), s.product(1, 2)
    turn = s.turned(-direction_angle(y * x0 - x * y0, x * x0 + y * y0))
    return [("travel per turn", -(s.DZ - float(s.r0[2])) - radius * turn)]


def _together(*parts: Callable[[Setting], Parts]) -> Callable[[Setting], Parts]:
    return lambda s: [part for make in parts for part in make(s)]


JOINT_CONDITIONS: Mapping[str, Callable[[Setting], Parts]] = {
    "FREE": lambda s: [],
    "FIXED": _together(_coincident, _aligned),
    "REVOLUTE": _together(_coincident, _parallel_z),
    "TRANSLATIONAL": _together(_on_line, _aligned_as_designed),
    "CYLINDRICAL": _together(_on_line, _parallel_z),
    "SPHERICAL": _coincident,
    "PLANAR": _together(_in_plane, _parallel_z),
    "UNIVERSAL": _together(_coincident, lambda s: [("angle between the cross bars", s.product(2, 2))]),
    "HOOKE": _together(_coincident, lambda s: [("angle between the cross bars", s.product(0, 1))]),
    "CONSTANT_VELOCITY": _together(_coincident, _constant_velocity),
    "INLINE": _on_line,
    "INPLANE": _in_plane,
    "ORIENTATION": _aligned,
    "PARALLEL_AXES": _parallel_z,
    "PERPENDICULAR": lambda s: [("angle between the z-axes", s.product(2, 2))],
    "SCREW": _screw,
    "RACK_PINION": _rack_and_pinion,
}
"""Equations of each joint type. Add a joint type: add an entry here (and in `mechanics.joints` if it has
coordinates)."""


# --- elements --------------------------------------------------------------------------------------------
class Values:
    """What the elements' conditions are made from."""

    def __init__(
        self,
        model: Model,
        local: Local,
        expression: Callable[[Element, str], Any],
        scripted: Callable[..., ca.SX],
    ) -> None:
        self.model, self.local = model, local
        self._expression, self.scripted = expression, scripted

    def expression(self, element: Element, attribute: str) -> ca.SX:
        """Value of an expression attribute in terms of local markers."""
        found = self._expression(element, attribute)
        if found is None and isinstance(element, UserSubroutine) and element.has_subroutine:
            return self.scripted(element)
        return ca.SX(0) if found is None else ca.SX(found.evaluate(self.local))

    def angle_z(self, i: int, j: int) -> ca.SX:
        """AZ(I,J) with turns counted."""
        R = self.local.marker(j).A.T @ self.local.marker(i).A
        return self.local.angle("AZ", i, j, direction_angle(R[1, 0], R[0, 0]))

    def distance_z(self, i: int, j: int) -> ca.SX:
        """DZ(I,J,J)."""
        I, J = self.local.marker(i), self.local.marker(j)
        return ca.dot(I.r - J.r, J.A[:, 2])

    def coordinate(self, joint: Constraint_Joint, freedom: str | None) -> ca.SX:
        """AZ ("R") or DZ ("T") of a joint."""
        turns = freedom == "R" or (freedom is None and joint.type == "REVOLUTE")
        return (self.angle_z if turns else self.distance_z)(joint.i_marker_id, joint.j_marker_id)

    def coordinate_at_design(self, joint: Constraint_Joint, freedom: str | None) -> float:
        """The same in the design configuration."""
        r, A = self.design(joint.i_marker_id, joint.j_marker_id)
        turns = freedom == "R" or (freedom is None and joint.type == "REVOLUTE")
        return math.atan2(A[1, 0], A[0, 0]) if turns else float(r[2])

    def design(self, i: int, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Design pose of marker I in J."""
        return in_frame(self.model.frames[j], self.model.frames[i])


def _joint(values: Values, joint: Constraint_Joint) -> Iterator[Condition]:
    i, j = joint.i_marker_id, joint.j_marker_id
    r0, A0 = values.design(i, j)
    setting = Setting(
        values.local.marker(i),
        values.local.marker(j),
        lambda: values.angle_z(i, j),
        lambda principal: values.local.angle("pinion", i, j, principal),
        r0,
        A0,
        joint,
    )
    for text, value in JOINT_CONDITIONS[joint.type](setting):
        yield Condition(joint, text, value)


def _coupler(values: Values, coupler: Constraint_Coupler) -> Iterator[Condition]:
    """c1 q1 + c2 q2 (+ c3 q3) keeps the value it has in the design configuration; what COUSUB gives is 0."""
    joints = [(values.model.find(Constraint_Joint, id), freedom) for id, freedom in coupler.coordinates]
    q = [values.coordinate(*each) for each in joints]
    if coupler.coefficients is None:
        yield Condition(coupler, "COUSUB of the coordinates", values.scripted(coupler, ca.vertcat(*q)))
        return
    design = [values.coordinate_at_design(*each) for each in joints]
    total = ca.SX(0)
    for c, now, then in zip(coupler.coefficients, q, design, strict=True):
        total += c * (now - then)
    yield Condition(coupler, "coupled coordinates", total)


def _general(values: Values, constraint: Constraint_General) -> Iterator[Condition]:
    g = values.expression(constraint, "expr")
    moving = values.local.moves(g)
    yield Condition(constraint, "expr", g, VELOCITY if moving else POSITION, moving=moving)


def _driven(
    values: Values, motion: Motion_Joint | Motion_Marker, text: str, value: ca.SX
) -> Iterator[Condition]:
    drive = values.expression(motion, "expr")
    level = "DVA".index(motion.val_type)
    if level == POSITION:
        value, drive = value - drive, ca.SX(0)
    yield Condition(
        motion,
        text,
        value,
        level,
        drive,
        start=motion.ic_disp if level >= VELOCITY else None,
        start_rate=motion.ic_vel if level == ACCELERATION else None,
    )


def _motion_joint(values: Values, motion: Motion_Joint) -> Iterator[Condition]:
    joint = values.model.find(Constraint_Joint, motion.joint_id)
    yield from _driven(values, motion, "driven coordinate", values.coordinate(joint, motion.joint_type))


def _motion_marker(values: Values, motion: Motion_Marker) -> Iterator[Condition]:
    I, J = values.local.marker(motion.i_marker_id), values.local.marker(motion.j_marker_id)
    if motion.direction in AXES.upper():
        value = ca.dot(I.r - J.r, J.A[:, AXES.upper().index(motion.direction)])
    else:
        R = J.A.T @ I.A  # = Rx(b1) Ry(b2) Rz(b3)
        value = {
            "B1": lambda: direction_angle(-R[1, 2], R[2, 2]),
            "B2": lambda: arc_sine(R[0, 2]),
            "B3": lambda: direction_angle(-R[0, 1], R[0, 0]),
        }[motion.direction]()
    yield from _driven(values, motion, f"driven {motion.direction}", value)


def _hard_variable(values: Values, variable: Reference_Variable) -> Iterator[Condition]:
    g = values.expression(variable, "expr")
    if values.local.moves(g):
        raise ModelError(
            f"{variable.where}: expr={variable.expr!r} depends on velocities, but a constraint by "
            "is_implicit may depend on displacements and TIME only.",
            path=variable.where,
            hint="Write it as a Constraint_General, or use autobalance PENALTY.",
        )
    yield Condition(variable, "expr", g, reacts=variable.autobalance != "DISABLED")


CONDITIONS: Mapping[type[Element], Callable[[Values, Any], Iterator[Condition]]] = {
    Constraint_Joint: _joint,
    Constraint_Coupler: _coupler,
    Constraint_General: _general,
    Motion_Joint: _motion_joint,
    Motion_Marker: _motion_marker,
    Reference_Variable: _hard_variable,
}
"""What each constraint element demands. Add a constraint: add an entry."""


def conditions(values: Values, elements: Iterable[Element]) -> list[Condition]:
    """All conditions of these elements, in order."""
    found: list[Condition] = []
    for element in elements:
        try:
            found += CONDITIONS[type(element)](values, element)
        except Refusal as refusal:
            raise ModelError(f"{element.where}: {refusal}.", path=element.where) from refusal
    return found
