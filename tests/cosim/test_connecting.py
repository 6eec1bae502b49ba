"""Wires drawn as text, as series and from handles; changes of a diagram, and typing errors in it."""

from dataclasses import dataclass

import numpy as np
import pytest

from blocks import Block, Constant, Function, Gain, Mux, Sine, StateFeedback, StateSpace, Sum
from blocks.errors import PlantloopError, WiringError
from cosim import Diagram, simulate
from tests.helpers.three_blocks import ends, three


def test_arrows_fan_out_and_several_connections_in_one_call():
    d, *_ = three()
    d.add("g", Gain(1.0))
    d.connect("a.y -> b.u, c.u", " b.y->g.u ")
    assert ends(d) == {("a.y", "b.u"), ("a.y", "c.u"), ("b.y", "g.u")}


def test_a_series_as_text():
    d, *_ = three()
    d.add("g", Gain(1.0))
    d.connect("a -> b -> c.u, g")
    assert ends(d) == {("a.y", "b.u"), ("b.y", "c.u"), ("b.y", "g.u")}
    d.disconnect("a -> b -> g")
    assert ends(d) == {("b.y", "c.u")}
    d.connect("a.y -> b.u -> g.u")  # in at b.u, on from its only output
    assert ends(d) == {("a.y", "b.u"), ("b.y", "c.u"), ("b.y", "g.u")}
    for wrong in ("a -> b, c -> g", "a -> -> c", "a -> b ->", " -> b", "a, b -> c", "a"):
        with pytest.raises(
            WiringError, match="no connection; write .* or a series 'a -> b -> c'|names no port"
        ):
            d.connect(wrong, "x -> y") if "->" in wrong else d.connect(wrong)
    with pytest.raises(WiringError, match=r"'b\.y' is an output"):
        d.connect("a -> b.y -> c")


def test_blocks_of_a_diagram_by_name():
    d, _, b, _ = three()
    inner = Diagram("inner")
    d.add("sub", inner)
    assert list(d.blocks) == ["a", "b", "c", "sub"]
    assert d.blocks["b"] == Gain(2.0) == b.block and d.blocks["sub"] is inner is d["sub"].block


def test_one_output_to_several_inputs():
    d, a, b, _ = three()
    d.connect(a["y"], b["u"], "c.u")
    assert ends(d) == {("a.y", "b.u"), ("a.y", "c.u")}


def test_series_through_the_only_ports():
    d, a, b, c = three()
    a >> b >> c
    assert ends(d) == {("a.y", "b.u"), ("b.y", "c.u")}
    inner = Diagram("inner")
    inner.outport("out", inner.add("g", Gain(3.0))["y"])
    inner.connect(inner.inport("into"), "g.u")
    last = d.add("last", inner)
    c["y"] >> last
    assert ("c.y", "last.into") in ends(d)


def test_series_names_the_choices():
    d, a, b, _ = three()
    s = d.add("s", Sum("+-"))
    with pytest.raises(
        WiringError, match=r"'s' has the inputs in1, in2: which one is meant\? Write s\['in1'\]"
    ):
        a >> s
    with pytest.raises(WiringError, match="'a' has no input"):
        b >> a


def test_a_whole_block_stands_for_its_only_port():
    d, a, b, _ = three()
    d.connect("a -> b, c.u")
    assert ends(d) == {("a.y", "b.u"), ("a.y", "c.u")}
    d.disconnect("a -> b")
    assert ends(d) == {("a.y", "c.u")}
    with pytest.raises(WiringError, match=r"'b\.y' is not connected to 'c\.u'"):
        d.disconnect("b.y -> c.u")
    d.connect(a, b)
    d.connect("b", d.add("s", Sum())["in1"])
    d.outport("out", b)
    assert ends(d) == {("a.y", "b.u"), ("a.y", "c.u"), ("b.y", "s.in1")}
    with pytest.raises(WiringError, match="'s' has the inputs in1, in2: which one is meant"):
        d.connect("a -> s")
    with pytest.raises(WiringError, match="no block 'aa' in diagram 'd'; did you mean 'a'"):
        d.connect("aa -> b")


class NoDataclass(Block):
    def define(self, b):
        b.output("y", b.input("u"))


def test_ports_that_cannot_be_known_say_why():
    d, a, *_ = three()
    wrong = d.add("wrong", NoDataclass())
    with pytest.raises(
        WiringError, match=r"'wrong' has inputs that cannot be known yet: .*is not a dataclass"
    ):
        a >> wrong
    d.add("clock", Sine())
    with pytest.raises(WiringError, match=r"block 'clock' has no input\.$"):
        d.connect("a -> clock")


def test_an_open_input_of_a_diagram_is_told_its_size():
    d = Diagram("d")
    d.inport("x") >> d.add("k", StateFeedback([[1.0, 2.0, 3.0]], sample=0.1))
    message = r"'x.out' has 1 component but input 'k.x' expects 3; give it that many: d.inport\('x', 3\)"
    with pytest.raises(WiringError, match=message):
        simulate(d, until=0.1)


def test_typos_are_refused_where_they_are_written():
    d, _, b, _ = three()
    with pytest.raises(WiringError, match=r"block 'b' \(Gain\) has no port 'x'; there is 'u', 'y'"):
        b["x"]
    with pytest.raises(WiringError, match="has no port 'yy'; did you mean 'y'"):
        d.connect("a.yy -> b.u")
    with pytest.raises(WiringError, match="no connection; write"):
        d.connect("a.y -> ")
    with pytest.raises(WiringError, match="no connection; write"):
        d.connect("a.y")
    assert not ends(d)


def test_disconnect_remove_and_replace():
    d, *_ = three()
    d.connect("a.y -> b.u, c.u")
    d.outport("out", "c.y")
    d.disconnect("b.u")
    assert ends(d) == {("a.y", "c.u")}
    with pytest.raises(WiringError, match=r"nothing is connected to 'b\.u'"):
        d.disconnect("b.u")
    d.connect("a.y", "b.u")
    d.replace("c", StateSpace(-1.0, 1.0, 1.0))
    assert ends(d) == {("a.y", "b.u"), ("a.y", "c.u")}
    t = (r := simulate(d, 2.0, rtol=1e-10, atol=1e-12)).time
    assert np.allclose(r["out"][:, 0], (np.sin(t) - np.cos(t) + np.exp(-t)) / 2, atol=1e-8)
    with pytest.raises(WiringError, match="has no port 'u'"):
        d.replace("c", Mux(2))
    d.remove("c")
    assert ends(d) == {("a.y", "b.u")}
    assert not d.outports
    assert "c.y" not in simulate(d, 1.0).keys()  # noqa: SIM118


def test_a_cell_that_runs_twice():
    d = Diagram("d")
    for k in (1.0, 2.0):
        g = d.add("g", Gain(k), replace=True)
        s = d.add("s", Constant(3.0), replace=True)
        s >> g
        total = d.add("total", Gain(1.0), replace=True)
        (g + s["y"][0]) >> total
    assert simulate(d, 0.0)["total.y"][-1, 0] == 9.0
    assert len(d.netlist().connections) == len(d.info()["connections"]) == 5


def test_ports_and_parameters_that_are_said_twice():
    d = Diagram("d")
    for _ in range(2):
        u, k = d.inport("u", size=2), d.parameter("k", [2.0, 3.0])
        g = d.add("g", Gain(k), replace=True)
        u >> g
        d.outport("y", g["y"])
    assert simulate(d, 0.0, inputs={"u": [1.0, 1.0]})["y"][-1].tolist() == [2.0, 3.0]
    for otherwise in (
        lambda: d.inport("u"),
        lambda: d.inport("u", size=2, unit="m"),
        lambda: d.inport("g"),
        lambda: d.parameter("k", [2.0, 4.0]),
        lambda: d.parameter("k", "a"),
        lambda: d.outport("y", u),
    ):
        with pytest.raises(WiringError, match="already"):
            otherwise()


def test_wires_drawn_backwards_are_refused_where_they_are_written():
    d, a, b, _ = three()
    with pytest.raises(WiringError, match=r"'b\.u' is an input\. A wire goes from an output to an input"):
        b["u"] >> a["y"]
    with pytest.raises(WiringError, match=r"'b\.y' is an output\."):
        a["y"] >> b["y"]
    with pytest.raises(WiringError, match=r"'b\.u' is an input\."):
        d.connect("b.u -> a.y")
    with pytest.raises(WiringError, match=r"'b\.u' is an input\."):
        d.outport("y", b["u"])
    assert not ends(d)


ROW = np.array([[1.0, 0.0, 0.0, 1.0]])


def test_why_the_ports_of_a_function_cannot_be_known():
    """ "Name one" led to the next error only."""
    d = Diagram("t")
    d.add("a", Sine())
    d.add("f", Function(lambda u: u if u > 0 else 0.0))
    with pytest.raises(WiringError, match=r"'f' has inputs that cannot be .*with inputs of one component, a "
                       r"condition on a signal was used as True.*np\.where.*name its port"):  # fmt: skip
        d.connect("a -> f")


@dataclass(frozen=True)
class Fourth(Block):
    def define(self, b):
        b.output("y", b.input("u")[3])


@pytest.mark.parametrize("block", [Function(lambda v: v[0] + v[3]), Function(lambda v: ROW @ v), Fourth()])
def test_the_only_port_of_a_block_for_vectors_is_found(block):
    d = Diagram("t")
    d.add("a", Constant([1.0, 2.0, 3.0, 4.0]))
    d["a"] >> d.add("f", block) >> d.add("g", Gain(2.0))
    known = {Function: 10.0, Fourth: 8.0}[type(block)]
    assert simulate(d, 0.0)["g.y"][-1].tolist() == [known]


@pytest.mark.parametrize("word", ["stop", "end", "time", "duration", "t_end", "T"])
def test_other_words_for_the_end_of_a_run(word):
    with pytest.raises(PlantloopError, match=f"no setting '{word}'; did you mean 'until'"):
        simulate(Sine(), **{word: 1.0})


def test_an_index_in_place_of_a_port_is_told_the_first_output():
    """Where there is no output an input, and of a part without ports "y"."""
    part = Diagram("part")
    for name in ("down", "up"):
        part.connect(part.inport(f"to_{name}"), part.add(name, Gain(2.0))["u"])
        part.outport(f"went_{name}", part[name]["y"])
    d = Diagram("d")
    with pytest.raises(WiringError, match=r"0 is no port of 'part'. Write part\['went_down'\], and"):
        d.add("part", part)[0]
    closed = Diagram("closed")
    closed.add("one", Constant(1.0))
    with pytest.raises(WiringError, match=r"Write closed\['y'\]"):
        d.add("closed", closed)[0]
