"""Motion of one marker relative to another, as forces between them need it."""

from __future__ import annotations

import casadi as ca

from plant.elements import Element
from plant.equations.setting import Setting
from plant.expressions.functions.corners import direction_angle
from plant.forces.wrench import Applied, Wrench
from plant.mechanics.spatial import cross

NOTHING = ca.SX(3, 1)


class Line:
    """Line of centres of two markers: d = r_I - r_J, its length DM and the rate VR of that."""

    def __init__(self, setting: Setting, i: int, j: int) -> None:
        self._setting, self._ids = setting, (i, j)
        self._i, self._j = setting.marker(i), setting.marker(j)
        self.d = self._i.r - self._j.r
        self.DM = length(self.d)

    @property
    def VR(self) -> ca.SX:
        """Rate at which the markers separate; 0 where they coincide."""
        return ca.dot(self._i.v - self._j.v, self.d) / (self.DM + (self.DM == 0))

    def along(self, force: Element, value: ca.SX) -> Applied:
        """Equal and opposite forces along the line; a positive value pushes the markers apart."""
        i, j = self._ids
        # of coincident markers a force of zero has no direction and needs none; any other is not defined, nan
        factor = value / (self.DM + ca.logic_and(self.DM == 0, value == 0))
        self._setting.watch(f"{force.where}, force / DM({i},{j})", factor)
        F = factor * self.d
        return Wrench(i, F, NOTHING), Wrench(j, -F, NOTHING)


def length(d: ca.SX) -> ca.SX:
    """|d| (3, 1) with derivative 0 where it is 0; |x| where one component alone is not structurally zero."""
    entries = [d[k] for k in range(3) if not ca.SX(d[k]).is_zero()]
    if len(entries) <= 1:
        return ca.fabs(entries[0]) if entries else ca.SX(0)
    square = ca.SX(sum(e * e for e in entries))
    nowhere = square == 0
    return ca.sqrt(square + nowhere) - nowhere


def turned(setting: Setting, axis: int, i: int, j: int) -> ca.SX:
    """AX, AY or AZ(I,J) [rad]."""
    start, end = (axis + 1) % 3, (axis + 2) % 3
    R = setting.marker(j).A.T @ setting.marker(i).A
    return setting.angle(f"A{'XYZ'[axis]}", i, j, direction_angle(R[end, start], R[start, start]))


class Offset:
    """Displacement d of I from J, its rate as seen in J, and the angular velocity w of I relative to J.

    All (3, 1) and along the axes A (3, 3) of J.
    """

    def __init__(self, setting: Setting, i: int, j: int) -> None:
        I, J = setting.marker(i), setting.marker(j)
        offset = I.r - J.r
        self.A, self.at = J.A, I.r
        self.d = J.A.T @ offset
        self.rate = J.A.T @ (I.v - J.v - cross(J.w, offset))
        self.w = J.A.T @ (I.w - J.w)
