"""Springs with dampers between two markers.

Source: MotionSolve reference guide, Force_SpringDamper.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from plant.elements import Element, Force_SpringDamper
from plant.equations.setting import Setting
from plant.forces.entry import Force, Store
from plant.forces.in_plane import Plane
from plant.forces.relative import CentreLine, turned
from plant.forces.wrench import Applied, Wrench

NOTHING = ca.SX(3, 1)


def _spring_damper(force: Force_SpringDamper, setting: Setting) -> Applied:
    """F = -k (DM - length) - c VR + preload along the line of centres; T likewise with AZ, WZ about z_J."""
    I, J = force.i_marker_id, force.j_marker_id
    k, c = setting.number(force, "stiffness"), setting.number(force, "damping")
    free, preload = setting.number(force, "length"), setting.number(force, "preload")
    if force.type == "TRANSLATIONAL":
        return CentreLine(setting, I, J).linear(force, k, c, free, preload)
    z_J = setting.marker(J).A[:, 2]
    WZ = ca.dot(setting.marker(I).w - setting.marker(J).w, z_J)
    T = (-k * (turned(setting, 2, I, J) - free) - c * WZ + preload) * z_J
    return Wrench(I, NOTHING, T), Wrench(J, NOTHING, -T)


def spring_and_damper(force: Force_SpringDamper, setting: Setting) -> list[ca.SX]:
    """What the spring, the damper and all with the preload push or turn, (1, 1) each; positive pushes apart.

    Of a force that has no direction because I and J are at one place the value is still that along the line.
    """
    I, J = force.i_marker_id, force.j_marker_id
    k, c = setting.number(force, "stiffness"), setting.number(force, "damping")
    free, preload = setting.number(force, "length"), setting.number(force, "preload")
    if force.type == "TRANSLATIONAL":
        line = CentreLine(setting, I, J)
        x, rate = line.DM, line.VR
    else:
        x = turned(setting, 2, I, J)
        rate = ca.dot(setting.marker(I).w - setting.marker(J).w, setting.marker(J).A[:, 2])
    spring, damper = ca.SX(-k * (x - free)), ca.SX(-c * rate)
    return [spring, damper, ca.SX(spring + damper + preload)]


def _stored(force: Force_SpringDamper, setting: Setting) -> Store:
    I, J = force.i_marker_id, force.j_marker_id
    k, c = setting.number(force, "stiffness"), setting.number(force, "damping")
    free, preload = setting.number(force, "length"), setting.number(force, "preload")
    if force.type == "TRANSLATIONAL":
        d = setting.marker(I).r - setting.marker(J).r
        x, nowhere = ca.norm_2(d), ca.sumsqr(d) == 0
        rate = ca.dot(setting.marker(I).v - setting.marker(J).v, d) / ca.if_else(nowhere, 1, x)
    else:
        F = setting.wrenches(force)[0].T  # T z_J = -k (angle - free) - c rate + preload
        z = setting.marker(J).A[:, 2]
        rate = ca.dot(setting.marker(I).w - setting.marker(J).w, z)
        if not isinstance(k, ca.SX):
            return Store(ca.SX(0), ca.SX(0), c * rate**2)  # of no angle: the preload puts work in
        x = free + (preload - c * rate - ca.dot(F, z)) / k
    stretch = x - free
    U = ca.SX(k * stretch**2 / 2 - preload * stretch)
    return Store(U, (k * stretch - preload) * rate, c * rate**2, complete=True)


def _in_plane(force: Force_SpringDamper, plane: Plane) -> bool:
    """Along a line in the plane, or about its normal."""
    I, J = force.i_marker_id, force.j_marker_id
    if force.type == "TRANSLATIONAL":
        return plane.has(I, J)
    return plane.aligned(J) and plane.across(J) == 2


FORCES: Mapping[type[Element], Force] = {Force_SpringDamper: Force(_spring_damper, _stored, _in_plane)}
