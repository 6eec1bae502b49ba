"""The calls with which a block says which equations some of its values solve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from blocks.contract.declared import ImplicitSolution
from blocks.contract.memories import AlgebraicUnknown
from blocks.contract.symbols import Array, column
from blocks.contract.unit_equations import UnitEquations


class SolvingEquations(UnitEquations):
    """The part of `Equations` that is about values found by solving equations."""

    def implicit_solution(self, make: Callable[[], ImplicitSolution]) -> None:
        """Say which equations some values solve, so that Jacobians need not differentiate how they are found.

        Stiff integrators use dy = -(dr/dy)^-1 dr (implicit function theorem) in place of the derivative of an
        elimination, which has many times its operations. Results are the same up to rounding.

        make : called where a Jacobian is wanted; other expressions of the block use the very expressions in
        `ImplicitSolution.solution`
        """
        self._implicit.append(make)

    def algebraic(self, name: str, guess: Any, size: int | None = None, about: str = "") -> Array:
        """Implicit unknown, found so that `residual` is zero; Newton starts from `guess`.

        about : the equation it belongs to, for messages
        """
        return self._memory(AlgebraicUnknown, name, guess, size, about=about)

    def residual(self, expression: Any) -> None:
        """Expression that the algebraic unknowns make zero; as many components in all as unknowns."""
        self._residuals.append(column(expression))
