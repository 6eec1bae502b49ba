"""Handles on what is left open: they change nothing until they are moved, and then drive their input."""

from dataclasses import dataclass

import numpy as np
import pytest

from blocks import Block, Constant, Gain, Integrator, Mux, Sum, UnitDelay
from cosim import Diagram, simulate
from cosim.scenario.handles import with_handles


@dataclass(frozen=True)
class Kept(Block):
    """Two inputs that keep a value of their own where nothing is connected, as those of FMUs do."""

    def define(self, b):
        one = b.input("one", unconnected=[2.5])
        two = b.input("two", size=2, unconnected=[1.0, -1.0])
        b.output("y", one * two)


def open_everywhere():
    d, inner = Diagram("open"), Diagram("inner")
    inner.add("g", Gain(2.0))
    inner.ground("g.u")
    inner.outport("y", inner["g"]["y"])
    d.add("c", Constant([1.0, 2.0, 3.0]))
    d.add("s", Sum("+-"))
    d.add("i", Integrator([0.0, 0.0, 0.0]))
    d.add("m", Mux(2))
    d.add("z", UnitDelay(sample=0.1))
    d.add("in", inner)
    d.add("k", Kept())
    d.connect("c.y -> s.in1", "s.y -> i.u", "in.y -> m.in1")
    for port in ("s.in2", "m.in2", "z.u", "k.one", "k.two"):
        d.ground(port)
    return d


def test_open_inputs_of_every_kind_have_handles():
    d = open_everywhere()
    opened = with_handles(d.netlist())
    assert opened.opened == {
        "s_in2.value": "s.in2", "m_in2.value": "m.in2", "z_u.value": "z.u", "in/g_u.value": "in/g.u",
        "k_one.value": "k.one", "k_two.value": "k.two",
    }  # fmt: skip
    options = {"engine": "reference", "log_every": 0.1}
    system = opened.system()
    plain, still = simulate(d, 1.0, **options), simulate(system, 1.0, **options)
    for name in plain.signals:
        assert plain[name].tobytes() == still[name].tobytes(), name
    assert np.array_equal(still["k.y"][-1], [2.5, -2.5])
    given = {"s_in2.value": 0.5, "m_in2.value": 4.0, "z_u.value": 3.0, "in/g_u.value": 1.5}
    moved = simulate(system, 1.0, parameters=given | {"k_two.value": [2.0, 3.0]}, **options)
    assert moved["i.y"][-1] == pytest.approx([0.5, 1.5, 2.5])
    for name, wanted in (("m.out", [3.0, 4.0]), ("z.y", [3.0]), ("k.y", [5.0, 7.5])):
        assert np.array_equal(moved[name][-1], wanted), name
