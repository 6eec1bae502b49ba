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

from plant.elements import (
    Control_Diff,
    Control_PlantInput,
    Control_PlantOutput,
    Element,
    Reference_Array,
    Reference_Variable,
    UserSubroutine,
)
from plant.equations.lookup import asked, listed
from plant.equations.role import Role
from plant.equations.setting import Setting
from plant.expressions.recursion import Finding, name_of
from plant.expressions.scope import MarkerState, Refusal
from plant.expressions.splines import SplineData
from plant.mechanics.motion import Roots
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
    """A `Scope` whose markers are symbols of their own, with all that is worked out from them.

    Variables that solve an equation, and the states of integrals, keep the plant's symbols; their rates are
    found here: by the implicit function theorem, and from what they integrate.

    Parameters
    ----------
    setting : Setting           answers for what depends on no marker
    state : callable            id -> MarkerState with the actual pose, velocities and, in `a` and `al`, the
                                accelerations at qdd = 0
    drifts : list of (x, x')    further symbols that change in time, with their rates
    states_move : bool          rates of integrals and control states are needed, and refused where they are
                                not known; else these states count as constant
    """

    def __init__(
        self,
        setting: Setting,
        state: Callable[[int], MarkerState],
        drifts: Sequence[tuple[ca.SX, ca.SX]] = (),
        states_move: bool = True,
    ) -> None:
        self._setting, self._state, self._drifts = setting, state, list(drifts)
        self._states_move = states_move
        self._markers: dict[int, _Marker] = {}
        self._branches: list[tuple[ca.SX, ca.SX]] = []
        self._angles: dict[tuple[str, int, int], ca.SX] = {}
        self._variables: dict[int, ca.SX] = {}
        self._arrays: dict[int, ca.SX] = {}
        self._integrals: list[ca.SX] = []
        self._unknowns: list[tuple[ca.SX, ca.SX]] = []  # v, and R(v, ...) = 0 in terms of local symbols
        self._under_way: list[str] = []

    # --- what expressions ask -------------------------------------------------------------------------
    @property
    def time(self) -> ca.SX:
        """Simulated time."""
        return self._setting.time

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
            self._branches.append((turns, self._setting.angle(function, i, j, actual) - actual))
            self._angles[key] = principal + turns
        return self._angles[key]

    def value(self, element: Element, attribute: str = "expr") -> ca.SX:
        """What an expression, or else the subroutine, of an element gives; 0 where there is neither."""
        formula = self._setting.formula(element, attribute)
        if formula is not None:
            return formula.evaluate(self)
        if isinstance(element, UserSubroutine) and element.has_subroutine:
            return self._setting.constraint(element, self)
        return ca.SX(0)

    def variable(self, id: int) -> ca.SX:
        """VARVAL: worked out from the local markers, or the symbol it has in the plant."""
        if id not in self._variables:
            self._variables[id] = self._of_variable(asked(self._setting.model, Reference_Variable, id))
        return self._variables[id]

    def _of_variable(self, variable: Reference_Variable) -> ca.SX:
        setting, role = self._setting, self._setting.role(variable.id)
        if role in (Role.GIVEN, Role.CONSTRAINT):
            symbol = setting.variable(variable.id)
            if variable.dot_form and variable.id not in setting.inputs.values:
                self._integral(symbol, variable)
            return symbol
        if role is Role.EXPLICIT:
            if self._under_way and self._under_way[-1] == name_of(variable):
                # its subroutine asks for its own value; the plant has found that out, and made it an unknown
                return setting.variable(variable.id)
            with Finding(self._under_way, variable):
                value = self.value(variable)
            v = self._variables.get(variable.id)
            if v is None:
                return value
            self._unknowns.append((v, value - v))
            return v
        v = self._variables[variable.id] = setting.variable(variable.id)
        g = self.value(variable)
        self._unknowns.append((v, g - v if role is Role.ITSELF else g))
        return v

    def _integral(self, x: ca.SX, element: Element) -> None:
        """x' is what the element's expression gives."""
        self._integrals.append(x)
        if not self._states_move:
            return
        with Finding(self._under_way, element):
            rate = self.value(element)
        if self.moves(rate):
            raise Refusal(
                f"{element.tag} {element.id} integrates velocities, so a constraint on it is one on "
                "velocities; write a Constraint_General with what it integrates"
            )
        self._drifts.append((x, rate))

    def array(self, id: int, k: int) -> ca.SX:
        """ARYVAL."""
        array = asked(self._setting.model, Reference_Array, id)
        if array.type == "U" and k <= len(array.variable_id):
            return self.variable(array.variable_id[k - 1])
        if array.type in ("X", "Y") and self._states_move:
            raise Refusal(
                f"Reference_Array {id} is filled by a control element, whose rates a constraint cannot "
                "follow; write the equation with Control_Diff or Reference_Variables"
            )
        if array.has_subroutine and not array.values:
            if id not in self._arrays:
                self._arrays[id] = self._setting.constraint(array, self)
            if k <= self._arrays[id].numel():
                return ca.SX(self._arrays[id][k - 1])
        return self._setting.array(id, k)

    def state(self, id: int) -> ca.SX:
        """DIF: the symbol of a Control_Diff, which follows its equation."""
        diff, x = asked(self._setting.model, Control_Diff, id), self._setting.state(id)
        known = [each for each in self._integrals if ca.is_equal(each, x)]
        if known or not self._states_move:
            return x
        if diff.is_implicit:
            raise Refusal(
                f"Control_Diff {id} is implicit, and its rate is not known where constraints are written; "
                "write it explicitly, or as an implicit Reference_Variable"
            )
        self._integral(x, diff)
        return x

    def state_rate(self, id: int) -> ca.SX:
        """DIF1."""
        diff = asked(self._setting.model, Control_Diff, id)
        if diff.is_implicit and self._states_move:
            raise Refusal(f"the rate of Control_Diff {id}, which is implicit, is not known to constraints")
        return self._setting.state_rate(id) if diff.is_implicit else self.value(diff)

    def plant_input(self, id: int, k: int) -> ca.SX:
        """PINVAL."""
        return self.variable(listed(self._setting.model, Control_PlantInput, id, k))

    def plant_output(self, id: int, k: int) -> ca.SX:
        """POUVAL."""
        return self.variable(listed(self._setting.model, Control_PlantOutput, id, k))

    def sensor(self, id: int) -> ca.SX:
        """SENVAL."""
        return self._setting.sensor(id)

    def wheel(self, id: int) -> tuple[ca.SX, ca.SX]:
        """No constraint may depend on wheels."""
        raise Refusal("a constraint cannot depend on a wheel; write it in displacements and TIME")

    def spline(self, id: int) -> SplineData:
        """Points of a spline."""
        return self._setting.spline(id)

    def force(self, function: str, ids: tuple[int, ...]) -> ca.SX:
        """No constraint may depend on forces."""
        raise Refusal("a constraint cannot depend on forces; write it in displacements and TIME")

    def passed(self, times: tuple[float, ...]) -> ca.SX:
        """Instants passed."""
        return self._setting.passed(times)

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
        """Unknowns of variables used so far, with their equations in terms of local symbols."""
        every = [ca.vertcat(ca.SX(0, 1), *[pair[k] for pair in self._unknowns]) for k in (0, 1)]
        return Roots(*every)

    def wrenches(self, rate: ca.SX) -> dict[int, tuple[ca.SX, ca.SX]]:
        """Marker -> (c, t), each (n, 3): what the expressions' rates are linear in, v and w."""
        if not self._markers:
            return {}
        motion = ca.vertcat(*[e for m in self._markers.values() for e in (m.v, m.w)])
        slopes, roots = ca.jacobian(rate, motion), self.roots
        if roots.v.numel():
            slopes = ca.sparsify(slopes + roots.through(rate, ca.jacobian(roots.R, motion)))
        parts = ca.horzsplit(slopes, 3)
        return {id: (parts[2 * k], parts[2 * k + 1]) for k, id in enumerate(self._markers)}

    def integrates(self, g: ca.SX) -> bool:
        """Does an expression contain integrals (variables in dot_form, states of control elements)?"""
        return any(ca.depends_on(g, x) for x in self._integrals)

    def displaces(self, g: ca.SX) -> bool:
        """Does an expression contain displacements, also through the unknowns in it?"""
        roots = self.roots
        whole = ca.vertcat(g, roots.R) if roots.v.numel() and ca.depends_on(g, roots.v) else g
        return any(ca.depends_on(whole, ca.vertcat(m.r, ca.vec(m.A))) for m in self._markers.values())

    def moves(self, g: ca.SX) -> bool:
        """Does an expression contain velocities, also through the unknowns in it?"""
        roots = self.roots
        whole = ca.vertcat(g, roots.R) if roots.v.numel() and ca.depends_on(g, roots.v) else g
        return any(ca.depends_on(whole, ca.vertcat(m.v, m.w)) for m in self._markers.values())

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
