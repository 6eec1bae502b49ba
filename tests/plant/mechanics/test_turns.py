"""Angles between markers as sums of joint coordinates, beside the rotation matrices at random coordinates."""

from __future__ import annotations

import numpy as np
import pytest

from plant.description import Connection, Description, frame, rigid_body
from plant.mechanics.mechanism import GROUND, mechanism_of
from plant.mechanics.turning import Turning
from plant.mechanics.turns import turns_between

N = np.array([2.0, -3.0, 6.0]) / 7.0  # the direction about which all joints turn

ASIDE = np.array([0.6, 0.0, 0.8])


def about(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rotation about an axis (Rodrigues)."""
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def along(k: int, direction: np.ndarray, angle: float) -> np.ndarray:
    """Axes of which number k is a direction, turned about it."""
    other = about(direction, angle) @ np.cross(direction, [1.0, 0.0, 0.0])
    other = other / np.linalg.norm(other)
    A = np.empty((3, 3))
    A[:, k], A[:, (k + 1) % 3], A[:, (k + 2) % 3] = direction, other, np.cross(direction, other)
    return A


def mechanism(rng: np.random.Generator, seat: float = 0.0):
    """Ground -> a -> b -> s (slides) -> d, a -> c; some joints turn about -N. Frames of each along N.

    seat : by how much the moving frames of joints are turned against the fixed ones in the design
    """
    turning = {"a": ("ground", N), "b": ("a", -N), "c": ("a", N), "d": ("s", -N)}
    bodies = [rigid_body(name, 1.0, rng.normal(size=3), np.eye(3)) for name in "abcsd"]
    joints = []
    for name, (parent, axis) in turning.items():
        at, angle = rng.normal(size=3), rng.uniform(-3, 3)
        fixed, moving = along(2, axis, angle), along(2, axis, angle + seat * rng.uniform(-1, 1))
        joints.append(
            Connection("REVOLUTE", (parent, frame(at, fixed)), (name, frame(at, moving)), key=f"on {name}")
        )
    slide = frame(rng.normal(size=3), along(2, ASIDE, 0.3))
    joints.append(Connection("TRANSLATIONAL", ("b", slide), ("s", slide), key="slide"))
    points = {}
    for name in ("ground", *"abcsd"):
        for k in range(3):
            points[name, k] = (name, frame(rng.normal(size=3), along(k, N, rng.uniform(-3, 3))))
        points[name, "aside"] = (
            name,
            frame(rng.normal(size=3), along(2, ASIDE, 0.1)),
        )
    return mechanism_of(Description.build(bodies, joints, points))


def axes(m, key, frames):
    """Axes of a named frame."""
    place = m.place(key)
    return place.A if place.link == GROUND else frames[place.link][1] @ place.A


PAIRS = [
    ("a", "ground"),
    ("ground", "a"),
    ("b", "ground"),
    ("d", "c"),
    ("c", "d"),
    ("b", "a"),
    ("d", "ground"),
]


@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize("pair", PAIRS, ids=" to ".join)
def test_angle_between_markers_is_a_sum_of_joint_angles(pair, k):
    rng = np.random.default_rng(3)
    m = mechanism(rng, seat=1.0)
    i, j = (pair[0], k), (pair[1], k)
    turns = turns_between(m, Turning[f"A{'XYZ'[k]}"], i, j)
    assert turns is not None and set(turns.signs.values()) <= {1, -1}
    first, second = (k + 1) % 3, (k + 2) % 3
    for _ in range(3):
        q = [rng.uniform(-3, 3, link.joint.nq) for link in m.links]
        frames = m.frames_at(q)
        R = axes(m, j, frames).T @ axes(m, i, frames)
        expected = np.arctan2(R[second, first], R[first, first])
        found = turns.offset + sum(sign * q[link][0] for link, sign in turns.signs.items())
        assert np.exp(1j * found) == pytest.approx(np.exp(1j * expected), abs=1e-12)


@pytest.mark.parametrize("pair", PAIRS, ids=" to ".join)
def test_turn_of_a_pinion_is_counted_from_the_design(pair):
    """About z of I, seen from J, whose z is at right angles to it."""
    rng = np.random.default_rng(4)
    m = mechanism(rng)
    i, j = (pair[0], 2), (pair[1], 0)
    turns = turns_between(m, Turning.PINION, i, j)
    assert turns is not None
    at_design = m.frames_at([link.q0 for link in m.links])
    for _ in range(3):
        q = [rng.uniform(-3, 3, link.joint.nq) for link in m.links]
        frames = m.frames_at(q)
        turned = [axes(m, key, frames) @ axes(m, key, at_design).T for key in (j, i)]
        R = turned[0].T @ turned[1]
        side = along(2, N, 0.0)[:, 0]
        expected = np.arctan2(N @ np.cross(side, R @ side), side @ R @ side)
        found = turns.offset + sum(sign * q[link][0] for link, sign in turns.signs.items())
        assert np.exp(1j * found) == pytest.approx(np.exp(1j * expected), abs=1e-12)


def test_other_axes_are_left_to_a_memory():
    m = mechanism(np.random.default_rng(5))
    assert turns_between(m, Turning.AX, ("b", 2), ("ground", 2)) is None
    assert turns_between(m, Turning.AZ, ("b", "aside"), ("ground", 2)) is None
    assert turns_between(m, Turning.AZ, ("b", 2), ("ground", "aside")) is None
    assert turns_between(m, Turning.AZ, ("b", "aside"), ("ground", "aside")) is None
    still = turns_between(m, Turning.AX, ("s", "aside"), ("b", "aside"))  # only a slide between them
    assert still is not None and not still.signs
