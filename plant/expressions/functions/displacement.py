"""Distances and angles between markers.

Names as in the tables of the language: ``x_I y_I z_I`` are the unit axes of marker I. Where an angle is not
defined (a vertical pitch, parallel z-axes) it has the value and derivative of the pose written here.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from plant.expressions.corners import direction_angle, norm
from plant.expressions.functions.entry import LanguageFunction
from plant.expressions.scope import Scope
from plant.mechanics.turning import Turning

ALIGNED = 1e-8  # sine of the angle between two z-axes below which psi and phi are one angle


def separation(scope: Scope, i: int, j: int) -> ca.SX:
    """``r_I - r_J`` (3, 1), from the origin of J to that of I, ground axes [length]."""
    return scope.marker(i).r - scope.marker(j).r


def component(scope: Scope, vector: ca.SX, axis: int, k: int) -> ca.SX:
    """Component of a vector (3, 1) in ground axes along axis 0, 1 or 2 of marker K."""
    return ca.dot(vector, scope.marker(k).A[:, axis])


def cosines(scope: Scope, i: int, j: int) -> ca.SX:
    """``A_J.T @ A_I`` (3, 3): column b of I's axes along row a of J's, so [0, 2] is z_I.x_J."""
    return ca.mtimes(scope.marker(j).A.T, scope.marker(i).A)


def distance(scope: Scope, i: int, j: int) -> ca.SX:
    """``|r_I - r_J|``; its derivative is 0 where the origins coincide."""
    return norm(separation(scope, i, j))


def along(axis: int) -> Callable[..., ca.SX]:
    """DX, DY, DZ: component of ``r_I - r_J`` along an axis of K."""
    return lambda scope, i, j, k: component(scope, separation(scope, i, j), axis, k)


def about(turning: Turning) -> Callable[..., ca.SX]:
    """AX, AY, AZ: rotation of I about one axis of J as if the other two were zero.

    About x from y_J to y_I, about y from z_J to z_I, about z from x_J to x_I; 0 where that axis of I is
    parallel to the rotation axis.
    """
    start, end = (turning.axis + 1) % 3, (turning.axis + 2) % 3

    def angle(scope: Scope, i: int, j: int) -> ca.SX:
        R = cosines(scope, i, j)
        return scope.angle(turning, i, j, direction_angle(R[end, start], R[start, start]))

    return angle


def theta(scope: Scope, i: int, j: int) -> ca.SX:
    """Angle between z_I and z_J in [0, pi]; its derivative is 0 at both ends."""
    R = cosines(scope, i, j)
    return direction_angle(norm(R[:2, 2]), R[2, 2])


def psi(scope: Scope, i: int, j: int) -> ca.SX:
    """First of the body-fixed 3-1-3 angles; with parallel z-axes the whole rotation about z."""
    R = cosines(scope, i, j)
    return ca.if_else(_aligned(R), direction_angle(R[1, 0], R[0, 0]), direction_angle(R[0, 2], -R[1, 2]))


def phi(scope: Scope, i: int, j: int) -> ca.SX:
    """Third of the body-fixed 3-1-3 angles; with parallel z-axes 0."""
    R = cosines(scope, i, j)
    return ca.if_else(_aligned(R), 0, direction_angle(R[2, 0], R[2, 1]))


def yaw(scope: Scope, i: int, j: int) -> ca.SX:
    """First of the body-fixed angles about z, -y, x; at a vertical pitch the whole rotation."""
    R = cosines(scope, i, j)
    return ca.if_else(_vertical(R), direction_angle(-R[0, 1], R[1, 1]), direction_angle(R[1, 0], R[0, 0]))


def pitch(scope: Scope, i: int, j: int) -> ca.SX:
    """Second of the body-fixed angles about z, -y, x, in [-pi/2, pi/2]; positive lifts x_I towards z_J."""
    R = cosines(scope, i, j)
    return direction_angle(R[2, 0], norm(R[:2, 0]))


def roll(scope: Scope, i: int, j: int) -> ca.SX:
    """Third of the body-fixed angles about z, -y, x; at a vertical pitch 0."""
    R = cosines(scope, i, j)
    return ca.if_else(_vertical(R), 0, direction_angle(R[2, 1], R[2, 2]))


def _aligned(R: ca.SX) -> ca.SX:
    return ca.sumsqr(R[:2, 2]) < ALIGNED**2


def _vertical(R: ca.SX) -> ca.SX:
    return ca.sumsqr(R[:2, 0]) < ALIGNED**2


FUNCTIONS = (
    LanguageFunction("DM", "I [, J]", distance, "DM(1, 2)", quantity="length"),
    LanguageFunction("DX", "I [, J [, K]]", along(0), "DX(1, 2, 3)", quantity="length"),
    LanguageFunction("DY", "I [, J [, K]]", along(1), "DY(1, 2, 3)", quantity="length"),
    LanguageFunction("DZ", "I [, J [, K]]", along(2), "DZ(1, 2, 3)", quantity="length"),
    LanguageFunction("AX", "I [, J]", about(Turning.AX), "AX(1, 2)", quantity="angle"),
    LanguageFunction("AY", "I [, J]", about(Turning.AY), "AY(1, 2)", quantity="angle"),
    LanguageFunction("AZ", "I [, J]", about(Turning.AZ), "AZ(1, 2)", quantity="angle"),
    LanguageFunction("AXU", "I [, J]", about(Turning.AX), "AXU(1, 2)", quantity="angle"),
    LanguageFunction("AYU", "I [, J]", about(Turning.AY), "AYU(1, 2)", quantity="angle"),
    LanguageFunction("AZU", "I [, J]", about(Turning.AZ), "AZU(1, 2)", quantity="angle"),
    LanguageFunction("PSI", "I [, J]", psi, "PSI(1, 2)", quantity="angle"),
    LanguageFunction("THETA", "I [, J]", theta, "THETA(1, 2)", quantity="angle"),
    LanguageFunction("PHI", "I [, J]", phi, "PHI(1, 2)", quantity="angle"),
    LanguageFunction("YAW", "I [, J]", yaw, "YAW(1, 2)", quantity="angle"),
    LanguageFunction("PITCH", "I [, J]", pitch, "PITCH(1, 2)", quantity="angle"),
    LanguageFunction("ROLL", "I [, J]", roll, "ROLL(1, 2)", quantity="angle"),
)
