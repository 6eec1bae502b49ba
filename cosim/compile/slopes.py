"""How fast expressions change along the solution, and `slope` memories replaced by exactly that."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from blocks.errors import BlockError


def along(g: ca.SX, t: ca.SX, x: ca.SX, derivative: ca.SX, w: ca.SX, residual: ca.SX) -> ca.SX:
    """dg/dt where x' = derivative, algebraic unknowns moving with it; delayed signals are at rest.

    The first unknowns of w make the residual zero, and keep doing so.
    """
    rate = ca.jtimes(g, x, derivative) + ca.jtimes(g, t, ca.SX(1))
    n = residual.numel()
    if n == 0:
        return rate
    z, r = w[:n], residual
    drift = ca.jtimes(r, x, derivative) + ca.jtimes(r, t, ca.SX(1))
    return rate - ca.mtimes(ca.jacobian(g, z), ca.solve(ca.jacobian(r, z), drift))


class Slopes:
    """Stand-ins for slopes, and what they stand for once all derivatives are known."""

    def __init__(self, names: Sequence[str], symbols: ca.SX, values: ca.SX) -> None:
        self._names, self._symbols, self._values = list(names), symbols, values

    def found(self, t: ca.SX, x: ca.SX, derivative: ca.SX, w: ca.SX, residual: ca.SX) -> ca.SX:
        """The slopes themselves, (n,).

        Raises
        ------
        BlockError     one that depends on itself, through the derivative of a state it gives
        """
        rates = along(self._values, t, x, derivative, w, residual)
        found = rates
        for _ in self._names:
            if not ca.depends_on(found, self._symbols):
                return found
            found = ca.substitute(found, self._symbols, rates)
        if ca.depends_on(found, self._symbols):
            names = ", ".join(f"'{name}'" for name in self._names)
            raise BlockError(
                f"slopes depend on themselves: {names}.",
                hint="Take the slope of a signal that does not depend on the state whose derivative it is.",
            )
        return found

    def __bool__(self) -> bool:
        return bool(self._names)

    def uses(self, expression: ca.SX) -> bool:
        """Does an expression depend on a slope?"""
        return bool(ca.depends_on(expression, self._symbols))

    def put(self, expression: ca.SX, slopes: ca.SX) -> ca.SX:
        """An expression with the slopes in the place of what stands for them."""
        return ca.substitute(expression, self._symbols, slopes)
