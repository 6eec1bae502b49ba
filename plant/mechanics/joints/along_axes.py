"""Turning about, and sliding along, the other axes of J: joint types of spatial_v2."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from plant.mechanics.joints.joint import Closeness, Joint, JointSetting, JointType, Parts, Planarity
from plant.mechanics.joints.joint_conditions import AXES, aligned, coincident
from plant.mechanics.joints.poses import ALIGNED, NOWHERE, TRAVEL, TURN, about, angle_of, aside, axes
from plant.mechanics.spatial import Matrix, Transform, constant, rx, ry

_TURNED: dict[int, Callable[[Matrix], Matrix]] = {0: rx, 1: ry}


def _turns(axis: int, q: Matrix) -> tuple[Transform, Matrix]:
    return Transform(_TURNED[axis](q[0]), NOWHERE), axes(axis)


def _nearest_turn(axis: int, r: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, Closeness]:
    angle, tilt = about(axis, A)
    return np.array([angle]), Closeness(float(np.linalg.norm(r)), tilt)


def _parallel(axis: int, s: JointSetting) -> Parts:
    others = (axis + 1) % 3, (axis + 2) % 3
    return [(f"angle to {AXES[other]} of J", s.product(axis, other)) for other in others]


def _revolute(axis: int) -> JointType:
    name = f"R{AXES[axis]}"
    joint = Joint(name, 1, 1, partial(_turns, axis), partial(_nearest_turn, axis), (TURN,), ("angle rate",))
    conditions = (coincident, partial(_parallel, axis))
    return JointType(name, conditions, (3, 2), joint, in_decks=False, jtypes=(name,))


def _slides(axis: int, q: Matrix) -> tuple[Transform, Matrix]:
    return Transform(ALIGNED, constant(np.eye(3)[:, axis]) * q[0]), axes(3 + axis)


def _nearest_slide(axis: int, r: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, Closeness]:
    return np.array([r[axis]]), Closeness(aside(axis, r), angle_of(A))


def _on_axis(axis: int, s: JointSetting) -> Parts:
    others = (axis + 1) % 3, (axis + 2) % 3
    moved = s.J.A.T @ s.d
    return [(f"displacement along {AXES[other]} of J", moved[other]) for other in others]


def _prismatic(axis: int) -> JointType:
    name = f"P{AXES[axis]}"
    joint = Joint(
        name,
        1,
        1,
        partial(_slides, axis),
        partial(_nearest_slide, axis),
        (TRAVEL,),
        ("velocity",),
        rotates=False,
    )
    conditions = (partial(_on_axis, axis), aligned)
    jtypes = (name, name.lower())
    return JointType(name, conditions, (2, 3), joint, Planarity.NOT, in_decks=False, jtypes=jtypes)


JOINT_TYPES = (_revolute(0), _revolute(1), _prismatic(0), _prismatic(1))
