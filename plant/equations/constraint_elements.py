"""What every constraint element demands, as scalar conditions between markers.

What a joint demands is in its entry of `mechanics.joints`; joints that carry coordinates need it only where
they close a loop, or in absolute coordinates.

Source: MotionSolve reference guide, Constraint_Joint, Constraint_Coupler, Constraint_General, Motion_Joint,
Motion_Marker; Haug, Computer-Aided Kinematics and Dynamics, 2nd ed., section 9.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import casadi as ca
import numpy as np

from blocks.errors import ModelError
from plant.constraints.closure import Closure
from plant.constraints.conditions import ACCELERATION, POSITION, VELOCITY, Condition, NamedConstraint
from plant.constraints.local import Local, at_rest
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
from plant.equations.exchanged import ends_of
from plant.equations.jumps_in_place import mention_jumps
from plant.equations.jumps_in_time import refuse_jumps
from plant.equations.local_scope import LocalScope
from plant.equations.setting import Setting
from plant.expressions.corners import arc_sine, direction_angle
from plant.expressions.scope import Refusal
from plant.mechanics.joints import JointSetting as JointSetting
from plant.mechanics.mechanism import in_frame
from plant.mechanics.turning import Turning

AXES = "xyz"


class Values:
    """The quantities from which conditions of elements are made."""

    def __init__(self, setting: Setting, scope: LocalScope) -> None:
        self._setting, self._scope = setting, scope
        self.model: Model = setting.model
        self.local: Local = scope.local
        self._constraints: dict[tuple[str, int], NamedConstraint] = {}

    def constraint(self, element: Element) -> NamedConstraint:
        """The one constraint that stands for an element."""
        key = element.tag, element.id
        if key not in self._constraints:
            i, j = (getattr(element, name, None) for name in ("i_marker_id", "j_marker_id"))
            ends = None if i is None or j is None else (i, j)
            self._constraints[key] = NamedConstraint(
                f"{element.tag} {element.id}", element.where, ends, element
            )
        return self._constraints[key]

    def expression(self, element: Element, attribute: str = "expr") -> ca.SX:
        """Value of an expression attribute, or else of the subroutine, in terms of local markers."""
        return ca.SX(self._scope.value(element, attribute))

    def scripted(self, element: UserSubroutine, *given: ca.SX) -> ca.SX:
        """Value of a constraint's user subroutine that takes coordinates as arguments."""
        return self._setting.constraint(element, self._scope, *given)

    def angle_z(self, i: int, j: int) -> ca.SX:
        """AZ(I,J) with turns counted."""
        R = self.local.marker(j).A.T @ self.local.marker(i).A
        return self.local.angle(Turning.AZ, i, j, direction_angle(R[1, 0], R[0, 0]))

    def distance_z(self, i: int, j: int) -> ca.SX:
        """DZ(I,J,J)."""
        I, J = self.local.marker(i), self.local.marker(j)
        return ca.dot(I.r - J.r, J.A[:, 2])

    def coordinate(self, joint: Constraint_Joint, freedom: str | None) -> ca.SX:
        """AZ ("R") or DZ ("T") of a joint."""
        turns = (freedom or joint.kind.freedoms[0]) == "R"
        return (self.angle_z if turns else self.distance_z)(joint.i_marker_id, joint.j_marker_id)

    def coordinate_at_design(self, joint: Constraint_Joint, freedom: str | None) -> float:
        """The same in the design configuration."""
        r, A = self.design(joint.i_marker_id, joint.j_marker_id)
        turns = (freedom or joint.kind.freedoms[0]) == "R"
        return math.atan2(A[1, 0], A[0, 0]) if turns else float(r[2])

    def design(self, i: int, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Design pose of marker I in J."""
        return in_frame(self.model.frames[j], self.model.frames[i])


def _joint(values: Values, joint: Constraint_Joint) -> Iterator[Condition]:
    i, j = ends_of(values.model, joint)
    r0, A0 = values.design(i, j)
    local = values.local
    setting = JointSetting(
        local.marker(i),
        local.marker(j),
        lambda: values.angle_z(i, j),
        lambda y, x: local.angle(Turning.PINION, i, j, -direction_angle(y, x)),
        r0,
        A0,
        joint.numbers,
        joint.where,
    )
    for text, value in joint.kind.equations(setting):
        yield Condition(values.constraint(joint), text, value)


def _coupler(values: Values, coupler: Constraint_Coupler) -> Iterator[Condition]:
    """c1 q1 + c2 q2 (+ c3 q3) keeps the value it has in the design configuration; what COUSUB gives is 0."""
    joints = [(values.model.find(Constraint_Joint, id), freedom) for id, freedom in coupler.coordinates]
    q = [values.coordinate(*each) for each in joints]
    if coupler.coefficients is None:
        found = values.scripted(coupler, ca.vertcat(*q))
        about = "COUSUB of the coordinates"
        yield Condition(values.constraint(coupler), about, found, written=True, uneven=True)
        return
    design = [values.coordinate_at_design(*each) for each in joints]
    total = ca.SX(0)
    for c, now, then in zip(coupler.coefficients, q, design, strict=True):
        total += c * (now - then)
    yield Condition(values.constraint(coupler), "coupled coordinates", total)


def _general(values: Values, constraint: Constraint_General) -> Iterator[Condition]:
    g = values.expression(constraint)
    _refuse_integrals(values, constraint, g, velocities=True)
    _refuse_constants(values, constraint, g)
    moving = values.local.moves(g)
    level = VELOCITY if moving else POSITION
    yield Condition(values.constraint(constraint), "expr", g, level, moving=moving, written=True, uneven=True)


def _driven(
    values: Values, motion: Motion_Joint | Motion_Marker, text: str, beyond: Callable[[Any], ca.SX]
) -> Iterator[Condition]:
    """beyond(x) : how far the driven displacement is past x."""
    drive = values.expression(motion)
    level = "DVA".index(motion.val_type)
    if level == POSITION and values.local.moves(drive):
        raise ModelError(
            f'{motion.where}: its expression depends on velocities, but a motion of val_type "D" prescribes '
            "a displacement, by displacements and TIME only.",
            path=motion.where,
            hint='Prescribe the rate, val_type="V", or write it as a Constraint_General.',
        )
    follows = values.local.moves(drive) or (level == POSITION and values.local.displaces(drive))
    begins = level >= VELOCITY and motion.ic_disp is not None
    yield Condition(
        values.constraint(motion),
        text,
        beyond(drive) if level == POSITION else beyond(motion.ic_disp if begins else 0.0),
        level,
        ca.SX(0) if level == POSITION else drive,
        start=0.0 if begins else None,
        start_rate=motion.ic_vel if level == ACCELERATION else None,
        driven=True,
        uneven=follows,
    )


def _motion_joint(values: Values, motion: Motion_Joint) -> Iterator[Condition]:
    joint = values.model.find(Constraint_Joint, motion.joint_id)
    value = values.coordinate(joint, motion.joint_type)
    yield from _driven(values, motion, "driven coordinate", lambda x: value - x)


def _motion_marker(values: Values, motion: Motion_Marker) -> Iterator[Condition]:
    I, J = values.local.marker(motion.i_marker_id), values.local.marker(motion.j_marker_id)
    R = J.A.T @ I.A  # = Rx(b1) Ry(b2) Rz(b3)

    def along(x: Any) -> ca.SX:
        return ca.dot(I.r - J.r, J.A[:, AXES.upper().index(motion.direction)]) - x

    beyond = {
        "B1": lambda b: _turned_past(-R[1, 2], R[2, 2], b),
        "B2": lambda b: arc_sine(R[0, 2]) - b,
        "B3": lambda b: _turned_past(-R[0, 1], R[0, 0], b),
    }.get(motion.direction, along)
    yield from _driven(values, motion, f"driven {motion.direction}", beyond)


def _turned_past(y: ca.SX, x: ca.SX, angle: Any) -> ca.SX:
    """How far the direction (x, y) is turned past an angle, within half a turn: full turns are one pose."""
    c, s = ca.cos(angle), ca.sin(angle)
    return direction_angle(y * c - x * s, x * c + y * s)


def _hard_variable(values: Values, variable: Reference_Variable) -> Iterator[Condition]:
    g = values.expression(variable)
    if values.local.moves(g):
        raise ModelError(
            f"{variable.where}: expr={variable.expr!r} depends on velocities, but a constraint by "
            "is_implicit may depend on displacements and TIME only.",
            path=variable.where,
            hint="Write it as a Constraint_General, or use autobalance PENALTY.",
        )
    _refuse_integrals(values, variable, g, velocities=False)
    _refuse_constants(values, variable, g)
    reacts = variable.autobalance != "DISABLED"
    yield Condition(values.constraint(variable), "expr", g, reacts=reacts, written=True, uneven=True)


def _refuse_integrals(values: Values, element: Element, g: ca.SX, velocities: bool) -> None:
    """A constraint is defined for displacements, velocities and time; no force can move a state at once.

    velocities : whether this element may constrain velocities
    """
    if values.local.integrates(g):
        allowed = "displacements, velocities" if velocities else "displacements"
        raise ModelError(
            f"{element.where}: depends on a variable in dot_form or on DIF, whose value no force can change "
            f"at once, but a constraint may depend on {allowed} and TIME only.",
            path=element.where,
            hint="Constrain what is integrated, as a Constraint_General.",
        )


def _refuse_constants(values: Values, element: Element, g: ca.SX) -> None:
    """A constraint ties displacements or velocities; what contains neither cannot be met."""
    if not values.local.displaces(g) and not values.local.moves(g):
        raise ModelError(
            f"{element.where}: what is to be 0 depends on no displacement and no velocity, so no force can "
            "make it 0.",
            path=element.where,
            hint="Write the constraint with DX, AZ, VX, ...; to solve an equation for a variable, write "
            "VARVAL of the variable in it.",
        )


CONDITIONS: Mapping[type[Element], Callable[[Values, Any], Iterator[Condition]]] = {
    Constraint_Joint: _joint,
    Constraint_Coupler: _coupler,
    Constraint_General: _general,
    Motion_Joint: _motion_joint,
    Motion_Marker: _motion_marker,
    Reference_Variable: _hard_variable,
}
"""What each constraint element demands. Add a constraint: add an entry."""


def closure_of(setting: Setting, elements: Iterable[Element]) -> Closure:
    """The constraints of these elements at the symbolic state.

    Parameters
    ----------
    setting : Setting         the plant's quantities, without forces
    elements : iterable       the constraint elements, in order

    Raises
    ------
    ModelError                what an element demands cannot be a constraint
    """
    kinematics = setting.kinematics
    scope = LocalScope(setting, Local(kinematics, at_rest(kinematics), setting.inputs.drifts))
    values = Values(setting, scope)
    found: list[Condition] = []
    for element in elements:
        try:
            found += CONDITIONS[type(element)](values, element)
        except Refusal as refusal:
            raise ModelError(f"{element.where}: {refusal}.", path=element.where) from refusal
    for condition in found:
        refuse_jumps(condition, scope.time, scope.instants)
        mention_jumps(setting, scope, condition)
    _name_parts(setting, scope, found)
    return Closure(kinematics, scope.local, found)


def _name_parts(setting: Setting, scope: LocalScope, conditions: Iterable[Condition]) -> None:
    """Name the parts of expressions, and what routines give, for when they are not finite."""
    parts: list[tuple[str, ca.SX]] = []
    for condition in conditions:
        element, where = condition.constraint.source, condition.constraint.where
        formula = setting.formula(element, "expr")
        if formula is not None:
            named = [
                (f"{text} in expr, column {column}", value) for text, column, value in formula.terms(scope)
            ]
        elif isinstance(element, UserSubroutine) and element.has_subroutine:
            named = [(element.routine, condition.value - condition.drive)]
        else:
            continue
        parts += [(f"{where}, {text}", value) for text, value in named]
    for (text, _), value in zip(parts, scope.local.closed([v for _, v in parts]), strict=True):
        setting.watch(text, ca.SX(value))
