"""Mechanisms that move in planes, and those in which nothing pushes out of one plane.

Joints alone decide whether bodies stay in planes. Planar coordinates know nothing of what acts across: the
bearing torques of a rotor out of balance, say. They are used where there is nothing to know, because bodies,
joints and forces are mirror images of themselves in one plane.
"""

from __future__ import annotations

import networkx as nx
import numpy as np

from plant.description import GLOBAL, Body, Connection, Description, Frame
from plant.mechanics.joints import Planarity
from plant.mechanics.spatial import snapped

PARALLEL = 1e-9  # sine of the angle between axes that count as parallel
ALL = (0, 1, 2)  # axes of a frame
LEVEL = 1e-9  # of the largest distance: points that far out of a plane are in it


def plane_normal(description: Description) -> np.ndarray | None:
    """(3,) normal of the planes in which all bodies have to move, None where they need not.

    The joints decide, and gravity must not pull out of the planes.
    """
    normal = None
    graph = nx.MultiGraph()
    graph.add_nodes_from(body.key for body in description.bodies)
    graph.add_node(description.ground)
    for joint in description.joints:
        if joint.kind.planarity is Planarity.ACROSS:
            axis = _axis(joint)
            if normal is None:
                normal = axis
            if np.linalg.norm(np.cross(normal, axis)) > PARALLEL:
                return None
    for joint in description.joints:
        planarity = joint.kind.planarity
        across = normal is not None and abs(_axis(joint) @ normal) <= PARALLEL
        if planarity in (Planarity.ACROSS, Planarity.ANY) or (planarity is Planarity.ALONG and across):
            graph.add_edge(joint.I[0], joint.J[0])
    if normal is None or not nx.is_connected(graph) or not all(body.turns for body in description.bodies):
        return None
    pull = description.gravity
    if pull is None or abs(pull @ normal) > PARALLEL * float(np.abs(pull).max()):
        return None
    return snapped(normal.reshape(3, 1)).ravel()


def within_planes(description: Description) -> bool:
    """Do the bodies move in planes, and does nothing push them out?

    Their centres and the joints are in one plane, which is a principal plane of every body. Global axes and
    those of sliders lie in it or across it: else two conditions of a joint would fix the same in the plane,
    and share its reaction in a way that adds some across.
    """
    normal = plane_normal(description)
    if normal is None or description.pushed_across or not is_flat(GLOBAL, normal):
        return False
    return level_of(description, normal) is not None and not any(
        _tilts(body, normal) for body in description.bodies
    )


def level_of(description: Description, normal: np.ndarray) -> float | None:
    """Distance from the origin of the one plane with the joints and centres of mass; None without one."""
    frames = [body.centre for body in description.bodies if body.centre is not None]
    for joint in description.joints:
        ends = (joint.I[1], joint.J[1])
        axes = (2,) if joint.kind.planarity is Planarity.ACROSS else ALL
        if joint.kind.planarity is Planarity.OUT or not all(is_flat(end, normal, axes) for end in ends):
            return None
        frames += ends
    levels = [float(r @ normal) for r, _ in frames]
    far = max((float(np.abs(r).max()) for r, _ in frames), default=0.0)
    return levels[0] if levels and max(levels) - min(levels) <= LEVEL * far else None


def is_flat(frame: Frame, normal: np.ndarray, axes: tuple[int, ...] = ALL) -> bool:
    """Is each of these axes of a frame along the normal or at right angles to it?"""
    parts = np.abs(frame[1].T @ normal)[list(axes)]
    return bool(np.all((parts <= PARALLEL) | (parts >= 1.0 - PARALLEL)))


def _tilts(body: Body, normal: np.ndarray) -> bool:
    """Does a body that turns about the normal need torques about other axes?"""
    if body.centre is None:
        return False
    r, A = body.axes or body.centre
    mass = sum(share.value for share in body.shares if share.tensor is None)
    local = sum(
        (share.value * share.tensor for share in body.shares if share.tensor is not None), np.zeros((3, 3))
    )
    arm = body.centre[0] - r
    I = A @ local @ A.T - mass * ((arm @ arm) * np.eye(3) - np.outer(arm, arm))
    across = I @ normal
    rest = across - (normal @ across) * normal
    return bool(np.linalg.norm(rest) > PARALLEL * np.abs(I).max(initial=0.0))


def _axis(joint: Connection) -> np.ndarray:
    """(3,) its z axis."""
    return joint.J[1][1][:, 2]
