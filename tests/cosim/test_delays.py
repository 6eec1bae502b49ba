"""Transport delays: accuracy, jumps that land exactly, delay differential equations, snapshots."""

import numpy as np
import pytest

from blocks import (
    BlockError,
    Constant,
    Function,
    Gain,
    Integrator,
    Pulse,
    SimulationError,
    Sine,
    Step,
    TransportDelay,
)
from cosim import Diagram, Simulation
from cosim import simulate as simulate_with
from tests.helpers.made import alone, chain


def simulate(d, until, **settings):
    return simulate_with(d, until, engine="reference", **settings)


def delayed_feedback(gain: float, delay: float) -> Diagram:
    """x' = gain x(t - delay), x = 1 until t = 0."""
    d = Diagram("dde")
    x, k, past = (
        d.add("x", Integrator(1.0)),
        d.add("k", Gain(gain)),
        d.add("past", TransportDelay(delay, 1.0)),
    )
    d.connect(x["y"], past["u"])
    d.connect(past["y"], k["u"])
    d.connect(k["y"], x["u"])
    return d


def method_of_steps(t: float, gain: float, delay: float) -> float:
    """x(t) of x' = gain x(t - delay), x = 1 for t <= 0: sum of gain^k (t - (k-1) delay)^k / k!."""
    total, k, factorial = 1.0, 1, 1.0
    while t > (k - 1) * delay:
        factorial *= k
        total += gain**k * (t - (k - 1) * delay) ** k / factorial
        k += 1
    return total


@pytest.mark.parametrize("settings", [{}, {"solver": "rk4", "step": 0.01}, {"solver": "Radau"}])
def test_a_delay_in_a_feedback_loop_solves_the_delay_differential_equation(settings):
    times = [0.3, 0.5, 1.0, 1.7, 2.9, 4.0]
    r = simulate(delayed_feedback(-1.2, 0.5), 4.0, log_at=times, **settings)
    exact = [method_of_steps(t, -1.2, 0.5) for t in times]
    assert r["x.y"][:, 0] == pytest.approx(exact, abs=2e-7)


def test_fourth_order_with_rk4():
    """A smooth delayed signal, from t = 1 on, in a stiffless equation: halving the step divides by 16."""

    def error(step):
        d = Diagram("order")
        u, past = d.add("u", Sine(frequency=5.0)), d.add("past", TransportDelay(0.25))
        f = d.add("f", Function(lambda x, u: -x + u * x * 0.5 + u))
        x = d.add("x", Integrator(1.0))
        d.connect(u["y"], past["u"])
        d.connect(x["y"], f["x"])
        d.connect(past["y"], f["u"])
        d.connect(f["y"], x["u"])
        r = simulate(d, 2.0, solver="rk4", step=step, log_at=[2.0])
        return r["x.y"][0, 0]

    values = [error(h) for h in (0.02, 0.01, 0.005, 0.0025)]
    steps = np.abs(np.diff(values))
    assert np.log2(steps[:-1] / steps[1:]) == pytest.approx([4, 4], abs=0.25)


def test_a_smooth_signal_without_any_states():
    r = simulate(chain(Sine(frequency=7.0), TransportDelay(0.3, -5.0)), 3.0, log_every=0.01)
    exact = np.where(r.time >= 0.3 - 1e-12, np.sin(7 * (r.time - 0.3)), -5.0)
    assert r["b2.y"][:, 0] == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("settings", [{}, {"solver": "rk4", "step": 0.013}])
def test_jumps_come_out_exactly_one_delay_later(settings):
    """A pulse train through a delay into an integrator: the areas are exact to rounding."""
    d = chain(Pulse(1.0, 0.25, 0.5), TransportDelay(0.1), Integrator())
    r = simulate(d, 2.0, log_every=0.025, **settings)
    k = np.arange(len(r.time)) - 4  # 0.1 s are 4 rows; the pulses are 5 rows on, 5 off
    assert r["b2.y"][:, 0].tolist() == np.where((k >= 0) & (k % 10 < 5), 1.0, 0.0).tolist()
    area = np.maximum(0, (k // 10) * 0.125 + np.minimum(k % 10, 5) * 0.025)
    assert r["b3.y"][:, 0] == pytest.approx(area, abs=1e-13)


def test_a_step_through_two_delays_and_a_delay_as_parameter():
    d = chain(Step(0.2, 1.0, 3.0), TransportDelay(0.15, 1.0), TransportDelay(0.25, 1.0))
    r = simulate(d, 1.0, log_at=[0.59, 0.61])
    assert r["b3.y"][:, 0].tolist() == [1.0, 3.0]
    r = simulate(d, 1.0, log_at=[0.59, 0.69, 0.71], parameters={"b2.delay": 0.25})
    assert r["b3.y"][:, 0].tolist() == [1.0, 1.0, 3.0]


def test_a_delay_that_changes_with_a_signal():
    """x(t - s(t)) of a ramp is t - s(t)."""

    def equations(b):
        x = b.continuous("x", 0.0)
        b.derivative(x, 1.0 + 0 * x)
        b.output("y", b.delayed(x, 0.2 + 0.1 * np.sin(b.time), 0.0))

    r = simulate(alone(equations), 3.0, log_at=[1.0, 2.0, 3.0])
    t = r.time
    assert r["it.y"][:, 0] == pytest.approx(t - 0.2 - 0.1 * np.sin(t), abs=1e-10)


def test_a_delay_must_be_positive():
    with pytest.raises(BlockError, match="delay is 0"):
        TransportDelay(0.0)
    d = chain(Constant(1.0), TransportDelay(0.1), Integrator())
    with pytest.raises(SimulationError, match=r"delay of 0 s.*b2\.past"):
        simulate(d, 1.0, parameters={"b2.delay": 0.0})


def test_the_past_is_part_of_a_snapshot():
    sim = Simulation(delayed_feedback(-2.0, 0.5), engine="reference")
    sim.advance(1.3)
    before = sim.snapshot()
    sim.advance(3.0)
    first = sim.snapshot()
    sim.restore(before)
    sim.advance(3.0)
    assert sim.snapshot().same(first) and not before.same(first)
