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
    description = closure.mechanics.mechanism.description
    bodies = {id: description.point(id)[0] for id in closure.wrenches}
    moved = [id for id, body in bodies.items() if body != description.ground]
    if not moved:
        return ca.SX(len(rows), 1)
    # all markers side by side: one product for all costs what its entries do
    c, t = (ca.horzcat(*[closure.wrenches[id][k] for id in moved])[list(rows), :] for k in (0, 1))
    arms = ca.diagcat(*[skew(closure.origin(id)) for id in moved])
    summed = _summed([bodies[id] for id in moved])
    F, T = c @ summed, (t + c @ arms.T) @ summed
    return ca.sqrt(size**2 * ca.sum2(F * F) + ca.sum2(T * T))


def _summed(bodies: Sequence[Hashable]) -> ca.DM:
    """(3 markers, 3 bodies) that adds up the columns of markers, three each, of one body."""
    number = {body: k for k, body in enumerate(dict.fromkeys(bodies))}
    rows = [3 * k + axis for k in range(len(bodies)) for axis in range(3)]
    columns = [3 * number[body] + axis for body in bodies for axis in range(3)]
    return ca.DM.triplet(rows, columns, ca.DM.ones(len(rows)), 3 * len(bodies), 3 * len(number))


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
