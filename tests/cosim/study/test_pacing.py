"""Runs at the pace of a clock, by a clock that tests turn: when they wait and how long, and what was late."""

import numpy as np
import pytest

from blocks import Constant, Integrator, PlantloopError, UnitDelay
from cosim import Diagram, Simulation
from cosim.study import pacing
from cosim.study.pacing import SLICE, SPIN, PaceReport, paced


class Turned:
    """Stands where it is set; a look takes 10 us, sleep is as long as asked, and instants may take longer."""

    def __init__(self):
        self.now, self.slept = 100.0, []

    def perf_counter(self):
        self.now += 1e-5
        return self.now

    def sleep(self, seconds):
        assert seconds > 0
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    turned = Turned()
    monkeypatch.setattr(pacing, "time", turned)
    return turned


def sampled():
    d = Diagram("d")
    d.connect(d.add("one", Constant(1.0))["y"], d.add("late", UnitDelay(sample=0.25))["u"])
    return Simulation(d, engine="reference")


@pytest.mark.parametrize(("pace", "seconds"), [(None, 1.0), (1.0, 1.0), (2.0, 0.5), (0.5, 2.0)])
def test_a_second_takes_as_long_as_the_pace_says(clock, pace, seconds):
    began = clock.now
    report = paced(sampled(), 1.0) if pace is None else paced(sampled(), 1.0, pace)
    assert clock.now - began == pytest.approx(seconds, abs=1e-3)
    assert (report.pace, report.instants, report.overruns) == (pace or 1.0, 4, 0)
    assert report.late.max() < 1e-4 and report.late.min() >= 0.0
    assert clock.slept == pytest.approx([seconds / 4 - SPIN] * 4, abs=1e-4)  # the rest is polled


def test_what_takes_too_long_is_counted_and_caught_up(clock):
    sim = sampled()
    taken = iter([0.0, 0.0, 0.6, 0.0, 0.0])

    class Slow:
        time = property(lambda self: sim.time)
        next_stop = property(lambda self: sim.next_stop)

        def advance(self, until):
            clock.now += next(taken)
            sim.advance(until)

    report = paced(Slow(), 1.0)
    assert report.overruns == 2  # 0.6 s in the place of 0.25 s, and the next one begins 0.35 s late
    assert report.late == pytest.approx([0.0, 0.0, 0.35, 0.1], abs=1e-3)


def test_a_run_without_ticks_is_cut_into_slices(clock):
    d = Diagram("d")
    d.connect(d.add("one", Constant(1.0))["y"], d.add("x", Integrator())["u"])
    assert paced(Simulation(d, engine="reference"), 0.1).instants == pytest.approx(0.1 / SLICE, abs=1)


def test_the_report_in_rows():
    late = np.random.default_rng(1).permutation(np.arange(1.0, 101.0)) * 1e-6
    rows = dict(PaceReport(2.0, 3, late).rows())
    assert rows["pace"] == "2 x real time, 100 instants" and rows["overruns"].startswith("3 instants")
    assert rows["jitter"] == "50.5 us in the middle, 99 us at 99 %, 100 us at most"
    assert PaceReport(1.0, 0, np.zeros(0)).rows() == [("pace", "1 x real time, nothing to wait for")]


@pytest.mark.parametrize("pace", [0.0, -1.0])
def test_no_pace_is_refused(pace):
    with pytest.raises(PlantloopError, match="expected a number above 0") as caught:
        paced(sampled(), 1.0, pace)
    assert caught.value.value == pace
