"""Searches find what is known in closed form, are studies, and go on where they were interrupted."""

import numpy as np
import pytest

from blocks import Constant, Gain, Integrator, PlantloopError, Product, Sum
from cosim import Diagram, Study, open_study


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


def test_a_requirement_is_falsified(bowl, tmp_path):
    pytest.importorskip("cma")
    found = study_of(bowl).falsify(tmp_path / "out", "off the bottom", runs=240, workers=1)
    assert found.best["off the bottom.robustness"] < 0
    assert found.best["a.value"] == pytest.approx(0.3, abs=0.05)
    assert found.best["b.value"] == pytest.approx(-0.2, abs=0.05)
    assert len(open_study(tmp_path / "out").table) == 240
    assert found.study.case(found.case).measures["f"] == found.best["f"]


def test_a_search_goes_on_with_what_is_done(bowl, tmp_path):
    pytest.importorskip("cma")
    study = study_of(bowl)
    whole = study.falsify(tmp_path / "a", "off the bottom", runs=64, workers=1).study.table
    study.falsify(tmp_path / "b", "off the bottom", runs=64, workers=1)
    for part in sorted((tmp_path / "b" / "table").iterdir())[2:]:
        part.unlink()
    again = study.falsify(tmp_path / "b", "off the bottom", runs=64, workers=1, resume=True).study.table
    assert np.array_equal(whole["f"], again["f"])
    with pytest.raises(PlantloopError, match="cases changed"):
        study.falsify(tmp_path / "b", "off the bottom", runs=64, seed=1, resume=True)
    with pytest.raises(PlantloopError, match="no requirement 'of the bottom'; did you mean 'off the bottom'"):
        study.falsify(tmp_path / "c", "of the bottom")


def test_a_front_of_two_metrics(bowl, tmp_path):
    """Both are small for a between 0.3 and 0.8 and b = -0.2; f may not be below 0.001."""
    pytest.importorskip("pymoo")
    found = study_of(bowl).optimise(tmp_path / "out", ["f", "g"], runs=480, workers=1)
    assert len(found.front) >= 5
    assert found.front["a.value"].between(0.25, 0.85).all()
    assert found.front["b.value"].between(-0.35, -0.05).mean() > 0.7
    assert (found.front["f"] >= 0.001).all()


def test_nothing_to_vary(tmp_path):
    d = Diagram("still")
    d.add("x", Integrator(initial=1.0))
    d.ground("x.u")
    study = Study(d, until=1.0, requirements=[{"name": "r", "always": "x.y > 0"}])
    with pytest.raises(PlantloopError, match="nothing may vary"):
        study.falsify(tmp_path / "out", "r")
    assert not (tmp_path / "out").exists()
