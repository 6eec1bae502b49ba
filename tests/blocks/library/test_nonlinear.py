"""Saturation: limits, vectors, nan."""

import numpy as np
import pytest

from blocks import DeadZone, Saturation, Sine
from cosim import Diagram, simulate
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


def test_a_dead_zone_passes_what_is_beyond_it():
    """u - low below, u - high above, each side by its own limit; the switches are events."""
    d = Diagram("zone")
    d.connect(d.add("u", Sine(2.0, 3.0))["y"], d.add("zone", DeadZone(-0.5, 1.0))["u"])
    r = simulate(d, 3.0, log_every=0.07, engine="reference")
    u = 2.0 * np.sin(3.0 * r.time)
    np.testing.assert_allclose(r["zone.y"][:, 0], u - np.clip(u, -0.5, 1.0), atol=1e-12)
    assert len(r.events) == 6  # of 1.4 periods: above twice, below once, in and out
