"""All forces of a plant, summed on its links: the stage between kinematics and solution."""

from __future__ import annotations

import casadi as ca

from plant.elements import FORCES
from plant.equations.setting import Setting
from plant.forces.penalty import penalties_of, penalty_torques
from plant.forces.wrench import Wrench
from plant.mechanics.applied import Loads
from plant.mechanics.mechanism import GROUND
from plant.mechanics.spatial import cross


def loads(setting: Setting) -> Loads:
    """The forces of a plant."""
    gravity = _gravity(setting)
    found: dict[int, ca.SX] = {}
    for kind in FORCES:
        for element in setting.model.all(kind):
            for wrench in setting.wrenches(element):
                link = setting.kinematics.link(wrench.marker)
                if link != GROUND:
                    found[link] = found.get(link, ca.SX(6, 1)) + _on_link(setting, link, wrench)
    penalties = penalties_of(setting)
    return Loads(gravity, found, penalty_torques(setting, penalties), penalties)


def _on_link(setting: Setting, link: int, wrench: Wrench) -> ca.SX:
    """[n; f] of one wrench at the origin of its marker's link, along the link's axes."""
    A, r = setting.kinematics.tree.pose(link)
    F = A.T @ wrench.F
    if wrench.at is None:
        return ca.vertcat(A.T @ wrench.T + cross(setting.kinematics.point(wrench.marker), F), F)
    return ca.vertcat(A.T @ (wrench.T + cross(wrench.at - r, wrench.F)), F)


def _gravity(setting: Setting) -> ca.SX:
    """(3, 1) acceleration of gravity in the ground frame."""
    element = setting.model.gravity
    components = []
    for name in ("grav_x", "grav_y", "grav_z"):
        written = isinstance(getattr(element, name), str)
        components.append(setting.expression(element, name) if written else setting.number(element, name))
    return ca.sparsify(ca.SX(ca.vertcat(*components)))
