"""What elements ask a plant for while equations are written, besides what forces and expressions do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import casadi as ca

from plant.elements import Element, Model, Reference_Variable, UserSubroutine
from plant.elements.forces.force import Surroundings
from plant.equations.filters import Inputs
from plant.equations.role import Role
from plant.expressions.expression import Expression
from plant.expressions.recursion import RecursionGuard
from plant.expressions.scope import Scope
from plant.mechanics.kinematics import Kinematics
from plant.mechanics.motion import MotionDerivatives


class Setting(Surroundings, Protocol):
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

    def constraint(self, element: UserSubroutine, scope: Scope, *given: ca.SX) -> ca.SX:
        """Value (n, 1) of an element's user subroutine in terms of the symbols of `scope`."""
        ...

    # --- keeping --------------------------------------------------------------------------------------
    def once(self, key: tuple[Any, ...], make: Callable[[], ca.SX]) -> ca.SX:
        """A value that is worked out when first asked for."""
        ...

    def waits(self, value: ca.SX) -> bool:
        """Whether a value contains stand-ins for accelerations, reactions or multipliers."""
        ...

    def finding(self, element: Element) -> RecursionGuard:
        """While the value of an element is found; asking for it again is a recursive definition."""
        ...
