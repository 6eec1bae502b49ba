"""Velocities and accelerations between markers, seen from a frame L that may move itself.

``r v a`` are differences of I and J: ``r = r_I - r_J`` and so on, all relative to ground and along its axes.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from plant.expressions.corners import norm
from plant.expressions.functions.displacement import component, separation
from plant.expressions.functions.entry import LanguageFunction, Reference
from plant.expressions.scope import Refusal, Scope


def velocity(scope: Scope, i: int, j: int, l: int) -> ca.SX:
    """``v - w_L x r`` (3, 1): time derivative in frame L of the vector from J to I [length/time]."""
    v = scope.marker(i).v - scope.marker(j).v
    return v - ca.cross(scope.marker(l).w, separation(scope, i, j))


def angular_velocity(scope: Scope, i: int, j: int) -> ca.SX:
    """``w_I - w_J`` (3, 1) [rad/time]."""
    return scope.marker(i).w - scope.marker(j).w


def speed(scope: Scope, i: int, j: int, l: int) -> ca.SX:
    """Magnitude of the velocity; its derivative is 0 at rest."""
    return norm(velocity(scope, i, j, l))


def separation_rate(scope: Scope, i: int, j: int, l: int) -> ca.SX:
    """``v.r / |r|``, positive when moving apart; 0 where the origins coincide.

    No frame L changes it, because ``w_L x r`` is normal to r.
    """
    r = separation(scope, i, j)
    apart = ca.sumsqr(r) > 0
    rate = ca.dot(velocity(scope, i, j, 0), r) / ca.if_else(apart, norm(r), 1)
    return ca.if_else(apart, rate, 0)


def acceleration(scope: Scope, i: int, j: int, l: int) -> ca.SX:
    """``a - al_L x r - 2 w_L x v + w_L x (w_L x r)`` (3, 1): second derivative in L of r."""
    r, w = separation(scope, i, j), scope.marker(l).w
    v = scope.marker(i).v - scope.marker(j).v
    a = _accelerations(scope, i)[0] - _accelerations(scope, j)[0]
    return a - ca.cross(_accelerations(scope, l)[1], r) - 2 * ca.cross(w, v) + ca.cross(w, ca.cross(w, r))


def angular_acceleration(scope: Scope, i: int, j: int, l: int) -> ca.SX:
    """``(al_I - al_J) - w_L x (w_I - w_J)`` (3, 1) [rad/time^2]."""
    al = _accelerations(scope, i)[1] - _accelerations(scope, j)[1]
    return al - ca.cross(scope.marker(l).w, angular_velocity(scope, i, j))


def _accelerations(scope: Scope, id: int) -> tuple[ca.SX, ca.SX]:
    if id == 0:
        return ca.SX.zeros(3), ca.SX.zeros(3)
    marker = scope.marker(id)
    if marker.a is None or marker.al is None:
        raise Refusal(
            "accelerations are not available here: they are the result of the equations of motion. "
            "Use them in outputs and requests."
        )
    return marker.a, marker.al


def _linear(axis: int) -> Callable[..., ca.SX]:
    return lambda scope, i, j, k, l: component(scope, velocity(scope, i, j, l), axis, k)


def _angular(axis: int) -> Callable[..., ca.SX]:
    return lambda scope, i, j, k: component(scope, angular_velocity(scope, i, j), axis, k)


def _linear_rate(axis: int) -> Callable[..., ca.SX]:
    return lambda scope, i, j, k, l: component(scope, acceleration(scope, i, j, l), axis, k)


def _angular_rate(axis: int) -> Callable[..., ca.SX]:
    return lambda scope, i, j, k, l: component(scope, angular_acceleration(scope, i, j, l), axis, k)


def _acceleration(
    name: str, signature: str, evaluate: Callable[..., ca.SX], quantity: str
) -> LanguageFunction:
    def accelerates(i: int, j: int, *others: int) -> tuple[Reference, ...]:
        # L is the last, K needs none
        return tuple(("acceleration", (id,)) for id in (i, j, others[-1]) if id)

    example = f"{name}(1, 2, 3, 4)" if "K" in signature else f"{name}(1, 2, 3)"
    return LanguageFunction(name, signature, evaluate, example, refers=accelerates, quantity=quantity)


def _size_of(vector: Callable[..., ca.SX]) -> Callable[..., ca.SX]:
    return lambda scope, *ids: norm(vector(scope, *ids))


FUNCTIONS = (
    LanguageFunction("VM", "I [, J [, L]]", speed, "VM(1, 2, 3)", quantity="velocity"),
    LanguageFunction("VR", "I [, J [, L]]", separation_rate, "VR(1, 2, 3)", quantity="velocity"),
    LanguageFunction("VX", "I [, J [, K [, L]]]", _linear(0), "VX(1, 2, 3, 4)", quantity="velocity"),
    LanguageFunction("VY", "I [, J [, K [, L]]]", _linear(1), "VY(1, 2, 3, 4)", quantity="velocity"),
    LanguageFunction("VZ", "I [, J [, K [, L]]]", _linear(2), "VZ(1, 2, 3, 4)", quantity="velocity"),
    LanguageFunction("WM", "I [, J]", _size_of(angular_velocity), "WM(1, 2)", quantity="rotation rate"),
    LanguageFunction("WX", "I [, J [, K]]", _angular(0), "WX(1, 2, 3)", quantity="rotation rate"),
    LanguageFunction("WY", "I [, J [, K]]", _angular(1), "WY(1, 2, 3)", quantity="rotation rate"),
    LanguageFunction("WZ", "I [, J [, K]]", _angular(2), "WZ(1, 2, 3)", quantity="rotation rate"),
    _acceleration("ACCM", "I [, J [, L]]", _size_of(acceleration), "acceleration"),
    _acceleration("ACCX", "I [, J [, K [, L]]]", _linear_rate(0), "acceleration"),
    _acceleration("ACCY", "I [, J [, K [, L]]]", _linear_rate(1), "acceleration"),
    _acceleration("ACCZ", "I [, J [, K [, L]]]", _linear_rate(2), "acceleration"),
    _acceleration("WDTM", "I [, J [, L]]", _size_of(angular_acceleration), "rotation acceleration"),
    _acceleration("WDTX", "I [, J [, K [, L]]]", _angular_rate(0), "rotation acceleration"),
    _acceleration("WDTY", "I [, J [, K [, L]]]", _angular_rate(1), "rotation acceleration"),
    _acceleration("WDTZ", "I [, J [, K [, L]]]", _angular_rate(2), "rotation acceleration"),
)
