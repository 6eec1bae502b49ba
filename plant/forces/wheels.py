"""What an inertia wheel does to the body that carries it."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from plant.elements import Element, Inertia_Wheel
from plant.equations.setting import Setting
from plant.forces.entry import Force, Store
from plant.forces.in_plane import Plane
from plant.forces.wrench import Applied, Wrench
from plant.mechanics.spatial import cross

NOTHING = ca.SX(3, 1)


def _wheel(wheel: Inertia_Wheel, setting: Setting) -> Applied:
    """-T a - w x (h a): the motor's reaction, and what turning the momentum h a takes."""
    marker = setting.marker(wheel.marker_id)
    spin, axis = setting.spun(wheel), marker.A[:, 2]
    return (Wrench(wheel.marker_id, NOTHING, -spin.torque * axis - cross(marker.w, spin.momentum * axis)),)


def _spinning(wheel: Inertia_Wheel, setting: Setting) -> Store:
    """The energy counts as kinetic; the rate at which it grows is no work put in."""
    spin = setting.spun(wheel)
    return Store(ca.SX(0), spin.torque * spin.rate, ca.SX(0))


def _in_plane(wheel: Inertia_Wheel, plane: Plane) -> bool:
    """It spins about the normal."""
    return plane.aligned(wheel.marker_id) and plane.across(wheel.marker_id) == 2


FORCES: Mapping[type[Element], Force] = {Inertia_Wheel: Force(_wheel, _spinning, _in_plane)}
