"""Transforms and inertias from numbers: read back exactly, and every property they can lack is named."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from blocks.errors import BlockError
from plant.mechanics.checked import inertia_of, transform_of
from tests.helpers.trees import random_rotation


def cross(v):
    """[v x], written out: RBDA, table 2.1."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def plucker(E, r):
    """RBDA, eq. 2.24."""
    return np.block([[E, np.zeros((3, 3))], [-E @ cross(r), E]])


def inertia(m, c, Ic):
    """RBDA, eq. 2.63."""
    return np.block([[Ic + m * cross(c) @ cross(c).T, m * cross(c)], [m * cross(c).T, m * np.eye(3)]])


E = random_rotation(np.random.default_rng(3))
R = np.array([0.3, -1.2, 50.0])
LEFT = E * np.array([[1.0], [1.0], [-1.0]])


@pytest.mark.parametrize("value", [plucker(E, R), (E, R), (E.tolist(), R.tolist())])
def test_a_transform_is_its_rotation_and_its_origin(value):
    found = transform_of(value)
    assert transform_of(found) is found
    assert np.array(ca.DM(found.E)) == pytest.approx(E, abs=1e-15)
    assert np.array(ca.DM(found.r)).ravel() == pytest.approx(R, abs=1e-12)


def changed(matrix, place, by):
    found = matrix.copy()
    found[place] += by
    return found


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (changed(plucker(E, R), (0, 4), 1e-6), "upper right block is not zero"),
        (changed(plucker(E, R), (4, 4), 1e-6), "its two rotations"),
        (changed(plucker(E, R), (4, 1), 1e-5), "not skew-symmetric"),
        (plucker(E * 1.001, R), "not orthonormal"),
        (plucker(LEFT, R), "left-handed"),
        ((LEFT, R), "left-handed"),
        ((E, R[:2]), "has shape"),
        (np.eye(5), "has shape"),
        (np.full((6, 6), np.nan), "not finite"),
        ("six", "numbers"),
    ],
)
def test_what_is_no_transform_is_named(value, fault):
    with pytest.raises(BlockError, match=f"X of body 3: .*{fault}"):
        transform_of(value, "X of body 3")


CENTRE, OWN = np.array([0.2, -0.1, 0.4]), np.diag([0.3, 0.4, 0.5])


@pytest.mark.parametrize(
    "value",
    [
        inertia(2.0, CENTRE, OWN),
        inertia(2.0, 100 * CENTRE, OWN),
        inertia(3.0, CENTRE, np.zeros((3, 3))),  # a point
        inertia(1e-3, CENTRE, 1e-6 * OWN),
        inertia(0.0, CENTRE, OWN),
        np.zeros((6, 6)),
        changed(inertia(2.0, CENTRE, OWN), (0, 1), 1e-11),  # rounding
    ],
)
def test_an_inertia_is_taken_as_it_is(value):
    assert inertia_of(value) is not value and (inertia_of(value) == value).all()


def moment_without_mass():
    found = np.zeros((6, 6))
    found[:3, 3:], found[3:, :3] = cross(CENTRE), cross(CENTRE).T
    return found


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (changed(inertia(2.0, CENTRE, OWN), (0, 1), 1e-6), "not symmetric"),
        (changed(inertia(2.0, CENTRE, OWN), (4, 4), 1e-6), "mass times 1"),
        (-inertia(2.0, CENTRE, -OWN), "its mass is -2, negative"),
        (inertia(-0.5, CENTRE, OWN), "its mass is -0.5, negative"),
        (inertia(2.0, CENTRE, OWN) + np.eye(6)[:, [3, 4, 5, 0, 1, 2]] * 1e-3, "m c x, is not skew"),
        (moment_without_mass(), "no mass but a mass moment"),
        (inertia(2.0, CENTRE, np.diag([0.3, 0.4, -1e-3])), "smallest principal moment is -0.001"),
        (inertia(2.0, CENTRE, OWN) - np.diag([*np.diag(2 * cross(CENTRE) @ cross(CENTRE).T), 0, 0, 0]),
         "smallest principal moment"),
        (inertia(0.0, CENTRE, -OWN), "smallest principal moment is -0.5"),
        (np.eye(3), "has shape"),
    ],
)  # fmt: skip
def test_what_is_no_inertia_is_named(value, fault):
    with pytest.raises(BlockError, match=f"I of body 3: .*{fault}"):
        inertia_of(value, "I of body 3")


def test_the_error_carries_what_is_wrong():
    for place, (rows, columns) in (((0, 4), (slice(3), slice(3, 6))), ((4, 4), (slice(3, 6), slice(3, 6)))):
        wrong = changed(plucker(E, R), place, 1e-3)
        with pytest.raises(BlockError) as caught:
            transform_of(wrong)
        assert np.array_equal(caught.value.value, wrong[rows, columns])
