"""Derivatives along a motion through unknowns that equations determine: the implicit function theorem."""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

from plant.mechanics.motion import NO_ROOTS, MotionDerivatives, Roots
from tests.helpers.trees import JOINTS

T, Q, QD = ca.SX.sym("t"), ca.SX.sym("q", 2), ca.SX.sym("qd", 2)
V = ca.SX.sym("v", 2)
AT, MOVING, NOW = np.array([0.7, -0.4]), np.array([1.5, 2.5]), 0.3


def slides(roots=lambda g: NO_ROOTS) -> MotionDerivatives:
    """Two sliders: their coordinates' rates are their rates."""
    links = [SimpleNamespace(joint=JOINTS["TRANSLATIONAL"])] * 2
    tree = SimpleNamespace(mechanism=SimpleNamespace(links=links), q=[Q[0], Q[1]], qd=[QD[0], QD[1]])
    return MotionDerivatives(tree, T, roots=roots)


# v in closed form, and the equations it solves
CASES = {
    "one": (
        V[:1],
        V[0] ** 3 - ca.exp(Q[0] * Q[1] + T),
        lambda q, t: np.array([np.exp((q[0] * q[1] + t) / 3)]),
    ),
    "two": (
        V,
        ca.vertcat(V[0] + 2 * V[1] - ca.sin(Q[0]) - T, V[0] * V[1] - Q[1]),
        lambda q, t: pair(np.sin(q[0]) + t, q[1]),
    ),
}


def pair(a, b):
    """v0 + 2 v1 = a, v0 v1 = b, with the larger v0: v0^2 - a v0 + 2 b = 0."""
    v0 = 0.5 * (a + np.sqrt(a * a - 8 * b))
    return np.array([v0, b / v0])


@pytest.mark.parametrize("case", CASES)
def test_rates_and_gradients_go_through_the_unknowns(case):
    v, R, solved = CASES[case]
    g = ca.vertcat(Q[0] * v[0] + T**2, v[-1] ** 2 * Q[1])
    motion = slides(lambda g: Roots(v, R))
    written = lambda q, t: np.array([q[0] * solved(q, t)[0] + t**2, solved(q, t)[-1] ** 2 * q[1]])
    h = 1e-6
    by_q = np.transpose([(written(AT + h * e, NOW) - written(AT - h * e, NOW)) / (2 * h) for e in np.eye(2)])
    by_t = (written(AT, NOW + h) - written(AT, NOW - h)) / (2 * h)
    rate, drift, first, second = (
        np.array(e)
        for e in ca.Function("f", [T, Q, QD, v], [motion.rate(g), motion.drift(g), *motion.gradient(g)])(
            NOW, AT, MOVING, solved(AT, NOW)
        )
    )
    assert rate.ravel() == pytest.approx(by_q @ MOVING + by_t, rel=1e-8)
    assert drift.ravel() == pytest.approx(by_t, rel=1e-8)
    gradient = np.vstack([first, second]).T
    assert gradient == pytest.approx(by_q, rel=1e-8)


def test_unknowns_that_do_not_move_add_nothing():
    through = Roots(V[:1], V[0] - 2.0 * T).through(ca.SX(V[0] * Q[0]), ca.SX(1, 2))
    assert through.shape == (1, 2) and through.nnz() == 0
    assert slides().gradient(ca.SX(Q[0] * Q[1]))[0].is_dense()
