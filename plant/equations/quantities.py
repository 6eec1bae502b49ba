"""Second and third stage of a plant's equations: the values its expressions and forces ask for, as symbols.

`Quantities` answers for one stage. What it knows of the solution is its `Outcome`: nothing while constraints
are written, stand-ins while forces are, the accelerations and reactions themselves afterwards. Everything is
worked out when first asked for and kept, so that only what a model uses is computed, once; a later stage
takes over all that does not contain stand-ins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.block import Equations
from blocks.contract.user_lines import warn_user
from plant.elements import (
    FORCES,
    Control_Diff,
    Control_PlantInput,
    Control_PlantOutput,
    Element,
    Force,
    Inertia_Wheel,
    Model,
    Reference_Array,
    Reference_Spline,
    Reference_Variable,
    Sensor_Evaluate,
    UserSubroutine,
)
from plant.equations.controls import Controls
from plant.equations.filters import Inputs
from plant.equations.instants import Instants
from plant.equations.lookup import asked, listed
from plant.equations.outcome import Outcome
from plant.equations.reaction_functions import CONSTRAINT_FUNCTIONS, SUMS
from plant.equations.role import Role
from plant.equations.setting import Setting
from plant.equations.variable_unknowns import VariableUnknowns
from plant.equations.wheels import Wheels
from plant.expressions.corners import norm
from plant.expressions.expression import Expression
from plant.expressions.formulas import Formulas, Key
from plant.expressions.recursion import RecursionGuard, name_of
from plant.expressions.scope import MarkerState, Refusal, Scope
from plant.expressions.splines import SplineData
from plant.forces.wrench import Applied, Spin
from plant.mechanics.kinematics import Kinematics
from plant.mechanics.mechanism import GROUND
from plant.mechanics.motion import MotionDerivatives, Roots
from plant.mechanics.turning import Turning
from plant.reporting import PlantWarning
from plant.routines.access import spline_of
from plant.routines.constraint_routines import constraint_value
from plant.routines.subroutines import component, outcome
from plant.tunables import Tunables

NOTHING = ca.SX(3, 1)
Sliding = Callable[[ca.SX, ca.SX, ca.SX, str], ca.SX | None]


def never(v: ca.SX, below: ca.SX, above: ca.SX, text: str) -> None:
    """`Scope.sliding` where nothing slides."""


@dataclass(frozen=True, eq=False)
class PlantDeclarations:
    """States, parameters and memories of a plant that all stages of its equations share.

    b : Equations             where instants, memories and terms are declared
    model : Model             the elements
    formulas : mapping        (element type, id, attribute) -> parsed expression
    inputs : Inputs           symbols of the variables that plant inputs set
    integrals : mapping       Reference_Variable id -> state, of those in dot_form
    numbers : Tunables        numeric attributes as run-time parameters
    controls : Controls       states and outputs of control elements
    wheels : Wheels           states of inertia wheels
    instants : Instants       where functions of TIME jump
    unknowns : VariableUnknowns   of variables that solve an equation
    roles : mapping           Reference_Variable id -> its role
    trust : bool              user subroutines may run
    """

    b: Equations
    model: Model
    formulas: Formulas
    inputs: Inputs
    integrals: Mapping[int, ca.SX]
    numbers: Tunables
    controls: Controls
    wheels: Wheels
    instants: Instants
    unknowns: VariableUnknowns
    roles: Mapping[int, Role]
    trust: bool = False
    used: set[Key] = field(default_factory=set)  # formulas that were asked for so far


class Quantities:
    """Answers expressions and elements in one stage of a plant's equations: a `Setting`.

    Parameters
    ----------
    declared : Declared
    kinematics : Kinematics   the stage before
    outcome : callable        (Setting) -> what this stage knows of the solution
    earlier : Quantities      a stage whose values hold here too, but for those that contain stand-ins
    qdd : list of (nv, 1)     accelerations of all joints, where they are known
    sliding : callable        `Scope.sliding` in this stage
    """

    def __init__(
        self,
        declared: PlantDeclarations,
        kinematics: Kinematics,
        outcome: Callable[[Setting], Outcome],
        earlier: Quantities | None = None,
        qdd: list[ca.SX] | None = None,
        sliding: Sliding = never,
    ) -> None:
        self._declared, self._b, self.kinematics = declared, declared.b, kinematics
        self.model = declared.model
        self.inputs, self.trust = declared.inputs, declared.trust
        self._markers: dict[int, MarkerState] = {}
        self._variables: dict[int, ca.SX] = {}
        self._kept: dict[tuple[Any, ...], ca.SX] = {}
        self._wrenches: dict[tuple[str, int], Applied] = {}
        self._under_way: list[str] = []  # elements whose values are being found, to see recursion
        self._sliding = sliding
        self.motion = MotionDerivatives(kinematics.tree, kinematics.time, self._states(), qdd, self._roots)
        if earlier is not None:
            self._take_over(earlier)
        self._outcome = outcome(self)

    def _states(self) -> list[tuple[ca.SX, Callable[[], ca.SX]]]:
        """Further states that change in time, with their rates."""
        declared = self._declared
        sums = [
            (z, lambda id=id: self.given(asked(self.model, Reference_Variable, id)))
            for id, z in declared.integrals.items()
        ]
        drifts = [(y, lambda rate=rate: rate) for y, rate in self.inputs.drifts]
        return [*sums, *declared.controls.states(self), *declared.wheels.states(self), *drifts]

    def _take_over(self, earlier: Quantities) -> None:
        waits = earlier._outcome.waits
        self._variables = {key: value for key, value in earlier._variables.items() if not waits(value)}
        self._kept = {key: value for key, value in earlier._kept.items() if not waits(value)}
        for key, applied in earlier._wrenches.items():
            if not any(waits(ca.vertcat(w.F, w.T)) for w in applied):
                self._wrenches[key] = applied

    # --- what elements ask --------------------------------------------------------------------------------
    def expression(self, element: Element, attribute: str) -> ca.SX:
        """Value of an expression attribute; its parts are named for when they are not finite."""
        found = self.formula(element, attribute)
        if found is None:
            return self._scripted(element, attribute)
        value, terms = found.evaluate_with_terms(self)
        for text, column, term in terms:
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
        """Value (n, 1) of an element's user subroutine in terms of the symbols of `scope`."""
        return constraint_value(self, self._b, element, scope, given)

    def once(self, key: tuple[Any, ...], make: Callable[[], ca.SX]) -> ca.SX:
        """A value that is worked out when first asked for."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def number(self, element: Element, attribute: str) -> Any:
        """Value of a numeric attribute: a tunable symbol, or 0.0."""
        return self._declared.numbers(element, attribute)

    def watch(self, text: str, value: ca.SX) -> None:
        """Name a value, so that it is found when it is not finite.

        One with stand-ins is left to the stage that has what they stand for.
        """
        finite = value.is_constant() and np.isfinite(ca.DM(value).full()).all()
        if not finite and not self.waits(value):
            self._b.term(text, value)

    def waits(self, value: ca.SX) -> bool:
        """Whether a value contains stand-ins for accelerations, reactions or multipliers."""
        return self._outcome.waits(value)

    def spun(self, id: int) -> Spin:
        """What turns an Inertia_Wheel."""
        return self._declared.wheels.spun(self, asked(self.model, Inertia_Wheel, id))

    def wrenches(self, force: Force) -> Applied:
        """What a force applies."""
        key = (force.tag, force.id)
        if key not in self._wrenches:
            with self.finding(force):
                self._wrenches[key] = force.apply(self)
        return self._wrenches[key]

    def formula(self, element: Element, attribute: str) -> Expression | None:
        """The expression of an attribute, where it is given."""
        key = element.tag, element.id, attribute
        self._declared.used.add(key)
        return self._declared.formulas.get(key)

    @property
    def used(self) -> list[Expression]:
        """The expressions that were asked for, in any stage."""
        return [f for key, f in self._declared.formulas.items() if key in self._declared.used]

    def role(self, id: int) -> Role:
        """How the value of a Reference_Variable comes about."""
        return self._declared.roles.get(asked(self.model, Reference_Variable, id).id, Role.EXPLICIT)

    def equation(self, variable: Reference_Variable) -> ca.SX:
        """What has to be zero for a variable that solves an equation."""
        return self.once(("equation", variable.id), lambda: self._declared.unknowns.equation(self, variable))

    def _roots(self, g: ca.SX) -> Roots:
        """Unknowns an expression depends on."""
        roots = self._declared.unknowns.among(self, g)
        if self._outcome.waits(roots.R):
            raise Refusal(
                "it depends on an implicit variable whose equation contains accelerations or forces"
            )
        return roots

    # --- what expressions ask -------------------------------------------------------------------------
    @property
    def time(self) -> ca.SX:
        """Simulated time."""
        return self.kinematics.time

    def marker(self, id: int) -> MarkerState:
        """Pose and motion of a marker in the ground frame."""
        if id not in self._markers:
            fixed = self.kinematics.link(id) == GROUND
            a, al = (NOTHING, NOTHING) if fixed else self._outcome.accelerations(id)
            self._markers[id] = replace(self.kinematics.marker(id), a=a, al=al)
        return self._markers[id]

    def angle(self, turning: Turning, i: int, j: int, principal: ca.SX) -> ca.SX:
        """AX, AY, AZ with turns counted."""
        return self.kinematics.angle(turning, i, j, principal)

    def variable(self, id: int) -> ca.SX:
        """VARVAL: a plant input, an integral, a multiplier, an unknown, or the expression of the variable."""
        if id in self._variables:
            return self._variables[id]
        role, declared = self.role(id), self._declared
        if role is Role.GIVEN:
            return self.inputs.values[id] if id in self.inputs.values else declared.integrals[id]
        if role is Role.CONSTRAINT:
            return self._outcome.multiplier(id)
        unknown = declared.unknowns.get(id)
        if unknown is not None:
            return unknown
        variable = asked(self.model, Reference_Variable, id)
        if role is Role.EQUATION:
            return declared.unknowns.new(variable, itself=False)
        if role is Role.ITSELF or (self._under_way and self._under_way[-1] == name_of(variable)):
            self._warn(
                f"{variable.where}: is defined by itself; solved as an equation by Newton's method. "
                'Write it with is_implicit="true" to say so.'
            )
            return declared.unknowns.new(variable, itself=True)
        with self.finding(variable):
            value = self.given(variable)
        unknown = declared.unknowns.get(id)  # one whose subroutine asks for itself has become one
        self._variables[id] = value if unknown is None else unknown
        return self._variables[id]

    @staticmethod
    def _warn(text: str) -> None:
        warn_user(text, PlantWarning)

    def array(self, id: int, k: int) -> ca.SX:
        """ARYVAL of an array of inputs (U) or numbers (IC)."""
        array = asked(self.model, Reference_Array, id)
        if array.type in ("X", "Y"):
            return self._declared.controls.array(self, array, k)
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
        return self._declared.controls.state(asked(self.model, Control_Diff, id).id)

    def state_rate(self, id: int) -> ca.SX:
        """DIF1."""
        diff = asked(self.model, Control_Diff, id)
        with self.finding(diff):
            return self._declared.controls.state_rate(self, id)

    def plant_input(self, id: int, k: int) -> ca.SX:
        """PINVAL."""
        return self.variable(listed(self.model, Control_PlantInput, id, k))

    def plant_output(self, id: int, k: int) -> ca.SX:
        """POUVAL: the present value of the variable."""
        return self.variable(listed(self.model, Control_PlantOutput, id, k))

    def sensor(self, id: int) -> ca.SX:
        """SENVAL."""
        return self._declared.controls.stored(asked(self.model, Sensor_Evaluate, id).id)

    def wheel(self, id: int) -> tuple[ca.SX, ca.SX]:
        """WHEELH and WHEELW."""
        wheels, wheel = self._declared.wheels, asked(self.model, Inertia_Wheel, id)
        return wheels.momentum(self, wheel), wheels.rate(self, wheel)

    def spline(self, id: int) -> SplineData:
        """Points of a spline."""
        return spline_of(self.model, asked(self.model, Reference_Spline, id).id)

    def force(self, function: str, ids: tuple[int, ...]) -> ca.SX:
        """Component of what an element applies, or of the sum over all elements between two markers."""
        if function in CONSTRAINT_FUNCTIONS and self._is_off(CONSTRAINT_FUNCTIONS[function], ids[0]):
            return ca.SX(0)
        if function in CONSTRAINT_FUNCTIONS or function in SUMS:
            return self._outcome.reaction(function, ids)
        id, jflag, comp, frame = (*ids, 0)[:4]
        kinds = [kind for kind in FORCES if function in kind.readers]
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
        whole = wrench.F if comp <= 4 else wrench.torque_about(self.marker(wrench.marker).r)
        if comp in (1, 5):
            return norm(whole)
        return ca.dot(whole, self.marker(frame).A[:, (comp - 2) % 4])

    def _is_off(self, kinds: Iterable[type[Element]], id: int) -> bool:
        """Whether the element that is asked for is there, but not active: it does nothing."""
        known = [self.model.elements.get(kind.tag, {}).get(id) for kind in kinds]
        found = [element for element in known if element is not None]
        return bool(found) and not any(element.is_active for element in found)

    def sliding(self, v: ca.SX, below: ca.SX, above: ca.SX, text: str) -> ca.SX | None:
        """The value of a force that jumps with the sign of a velocity while it holds the velocity at zero."""
        return self._sliding(v, below, above, text)

    def passed(self, times: tuple[float, ...]) -> ca.SX:
        """How many of these instants are over."""
        return self._declared.instants.passed(times)

    # --- inside ---------------------------------------------------------------------------------------
    def finding(self, element: Element) -> RecursionGuard:
        """While the value of an element is found; asking for it again is a recursive definition."""
        return RecursionGuard(self._under_way, element)
