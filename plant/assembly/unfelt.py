"""Conditions that exert no force on any body, whatever their multiplier: no force can make them 0."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import casadi as ca
import numpy as np

from plant.assembly.failed_routines import not_met
from plant.constraints.closure import Closure
from plant.mechanics.spatial import skew


def pulls(closure: Closure, rows: Sequence[int], size: float) -> ca.SX:
    """(len(rows), 1) size of the loads that conditions exert on the bodies per unit multiplier.

    What a condition exerts on two markers of one body cancels: as with a motion by its own coordinate.

    size : m    by which forces are made comparable with torques
    """
    forces: dict[Hashable, tuple[ca.SX, ca.SX]] = {}
    description, n = closure.mechanics.mechanism.description, len(rows)
    for id, (c, t) in closure.wrenches.items():
        body = description.point(id)[0]
        if body != description.ground:
            F, T = c[list(rows), :], t[list(rows), :]
            before = forces.get(body, (ca.SX(n, 3), ca.SX(n, 3)))
            forces[body] = before[0] + F, before[1] + T + (skew(closure.origin(id)) @ F.T).T
    total = ca.SX(n, 1)
    for F, T in forces.values():
        total += size**2 * ca.sum2(F * F) + ca.sum2(T * T)
    return ca.sqrt(total)


def refuse_unfelt(closure: Closure, rows: np.ndarray) -> None:
    """Raise for the first of these conditions, if there is one.

    Raises
    ------
    ModelError    naming its element
    """
    for k in rows:
        condition = closure.conditions[k]
        where, what = condition.constraint.where, "displacement"
        hint = "One that holds on one side only is a force: IMPACT, BISTOP, a unilateral Force_Penalty."
        if condition.moving:
            what = "velocity, though it asks for some,"
            hint = "One on displacements asks for no velocity, in its subroutine neither; "
            hint += (
                "one curved in velocities needs initial ones (v_ic_x, w_ic_z, ...) near those it asks for."
            )
        fault = f"its {condition.text} changes with no {what} near the start, so no force can make it 0"
        if condition.driven:
            fault = "its expression follows the driven coordinate itself, and so drives nothing"
            hint = "Write the motion with TIME and other coordinates."
        raise not_met(where, fault, hint)
