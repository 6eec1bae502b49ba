"""The values a plant's expressions and forces ask for, as symbols: the plant's `Scope`.

Everything is made when first asked for and kept, so that only what a model uses is computed, once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from blocks.block import Equations
from blocks.errors import ModelError
from plant.dynamics.mechanism import GROUND, Mechanism, in_frame
from plant.dynamics.tree import Tree
from plant.elements import (
    Control_PlantInput,
    Control_PlantOutput,
    Element,
    Reference_Array,
    Reference_Spline,
    Reference_Variable,
)
from plant.expression import Expression
from plant.forces import FORCES, Applied
from plant.functions.corners import norm
from plant.scope import MarkerState, Refusal
from plant.spatial import constant, cross
from plant.splines import SplineData
from plant.tunables import Tunables
from plant.turns import turns_between

NOT_YET = "is not supported yet"
ROUNDING = 1e-14  # rad

FORCE_FUNCTIONS = ("SFORCE", "VFORCE", "VTORQ", "GFORCE", "BUSH", "SPDP")
NOTHING = ca.SX(3, 1)


class Evaluation:
    """Answers expressions (a `Scope`) and forces (a `Setting`) while a plant's equations are written.

    Parameters
    ----------
    b : Equations             where instants, memories and terms are declared
    tree : Tree               kinematics at the symbolic state
    expressions : mapping     (element type, id, attribute) -> parsed expression
    inputs : mapping          Reference_Variable id -> symbol of the plant input that sets it
    integrals : mapping       Reference_Variable id -> state, of those in dot_form
    numbers : Tunables        numeric attributes as run-time parameters
    """

    def __init__(
        self,
        b: Equations,
        tree: Tree,
        expressions: Mapping[tuple[str, int, str], Expression],
        inputs: Mapping[int, ca.SX],
        integrals: Mapping[int, ca.SX],
        numbers: Tunables,
    ) -> None:
        self._b, self.tree, self._expressions = b, tree, expressions
        self._inputs, self._integrals, self._numbers = inputs, integrals, numbers
        self.mechanism: Mechanism = tree.mechanism
        self.model = self.mechanism.model
        self._time = ca.SX(b.time)
        self._markers: dict[int, MarkerState] = {}
        self._angles: dict[tuple[int, int, int], ca.SX] = {}
        self._variables: dict[int, ca.SX] = {}
        self._under_way: list[str] = []  # elements whose values are being found, to see recursion
        self._instants: dict[tuple[float, ...], ca.SX] = {}
        self._wrenches: dict[tuple[str, int], Applied] = {}
        self._accelerations: list[ca.SX] | None = None
        self._gravity = NOTHING

    # --- what forces ask ------------------------------------------------------------------------------
    def expression(self, element: Element, attribute: str) -> ca.SX:
        """Value of an expression attribute; its parts are named for when they are not finite."""
        found = self._expressions.get((element.tag, element.id, attribute))
        if found is None:
            return ca.SX(0)
        value = found.evaluate(self)
        for text, column, term in found.terms(self):
            self.watch(f"{element.where}, {text} in {attribute}, column {column}", term)
        return value

    def number(self, element: Element, attribute: str) -> Any:
        """Value of a numeric attribute: a tunable symbol, or 0.0."""
        return self._numbers(element, attribute)

    def watch(self, text: str, value: ca.SX) -> None:
        """Name a value, so that it is found when it is not finite."""
        if not value.is_constant():
            self._b.term(text, value)

    def wrenches(self, element: Element) -> Applied:
        """What a force element applies."""
        key = (element.tag, element.id)
        if key not in self._wrenches:
            with self._finding(element):
                self._wrenches[key] = FORCES[type(element)](element, self)
        return self._wrenches[key]

    def accelerated(self, accelerations: list[ca.SX], gravity: ca.SX) -> None:
        """The equations of motion are solved: from now on markers have accelerations."""
        self._accelerations, self._gravity = accelerations, gravity
        self._markers.clear()

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

    def _state_of(self, id: int) -> MarkerState:
        place = self.mechanism.place(id)
        s = self.point(id)
        if place.link == GROUND:
            state = MarkerState(s, ca.SX(constant(place.A)), NOTHING, NOTHING)
            return state if self._accelerations is None else replace(state, a=NOTHING, al=NOTHING)
        A, r = self.tree.pose(place.link)
        w, v = self.tree.velocity(place.link)
        state = MarkerState(r + A @ s, A @ constant(place.A), A @ (v + cross(w, s)), A @ w)
        if self._accelerations is None:
            return state
        al, a = self.tree.point_acceleration(place.link, self._accelerations[place.link], s, self._gravity)
        return replace(state, a=a, al=al)

    def point(self, id: int) -> ca.SX:
        """(3, 1) origin of a marker in the frame of its link."""
        place = self.mechanism.place(id)
        s = ca.SX(constant(place.s))
        shift = self._numbers.shift(id)
        return s if shift is None else s + constant(self.mechanism.frame(place.link)[1].T) @ shift

    def angle(self, function: str, i: int, j: int, principal: ca.SX) -> ca.SX:
        """AX, AY, AZ with turns counted: by joint coordinates where they add up to it, else by a memory."""
        axis = "XYZ".index(function[1])
        key = (axis, i, j)
        if key not in self._angles:
            turned = self._by_coordinates(axis, i, j)
            self._angles[key] = self._by_memory(axis, i, j, principal) if turned is None else turned
        return self._angles[key]

    def _by_coordinates(self, axis: int, i: int, j: int) -> ca.SX | None:
        """The angle as a sum of joint coordinates, where all joints between turn about that axis only."""
        coefficients = turns_between(self.mechanism, axis, i, j)
        if coefficients is None:
            return None
        R = in_frame(self.model.frames[j], self.model.frames[i])[1]
        start, end = (axis + 1) % 3, (axis + 2) % 3
        offset = math.atan2(R[end, start], R[start, start])
        angle = ca.SX(0)
        for link, sign in coefficients.items():
            turn = self.mechanism.links[link].joint.turn
            assert turn is not None
            offset -= sign * float(self.mechanism.links[link].q0[turn])
            coordinate = self.tree.q[link][turn]
            angle = angle + coordinate if sign > 0 else angle - coordinate
        return angle if abs(offset) < ROUNDING else angle + offset

    def _by_memory(self, axis: int, i: int, j: int, principal: ca.SX) -> ca.SX:
        """The branch nearest to the value at the last accepted step; the principal value at the start."""

        def nearest(old: Any) -> ca.SX:
            turns = ca.floor((ca.SX(old) - principal) / (2 * math.pi) + 0.5)
            return principal + 2 * math.pi * turns

        return nearest(self._b.accepted(f"A{'XYZ'[axis]}({i},{j})", nearest, initial=0.0))

    def variable(self, id: int) -> ca.SX:
        """VARVAL: a plant input, an integral, or the expression of the variable."""
        if id in self._inputs:
            return self._inputs[id]
        if id in self._integrals:
            return self._integrals[id]
        if id not in self._variables:
            variable = self._asked(Reference_Variable, id)
            with self._finding(variable):
                self._variables[id] = self.expression(variable, "expr")
        return self._variables[id]

    def array(self, id: int, k: int) -> ca.SX:
        """ARYVAL of an array of inputs (U) or numbers (IC)."""
        array = self._asked(Reference_Array, id)
        entries: tuple[Any, ...] = array.variable_id if array.type == "U" else array.values
        if array.type in ("X", "Y"):
            raise Refusal(f"Reference_Array {id} of type {array.type} {NOT_YET}")
        if k > len(entries):
            raise Refusal(f"Reference_Array {id} has {len(entries)} entries, not {k}")
        return self.variable(entries[k - 1]) if array.type == "U" else ca.SX(entries[k - 1])

    def state(self, id: int) -> ca.SX:
        """DIF."""
        raise Refusal(f"Control_Diff {id} {NOT_YET}")

    def state_rate(self, id: int) -> ca.SX:
        """DIF1."""
        raise Refusal(f"Control_Diff {id} {NOT_YET}")

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
        raise Refusal(f"Sensor_Evaluate {id} {NOT_YET}")

    def spline(self, id: int) -> SplineData:
        """Points of a spline."""
        spline = self._asked(Reference_Spline, id)
        if not spline.x:
            raise Refusal(f"Reference_Spline {id} without points in the file {NOT_YET}")
        return SplineData(np.array(spline.x), np.array(spline.y), spline.linear_extrap, where=spline.where)

    def force(self, function: str, ids: tuple[int, ...]) -> ca.SX:
        """Component of what one force element applies; joint reactions and sums over markers come later."""
        if function not in FORCE_FUNCTIONS:
            raise Refusal(f"it {NOT_YET}; SFORCE, VFORCE, VTORQ, GFORCE, BUSH and SPDP are")
        id, jflag, comp, frame = (*ids, 0)[:4]
        kinds = [kind for kind in FORCES if _reads(function, kind)]
        element = next(
            (e for kind in kinds for e in self.model.all(kind) if e.id == id),
            None,
        )
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

    def _finding(self, element: Element) -> _Finding:
        return _Finding(self._under_way, element)


class _Finding:
    """While an element's value is found: asking for it again is a recursive definition."""

    def __init__(self, under_way: list[str], element: Element) -> None:
        self._under_way, self._name = under_way, f"{element.tag} {element.id}"
        self._where = element.where

    def __enter__(self) -> None:
        if self._name in self._under_way:
            circle = [*self._under_way[self._under_way.index(self._name) :], self._name]
            raise ModelError(
                f"{self._where}: recursive definition: {' -> '.join(circle)}.",
                path=self._where,
                hint="Take one of them out of the other's expression.",
            )
        self._under_way.append(self._name)

    def __exit__(self, *error: object) -> None:
        self._under_way.pop()


def _reads(function: str, kind: type[Element]) -> bool:
    """Whether a force function reads elements of this type."""
    names = {
        "SFORCE": ("Force_Scalar_TwoBody",),
        "BUSH": ("Force_Bushing",),
        "SPDP": ("Force_SpringDamper",),
    }
    return kind.tag in names.get(function, ("Force_Vector_TwoBody", "Force_Vector_OneBody"))
