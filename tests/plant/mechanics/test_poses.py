"""Angles and distances by which joints say how far a pose is from one that they allow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from plant.mechanics.joints.poses import about, angle_of, aside, axes

TURNS = [
    (0.7, 0.0, 0.0),
    (0.0, -1.1, 0.0),
    (0.0, 0.0, 2.9),
    (0.4, -0.9, 1.3),
    (2e-9, 1e-9, -3e-9),
    (0.0, 0.0, 0.0),
]


@pytest.mark.parametrize("turn", TURNS)
def test_angle_of_a_rotation_is_the_length_of_its_vector(turn):
    A = Rotation.from_rotvec(turn).as_matrix()
    assert angle_of(A) == pytest.approx(np.linalg.norm(turn), rel=1e-12, abs=1e-24)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize(("angle", "tilt"), [(0.4, 0.0), (-2.8, 0.3), (0.0, 1.2), (2.0, 3.0)])
def test_turn_about_an_axis_and_tilt_from_it(axis, angle, tilt):
    """Turned about J's axis first, then tilted about I's next one, whose direction says the angle."""
    turned = Rotation.from_rotvec(angle * np.eye(3)[axis])
    tilted = turned * Rotation.from_rotvec(tilt * np.eye(3)[(axis + 1) % 3])
    assert about(axis, tilted.as_matrix()) == pytest.approx((angle, tilt), abs=1e-15)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_distance_from_an_axis(axis):
    r, along = np.array([0.3, -1.2, 2.5]), np.eye(3)[axis]
    assert aside(axis, r) == pytest.approx(np.linalg.norm(np.cross(along, r)))
    assert np.array_equal(np.array(axes(3 + axis)).ravel(), [0.0, 0.0, 0.0, *along])
