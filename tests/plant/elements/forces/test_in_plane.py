"""Where markers stand to the plane of a mechanism."""

import numpy as np
import pytest

from plant.elements.forces.in_plane import LEVEL, Plane

NORMAL = np.array([0.0, 0.0, 1.0])
# axes of a marker as columns: x along the global y, y along z, z along x, and the other way round
CYCLE = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def plane(level=0.0, **frames):
    """At this height, with markers 1, 2, ... in the order given."""
    return Plane(dict(enumerate(frames.values(), 1)), NORMAL, level)


@pytest.mark.parametrize(("A", "axis"), [(np.eye(3), 2), (CYCLE, 1), (CYCLE.T, 0), (-CYCLE, 1)])
def test_which_axis_of_a_marker_is_the_normal(A, axis):
    found = plane(it=(np.zeros(3), A))
    assert found.across(1) == axis and found.aligned(1)


@pytest.mark.parametrize("far", [1.0, 1e4])
def test_a_height_is_compared_with_how_far_away_markers_are(far):
    """A marker 10 km away is known to 1e4 times what one at 1 m is."""
    at = [np.array([far, 0.0, 0.5 + share * LEVEL * far]) for share in (0.0, 0.9, -0.9, 1.1, -1.1)]
    found = Plane({k: (r, np.eye(3)) for k, r in enumerate(at)}, NORMAL, 0.5)
    assert [found.has(k) for k in range(5)] == [True, True, True, False, False]
    assert found.has(0, 1, 2) and not found.has(0, 3)
