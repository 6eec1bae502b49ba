"""Searches find what is known in closed form, are studies, and go on where they were interrupted."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from blocks import Constant, Gain, Integrator, PlantloopError, Product, Sum
from cosim import Diagram, Study, open_study
from cosim.cli.cli import app
from cosim.study.folder import Folder
from cosim.study.opened import StudyResult
from cosim.study.search import Aim, _found


@pytest.fixture
def bowl():
    """f.y = (a - 0.3)^2 + (b + 0.2)^2, g.y = (a - 0.8)^2."""
    d = Diagram("bowl")
    for name, value in (("a", 0.0), ("b", 0.0), ("p", 0.3), ("q", -0.2), ("r", 0.8)):
        d.add(name, Constant(value))
    for name, (x, y) in {"da": ("a", "p"), "db": ("b", "q"), "dg": ("a", "r")}.items():
        d.add(name, Sum("+-"))
        d.connect(f"{x}.y", f"{name}.in1")
        d.connect(f"{y}.y", f"{name}.in2")
        d.add(f"{name}2", Product("**"))
        d.connect(f"{name}.y", f"{name}2.in1")
        d.connect(f"{name}.y", f"{name}2.in2")
    d.add("f", Sum("++"))
    d.connect("da2.y", "f.in1")
    d.connect("db2.y", "f.in2")
    d.add("g", Gain(1.0))
    d.connect("dg2.y", "g.u")
    return d


def study_of(d):
    bounds = {name: {"low": -1.0, "high": 1.0} for name in ("a.value", "b.value")}
    return Study(
        d,
        until=0.1,
        solver="rk4",
        step=0.1,
        log_every=0.1,
        sampling={"method": "corners", "parameters": bounds},
        metrics={"f": "final(f.y)", "g": "final(g.y)"},
        requirements=[{"name": "off the bottom", "always": "f.y > 0.001"}],
        store={"keep": "summary"},
    )


@pytest.mark.slow
def test_a_requirement_is_falsified(bowl, tmp_path):
    pytest.importorskip("cma")
    found = study_of(bowl).falsify(tmp_path / "out", "off the bottom", runs=240, workers=1)
    assert found.best["off the bottom.robustness"] < 0
    assert found.best["a.value"] == pytest.approx(0.3, abs=0.05)
    assert found.best["b.value"] == pytest.approx(-0.2, abs=0.05)
    assert len(open_study(tmp_path / "out").table) == 240
    assert found.study.case(found.case).measures["f"] == found.best["f"]


def test_which_of_several_requirements_is_meant(bowl, tmp_path):
    two = [{"name": name, "always": "f.y > 0.001"} for name in ("a, b", "c")]
    study = Study(bowl, until=0.1, sweep={"a.value": [0.0, 1.0]}, requirements=two)
    cure = r"There are 'a, b', 'c'\. Name it: requirement = \"a, b\" under \[search\]"
    with pytest.raises(PlantloopError, match=cure):
        study.falsify(tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_search_goes_on_with_what_is_done(bowl, tmp_path):
    pytest.importorskip("cma")
    study = study_of(bowl)
    whole = study.falsify(tmp_path / "a", "off the bottom", runs=64, workers=1).study.table
    study.falsify(tmp_path / "b", "off the bottom", runs=64, workers=1)
    for part in sorted((tmp_path / "b" / "table").iterdir())[2:]:
        part.unlink()
    again = study.falsify(tmp_path / "b", "off the bottom", runs=64, workers=1, resume=True).study.table
    assert np.array_equal(whole["f"], again["f"])
    study.falsify(tmp_path / "d", "off the bottom", runs=20, workers=1)  # ends within a generation
    longer = study.falsify(tmp_path / "d", "off the bottom", runs=64, workers=1, resume=True).study
    assert np.array_equal(whole["f"], longer.table["f"])
    assert longer.store.manifest.count == len(longer.table) == 64
    with pytest.raises(PlantloopError, match="has 64 cases, now there are 20"):
        study.falsify(tmp_path / "d", "off the bottom", runs=20, workers=1, resume=True)
    with pytest.raises(PlantloopError, match="cases changed"):
        study.falsify(tmp_path / "b", "off the bottom", runs=64, seed=1, resume=True)
    with pytest.raises(PlantloopError, match="no requirement 'of the bottom'; did you mean 'off the bottom'"):
        study.falsify(tmp_path / "c", "of the bottom")


@pytest.mark.slow
def test_rows_of_earlier_generations_are_not_read_again(bowl, tmp_path, monkeypatch):
    """They were, in every generation: the time of a search grew with the square of its cases."""
    pytest.importorskip("cma")
    read, count = Folder.read, Counter()

    def counted(folder, name):
        count[name] += name.startswith("table/")
        return read(folder, name)

    monkeypatch.setattr(Folder, "read", counted)
    found = study_of(bowl).falsify(tmp_path / "out", "off the bottom", runs=160, workers=1).study
    assert len(found.store.folder.names("table")) == 10
    assert max(count.values()) <= 3  # its cases, its rows, and those of the first for warnings
    before = found.table
    changed = sorted((tmp_path / "out" / "table").iterdir())[4]
    pd.read_parquet(changed).iloc[1:].to_parquet(changed)
    assert len(found.table) == len(found.store.done()) == len(before) - 1
    changed.unlink()
    assert len(found.table) == len(found.store.done()) == len(before) - 16


@pytest.mark.slow
def test_a_front_of_two_metrics(bowl, tmp_path):
    """Both are small for a between 0.3 and 0.8 and b = -0.2; f may not be below 0.001."""
    pytest.importorskip("pymoo")
    with pytest.raises(PlantloopError, match="which metrics are to be small. There are 'f', 'g'"):
        study_of(bowl).optimise(tmp_path / "none")
    found = study_of(bowl).optimise(tmp_path / "out", ["f", "g"], runs=480, workers=1)
    assert len(found.front) >= 5
    assert found.front["a.value"].between(0.25, 0.85).all()
    assert found.front["b.value"].between(-0.35, -0.05).mean() > 0.7
    assert (found.front["f"] >= 0.001).all()


@pytest.mark.slow
def test_of_variants_the_worst_counts(tmp_path):
    """f = (a - 0.3)^2 in one variant, (a + 0.5)^2 in the other: the larger of both is least for a = -0.1."""
    pytest.importorskip("pymoo")

    def bowl(centre):
        d = Diagram("bowl")
        for name, value in (("a", 0.0), ("p", centre)):
            d.add(name, Constant(value))
        d.add("da", Sum("+-"))
        d.add("f", Product("**"))
        for source, target in (("a.y", "da.in1"), ("p.y", "da.in2"), ("da.y", "f.in1"), ("da.y", "f.in2")):
            d.connect(source, target)
        return d

    right, left = bowl(0.3), bowl(-0.5)
    sampling = {"method": "corners", "parameters": {"a.value": {"low": -0.4, "high": 1.0}}}
    study = Study(
        right, until=0.1, solver="rk4", step=0.1, log_every=0.1, sampling=sampling,
        metrics={"f": "final(f.y)"}, variants={"right": right, "left": left},
        requirements=[{"name": "deep", "always": "f.y < 1.7"}],
        search={"requirement": "deep", "runs": 160}, store={"keep": "summary"},
    )  # fmt: skip
    found = study.optimise(tmp_path / "a", workers=1)
    assert len(found.study) == 160
    assert found.best["f"] == pytest.approx(0.16, abs=0.01)  # 0.4^2 in both variants
    assert found.best["a.value"] == pytest.approx(-0.1, abs=0.02)
    assert list(found.front["variant"]) == ["right", "left"]
    pytest.importorskip("cma")
    worst = study.falsify(tmp_path / "b", workers=1)
    assert worst.best["variant"] == "left"  # (1 + 0.5)^2 = 2.25
    assert worst.best["deep.robustness"] == pytest.approx(1.7 - 2.25, abs=0.1)


def test_a_sweep_bounds_a_search_and_what_has_one_value_stays(bowl, tmp_path):
    pytest.importorskip("cma")
    sweep = {"a.value": [0.1, 0.2, 0.5], "b.value": [-0.15]}
    study = Study(
        bowl, until=0.1, solver="rk4", step=0.1, log_every=0.1, sweep=sweep,
        requirements=[{"name": "r", "always": "f.y > 0.1"}], store={"keep": "summary"},
    )  # fmt: skip
    assert study.bounds == {"a.value": (0.1, 0.5)}
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    found = study.falsify(tmp_path / "a", "r", runs=48, workers=1)
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    assert set(found.study.table["b.value"]) == {-0.15}
    assert found.study.table["a.value"].between(0.1, 0.5).all()
    assert found.best["r.robustness"] == pytest.approx(0.05**2 - 0.1, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_a_failed_run_is_what_a_falsification_looks_for(executor, tmp_path):
    pytest.importorskip("cma")
    d = Diagram("growth")  # x' = a x^2 from 1 runs away at 1/a
    d.add("x", Integrator(initial=1.0))
    d.add("square", Product("**"))
    d.add("a", Gain(1.0))
    for source, target in (("x.y", "square.in1"), ("x.y", "square.in2"), ("square.y", "a.u"), ("a.y", "x.u")):
        d.connect(source, target)
    study = Study(
        d, until=1.0, sweep={"a.k": [0.1, 1.5]}, requirements=[{"name": "r", "always": "x.y < 1000"}],
        log_every=0.1, store={"keep": "summary"},
    )  # fmt: skip
    found = study.falsify(tmp_path / "a", runs=32, executor=executor, workers=2)
    assert found.best["status"] == "failed"
    assert found.best["a.k"] > 1.0


SEARCH = """
[sampling]
method = "corners"
[sampling.parameters]
"k.k" = { low = 1.0, high = 9.0 }
[metrics]
effort = "integral(k.y^2)"
slow = "0 - final(lag.y)"
[[requirements]]
name = "low"
always = "lag.y < 0.85"
[search]
requirement = "low"
metrics = ["slow"]
runs = 48
"""


@pytest.mark.slow
def test_searches_have_commands(study_file, tmp_path):
    pytest.importorskip("cma")
    pytest.importorskip("pymoo")
    path = study_file(SEARCH)
    call = lambda *words: CliRunner().invoke(app, [str(w) for w in words])
    shown = call("falsify", path, "--out", tmp_path / "f", "--workers", 1)
    assert shown.exit_code == 1, shown.output  # y goes to k/(1 + k), 0.9 for k = 9
    assert "low: NOT MET, least margin -0.0" in shown.output
    assert open_study(tmp_path / "f").table["low.robustness"].min() == pytest.approx(-0.05, abs=1e-3)
    assert "--resume" in call("falsify", path, "--out", tmp_path / "f").output
    assert call("falsify", path, "--out", tmp_path / "f", "--resume").exit_code == 1
    shown = call("optimise", path, "--out", tmp_path / "o", "--workers", 1)
    assert shown.exit_code == 0, shown.output
    assert (
        "slow = -0.84" in shown.output or "slow = -0.85" in shown.output
    )  # as far as the requirement lets it
    shown = call("optimise", path, "--metrics", "slow, effort", "--runs", 32, "--out", tmp_path / "p")
    assert shown.exit_code == 0, shown.output
    assert shown.output.count("effort = ") > 3
    assert (
        "did you mean 'effort'"
        in call("optimise", path, "--metrics", "efort", "--out", tmp_path / "q").output
    )
    assert not (tmp_path / "q").exists()


def test_nothing_to_vary(tmp_path):
    d = Diagram("still")
    d.add("x", Integrator(initial=1.0))
    d.ground("x.u")
    study = Study(d, until=1.0, requirements=[{"name": "r", "always": "x.y > 0"}])
    with pytest.raises(PlantloopError, match="nothing may vary"):
        study.falsify(tmp_path / "out", "r")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("least", "points", "case"), [(False, [2, 3], 4), (True, [2], 5)])
def test_the_best_point_and_the_variant_that_decides_it(least, points, case):
    """The largest of two variants counts, (5, 9), (3, 7), (1, 9), (2.5, 6), or the least of f, 4, 2, 0, 1."""
    f, g = [[5, 4], [2, 3], [1, 0], [2.5, 1]], [[9, 9], [7, 1], [8, 9], [2, 6]]
    table = pd.DataFrame(
        {"f": np.ravel(f).astype(float), "g": np.ravel(g).astype(float), "status": ["done"] * 8}
    )
    aim = Aim(("f",) if least else ("f", "g"), (), least)
    found = _found(StudyResult(SimpleNamespace(table=lambda: table)), aim, 2)
    assert sorted({int(k) // 2 for k in found.front.index}) == points and found.case == case
