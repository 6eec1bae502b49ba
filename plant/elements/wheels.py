"""Inertia wheels: rotors that store momentum in a body. An extension; the file format has no such element."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import casadi as ca

from plant.elements.element import Others
from plant.elements.forces.force import Force, Store, Surroundings
from plant.elements.forces.in_plane import Plane
from plant.elements.kinds import Formula, MarkerId, Positive, Real
from plant.elements.markers import Reference_Marker
from plant.forces.wrench import NOTHING, Applied, Wrench
from plant.mechanics.spatial import cross

__all__ = ["Inertia_Wheel"]


@dataclass(frozen=True, kw_only=True)
class Inertia_Wheel(Force):
    """A balanced rotor in a body (extension, not of the file format); it spins about z of its marker.

    ``inertia`` [mass length^2] is the moment about the spin axis alone. The wheel's mass and its other
    moments belong to the body that carries it, whose inertia must not have the spin moment in it.
    ``torque_expression`` [force length] is what the motor exerts on the wheel about z, its reaction on the
    body; 0 when not given. ``w_ic`` [rad/time] is the spin rate relative to the body at the start. Read with
    WHEELH(id), the momentum along z, and WHEELW(id), the spin rate relative to the body.
    """

    marker_id: MarkerId
    inertia: Positive
    torque_expression: Formula | None = None
    w_ic: Real = 0.0

    def faults_in(self, others: Others) -> Iterator[str]:
        yield from super().faults_in(others)
        marker = others.get(Reference_Marker, self.marker_id)
        if marker is not None and marker.body[0] == "Body_Point":
            yield (
                f"marker_id={self.marker_id} is on Body_Point {marker.body_id}, which cannot turn; "
                "name a marker of a Body_Rigid"
            )

    @property
    def ends(self) -> tuple[int, ...]:
        return (self.marker_id,)

    def apply(self, setting: Surroundings) -> Applied:
        """-T a - w x (h a): the motor's reaction, and what turning the momentum h a takes."""
        marker = setting.marker(self.marker_id)
        spin, axis = setting.spun(self.id), marker.A[:, 2]
        torque = -spin.torque * axis - cross(marker.w, spin.momentum * axis)
        return (Wrench(self.marker_id, NOTHING, torque),)

    def store(self, setting: Surroundings) -> Store:
        """The energy counts as kinetic; the rate at which it grows is no work put in."""
        spin = setting.spun(self.id)
        return Store(ca.SX(0), spin.torque * spin.rate, ca.SX(0))

    def in_plane(self, plane: Plane) -> bool:
        """It spins about the normal."""
        return plane.aligned(self.marker_id) and plane.across(self.marker_id) == 2
