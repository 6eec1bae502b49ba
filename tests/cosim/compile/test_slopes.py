"""Slopes in events: put where they are used, all in one go, and only there."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from cosim import simulate
from cosim.compile.slopes import along
from tests.helpers.made import alone


def swinging(b):
    """x'' = -x, so that the slope of x is v, and that of v -x."""
    x, v = b.continuous("x", 1.0), b.continuous("v", 0.0)
    b.derivative(x, v)
    b.derivative(v, -x)
    n, pair = b.mode("n", 0.0), b.mode("pair", [0.0, 0.0])
    b.when(x - 3.0, [(n, n + 1.0)], "rising", "plain", by_value=True)
    b.when(b.slope(x) - 0.5, [(n, n + 2.0)], "rising", "fast")
    b.when(x - 4.0, [(n, 7.0), (pair, np.array([2.0 * b.slope(v)[0], 5.0]))], "rising", "keeps")
    b.output("y", x)


def test_slopes_in_crossings_and_resets_are_what_they_stand_for():
    system = alone(swinging).system()
    _, fast, keeps = system.events
    assert [e.by_value for e in system.events] == [
        True,
        True,
        False,
    ]  # asked for, by its slope, not in a reset
    values = [e.crossing for e in system.events] + [value for e in (fast, keeps) for _, _, value in e.resets]
    every = ca.Function("f", [system.x, system.h], values)
    x, v = 0.3, -0.8
    h = np.zeros(system.h.numel())
    found = [np.asarray(value).ravel().tolist() for value in every(ca.DM([x, v]), h)]
    assert found == [[x - 3.0], [v - 0.5], [x - 4.0], [2.0], [7.0], [-2.0 * x, 5.0]]


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_slope_in_what_is_solved_counts_time_as_well_as_states(engine):
    """z + z^3 / 3 = d/dt (x + t^2) with x' = 3: 3 + 2 t."""

    def equations(b):
        x, z = b.continuous("x", 1.0), b.algebraic("z", 1.0)
        b.derivative(x, 3.0 + 0.0 * x)
        b.residual(z + z**3 / 3.0 - b.slope(x + b.time**2))
        b.output("z", z)

    r = simulate(alone(equations), 1.0, log_at=[0.0, 0.5, 1.0], engine=engine)
    z = r["it.z"][:, 0]
    assert z + z**3 / 3 == pytest.approx([3.0, 4.0, 5.0], rel=1e-9)


def test_the_rate_of_an_unknown_follows_from_what_it_solves():
    """z + z^3 / 3 = x + t^2 with x' = 3: z' = (3 + 2 t) / (1 + z^2)."""
    t, x, w = ca.SX.sym("t"), ca.SX.sym("x"), ca.SX.sym("w", 2)
    residual = w[0] + w[0] ** 3 / 3 - x - t**2
    g = ca.vertcat(2 * w[0] + t * x, t * x, w[1])
    rate = ca.Function("rate", [t, x, w], [along(g, t, x, ca.SX(3), w, residual)])(0.5, 2.0, [0.7, 9.0])
    own = 2.0 + 0.5 * 3.0
    assert np.asarray(rate).ravel() == pytest.approx([own + 2 * (3 + 1) / (1 + 0.7**2), own, 0.0], rel=1e-14)


def test_events_without_slopes_stay_as_they_are():
    """No other symbols come in: the crossing of an event that has none depends on the state alone."""
    plain, *_ = alone(swinging).system().events
    assert [s.name() for s in ca.symvar(plain.crossing)] == ["it.x"]
