"""Python functions inside equations: first and second derivatives, given and differenced."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from blocks.contract.block import Equations
from blocks.contract.callback import LiveCall, PythonCall


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


def test_a_derivative_by_time_that_is_given():
    """Nothing is called at another time then; d(t u1)/dt = u1, and zeros that CasADi passes by are zeros."""
    asked = []

    def f(t, u):
        asked.append(t)
        return [t * u[0], u[1]]

    b = Equations({})
    x = ca.SX(b.continuous("x", [0.0, 0.0]))
    slope = lambda t, u: [[t, 0.0], [0.0, 1.0]]
    y = ca.SX(b.opaque("f", f, x, 2, slope, by_time=lambda t, u: [u[0], 0.0]))
    t = ca.SX(b.time)
    derivatives = ca.Function("slopes", [t, x], [y, ca.jacobian(y, t), ca.jacobian(y, x)])
    found = [np.array(value) for value in derivatives(0.5, [3.0, -2.0])]
    assert found[0].ravel().tolist() == [1.5, -2.0] and found[1].ravel().tolist() == [3.0, 0.0]
    assert found[2].tolist() == [[0.5, 0.0], [0.0, 1.0]] and set(asked) == {0.5}
    (at_zeros,) = ca.Function("y", [t, x], [y]).call([ca.DM(1, 1), ca.DM(2, 1)])
    assert np.array(at_zeros).ravel().tolist() == [0.0, 0.0]


@pytest.mark.parametrize("at", [0.0, 0.7, -40.0, 3e4, 1e6])
def test_a_derivative_by_time_that_is_differenced(at):
    """d(sin(3 t) + u)/dt = 3 cos(3 t), after days as well, which it is no slower for."""
    b = Equations({})
    x = ca.SX(b.continuous("x", [0.0]))
    y = ca.SX(b.opaque("f", lambda t, u: [np.sin(3 * t) + u[0]], x, 1, lambda t, u: [[1.0]]))
    slope = ca.Function("slope", [ca.SX(b.time), x], [ca.jacobian(y, ca.SX(b.time))])
    assert float(slope(at, 2.0)) == pytest.approx(3 * np.cos(3 * at), abs=1e-8 + 1e-11 * abs(at))


def test_what_failed_is_over_when_the_next_call_succeeds():
    """Of values, slopes and curvature each for itself: an error of slopes is not that of a later value."""
    broken = {"value", "slopes"}

    def called(what, numbers):
        def function(t, u):
            if what in broken:
                raise ValueError(f"{what} broke")
            return numbers

        return function

    call = PythonCall("f", called("value", [1.0]), 1, 1, called("slopes", [[2.0]]))
    live, u = LiveCall(call), np.zeros(1)
    assert np.isnan(live.value(0.0, u)).all() and "value broke" in live.failure
    assert np.isnan(live.slopes(0.0, u)).all()
    broken.clear()
    assert live.value(0.0, u).tolist() == [1.0] and "slopes broke" in live.failure
    assert live.slopes(0.0, u).tolist() == [[2.0]]
    assert live.failure == "" and live.error is None


def test_second_derivatives_have_the_shapes_of_casadis_own():
    """Of a function of 2 numbers with 3 components, beside CasADi's derivatives of an expression."""
    call = PythonCall(
        "f", lambda t, u: [0.0] * 3, 2, 3, lambda t, u: np.zeros((3, 2)), lambda t, u: np.zeros((3, 2, 2))
    )
    t, u = ca.MX.sym("t"), ca.MX.sym("u", 2)
    plain = ca.Function("plain", [t, u], [ca.vertcat(u[0] * t, u[1], u[0] * u[1])])
    shapes = lambda f: [[f.size_in(i) for i in range(f.n_in())], [f.size_out(i) for i in range(f.n_out())]]
    assert shapes(call.jacobian().jacobian()) == shapes(plain.jacobian().jacobian())
