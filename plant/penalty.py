"""Penalty forces: F = -penalty g - penalty1 g' along the gradient of g, for Force_Penalty and soft variables.

Force_Penalty may be unilateral: it then acts while g > 0 only, and its factors are ramped up with
w = STEP(g, 0, 0, smoothing_factor, 1). Without a smoothing factor w jumps at g = 0. F is not clamped: while
a contact opens, penalty1 can pull. A Reference_Variable with autobalance PENALTY gives the same force,
bilateral.

Source: MotionSolve reference guide, Force_Penalty (comments 2-4; its comment 4 prints `penalty` for both
factors, penalty1 is meant) and Reference_Variable (comment 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca

from blocks.errors import ModelError
from plant.elements import Control_PlantInput, Force_Penalty, Model, Reference_Variable
from plant.functions.general import step
from plant.scope import Refusal

if TYPE_CHECKING:
    from plant.evaluation import Evaluation


@dataclass(frozen=True, eq=False)
class Penalty:
    """One penalty force, all (1, 1): violation g, its rate along the motion, and the force factor F."""

    g: ca.SX
    rate: ca.SX
    F: ca.SX


def soft_variables(model: Model) -> list[Reference_Variable]:
    """Variables that are soft constraints; those a plant input sets are not."""
    driven = {id for port in model.all(Control_PlantInput) for id in port.variable_id_list}
    return [
        v
        for v in model.all(Reference_Variable)
        if v.is_implicit and v.autobalance == "PENALTY" and v.id not in driven
    ]


def penalty_torques(values: Evaluation) -> dict[int, ca.SX]:
    """(nv, 1) generalized force of all penalties on each link's joint, by link number: (g_q N)^T F."""
    model = values.model
    found: dict[int, ca.SX] = {}
    elements: list[Force_Penalty | Reference_Variable] = [*model.all(Force_Penalty), *soft_variables(model)]
    for element in elements:
        penalty = _penalty(values, element)
        values.penalties[element.tag, element.id] = penalty
        values.watch(f"{element.where}, force", penalty.F)
        for link, direction in enumerate(values.motion.gradient(penalty.g)):
            if direction.nnz():
                tau = direction * penalty.F
                found[link] = found[link] + tau if link in found else tau
    return found


def _penalty(values: Evaluation, element: Force_Penalty | Reference_Variable) -> Penalty:
    g = values.variable(element.id) if isinstance(element, Reference_Variable) else values.given(element)
    stiffness, damping = values.number(element, "penalty"), values.number(element, "penalty1")
    if isinstance(damping, ca.SX):
        try:
            rate = values.motion.rate(g)
        except Refusal as reason:
            raise ModelError(
                f"{element.where}: penalty1 needs the rate of the constraint, but {reason}.",
                path=element.where,
                hint="Write the constraint with displacements, or leave penalty1 out.",
            ) from None
    else:
        rate = ca.SX(0)
    F = -stiffness * g - damping * rate
    if isinstance(element, Force_Penalty) and element.unilateral:
        if element.smoothing_factor is None:
            F = ca.if_else(g > 0, F, 0)
        else:
            F = step(g, ca.SX(0), 0, values.number(element, "smoothing_factor"), 1) * F
    return Penalty(g, rate, ca.SX(F))
