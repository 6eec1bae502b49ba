"""What a diagram says of itself: blocks, wires, signals, rates, and what is missing."""

import numpy as np

from blocks import Constant, Function, Gain, Integrator, Mux, Sine, Sum, TimeTable
from cosim import Diagram
from plant import Plant
from tests.helpers.three_blocks import three


def test_a_diagram_says_what_it_contains():
    inner = Diagram("inner")
    inner.connect(inner.inport("u"), inner.add("g", Gain([[1.0, 0.0], [0.0, 2.0]]))["u"])
    inner.outport("y", "g.y")
    d, *_ = three()
    d.connect("a.y -> b.u, c.u")
    d.add("m", Mux(2))
    d.add("n", inner)
    d.connect("b.y -> m.in1", "c.y -> m.in2", "m.out -> n.u")
    assert set(d.signals) == {"a.y", "b.y", "c.y", "m.out", "n/g.y"}
    assert {k: v.tolist() for k, v in d.states.items()} == {"c.x": [0.0]}
    assert d.parameters["b.k"].tolist() == 2.0
    found = d.info()
    assert found["blocks"]["n/g"] == "Gain"
    assert "a.y -> b.u" in found["connections"]
    assert found["signals"]["n/g.y"] == {"size": 2, "rate": "continuous"}
    assert found["open"] == ["n/g.y"]
    assert repr(d).startswith("<Diagram 'd': 5 blocks (a, b, c, m, n), 5 connections>")
    assert len(repr(_large())) < 200
    assert d._ipython_key_completions_() == ["a", "b", "c", "m", "n"]
    assert d["m"]._ipython_key_completions_() == ["in1", "in2", "out"]
    assert "<iframe" in d._repr_html_()


def test_an_unfinished_diagram_says_what_it_misses():
    d = Diagram("d")
    d.add("e", Sum("+-")) >> d.add("x", Integrator())
    d.outport("y", "x.y")
    found = d.info()
    assert found["blocks"] == {"e": "Sum", "x": "Integrator"}
    assert found["connections"] == ["e.y -> x.u"]
    assert found["outputs"] == {"y": "x.y"}
    assert [text.split(";")[0] for text in found["missing"]] == [
        "input 'e.in1' is not connected",
        "input 'e.in2' is not connected",
    ]
    d.connect(d.inport("r"), d["e"]["in1"])
    d.connect("x.y", "e.in2")
    assert d.info()["missing"] == []
    assert set(d.info()) > set(found)
    loop = Diagram("loop")
    loop.connect(loop.add("g", Gain(2.0))["y"], loop["g"]["u"])
    assert "Algebraic loop" in loop.info()["missing"][0]


def _large():
    d = Diagram("large")
    for k in range(300):
        d.add(f"g{k}", Constant(1.0))
    return d


def test_sampled_signals_and_their_rates():
    d = Diagram("d")
    d.add("s", Sine(1.0, 1.0, sample="0.1", offset="0.05")) >> d.add("g", Gain(2.0))
    assert set(d.rates) == {"s.y", "g.y"}
    assert d.rates["g.y"] == "10 Hz, offset 0.05 s"


def test_structural_parameters_are_listed_arrays_and_texts_too_and_no_functions():
    d = Diagram("d")
    d.add("table", TimeTable(d.parameter("at", np.array([0.0, 1.0])), [1.0, 2.0], interpolation="previous"))
    d.add("law", Function(lambda: 1.0))
    assert d.info()["structural"] == ["at", "table.times", "table.interpolation", "law.offset"]


def test_inputs_of_a_plant_are_no_outputs_that_nobody_reads():
    """They are signals too, since ports may hold what they are given."""
    d = Diagram("pendulum")
    d.add("plant", Plant.read("examples/inverted_pendulum/inverted_pendulum.xml"))
    d.add("one", Constant(1.0))
    d.connect("one.y -> plant.control_force")
    d.ground("plant.disturbance_force")
    outer = Diagram("outer")
    outer.add("in", d)
    assert d.info()["open"] == ["plant.pendulum", "plant.slider", "plant.request_hinge"]
    assert outer.info()["open"] == [f"in/{name}" for name in d.info()["open"]]


def test_what_add_returns_shows_its_ports():
    d = Diagram("d")
    assert repr(d.add("s", Sum("+-"))) == "<Sum 's': inputs in1, in2; outputs y>"
    assert repr(d.add("one", Constant(1.0))) == "<Constant 'one': inputs none; outputs y>"
    inner = Diagram("inner")
    inner.connect(inner.inport("u"), inner.add("g", Gain(2.0))["u"])
    inner.outport("w", "g.y")
    assert repr(d.add("n", inner)) == "<Diagram 'n': inputs u; outputs w>"
