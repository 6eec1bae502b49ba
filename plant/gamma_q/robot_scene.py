"""What a tree of spatial_v2 looks like: bodies from joint to joint, joints by their type."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from blocks.contract.derived import Derived
from plant.gamma_q.tree_model import TreeModel
from plant.scene import BodyShape, JointShape, Scene

LEAST = 1e-12  # relative to the mass's moment: below it a body has its centre of mass at its origin


class Robot(Protocol):
    """What is drawn of a `RobotPlant`."""

    @property
    def model(self) -> TreeModel:
        """The tree."""

    @property
    def q(self) -> Any:
        """Coordinates it starts at, (n,)."""


def robot_scene(robot: Robot) -> Scene:
    """Shapes of a tree; coordinates are its one state ``q``."""
    links = robot.model.links
    children = [[k for k, other in enumerate(links) if other.parent == i] for i in range(len(links))]
    bodies, joints = [], []
    for i, (link, inertia) in enumerate(zip(links, robot.model.I, strict=True)):
        matrix = np.array(inertia, dtype=float)
        mass = float(matrix[5, 5])
        centre = None
        if mass > 0:  # the upper right block is m C, C the cross product with the centre (RBDA eq. 2.63)
            mC = matrix[:3, 3:]
            centre = np.array([mC[2, 1], mC[0, 2], mC[1, 0]]) / mass
        points = [np.zeros(3), *(np.array(links[k].Xtree.r, dtype=float).ravel() for k in children[i])]
        if len(points) == 1 and centre is not None:
            points.append(centre)
        name = f"body {i + 1}"
        bodies.append(BodyShape(name, i, _distinct(points), centre, mass))
        _, S = link.joint.jcalc(np.zeros(link.joint.nq))
        S = np.array(S, dtype=float).reshape(6, -1)[:, -1]
        turns = np.abs(S[:3]).max() > LEAST
        kind = "pin" if turns else "slider"
        joints.append(JointShape(f"joint {i + 1}", kind, i, np.zeros(3), S[:3] if turns else S[3:]))
    gravity = np.array(robot.model.gravity, dtype=float)
    return Scene(
        "robot",
        tuple(bodies),
        tuple(joints),
        (),
        (),
        ("q",),
        gravity,
        None,
        robot.model,
        (np.array(robot.q),),
        Derived(),
    )


def _distinct(points: list[np.ndarray]) -> np.ndarray:
    found: list[np.ndarray] = []
    for p in points:
        if not any(np.abs(p - other).max() < LEAST for other in found):
            found.append(p)
    return np.array(found).reshape(-1, 3)
