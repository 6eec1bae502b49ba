"""Runs that end once their verdict is certain: at known instants, with the verdict of the whole run."""

import numpy as np
import pytest

from blocks import Gain, Integrator, PlantloopError, Sine, Step, TransferFunction
from cosim import Diagram, Study

SWING = {  # requirements of sin(2 pi t) and of a step at 1.5 s, and when the verdict on each is certain [s]
    "always broken": ({"always": "g.y < 0.5"}, 1 / 12),
    "always met": ({"always": "g.y < 2", "before": 1.25}, 1.25),
    "always, later": ({"always": "g.y < 0.5", "after": 0.5}, 13 / 12),
    "eventually met": ({"eventually": "g.y > 0.5"}, 1 / 12),
    "eventually, later": ({"eventually": "g.y > 0.5", "after": 0.5}, 13 / 12),
    "eventually broken": ({"eventually": "g.y > 1.5", "within": 1.0}, 1.0),
    "eventually, by equality": ({"eventually": "c.y >= 1"}, 1.5),
    "eventually, at the end of the window": ({"eventually": "c.y >= 1", "within": 1.5}, 1.5),
    "eventually, from the start": ({"eventually": "g.y < 0.5"}, 0.0),
    "until met": ({"always": "g.y < 0.9", "until": "g.y > 0.5"}, 1 / 12),
    "until broken": ({"always": "g.y < 0.3", "until": "g.y > 0.5"}, np.arcsin(0.3) / (2 * np.pi)),
    "until too late": ({"always": "g.y < 2", "until": "g.y < -1.5", "before": 1.0}, 1.0),
    "until false from the start": ({"always": "g.y > 0.5", "until": "g.y < -2"}, 0.0),
    "answered": ({"whenever": "g.y > 0.5", "eventually": "g.y < 0", "within": 0.5, "before": 1.0}, 1.0),
    "not answered": ({"whenever": "g.y > 0.5", "eventually": "g.y < 0", "within": 0.3}, 1 / 12 + 0.3),
    "answered after the window": (
        {"whenever": "g.y > 0.5", "eventually": "g.y < 0", "within": 0.5, "before": 1.1}, 1.5,
    ),
    "never asked": ({"whenever": "g.y > 5", "eventually": "g.y < 0", "within": 0.3, "before": 1.0}, 1.0),
    "consequence broken": ({"whenever": "g.y > 0.5", "always": "g.y > 0", "within": 0.2}, 0.5),
    "consequence over in time": (
        {"whenever": "g.y > 0.5", "always": "g.y > 0", "within": 0.05, "before": 1.0}, 1.0,
    ),
    "formula": ({"formula": "eventually[0, 1](always[0, 0.25](g.y < 0))"}, 1.25),
    "and": ({"eventually": "g.y < -0.5 and t > 1"}, 1 + 7 / 12),
}  # fmt: skip


def swing():
    d = Diagram("swing")
    d.add("s", Sine(frequency=2 * np.pi))
    d.add("c", Step(time=1.5))
    d.add("g", Gain(1.0))
    d.connect("s.y", "g.u")
    return d


def row(requirements, engine="reference", until=3.0, **more):
    study = Study(swing(), until=until, log_every=0.01, requirements=requirements, engine=engine, **more)
    return study.case(0).measures


@pytest.mark.slow
@pytest.mark.parametrize("name", SWING)
def test_the_instant_and_the_verdict(name):
    table, end = SWING[name]
    requirements = [{"name": "r", **table}]
    whole = row(requirements)
    found = row(requirements, stop={"when": "decided"})
    assert found["end_time"] == pytest.approx(end, abs=1e-7)
    assert (found["r"], found["status"]) == (whole["r"], "stopped")
    assert (found["r.robustness"] >= 0) == found["r"]


def test_the_last_row_is_that_of_the_stop_where_an_instant_was_logged_just_before_it():
    """The signal comes to 0 within rounding of an instant of the grid at which a step ends as well."""
    requirements = [{"name": "r", **SWING["answered after the window"][0]}]
    for engine in ("native", "reference"):
        found = row(requirements, engine, stop={"when": "decided"})
        assert found["r"] and found["status"] == "stopped"
        assert found["end_time"] == pytest.approx(1.5, abs=1e-12)


@pytest.mark.slow
def test_of_several_the_last_decides_or_the_first_that_is_broken():
    requirements = [
        {"name": "rises", "eventually": "g.y > 0.5"},  # met at 1/12 s
        {"name": "steps", "eventually": "c.y >= 1", "within": 2.0},  # met at 1.5 s
        {"name": "low", "always": "g.y < 2", "before": 1.0},  # met at 1 s
    ]
    broken = [*requirements, {"name": "high", "always": "g.y > -0.5"}]  # broken at 7/12 s
    ends = {"broken": (3.0, 7 / 12), "decided": (1.5, 1.5), "certain": (1.5, 7 / 12)}
    for when, (met, unmet) in ends.items():
        a = row(requirements, stop={"when": when})
        b = row(broken, stop={"when": when})
        assert a["end_time"] == pytest.approx(met, abs=1e-7)
        assert b["end_time"] == pytest.approx(unmet, abs=1e-7)
        assert a["rises"] and a["steps"] and a["low"] and b["rises"] and not b["high"]
    assert a["message"] == "every requirement is decided"
    assert b["message"] == "requirement 'high' is not met"
    native = row(broken, "native", stop={"when": "certain"})
    assert {**native, "wall_time": 0} == {**b, "wall_time": 0}


def test_what_happens_between_the_instants_of_the_grid_is_seen():
    """A pulse of 2 ms between instants 0.5 s apart; the run ends for another requirement later."""
    requirements = [
        {"name": "sees", "eventually": "g.y > 0.99"},
        {"name": "low", "always": "g.y < 0.99"},
        {"name": "later", "eventually": "c.y >= 1"},
    ]
    study = Study(
        swing(),
        until=3.0,
        log_every=0.5,
        requirements=requirements,
        stop={"when": "decided"},
        engine="reference",
    )
    found = study.case(0).measures
    assert found["end_time"] == pytest.approx(1.5, abs=1e-7)
    assert found["sees"] and found["sees.robustness"] >= 0
    assert not found["low"] and found["low.robustness"] < 0


def loop():
    """A lag around an integrator of a discretely held input, inside a subsystem."""
    inside = Diagram("inside")
    inside.add("lag", TransferFunction([1.0], [0.2, 1.0]))
    inside.add("sum", Integrator())
    inside.connect("lag.y", "sum.u")
    inside.connect(inside.inport("u"), "lag.u")
    inside.outport("y", "sum.y")
    d = Diagram("outside")
    d.add("step", Step(time=0.1, after=2.0))
    d.add("part", inside)
    d.connect("step.y", "part.u")
    return d


@pytest.mark.slow
def test_many_runs_on_every_executor_and_gone_on_with(tmp_path):
    study = Study(
        loop(),
        until=2.0,
        log_every=0.02,
        sweep={"step.after": [-1.0, 0.3, 1.0, 2.0, 4.0]},
        requirements=[{"name": "there", "eventually": "part/sum.y > 0.75"}],
        metrics={"last": "final(part/sum.y)"},
        stop={"when": "certain"},
    )
    whole = study.run(tmp_path / "threads", workers=2)
    table = whole.table.drop(columns="wall_time")
    assert table["there"].tolist() == [False, False, True, True, True]
    assert table["status"].tolist() == ["done", "done", "stopped", "stopped", "stopped"]
    assert np.allclose(table["last"][2:], 0.75, atol=1e-9)
    assert (np.diff(table["end_time"][1:]) < 0).all()
    study.run(tmp_path / "parts", executor="processes", workers=2, limit=2)
    parts = study.run(tmp_path / "parts", resume=True)
    assert table.equals(parts.table.drop(columns="wall_time"))
    assert table["end_time"][4] == study.case(4).measures["end_time"]
    beyond = whole.signals["time"].values > table["end_time"][4]
    assert np.isnan(whole.signals["part/sum.y"].values[4, beyond]).all()


@pytest.mark.parametrize(
    ("requirement", "when", "says"),
    [
        ({"always": "g.y > 0"}, "done", "expected"),
        ({"check": "max(g.y) < 1"}, "decided", "at the end of a run only"),
        ({"formula": "always(eventually[0, 1](g.y > 0))"}, "certain", "at the end of a run only"),
        ({"formula": "always[0, 1](g.y > 0)"}, "broken", "none would end early"),
        ({"eventually": "g.y > 0"}, "broken", "none would end early"),
        ({"whenever": "g.y > 0", "eventually": "c.y > 0"}, "broken", "a window that ends"),
        ({"always": "g.y > 0", "stop": True}, "broken", "keep one"),
        (None, "broken", "no requirements"),
    ],
)
def test_what_could_not_end_a_run_is_refused(requirement, when, says):
    with pytest.raises(PlantloopError, match=says):
        row([{"name": "r", **requirement}] if requirement else [], stop={"when": when})
