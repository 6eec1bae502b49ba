"""Is an operating point at rest or in steady motion, so that the linear model describes its stability?

The eigenvalues of A = df/dx belong to a system only where f = 0. In other coordinates y(x) the matrix is
Y A Y^-1 + Y' Y^-1, with Y = dy/dx and Y' its rate along the motion: the second part is 0 at rest. It is 0
as well in a motion that is a straight line in both coordinates, x = x0 + f t with one A everywhere on it: a
rotor whose angle grows, a wheel that rolls. Then x'' = A f = 0. A body's position on a circle, or the
direction of a rail that turns, are no such coordinates.

Source: Hirsch, Smale and Devaney, Differential Equations, Dynamical Systems, and an Introduction to Chaos,
2nd ed., section 8.2 (linearisation about equilibria).
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from blocks.contract.user_lines import warn_user
from cosim.analysis.operating import SystemAtPoint, static_of

STEADY = 1e-6  # of the largest |A| |f|, or |A|: below it nothing changes
ROUNDING = 1e-12  # of |A| times |f|, where what is left of both is the rounding of an equilibrium
AT_REST = 1e-9  # rates below it are a body at rest, as `trim` has it: what friction holds creeps by rounding
AHEAD = 0.1  # rad or length: how far along the motion A is looked at again


class MovingPointWarning(UserWarning):
    """A linear model about a point of an unsteady motion depends on the choice of coordinates."""


def mention_unsteady(model: SystemAtPoint) -> None:
    """Warn where velocities of a mechanism are not zero and its motion is not steady in its coordinates."""
    s, x = model.system, model.context.x
    slots = [slot for slot in s.states.values() if static_of(slot) == "zero"]
    if not any(np.any(x[slot.index]) for slot in slots):
        return
    a = model.continuous()[0].copy()  # what it gives is overwritten when it is asked again
    function = s.function("derivative at a point", lambda: [ca.densify(s.derivative)])
    f = np.array(function(*model.arguments()), dtype=float).ravel()
    moving = {slot.path for slot in slots}
    places = np.concatenate([slot.index for slot in s.states.values() if slot.path in moving])
    if np.abs(f[places]).max() <= AT_REST:
        return
    change = np.abs(a @ f)[places]
    rounding = ROUNDING * np.abs(a).max() * np.abs(f[places]).max()
    if change.max() <= max(STEADY * (np.abs(a) @ np.abs(f))[places].max(), rounding):
        change = _changes(model, a, f, places)
        if change.max() <= STEADY * np.abs(a).max():
            return
    first = [k for k in np.argsort(-change)[:3] if change[k] > 0.0]
    worst = ", ".join(model.state_names[places[k]] for k in first)
    warn_user(
        f"'{s.name}' is linearised in the middle of an unsteady motion: velocities are not zero, and the "
        f"motion of {worst} changes, so the linear model and its eigenvalues depend on the choice "
        "of coordinates. Linearise at rest, or in a steady motion with coordinates whose rates stay constant "
        'in it (coordinates="joint": the angle of a rotor, the travel of a wheel).',
        MovingPointWarning,
    )


def _changes(model: SystemAtPoint, a: np.ndarray, f: np.ndarray, places: np.ndarray) -> np.ndarray:
    """By how much the rows of A at `places` change a little further along the motion x0 + f t."""
    x, before = model.context.x, model.context.x.copy()
    fastest = np.abs(f[places]).max()
    if not fastest > 0.0:
        return np.zeros(len(places))
    x[places] += AHEAD / fastest * f[places]
    try:
        later = model.continuous()[0]
    finally:
        x[:] = before
        model.find_unknowns()
    return np.abs(later - a)[places].max(axis=1)
