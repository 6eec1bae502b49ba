"""The stiff integrator: order, a stiff problem with a published answer, loops inside, many states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from blocks import Constant, Gain, Integrator, StateSpace, Sum
from blocks.contract.block import Block, Equations
from cosim import Diagram, simulate
from cosim.engines.methods.stiff import linearised
from tests.helpers.made import alone


@dataclass(frozen=True)
class VanDerPol(Block):
    """x'' = mu (1 - x^2) x' - x."""

    mu: float = 1000.0

    def define(self, b: Equations) -> None:
        (mu,) = b.parameters(mu=self.mu)
        x = b.continuous("x", initial=2.0)
        v = b.continuous("v", initial=0.0)
        b.derivative(x, v)
        b.derivative(v, mu * (1 - x * x) * v - x)
        b.output("y", x)


@dataclass(frozen=True)
class Riccati(Block):
    """y' = -y^2 + cos t: nonlinear, and the time derivative of f matters."""

    def define(self, b: Equations) -> None:
        y = b.continuous("y", initial=1.0)
        b.derivative(y, -y * y + np.cos(b.time))
        b.output("y", y)


@dataclass(frozen=True)
class Following(Block):
    """z' = -1e4 (z - cos 10t) - 10 sin 10t."""

    def define(self, b: Equations) -> None:
        z = b.continuous("z", initial=1.0)
        b.derivative(z, -1e4 * (z - np.cos(10 * b.time)) - 10 * np.sin(10 * b.time))
        b.output("y", z)


def one(block: Block) -> Diagram:
    d = Diagram("one")
    d.add("b", block)
    return d


def test_a_stiff_state_that_follows_a_motion_takes_long_steps():
    """Prothero and Robinson's problem, z = cos 10t: order 2 would take 6000 steps."""
    r = simulate(one(Following()), 1.0, solver="rodas4", rtol=1e-8, atol=1e-10, log_at=[1.0])
    assert abs(r["b.y"][0, 0] - np.cos(10.0)) < 1e-8
    assert r.statistics["steps"] < 200


def test_van_der_pol():
    """IVP Test Set, problem VDPOL in its original time: y(2000) = 1.706167732170483."""
    r = simulate(one(VanDerPol()), 2000.0, solver="rodas4", rtol=1e-8, atol=1e-10, log_at=[2000.0])
    assert abs(r["b.y"][0, 0] - 1.706167732170483) < 1e-5
    assert r.statistics["steps"] < 10_000  # an explicit method needs about a thousand times more


def test_fourth_order_in_the_tolerance():
    times = np.linspace(0.0, 2.0, 9)
    fine = simulate(one(Riccati()), 2.0, log_at=times, rtol=1e-13, atol=1e-15)["b.y"]
    steps, errors = [], []
    for rtol in (1e-5, 1e-7, 1e-9):
        r = simulate(one(Riccati()), 2.0, solver="rodas4", rtol=rtol, atol=1e-2 * rtol, log_at=times)
        steps.append(r.statistics["steps"])
        errors.append(np.abs(r["b.y"] - fine).max())
    slope = np.diff(np.log(errors)) / np.diff(np.log(steps))
    assert np.all(slope < -3.5), slope


def test_unknowns_are_part_of_the_jacobian():
    """x' = -1e4 y with y = x - 1000 y, so x = exp(-1e4/1001 t)."""
    d = Diagram("loop")
    x, y = d.add("x", Integrator(1.0)), d.add("y", Sum("+-"))
    inner, outer = d.add("inner", Gain(1000.0)), d.add("outer", Gain(-1e4))
    x["y"] >> y["in1"]
    y["y"] >> inner["u"]
    inner["y"] >> y["in2"]
    y["y"] >> outer["u"]
    outer["y"] >> x["u"]
    r = simulate(d, 1.0, solver="rodas4", solve_loops=True, log_every=0.1, rtol=1e-9, atol=1e-12)
    assert np.abs(r["x.y"][:, 0] - np.exp(-1e4 / 1001 * r.time)).max() < 1e-9


def test_one_state_may_depend_on_another_through_an_unknown():
    """x1' = -x1, x0' = -z with z = x0 + x1, so x0 = (1 - t) exp(-t)."""

    def equations(b):
        x, z = b.continuous("x", [1.0, 1.0]), b.algebraic("z", 2.0)
        b.residual(z - x[0] - x[1])
        b.derivative(x, np.array([-z[0], -x[1]]))
        b.output("x", x)

    r = simulate(
        alone(equations), 2.0, engine="reference", solver="rodas4", log_every=0.5, rtol=1e-9, atol=1e-12
    )
    expected = np.exp(-r.time)[:, None] * np.column_stack([1 - r.time, 0 * r.time + 1])
    assert np.abs(r["it.x"] - expected).max() < 1e-8


def test_many_states_use_a_sparse_factorisation():
    """Heat equation on 60 points: eigenvalues to -4*61^2; steady state is the straight line."""
    n = 60
    a = (np.diag(-2.0 * np.ones(n)) + np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)) * (n + 1) ** 2
    b = np.zeros((n, 1))
    b[-1] = (n + 1) ** 2
    d = Diagram("rod")
    rod = d.add("rod", StateSpace(a, b, np.eye(n), np.zeros((n, 1))))
    d.add("end", Constant(1.0))["y"] >> rod["u"]
    r = simulate(d, 3.0, solver="rodas4", log_at=[3.0])
    assert np.allclose(r["rod.y"][0], np.arange(1, n + 1) / (n + 1), atol=1e-6)
    assert r.statistics["steps"] < 500


@pytest.mark.parametrize("solver", ["dopri5", "rodas4"])
def test_same_trajectory_as_the_explicit_method(solver):
    times = np.linspace(0.0, 20.0, 41)
    reference = simulate(one(VanDerPol(2.0)), 20.0, log_at=times, rtol=1e-12, atol=1e-14)["b.y"]
    found = simulate(one(VanDerPol(2.0)), 20.0, log_at=times, solver=solver, rtol=1e-8, atol=1e-10)["b.y"]
    assert np.abs(found - reference).max() < 2e-6


def test_what_reaches_the_derivative_through_unknowns():
    """x' = (z - x0, -x1), z = 2 x0 + 3 x1 + 5 t: rows (1, 3) and (0, -1), df/dt = (5, 0)."""

    def equations(b):
        x = b.continuous("x", [0.0, 0.0])
        z = b.algebraic("z", 0.0)
        b.residual(z - 2 * x[0] - 3 * x[1] - 5 * b.time)
        b.derivative(x, [z[0] - x[0], -x[1]])

    s = alone(equations).system()
    function, plan = linearised(s)
    assert (plan.column_start, plan.rows) == ([0, 1, 3], [0, 0, 1])
    for direction, rate in (((1, 0, 0), (1, 0)), ((0, 1, 0), (3, -1)), ((0, 0, 1), (5, 0))):
        found = function(0.5, [0.1, 0.2, *direction], s.h0, s.w0, s.p0)
        assert np.array(found).ravel() == pytest.approx(rate)
