"""What every force element applies: one entry per element type in `FORCES`.

An entry turns an element into wrenches (see `wrench.py`).

Source: MotionSolve reference guide, Force_Vector_TwoBody, Force_Vector_OneBody, Force_Scalar_TwoBody,
Force_SpringDamper, Force_Bushing; directions of Force_Scalar_TwoBody as in the Adams command SFORCE.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca

from plant.elements import (
    Element,
    Force_Bushing,
    Force_Field,
    Force_Scalar_TwoBody,
    Force_SpringDamper,
    Force_Vector_OneBody,
    Force_Vector_TwoBody,
    Inertia_Wheel,
)
from plant.equations.setting import Setting
from plant.expressions.functions.corners import direction_angle
from plant.forces.wrench import Applied, Wrench
from plant.mechanics.spatial import cross, vector

NOTHING = ca.SX(3, 1)


def _vector_at(force: Any, prefix: str, setting: Setting) -> ca.SX:
    """Components ``<prefix>x_expression`` ... along the axes of the reference marker, in the ground frame."""
    components = vector([setting.expression(force, f"{prefix}{axis}_expression") for axis in "xyz"])
    return setting.marker(force.ref_marker_id or 0).A @ ca.SX(components)


def _force_and_torque(force: Any, setting: Setting) -> tuple[ca.SX, ca.SX]:
    F = _vector_at(force, "f", setting) if force.type != "TORQUEONLY" else NOTHING
    T = _vector_at(force, "t", setting) if force.type != "FORCEONLY" else NOTHING
    return F, T


def _vector_one_body(force: Force_Vector_OneBody, setting: Setting) -> Applied:
    """Force at the marker's origin, torque on its body; no reaction."""
    return (Wrench(force.marker_id, *_force_and_torque(force, setting)),)


def _vector_two_body(force: Force_Vector_TwoBody, setting: Setting) -> Applied:
    """Force at I; the floating marker J stays on top of I, so the reaction acts at r_I on its body."""
    F, T = _force_and_torque(force, setting)
    r = setting.marker(force.i_marker_id).r
    return Wrench(force.i_marker_id, F, T), Wrench(force.j_floating_marker_id, -F, -T, r)


def _scalar_two_body(force: Force_Scalar_TwoBody, setting: Setting) -> Applied:
    """val along the line of centres, positive apart; action only: along z_J. Torques: about z_J."""
    value = ca.SX(
        setting.number(force, "val") if force.val is not None else setting.expression(force, "val_expression")
    )
    I, J = force.i_marker_id, force.j_marker_id
    if force.type == "FORCE" and not force.is_action_only:
        return _along_centres(force, value, _Line(setting, I, J))
    along = setting.marker(J).A[:, 2] * value
    F, T = (along, NOTHING) if force.type == "FORCE" else (NOTHING, along)
    on_i = Wrench(I, F, T)
    return (on_i,) if force.is_action_only else (on_i, Wrench(J, -F, -T))


def _along_centres(force: Force_Scalar_TwoBody | Force_SpringDamper, value: ca.SX, line: _Line) -> Applied:
    """Equal and opposite forces along the line from J to I; positive pushes apart."""
    # with coincident markers a force of zero has no direction and needs none; any other is not defined (nan)
    factor = value / (line.DM + ca.logic_and(line.DM == 0, value == 0))
    line.setting.watch(f"{force.where}, force / DM({force.i_marker_id},{force.j_marker_id})", factor)
    F = factor * line.d
    return Wrench(force.i_marker_id, F, NOTHING), Wrench(force.j_marker_id, -F, NOTHING)


class _Line:
    """Line of centres of two markers: d = r_I - r_J, its length DM and the rate VR of that."""

    def __init__(self, setting: Setting, i: int, j: int) -> None:
        self.setting = setting
        self._i, self._j = setting.marker(i), setting.marker(j)
        self.d = self._i.r - self._j.r
        self.DM = length(self.d)

    @property
    def VR(self) -> ca.SX:
        """Rate at which the markers separate; 0 where they coincide."""
        return ca.dot(self._i.v - self._j.v, self.d) / (self.DM + (self.DM == 0))


def length(d: ca.SX) -> ca.SX:
    """|d| (3, 1) with derivative 0 where it is 0; |x| where one component alone is not structurally zero."""
    entries = [d[k] for k in range(3) if not ca.SX(d[k]).is_zero()]
    if len(entries) <= 1:
        return ca.fabs(entries[0]) if entries else ca.SX(0)
    square = ca.SX(sum(e * e for e in entries))
    nowhere = square == 0
    return ca.sqrt(square + nowhere) - nowhere


def _spring_damper(force: Force_SpringDamper, setting: Setting) -> Applied:
    """F = -k (DM - length) - c VR + preload along the line of centres; T likewise with AZ, WZ about z_J."""
    I, J = force.i_marker_id, force.j_marker_id
    k, c = setting.number(force, "stiffness"), setting.number(force, "damping")
    free, preload = setting.number(force, "length"), setting.number(force, "preload")
    if force.type == "TRANSLATIONAL":
        line = _Line(setting, I, J)
        return _along_centres(force, -k * (line.DM - free) - c * line.VR + preload, line)
    z_J = setting.marker(J).A[:, 2]
    WZ = ca.dot(setting.marker(I).w - setting.marker(J).w, z_J)
    T = (-k * (_turned(setting, 2, I, J) - free) - c * WZ + preload) * z_J
    return Wrench(I, NOTHING, T), Wrench(J, NOTHING, -T)


def _turned(setting: Setting, axis: int, i: int, j: int) -> ca.SX:
    """AX, AY or AZ(I,J) [rad]."""
    start, end = (axis + 1) % 3, (axis + 2) % 3
    R = setting.marker(j).A.T @ setting.marker(i).A
    return setting.angle(f"A{'XYZ'[axis]}", i, j, direction_angle(R[end, start], R[start, start]))


def _bushing(force: Force_Bushing, setting: Setting) -> Applied:
    """F = -k d - c d' + preload, T = -kt a - ct w + preload_t on I, components along J; reaction at r_I.

    d, d' are the displacement and its rate as seen in J, a the angles AX, AY, AZ(I,J), w the angular
    velocity of I relative to J.
    """
    I, J = force.i_marker_id, force.j_marker_id
    marker_i, marker_j = setting.marker(I), setting.marker(J)
    A = marker_j.A
    offset = marker_i.r - marker_j.r
    d = A.T @ offset
    rate = A.T @ (marker_i.v - marker_j.v - cross(marker_j.w, offset))
    w = A.T @ (marker_i.w - marker_j.w)

    def number(name: str) -> Any:
        return setting.number(force, name)

    forces = [
        -number(f"k{axis}") * d[n] - number(f"c{axis}") * rate[n] + number(f"preload_{axis}")
        for n, axis in enumerate("xyz")
    ]
    torques = [
        -(
            stiffness * _turned(setting, n, I, J)
            if isinstance(stiffness := number(f"kt{axis}"), ca.SX)
            else 0.0
        )
        - number(f"ct{axis}") * w[n]
        + number(f"preload_t{axis}")
        for n, axis in enumerate("xyz")
    ]
    F, T = A @ ca.SX(vector(forces)), A @ ca.SX(vector(torques))
    return Wrench(I, F, T), Wrench(J, -F, -T, marker_i.r)


def _field(force: Force_Field, setting: Setting) -> Applied:
    """F = F0 - K (d - d0) - C d', or what FIESUB gives for d and d'; components along J, reaction at r_I.

    d (6,) is the displacement of I in J and the angles AX, AY, AZ(I,J), d' its velocity and the angular
    velocity of I relative to J, all along J. The attributes of the linear form are not documented: here
    ``k_matrix`` and ``c_matrix`` (36 numbers, row by row, or 6 for a diagonal), ``length`` d0 and ``preload``
    F0 (6 numbers each).
    """
    I, J = force.i_marker_id, force.j_marker_id
    marker_i, marker_j = setting.marker(I), setting.marker(J)
    A, offset = marker_j.A, marker_i.r - marker_j.r
    d = A.T @ offset
    rate = A.T @ (marker_i.v - marker_j.v - cross(marker_j.w, offset))
    displacement = ca.vertcat(d, *[_turned(setting, axis, I, J) for axis in range(3)])
    velocity = ca.vertcat(rate, A.T @ (marker_i.w - marker_j.w))
    if force.has_subroutine:
        components = setting.subroutine(force, displacement, velocity)
    else:
        K, C = (_square(force, name) for name in ("k_matrix", "c_matrix"))
        d0, F0 = (ca.DM(force.numbers(name, 6)) for name in ("length", "preload"))
        components = F0 - K @ (displacement - d0) - C @ velocity
    F, T = A @ components[:3], A @ components[3:]
    return Wrench(I, F, T), Wrench(J, -F, -T, marker_i.r)


def _square(force: Force_Field, name: str) -> ca.SX:
    """(6, 6) matrix of a field; 6 numbers are its diagonal."""
    values = force.numbers(name, 36, 6)
    matrix = ca.diag(ca.DM(values)) if len(values) == 6 else ca.reshape(ca.DM(values), 6, 6).T
    return ca.sparsify(ca.SX(matrix))


def _wheel(wheel: Inertia_Wheel, setting: Setting) -> Applied:
    """-T a - w x (h a): the motor's reaction, and what turning the momentum h a takes (see wheels)."""
    marker = setting.marker(wheel.marker_id)
    spin, axis = setting.spun(wheel), marker.A[:, 2]
    return (Wrench(wheel.marker_id, NOTHING, -spin.torque * axis - cross(marker.w, spin.momentum * axis)),)


# What each force element applies. Add a force: add an entry.
FORCES: Mapping[type[Element], Callable[[Any, Setting], Applied]] = {
    Force_Vector_TwoBody: _vector_two_body,
    Force_Vector_OneBody: _vector_one_body,
    Force_Scalar_TwoBody: _scalar_two_body,
    Force_SpringDamper: _spring_damper,
    Force_Bushing: _bushing,
    Force_Field: _field,
    Inertia_Wheel: _wheel,
}
