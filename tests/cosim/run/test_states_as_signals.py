"""States, modes, other memories and parameters are logged and read by name, as signals are."""

from dataclasses import dataclass

import numpy as np
import pytest

from blocks import Block, DiscreteStateSpace, Gain, Integrator, Mux, Relay, Sine
from blocks.errors import PlantloopError
from cosim import Diagram, Simulation, simulate, simulate_many

ENGINES = ("native", "reference")


@dataclass(frozen=True)
class Oscillator(Block):
    """x'' = -4 x; only the sum of both states is an output."""

    def define(self, b):
        x = b.continuous("x", [1.0, 0.0], labels=("place [m]", "speed [m/s]"))
        b.derivative(x, [x[1], -4.0 * x[0]])
        b.output("sum", x[0] + x[1])


def diagram() -> Diagram:
    d = Diagram("d")
    o, f = d.add("o", Oscillator()), d.add("f", DiscreteStateSpace(0.5, 0.5, 1.0, sample="0.1", initial=3.0))
    relay = d.add("relay", Relay(0.5, -0.5))
    g, m = d.add("g", Gain(np.array([[1.0, 2.0], [0.0, 3.0]]))), d.add("m", Mux(2))
    o["sum"] >> f["u"]
    o["sum"] >> relay["u"]
    o["sum"] >> m["in1"]
    f["y"] >> m["in2"]
    m["out"] >> g["u"]
    return d


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("log_every", [0.05, "step"])
def test_a_state_that_is_no_output_is_logged_by_name(engine, log_every):
    r = simulate(
        diagram(), 1.0, engine=engine, solver="dopri5", rtol=1e-10, atol=1e-12, log_every=log_every,
        signals=["o.x", "o.sum", "g.k"],
    )  # fmt: skip
    assert list(r.keys()) == ["o.x", "o.sum", "g.k"]
    exact = np.stack([np.cos(2 * r.time), -2 * np.sin(2 * r.time)], axis=1)
    assert np.abs(r["o.x"] - exact).max() < 1e-8
    assert np.abs(r["o.x.speed"] - exact[:, 1]).max() < 1e-8
    assert np.abs(r["o.sum"][:, 0] - exact.sum(axis=1)).max() < 1e-8
    assert set(r["g.k"][0]) == {1.0, 2.0, 3.0}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_discrete_state_is_that_of_its_ticks(engine):
    r = simulate(diagram(), 0.5, engine=engine, log_every=0.05, signals=["f.x", "o.sum"])
    at_ticks = simulate(diagram(), 0.5, engine=engine, log_every=0.1, signals=["o.sum"])["o.sum"][:, 0]
    x = [3.0]
    for u in at_ticks[:-1]:
        x.append(0.5 * x[-1] + 0.5 * u)
    ticks = r.ticks("f.x")
    assert np.allclose(ticks.time, np.arange(6) * 0.1)
    assert np.allclose(ticks.values[:, 0], x, atol=1e-9)
    assert np.allclose(r["f.x"][::2, 0], x, atol=1e-9)


def test_both_engines_log_the_same_bits():
    every = [
        simulate(diagram(), 1.0, engine=e, solver="rk4", step=0.01, log_every=0.03, signals=["*"])
        for e in ENGINES
    ]
    assert list(every[0].keys()) == list(every[1].keys())
    for name in every[0].keys():  # noqa: SIM118
        assert np.array_equal(every[0][name], every[1][name]), name


def test_a_star_stands_for_any_text():
    r = simulate(diagram(), 0.1, signals=["o.*"])
    assert list(r.keys()) == ["o.sum", "o.x"]
    with pytest.raises(PlantloopError, match=r"no signal that fits 'oo\.\*'"):
        simulate(diagram(), 0.1, signals=["oo.*"])


def test_states_are_not_in_a_log_where_nothing_is_chosen_but_those_of_blocks_that_ask_for_it():
    @dataclass(frozen=True)
    class Drawn(Oscillator):
        def define(self, b):
            Oscillator.define(self, b)
            b.log_states()

    d = Diagram("two")
    d.add("plain", Oscillator())
    d.add("drawn", Drawn())
    assert list(simulate(d, 0.1).keys()) == ["plain.sum", "drawn.sum", "drawn.x"]


@pytest.mark.parametrize("engine", ENGINES)
def test_many_runs_and_values_of_a_simulation(engine):
    runs = simulate_many(
        diagram(), [{"initial": {"o.x": [k, 0.0]}} for k in range(3)], 1.0, signals=["o.x"], engine=engine
    )
    assert np.allclose(runs["o.x"][:, -1, 0], np.arange(3) * np.cos(2.0), atol=1e-5)
    sim = Simulation(diagram(), engine=engine, initial={"o.x": [2.0, 0.0]})
    sim.advance(0.25)
    assert np.allclose(sim.value("o.x"), [2 * np.cos(0.5), -4 * np.sin(0.5)], atol=1e-5)
    sim.set_parameter("g.k", np.array([[7.0, 2.0], [0.0, 3.0]]))
    assert 7.0 in sim.value("g.k")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_mode_is_a_signal(engine):
    r = simulate(diagram(), 3.0, engine=engine, log_every=0.01, signals=["relay.*"])
    inner = [n for n in r.keys() if n.startswith("relay.") and n not in ("relay.y", "relay.u")]  # noqa: SIM118
    assert inner
    d = Diagram("lone")
    d.connect(d.add("s", Sine())["y"], d.add("i", Integrator(0.0))["u"])
    assert "i.x" in simulate(d, 0.1, engine=engine, signals=["i.x"]).keys()  # noqa: SIM118
