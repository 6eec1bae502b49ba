"""Python functions inside equations: first and second derivatives, given and differenced."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from blocks.contract.block import Equations


def value(t, u):
    return [u[0] ** 2 * np.sin(u[1]), u[0] * u[1] ** 3]


def jacobian(t, u):
    return [
        [2 * u[0] * np.sin(u[1]), u[0] ** 2 * np.cos(u[1])],
        [u[1] ** 3, 3 * u[0] * u[1] ** 2],
    ]


def hessian(t, u):
    first = [
        [2 * np.sin(u[1]), 2 * u[0] * np.cos(u[1])],
        [2 * u[0] * np.cos(u[1]), -(u[0] ** 2) * np.sin(u[1])],
    ]
    return [first, [[0.0, 3 * u[1] ** 2], [3 * u[1] ** 2, 6 * u[0] * u[1]]]]


def flow(y: ca.SX, x: ca.SX, v: ca.SX, a: ca.SX) -> ca.SX:
    """g = sin(y1) y2, its rate and its second rate along x' = v, v' = a."""
    g = ca.sin(y[0]) * y[1]
    rate = ca.jtimes(g, x, v)
    return ca.vertcat(g, rate, ca.jtimes(rate, ca.vertcat(x, v), ca.vertcat(v, a)))


@pytest.mark.parametrize(("given", "error"), [((jacobian, hessian), 1e-14), ((jacobian, None), 1e-8)])
def test_second_derivatives_along_a_motion(given, error):
    b = Equations({})
    x = ca.SX(b.continuous("x", [0.0, 0.0]))
    v, a = ca.SX.sym("v", 2), ca.SX.sym("a", 2)
    opaque = flow(ca.SX(b.opaque("f", value, x, 2, *given)), x, v, a)
    plain = flow(ca.vertcat(x[0] ** 2 * ca.sin(x[1]), x[0] * x[1] ** 3), x, v, a)
    at = [ca.DM(numbers) for numbers in ([0.3, 0.7], [1.1, -0.4], [0.2, 0.5])]
    found = ca.Function("found", [x, v, a, ca.SX(b.time)], [opaque])(*at, 0.0)
    known = ca.Function("known", [x, v, a], [plain])(*at)
    assert np.array(found).ravel() == pytest.approx(np.array(known).ravel(), abs=error)
