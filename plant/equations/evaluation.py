"""The values a plant's expressions and forces ask for, as symbols: the plant's `Scope`.

Everything is made when first asked for and kept, so that only what a model uses is computed, once.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import casadi as ca

from blocks.contract.block import Equations
from blocks.errors import ModelError
from plant.constraints.closure import Closure
from plant.constraints.reactions import CONSTRAINT_FUNCTIONS, SUMS, Reactions
from plant.constraints.solution import Solution, Unknowns
from plant.elements import (
    Control_Diff,
    Control_PlantInput,
    Control_PlantOutput,
    Element,
    Inertia_Wheel,
    Reference_Array,
    Reference_Spline,
    Reference_Variable,
    Sensor_Evaluate,
    UserSubroutine,
)
from plant.equations.controls import Controls
from plant.equations.filters import Inputs
from plant.equations.wheels import Wheels
from plant.expressions.expression import Expression
from plant.expressions.functions.corners import norm
from plant.expressions.recursion import Finding, name_of
from plant.expressions.scope import MarkerState, Refusal, Scope
from plant.expressions.splines import SplineData
from plant.forces.penalty import Penalty
from plant.forces.wrenches import FORCES, Applied
from plant.mechanics.absolute import Bodies
from plant.mechanics.mechanism import GROUND, Mechanism
from plant.mechanics.motion import Motion
from plant.mechanics.spatial import constant, cross
from plant.mechanics.tree import Tree
from plant.mechanics.turns import Turns, turns_between
from plant.reporting import PlantWarning
from plant.routines.access import spline_of
from plant.routines.constraint_routines import constraint_value
from plant.routines.subroutines import component, outcome
from plant.tunables import Tunables

NOT_YET = "is not supported yet"
ROUNDING = 1e-14  # rad

FORCE_FUNCTIONS = ("SFORCE", "VFORCE", "VTORQ", "GFORCE", "BUSH", "SPDP", "FIELD")
NOTHING = ca.SX(3, 1)


class Evaluation:
    """Answers expressions (a `Scope`) and forces (a `Setting`) while a plant's equations are written.

    Parameters
    ----------
    b : Equations             where instants, memories and terms are declared
    tree : Tree               kinematics at the symbolic state
    expressions : mapping     (element type, id, attribute) -> parsed expression
    inputs : Inputs           symbols of the variables that plant inputs set
    integrals : mapping       Reference_Variable id -> state, of those in dot_form
    numbers : Tunables        numeric attributes as run-time parameters
    controls : Controls       states and outputs of control elements
    wheels : Wheels           states of inertia wheels
    trust : bool              user subroutines may run
    """

    def __init__(
        self,
        b: Equations,
        tree: Tree | Bodies,
        expressions: Mapping[tuple[str, int, str], Expression],
        inputs: Inputs,
        integrals: Mapping[int, ca.SX],
        numbers: Tunables,
        controls: Controls,
        wheels: Wheels,
        trust: bool = False,
    ) -> None:
        self._b, self.tree, self._expressions = b, tree, expressions
        self.inputs, self._inputs = inputs, inputs.values
        self._integrals, self._numbers = integrals, numbers
        self.mechanism: Mechanism = tree.mechanism
        self.model = self.mechanism.model
        self._time = ca.SX(b.time)
        self._markers: dict[int, MarkerState] = {}
        self._moving: dict[int, MarkerState] = {}  # without accelerations
        self._angles: dict[tuple[str, int, int], ca.SX] = {}
        self._variables: dict[int, ca.SX] = {}
        self._under_way: list[str] = []  # elements whose values are being found, to see recursion
        self._instants: dict[tuple[float, ...], ca.SX] = {}
        self._wrenches: dict[tuple[str, int], Applied] = {}
        self._accelerations: list[ca.SX] | None = None
        self._gravity = NOTHING
        self.controls, self.wheels, self.trust = controls, wheels, trust
        self.penalties: dict[tuple[str, int], Penalty] = {}
        self.multipliers: dict[int, ca.SX] = {}  # of variables that are hard constraints
        self.unknowns = Unknowns()  # values of the solution that forces use
        self.closure: Closure | None = None
        self.reactions: Reactions | None = None  # once the equations of motion are solved
        self._watched: list[tuple[str, ca.SX]] = []
        self._unknowns: dict[int, ca.SX] = {}  # of variables that solve an equation
        self._open: list[Reference_Variable] = []  # whose equation is not written down yet
        self._kept: dict[tuple[Any, ...], ca.SX] = {}
        sums = [
            (z, lambda id=id: self.given(self._asked(Reference_Variable, id))) for id, z in integrals.items()
        ]
        drifts = [(y, lambda rate=rate: rate) for y, rate in inputs.drifts]
        self.motion = Motion(tree, self._time, [*sums, *controls.states(self), *wheels.states(self), *drifts])

    # --- what forces ask ------------------------------------------------------------------------------
    def expression(self, element: Element, attribute: str) -> ca.SX:
        """Value of an expression attribute; its parts are named for when they are not finite."""
        found = self._expressions.get((element.tag, element.id, attribute))
        if found is None:
            return self._scripted(element, attribute)
        value = found.evaluate(self)
        for text, column, term in found.terms(self):
            self.watch(f"{element.where}, {text} in {attribute}, column {column}", term)
        return value

    def given(self, element: Element) -> ca.SX:
        """What ``expr`` or the subroutine of an element gives."""
        return self.expression(element, "expr")

    def _scripted(self, element: Element, attribute: str) -> ca.SX:
        """The part of a subroutine's outcome that stands for an attribute; 0 where there is no subroutine."""
        if not isinstance(element, UserSubroutine) or not element.has_subroutine:
            return ca.SX(0)
        place = component(element, attribute)
        return ca.SX(0) if place is None else ca.SX(self.subroutine(element)[place])

    def subroutine(self, element: UserSubroutine, *given: ca.SX, order: int = 0) -> ca.SX:
        """Outcome (n, 1) of an element's user subroutine.

        given : vectors the routine takes as arguments (states, displacements)
        order : of the derivative a MOTSUB is to give
        """
        key = ("subroutine", element.tag, element.id, order, len(given))
        return self.once(key, lambda: outcome(self, self._b, element, given, order))

    def constraint(self, element: UserSubroutine, scope: Scope, *given: ca.SX) -> ca.SX:
        """Value (1, 1) of a constraint's user subroutine, in terms of the symbols of `scope`."""
        return constraint_value(self, self._b, element, scope, given)

    def once(self, key: tuple[Any, ...], make: Callable[[], ca.SX]) -> ca.SX:
        """A value that is worked out when first asked for."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def number(self, element: Element, attribute: str) -> Any:
        """Value of a numeric attribute: a tunable symbol, or 0.0."""
        return self._numbers(element, attribute)

    def watch(self, text: str, value: ca.SX) -> None:
        """Name a value, so that it is found when it is not finite."""
        if value.is_constant():
            return
        if self._accelerations is None:
            self._watched.append((text, value))
        else:
            self._b.term(text, value)

    def spun(self, wheel: Inertia_Wheel) -> tuple[ca.SX, ca.SX]:
        """Motor torque on a wheel and its momentum, both along its axis."""
        return self.wheels.torque(self, wheel), self.wheels.momentum(self, wheel)

    def wrenches(self, element: Element) -> Applied:
        """What a force element applies."""
        key = (element.tag, element.id)
        if key not in self._wrenches:
            with self.finding(element):
                self._wrenches[key] = FORCES[type(element)](element, self)
        return self._wrenches[key]

    def formula(self, element: Element, attribute: str) -> Expression | None:
        """The expression of an attribute, where it is given."""
        return self._expressions.get((element.tag, element.id, attribute))

    def explicit(self, id: int) -> Expression | None:
        """The expression a variable is equal to, None for variables of other kinds."""
        known = (self._inputs, self.multipliers, self._integrals, self._unknowns)
        variable = self._asked(Reference_Variable, id)
        if any(id in each for each in known) or (variable.is_implicit and variable.autobalance != "PENALTY"):
            return None
        return self.formula(variable, "expr")

    def constrained(self, closure: Closure) -> None:
        """Variables that are constraints have their multiplier as value, which is not known yet."""
        self.closure = closure

        def multiplier(k: int) -> Callable[[Solution], ca.SX]:
            return lambda solution: solution.lam[k]

        for element in closure.elements:
            if isinstance(element, Reference_Variable):
                self.multipliers[element.id] = ca.SX(0)  # one that holds by itself needs no force
        for k, condition in enumerate(closure.conditions):
            if isinstance(condition.element, Reference_Variable):
                stand_in = self.unknowns.new(("lam", k), 1, f"lam{k}", multiplier(k))
                self.multipliers[condition.element.id] = stand_in

    def solved(self, solution: Solution, closure: Closure | None) -> None:
        """The equations of motion are solved: markers have accelerations, joints reactions."""
        self._accelerations, self._gravity = solution.a, solution.gravity
        self._markers.clear()
        pending, self._watched = self._watched, []
        unsettled = [text for text, value in pending if self.unknowns.used(value)]
        for text, value in pending:
            if text not in unsettled:
                self._b.term(text, value)
        self._forget_stand_ins()
        for k, condition in enumerate(() if closure is None else closure.conditions):
            if isinstance(condition.element, Reference_Variable):
                self.multipliers[condition.element.id] = ca.SX(ca.densify(solution.lam[k]))
        self.reactions = Reactions(self, closure, solution)

    def _forget_stand_ins(self) -> None:
        """Whatever used a value that is known now is worked out again when asked for."""
        used = self.unknowns.used
        self._variables = {key: value for key, value in self._variables.items() if not used(value)}
        self._kept = {key: value for key, value in self._kept.items() if not used(value)}
        for key, applied in list(self._wrenches.items()):
            if any(used(ca.vertcat(w.F, w.T)) for w in applied):
                del self._wrenches[key]

    # --- what expressions ask -------------------------------------------------------------------------
    @property
    def time(self) -> ca.SX:
        """Simulated time."""
        return self._time

    def marker(self, id: int) -> MarkerState:
        """Pose and motion of a marker in the ground frame."""
        if id not in self._markers:
            self._markers[id] = self._state_of(id)
        return self._markers[id]

    def pose_and_motion(self, id: int) -> MarkerState:
        """The same without accelerations."""
        if id not in self._moving:
            place, s = self.mechanism.place(id), self.point(id)
            if place.link == GROUND:
                state = MarkerState(s, ca.SX(constant(place.A)), NOTHING, NOTHING)
            else:
                A, r = self.tree.pose(place.link)
                w, v = self.tree.velocity(place.link)
                state = MarkerState(r + A @ s, A @ constant(place.A), A @ (v + cross(w, s)), A @ w)
            self._moving[id] = state
        return self._moving[id]

    def _state_of(self, id: int) -> MarkerState:
        """With accelerations; stand-ins for them while the equations of motion are not solved."""
        link, state = self.mechanism.place(id).link, self.pose_and_motion(id)
        if link == GROUND:
            return replace(state, a=NOTHING, al=NOTHING)
        if self._accelerations is not None:
            return replace(state, **self._accelerations_of(id, self._accelerations, self._gravity))

        def actual(name: str) -> Callable[[Solution], ca.SX]:
            return lambda solution: self._accelerations_of(id, solution.a, solution.gravity)[name]

        a, al = (self.unknowns.new((name, id), 3, f"{name}{id}", actual(name)) for name in ("a", "al"))
        return replace(state, a=a, al=al)

    def _accelerations_of(self, id: int, links: list[ca.SX], gravity: ca.SX) -> dict[str, ca.SX]:
        link = self.mechanism.place(id).link
        al, a = self.tree.point_acceleration(link, links[link], self.point(id), gravity)
        return {"a": a, "al": al}

    def point(self, id: int) -> ca.SX:
        """(3, 1) origin of a marker in the frame of its link."""
        place = self.mechanism.place(id)
        s = ca.SX(constant(place.s))
        shift = self._numbers.shift(id)
        return s if shift is None else s + constant(self.mechanism.frame(place.link)[1].T) @ shift

    def angle(self, function: str, i: int, j: int, principal: ca.SX) -> ca.SX:
        """AX, AY, AZ with turns counted: by joint coordinates where they add up to it, else by a memory.

        "pinion" is the turn about z of I since the design.
        """
        name = function[:2] if function.startswith("A") else function
        key = (name, i, j)
        if key not in self._angles:
            turns = turns_between(self.mechanism, name, i, j)
            self._angles[key] = (
                self._by_memory(f"{name}({i},{j})", principal)
                if turns is None
                else self._by_coordinates(turns)
            )
        return self._angles[key]

    def _by_coordinates(self, turns: Turns) -> ca.SX:
        """The angle as a sum of joint coordinates."""
        angle = ca.SX(0)
        for link, sign in turns.signs.items():
            coordinate = self.tree.q[link][self.mechanism.links[link].joint.turn]
            angle = angle + coordinate if sign > 0 else angle - coordinate
        return angle + turns.offset if turns.offset else angle

    def _by_memory(self, name: str, principal: ca.SX) -> ca.SX:
        """The branch nearest to the value at the last accepted step; the principal value at the start."""

        def nearest(old: Any) -> ca.SX:
            turns = ca.floor((ca.SX(old) - principal) / (2 * math.pi) + 0.5)
            return principal + 2 * math.pi * turns

        return nearest(self._b.accepted(name, nearest, initial=0.0))

    def variable(self, id: int) -> ca.SX:
        """VARVAL: a plant input, an integral, or the expression of the variable."""
        for known in (self._inputs, self.multipliers, self._integrals, self._variables, self._unknowns):
            if id in known:
                return known[id]
        variable = self._asked(Reference_Variable, id)
        if variable.is_implicit and variable.autobalance != "PENALTY":
            self._open.append(variable)
            return self._unknown(variable)
        if self._under_way and self._under_way[-1] == name_of(variable):
            self._warn(
                f"{variable.where}: is defined by itself; solved as an equation by Newton's method. "
                'Write it with is_implicit="true" to say so.'
            )
            return self._unknown(variable)
        with self.finding(variable):
            value = self.given(variable)
        if id in self._unknowns:  # v = g(v, y, t)
            self._b.residual(value - self._unknowns[id])
            value = self._unknowns[id]
        self._variables[id] = value
        return value

    def _unknown(self, variable: Reference_Variable) -> ca.SX:
        """The unknown v of an equation; Newton's method starts from ``ic``, later from the last solution."""
        self._unknowns[variable.id] = ca.SX(self._b.algebraic(f"variable_{variable.id}", variable.ic))
        return self._unknowns[variable.id]

    def settle(self) -> None:
        """Write down the equations of all unknowns asked for; done last, when accelerations are known."""
        while self._open:
            variable = self._open.pop(0)
            value = self.given(variable)
            if variable.has_subroutine and not ca.jacobian(value, self._unknowns[variable.id]).nnz():
                raise ModelError(
                    f"{variable.where}: the subroutine asks for VARVAL({variable.id}), so g = 0 is an "
                    "equation for it, but what it returns does not depend on it.",
                    path=variable.where,
                    hint=f"Use VARVAL({variable.id}) in the result, or do not ask for it: a constraint then.",
                )
            self._b.residual(value)

    @staticmethod
    def _warn(text: str) -> None:
        warnings.warn(text, PlantWarning, stacklevel=3)

    def array(self, id: int, k: int) -> ca.SX:
        """ARYVAL of an array of inputs (U) or numbers (IC)."""
        array = self._asked(Reference_Array, id)
        if array.type in ("X", "Y"):
            return self.controls.array(self, array, k)
        entries: tuple[Any, ...] = array.variable_id if array.type == "U" else array.values
        if not entries and array.has_subroutine:
            found = self.subroutine(array)
            if k > found.numel():
                raise Refusal(f"Reference_Array {id} has {found.numel()} entries, not {k}")
            return ca.SX(found[k - 1])
        if k > len(entries):
            raise Refusal(f"Reference_Array {id} has {len(entries)} entries, not {k}")
        return self.variable(entries[k - 1]) if array.type == "U" else ca.SX(entries[k - 1])

    def state(self, id: int) -> ca.SX:
        """DIF."""
        return self.controls.state(self._asked(Control_Diff, id).id)

    def state_rate(self, id: int) -> ca.SX:
        """DIF1."""
        diff = self._asked(Control_Diff, id)
        with self.finding(diff):
            return self.controls.state_rate(self, id)

    def plant_input(self, id: int, k: int) -> ca.SX:
        """PINVAL."""
        return self.variable(self._listed(Control_PlantInput, id, k))

    def plant_output(self, id: int, k: int) -> ca.SX:
        """POUVAL: the present value of the variable."""
        return self.variable(self._listed(Control_PlantOutput, id, k))

    def _listed(self, kind: type[Control_PlantInput] | type[Control_PlantOutput], id: int, k: int) -> int:
        variables = self._asked(kind, id).variable_id_list
        if k > len(variables):
            raise Refusal(f"{kind.tag} {id} has {len(variables)} signals, not {k}")
        return int(variables[k - 1])

    def sensor(self, id: int) -> ca.SX:
        """SENVAL."""
        return self.controls.stored(self._asked(Sensor_Evaluate, id).id)

    def wheel(self, id: int) -> tuple[ca.SX, ca.SX]:
        """WHEELH and WHEELW."""
        wheel = self._asked(Inertia_Wheel, id)
        return self.wheels.momentum(self, wheel), self.wheels.rate(self, wheel)

    def spline(self, id: int) -> SplineData:
        """Points of a spline."""
        return spline_of(self.model, self._asked(Reference_Spline, id).id)

    def force(self, function: str, ids: tuple[int, ...]) -> ca.SX:
        """Component of what an element applies, or of the sum over all elements between two markers."""
        if function in CONSTRAINT_FUNCTIONS and self._is_off(CONSTRAINT_FUNCTIONS[function], ids[0]):
            return ca.SX(0)
        if function in CONSTRAINT_FUNCTIONS or function in SUMS:
            return self._reaction(function, ids)
        if function not in FORCE_FUNCTIONS:
            raise Refusal(f"it {NOT_YET}; {', '.join((*FORCE_FUNCTIONS, *CONSTRAINT_FUNCTIONS, *SUMS))} are")
        id, jflag, comp, frame = (*ids, 0)[:4]
        kinds = [kind for kind in FORCES if _reads(function, kind)]
        element = next(
            (e for kind in kinds for e in self.model.all(kind) if e.id == id),
            None,
        )
        if element is None and self._is_off(kinds, id):
            return ca.SX(0)
        if element is None:
            raise Refusal(f"there is no {' or '.join(kind.tag for kind in kinds)} with id {id}")
        applied = self.wrenches(element)
        if jflag >= len(applied):
            return ca.SX(0)
        wrench = applied[jflag]
        whole = wrench.F if comp <= 4 else wrench.T
        if wrench.at is not None and comp > 4:  # the same force, at J's own origin
            whole = whole + cross(wrench.at - self.marker(wrench.marker).r, wrench.F)
        if comp in (1, 5):
            return norm(whole)
        return ca.dot(whole, self.marker(frame).A[:, (comp - 2) % 4])

    def _is_off(self, kinds: Iterable[type[Element]], id: int) -> bool:
        """Whether the element that is asked for is there, but not active: it does nothing."""
        known = [self.model.elements.get(kind.tag, {}).get(id) for kind in kinds]
        found = [element for element in known if element is not None]
        return bool(found) and not any(element.is_active for element in found)

    def _reaction(self, function: str, ids: tuple[int, ...]) -> ca.SX:
        if self.reactions is not None:
            return self.reactions.component(function, ids)

        def actual(solution: Solution) -> ca.SX:
            return Reactions(self, self.closure, solution).component(function, ids)

        name = f"{function}({','.join(map(str, ids))})"
        return self.unknowns.new((function, ids), 1, name, actual)

    def passed(self, times: tuple[float, ...]) -> ca.SX:
        """How many of these instants are over; one memory per distinct set."""
        if times not in self._instants:
            self._instants[times] = ca.SX(self._b.instants(list(times)))
        return self._instants[times]

    def stops_at(self, times: set[float]) -> None:
        """Let steps end on these instants too, where a function of TIME has a corner."""
        known = {t for listed in self._instants for t in listed}
        corners = tuple(sorted(t for t in times if t > 0 and t not in known))
        if corners:
            self.passed(corners)

    # --- inside ---------------------------------------------------------------------------------------
    def _asked(self, kind: type[Any], id: int) -> Any:
        try:
            return self.model.find(kind, id)
        except ModelError as error:
            raise Refusal(str(error)) from None

    def finding(self, element: Element) -> Finding:
        """While the value of an element is found; asking for it again is a recursive definition."""
        return Finding(self._under_way, element)


def _reads(function: str, kind: type[Element]) -> bool:
    """Whether a force function reads elements of this type."""
    names = {
        "SFORCE": ("Force_Scalar_TwoBody",),
        "BUSH": ("Force_Bushing",),
        "SPDP": ("Force_SpringDamper",),
        "FIELD": ("Force_Field",),
    }
    return kind.tag in names.get(function, ("Force_Vector_TwoBody", "Force_Vector_OneBody"))
