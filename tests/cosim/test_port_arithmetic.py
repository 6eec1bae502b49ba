"""Arithmetic on ports makes blocks; components of ports are taken by index."""

import numpy as np
import pytest

from blocks import Constant, Gain
from blocks.errors import WiringError
from cosim import Diagram, simulate
from tests.helpers.three_blocks import three


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


@pytest.mark.parametrize("wrong", ["text", None, True])
def test_what_cannot_be_combined_says_so(wrong):
    _, a, *_ = three()
    with pytest.raises(WiringError, match=r"a\.y cannot be combined"):
        a["y"] + wrong


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
