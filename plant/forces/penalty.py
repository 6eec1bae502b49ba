"""Penalty forces: F = -penalty g - penalty1 g' along the gradient of g, for Force_Penalty and soft variables.

Force_Penalty may be unilateral: it then acts while g > 0 only, and its factors are ramped up with
w = STEP(g, 0, 0, smoothing_factor, 1). Without a smoothing factor w jumps at g = 0. F is not clamped: while
a contact opens, penalty1 can pull. A Reference_Variable with autobalance PENALTY gives the same force,
bilateral.

Source: MotionSolve reference guide, Force_Penalty (comments 2-4; its comment 4 prints `penalty` for both
factors, penalty1 is meant) and Reference_Variable (comment 3).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import casadi as ca

from blocks.contract.user_lines import warn_user
from blocks.errors import ModelError
from plant.constraints.local import Local
from plant.elements import Force_Penalty, Reference_Variable
from plant.elements.forces.force import Store
from plant.equations.local_scope import LocalScope
from plant.equations.role import Role
from plant.equations.setting import Setting
from plant.expressions.functions.general import step
from plant.expressions.scope import MarkerState, Refusal
from plant.mechanics.applied import Penalties, Penalty
from plant.reporting import PlantWarning


def penalties_of(setting: Setting) -> dict[tuple[str, int], Penalty]:
    """Every penalty force by (element type, id); its source is the element."""
    model = setting.model
    elements: list[Force_Penalty | Reference_Variable] = [*model.all(Force_Penalty), *_soft(setting)]
    found = {}
    for element in elements:
        penalty = found[element.tag, element.id] = _penalty(setting, element)
        setting.watch(f"{element.where}, force", penalty.F)
    return found


def _soft(setting: Setting) -> list[Reference_Variable]:
    """Variables that are soft constraints."""
    every = setting.model.all(Reference_Variable)
    return [v for v in every if v.is_implicit and setting.role(v.id) is Role.EXPLICIT]


def penalty_torques(setting: Setting, penalties: Penalties) -> dict[int, ca.SX]:
    """(nv, 1) generalized force of all penalties on each link's joint, by link number: (g_q N)^T F."""
    found: dict[int, ca.SX] = {}
    for penalty in penalties.values():
        try:
            directions = setting.motion.gradient(penalty.g)
        except Refusal as reason:
            where = penalty.source.where
            raise ModelError(f"{where}: its force has no direction: {reason}.", path=where) from None
        _mention_direction(setting, penalty, directions)
        for link, direction in enumerate(directions):
            if direction.nnz():
                tau = direction * penalty.F
                found[link] = found[link] + tau if link in found else tau
    return found


def _mention_direction(setting: Setting, penalty: Penalty, directions: Sequence[ca.SX]) -> None:
    """Warn of a penalty that exerts nothing, or less than its g suggests."""
    where = penalty.source.where
    exerts = any(direction.nnz() for direction in directions)
    if exerts and setting.motion.moves_with_rates(
        penalty.g
    ):  # components along axes of a body are present, and zero
        local, g = _local(setting, penalty)
        exerts = local.displaces(g)
    if not exerts:
        warn_user(
            f"{where}: exerts no force, because its g does not depend on displacements, along whose "
            "gradient it would act. Write g with displacements, or apply a Force_Vector_TwoBody.",
            PlantWarning,
        )
    elif setting.waits(penalty.g):
        warn_user(
            f"{where}: its g contains accelerations or forces; the force acts along the gradient with "
            "respect to displacements only. Leave them out, or apply a Force_Vector_TwoBody.",
            PlantWarning,
        )


def penalty_wrenches(setting: Setting, penalties: Penalties) -> dict[int, tuple[ca.SX, ca.SX]]:
    """Force and torque (3, 1) of all penalties on the bodies of the markers in their expressions.

    marker -> (F, T), at the marker's origin and along ground axes: the gradient of g with respect to the
    marker's place and small rotation, times the force factor. They are the same generalized forces as
    `penalty_torques`, with their points of application. An expression with velocities has none.
    """
    found: dict[int, tuple[ca.SX, ca.SX]] = {}
    for penalty in penalties.values():
        local, g = _local(setting, penalty)
        if local.moves(g):
            continue
        slopes = local.wrenches(local.rate(g))
        parts = local.closed([part for pair in slopes.values() for part in pair])
        for marker, c, t in zip(slopes, parts[0::2], parts[1::2], strict=True):
            F, T = ca.SX(c.T @ penalty.F), ca.SX(t.T @ penalty.F)
            before = found.get(marker, (ca.SX(3, 1), ca.SX(3, 1)))
            found[marker] = before[0] + F, before[1] + T
    return found


def _local(setting: Setting, penalty: Penalty) -> tuple[Local, ca.SX]:
    """g as a function of markers that are symbols."""
    local = Local(setting.kinematics, lambda id: _at_rest(setting, id), setting.inputs.drifts)
    scope = LocalScope(setting, local, states_move=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlantWarning)  # warnings about its subroutine were shown before
        return local, scope.value(penalty.source)


def _at_rest(setting: Setting, id: int) -> MarkerState:
    return replace(setting.kinematics.marker(id), a=ca.SX(3, 1), al=ca.SX(3, 1))


def _penalty(setting: Setting, element: Force_Penalty | Reference_Variable) -> Penalty:
    g = setting.variable(element.id) if isinstance(element, Reference_Variable) else setting.given(element)
    stiffness, damping = setting.number(element, "penalty"), setting.number(element, "penalty1")
    if isinstance(damping, ca.SX):
        try:
            rate = setting.motion.rate(g)
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
            F = step(g, ca.SX(0), 0, setting.number(element, "smoothing_factor"), 1) * F
    return Penalty(element, g, rate, ca.SX(F))


def stored(penalty: Penalty, setting: Setting) -> Store:
    """Energy of a penalty: 1/2 p g^2, or p times the integral of w(s) s, and w penalty1 g'^2."""
    element: Force_Penalty | Reference_Variable = penalty.source
    p, c = setting.number(element, "penalty"), setting.number(element, "penalty1")
    g, rate = penalty.g, setting.motion.rate(penalty.g)
    if not (isinstance(element, Force_Penalty) and element.unilateral):
        return Store(ca.SX(p * g * g / 2), p * g * rate, ca.SX(c * rate * rate))
    if element.smoothing_factor is None:
        w, whole = ca.SX(g > 0), ca.if_else(g > 0, g * g / 2, 0)
    else:
        L = setting.number(element, "smoothing_factor")
        s = ca.fmin(ca.fmax(g / L, 0), 1)
        w = s * s * (3 - 2 * s)
        whole = L * L * s**4 * (0.75 - 0.4 * s) + ca.if_else(g > L, (g * g - L * L) / 2, 0)
    return Store(ca.SX(p * whole), w * p * g * rate, ca.SX(w * c * rate * rate))
