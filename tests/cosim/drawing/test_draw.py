"""Pictures of diagrams: wires meet their ports, turn at right angles, and run through no box."""

import itertools
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from blocks import (
    Gain,
    Integrator,
    PlantloopError,
    State,
    StateChart,
    StateFeedback,
    StateSpace,
    Sum,
    Transition,
    UnitDelay,
)
from cosim import Diagram, Enabled
from cosim.drawing.layered import Box, layout
from cosim.drawing.sheet import sheet_of
from cosim.viewer.diagram_data import diagram_data


def drawn(seed):
    """A random level: boxes of several ports, some of them in loops."""
    rng = np.random.default_rng(seed)
    boxes, connections = [], []
    n = int(rng.integers(2, 14))
    for k in range(n):
        ins, outs = int(rng.integers(1, 4)), int(rng.integers(1, 3))
        height = 0.5 * max(ins, outs)
        spread = lambda m, h=height: {str(i): h * (i + 0.5) / m for i in range(m)}
        boxes.append(Box(f"b{k}", float(rng.uniform(1, 3)), height, spread(ins), spread(outs)))
    for k, b in enumerate(boxes):
        for port in b.inputs:
            source = boxes[int(rng.integers(max(k, 1)) if rng.random() < 0.75 else rng.integers(n))]
            connections.append(((source.name, str(rng.integers(len(source.outputs)))), (b.name, port)))
    return boxes, connections


SEEDS = range(40)


@pytest.mark.parametrize("seed", SEEDS)
def test_boxes_keep_apart_and_wires_arrive(seed):
    boxes, connections = drawn(seed)
    found = layout(boxes, connections)
    placed = list(found.boxes.values())
    for i, a in enumerate(placed):
        assert -1e-9 <= a.x <= found.width - a.width + 1e-9 and -1e-9 <= a.y <= found.height
        for b in placed[:i]:
            beside = a.x + a.width < b.x or b.x + b.width < a.x
            assert beside or a.y + a.height < b.y or b.y + b.height < a.y
    for wire in found.wires:
        for path in wire.paths:
            for (x1, y1), (x2, y2) in itertools.pairwise(path):
                assert abs(x1 - x2) < 1e-6 or abs(y1 - y2) < 1e-6
        points = [p for path in wire.paths for p in path]
        name, port = wire.source
        start = (
            found.boxes[name].x + found.boxes[name].width,
            found.boxes[name].y + found.boxes[name].outputs[port],
        )
        assert any(np.allclose(p, start, atol=1e-6) for p in points)
        for name, port in (*wire.targets, *wire.back):
            end = (found.boxes[name].x, found.boxes[name].y + found.boxes[name].inputs[port])
            assert any(np.allclose(p, end, atol=1e-6) for p in points)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_wire_runs_through_a_box(seed):
    found = layout(*drawn(seed))
    for wire in found.wires:
        for path in wire.paths:
            for (x1, y1), (x2, y2) in itertools.pairwise(path):
                for b in found.boxes.values():
                    over = min(x1, x2) < b.x + b.width - 1e-6 and max(x1, x2) > b.x + 1e-6
                    assert not (over and min(y1, y2) < b.y + b.height - 1e-6 and max(y1, y2) > b.y + 1e-6)


def test_a_chain_is_straight_and_runs_from_left_to_right():
    boxes = [Box(n, 1.0, 0.8, {"u": 0.4}, {"y": 0.4}) for n in "cab"]
    found = layout(boxes, [(("a", "y"), ("b", "u")), (("b", "y"), ("c", "u"))])
    assert [found.boxes[n].layer for n in "abc"] == [0, 1, 2]
    assert len({found.boxes[n].y for n in "abc"}) == 1
    assert [len(path) for w in found.wires for path in w.paths] == [2, 2]


def test_of_two_orders_the_one_without_crossings_is_kept():
    boxes = [Box(n, 1.0, 0.8, {"u": 0.4}, {"y": 0.4}) for n in ("a", "b", "c", "d")]
    found = layout(boxes, [(("a", "y"), ("d", "u")), (("b", "y"), ("c", "u"))])
    above = lambda p, q: found.boxes[p].y < found.boxes[q].y
    assert above("a", "b") == above("d", "c")


def loop() -> Diagram:
    inner = Diagram("law")
    inner.connect(inner.inport("x"), inner.add("K", StateFeedback([[4.0, 3.0]], sample="1/50"))["x"])
    inner.outport("u", inner["K"]["u"])
    d = Diagram("a loop <&> more")
    p = d.add("p", StateSpace([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], np.eye(2)))
    p >> d.add("c", inner) >> d.add("late", UnitDelay(sample="1/20")) >> p
    d.outport("x", p["y"])
    return d


def test_a_diagram_is_drawn_with_all_it_contains(tmp_path):
    figure = loop().draw(tmp_path / "loop.svg")
    texts = {t.get_text() for t in figure.axes[0].texts}
    assert {"a loop <&> more", "p", "c", "K", "late", "StateSpace", "x", "u", "2", "continuous"} <= texts
    assert {"50 Hz", "20 Hz"} <= texts
    dashed = [line for line in figure.axes[0].lines if line.get_linestyle() == "--"]
    assert len(dashed) == 1  # one wire closes the loop
    assert ET.parse(tmp_path / "loop.svg").getroot().tag.endswith("svg")
    loop().draw(tmp_path / "loop.png")
    assert (tmp_path / "loop.png").stat().st_size > 5000


def test_inputs_of_a_frame_are_as_high_as_inside():
    d = loop()
    sheet = sheet_of(diagram_data(d.netlist(), d.system())["root"])
    frame, inside = sheet.placed.boxes["c"], sheet.inside["c"].placed.boxes
    assert frame.inputs["x"] > inside["c/x"].y and frame.inputs["x"] < frame.height
    assert frame.inputs["x"] - inside["c/x"].y == pytest.approx(frame.outputs["u"] - inside["u|out"].y)


def test_charts_are_drawn_in_their_boxes_beside_the_names_of_ports():
    d, inner = Diagram("d"), Diagram("inner")
    chart = StateChart(
        states=[State("cold"), State("warm")], transitions=[Transition("cold", "warm", "T > 1")], inputs=["T"]
    )
    inner.connect(inner.inport("T"), inner.add("chart", chart)["T"])
    d.add("sub", inner)
    d.ground("sub.T")
    pictures = {"sub/chart": chart.picture()}
    sheet = sheet_of(diagram_data(d.netlist(), d.system())["root"], pictures)
    plain = sheet_of(diagram_data(d.netlist(), d.system())["root"])
    (box, without) = (s.inside["sub"].placed.boxes["sub/chart"] for s in (sheet, plain))
    assert box.height >= chart.picture().height > 0.4
    assert box.width >= without.width
    axes = d.draw().axes[0]
    texts = {t.get_text(): t.get_position() for t in axes.texts}
    assert {"cold", "warm", "StateChart", "state"} <= set(texts)
    (cold, warm), caption = [texts[t] for t in ("cold", "warm")], texts["StateChart"]
    assert cold[0] < warm[0] < texts["state"][0]
    assert cold[1] < caption[1]


def test_what_cannot_run_is_drawn_and_says_why():
    d = Diagram("d")
    d.add("g", Gain(2.0))
    texts = [t.get_text() for t in d.draw().axes[0].texts]
    assert any(re.search(r"g\.u", t) for t in texts)


@pytest.mark.slow
def test_conditional_parts_and_empty_diagrams_are_drawn(tmp_path):
    d = Diagram("d")
    part, s = d.add("part", Enabled(Integrator(0.0))), d.add("s", Sum("+-"))
    d.connect(d.inport("u"), part["u"])
    d.connect(d.inport("on"), part["enable"], s["in1"])
    d.connect(part["y"], s["in2"])
    d.draw(tmp_path / "part.pdf")
    assert (tmp_path / "part.pdf").stat().st_size > 2000
    assert Diagram("empty").draw() is not None
    with pytest.raises(PlantloopError, match=r"\.doc"):
        d.draw(tmp_path / "part.doc")
