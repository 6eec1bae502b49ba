"""Windows that begin or end between two instants of the grid, beside closed forms of a ramp y = t."""

import numpy as np
import pytest

from blocks import Integrator, Ramp, Step, StopWhen
from cosim import Diagram, Study
from cosim.study.formulas import parsed
from cosim.study.window_ends import found_in, slack_of, united, with_window_ends


def ramp():
    """y = t, its integral t^2/2, and a step from 0 to 1 at 0.22 s."""
    d = Diagram("ramp")
    d.add("r", Ramp(slope=1.0))
    d.add("i", Integrator())
    d.add("step", Step(time=0.22))
    d.connect("r.y", "i.u")
    return d


def verdicts(requirements, engine="auto", until=1.0, d=None, **more):
    named = [{"name": f"r{k}", **r} for k, r in enumerate(requirements)]
    s = Study(d or ramp(), until=until, log_every=0.1, requirements=named, engine=engine, **more)
    found = s.case(0).measures
    return [float(found[f"r{k}.robustness"]) for k in range(len(named))], found


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_ends_of_windows_between_instants_of_the_grid(engine):
    expected = [
        ({"always": "r.y < 0.24", "before": 0.25}, -0.01),
        ({"always": "r.y > 0.26", "after": 0.25}, -0.01),
        ({"eventually": "r.y > 0.24", "before": 0.25}, 0.01),
        ({"eventually": "r.y < 0.26", "after": 0.25}, 0.01),
        ({"eventually": "r.y > 0.33", "after": 0.1, "within": 0.25}, 0.02),
        ({"formula": "always[0.21, 0.29](r.y < 0)"}, -0.29),  # no instant of the grid is in it
        ({"formula": "eventually[250 ms, 250 ms](r.y >= 0.25 and r.y <= 0.25)"}, 0.0),
        ({"formula": "always[0.14, 0.38](i.y < 0.07)"}, 0.07 - 0.38**2 / 2),
        ({"formula": "not always[0, 0.25](r.y < 0.24)"}, 0.01),
        ({"formula": "eventually[0.22, 0.28](step.y > 0.5)"}, 0.5),
        ({"formula": "always[0, 0.21](step.y < 0.5)"}, 0.5),
        ({"formula": "always[0.23, 0.27](step.y > 0.5)"}, 0.5),
    ]
    found, _ = verdicts([r for r, _ in expected], engine)
    assert found == pytest.approx([margin for _, margin in expected], abs=1e-9)


def test_windows_in_windows_end_anew_at_every_instant():
    expected = {
        "always[0, 0.3](eventually[0, 0.25](r.y > 0.24))": 0.01,  # least at the start
        "eventually[0.13, 0.13](always[0.04, 0.17](r.y > 0.18))": -0.01,
        "always[0.05, 0.35](eventually[0.11, 0.16](r.y > 0.2) and r.y < 0.36)": 0.01,
        "eventually[0, 0.55](always[0.11, 0.16](r.y > 0.65) and r.y > 0.5)": 0.01,
    }
    found, _ = verdicts([{"formula": text} for text in expected])
    assert found == pytest.approx(list(expected.values()), abs=1e-9)


def test_until_holds_up_to_the_instant_itself_where_nothing_jumps():
    expected = {
        "r.y < 0.42 until r.y > 0.47": -0.025,  # where they cross, at 0.445; on the grid -0.07 and -0.08
        "r.y < 0.49 until r.y > 0.41": 0.04,  # at 0.45; on the grid it is not met
        "r.y < 0.5 until[0, 0.45] r.y > 0.4": 0.05,
        "r.y < 0.3 until[0.35, 0.37] r.y > 0": -0.05,
        "step.y < 0.5 until step.y > 0.5": 0.5,  # both change at once: it held until then
    }
    found, _ = verdicts([{"formula": text} for text in expected])
    assert found == pytest.approx(list(expected.values()), abs=1e-9)


def test_other_measures_and_stored_signals_are_those_of_the_grid(tmp_path):
    metrics = {"m": "median(r.y)", "p": "percentile(r.y, 30)", "s": "std(i.y)", "n": "count(r.y > 0.24)"}
    windows = [{"name": "w", "always": "r.y < 0.24", "before": 0.25}]
    plain = Study(ramp(), until=1.0, log_every=0.1, metrics=metrics).run(tmp_path / "a")
    both = Study(ramp(), until=1.0, log_every=0.1, metrics=metrics, requirements=windows).run(tmp_path / "b")
    assert plain.table[list(metrics)].equals(both.table[list(metrics)])
    assert np.array_equal(both.signals["time"], np.arange(11) / 10)
    assert np.array_equal(both.signals["r.y"][0], plain.signals["r.y"][0])
    assert both.table["w.robustness"][0] == pytest.approx(-0.01, abs=1e-12)


def test_runs_that_end_early_have_the_ends_of_windows_before(tmp_path):
    d = ramp()
    d.add("stop", StopWhen("late"))
    d.add("late", Step(time=0.62))
    d.connect("late.y", "stop.u")
    expected = [
        ({"always": "r.y < 0.24", "before": 0.25}, -0.01),
        ({"formula": "always[0.55, 0.95](r.y < 0.7)"}, 0.08),
    ]
    found, row = verdicts([r for r, _ in expected], d=d)
    assert row["status"] == "stopped" and found == pytest.approx([margin for _, margin in expected], abs=1e-6)
    requirements = [{"name": "w", "always": "r.y < 2", "before": 0.25}]
    s = Study(d, until=1.0, log_every=0.1, requirements=requirements).run(tmp_path / "s")
    assert np.array_equal(np.isfinite(s.signals["r.y"][0]), np.arange(11) < 7)
    assert np.array_equal(s.signals["r.y"][0, :7], np.arange(7) / 10)


def test_instants_that_miss_each_other_by_rounding_are_one():
    grid = np.arange(11) / 10
    assert np.array_equal(with_window_ends(parsed("always[0, 0.3](a.y > 0)"), grid), grid)
    assert np.array_equal(united(grid, np.array([0.1 + 0.2, -1.0, 2.0, 1.0])), grid)
    more = united(grid, np.array([0.25, 0.1 + 0.15, 0.35]))
    assert more.tolist() == sorted([*grid.tolist(), 0.25, 0.35])
    assert found_in(more, np.array([0.35, 0.1 + 0.15, 0.7 - 0.1])).nonzero()[0].tolist() == [3, 5, 8]


def test_how_near_instants_are_one_is_by_their_distance_and_by_the_time():
    """1e-9 of the mean distance, wherever the grid begins, and 4e-12 of the time."""
    assert slack_of(np.linspace(0.0, 10.0, 11)) == pytest.approx(1e-9)
    assert slack_of(np.linspace(100.0, 110.0, 11)) == pytest.approx(1e-9)
    assert slack_of(np.linspace(0.0, 1e3, 1_000_001)) == pytest.approx(4e-9)
    assert (slack_of(np.array([2.0])), slack_of(np.zeros(0))) == (8e-12, 0.0)
