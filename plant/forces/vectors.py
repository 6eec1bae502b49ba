"""Forces and torques given as numbers, expressions or subroutines: by components, or along a line.

Source: MotionSolve reference guide, Force_Vector_TwoBody, Force_Vector_OneBody, Force_Scalar_TwoBody;
directions of the last as in the Adams command SFORCE.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca

from plant.elements import Element, Force_Scalar_TwoBody, Force_Vector_OneBody, Force_Vector_TwoBody
from plant.equations.setting import Setting
from plant.forces.entry import Force
from plant.forces.in_plane import Plane, leaves_out
from plant.forces.relative import CentreLine
from plant.forces.wrench import Applied, Wrench
from plant.mechanics.spatial import vector

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
        return CentreLine(setting, I, J).along(force, value)
    along = setting.marker(J).A[:, 2] * value
    F, T = (along, NOTHING) if force.type == "FORCE" else (NOTHING, along)
    on_i = Wrench(I, F, T)
    return (on_i,) if force.is_action_only else (on_i, Wrench(J, -F, -T))


def _vector_in_plane(force: Any, plane: Plane) -> bool:
    """Force along the plane, torque about its normal."""
    ref, markers = force.ref_marker_id or 0, [getattr(force, n, 0) for n in ("i_marker_id", "marker_id")]
    if force.has_subroutine or not plane.has(*filter(None, markers)) or not plane.aligned(ref):
        return False
    k = plane.across(ref)
    return leaves_out(force, [f"{'f' if n == k else 't'}{axis}_expression" for n, axis in enumerate("xyz")])


def _scalar_in_plane(force: Force_Scalar_TwoBody, plane: Plane) -> bool:
    """Along a line in the plane, or about its normal."""
    I, J = force.i_marker_id, force.j_marker_id
    if force.type == "TORQUE":
        return plane.aligned(J) and plane.across(J) == 2
    if not force.is_action_only:
        return plane.has(I, J)
    return plane.has(I) and plane.aligned(J) and plane.across(J) != 2


FORCES: Mapping[type[Element], Force] = {
    Force_Vector_TwoBody: Force(_vector_two_body, in_plane=_vector_in_plane),
    Force_Vector_OneBody: Force(_vector_one_body, in_plane=_vector_in_plane),
    Force_Scalar_TwoBody: Force(_scalar_two_body, in_plane=_scalar_in_plane),
}
