"""Gradients of expressions of markers, taken marker by marker.

A constraint, or any expression g of the plant's position, is first written for markers that are plain
symbols: their origins, axes and velocities. Differentiation then stays local, whatever lies between the
coordinates and the markers: dg = sum over markers of c . dr + t . dphi, with dphi the small rotation of the
marker. So c is the force and t the torque that a multiplier of g exerts on the marker's body, at its origin.

Source: Haug, Computer-Aided Kinematics and Dynamics, 2nd ed., sections 6.6 and 9.2 (virtual rotations).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca

from plant.expressions.expression import Expression
from plant.expressions.scope import MarkerState, Refusal, Scope
from plant.expressions.splines import SplineData
from plant.mechanics.spatial import Matrix, skew


@dataclass(frozen=True, eq=False)
class _Marker:
    """Symbols of one marker: pose, motion, and the acceleration it has when all qdd are zero."""

    id: int
    r: ca.SX
    A: ca.SX
    v: ca.SX
    w: ca.SX
    a: ca.SX
    al: ca.SX


class Local:
    """A `Scope` whose markers are symbols of their own; everything else comes from the plant.

    Parameters
    ----------
    scope : Scope               answers for what is no marker
    state : callable            id -> MarkerState with the actual pose, velocities and, in `a` and `al`, the
                                accelerations at qdd = 0
    drifts : list of (x, x')    further symbols that change in time, with their rates
    """

    def __init__(
        self,
        scope: Scope,
        state: Callable[[int], MarkerState],
        drifts: Sequence[tuple[ca.SX, ca.SX]] = (),
    ) -> None:
        self._scope, self._state, self._drifts = scope, state, list(drifts)
        self._markers: dict[int, _Marker] = {}
        self._branches: list[tuple[ca.SX, ca.SX]] = []
        self._angles: dict[tuple[str, int, int], ca.SX] = {}
        self.expressions: Callable[[int], Expression | None] = lambda id: None

    # --- what expressions ask -------------------------------------------------------------------------
    @property
    def time(self) -> ca.SX:
        """Simulated time."""
        return self._scope.time

    def marker(self, id: int) -> MarkerState:
        """A marker as symbols; the ground frame is what it is."""
        if id == 0:
            return self._state(0)
        m = self._known(id)
        return MarkerState(m.r, m.A, m.v, m.w)

    def _known(self, id: int) -> _Marker:
        if id not in self._markers:
            sym = ca.SX.sym
            self._markers[id] = _Marker(
                id,
                sym(f"r{id}", 3),
                sym(f"A{id}", 3, 3),
                sym(f"v{id}", 3),
                sym(f"w{id}", 3),
                sym(f"a{id}", 3),
                sym(f"al{id}", 3),
            )
        return self._markers[id]

    def angle(self, function: str, i: int, j: int, principal: ca.SX) -> ca.SX:
        """The angle with turns counted: its principal value and full turns, which are constant locally."""
        key = (function, i, j)
        if key not in self._angles:
            turns = ca.SX.sym(f"{function}{i},{j}")
            actual = self.actual(principal)
            self._branches.append((turns, self._scope.angle(function, i, j, actual) - actual))
            self._angles[key] = principal + turns
        return self._angles[key]

    def variable(self, id: int) -> ca.SX:
        """VARVAL: of an explicit variable its expression, in terms of these markers."""
        expression = self.expressions(id)
        return self._scope.variable(id) if expression is None else expression.evaluate(self)

    def array(self, id: int, k: int) -> ca.SX:
        """ARYVAL."""
        return self._scope.array(id, k)

    def state(self, id: int) -> ca.SX:
        """DIF."""
        return self._scope.state(id)

    def state_rate(self, id: int) -> ca.SX:
        """DIF1."""
        return self._scope.state_rate(id)

    def plant_input(self, id: int, k: int) -> ca.SX:
        """PINVAL."""
        return self._scope.plant_input(id, k)

    def plant_output(self, id: int, k: int) -> ca.SX:
        """POUVAL."""
        return self._scope.plant_output(id, k)

    def sensor(self, id: int) -> ca.SX:
        """SENVAL."""
        return self._scope.sensor(id)

    def wheel(self, id: int) -> tuple[ca.SX, ca.SX]:
        """No constraint may depend on wheels."""
        raise Refusal("a constraint cannot depend on a wheel; write it in displacements and TIME")

    def spline(self, id: int) -> SplineData:
        """Points of a spline."""
        return self._scope.spline(id)

    def force(self, function: str, ids: tuple[int, ...]) -> ca.SX:
        """No constraint may depend on forces."""
        raise Refusal("a constraint cannot depend on forces; write it in displacements and TIME")

    def passed(self, times: tuple[float, ...]) -> ca.SX:
        """Instants passed."""
        return self._scope.passed(times)

    # --- derivatives ----------------------------------------------------------------------------------
    @property
    def markers(self) -> list[int]:
        """Markers used so far."""
        return list(self._markers)

    def rate(self, g: ca.SX) -> ca.SX:
        """Time derivative (n, 1) of expressions of position and time along the motion."""
        return self._flow(g, second=False)

    def second(self, rate: ca.SX) -> ca.SX:
        """Time derivative of expressions of position, velocity and time at qdd = 0."""
        return self._flow(rate, second=True)

    def _flow(self, g: ca.SX, second: bool) -> ca.SX:
        at, change = [self.time], [ca.SX(1)]
        for symbol, slope in self._drifts:
            at.append(symbol)
            change.append(slope)
        for m in self._markers.values():
            at += [m.r, ca.vec(m.A)]
            change += [m.v, ca.vec(skew(m.w) @ m.A)]
            if second:
                at += [m.v, m.w]
                change += [m.a, m.al]
        return ca.jtimes(g, ca.vertcat(*at), ca.densify(ca.vertcat(*change)))

    def wrenches(self, rate: ca.SX) -> dict[int, tuple[ca.SX, ca.SX]]:
        """Marker -> (c, t), each (n, 3): what the expressions' rates are linear in, v and w."""
        if not self._markers:
            return {}
        slopes = ca.jacobian(rate, ca.vertcat(*[e for m in self._markers.values() for e in (m.v, m.w)]))
        parts = ca.horzsplit(slopes, 3)
        return {id: (parts[2 * k], parts[2 * k + 1]) for k, id in enumerate(self._markers)}

    def moves(self, g: ca.SX) -> bool:
        """Does an expression contain velocities?"""
        return any(ca.depends_on(g, ca.vertcat(m.v, m.w)) for m in self._markers.values())

    # --- back -----------------------------------------------------------------------------------------
    def actual(self, *expressions: ca.SX) -> ca.SX:
        """An expression with the actual markers put in."""
        (found,) = self.closed(list(expressions))
        return found

    def closed(self, expressions: list[Matrix]) -> list[Matrix]:
        """Expressions with the actual markers put in."""
        symbols: list[ca.SX] = []
        values: list[ca.SX] = []
        for m in self._markers.values():
            s = self._state(m.id)
            assert s.a is not None and s.al is not None
            pairs = ((m.r, s.r), (m.A, s.A), (m.v, s.v), (m.w, s.w), (m.a, s.a), (m.al, s.al))
            symbols += [symbol for symbol, _ in pairs]
            values += [ca.densify(ca.SX(value)) for _, value in pairs]
        for symbol, value in self._branches:
            symbols.append(symbol)
            values.append(ca.densify(ca.SX(value)))
        if not symbols:
            return [ca.SX(e) for e in expressions]
        return [ca.sparsify(e) for e in ca.substitute([ca.SX(e) for e in expressions], symbols, values)]
