"""Gradients of expressions of markers, computed marker by marker.

A constraint, or any expression g of the plant's position, is first written for markers that are plain
symbols: their origins, axes and velocities. Differentiation then stays local, whatever lies between the
coordinates and the markers: dg = sum over markers of c . dr + t . dphi, with dphi the small rotation of the
marker. So c is the force and t the torque that a multiplier of g exerts on the marker's body, at its origin.

Source: Haug, Computer-Aided Kinematics and Dynamics, 2nd ed., sections 6.6 and 9.2 (virtual rotations).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import casadi as ca

from plant.expressions.scope import MarkerState
from plant.mechanics.kinematics import Kinematics
from plant.mechanics.motion import Roots
from plant.mechanics.spatial import Matrix, skew
from plant.mechanics.turning import Turning

NOTHING = ca.SX(3, 1)


@dataclass(frozen=True, eq=False)
class _Marker:
    """Symbols of one marker: pose, motion, and its acceleration if all qdd are zero."""

    id: int
    r: ca.SX
    A: ca.SX
    v: ca.SX
    w: ca.SX
    a: ca.SX
    al: ca.SX


class Local:
    """Markers as symbols of their own, with the expressions derived from them.

    Parameters
    ----------
    kinematics : Kinematics     counts the turns of angles
    state : callable            id -> MarkerState with the actual pose, velocities and, in `a` and `al`, the
                                accelerations at qdd = 0
    drifts : list of (x, x')    further symbols that change in time, with their rates
    """

    def __init__(
        self,
        kinematics: Kinematics,
        state: Callable[[int], MarkerState],
        drifts: Sequence[tuple[ca.SX, ca.SX]] = (),
    ) -> None:
        self._kinematics, self._state, self._drifts = kinematics, state, list(drifts)
        self._markers: dict[int, _Marker] = {}
        self._branches: list[tuple[ca.SX, ca.SX]] = []
        self._angles: dict[tuple[Turning, int, int], ca.SX] = {}
        self._integrals: list[ca.SX] = []
        self._unknowns: list[tuple[ca.SX, ca.SX]] = []  # v, and R(v, ...) = 0 in terms of local symbols

    # --- markers --------------------------------------------------------------------------------------
    @property
    def time(self) -> ca.SX:
        """Simulated time."""
        return self._kinematics.time

    def marker(self, id: int) -> MarkerState:
        """A marker as symbols; the ground frame is returned unchanged."""
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

    def angle(self, turning: Turning, i: int, j: int, principal: ca.SX) -> ca.SX:
        """The angle including full turns: its principal value plus turns, which are constant locally."""
        key = (turning, i, j)
        if key not in self._angles:
            turns = ca.SX.sym(f"{turning.value}{i},{j}")
            actual = self.actual(principal)
            self._branches.append((turns, self._kinematics.angle(turning, i, j, actual) - actual))
            self._angles[key] = principal + turns
        return self._angles[key]

    # --- what changes besides markers ------------------------------------------------------------------
    def unknown(self, v: ca.SX, R: ca.SX) -> None:
        """Take over an unknown v (1, 1) of the equation R = 0 in terms of local symbols."""
        self._unknowns.append((v, R))

    def drift(self, x: ca.SX, rate: ca.SX) -> None:
        """Take over a symbol that changes in time, with its rate in terms of local symbols."""
        self._drifts.append((x, rate))

    def integral(self, x: ca.SX) -> None:
        """Take over the state of an integral, which no force can change at once."""
        self._integrals.append(x)

    def is_integral(self, x: ca.SX) -> bool:
        """Whether a state has been taken over as an integral."""
        return any(ca.is_equal(each, x) for each in self._integrals)

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
        symbols, rates = ca.vertcat(*at), ca.densify(ca.vertcat(*change))
        roots = self.roots
        if not roots.v.numel():
            return ca.jtimes(g, symbols, rates)
        return ca.jtimes(g, symbols, rates) + roots.through(g, ca.jtimes(roots.R, symbols, rates))

    @property
    def roots(self) -> Roots:
        """Unknowns taken over so far, with their equations in terms of local symbols."""
        every = [ca.vertcat(ca.SX(0, 1), *[pair[k] for pair in self._unknowns]) for k in (0, 1)]
        return Roots(*every)

    def wrenches(self, rate: ca.SX) -> dict[int, tuple[ca.SX, ca.SX]]:
        """Marker -> (c, t), each (n, 3): coefficients of v and w in the expressions' rates."""
        if not self._markers:
            return {}
        motion = ca.vertcat(*[e for m in self._markers.values() for e in (m.v, m.w)])
        slopes, roots = ca.jacobian(rate, motion), self.roots
        if roots.v.numel():
            slopes = ca.sparsify(slopes + roots.through(rate, ca.jacobian(roots.R, motion)))
        parts = ca.horzsplit(slopes, 3)
        return {id: (parts[2 * k], parts[2 * k + 1]) for k, id in enumerate(self._markers)}

    def integrates(self, g: ca.SX) -> bool:
        """Whether an expression contains states of integrals."""
        return any(ca.depends_on(g, x) for x in self._integrals)

    def displaces(self, g: ca.SX) -> bool:
        """Whether an expression contains displacements, also through its unknowns."""
        roots = self.roots
        whole = ca.vertcat(g, roots.R) if roots.v.numel() and ca.depends_on(g, roots.v) else g
        return any(ca.depends_on(whole, ca.vertcat(m.r, ca.vec(m.A))) for m in self._markers.values())

    def moves(self, g: ca.SX) -> bool:
        """Whether an expression contains velocities, also through its unknowns."""
        roots = self.roots
        whole = ca.vertcat(g, roots.R) if roots.v.numel() and ca.depends_on(g, roots.v) else g
        return any(ca.depends_on(whole, ca.vertcat(m.v, m.w)) for m in self._markers.values())

    # --- back -----------------------------------------------------------------------------------------
    def actual(self, *expressions: ca.SX) -> ca.SX:
        """An expression with the actual markers substituted."""
        (found,) = self.closed(list(expressions))
        return found

    def closed(self, expressions: list[Matrix]) -> list[Matrix]:
        """Expressions with the actual markers substituted."""
        return self._with(expressions, [self._state(id) for id in self._markers]) if expressions else []

    def beside(
        self, expressions: list[Matrix], ways: Sequence[Callable[[MarkerState], MarkerState]]
    ) -> list[Matrix]:
        """Each expression as often as there are ways in which markers have moved from where they are."""
        actual = [self._state(id) for id in self._markers]
        return [self._with([e], [way(s) for s in actual])[0] for e in expressions for way in ways]

    def _with(self, expressions: list[Matrix], states: list[MarkerState]) -> list[Matrix]:
        """Expressions with these states in place of the markers used so far."""
        symbols: list[ca.SX] = []
        values: list[ca.SX] = []
        for m, s in zip(self._markers.values(), states, strict=True):
            assert s.a is not None and s.al is not None
            pairs = ((m.r, s.r), (m.A, s.A), (m.v, s.v), (m.w, s.w), (m.a, s.a), (m.al, s.al))
            symbols += [symbol for symbol, _ in pairs]
            values += [_dense(value) for _, value in pairs]
        for symbol, value in self._branches:
            symbols.append(symbol)
            values.append(_dense(value))
        if not symbols:
            return [ca.SX(e) for e in expressions]
        return [ca.sparsify(e) for e in ca.substitute([ca.SX(e) for e in expressions], symbols, values)]


def _dense(value: Matrix) -> ca.SX:
    """The same as dense symbols; copied only where it is not."""
    symbols = value if isinstance(value, ca.SX) else ca.SX(value)
    return symbols if symbols.is_dense() else ca.densify(symbols)


def at_rest(kinematics: Kinematics) -> Callable[[int], MarkerState]:
    """Function from a marker's id to its actual state, with its accelerations at qdd = 0."""
    links = kinematics.tree.link_accelerations(None, ca.SX(3, 1))

    def state(id: int) -> MarkerState:
        a, al = kinematics.accelerations(id, links, NOTHING)
        return replace(kinematics.marker(id), a=a, al=al)

    return state
