"""The call with which a block says which equations some of its values solve."""

from __future__ import annotations

from collections.abc import Callable

from blocks.contract.declared import ImplicitSolution
from blocks.contract.event_equations import EventEquations


class SolvingEquations(EventEquations):
    """The part of `Equations` that is about values found by solving equations inside their expressions."""

    def implicit_solution(self, make: Callable[[], ImplicitSolution]) -> None:
        """Say which equations some values solve, so that Jacobians need not differentiate how they are found.

        Stiff integrators use dy = -(dr/dy)^-1 dr (implicit function theorem) in place of the derivative of an
        elimination, which has many times its operations. Results are the same up to rounding.

        make : called where a Jacobian is wanted; other expressions of the block use the very expressions in
        `ImplicitSolution.solution`
        """
        self._implicit.append(make)
