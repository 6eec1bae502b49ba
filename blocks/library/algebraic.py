"""Unknowns that solve an equation written as a diagram."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations

__all__ = ["AlgebraicConstraint"]


@dataclass(frozen=True)
class AlgebraicConstraint(Block):
    """Find the signal that makes another one zero.

    Output: z with f = 0, where the input f depends on z through the diagram: directly, not through states,
    delays or samples only. Found by Newton's method with exact derivatives at every evaluation, from the
    newest accepted solution on.
    Direct feedthrough: none.

    guess : number or (n,), unit of z, where Newton's method starts; run-time initial value

    Use::

        balance = d.add("balance", AlgebraicConstraint(1.0))
        d.connect(source["y"], balance["f"])
    """

    guess: ArrayLike = 0.0

    def __post_init__(self) -> None:
        checks.assign(self, guess=checks.numbers(self, "guess"))

    def port_name(self, name: str) -> str:
        """The input may be called u, f(z) or residual, the output y."""
        return {"u": "f", "f(z)": "f", "residual": "f", "y": "z"}.get(name, name)

    def define(self, b: Equations) -> None:
        """Declare ports, the unknown and what must be zero."""
        f = b.input("f", size=np.size(self.guess))
        z = b.algebraic("z", self.guess)
        b.residual(f)
        b.output("z", z)
