"""Poses of frames in each other."""

import numpy as np

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
