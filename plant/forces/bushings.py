"""Forces and torques by all six relative displacements of two markers: bushings and fields.

Source: MotionSolve reference guide, Force_Bushing, Force_Field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca

from plant.elements import Element, Force_Bushing, Force_Field
from plant.equations.setting import Setting
from plant.forces.entry import Force, Store
from plant.forces.in_plane import Plane, leaves_out
from plant.forces.relative import Offset, turned
from plant.forces.wrench import Applied, Wrench
from plant.mechanics.spatial import vector


def _bushing(force: Force_Bushing, setting: Setting) -> Applied:
    """F = -k d - c d' + preload, T = -kt a - ct w + preload_t on I, components along J; reaction at r_I.

    d, d' are the displacement and its rate as seen in J, a the angles AX, AY, AZ(I,J), w the angular
    velocity of I relative to J.
    """
    I, J = force.i_marker_id, force.j_marker_id
    seen = Offset(setting, I, J)

    def number(name: str) -> Any:
        return setting.number(force, name)

    forces = [
        -number(f"k{axis}") * seen.d[n] - number(f"c{axis}") * seen.rate[n] + number(f"preload_{axis}")
        for n, axis in enumerate("xyz")
    ]
    torques = [
        -(
            stiffness * turned(setting, n, I, J)
            if isinstance(stiffness := number(f"kt{axis}"), ca.SX)
            else 0.0
        )
        - number(f"ct{axis}") * seen.w[n]
        + number(f"preload_t{axis}")
        for n, axis in enumerate("xyz")
    ]
    F, T = seen.A @ ca.SX(vector(forces)), seen.A @ ca.SX(vector(torques))
    return Wrench(I, F, T), Wrench(J, -F, -T, seen.at)


def _field(force: Force_Field, setting: Setting) -> Applied:
    """F = F0 - K (d - d0) - C d', or what FIESUB gives for d and d'; components along J, reaction at r_I.

    d (6,) is the displacement of I in J and the angles AX, AY, AZ(I,J), d' its velocity and the angular
    velocity of I relative to J, all along J. The attributes of the linear form are not documented: here
    ``k_matrix`` and ``c_matrix`` (36 numbers, row by row, or 6 for a diagonal), ``length`` d0 and ``preload``
    F0 (6 numbers each).
    """
    I, J = force.i_marker_id, force.j_marker_id
    seen = Offset(setting, I, J)
    displacement = ca.vertcat(seen.d, *[turned(setting, axis, I, J) for axis in range(3)])
    velocity = ca.vertcat(seen.rate, seen.w)
    if force.has_subroutine:
        components = setting.subroutine(force, displacement, velocity)
    else:
        K, C = (_square(force, name) for name in ("k_matrix", "c_matrix"))
        d0, F0 = (ca.DM(force.numbers(name, 6)) for name in ("length", "preload"))
        components = F0 - K @ (displacement - d0) - C @ velocity
    F, T = seen.A @ components[:3], seen.A @ components[3:]
    return Wrench(I, F, T), Wrench(J, -F, -T, seen.at)


def _square(force: Force_Field, name: str) -> ca.SX:
    """(6, 6) matrix of a field; 6 numbers are its diagonal."""
    values = force.numbers(name, 36, 6)
    matrix = ca.diag(ca.DM(values)) if len(values) == 6 else ca.reshape(ca.DM(values), 6, 6).T
    return ca.sparsify(ca.SX(matrix))


def _stored_in_bushing(force: Force_Bushing, setting: Setting) -> Store:
    """The translation; what turns is counted as work of a force, because its angles are no potential's."""
    seen = Offset(setting, force.i_marker_id, force.j_marker_id)
    U, change, loss = ca.SX(0), ca.SX(0), ca.SX(0)
    for n, axis in enumerate("xyz"):
        k, c = setting.number(force, f"k{axis}"), setting.number(force, f"c{axis}")
        preload, ct = setting.number(force, f"preload_{axis}"), setting.number(force, f"ct{axis}")
        U = U + k * seen.d[n] ** 2 / 2 - preload * seen.d[n]
        change = change + (k * seen.d[n] - preload) * seen.rate[n]
        loss = loss + c * seen.rate[n] ** 2 + ct * seen.w[n] ** 2
    return Store(U, change, loss)


def _bushing_in_plane(force: Force_Bushing, plane: Plane) -> bool:
    """Its markers lie in the plane, with the same axis as normal, and no preload is across."""
    I, J = force.i_marker_id, force.j_marker_id
    if not plane.mirrors((I, J)) or plane.across(I) != plane.across(J):
        return False
    k = plane.across(J)
    return leaves_out(force, [f"preload_{'' if n == k else 't'}{axis}" for n, axis in enumerate("xyz")])


FORCES: Mapping[type[Element], Force] = {
    Force_Bushing: Force(_bushing, _stored_in_bushing, _bushing_in_plane),
    Force_Field: Force(_field),
}
