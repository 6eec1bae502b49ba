"""Reference_Variables that solve an equation: their unknowns, and the equations, which are written last.

An equation may use the accelerations its variable causes, so all of them wait until those are known.
"""

from __future__ import annotations

import casadi as ca

from blocks.contract.block import Equations
from blocks.errors import ModelError
from plant.elements import Reference_Variable
from plant.equations.setting import Setting


class VariableUnknowns:
    """Algebraic unknowns v of 0 = g(v, y, t), or of v = g(v, y, t) where a variable is defined by itself."""

    def __init__(self, b: Equations) -> None:
        self._b = b
        self._known: dict[int, ca.SX] = {}
        self._open: list[tuple[Reference_Variable, bool]] = []

    def get(self, id: int) -> ca.SX | None:
        """The unknown of a variable, if it has been asked for."""
        return self._known.get(id)

    def new(self, variable: Reference_Variable, itself: bool) -> ca.SX:
        """Unknown of a variable; Newton's method starts from ``ic``, later from the last solution.

        itself : the equation is v = g, not 0 = g
        """
        self._known[variable.id] = ca.SX(self._b.algebraic(f"variable_{variable.id}", variable.ic))
        self._open.append((variable, itself))
        return self._known[variable.id]

    def settle(self, setting: Setting) -> None:
        """Write down the equations of all unknowns asked for."""
        while self._open:
            variable, itself = self._open.pop(0)
            value, v = setting.given(variable), self._known[variable.id]
            if itself:
                self._b.residual(value - v)
                continue
            if variable.has_subroutine and not ca.jacobian(value, v).nnz():
                raise ModelError(
                    f"{variable.where}: the subroutine asks for VARVAL({variable.id}), so g = 0 is an "
                    "equation for it, but what it returns does not depend on it.",
                    path=variable.where,
                    hint=f"Use VARVAL({variable.id}) in the result, or do not ask for it: a constraint then.",
                )
            self._b.residual(value)
