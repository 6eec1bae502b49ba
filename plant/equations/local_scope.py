"""What a deck's expressions ask of markers that are symbols: constraints and penalties are written with it.

Variables that solve an equation, and the states of integrals, keep the plant's symbols; their rates are found
here: by the implicit function theorem, and from what they integrate.
"""

from __future__ import annotations

import casadi as ca

from plant.constraints.local import Local
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
from plant.expressions.recursion import RecursionGuard, name_of
from plant.expressions.scope import MarkerState, Refusal
from plant.expressions.splines import SplineData
from plant.mechanics.turning import Turning


class LocalScope:
    """A `Scope` over local markers.

    Parameters
    ----------
    setting : Setting       answers for what depends on no marker
    local : Local           the markers, and all that is worked out from them
    states_move : bool      rates of integrals and control states are needed, and refused where they are not
                            known; else these states count as constant
    """

    def __init__(self, setting: Setting, local: Local, states_move: bool = True) -> None:
        self._setting, self.local, self._states_move = setting, local, states_move
        self.instants: dict[tuple[float, ...], ca.SX] = {}  # at which functions of TIME asked for so far jump
        self._variables: dict[int, ca.SX] = {}
        self._own: dict[int, ca.SX] = {}  # values that subroutines ask of their own variables
        self._arrays: dict[int, ca.SX] = {}
        self._under_way: list[str] = []
        self._unfollowed: list[tuple[ca.SX, Element]] = []  # states whose rates are still to be written

    @property
    def time(self) -> ca.SX:
        """Simulated time."""
        return self.local.time

    def marker(self, id: int) -> MarkerState:
        """A marker as symbols; the ground frame is what it is."""
        return self.local.marker(id)

    def angle(self, turning: Turning, i: int, j: int, principal: ca.SX) -> ca.SX:
        """The angle with turns counted."""
        return self.local.angle(turning, i, j, principal)

    def value(self, element: Element, attribute: str = "expr") -> ca.SX:
        """The value of an element's expression or subroutine; 0 where there is neither."""
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
            self._follow()
        return self._variables[id]

    def _of_variable(self, variable: Reference_Variable) -> ca.SX:
        setting, role = self._setting, self._setting.role(variable.id)
        if role in (Role.GIVEN, Role.CONSTRAINT):
            symbol = setting.variable(variable.id)
            self._variables[variable.id] = symbol  # its rate may depend on it, also through others
            if variable.dot_form and variable.id not in setting.inputs.values:
                self._integral(symbol, variable)
            return symbol
        if role is Role.EXPLICIT:
            if self._under_way and self._under_way[-1] == name_of(variable):
                # its subroutine asks for its own value; the plant has found that out, and made it an unknown
                self._own[variable.id] = setting.variable(variable.id)
                return self._own[variable.id]
            with RecursionGuard(self._under_way, variable):
                value = self.value(variable)
            v = self._own.get(variable.id)
            if v is None:
                return value
            self.local.unknown(v, value - v)
            return v
        v = self._variables[variable.id] = setting.variable(variable.id)
        # it stands for its root: no recursion goes through it
        under_way, self._under_way = (
            self._under_way,
            [],
        )
        g = self.value(variable)
        self._under_way = under_way
        self.local.unknown(v, g - v if role is Role.ITSELF else g)
        return v

    def _integral(self, x: ca.SX, element: Element) -> None:
        """x' is what the element's expression gives."""
        self.local.integral(x)
        if self._states_move:
            self._unfollowed.append((x, element))
            self._follow()

    def _follow(self) -> None:
        """Give the states their rates, once no value is being found that one of them may need."""
        while self._unfollowed and not self._under_way:
            x, element = self._unfollowed.pop()
            with RecursionGuard(self._under_way, element):
                rate = self.value(element)
            if self.local.moves(rate):
                raise Refusal(
                    f"{element.tag} {element.id} integrates velocities, so a constraint on it is one on "
                    "velocities; write a Constraint_General with what it integrates"
                )
            self.local.drift(x, rate)

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
        if self.local.is_integral(x) or not self._states_move:
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

    def sliding(self, v: ca.SX, below: ca.SX, above: ca.SX, text: str) -> ca.SX | None:
        """None: constraints and penalties jump."""
        return None

    def passed(self, times: tuple[float, ...]) -> ca.SX:
        """Instants passed."""
        self.instants[times] = self._setting.passed(times)
        return self.instants[times]
