"""Linear analyses, comparisons and exports in the page, against python-control and the results themselves."""

import subprocess
import sys
import xml.etree.ElementTree as ET

import control
import numpy as np
import pytest

from blocks import (
    DiscreteStateSpace,
    Gain,
    Integrator,
    Product,
    PythonFunction,
    Sine,
    StateSpace,
    Step,
    Sum,
    TransferFunction,
)
from blocks.errors import PlantloopError
from cosim import Diagram, Result, Simulation, linearize, simulate
from cosim.analysis.margins import margins
from cosim.viewer.open_file import contents_of
from cosim.viewer.stored_drawings import of_result
from tests.helpers.browser import shown

W = [0.05, 0.4, 1.7, 6.0, 40.0]


def servo(sampled=False):
    d = Diagram("servo")
    e = d.add("e", Sum("+-"))
    c = d.add("c", DiscreteStateSpace(1.0, 0.05, 1.0, 2.0, sample="1/50") if sampled else Gain(3.0))
    p = d.add("p", TransferFunction([1.0], [0.1, 1.0, 0.5]))
    d.connect(d.add("r", Step(time=0.1))["y"], e["in1"])
    d.connect(p["y"], e["in2"])
    d.connect(e["y"], c["u"])
    d.connect(c["y"], p["u"])
    return d


def matrices(page, k=0):
    """A, B, C, D of the k-th linear model in a page."""
    found, numbers = page.content["linear"], page.numbers.array()
    at = lambda ref: numbers[ref["at"] :][: int(np.prod(ref["shape"]))].reshape(ref["shape"])
    return [at(found["models"][k][letter]) for letter in "ABCD"], found["names"]


def square(d):
    """Its slope depends on where it is: y = p^2."""
    s = d.add("s", Product("**"))
    d.connect("p.y", s["in1"])
    d.connect("p.y", s["in2"])
    d.connect(s["y"], d.add("end", Gain(1.0))["u"])
    return d


@pytest.mark.parametrize(
    "settings", [{}, {"solve_loops": True}, {"inputs": {"more": ([0.0, 1.0], [0.0, 2.0])}}], ids=str
)
def test_the_linear_model_is_that_of_the_run(settings):
    """1/(0.1 s^2 + s + 0.5), a gain of 7 in its loop: 0.1 s^2 + s + 7.5 = 0; about 0.3, d(p^2) = 0.6 dp."""
    d = square(servo())
    if "inputs" in settings:
        d.connect(d.inport("more"), d.add("spare", Gain(1.0))["u"])
    r = simulate(d, 0.1, parameters={"c.k": 7.0}, initial={"p.x": [0.2, 0.3]}, **settings)
    (A, _, C, _), names = matrices(of_result(r, linear=True))
    assert sorted(np.linalg.eigvals(A).real) == pytest.approx(
        sorted(np.roots([0.1, 1.0, 7.5]).real), abs=1e-9
    )
    p = r["p.y"][0, 0]
    assert p == pytest.approx(0.3)
    assert C[names.index("s.y")] == pytest.approx(2 * p * C[names.index("p.y")])


@pytest.mark.parametrize("sampled", [False, True])
def test_later_models_are_about_the_logged_instants(sampled):
    """y = p^2: the slope about every instant is 2 p there; so is that of a square of what is sampled."""
    d = square(servo(sampled))
    q = d.add("q", Product("**"))
    d.connect("c.y", q["in1"])
    d.connect("c.y", q["in2"])
    d.connect(q["y"], d.add("last", Gain(1.0))["u"])
    r = simulate(d, 1.0, signals=["*"], log_every=0.01, engine="reference", initial={"p.x": [0.2, 0.3]})
    page = of_result(r, linear=True)
    models = page.content["linear"]["models"]
    assert (len(models), page.content["linear"]["only"]) == (21, "")
    if sampled:
        ticks = 50 * np.array([m["time"] for m in models])
        assert np.allclose(ticks, np.round(ticks))
    for k in (0, 7, 20):
        ((_, _, C, D), names), row = matrices(page, k), np.argmin(np.abs(r.time - models[k]["time"]))
        at, into = names.index, names.index("r.y")
        p, c = r["p.y"][row, 0], r["c.y"][row, 0]
        assert abs(r.time[row] - models[k]["time"]) < 1e-12
        assert C[at("s.y")] == pytest.approx(2 * p * C[at("p.y")], rel=1e-9, abs=1e-12)
        assert C[at("q.y")] == pytest.approx(2 * c * C[at("c.y")], rel=1e-9, abs=1e-12)
        assert D[at("q.y"), into] == pytest.approx(2 * c * D[at("c.y"), into], rel=1e-9, abs=1e-12)


def test_later_models_have_the_parameters_of_their_time():
    """0.1 s^2 + s + 0.5 + k = 0, with another gain k from half of the run on."""
    with Simulation(servo(), engine="reference", signals=["*"]) as sim:
        sim.log([0.0, 0.04, 0.05, 0.1])
        sim.advance(0.05)
        sim.set_parameter("c.k", 4.0)
        sim.advance(0.1)
    page = of_result(sim.result(), linear=True)
    for k, gain in ((0, 3.0), (1, 3.0), (-1, 4.0)):
        (A, *_), _ = matrices(page, k)
        assert np.poly(A) == pytest.approx([1.0, 10.0, 5.0 + 10.0 * gain])


@pytest.mark.slow
def test_why_there_are_no_later_models():
    r = simulate(servo(), 0.1, engine="reference")
    linear = of_result(r, linear=True).content["linear"]
    assert len(linear["models"]) == 1
    assert "'p.x' was not logged" in linear["only"]
    late = simulate(servo(True), 0.1, engine="reference", signals=["*"], log_at=[0.0, 0.013])
    assert "no later tick of all rates" in of_result(late, linear=True).content["linear"]["only"]


def test_the_linear_model_of_a_scenario_has_its_parameters(tmp_path):
    text = """
[blocks.e]
type = "Sum"
signs = "+-"
[blocks.c]
type = "Gain"
k = 3.0
[blocks.p]
type = "Integrator"
[wiring]
connect = ["e.y -> c.u", "c.y -> p.u", "p.y -> e.in2"]
ground = ["e.in1"]
[parameters]
"c.k" = 0.5
[run]
until = 0.1
"""
    (tmp_path / "loop.toml").write_text(text)
    (A, *_), _ = matrices(contents_of(tmp_path / "loop.toml", linear=True))
    assert pytest.approx(-0.5) == A


@pytest.mark.slow
@pytest.mark.parametrize("sampled", [False, True])
def test_responses_are_those_of_python_control(sampled, tmp_path):
    d = servo(sampled)
    r = simulate(d, 1.0, log_every=0.02, signals=["*"])
    r.view(out=tmp_path / "linear.html", linear=True)
    model = linearize(d, inputs=["r.y"], outputs=["p.y"])
    until = 2.0
    with shown(tmp_path / "linear.html") as page:
        found = page.evaluate("w => w.map(x => viewer.response('r.y', 'p.y', x))", W)
        time, values = page.evaluate("viewer.stepResponse('r.y', 'p.y', 2.0)")
        cut = page.evaluate("w => w.map(x => viewer.response('c.y', 'c.y', x))", W)
        page.locator("#linear [data-pick=from]").select_option(label="c.y")
        page.locator("#linear [data-pick=to]").select_option(label="c.y")
        said = page.locator("#linear .note").inner_text()
        for kind in ("bode", "nyquist", "step"):
            page.locator("#linear [data-pick=kind]").select_option(kind)
            colours = page.evaluate(
                """() => { const c = document.querySelector('#linear canvas');
                const all = c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer;
                return new Set(new Uint32Array(all)).size; }"""
            )
            assert colours > 10, kind
        page.evaluate("viewer.setTime(viewer.end)")
        assert page.locator("#linear .note").get_attribute("data-time") == "1"
        assert page.locator("#linear .note").inner_text().startswith("about t = 1 s")
    wanted = [complex(model(np.exp(1j * w * model.dt) if sampled else 1j * w)) for w in W]
    assert np.allclose(np.array(found) @ [1, 1j], wanted, rtol=1e-9, atol=1e-12)
    answer = control.step_response(model, np.array(time))
    assert time[-1] == pytest.approx(until)
    assert np.allclose(values, np.ravel(answer.outputs), atol=1e-9)
    m = margins(d, "c.y")
    L = np.interp(W, m.frequency, m.loop.real) + 1j * np.interp(W, m.frequency, m.loop.imag)
    assert np.allclose(np.array(cut) @ [1, 1j], L, rtol=2e-3, atol=1e-6)
    assert f"phase {m.phase:.6g} deg".rstrip("0") in said
    assert said.removeprefix("about t = 0 s: ").startswith("stable" if m.stable else "unstable")


@pytest.mark.slow
def test_wires_are_picked_with_shift(tmp_path):
    simulate(servo(), 0.5).view(out=tmp_path / "pick.html", linear=True)
    with shown(tmp_path / "pick.html") as page:
        page.evaluate("viewer.pickPort('e.y')")
        page.evaluate("viewer.pickPort('p.y')")
        name = "w => document.querySelector(`#linear [data-pick=${w}]`).selectedOptions[0].text"
        assert page.evaluate(name, "from") == "e.y"
        assert page.evaluate(name, "to") == "p.y"
        event = "new MouseEvent('click', {shiftKey: true, bubbles: true})"
        page.evaluate(f"document.querySelector('.over[data-signal=\"c.y\"]').dispatchEvent({event})")
        assert page.evaluate(name, "from") == "c.y"


@pytest.mark.slow
def test_what_has_no_linear_model_says_why(tmp_path):
    d = servo()
    half = d.add("half", PythonFunction(lambda t, u: 0.5 * u, sample=0.1))
    d.connect(d["p"]["y"], half["u"])
    d.connect(half["y"], d.add("lag", TransferFunction([1.0], [1.0, 1.0]))["u"])
    many = Diagram("many")
    wide = StateSpace(-np.eye(160), np.ones((160, 1)), np.ones((1, 160)), 0.0)
    many.connect(many.add("s", Sine(1.0, 1.0))["y"], many.add("x", wide)["u"])
    many.connect(many["x"]["y"], many.add("g", Gain(1.0))["u"])
    for drawn, says in ((d, "half"), (many, "160 states are more than the page analyses")):
        simulate(drawn, 0.01).view(out=tmp_path / "none.html", linear=True)
        with shown(tmp_path / "none.html") as page:
            note = page.locator("#linear .note").inner_text()
            assert note.startswith("No linear model")
            assert says in note


@pytest.mark.slow
def test_two_results_are_compared(tmp_path):
    def loop(k):
        d = Diagram("loop")
        i, g = d.add("i", Integrator(1.0)), d.add("g", Gain(-k))
        d.connect(i["y"], g["u"])
        d.connect(g["y"], i["u"])
        return d

    a, b = (simulate(loop(k), 2.0, log_every=every) for k, every in ((1.0, 0.01), (1.1, 0.02)))
    a.save(tmp_path / "first.nc")
    b.save(tmp_path / "second.nc")
    out = tmp_path / "both.html"
    files = [tmp_path / "first.nc", tmp_path / "second.nc"]
    subprocess.run([sys.executable, "-m", "cosim", "view", *files, "--out", out], check=True)
    with shown(out) as page:
        rows = {row[0]: row for row in page.evaluate("viewer.content.tables[0].rows")}
        apart = np.exp(-a.time) - np.exp(-1.1 * a.time)
        assert rows["i.y"][2] == pytest.approx(np.abs(apart).max(), rel=1e-3)
        assert rows["i.y"][3] == pytest.approx(a.time[np.argmax(np.abs(apart))], abs=0.02)
        other = page.evaluate("Array.from(viewer.signals.get('i.y (second)').values)")
        assert np.array_equal(other, b["i.y"][:, 0])
        assert page.locator("#diagram").is_visible()
        page.evaluate("viewer.showSignal('i.y')")
        legend = page.locator("#scopes .u-legend").first.inner_text()
        assert "i.y (second)" in legend
        assert page.locator("#scopes .tree [data-signal='i.y (second)']").count() == 0
        assert "largest difference" in page.locator("#tables thead").inner_text()
    a.view(out=tmp_path / "python.html", beside=b)
    assert (tmp_path / "python.html").stat().st_size > 10_000
    with pytest.raises(PlantloopError, match="beside is 3, expected a Result"):
        a.view(show=False, beside=3)
    bad = subprocess.run(
        [sys.executable, "-m", "cosim", "view", *files, "--forces"], capture_output=True, text=True
    )
    assert bad.returncode == 1
    assert "compares two results" in bad.stderr


def test_sampled_signals_are_compared_as_steps():
    from cosim.viewer.compare_data import of_two

    d = servo(sampled=True)
    a, b = simulate(d, 0.5, log_every=0.005), simulate(d, 0.5, log_every=0.02)
    rows = {row[0]: row for row in of_two(a, b, ("a", "b")).content["tables"][0]["rows"]}
    assert rows["c.y"][2] == 0.0
    assert rows["c.y"][5] == len(a.time)
    c = Result("other", a.time, {"x.y": a.time})
    assert {row[0]: row for row in of_two(a, c, ("a", "c")).content["tables"][0]["rows"]}["c.y"][2] is None


@pytest.mark.parametrize("turned", [False, True])
def test_curves_lie_over_each_other_where_signals_are_compared(turned):
    """The output of a subsystem and that of a block in its place have different names."""
    from cosim.viewer.compare_data import of_two

    part, whole, alone = Diagram("part"), Diagram("whole"), Diagram("alone")
    part.outport("y", part.add("r", Step(time=0.5))["y"])
    whole.add("part", part)
    alone.add("part", Step(time=0.5))
    results = [simulate(d, 1.0, log_every=every) for d, every in ((whole, 0.1), (alone, 0.2))][
        :: -1 if turned else 1
    ]
    page = of_two(*results, ("a", "b"))
    (one,), (other,) = (page.content[key]["signals"] for key in ("result", "other"))
    assert (other["name"], other["components"]) == (one["name"], one["components"])
    assert one["name"] == next(iter(results[0])) != next(iter(results[1]))
    at = other["values"]["at"]
    n = len(results[1].time)
    assert np.array_equal(page.numbers.array()[at : at + n], results[1].time >= 0.5)
    other_size = Result("wide", results[0].time, {one["name"]: np.zeros((len(results[0].time), 2))})
    assert of_two(results[0], other_size, ("a", "b")).content["other"]["signals"] == []


@pytest.mark.slow
def test_curves_are_written_as_svg(tmp_path):
    r = simulate(servo(), 1.0, log_every=0.01)
    r.view(out=tmp_path / "svg.html")
    with shown(tmp_path / "svg.html") as page:
        page.locator("#scopes [data-do=add]").click()
        page.locator('#scopes .signal[data-signal="p.y"]').click()
        with page.expect_download() as got:
            page.locator("#scopes [data-do=svg]").click()
        root = ET.parse(got.value.path()).getroot()
    space = "{http://www.w3.org/2000/svg}"
    texts = [t.text for t in root.iter(f"{space}text")]
    assert "p.y" in texts
    assert "time [s]" in texts
    (path,) = root.iter(f"{space}path")
    points = np.array([p.split() for p in path.get("d")[1:].split("L")], dtype=float)
    assert len(points) == len(r.time)
    top, low = points[:, 1].min(), points[:, 1].max()
    y = r["p.y"][:, 0]
    wanted = low - (y - y.min()) / (y.max() - y.min()) * (low - top)
    assert np.abs(points[:, 1] - wanted).max() < 0.02
