"""ForEach against as many blocks by hand."""

import numpy as np
import pytest

from blocks import Constant, FirstOrder, Gain, Integrator, Mux, Pulse, Relay, Sine, Step, Sum, UnitDelay
from blocks.errors import BlockError, PlantloopError
from cosim import Diagram, Enabled, ForEach, Simulation, linearize, simulate

ENGINES = ("reference", "native")
AMPLITUDES = [1.0, -2.0, 0.5]


def heater():
    """A room with a relay: x' = (10 on - x + outside) gain; on follows a relay around 5."""
    d = Diagram("heater")
    gain = d.parameter("gain", 1.0)
    start = d.parameter("start", 0.0)
    d.add("relay", Relay(on_point=-4.5, off_point=-5.5, on_value=10.0))
    d.add("less", Gain(-1.0))
    d.add("sum", Sum("+-+"))
    d.add("rate", Gain(gain))
    d.add("x", Integrator(initial=start))
    d.connect(d.inport("outside"), d["sum"]["in3"])
    d.connect("x.y -> less.u, sum.in2", "less.y -> relay.u", "relay.y -> sum.in1")
    d.connect("sum.y -> rate.u", "rate.y -> x.u")
    d.outport("x", d["x"]["y"])
    return d


@pytest.mark.parametrize("engine", ENGINES)
def test_copies_with_events_are_those_by_hand(engine):
    """Each copy has its own parameters, events and start; what all share is one parameter."""
    gains, d, hand = [1.0, 2.0, 0.7], Diagram("d"), Diagram("hand")
    d.add("outside", Sine(amplitude=AMPLITUDES, frequency=1.0))
    d.add("rooms", ForEach(heater(), 3, parameters={"gain": gains}))
    d.connect("outside.y", "rooms.outside")
    for k in range(3):
        hand.add(f"outside{k}", Sine(amplitude=AMPLITUDES[k], frequency=1.0))
        hand.add(f"room{k}", heater(), parameters={"gain": gains[k]})
        hand.connect(f"outside{k}.y", f"room{k}.outside")
    more = {"until": 5.0, "engine": engine, "solver": "rk4", "step": 0.01, "log_every": 0.05}
    r = simulate(d, parameters={"rooms.start": 2.0, "rooms/1.gain": 1.5}, **more)
    by_hand = {f"room{k}.start": 2.0 for k in range(3)} | {"room1.gain": 1.5}
    expected = simulate(hand, parameters=by_hand, **more)
    assert len(r.events) == len(expected.events) > 6
    for k in range(3):
        assert r["rooms.x"][:, k] == pytest.approx(expected[f"room{k}.x"][:, 0], abs=1e-9)
    assert np.array_equal(
        r["rooms.x"], simulate(d, parameters={"rooms.start": 2.0, "rooms/1.gain": 1.5}, **more)["rooms.x"]
    )


def counting():
    """y = own number * gain + 10 x, where x is u of the tick before; a wide input passes."""
    d = Diagram("counting")
    d.add("before", UnitDelay(sample=0.5))
    d.add("tens", Gain(10.0))
    d.add("y", Sum("++"))
    d.add("both", Sum("++"))
    d.connect(d.inport("index"), d["y"]["in1"])
    d.connect(d.inport("u"), d["before"]["u"])
    d.connect(d.inport("g"), d["both"]["in1"])
    d.connect("before.y -> tens.u", "tens.y -> y.in2", "y.y -> both.in2")
    d.outport("y", d["both"]["y"])
    return d


@pytest.mark.parametrize("engine", ENGINES)
def test_index_shared_inputs_and_wider_elements(engine):
    d = Diagram("d")
    d.add("u", Constant([1.0, 2.0, 3.0, 4.0]))
    d.add("g", Constant([100.0, 200.0]))
    d.add("each", ForEach(counting(), 2, shared=("g",)))
    d.connect("u.y -> each.u", "g.y -> each.g")
    r = simulate(d, until=1.0, engine=engine, log_at=[0.25, 0.75])
    assert r["each.y"].tolist() == [[100, 200, 101, 201], [110, 220, 131, 241]]


@pytest.mark.parametrize("engine", ENGINES)
def test_inside_an_enabled_part_and_around_one(engine):
    """Copies of which each has its own switch, all of them under one more."""
    inner = Diagram("inner")
    inner.add("bank", ForEach(Enabled(Integrator()), 2))
    inner.connect(inner.inport("u"), inner["bank"]["u"])
    inner.connect(inner.inport("switches"), inner["bank"]["enable"])
    inner.outport("y", inner["bank"]["y"])
    d = Diagram("d")
    d.add("u", Constant([1.0, 1.0]))
    d.add("one", Step(time=1.0))
    d.add("two", Step(time=2.0))
    d.add("all", Pulse(period=10.0, width=0.3))
    d.add("both", Mux(2))
    d.add("bank", Enabled(inner))
    d.connect("one.y -> both.in1", "two.y -> both.in2", "all.y -> bank.enable")
    d.connect("u.y -> bank.u", "both.out -> bank.switches")
    r = simulate(d, until=5.0, engine=engine, log_at=[2.5, 5.0])
    assert r["bank.y"] == pytest.approx(np.array([[1.5, 0.5], [2.0, 1.0]]), abs=1e-9)


def test_a_snapshot_goes_on_and_the_linear_model_is_block_diagonal(tmp_path):
    d = Diagram("d")
    d.add("bank", ForEach(FirstOrder(time_constant=2.0), 2))
    d.connect(d.inport("u", size=2), d["bank"]["u"])
    d.outport("y", d["bank"]["y"])
    ss = linearize(d)
    assert np.allclose(ss.A, -0.5 * np.eye(2)) and np.allclose(ss.C @ ss.B, 0.5 * np.eye(2))
    sim = Simulation(d)
    sim.set_input("u", [1.0, 2.0])
    sim.advance(1.0)
    sim.save(tmp_path / "half.npz")
    sim.advance(2.0)
    other = Simulation(d)
    other.load(tmp_path / "half.npz")
    other.advance(2.0)
    assert other.value("bank.y").tolist() == sim.value("bank.y").tolist()
    assert sim.value("bank.y") == pytest.approx([1 - np.exp(-1), 2 - 2 * np.exp(-1)], abs=1e-7)


def test_what_does_not_fit_is_refused():
    d = Diagram("d")
    d.add("u", Constant([1.0, 2.0, 3.0]))
    d.add("bank", ForEach(Gain(2.0), 2))
    d.connect("u.y", "bank.u")
    with pytest.raises(PlantloopError, match="3 components, which 2 elements cannot share"):
        simulate(d, until=1.0)
    with pytest.raises(BlockError, match="no parameter 'gian'; did you mean 'gain'"):
        ForEach(heater(), 2, parameters={"gian": [1, 2]})
    with pytest.raises(BlockError, match="expected 2 values"):
        ForEach(heater(), 2, parameters={"gain": [1, 2, 3]})
    with pytest.raises(BlockError, match="no input; did you mean 'outside'"):
        ForEach(heater(), 2, shared=("outsid",))
    with pytest.raises(PlantloopError, match="has no parameter 'gain'"):
        e = Diagram("e")
        e.add("rooms", ForEach(heater(), 2, parameters={"gain": [1, 2]}), parameters={"gain": 3.0})
        e.ground("rooms.outside")
        simulate(e, until=1.0)
