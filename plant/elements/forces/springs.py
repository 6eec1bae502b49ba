"""Springs with dampers between two markers.

Source: MotionSolve reference guide, Force_SpringDamper.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import casadi as ca

from plant.elements.element import Idle, Others
from plant.elements.forces.force import Force, Store, Surroundings
from plant.elements.forces.in_plane import Plane
from plant.elements.forces.relative import CentreLine, turned
from plant.elements.kinds import MarkerId, NonNegative, Real, Whole, keyword
from plant.elements.pairs import pair_faults
from plant.forces.wrench import NOTHING, Applied, Wrench
from plant.mechanics.spatial import Scalar

__all__ = ["Force_SpringDamper"]


@dataclass(frozen=True, kw_only=True)
class Force_SpringDamper(Force):
    """Linear spring and damper between I and J.

    TRANSLATIONAL: F = -stiffness (DM - length) - damping VR + preload, along the line of centres, positive
    pushes apart. ROTATIONAL: T = -stiffness (AZ - length) - damping WZ + preload, about z_J, on I.

    ``stiffness`` [force/length or force length/rad], ``damping`` [the same times time], ``length`` [length or
    rad], ``preload`` [force or force length].
    """

    type: Annotated[str, keyword("TRANSLATIONAL", "ROTATIONAL")]
    i_marker_id: MarkerId
    j_marker_id: MarkerId
    stiffness: NonNegative = 0.0
    damping: NonNegative = 0.0
    length: Real = 0.0
    preload: Real = 0.0
    body1_id: Whole | None = None
    body2_id: Whole | None = None

    readers = ("SPDP",)

    def faults(self) -> Iterator[str]:
        if self.type == "TRANSLATIONAL" and self.stiffness > 0.0 and self.length <= 0.0:
            yield (
                f"length={self.length:g} is not positive; write the free length, or for a spring of no "
                "length any length above 0 with preload = -stiffness*length"
            )

    @property
    def ends(self) -> tuple[int, ...]:
        return self.i_marker_id, self.j_marker_id

    def faults_in(self, others: Others) -> Iterator[str]:
        yield from super().faults_in(others)
        yield from pair_faults(others, self.i_marker_id, self.j_marker_id, self.body1_id, self.body2_id)

    def idle(self) -> Iterator[Idle]:
        yield from super().idle()
        if not self.stiffness:
            yield from self.unused(["length"], "stiffness is 0", "write a stiffness, or delete it")

    @property
    def only_turns(self) -> bool:
        return self.type == "ROTATIONAL"

    def _numbers(self, setting: Surroundings) -> tuple[Scalar, Scalar, Scalar, Scalar]:
        """Stiffness, damping, free length, preload."""
        k, c = setting.number(self, "stiffness"), setting.number(self, "damping")
        return k, c, setting.number(self, "length"), setting.number(self, "preload")

    def _turning_rate(self, setting: Surroundings) -> ca.SX:
        """WZ: the rate at which I turns relative to J about z_J."""
        I, J = setting.marker(self.i_marker_id), setting.marker(self.j_marker_id)
        return ca.dot(I.w - J.w, J.A[:, 2])

    def apply(self, setting: Surroundings) -> Applied:
        """F = -k (DM - length) - c VR + preload along the line of centres; T with AZ, WZ about z_J."""
        I, J = self.i_marker_id, self.j_marker_id
        k, c, free, preload = self._numbers(setting)
        if self.type == "TRANSLATIONAL":
            return CentreLine(setting, I, J).linear(self, k, c, free, preload)
        z_J, WZ = setting.marker(J).A[:, 2], self._turning_rate(setting)
        T = (-k * (turned(setting, 2, I, J) - free) - c * WZ + preload) * z_J
        return Wrench(I, NOTHING, T), Wrench(J, NOTHING, -T)

    def parts(self, setting: Surroundings) -> list[ca.SX]:
        """What the spring, the damper and all with the preload push or turn, (1, 1) each.

        Positive pushes apart. Of a force that has no direction because I and J are at
        one place the value is still that along the line.
        """
        I, J = self.i_marker_id, self.j_marker_id
        k, c, free, preload = self._numbers(setting)
        if self.type == "TRANSLATIONAL":
            line = CentreLine(setting, I, J)
            x, rate = line.DM, line.VR
        else:
            x, rate = turned(setting, 2, I, J), self._turning_rate(setting)
        spring, damper = ca.SX(-k * (x - free)), ca.SX(-c * rate)
        return [spring, damper, ca.SX(spring + damper + preload)]

    def store(self, setting: Surroundings) -> Store:
        """The spring stores k stretch^2 / 2 - preload stretch, the damper dissipates c rate^2."""
        I, J = setting.marker(self.i_marker_id), setting.marker(self.j_marker_id)
        k, c, free, preload = self._numbers(setting)
        if self.type == "TRANSLATIONAL":
            d = I.r - J.r
            x, nowhere = ca.norm_2(d), ca.sumsqr(d) == 0
            rate = ca.dot(I.v - J.v, d) / ca.if_else(nowhere, 1, x)
        else:
            F = setting.wrenches(self)[0].T  # T z_J = -k (angle - free) - c rate + preload
            rate = self._turning_rate(setting)
            if not isinstance(k, ca.SX):
                return Store(ca.SX(0), ca.SX(0), c * rate**2)  # of no angle: the preload puts work in
            x = free + (preload - c * rate - ca.dot(F, J.A[:, 2])) / k
        stretch = x - free
        U = ca.SX(k * stretch**2 / 2 - preload * stretch)
        return Store(U, (k * stretch - preload) * rate, c * rate**2, complete=True)

    def in_plane(self, plane: Plane) -> bool:
        """Along a line in the plane, or about its normal."""
        I, J = self.i_marker_id, self.j_marker_id
        if self.type == "TRANSLATIONAL":
            return plane.has(I, J)
        return plane.aligned(J) and plane.across(J) == 2
