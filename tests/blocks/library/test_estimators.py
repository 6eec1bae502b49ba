"""Observers: their printed equations, and around an operating point the same filter in other coordinates."""

import control
import numpy as np
import pytest
from scipy.linalg import expm, solve_discrete_are

from blocks import Constant, KalmanFilter, Luenberger, Sine, Sum
from cosim import Diagram, simulate
from tests.blocks.library.test_logic import sampled

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


def test_estimates_of_held_signals_are_the_printed_equations():
    """x' = A x + B u + L (y - C x - D u) by the matrix exponential, with L of python-control."""
    u, y, x0 = 0.9, -2.3, np.array([0.2, 0.3])
    for block, L in (
        (
            KalmanFilter((A, B, C, D), 0.5, 0.1, initial=x0),
            control.lqe(A, np.eye(2), C, 0.5 * np.eye(2), 0.1)[0],
        ),
        (Luenberger((A, B, C, D), [-3.0, -4.0], x0), control.place(A.T, C.T, [-3.0, -4.0]).T),
    ):
        rate = A - L @ C
        rest = np.linalg.solve(rate, -(B * u + L * y - L @ D * u)).ravel()
        d = Diagram("held")
        d.add("it", block)
        d.connect(d.add("u", Constant(u))["y"], d["it"]["u"])
        d.connect(d.add("y", Constant(y))["y"], d["it"]["y"])
        found = simulate(d, 2.0, log_at=[0.3, 2.0], engine="reference", rtol=1e-10, atol=1e-12)["it.x"]
        for t, x in zip((0.3, 2.0), found, strict=True):
            np.testing.assert_allclose(x, rest + expm(rate * t) @ (x0 - rest), atol=1e-8)


@pytest.mark.parametrize("kind", ["steady", "time-varying"])
def test_filtered_samples_are_the_printed_equations(kind):
    """Of a model from tick to tick: xf = x + M (y - C x - D u), x+ = A xf + B u."""
    Ad, Bd = np.array([[0.9, 0.1], [-0.2, 0.8]]), np.array([[0.0], [0.1]])
    Q, R, P = 0.5 * np.eye(2), 0.1, np.eye(2)
    block = KalmanFilter((Ad, Bd, C, D, 0.1), 0.5, 0.1, kind, initial=[0.2, 0.3], sample=0.1)
    u, y, x = np.sin(np.arange(8.0)), np.cos(3 * np.arange(8.0)), np.array([0.2, 0.3])
    if kind == "steady":
        P = solve_discrete_are(Ad.T, C.T, Q, [[R]])
    expected = []
    for k in range(8):
        M = P @ C.T / (C @ P @ C.T + R)
        xf = x + M @ (y[k] - C @ x - D[0] * u[k])
        expected.append(xf)
        x = Ad @ xf + Bd[:, 0] * u[k]
        P = Ad @ (P - M @ C @ P) @ Ad.T + Q
    np.testing.assert_allclose(sampled(block, u=u, y=y)["x"], expected, rtol=1e-9)
