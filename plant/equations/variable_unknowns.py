"""Reference_Variables that solve an equation: their unknowns, and the equations, which are written last.

An equation may use the accelerations its variable causes, so all of them wait until those are known. Where a
constraint or a penalty depends on such a variable, its equation is differentiated (see `Roots`), and may
depend on displacements, velocities and TIME only.
"""

from __future__ import annotations

import casadi as ca

from blocks.contract.block import Equations
from blocks.errors import ModelError
from plant.elements import Reference_Variable
from plant.equations.setting import Setting
from plant.mechanics.motion import Roots


class VariableUnknowns:
    """Algebraic unknowns v of 0 = g(v, y, t), or of v = g(v, y, t) where a variable is defined by itself."""

    def __init__(self, b: Equations) -> None:
        self._b = b
        self._known: dict[int, ca.SX] = {}
        self._open: list[tuple[Reference_Variable, bool]] = []
        self._every: dict[int, tuple[Reference_Variable, bool]] = {}

    def get(self, id: int) -> ca.SX | None:
        """The unknown of a variable, if it has been asked for."""
        return self._known.get(id)

    def new(self, variable: Reference_Variable, itself: bool) -> ca.SX:
        """Unknown of a variable; Newton's method starts from ``ic``, later from the last solution.

        itself : the equation is v = g, not 0 = g
        """
        unknown = self._b.algebraic(f"variable_{variable.id}", variable.ic, about=variable.where)
        self._known[variable.id] = ca.SX(unknown)
        self._every[variable.id] = variable, itself
        self._open.append(self._every[variable.id])
        return self._known[variable.id]

    def equation(self, setting: Setting, variable: Reference_Variable) -> ca.SX:
        """What has to be zero, (1, 1)."""
        value, v = setting.given(variable), self._known[variable.id]
        if self._every[variable.id][1]:
            return value - v
        if variable.has_subroutine and not ca.jacobian(value, v).nnz():
            raise ModelError(
                f"{variable.where}: the subroutine asks for VARVAL({variable.id}), so g = 0 is an "
                "equation for it, but what it returns does not depend on it.",
                path=variable.where,
                hint=f"Use VARVAL({variable.id}) in the result, or do not ask for it: a constraint then.",
            )
        return value

    def among(self, setting: Setting, g: ca.SX) -> Roots:
        """The unknowns an expression depends on, directly or through the equations of others."""
        found: dict[int, ca.SX] = {}
        waiting = [g]
        while waiting:
            expression = waiting.pop()
            for id, v in list(self._known.items()):
                if id not in found and ca.depends_on(expression, v):
                    found[id] = setting.equation(self._every[id][0])
                    waiting.append(found[id])
        values = ca.vertcat(ca.SX(0, 1), *[self._known[id] for id in found])
        return Roots(values, ca.vertcat(ca.SX(0, 1), *found.values()))

    def write_equations(self, setting: Setting) -> None:
        """Write down the equations of all unknowns asked for."""
        while self._open:
            self._b.residual(setting.equation(self._open.pop(0)[0]))
