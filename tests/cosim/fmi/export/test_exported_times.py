"""Where communication steps of exported units end, whose times importers add up and round."""

from __future__ import annotations

import pytest
from fmpy.fmi1 import FMICallException

from cosim import export_fmu
from tests.helpers.exported import COUNTED, counting, first
from tests.helpers.opened_fmu import Opened


@pytest.fixture(scope="module")
def unit(tmp_path_factory):
    return export_fmu(counting(), tmp_path_factory.mktemp("times") / "counting.fmu", step=0.01)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Nothing happens at any time."""
    return export_fmu(first(), tmp_path_factory.mktemp("times") / "first.fmu", step=0.01)


@pytest.mark.parametrize("h", [0.1, 0.2, 0.3, 0.7])
def test_a_step_to_a_listed_instant_has_come_to_it(unit, h):
    """0.2 + 0.2 + ... is 1.5999999999999999 after eight terms; the instant is 1.6 s."""
    below, k = 0, round(10 * h)
    with Opened(unit) as m:
        for n in range(k, COUNTED, k):
            m.step(h)
            below += m.time < n / 10
            assert m.get("listed") == n
    assert below


@pytest.mark.parametrize("start", [0.0, 5.0])
@pytest.mark.parametrize("h", [0.1, 0.2, 0.7])
def test_a_step_to_a_tick_has_come_to_it(unit, start, h):
    below = 0
    with Opened(unit, start=start) as m:
        m.step(0.05)
        for n in range(1, 40):
            m.step(h)
            tick = start + (10 * round(100 * h) * n + 50) / 1000
            below += m.time < tick
            assert m.get("held") == pytest.approx(tick, abs=1e-9)
    assert below


def test_the_last_step_ends_where_the_experiment_does(plain):
    """0.1 + 0.1 + 0.1 is beyond 0.3, and 0.2 + 0.2 + ... before 1.6."""
    for h, stop, n in ((0.1, 0.3, 3), (0.2, 1.6, 8)):
        with Opened(plain, stop=stop) as m:
            for _ in range(n):
                m.step(h)
            assert m.time != stop and m.get("time") == stop
            with pytest.raises(FMICallException, match="error"):
                m.step(1e-6)
            assert "past the stop time" in m.log[-1]


@pytest.mark.parametrize("start", [0.0, 2.0])
def test_equal_steps_are_counted(plain, start):
    """Time is start + n h, by one multiplication; another step in between is one of its own."""
    with Opened(plain, start=start) as m:
        for n in range(1, 60):
            m.step(0.1)
            assert m.get("time") == start + n * 0.1
        m.time = m.get("time")
        m.step(0.0375)
        assert m.get("time") == m.time


def test_a_step_begins_where_the_unit_is_but_for_rounding(plain):
    with Opened(plain, start=3.0) as m:
        m.time += 2e-9
        m.step(0.1)
        m.time -= 2e-9
        m.step(0.1)
        assert m.get("time") == pytest.approx(3.2, abs=1e-8)
        m.time += 5e-9
        with pytest.raises(FMICallException, match="error"):
            m.step(0.1)
        assert "a step from t=3.2" in m.log[-1]


def test_a_discrete_unit_goes_from_event_to_event(tmp_path):
    """Without continuous-time mode, as FMI 2.0.2 allows it: the n-th instant of the table is 0.1 n s."""
    path = export_fmu(counting(), tmp_path / "counting.fmu", version="2.0")
    with Opened(path, "ModelExchange") as m:
        times = []
        for _ in range(30):
            again, ended, _, _, known, time = m.unit.newDiscreteStates()
            assert (again, ended, known) == (0, 0, 1)
            m.unit.setTime(time)
            m.unit.enterEventMode()
            times.append(time)
        m.unit.newDiscreteStates()
        assert times == pytest.approx([0.05 * (k + 1) for k in range(30)], abs=1e-12)
        assert m.all(["listed", "held"]) == [15.0, pytest.approx(1.45, abs=1e-12)]
