"""What one looks at when a study is done: page, JUnit, comparisons, single cases, sensitivities."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from typer.testing import CliRunner

from blocks import Constant, Gain, Integrator, PlantloopError, Product, StateSpace, Sum
from cosim import Diagram, Enabled, Study, open_study
from cosim.cli.cli import app
from cosim.simulation import Simulation
from cosim.study import report_pictures
from cosim.study.compare import compare
from cosim.study.junit import junit
from cosim.study.pacing import paced
from cosim.study.study_report import report
from cosim.viewer.study_data import of_study
from tests.cosim.study.conftest import noisy_loop
from tests.helpers.browser import shown


def of_loop(d, **more):
    sampling = {
        "method": "sobol", "runs": 32, "seed": 2,
        "parameters": {"k.k": {"low": 1.0, "high": 9.0}, "lag.x": {"low": -0.01, "high": 0.01}},
    }  # fmt: skip
    given = {
        "until": 1.0, "sampling": sampling, "metrics": {"peak": "max(lag.y)", "effort": "integral(k.y^2)"},
        "requirements": [{"name": "low & <safe>", "always": "lag.y < 0.95"}], "log_every": 0.02,
    }  # fmt: skip
    return Study(d, **given | more)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Only looked at."""
    return of_loop(noisy_loop()).run(tmp_path_factory.mktemp("done") / "out", workers=1)


@pytest.fixture(scope="module")
def page(done, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    done.report(path)
    return path


def test_junit_has_a_test_per_case(done):
    suite = ET.fromstring(junit(done)).find("testsuite")
    assert int(suite.get("tests")) == 32
    failed = {int(c.get("name").split()[1]) for c in suite if c.find("failure") is not None}
    assert failed == set(done.failed.index)
    assert 0 < len(failed) < 32
    assert "low & <safe>" in suite.find(".//failure").get("message")


def test_junit_counts_cases_not_run_as_skipped(loop, tmp_path):
    suite = ET.fromstring(junit(of_loop(loop).run(tmp_path / "out", workers=1, only="3,4"))).find("testsuite")
    assert (suite.get("tests"), suite.get("skipped")) == ("32", "30")
    skipped = {int(c.get("name").split()[1]) for c in suite if c.find("skipped") is not None}
    assert skipped == set(range(32)) - {3, 4}
    assert len(suite) == 32


def test_requirements_of_many_cases_are_shown_by_the_share_that_meets_them(done, monkeypatch):
    drawn = []
    monkeypatch.setattr(report_pictures, "picture", lambda figure, title: drawn.append(figure) or "")
    monkeypatch.setattr(report_pictures, "COLUMNS", 4)
    report_pictures.matrix(done)
    met = done.table["low & <safe>"].to_numpy(dtype=float)
    shown = drawn[0].axes[0].images[0].get_array()
    assert np.allclose(shown, met.reshape(4, 8).mean(axis=1)[None], atol=1e-15)
    assert "of some 8 neighbours" in drawn[0].axes[0].get_xlabel()
    monkeypatch.setattr(report_pictures, "COLUMNS", 20)
    report_pictures.matrix(done)
    assert "of one or two neighbours" in drawn[1].axes[0].get_xlabel()


@pytest.mark.slow
def test_a_page_needs_nothing_else(page):
    text = page.read_text(encoding="utf-8")
    assert not re.search(r'(?:src|href)="(?!data:)', text)
    assert "http" not in re.sub(r"data:[^\"]*", "", text)
    assert "<safe>" not in text
    assert text.count("<img") >= 6


@pytest.mark.slow
def test_units_stand_beside_parameters_and_signals(tmp_path):
    d = Diagram("d")
    d.add("one", Constant([1.0, 2.0]), units={"y": ["m", "rad"]})
    d.add("k", Gain([2.0, 3.0]), units={"k": "N/m"})
    d.add("x", Integrator())
    d.connect("one.y -> k.u", "one.y[0] -> x.u")
    study = Study(d, until=0.1, sweep={"k.k[1]": [1.0, 2.0], "x.x": [0.0, 1.0]}, metrics={"y": "final(x.y)"},
                  store={"signals": ["one.y", "x.y"]}, log_every=0.05)  # fmt: skip
    done = study.run(tmp_path / "out", workers=1, executor="threads")
    m = open_study(tmp_path / "out").store.manifest
    assert [m.titled(c) for c in ("k.k[1]", "x.x", "y")] == ["k.k[1] [N/m]", "x.x", "y"]
    assert [m.signal_unit(n) for n in ("one.y", "one.y[1]", "none")] == ["m", "rad", ""]
    assert "k.k[1] [N/m]" in report(done)
    content = of_study(done).content["study"]
    assert "k.k[1] [N/m]" in [c["name"] for c in content["columns"]]
    assert [(s["name"], s["unit"]) for s in content["signals"]][:2] == [
        ("one.y[0]", "m"),
        ("one.y[1]", "rad"),
    ]


def test_a_number_of_a_matrix_with_zeros_varies(tmp_path):
    d = Diagram("double integrator")
    d.add("one", Constant(1.0))
    d.add("plant", StateSpace([[0, 1], [0, 0]], [[0], [1]], [[1, 0]]), units={"B": "1/kg"})
    d.connect("one.y -> plant.u")
    study = Study(d, until=1.0, sweep={"plant.B[1]": [1.0, 3.0]}, metrics={"end": "final(plant.y)"})
    done = study.run(tmp_path / "out", workers=1, executor="threads")
    assert done.table["end"].to_numpy() == pytest.approx([0.5, 1.5], abs=1e-9)  # b t^2 / 2
    assert open_study(tmp_path / "out").store.manifest.titled("plant.B[1]") == "plant.B[1] [1/kg]"
    with pytest.raises(PlantloopError, match=r"got 1 numbers, expected 2\. One of them is 'plant\.B\[1\]'"):
        Study(d, until=1.0, sweep={"plant.B": [1.0, 3.0]}, metrics={"end": "final(plant.y)"})


@pytest.mark.slow
def test_a_page_in_a_browser(done, page):
    with shown(page, ready=False) as page:
        assert page.locator("#rows tr").count() == 32
        wide = page.evaluate("[...document.images].map(i => i.naturalWidth)")
        page.locator("#only").check()
        assert page.locator("#rows tr").count() == len(done.failed)
        page.locator("#rows tr").first.click()
        command = page.locator("#command").text_content()
    assert len(wide) >= 6
    assert min(wide) > 50
    assert (
        command == f'open_study("{done.store.folder.url}", study=study).case({done.failed.index[0]}).result'
    )


@pytest.mark.slow
def test_ten_thousand_cases_on_a_page_are_under_five_megabytes(loop, tmp_path):
    sampling = {
        "method": "monte_carlo", "runs": 10_000, "seed": 2,
        "parameters": {name: {"low": 1.0, "high": 2.0} for name in ("k.k", "lag.x", "step.after")},
    }  # fmt: skip
    study = of_loop(
        loop, until=0.1, log_every=0.05, sampling=sampling, store={"keep": "summary"}, solver="rk4", step=0.05
    )
    done = study.run(tmp_path / "out", workers=2)
    assert len(report(done).encode()) < 5e6
    assert done.store.folder.size < 200 * 10_000


@pytest.mark.slow
def test_studies_are_compared_case_by_case(loop, done, tmp_path):
    assert compare(done, done).same
    other = of_loop(loop, rtol=1e-3).run(tmp_path / "b", workers=1)
    found = compare(done, other)
    assert "settings" in found.changed
    assert not found.same
    most, case = found.metrics["peak"]
    assert most == pytest.approx(abs(done.table["peak"] - other.table["peak"]).max())
    assert most == abs(done.table["peak"][case] - other.table["peak"][case])
    strict = of_loop(loop, requirements=[{"name": "low & <safe>", "always": "lag.y < 0.5"}])
    found = compare(done, strict.run(tmp_path / "c", workers=1))
    assert len(found.worse["low & <safe>"]) == 32 - len(done.failed)
    shifted = of_loop(loop, sampling={"method": "list", "cases": [{"k.k": 2.0, "lag.x": 0.0}]})
    with pytest.raises(PlantloopError, match="case 0 is not the same in both: 'k.k'"):
        compare(done, shifted.run(tmp_path / "d", workers=1))
    shown = CliRunner().invoke(app, ["compare", done.store.folder.url, str(tmp_path / "c")])
    assert shown.exit_code == 1
    assert "no longer met" in shown.output


@pytest.mark.slow
def test_sensitivities_of_a_known_function(tmp_path):
    """y = 4 a + b, and c is not used: shares of the variance are 16/17 and 1/17."""
    d = Diagram("linear")
    for name in ("a", "b", "c"):
        d.add(name, Integrator(initial=0.0))
        d.ground(f"{name}.u")
    d.add("four", Gain(4.0))
    d.add("sum", Sum("++"))
    d.connect("a.y", "four.u")
    d.connect("four.y", "sum.in1")
    d.connect("b.y", "sum.in2")
    names = {f"{n}.x": {"low": 0.0, "high": 1.0} for n in "abc"}
    sampling = {"method": "sobol", "runs": 512, "seed": 3, "parameters": names}
    s = Study(
        d, until=0.1, sampling=sampling, metrics={"y": "final(sum.y)"}, solver="rk4", step=0.1,
        store={"keep": "summary"},
    ).run(tmp_path / "out", workers=1)  # fmt: skip
    found = s.sensitivity("y")
    assert found.index[0] == "a.x"
    assert found["regression"]["a.x"] == pytest.approx(4 / np.sqrt(17), abs=0.01)
    assert found["regression"]["b.x"] == pytest.approx(1 / np.sqrt(17), abs=0.01)
    if "first order" in found:
        assert found["first order"]["a.x"] == pytest.approx(16 / 17, abs=0.05)
        assert found["first order"]["c.x"] == pytest.approx(0.0, abs=0.05)
    with pytest.raises(PlantloopError, match="no column 'z'"):
        s.sensitivity("z")


@pytest.mark.slow
def test_pictures(done, tmp_path):
    assert len(done.plot("lag.y", "k.y").axes) == 2
    assert len(done.plot("k.k", "peak").axes) == 1
    assert len(done.plot(path=tmp_path / "all.png").axes) == 4
    assert (tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(PlantloopError, match="'lag.z' is neither"):
        done.plot("lag.z")


@pytest.mark.slow
def test_one_case_and_its_replay_from_the_command_line(study_file, tmp_path):
    tables = '[sweep]\n"k.k" = [1.0, 5.0]\n[[requirements]]\nname = "low"\nalways = "lag.y < 0.7"\n'
    path = study_file(tables)
    out = tmp_path / "out"
    run = lambda *words: CliRunner().invoke(app, [*map(str, words), "--out", str(out)])
    assert run("sweep", path, "--workers", 1).exit_code == 1
    assert open_study(out).table.loc[0, "low"]
    shown = run("run", path, "--case", 0)
    assert shown.exit_code == 0, shown.output
    assert "low: met, margin 0.2" in shown.output
    assert (out / "case-0.nc").exists()
    shown = run("run", path, "--case", 1)
    assert shown.exit_code == 1
    assert "low: NOT MET" in shown.output
    assert "there are 2" in run("run", path, "--case", 2).output
    assert "--case" in run("run", path, "--replay").output
    shown = CliRunner().invoke(app, ["report", str(out)])
    assert shown.exit_code == 1
    assert (out / "report.html").exists()
    assert (out / "junit.xml").exists()


def test_a_failure_is_replayed_from_shortly_before(tmp_path):
    d = Diagram("growth")  # x' = a x^2 runs away at 1/a
    d.add("x", Integrator(initial=1.0))
    d.add("square", Product("**"))
    d.add("a", Gain(1.0))
    for source, target in (("x.y", "square.in1"), ("x.y", "square.in2"), ("square.y", "a.u"), ("a.y", "x.u")):
        d.connect(source, target)
    s = Study(d, until=2.0, sweep={"a.k": [0.1, 1.0]}).run(tmp_path / "out", workers=1)
    assert (tmp_path / "out" / "failures" / "1.npz").exists()
    sim = s.case(1).replayed()
    assert 0.95 < sim.time < 1.0
    assert sim.value("x.y")[0] == pytest.approx(1 / (1 - sim.time), rel=1e-4)


def test_a_run_at_the_pace_of_a_clock(loop):
    with Simulation(loop) as sim:
        sim.log(np.linspace(0, 0.3, 7))
        found = paced(sim, 0.3, pace=2.0)
        paced_result = sim.result()
    assert found.instants >= 6
    assert np.median(found.late) < 0.1
    with Simulation(loop) as sim:
        sim.log(np.linspace(0, 0.3, 7))
        sim.advance(0.3)
        assert np.array_equal(sim.result()["lag.y"], paced_result["lag.y"])
    with Simulation(loop) as sim, pytest.raises(PlantloopError, match="pace"):
        paced(sim, 0.1, pace=0.0)


@pytest.mark.slow
def test_outputs_of_subsystems_are_found_by_their_own_names(tmp_path):
    """y = k t, from a subsystem and from an enabled one."""
    inner = Diagram("inner")
    inner.inport("u") >> inner.add("x", Integrator())
    inner.outport("y", "x.y")
    d = Diagram("d")
    k, one = d.add("k", Constant(1.0)), d.add("one", Constant(1.0))
    part, plain = d.add("part", Enabled(inner)), d.add("plain", inner)
    k >> part["u"]
    k >> plain["u"]
    one >> part["enable"]
    sampling = {"method": "list", "cases": [{"k.value": 2.0}, {"k.value": 3.0}]}
    study = Study(d, until=1.0, sampling=sampling, store={"keep": "all", "every": 0.5}, engine="reference")
    study.run(tmp_path / "out", workers=1)
    found = open_study(tmp_path / "out")
    for name in ("part.y", "plain.y"):
        assert np.allclose(found.signals[name][:, -1], [2.0, 3.0])
        assert abs(found.case(1).result[name][-1, 0] - 3.0) < 1e-9
    assert len(found.plot("part.y").axes) == 1
