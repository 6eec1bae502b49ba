"""Rotational springs, bushings and fields that start more than half a turn from their free angle.

An angle read off a drawing is known up to full turns only: "free at 270 degrees" and a start at -73.5 degrees
may be meant as a spring wound by 343.5 degrees, or as one that is 16.5 degrees from rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from blocks.contract.user_lines import warn_user
from plant.elements import Force_Bushing, Force_Field, Force_SpringDamper, Model
from plant.mechanics.mechanism import GROUND, Mechanism
from plant.mechanics.turning import AXES
from plant.mechanics.turns import turns_between
from plant.reporting import PlantWarning

HALF_TURN = math.pi * (1 + 1e-9)


@dataclass(frozen=True)
class Wound:
    """One rotation of an element with a stiffness: -stiffness (angle - free) + preload about an axis.

    axis : 0 for x; written : what gives the free angle, as messages name it
    """

    element: Force_SpringDamper | Force_Bushing | Force_Field
    axis: int
    stiffness: float
    free: float
    preload: float
    written: str

    def cure(self, less: float) -> str:
        """What to write where the start is meant to be nearer by full turns, `less` radians of them."""
        if isinstance(self.element, Force_Bushing):
            return f'preload_t{"xyz"[self.axis]}="{self.preload - self.stiffness * less:.9g}"'
        name = self.written.partition("=")[0]
        return f'{name}="{self.free - less:.9g}"'


def mention_wound(model: Model, mechanism: Mechanism, q: Sequence[np.ndarray]) -> None:
    """Warn of each with both readings; q : (nq,) coordinates of each link at the start."""
    for spring in _springs(model):
        i, j, free = spring.element.i_marker_id, spring.element.j_marker_id, spring.free
        name = f"A{'XYZ'[spring.axis]}"
        angle = _angle(mechanism, q, spring.axis, i, j)
        if abs(angle - free) <= HALF_TURN:
            continue
        turns = round((free - angle) / (2 * math.pi))
        other = angle + 2 * math.pi * turns
        torques = [-spring.stiffness * (a - free) + spring.preload for a in (angle, other)]
        times = f"{turns:+d} turn{'s' * (abs(turns) > 1)}"
        warn_user(
            f"{spring.element.where}: starts at {name}({i},{j}) = {angle:.6g} rad, "
            f"{abs(angle - free):.6g} rad from its free angle {spring.written}, "
            f"which is more than half a turn; it exerts {torques[0]:.6g}. "
            f"Where the start is meant as {other:.6g} rad ({times}), it would exert "
            f"{torques[1]:.6g}: write {spring.cure(2 * math.pi * turns)} for that.",
            PlantWarning,
        )


def _springs(model: Model) -> Iterator[Wound]:
    """Every rotation with a stiffness."""
    for spring in model.all(Force_SpringDamper):
        if spring.type == "ROTATIONAL" and spring.stiffness:
            written = f"length={spring.length:.6g}"
            yield Wound(spring, 2, spring.stiffness, spring.length, spring.preload, written)
    for bushing in model.all(Force_Bushing):
        for axis, letter in enumerate("xyz"):
            if k := getattr(bushing, f"kt{letter}"):
                yield Wound(bushing, axis, k, 0.0, getattr(bushing, f"preload_t{letter}"), "0")
    for field in model.all(Force_Field):
        if field.has_subroutine:
            continue
        K = np.array(field.numbers("k_matrix", 36, 6))
        stiffness = np.diag(K.reshape(6, 6)) if K.size == 36 else K
        free, preload = (field.numbers(name, 6) for name in ("length", "preload"))
        for axis in range(3):
            if k := float(stiffness[3 + axis]):
                which = f"length[{4 + axis}]={free[3 + axis]:.6g}"
                yield Wound(field, axis, k, free[3 + axis], preload[3 + axis], which)


def _angle(mechanism: Mechanism, q: Sequence[np.ndarray], axis: int, i: int, j: int) -> float:
    """AX, AY or AZ(I,J) [rad] at coordinates q, with turns counted where joint coordinates count them."""
    turns = turns_between(mechanism, AXES[axis], i, j)
    if turns is None:
        A_i, A_j = (_axes(mechanism, q, id) for id in (i, j))
        R, start, end = A_j.T @ A_i, (axis + 1) % 3, (axis + 2) % 3
        return math.atan2(R[end, start], R[start, start])
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
