"""A plant where it starts, as a small picture: its bodies as lines, its joints as dots."""

from __future__ import annotations

import numpy as np

from blocks.contract.picture import BlockPicture, Points
from plant.mechanics.mechanism import GROUND
from plant.scene import Scene

WIDTH, HEIGHT = 2.2, 1.5
ALIGNED = 1.0 - 1e-9  # cosine between the normal of a planar mechanism and the line of sight
VIEW = np.array([1.0, -2.0, 0.8])  # towards the eye, of a mechanism that is not planar; z is up


def sketch(scene: Scene) -> BlockPicture | None:
    """Bodies and joints of a plant at its start, along the normal of its planes; None: nothing to see."""
    poses = scene.at_start()[0]
    placed = lambda link, points: (
        points if link == GROUND else poses[link, :3] + points @ poses[link, 3:].reshape(3, 3)
    )
    lines = [placed(b.link, np.atleast_2d(b.points)) for b in scene.bodies]
    lines += [
        np.concatenate([placed(link, f.points[k : k + 1]) for k, link in enumerate(f.links)])
        for f in scene.forces
        if f.spring
    ]
    joints = [placed(j.link, j.point[None]) for j in scene.joints]
    every = np.concatenate([np.zeros((0, 3)), *lines, *joints])
    flat = every @ _axes(scene).T
    if not len(flat) or not np.isfinite(flat).all():
        return None
    low, extent = flat.min(axis=0), flat.max(axis=0) - flat.min(axis=0)
    if not extent.max() > 0.0:
        return None
    scale = min(WIDTH / max(extent[0], 1e-9), HEIGHT / max(extent[1], 1e-9))
    size = np.maximum(scale * extent, 0.2)
    on_paper = lambda points: _pairs((points @ _axes(scene).T - low) * scale + 0.5 * (size - scale * extent))
    return BlockPicture(
        float(size[0]),
        float(size[1]),
        lines=tuple(on_paper(line) for line in lines if len(line) > 1),
        joints=tuple(on_paper(joint)[0] for joint in joints),
    )


def _axes(scene: Scene) -> np.ndarray:
    """(2, 3) to the right and down, as one looks at it."""
    up = np.array([0.0, 0.0, 1.0])
    if scene.gravity is not None and np.linalg.norm(scene.gravity) > 0.0:
        up = -np.asarray(scene.gravity) / np.linalg.norm(scene.gravity)
    towards = VIEW if scene.normal is None else np.asarray(scene.normal, dtype=float)
    towards = towards / np.linalg.norm(towards)
    if abs(towards @ up) > ALIGNED:  # a table seen from above
        up = np.eye(3)[int(np.argmin(np.abs(towards)))]
    up = up - (up @ towards) * towards
    up /= np.linalg.norm(up)
    right = np.cross(up, towards)
    if scene.normal is not None and right[int(np.argmax(np.abs(right)))] < 0.0:
        right = -right  # from the other side: global axes go to the right
    return np.array([right, -up])


def _pairs(points: np.ndarray) -> Points:
    return tuple((float(x), float(y)) for x, y in points)
