"""Transport delays: accuracy, jumps that land exactly, delay differential equations, snapshots."""

from dataclasses import dataclass

import numpy as np
import pytest

from blocks import (
    BlockError,
    Constant,
    Function,
    Gain,
    Hold,
    Integrator,
    PlantloopError,
    Pulse,
    Relay,
    SimulationError,
    Sine,
    Step,
    Sum,
    TransportDelay,
)
from blocks.contract.block import Block
from cosim import Diagram, Simulation, simulate_many
from cosim import simulate as simulate_with
from cosim.engines.methods.tableau import TABLEAUS
from cosim.engines.native import compiler, native
from tests.helpers.made import alone, chain

try:
    compiler.find()
    COMPILED = True
except compiler.CompilerError:  # pragma: no cover
    COMPILED = False


def simulate(d, until, **settings):
    """The result of the reference engine; the native one's is the same, for fixed steps bit by bit."""
    reference = simulate_with(d, until, engine="reference", **settings)
    solver = settings.get("solver", "dopri5")
    if COMPILED and solver in TABLEAUS:
        found = simulate_with(d, until, engine="native", **settings)
        for name in reference.signals:
            if TABLEAUS[solver].adaptive:
                np.testing.assert_allclose(found[name], reference[name], rtol=1e-9, atol=1e-9, err_msg=name)
            else:
                assert found[name].tobytes() == reference[name].tobytes(), name
        assert found.statistics["steps"] == reference.statistics["steps"]
        assert [e.name for e in found.events] == [e.name for e in reference.events]
    return reference


ENGINES = ["reference", "native"] if COMPILED else ["reference"]


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_smooth_signal_without_any_states():
    r = simulate(chain(Sine(frequency=7.0), TransportDelay(0.3, -5.0)), 3.0, log_every=0.01)
    exact = np.where(r.time >= 0.3 - 1e-12, np.sin(7 * (r.time - 0.3)), -5.0)
    assert r["b2.y"][:, 0] == pytest.approx(exact, abs=1e-9)


def test_a_signal_that_swings_within_a_step_is_kept_in_pieces_of_it():
    """48 swings in each step of 1 s: a 256th of it, 1.2 rad, is the shortest piece that is kept."""
    late = np.linspace(1.01, 2.99, 57)
    d = chain(Sine(frequency=300.0), TransportDelay(1.0))
    r = simulate_with(d, 3.0, solver="rk4", step=1.0, log_at=late, engine="reference")
    assert r["b2.y"][:, 0] == pytest.approx(np.sin(300 * (late - 1.0)), abs=2e-3)


@pytest.mark.parametrize(("size", "stops"), [(1e-7, 0), (1e-3, 8)])
def test_what_moves_by_less_than_rounding_at_ticks_is_no_jump(size, stops):
    """A held ramp on 1e6, of which 1e-7 is 1e-13: only jumps that can be told come out at stops."""
    d = Diagram("d")
    d.add("t", Constant(1.0))["y"] >> d.add("ramp", Integrator())["u"]
    d.connect("ramp.y", d.add("held", Hold(sample=0.1))["u"])
    d.connect("held.y", d.add("size", Gain(size / 0.1))["u"])
    d.connect("size.y", d.add("sum", Sum("++"))["in1"])
    d.connect(d.add("base", Constant(1e6))["y"], "sum.in2")
    d.connect("sum.y", d.add("late", TransportDelay(0.15, 1e6))["u"])
    r = simulate_with(d, 0.99, solver="rk4", step=0.1, log_at=[0.99], engine="reference")
    assert r.statistics["steps"] == 10 + 1 + stops  # 1: the delayed signal begins


@pytest.mark.parametrize("settings", [{}, {"solver": "rk4", "step": 0.013}])
def test_jumps_come_out_exactly_one_delay_later(settings):
    """A pulse train through a delay into an integrator: the areas are exact to rounding."""
    d = chain(Pulse(1.0, 0.25, 0.5), TransportDelay(0.1), Integrator())
    r = simulate(d, 2.0, log_every=0.025, **settings)
    k = np.arange(len(r.time)) - 4  # 0.1 s are 4 rows; the pulses are 5 rows on, 5 off
    assert r["b2.y"][:, 0].tolist() == np.where((k >= 0) & (k % 10 < 5), 1.0, 0.0).tolist()
    area = np.maximum(0, (k // 10) * 0.125 + np.minimum(k % 10, 5) * 0.025)
    assert r["b3.y"][:, 0] == pytest.approx(area, abs=1e-13)


@pytest.mark.slow
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
    with pytest.raises(BlockError, match=r"'b2': TransportDelay: delay is 0"):
        simulate_with(d, 1.0, parameters={"b2.delay": 0.0})

    def equations(b):  # nothing but the run knows what this one may be
        x, delay = b.continuous("x", 0.0), b.parameter("delay", 0.1)
        b.derivative(x, 1.0 + 0 * x)
        b.output("y", b.delayed(x, delay, 0.0))

    for engine in ENGINES:
        with pytest.raises(SimulationError, match=r"delay of 0 s.*it\."):
            simulate_with(alone(equations), 1.0, engine=engine, parameters={"it.delay": 0.0})


FIXED = {"solver": "rk4", "step": 0.013}


@dataclass(frozen=True)
class Falling(Block):
    """x' = -1 + u / 10, set to one where it reaches zero."""

    def define(self, b):
        u = b.input("u", size=1)
        x = b.continuous("x", 1.0)
        b.derivative(x, -1.0 + 0.1 * u)
        b.when(x[0], [(x, 0.0 * x + 1.0)], direction="falling", name="again")
        b.output("y", x)


@pytest.mark.parametrize("settings", [{}, FIXED, {"solver": "euler", "step": 0.5}])
def test_an_event_where_a_delayed_signal_crosses(settings):
    """A relay in a loop with a delay: it switches one delay after the integral passes its threshold."""
    d = Diagram("switched")
    relay = d.add("relay", Relay(0.3, -0.3, 1.0, -1.0))
    minus, x, past = (
        d.add("minus", Gain(-1.0)),
        d.add("x", Integrator()),
        d.add("past", TransportDelay(0.137)),
    )
    for source, target in ((relay["y"], minus["u"]), (minus["y"], x["u"]), (x["y"], past["u"])):
        d.connect(source, target)
    d.connect(past["y"], relay["u"])
    times = [e.time for e in simulate(d, 3.0, **settings).events]
    assert np.diff(times) == pytest.approx(0.6 + 2 * 0.137, abs=1e-9)
    assert len(times) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, FIXED, {"solver": "rk4", "step": 0.5}])
@pytest.mark.parametrize("log", [{"log_every": 0.05}, {"log_every": "step"}])
def test_delays_of_what_jumps_at_events_and_ticks(settings, log):
    d = Diagram("jumps")
    falling, held = d.add("falling", Falling()), d.add("held", Hold(1, sample=0.07))
    a, b = d.add("a", TransportDelay(0.1, 1.0)), d.add("b", TransportDelay(0.033))
    for source, target in ((falling["y"], a["u"]), (a["y"], held["u"]), (held["y"], b["u"])):
        d.connect(source, target)
    d.connect(b["y"], falling["u"])
    simulate(d, 3.0, **settings, **log)


def switching() -> Diagram:
    """Nothing to integrate; crossings of a delayed sine, more than one in a step."""
    return chain(Sine(frequency=23.0), TransportDelay(0.21), Relay(0.1, -0.1, 1.0, 0.0))


def test_crossings_of_a_delayed_signal_without_states():
    assert len(simulate(switching(), 3.0, solver="rk4", step=0.5).events) == 21


def test_a_delay_that_depends_on_a_state_and_delays_of_vectors():
    def equations(b):
        x = b.continuous("x", [0.1, 1.0])
        y = b.delayed(x, 0.2 + 0.1 * np.sin(b.time) + 0.01 * x[0] * x[0], [0.1, 1.0])
        b.derivative(x, np.stack([y[1], -y[0] - 0.1 * x[1]]))
        b.output("y", y)

    for settings in ({}, FIXED, {"solver": "rk4", "step": 0.5}):
        simulate(alone(equations), 3.0, **settings)


def test_a_delay_that_is_delayed_itself_is_left_to_the_reference_engine():
    def equations(b):
        x = b.continuous("x", 0.0)
        b.derivative(x, 1.0 + 0 * x)
        b.output("y", b.delayed(x, 0.2 + 0.1 * b.delayed(x, 0.1, 0.0)[0], 0.0))

    d = alone(equations)
    with pytest.raises(PlantloopError, match="depends on a delay"):
        simulate_with(d, 1.0, engine="native")
    assert simulate_with(d, 1.0).settings["engine"].value == "reference"


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="no C compiler")
def test_long_histories_grow_and_are_forgotten_in_c(monkeypatch):
    monkeypatch.setattr(native, "PIECES", 256)
    monkeypatch.setattr(native, "STOPS", 1)
    d = chain(Pulse(0.05, 0.02, 0.5), TransportDelay(1.0), Integrator())
    simulate(d, 3.0, solver="rk4", step=0.001, log_every=0.01)
    sims = [Simulation(d, engine=e, solver="rk4", step=0.001) for e in ENGINES]
    for sim in sims:
        sim.advance(2.7)
    (one,), (other,) = (sim.snapshot().histories.values() for sim in sims)
    assert 1000 < one.count < 2200
    assert [p.tobytes() for p in one.parts().values()] == [p.tobytes() for p in other.parts().values()]


@pytest.mark.skipif(not COMPILED, reason="no C compiler")
def test_many_runs_with_delays():
    d = delayed_feedback(-1.2, 0.5)
    runs = {"initial": {"x.x": np.linspace(0.5, 2.0, 20)}}
    one, two = (simulate_many(d, runs, 2.0, threads=n, log_every=0.1, **FIXED) for n in (1, 2))
    assert one.table.tobytes() == two.table.tobytes()
    single = simulate_with(d, 2.0, log_every=0.1, initial={"x.x": runs["initial"]["x.x"][7]}, **FIXED)
    assert single["x.y"].tobytes() == one["x.y"][7].tobytes()


@pytest.mark.parametrize("engine", ENGINES)
def test_the_past_is_part_of_a_snapshot(engine):
    sim = Simulation(delayed_feedback(-2.0, 0.5), engine=engine)
    sim.advance(1.3)
    before = sim.snapshot()
    sim.advance(3.0)
    first = sim.snapshot()
    sim.restore(before)
    sim.advance(3.0)
    assert sim.snapshot().same(first) and not before.same(first)
