"""A plant whose constraint residuals are outputs, so that a run logs them like any signal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from blocks import Block, Equations
from cosim import Diagram
from plant import Plant


@dataclass(frozen=True)
class Watched(Block):
    """The plant, and outputs `positions` and `velocities`: the residuals of its invariants at those levels.

    Unit quaternions count as positions.
    """

    plant: Plant

    def define(self, b: Equations) -> None:
        quaternions: list[ca.SX] = []
        conditions: list[ca.SX] = []  # on positions if there are any, then on velocities
        declare = b.invariant

        def invariant(expression: Any, tolerance: float | None = None, *what: Any, **named: Any) -> None:
            (quaternions if tolerance is None else conditions).append(ca.SX(expression))
            declare(expression, *([] if tolerance is None else [tolerance]), *what, **named)

        b.invariant = invariant  # type: ignore[assignment, method-assign]
        self.plant.define(b)
        nothing = ca.SX.zeros(1)
        b.output("positions", ca.vertcat(nothing, *quaternions, *conditions[:-1]))
        b.output("velocities", ca.vertcat(nothing, *conditions[-1:]))


def watched(plant: Plant) -> Diagram:
    """A diagram of it, inputs grounded."""
    d = Diagram("watched")
    d.add("plant", Watched(plant))
    for name in plant.inputs:
        d.ground(f"plant.{name}")
    return d
