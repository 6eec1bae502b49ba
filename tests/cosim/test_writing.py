"""Diagrams written in fewer words: arrows, series, arithmetic, changes, systems of python-control."""

import control
import numpy as np
import pytest

from blocks import Block, Constant, Function, Gain, Integrator, Mux, Sine, StateSpace, Sum
from blocks.errors import PlantloopError, WiringError
from cosim import Diagram, linearize, simulate


def ends(d):
    return {(f"{a}.{e['source']}", f"{b}.{e['target']}") for a, b, e in d.graph.edges(data=True)}


def three():
    d = Diagram("d")
    return d, d.add("a", Sine()), d.add("b", Gain(2.0)), d.add("c", Integrator(0.0))


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


def test_arithmetic_on_ports_makes_ordinary_blocks():
    d, a, b, c = three()
    a >> b
    a >> c
    e = a["y"] - c["y"]
    f = 0.5 * (e + b)
    q = (f * a) / d.add("two", Constant(2.0))["y"]
    d.outport("e", e)
    d.outport("f", f)
    d.outport("q", q / 2.0)
    d.outport("n", -e)
    assert set(d.graph.nodes) >= {
        "a_minus_c",
        "a_minus_c_plus_b",
        "scaled_a_minus_c_plus_b",
        "minus_a_minus_c",
    }
    r = simulate(d, 1.0, rtol=1e-10, atol=1e-12)
    t = r.time
    wanted = np.sin(t) - (1 - np.cos(t))
    assert np.allclose(r["e"][:, 0], wanted, atol=1e-8)
    assert np.allclose(r["f"][:, 0], 0.5 * (wanted + 2 * np.sin(t)), atol=1e-8)
    assert np.allclose(r["n"][:, 0], -wanted, atol=1e-8)
    assert np.allclose(r["q"][:, 0], 0.5 * (wanted + 2 * np.sin(t)) * np.sin(t) / 4, atol=1e-8)


def test_the_same_expression_twice_is_one_block_and_another_gets_another_name():
    d, a, b, _ = three()
    assert (a + b).node == (a + b).node == "a_plus_b" and d.drivers("a_plus_b")["in2"] == ("b", "y")
    assert [(k * a).node for k in (2.0, 3.0, 2.0, 3.0)] == [
        "scaled_a",
        "scaled_a_2",
        "scaled_a",
        "scaled_a_2",
    ]
    assert (b + a).node == "b_plus_a"
    d.disconnect("a_plus_b.in2")
    assert (a + b).node == "a_plus_b_2"


def vector():
    d = Diagram("d")
    return d, d.add("v", Constant([1.0, 2.0, 3.0])), d.add("g", Gain(10.0))


@pytest.mark.parametrize(
    ("wired", "name", "value"),
    [
        (lambda d, v, g: d.connect("v.y[1] -> g.u"), "v_1", [20.0]),
        (lambda d, v, g: d.connect("v.y[1]", "g.u"), "v_1", [20.0]),
        (lambda d, v, g: v["y"][2] >> g, "v_2", [30.0]),
        (lambda d, v, g: v["y"][np.int64(0)] >> g, "v_0", [10.0]),
        (lambda d, v, g: v["y"][1:3] >> g, "v_1_2", [20.0, 30.0]),
        (lambda d, v, g: v["y"][:3:2] >> g, "v_0_2", [10.0, 30.0]),
        (lambda d, v, g: v["y"][[2, 0]] >> g, "v_2_0", [30.0, 10.0]),
        (lambda d, v, g: v["y"][np.array([2, 0])] >> g, "v_2_0", [30.0, 10.0]),
        (lambda d, v, g: np.array([[0.0, 1.0, 1.0]]) @ v >> g, "scaled_v", [50.0]),
        (lambda d, v, g: np.array([1.0, 0.0, 1.0]) @ v["y"] >> g, "scaled_v", [40.0]),
    ],
)
def test_components_and_matrices(wired, name, value):
    d, v, g = vector()
    wired(d, v, g)
    assert set(d.graph.nodes) == {"v", "g", name}
    assert simulate(d, 0.0)["g.y"][-1].tolist() == value


def test_an_output_of_a_diagram_may_be_one_component():
    d, *_ = vector()
    d.ground("g.u")
    d.outport("last", "v.y[2]")
    assert simulate(d, 0.0)["last"][-1].tolist() == [3.0]


@pytest.mark.parametrize("index", [-1, True, "a", 0.5, [0, "a"], [], slice(1, None), slice(-1, 2), (0, -1)])
def test_components_that_cannot_be_told(index):
    _, v, _ = vector()
    with pytest.raises(WiringError, match=r"names no components of v\.y\. Count from 0 as in \[0\], \[1:3\]"):
        v["y"][index]


def test_a_port_is_no_list_and_only_outputs_have_components():
    d, v, _ = vector()
    with pytest.raises(WiringError, match=r"write y\[0\]"):
        list(v["y"])
    with pytest.raises(WiringError, match=r"Write v\['y'\], and v\['y'\]\[0\] for one component"):
        v[0]
    with pytest.raises(WiringError, match=r"has no port 'u\[0\]'"):
        d.connect("v.y -> g.u[0]")


def test_numbers_are_added_on_either_side():
    d, a, *_ = three()
    for name, made in {
        "right": a["y"] + 3.0,
        "left": 3.0 + a,
        "less": a - 3.0,
        "from": 3.0 - a["y"],
        "numpy": np.float64(3.0) - a,
        "array": np.array([3.0]) + a["y"],
        "minus": -a,
        "half": a / 2.0,
    }.items():
        d.outport(name, made)
    d.remove("b"), d.remove("c")
    r = simulate(d, 1.0)
    y = np.sin(r.time)
    known = {"right": y + 3, "left": y + 3, "less": y - 3, "from": 3 - y, "numpy": 3 - y, "array": y + 3}
    for name, wanted in {**known, "minus": -y, "half": y / 2}.items():
        assert np.allclose(r[name][:, 0], wanted, rtol=0, atol=1e-15), name


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


@pytest.mark.parametrize("wrong", ["text", None, True])
def test_what_cannot_be_combined_says_so(wrong):
    _, a, *_ = three()
    with pytest.raises(WiringError, match=r"a\.y cannot be combined"):
        a["y"] + wrong


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


@pytest.mark.parametrize("dt", [0, 0.1])
def test_a_system_of_python_control_is_a_block(dt):
    system = control.ss([[0.5, 0.1], [0.0, -0.3]], [[0.0], [1.0]], [[1.0, 0.0]], [[0.2]], dt)
    d = Diagram("d")
    node = d.add("plant", system)
    d.connect(d.inport("u"), node["u"])
    d.outport("y", node["y"])
    found = linearize(d)
    w = np.array([0.1, 1.0, 3.0])
    assert np.allclose(
        found(np.exp(1j * w * dt) if dt else 1j * w), system(np.exp(1j * w * dt) if dt else 1j * w)
    )
    assert (found.dt or 0) == dt


def test_a_discrete_system_needs_a_sample_time():
    with pytest.raises(WiringError, match="no sample time"):
        Diagram("d").add("s", control.ss(0.5, 1.0, 1.0, 0.0, True))
    with pytest.raises(WiringError, match="is no block"):
        Diagram("d").add("s", control.frd([1.0, 2.0], [1.0, 2.0]))


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


def test_parameters_of_the_diagram_stand_in_arithmetic():
    d = Diagram("d")
    k, q, K = d.parameter("k", 2.0), d.parameter("q", 2.0), d.parameter("K", [[1.0, 2.0]])
    x, w = d.add("x", Constant(3.0)), d.add("w", Constant([1.0, 2.0]))
    made = {
        "times": (k * x, 12.0),
        "other": (q * x, 6.0),  # the same number now, another parameter
        "over": (x / k, 0.75),
        "by": (k / x, 4 / 3),
        "plus": (x + k, 7.0),
        "minus": (x - k, -1.0),
        "from": (k - x, 1.0),
        "matrix": (K @ w, 5.0),
        "above": (x > k, 0.0),
    }
    assert {type(port) for port, _ in made.values()} == {type(x["y"])}
    made["series"] = ((2.0 * k * x - q * x) >> d.add("twice", Gain(2.0)), 36.0)
    for name, (port, _) in made.items():
        d.outport(name, port["y"] if name == "series" else port)
    nodes = set(d.graph.nodes)
    again = d.parameter("k", 2.0) * x
    assert again.node == made["times"][0].node and set(d.graph.nodes) == nodes
    r = simulate(d, 0.0, parameters={"k": 4.0, "K": [[3.0, 1.0]]})
    for name, (_, wanted) in made.items():
        assert r[name][-1].tolist() == [pytest.approx(wanted, abs=1e-15)], name


def test_powers_inverses_sizes_and_comparisons_of_ports():
    d = Diagram("d")
    x, w = d.add("x", Constant(-4.0)), d.add("w", Constant([1.0, -2.0]))
    made = {
        "square": (x**2, [16.0]),
        "cube": (x["y"] ** 3, [-64.0]),
        "inverse": (1 / x, [-0.25]),
        "by": ([2, 6] / w["y"], [2.0, -3.0]),
        "size": (abs(w), [1.0, 2.0]),
        "same": (+w, [1.0, -2.0]),
        "list": ([[1, 1]] @ w, [-1.0]),
        "shifted": (w - [1, 2], [0.0, -4.0]),
        "below": (w < -1.5, [0.0, 1.0]),
        "at_least": (w["y"][0] >= x, [1.0]),
        "at_most": (x <= -5.0, [0.0]),
    }
    assert made["inverse"][0].node == "one_over_x" and made["below"][0].node == "w_below"
    for name, (port, _) in made.items():
        d.outport(name, port)
    r = simulate(d, 0.0)
    for name, (_, wanted) in made.items():
        assert r[name][-1].tolist() == wanted, name
    with pytest.raises(WiringError, match=r"x\.y to the power 2\.5: the powers 2 and 3"):
        x**2.5
    with pytest.raises(WiringError, match=r"x\.y cannot be compared with 'a'"):
        d.outport("z", x > "a")
    with pytest.raises(WiringError, match="changes from instant to instant: it is a signal"):
        d.outport("z", x if x > 0.5 else w)
    assert x and x["y"] and 2 * w  # handles of blocks and ports that are there


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


def test_why_the_ports_of_a_function_cannot_be_known():
    """ "Name one" led to the next error only."""
    d = Diagram("t")
    d.add("a", Sine())
    d.add("f", Function(lambda u: u if u > 0 else 0.0))
    with pytest.raises(WiringError, match=r"'f' has inputs that cannot be .*with inputs of one component, a "
                       r"condition on a signal was used as True.*np\.where.*name its port"):  # fmt: skip
        d.connect("a -> f")


@pytest.mark.parametrize("word", ["stop", "end", "time", "duration", "t_end", "T"])
def test_other_words_for_the_end_of_a_run(word):
    with pytest.raises(PlantloopError, match=f"no setting '{word}'; did you mean 'until'"):
        simulate(Sine(), **{word: 1.0})
