"""Rotational springs that start more than half a turn from their free angle.

An angle read off a drawing is known up to full turns only: "free at 270 degrees" and a start at -73.5 degrees
may be meant as a spring wound by 343.5 degrees, or as one that is 16.5 degrees from rest.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np

from plant.elements import Force_SpringDamper, Model
from plant.mechanics.mechanism import GROUND, Mechanism
from plant.mechanics.turns import turns_between
from plant.reporting import PlantWarning

HALF_TURN = math.pi * (1 + 1e-9)


def mention_wound(model: Model, mechanism: Mechanism, q: Sequence[np.ndarray]) -> None:
    """Warn of each with both readings; q : (nq,) coordinates of each link at the start."""
    for spring in model.all(Force_SpringDamper):
        if spring.type != "ROTATIONAL" or not spring.stiffness:
            continue
        i, j, free = spring.i_marker_id, spring.j_marker_id, spring.length
        angle = _angle(mechanism, q, i, j)
        if abs(angle - free) <= HALF_TURN:
            continue
        turns = round((free - angle) / (2 * math.pi))
        other = angle + 2 * math.pi * turns
        torques = [-spring.stiffness * (a - free) + spring.preload for a in (angle, other)]
        times = f"{turns:+d} turn{'s' * (abs(turns) > 1)}"
        warnings.warn(
            f"{spring.where}: starts at AZ({i},{j}) = {angle:.6g} rad, {abs(angle - free):.6g} rad from its "
            f"free angle length={free:.6g}, which is more than half a turn; it exerts {torques[0]:.6g}. "
            f"Where the start is meant as {other:.6g} rad ({times}), it would exert {torques[1]:.6g}: write "
            f'length="{free - 2 * math.pi * turns:.9g}" for that.',
            PlantWarning,
            stacklevel=3,
        )


def _angle(mechanism: Mechanism, q: Sequence[np.ndarray], i: int, j: int) -> float:
    """AZ(I,J) [rad] at coordinates q, with turns counted where joint coordinates count them."""
    turns = turns_between(mechanism, "AZ", i, j)
    if turns is None:
        A_i, A_j = (_axes(mechanism, q, id) for id in (i, j))
        R = A_j.T @ A_i
        return math.atan2(R[1, 0], R[0, 0])
    angle = turns.offset
    for link, sign in turns.signs.items():
        turn = mechanism.links[link].joint.turn
        assert turn is not None  # only joints that turn about z are among them
        angle += sign * float(q[link][turn])
    return angle


def _axes(mechanism: Mechanism, q: Sequence[np.ndarray], id: int) -> np.ndarray:
    """(3, 3) axes of a marker, as columns."""
    place = mechanism.place(id)
    return place.A if place.link == GROUND else mechanism.frames_at(q)[place.link][1] @ place.A
