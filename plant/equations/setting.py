"""What elements ask a plant for while their equations are written, besides what expressions do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import casadi as ca

from plant.elements import Element, Inertia_Wheel, Model, Reference_Variable, UserSubroutine
from plant.equations.filters import Inputs
from plant.equations.role import Role
from plant.expressions.expression import Expression
from plant.expressions.recursion import RecursionGuard
from plant.expressions.scope import Scope
from plant.forces.wrench import Applied, Spin
from plant.mechanics.kinematics import Kinematics
from plant.mechanics.motion import MotionDerivatives


class Setting(Scope, Protocol):
    """A stage of a plant's equations as its elements see it."""

    @property
    def kinematics(self) -> Kinematics:
        """The stage before: links and markers."""
        ...

    @property
    def model(self) -> Model:
        """The elements."""
        ...

    @property
    def motion(self) -> MotionDerivatives:
        """Derivatives along the motion."""
        ...

    @property
    def inputs(self) -> Inputs:
        """Variables that plant inputs set."""
        ...

    @property
    def trust(self) -> bool:
        """User subroutines may run."""
        ...

    # --- attributes -----------------------------------------------------------------------------------
    def expression(self, element: Element, attribute: str) -> ca.SX:
        """Value of an attribute that holds an expression; 0 where it is not given."""
        ...

    def given(self, element: Element) -> ca.SX:
        """What ``expr`` or the subroutine of an element gives."""
        ...

    def formula(self, element: Element, attribute: str) -> Expression | None:
        """The expression of an attribute, where it is given."""
        ...

    def role(self, id: int) -> Role:
        """How the value of a Reference_Variable comes about."""
        ...

    def equation(self, variable: Reference_Variable) -> ca.SX:
        """What has to be zero for a variable that solves an equation."""
        ...

    def subroutine(self, element: UserSubroutine, *given: ca.SX, order: int = 0) -> ca.SX:
        """Outcome (n, 1) of an element's user subroutine, which also takes the given vectors.

        order : of the derivative a MOTSUB is to give
        """
        ...

    def constraint(self, element: UserSubroutine, scope: Scope, *given: ca.SX) -> ca.SX:
        """Value (n, 1) of an element's user subroutine in terms of the symbols of `scope`."""
        ...

    def number(self, element: Element, attribute: str) -> Any:
        """Value of a numeric attribute: a tunable (1, 1) symbol, or 0.0 where it is zero."""
        ...

    # --- elements -------------------------------------------------------------------------------------
    def wrenches(self, element: Element) -> Applied:
        """What a force element applies."""
        ...

    def spun(self, wheel: Inertia_Wheel) -> Spin:
        """What turns a wheel."""
        ...

    # --- keeping --------------------------------------------------------------------------------------
    def once(self, key: tuple[Any, ...], make: Callable[[], ca.SX]) -> ca.SX:
        """A value that is worked out when first asked for."""
        ...

    def watch(self, text: str, value: ca.SX) -> None:
        """Name a value, so that it is found when it is not finite."""
        ...

    def waits(self, value: ca.SX) -> bool:
        """Whether a value contains stand-ins for accelerations, reactions or multipliers."""
        ...

    def finding(self, element: Element) -> RecursionGuard:
        """While the value of an element is found; asking for it again is a recursive definition."""
        ...
