"""Blocks of the diagram in a real browser: pictures, feedthrough, source; signals carried to the scopes."""

import numpy as np
import pytest

from blocks import Gain, Integrator, Sine, State, StateChart, StateFeedback, Transition
from cosim import Diagram, simulate
from plant import Plant
from tests.helpers.browser import shown


def diagram():
    """A plant, a chart, a block with a sampled output, and a subsystem three levels deep."""
    d = Diagram("parts")
    plant = Plant.read("tests/data/models/inverted_pendulum.xml")
    node = d.add("arm", plant)
    for port in plant.inputs:
        d.ground(node[port])
    d.connect(d.add("wave", Sine(2.0, 3.0))["y"], d.add("held", StateFeedback(-0.5, sample="0.1"))["x"])
    chart = StateChart(
        inputs=["u"],
        outputs={"on": 0.0},
        states=[State("up", entry="on = 1"), State("down", entry="on = 0")],
        transitions=[Transition("up", "down", "u < -0.5"), Transition("down", "up", "u > 0.5")],
    )
    d.connect(d["held"]["u"], d.add("switch", chart)["u"])
    inner = Gain(3.0)
    for name in ("c", "b", "a"):
        level = Diagram(name)
        node = level.add("in" if name != "c" else "k", inner)
        level.connect(level.inport("u"), node["u"])
        level.outport("y", node["y"])
        inner = level
    d.connect(d["held"]["u"], d.add("deep", inner)["u"])
    d.connect(d["deep"]["y"], d.add("sum", Integrator(0.0))["u"])
    return d


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    r = simulate(diagram(), 2.0, engine="reference", log_every=0.01)
    file = tmp_path_factory.mktemp("diagram") / "parts.html"
    r.view(out=file)
    return r, file


def carried(page, shape, to):
    """Drag from the middle of a shape of the diagram to the middle of something else."""
    page.mouse.move(*shape)
    page.mouse.down()
    page.mouse.move(shape[0] + 9, shape[1] + 9)
    box = page.locator(to).bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.up()


@pytest.mark.slow
def test_blocks_show_their_pictures_feedthrough_units_and_source(ran):
    with shown(ran[1]) as page:
        pictures = page.evaluate(
            "[...document.querySelectorAll('.node .picture')].map(p => [p.parentNode.dataset.path,"
            " [...p.querySelectorAll('text')].map(t => t.textContent), p.querySelectorAll('path').length])"
        )
        assert {p[0] for p in pictures} == {"arm", "switch"}
        assert next(p for p in pictures if p[0] == "switch")[1:] == [["up", "down"], 4]
        inside = page.evaluate(
            "[...document.querySelectorAll('.node .picture')].every(p => {"
            " const a = p.getBoundingClientRect();"
            " const b = p.parentNode.querySelector('rect.body').getBoundingClientRect();"
            " return a.width > 5 && a.left >= b.left && a.right <= b.right && a.bottom <= b.bottom + 1; })"
        )
        assert inside
        assert not page.locator(".feed").count()
        page.locator("[data-do=feeds]").click()
        page.wait_for_selector(".feed")
        lines = (
            "[...document.querySelectorAll('.feed')]"
            ".map(f => [f.parentNode.dataset.path, f.classList.contains('ticks')])"
        )
        assert ["held", True] in page.evaluate(lines)
        assert not [path for path, _ in page.evaluate(lines) if path in ("wave", "sum")]
        page.locator('.node[data-path="held"]').click()
        said = page.locator("#diagram .info").inner_text()
        assert "x → u\tat ticks" in said
        assert "blocks.library.state_feedback, line" in said
        page.locator("#diagram .info summary").click()
        assert "def define(self, b" in page.locator("#diagram .info details").inner_text()
        page.locator('.node[data-path="arm"]').click()
        assert "[rad]" in page.locator("#diagram .info").inner_text()


@pytest.mark.slow
def test_subsystems_three_deep_open_in_place(ran):
    with shown(ran[1]) as page:
        for path in ("deep", "deep/in", "deep/in/in"):
            page.locator(f'.node[data-path="{path}"]').dblclick()
            page.wait_for_selector(f'.node[data-path="{path}"].inside')
        assert page.locator('.node[data-path="deep/in/in/k"]').count() == 1
        place = page.locator('.node[data-path="deep/in/in/u"]').get_attribute("transform")
        x, y = map(float, place.removeprefix("translate(").rstrip(")").split())
        ends = page.evaluate(
            "[...document.querySelectorAll('.wire')].map(w => w.getPointAtLength(w.getTotalLength()))"
            ".map(p => [p.x, p.y])"
        )
        assert any(abs(a - x) < 0.5 and y < b < y + 60 for a, b in ends)  # on the left of the input inside
        page.locator('.node[data-path="deep"]').dblclick(position={"x": 8, "y": 8})
        page.wait_for_selector('.node[data-path="deep"]:not(.inside)')
        assert page.locator('.node[data-path="deep/in/in/k"]').count() == 0


@pytest.mark.slow
def test_loops_are_marked_through_subsystems(tmp_path):
    """One of two ways through a subsystem is on a closed path."""
    d, inner = Diagram("through"), Diagram("two ways")
    for name in ("a", "b"):
        inner.connect(inner.inport(f"u{name}"), inner.add(name, Gain(0.5))["u"])
        inner.outport(f"y{name}", inner[name]["y"])
    n = d.add("two", inner)
    d.connect(d.add("i", Integrator(1.0))["y"], n["ua"])
    d.connect(n["ya"], d["i"]["u"])
    d.connect(d.add("wave", Sine(1.0, 1.0))["y"], n["ub"])
    d.connect(n["yb"], d.add("end", Integrator(0.0))["u"])
    d.view(out=tmp_path / "through.html")
    with shown(tmp_path / "through.html") as page:
        page.locator("[data-do=loops]").click()
        page.wait_for_selector(".wire.loop", state="attached")
        assert page.locator(".wire.loop").count() == 2  # into the subsystem and out of it
        page.locator('.node[data-path="two"]').dblclick()
        page.wait_for_selector('.node[data-path="two/a"]')
        assert page.locator(".wire.loop").count() == 5  # and to the input inside, to the block, and from it


@pytest.mark.slow
def test_signals_are_carried_from_the_diagram_into_axes(ran):
    with shown(ran[1]) as page:
        axes = lambda: page.evaluate("viewer.scopeState().map(a => a.names)")
        before = axes()
        port = page.locator('circle[data-port="o|sum|y"]').bounding_box()
        at = (port["x"] + port["width"] / 2, port["y"] + port["height"] / 2)
        carried(page, at, "#scopes .axes:first-child")
        assert axes()[0] == [*before[0], "sum.y"]
        carried(page, at, "#motion .canvas")  # dropped somewhere else: nothing
        assert axes()[0] == [*before[0], "sum.y"]
        middle = page.evaluate(
            "(() => { const p = document.querySelector('.over[data-signal=\"held.u\"]'),"
            " q = p.getPointAtLength(p.getTotalLength() / 2), m = p.getScreenCTM();"
            " return [m.a * q.x + m.e, m.d * q.y + m.f]; })()"
        )
        carried(page, middle, "#scopes .tree")  # no axes there: new ones
        assert axes()[1:] == [*before[1:], ["held.u"]]


@pytest.mark.slow
def test_values_are_compared_with_those_at_a_mark(ran):
    r, file = ran
    with shown(file) as page:
        page.evaluate("viewer.setTime(0.4)")
        page.keyboard.press("m")
        page.evaluate("viewer.setTime(1.3)")
        rows = [int(np.searchsorted(r.time, t, side="right")) - 1 for t in (0.4, 1.3)]
        difference = float(r["sum.y"][rows[1], 0] - r["sum.y"][rows[0], 0])
        text = page.locator('[data-signal="sum.y"] .apart').inner_text().split()
        assert text[0] == "Δ"
        assert float(text[1]) == pytest.approx(difference, rel=1e-5)
        assert "Δt = 0.9000 s" in page.locator("#now").inner_text()
        page.locator("#mark").click()
        assert page.locator('[data-signal="sum.y"] .apart').is_hidden()
        assert "Δ" not in page.locator("#now").inner_text()
