"""Solvers by name: SciPy's beside our own, exact Jacobians, restarts at stops, settings."""

import casadi as ca
import numpy as np
import pytest

from blocks import Constant, Function, Integrator, PlantloopError, Pulse, SimulationError
from cosim import Diagram, Simulation
from cosim import simulate as simulate_with
from cosim.engines.methods.solvers import SOLVERS
from tests.helpers.checked import closed_form, independent
from tests.helpers.made import alone, chain

STIFF = ["Radau", "BDF", "LSODA", "rodas4"]
ADAPTIVE = [name for name, solver in SOLVERS.items() if solver.adaptive]


def simulate(d, until, **settings):
    return simulate_with(d, until, engine="reference", **settings)


def van_der_pol(mu: float) -> Diagram:
    d = Diagram("van der Pol")
    f = d.add("f", Function(lambda x, v: mu * (1 - x**2) * v - x))
    v, x = d.add("v", Integrator(0.0)), d.add("x", Integrator(2.0))
    d.connect(f["y"], v["u"])
    d.connect(v["y"], x["u"])
    d.connect(x["y"], f["x"])
    d.connect(v["y"], f["v"])
    return d


def test_all_of_them_are_listed_and_a_typing_error_is_answered():
    assert {"Radau", "BDF", "LSODA", "RK45", "RK23", "DOP853", "dopri5", "rk4", "euler"} <= set(SOLVERS)
    with pytest.raises(PlantloopError, match=r"no solver 'Radua'; did you mean 'Radau'\?"):
        simulate(chain(Constant(1.0), Integrator()), 1.0, solver="Radua")
    with pytest.raises(PlantloopError, match=r"no solver 'stiff'; there is .*'LSODA'.*'dopri5'"):
        simulate(chain(Constant(1.0), Integrator()), 1.0, solver="stiff")
    with pytest.raises(PlantloopError, match=r"no solver 'ode15s'; did you mean 'rodas4'\?"):
        simulate(chain(Constant(1.0), Integrator()), 1.0, solver="ode15s")
    with pytest.raises(PlantloopError, match=r"step= does not apply to solver 'BDF', which is adaptive"):
        simulate(chain(Constant(1.0), Integrator()), 1.0, solver="BDF", step=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("solver", STIFF)
def test_a_stiff_oscillator(checked, solver):
    """mu = 1000: Hairer & Wanner's problem, x at t = 1000 after scaling, from Radau at 1e-12."""
    r = simulate(van_der_pol(1000.0), 1000.0, solver=solver, rtol=1e-8, atol=1e-10, log_at=[500.0, 1000.0])
    known, oracle = [1.5967689, -1.8636463], independent("scipy Radau at 1e-12")
    checked(r["x.y"][:, 0], known, f"van der Pol, mu = 1000, {solver}", "x", oracle, atol=2e-6)
    assert r.statistics["steps"] < 3000


@pytest.mark.parametrize("solver", ADAPTIVE)
def test_every_adaptive_solver_lands_on_ticks_and_interpolates(checked, solver):
    """A pulse train into an integrator and a second one: piecewise polynomials, known exactly."""
    d = chain(Pulse(1.0, 0.5, 0.5), Integrator(), Integrator())
    r = simulate(d, 2.0, solver=solver, rtol=1e-9, atol=1e-11, log_every=0.125)
    ramp = np.minimum(r.time % 0.5, 0.25) + 0.25 * np.floor(r.time / 0.5)
    oracle = closed_form("piecewise polynomials")
    checked(r["b2.y"][:, 0], ramp, f"pulses through two integrators, {solver}", "y", oracle, atol=1e-8)
    assert r.statistics["evaluations"] > 0 and r.settings["solver"].value == solver


@pytest.mark.parametrize("solver", ADAPTIVE)
def test_restoring_repeats_a_run_bit_for_bit(solver):
    sim = Simulation(van_der_pol(3.0), solver=solver, rtol=1e-6, engine="reference")
    sim.advance(1.0)
    before = sim.snapshot()
    sim.advance(2.0)
    first = sim.snapshot()
    sim.restore(before)
    sim.advance(2.0)
    assert sim.snapshot().same(first)


@pytest.mark.parametrize("solver", ["Radau", "BDF", "LSODA", "RK45"])
def test_a_non_finite_derivative_names_its_block(solver):
    d = Diagram("root")
    f, x = d.add("f", Function(lambda x: -np.sqrt(x) - 1)), d.add("x", Integrator(1.0))
    d.connect(f["y"], x["u"])
    d.connect(x["y"], f["x"])
    with pytest.raises(SimulationError, match=r"non-finite .*'(f|x)\.y'") as caught:
        simulate(d, 5.0, solver=solver)
    assert caught.value.time == pytest.approx(2 - 2 * np.log(2), abs=1e-3)


@pytest.mark.parametrize("n", [3, 60])
def test_the_jacobian_is_exact_and_sparse_where_that_pays(n):
    """Heat in a rod of n cells with a source: J = tridiag(1, -2, 1) - diag(3 x^2)."""

    def equations(b):
        x = b.continuous("x", np.linspace(0, 1, n))
        left, right = np.concatenate([[0.0], x[:-1]]), np.concatenate([x[1:], [0.0]])
        b.derivative(x, left - 2 * x + right - x**3)

    sim = Simulation(alone(equations), solver="Radau", engine="reference")
    x = np.linspace(0, 1, n)
    found = sim._engine.parts.right_hand_side.linearise(0.0, x)[0]
    assert hasattr(found, "toarray") == (n == 60)
    dense = found.toarray() if n == 60 else found
    exact = np.diag(-2 - 3 * x**2) + np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)
    np.testing.assert_allclose(dense, exact, rtol=1e-15, atol=1e-15)
    assert isinstance(sim.system.derivative, ca.SX)


def test_max_step_bounds_scipy_s_steps():
    r = simulate(chain(Constant(1.0), Integrator()), 1.0, solver="RK45", max_step=0.05)
    assert np.diff(r.time).max() <= 0.05 + 1e-12 and r.statistics["steps"] >= 20
