"""Steps at their limits: what is named when they collapse, stretches of a last bit, sizes of states."""

from __future__ import annotations

import numpy as np
import pytest

from blocks import Constant, Integrator, Sign, SimulationError, Sine, Step, Sum
from cosim import Simulation, simulate
from tests.helpers.made import alone, chain, ramp
from tests.helpers.runs import build


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("first", [True, False])
def test_the_state_that_cannot_go_on_is_named_beside_a_large_one(engine, first):
    """small^1.5 = 1 - 0.75 t ends at t = 4/3; what moves far in its own size is it, not the large one."""

    def equations(b):
        names = ("small", "large") if first else ("large", "small")
        x = {name: b.continuous(name, {"small": 1.0, "large": 1e6}[name]) for name in names}
        b.derivative(x["small"], -0.5 / np.sqrt(x["small"]))
        b.derivative(x["large"], 100.0 + 0 * x["large"])

    with pytest.raises(SimulationError) as caught:
        simulate(alone(equations), 2.0, engine=engine, solver="rodas4")
    assert caught.value.time == pytest.approx(4 / 3, abs=1e-4)
    assert "small" in str(caught.value) and "large" not in str(caught.value)


@pytest.mark.parametrize("solver", ["BDF", "LSODA", "Radau", "rodas4", "dopri5"])
def test_stops_one_bit_apart(solver):
    """Two steps of 1, at 0.5 and at the next number behind it: the integral is 2 (t - 0.5)."""
    times = (0.5, np.nextafter(0.5, 1.0), 0.5 + 2**-50)
    blocks = {f"s{k}": Step(time=t) for k, t in enumerate(times)}
    wires = " ".join(f"s{k}.y>sum.in{k + 1}" for k in range(3))
    d = build(f"{wires} sum.y>i.u", **blocks, sum=Sum("+++"), i=Integrator())
    r = simulate(d, 1.0, engine="reference", solver=solver, log_at=[0.5, 1.0])
    assert r["i.y"][:, 0] == pytest.approx([0.0, 1.5], abs=1e-9)


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_without_states_a_run_arrives_where_it_was_sent_to_the_last_bit(engine):
    """Crossings of a signal without states are looked at in pieces, whose sums need not end there."""
    targets = np.sort(np.random.default_rng(5).uniform(0.0, 3.0, 40))
    sim = Simulation(chain(Sine(frequency=7.0), Sign()), engine=engine, max_step=0.01)
    for t in targets:
        sim.advance(t)
        assert sim.time == t
    assert sim.value("b2.y") == np.sign(np.sin(7.0 * targets[-1]))
    for before, after in ((0.3, 0.9), (0.7, 2.9)):  # 0.3 + (0.9 - 0.3) is more than 0.9
        sim = Simulation(chain(Sine(frequency=0.1), Sign()), engine=engine, max_step=10.0)
        sim.advance(before)
        sim.advance(after)
        assert sim.time == after


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_run_that_keeps_its_wall_limit_goes_to_its_end(engine):
    r = simulate(chain(Constant(2.0), Integrator()), 1.5, engine=engine, log_at=[1.5], wall_limit=600.0)
    assert r["b2.y"].item() == pytest.approx(3.0) and not r.message


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_thousand_events_while_the_time_hardly_goes_on_end_the_run(engine):
    """A sawtooth of period 1e-14 s leaves its threshold every time, and would take 1e14 events."""

    def equations(b):
        x = ramp(b, slope=1e14)
        b.when(x[0] - 1.0, [(x, x - 1.0)], "rising", "again")

    with pytest.raises(SimulationError, match="Zeno") as caught:
        simulate(alone(equations), 1.0, engine=engine)
    assert caught.value.time == pytest.approx(1e-11, rel=0.1)


@pytest.mark.parametrize("many", [1, 60])
def test_the_derivative_along_the_solution_of_equations_that_are_solved(many):
    """x' = w + t x, w^3 + w = t^2 + x: J = t + 1/(3 w^2 + 1), and 2 t/(3 w^2 + 1) + x with time alone."""

    def equations(b):
        x = b.continuous("x", np.linspace(0.5, 1.5, many))
        w = b.algebraic("w", 0.7, size=many)
        b.residual(w**3 + w - b.time**2 - x)
        b.derivative(x, w + b.time * x)
        b.output("x", x)

    sim = Simulation(alone(equations), engine="reference", solver="rodas4")
    sim.advance(0.4)
    t, x = sim.time, sim.value("it.x")
    jacobian, slope = sim._engine.parts.right_hand_side.linearise(t, x)
    w = np.array([np.roots([1.0, 0.0, 1.0, -(t**2) - v]) for v in x])
    w = w[np.abs(w.imag) < 1e-12].real
    found = jacobian.toarray() if hasattr(jacobian, "toarray") else jacobian
    assert found == pytest.approx(np.diag(t + 1 / (3 * w**2 + 1)), abs=1e-9)
    assert slope == pytest.approx(x + 2 * t / (3 * w**2 + 1), abs=1e-9)
