"""Saturation: limits, vectors, nan."""

import numpy as np
import pytest

from blocks import Saturation
from tests.helpers.solo import Solo


@pytest.mark.parametrize(
    ("low", "high", "u", "y"),
    [
        (-1, 2, [-3, -1, 0, 2, 5], [-1, -1, 0, 2, 2]),
        ([-1, -2], [1, 0.5], [-3, 3], [-1, 0.5]),  # a vector limit on a vector signal stays a vector
        ([-1, -2], 1, [-3, 3], [-1, 1]),
        ([-1, -2], [1, 2], [5], [1, 2]),  # a scalar signal expands to the limits
        (None, 1, [-9, 9], [-9, 1]),
        (0, np.inf, [-9, 9], [0, 9]),
        (-1, 1, [np.nan, np.inf, -np.inf], [np.nan, 1, -1]),
    ],
)
def test_saturation(low, high, u, y):
    result = Solo(Saturation(low, high), {"u": len(u)}).outputs([np.array(u, float)])["y"]
    np.testing.assert_array_equal(result, y)
