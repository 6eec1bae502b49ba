"""Motion of one marker relative to another, as forces between them need it."""

from __future__ import annotations

import casadi as ca

from plant.elements.element import Element
from plant.elements.forces.force import Surroundings
from plant.expressions.corners import direction_angle
from plant.forces.wrench import NOTHING, Applied, Wrench
from plant.mechanics.force_laws import Span
from plant.mechanics.spatial import Scalar, cross
from plant.mechanics.turning import AXES


class CentreLine:
    """Line of centres of two markers: its length DM and the rate VR of that."""

    def __init__(self, setting: Surroundings, i: int, j: int) -> None:
        self._setting, self._ids = setting, (i, j)
        self._span = Span(setting.marker(i), setting.marker(j))
        self.DM = self._span.length

    @property
    def VR(self) -> ca.SX:
        """Rate at which the markers separate; 0 where they coincide."""
        return self._span.rate

    def along(self, force: Element, value: ca.SX) -> Applied:
        """Equal and opposite forces along the line; a positive value pushes the markers apart."""
        value = self._span.defined(value)
        return self._applied(force, value * self._span.direction, value)

    def linear(self, force: Element, k: Scalar, c: Scalar, free: Scalar, preload: Scalar) -> Applied:
        """The same of -k (DM - free) - c VR + preload."""
        return self._applied(force, *self._span.linear(k, c, free, preload))

    def _applied(self, force: Element, F: ca.SX, directed: ca.SX) -> Applied:
        """F on I and the opposite on J; `directed` : what is not finite where its direction is missing."""
        i, j = self._ids
        self._setting.watch(f"{force.where}, force / DM({i},{j})", directed)
        return Wrench(i, F, NOTHING), Wrench(j, -F, NOTHING)


def turned(setting: Surroundings, axis: int, i: int, j: int) -> ca.SX:
    """AX, AY or AZ(I,J) [rad]."""
    start, end = (axis + 1) % 3, (axis + 2) % 3
    R = setting.marker(j).A.T @ setting.marker(i).A
    return setting.angle(AXES[axis], i, j, direction_angle(R[end, start], R[start, start]))


class Offset:
    """Displacement d of I from J, its rate as seen in J, and the angular velocity w of I relative to J.

    All (3, 1) and along the axes A (3, 3) of J.
    """

    def __init__(self, setting: Surroundings, i: int, j: int) -> None:
        I, J = setting.marker(i), setting.marker(j)
        offset = I.r - J.r
        self.A, self.at = J.A, I.r
        self.d = J.A.T @ offset
        self.rate = J.A.T @ (I.v - J.v - cross(J.w, offset))
        self.w = J.A.T @ (I.w - J.w)
