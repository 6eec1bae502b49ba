"""The page in a real browser: it shows what the run was, needs no network, and nothing breaks it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from blocks import Constant, DiscreteStateSpace, Gain, Integrator, Sine, Sum
from blocks.errors import PlantloopError
from cosim import Diagram, Result, simulate
from cosim.viewer.open_file import contents_of
from cosim.viewer.page import Page, view
from plant import Plant
from tests.helpers.browser import shown

MODELS = "tests/data/models"
PLANTS = "tests/data/plants"


def loop(name="loop"):
    d, inner = Diagram(name), Diagram("filters")
    u = inner.inport("u")
    f, g = inner.add("f", DiscreteStateSpace(0.5, 0.5, 1.0, sample="0.1")), inner.add("g", Gain(2.0))
    inner.connect(u, f["u"])
    inner.connect(f["y"], g["u"])
    inner.outport("y", g["y"])
    s, total = d.add("s", Sine(3.0, 2.0)), d.add("sum", Sum("+-"))
    i, n = d.add("i", Integrator(0.5)), d.add("in", inner)
    d.connect(s["y"], total["in1"])
    d.connect(i["y"], total["in2"])
    d.connect(total["y"], i["u"])
    d.connect(i["y"], n["u"])
    return d


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    r = simulate(loop(), 5.0, log_every=0.01)
    file = tmp_path_factory.mktemp("page") / "loop.html"
    assert isinstance(r.view(out=file), Page)
    return r, file


def test_the_numbers_of_the_page_are_those_of_the_result(ran):
    r, file = ran
    with shown(file) as page:
        for name in r.keys():  # noqa: SIM118
            found = page.evaluate("n => Array.from(viewer.signals.get(n).values)", name)
            assert np.array_equal(found, r[name][:, 0]), name
        ticks = page.evaluate("Array.from(viewer.signals.get('in/f.y').samples.time)")
        assert np.array_equal(ticks, r.ticks("in/f.y").time)
        page.evaluate("viewer.setTime(1.234)")
        row = int(np.searchsorted(r.time, 1.234, side="right")) - 1
        text = page.locator('[data-signal="i.y"] .value').first.inner_text()
        assert float(text) == pytest.approx(float(r["i.y"][row, 0]), rel=1e-5)


@pytest.mark.slow
def test_the_diagram_opens_its_subsystems_and_says_what_a_block_is(ran):
    with shown(ran[1]) as page:
        paths = lambda: page.evaluate("[...document.querySelectorAll('.node')].map(n => n.dataset.path)")
        assert set(paths()) == {"s", "sum", "i", "in"}
        assert page.evaluate("document.querySelectorAll('#diagram .wire').length") == 4
        left = page.evaluate(
            "[...document.querySelectorAll('.node')].map(n => n.getBoundingClientRect().left)"
        )
        assert dict(zip(paths(), left, strict=True))["s"] < dict(zip(paths(), left, strict=True))["in"]
        page.locator('.node[data-path="in"]').dblclick()
        page.wait_for_selector('.node[data-path="in/f"]')
        page.locator('.node[data-path="in/f"]').click()
        info = page.locator("#diagram .info").inner_text()
        assert "DiscreteStateSpace" in info
        assert "sample" in info
        assert "in/f.x" in info
        page.locator("[data-do=loops]").click()
        page.wait_for_selector(".wire.loop")
        assert page.evaluate("document.querySelectorAll('.wire.loop').length") == 2  # i -> sum -> i


@pytest.mark.slow
def test_search_theme_keys_and_scopes(ran):
    r, file = ran
    with shown(file) as page:
        page.keyboard.press("/")
        page.keyboard.type("in/g")
        assert page.locator("#found div").count() >= 2
        page.keyboard.press("Enter")
        page.wait_for_selector('.node.match[data-path="in/g"]')
        before = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.keyboard.press("Escape")
        page.locator("#theme").click()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
        page.keyboard.press("ArrowRight")
        assert page.evaluate("viewer.time") == pytest.approx(5.0 / 200)
        page.keyboard.press("End")
        assert page.evaluate("viewer.time") == 5.0
        page.locator("[data-do=add]").click()
        page.locator('#scopes .signal[data-signal="s.y"]').click()
        assert page.evaluate("viewer.scopeState().at(-1).names") == ["s.y"]
        page.evaluate("viewer.look(1.0, 2.0)")
        x = page.evaluate("viewer.thinned(viewer.signals.get('s.y'), 1, 2, 1000)[0]")
        assert len(x) in (101, 102, 103)
        frequency, size = page.evaluate("viewer.spectrum(viewer.signals.get('s.y'), 0, 5)")
        assert frequency[int(np.argmax(size))] == pytest.approx(2.0 / (2 * np.pi), abs=0.25)
        assert max(size) == pytest.approx(3.0, rel=0.2)
        with page.expect_download() as got:
            page.locator("#scopes [data-do=csv]").click()
        table = np.genfromtxt(got.value.path(), delimiter=",", names=True, deletechars="", replace_space=" ")
        assert np.array_equal(table["time [s]"], r.time)
        assert np.array_equal(table["s.y"], r["s.y"][:, 0])


@pytest.mark.slow
def test_extrema_survive_when_a_long_signal_is_thinned(tmp_path):
    n = 300_000
    values = np.sin(np.arange(n) * 1e-3)
    values[123_456] = 7.0
    r = Result("long", np.arange(n) * 1e-3, {"a.y": values})
    r.view(out=tmp_path / "long.html")
    with shown(tmp_path / "long.html") as page:
        x, y = page.evaluate("viewer.thinned(viewer.signals.get('a.y'), 0, 300, 500)")
        assert len(x) <= 1000
        assert max(y) == 7.0
        assert min(y) == values.min()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "coordinates"),
    [
        (f"{MODELS}/inverted_pendulum", "joint"),
        (f"{MODELS}/four_bar", "absolute"),
        (f"{PLANTS}/bricard", "joint"),
        (f"{PLANTS}/dzhanibekov", "absolute"),
    ],
)
def test_bodies_are_drawn_where_the_plant_is(model, coordinates, tmp_path):
    plant = Plant.read(f"{model}.xml", coordinates=coordinates)
    observed = plant.observed()
    d = Diagram("motion")
    node = d.add("arm", observed)
    for port in plant.inputs:
        d.ground(node[port])
    r = simulate(d, 0.5, log_every=0.05)
    r.view(out=tmp_path / "motion.html")
    centres = {n: v[:, :3] for n, v in r.signals.items() if n.startswith("arm.body_") and v.shape[1] == 24}
    with shown(tmp_path / "motion.html") as page:
        bodies = page.evaluate("viewer.content.plants[0].bodies")
        camera = page.evaluate("viewer.camera()")
        matrix = np.array(camera["matrix"]).reshape(4, 4).T
        assert len(bodies) == len(centres)
        for row in (0, 5, 10):
            drawn = []
            for body in bodies:
                at = page.evaluate("a => viewer.pointAt(0, ...a)", [row, body["link"], body["centre"]])
                drawn.append(at)
                pixel = page.evaluate("a => viewer.projected(0, ...a)", [row, body["link"], body["centre"]])
                seen = matrix @ [*at, 1.0]
                wanted = [
                    (seen[0] / seen[3] + 1) / 2 * camera["width"],
                    (1 - seen[1] / seen[3]) / 2 * camera["height"],
                ]
                assert np.allclose(pixel, wanted, atol=1.0)
            wanted = np.array([values[row] for values in centres.values()])
            nearest = np.linalg.norm(np.array(drawn)[:, None] - wanted[None], axis=2).min(axis=1)
            assert nearest.max() < 1e-9 * max(1.0, np.abs(wanted).max())
        colours = page.evaluate(  # read while it is drawn: the browser keeps no copy of the buffer
            """() => {
            viewer.setTime(0.25);
            const c = document.querySelector('#motion canvas'), t = document.createElement('canvas');
            t.width = c.width; t.height = c.height; const g = t.getContext('2d'); g.drawImage(c, 0, 0);
            return new Set(new Uint32Array(g.getImageData(0, 0, t.width, t.height).data.buffer)).size; }"""
        )
        assert colours > 5  # something is drawn


HOSTILE = '</script><script>window.broken = true</script><img src=x onerror="window.broken = true">'


@pytest.mark.slow
def test_names_are_texts_and_never_markup(tmp_path):
    d = Diagram(HOSTILE)
    d.add("a", Constant(1.0))
    r = simulate(d, 1.0)
    Result(HOSTILE, r.time, {HOSTILE: r["a.y"]}).view(out=tmp_path / "bare.html")
    r.view(out=tmp_path / "hostile.html")
    for name in ("bare.html", "hostile.html"):
        with shown(tmp_path / name) as page:
            assert page.evaluate("window.broken") is None
            assert page.locator("#title").inner_text() == HOSTILE
            assert page.locator("img").count() == 0


@pytest.mark.slow
def test_a_diagram_that_cannot_run_is_shown_with_what_is_wrong(tmp_path):
    d = Diagram("open")
    d.add("g", Gain(2.0))
    d.view(out=tmp_path / "open.html")
    with shown(tmp_path / "open.html") as page:
        assert "g.u" in page.locator(".problems").inner_text()


@pytest.mark.slow
def test_plants_and_results_without_a_diagram(tmp_path):
    Plant.read(f"{MODELS}/robot_2d.xml").view(out=tmp_path / "plant.html")
    r = simulate(loop(), 1.0)
    r.save(tmp_path / "run.nc", drawing=False)
    Result.load(tmp_path / "run.nc").view(out=tmp_path / "run.html")
    with shown(tmp_path / "plant.html") as page:
        assert page.locator("#motion").is_visible()
        assert not page.locator("#scopes").is_visible()
    Plant.read("examples/deck_commands/throw.xml").view(out=tmp_path / "requests.html")
    with shown(tmp_path / "requests.html") as page:  # more outputs than inputs: their names fit all the same
        beyond = """[...document.querySelectorAll('.node')].flatMap(n => {
            const box = n.querySelector('rect').getBoundingClientRect();
            return [...n.querySelectorAll('text')].filter(t => t.getBoundingClientRect().left < box.left
                || t.getBoundingClientRect().right > box.right).map(t => t.textContent); })"""
        assert page.locator(".node text").count() >= 4
        assert page.evaluate(beyond) == []
    with shown(tmp_path / "run.html") as page:
        assert page.locator("#scopes").is_visible()
        assert not page.locator("#diagram").is_visible()


@pytest.mark.slow
def test_the_command_writes_the_page(tmp_path):
    command = [sys.executable, "-m", "cosim", "view"]
    out = tmp_path / "page.html"
    subprocess.run([*command, "examples/inverted_pendulum/scenario.toml", "--out", out], check=True)
    assert out.stat().st_size < 3_000_000 + 8 * 20 * 1001
    with shown(out) as page:
        assert page.evaluate("viewer.content.plants[0].moving")
        assert page.locator("#about").inner_text().startswith(("dopri5", "rk4"))


def test_what_cannot_be_written_says_so(tmp_path):
    with pytest.raises(PlantloopError, match="cannot be written"):
        loop().view(out=tmp_path / "no" / "such" / "folder.html")
    with pytest.raises(PlantloopError, match="cannot be written"):
        loop().view(out=tmp_path)


@pytest.mark.slow
def test_tools_fit_into_small_windows(tmp_path):
    """Those of all rooms, in as many lines as they need: nothing is cut off, nothing below is covered."""
    out = tmp_path / "page.html"
    data = contents_of(Path("examples/inverted_pendulum/scenario.toml"), forces=True, linear=True)
    view(data, out)
    beyond = """[...document.querySelectorAll('.room:not([hidden]) .tools > *')].filter(t => {
        const at = t.getBoundingClientRect(), room = t.closest('.room').getBoundingClientRect();
        const line = t.closest('h2').getBoundingClientRect();
        return at.width && (at.right > room.right || at.left < room.left || at.bottom > line.bottom + 1);
    }).map(t => t.textContent)"""
    below = """[...document.querySelectorAll('.room:not([hidden])')].filter(r => {
        const line = r.querySelector('h2').getBoundingClientRect().bottom - 1;
        return [...r.children].slice(1).some(c => {
            const at = c.getBoundingClientRect();
            return at.height && at.top < line; });
    }).map(r => r.id)"""
    for size in ((1024, 768), (800, 600)):
        with shown(out, size) as page:
            assert page.locator("#motion .tools > *").count() >= 7
            assert page.evaluate(beyond) == []
            assert page.evaluate(below) == []


@pytest.mark.slow
def test_the_plant_is_drawn_before_the_curves_and_the_diagram(tmp_path):
    """The layout of a diagram takes longest: the picture does not wait for it."""
    out = tmp_path / "page.html"
    view(contents_of(Path("examples/inverted_pendulum/scenario.toml")), out)
    html, held = out.read_text(), "await viewer.diagram("
    assert html.count(held) == 1
    html = html.replace(held, f"await viewer.holding; {held}")
    out.write_text(
        html.replace("// Everything is put", "viewer.holding = new Promise((go) => viewer.go = go); //")
    )
    with shown(out, ready=False) as page:
        page.wait_for_function("performance.getEntriesByName('motion').length")
        assert page.evaluate("document.documentElement.dataset.ready") is None
        drawn = page.evaluate(
            """() => { const c = document.querySelector('#motion canvas'); viewer.setTime(viewer.begin);
            const k = document.createElement('canvas'); k.width = c.width; k.height = c.height;
            const g = k.getContext('2d'); g.drawImage(c, 0, 0);
            return new Set(new Uint32Array(g.getImageData(0, 0, k.width, k.height).data.buffer)).size; }"""
        )
        assert drawn > 20
        page.evaluate("viewer.go()")
        page.wait_for_selector("html[data-ready=yes]")
