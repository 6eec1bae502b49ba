"""Observers around an operating point: the same filter in other coordinates."""

import numpy as np
import pytest

from blocks import Constant, KalmanFilter, Luenberger, Sine, Sum
from cosim import Diagram, simulate

A, B = np.array([[0.0, 1.0], [-2.0, -0.3]]), np.array([[0.0], [1.5]])
C, D = np.array([[1.0, 0.4]]), np.array([[0.2]])
X0, U0, Y0 = np.array([0.7, -1.1]), 0.9, -2.3
KINDS = {
    "continuous": (KalmanFilter, (0.5, 0.1), {}),
    "sampled": (KalmanFilter, (0.5, 0.1), {"sample": 0.1}),
    "time-varying": (KalmanFilter, (0.5, 0.1, "time-varying"), {"sample": 0.1}),
    "poles": (Luenberger, ([-3.0, -4.0],), {}),
    "sampled poles": (Luenberger, ([0.4, 0.5],), {"sample": 0.1}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_observer_around_a_point_is_one_around_zero_moved_there(kind):
    """x0 + x(u - u0, y - y0), for an input and a measurement that have nothing to do with each other."""
    make, arguments, fields = KINDS[kind]
    d = Diagram("moved")
    initial = np.array([0.2, 0.3])
    at_zero = d.add("zero", make((A, B, C, D), *arguments, initial=initial, **fields))
    around = (tuple(X0), (U0,), (Y0,))
    there = d.add("there", make((A, B, C, D), *arguments, initial=X0 + initial, around=around, **fields))
    for port, wave, offset in (("u", Sine(1.0, 2.0), U0), ("y", Sine(0.7, 3.0, 0.4), Y0)):
        source, by, total = (
            d.add(f"{port}_wave", wave),
            d.add(f"{port}0", Constant(offset)),
            d.add(port, Sum("++")),
        )
        d.connect(source["y"], total["in1"])
        d.connect(by["y"], total["in2"])
        d.connect(source["y"], at_zero[port])
        d.connect(total["y"], there[port])
    r = simulate(d, 1.5, log_every=0.3, engine="reference", rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(r["there.x"], X0 + r["zero.x"], atol=1e-9)
    assert np.ptp(r["zero.x"]) > 0.5
