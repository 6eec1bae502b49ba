"""Poses of frames in each other."""

import numpy as np
import pytest

from plant.description import GROUND_KEY, Connection, Description, frame, rigid_body
from plant.mechanics.mechanism import in_frame


def test_rounding_of_where_a_frame_is_becomes_zero():
    """A frame at 1 along the x-axis of one that is turned: nothing is left of what cancels along y and z."""
    rng = np.random.default_rng(4)
    zeros = 0
    for _ in range(50):
        turned, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        origin = rng.normal(size=3)
        r, A = in_frame((origin, turned), (origin + turned[:, 0], turned))
        np.testing.assert_allclose(r, [1.0, 0.0, 0.0], atol=2e-15)
        assert all(e == 0.0 or abs(e) > 1e-15 * np.abs(origin).max() for e in r)
        zeros += (r[1:] == 0.0).sum()
        np.testing.assert_array_equal(A, np.eye(3))
    assert zeros > 80  # of 100


@pytest.mark.parametrize(
    ("joints", "bodies", "size"),
    [
        ([(1e5, 0, 0)], [(1e5 + 0.5, 0, 0)], 0.5),  # far from the origin: not 1e5
        ([(0, 0, 0)], [(0, -3e-9, 0)], 3e-9),
        ([(0, 0, 0)], [(1e-17, 0, 0)], 1.0),  # rounding
        ([(0.1, 0, 0)], [(0.1 + 1e-17, 0, 0)], 1.0),
    ],
)
def test_size_is_that_of_the_box_around_its_points(joints, bodies, size):
    masses = [rigid_body(k, 2.0, centre=centre) for k, centre in enumerate(bodies)]
    ties = [
        Connection("SPHERICAL", (GROUND_KEY, frame(at)), (k, frame(at)), key=k) for k, at in enumerate(joints)
    ]
    assert Description.build(masses, ties).size == pytest.approx(size, rel=1e-10)


def test_size_of_a_body_in_one_place_is_its_radius_of_gyration():
    wheel = rigid_body("wheel", 2.0, centre=(0, 0, 0), tensor=np.diag([0.25, 0.25, 0.5]))
    axle = Connection("REVOLUTE", (GROUND_KEY, frame((1e-7, 0, 0))), ("wheel", frame((0, 0, 0))), key=1)
    assert Description.build([wheel], [axle]).size == pytest.approx(0.5)
