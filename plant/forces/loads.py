"""Forces of the force elements, gathered on the links of the tree."""

from __future__ import annotations

import casadi as ca

from plant.equations.evaluation import Evaluation
from plant.forces.wrenches import FORCES, Wrench
from plant.mechanics.mechanism import GROUND
from plant.mechanics.spatial import cross


def loads(values: Evaluation) -> dict[int, ca.SX]:
    """(6, 1) force [n; f] that the force elements apply to each link, at its origin and along its axes."""
    found: dict[int, ca.SX] = {}
    for kind in FORCES:
        for element in values.model.all(kind):
            for wrench in values.wrenches(element):
                place = values.mechanism.place(wrench.marker)
                if place.link != GROUND:
                    found[place.link] = found.get(place.link, ca.SX(6, 1)) + _on_link(values, wrench)
    return found


def _on_link(values: Evaluation, wrench: Wrench) -> ca.SX:
    """[n; f] of one wrench at the origin of its marker's link, along the link's axes."""
    place = values.mechanism.place(wrench.marker)
    A, r = values.tree.pose(place.link)
    F = A.T @ wrench.F
    if wrench.at is None:
        return ca.vertcat(A.T @ wrench.T + cross(values.point(wrench.marker), F), F)
    return ca.vertcat(A.T @ (wrench.T + cross(wrench.at - r, wrench.F)), F)
