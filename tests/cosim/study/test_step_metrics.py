"""Rise, overshoot and settling of step responses beside python-control's `step_info` on the same samples."""

import control
import numpy as np
import pytest

from blocks import Constant, TransferFunction
from cosim import Diagram, Study
from cosim.study.between import SignalCourse
from cosim.study.formulas import parsed
from cosim.study.step_metrics import described
from cosim.study.study_schema import MetricTable

Y = parsed("a.y")
SYSTEMS = {
    "well damped": ([4.0], [1.0, 2.8, 4.0]),
    "swinging": ([9.0], [1.0, 0.9, 9.0]),
    "of first order": ([2.0], [0.5, 1.0]),
    "the other way first": ([-1.0, 3.0], [1.0, 2.0, 3.0]),
    "downwards": ([-5.0], [1.0, 1.5, 5.0]),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_metrics_of_a_step(name):
    time = np.linspace(0.0, 25.0, 5001)
    _, y = control.step_response(control.tf(*SYSTEMS[name]), time)
    theirs = control.step_info(y, time, yfinal=y[-1])
    measured = lambda **table: float(described(MetricTable(**table), SignalCourse(time, y[None, :]))[0])
    step = time[1]
    assert measured(overshoot=Y) == pytest.approx(theirs["Overshoot"], abs=1e-9)
    assert measured(rise=Y) == pytest.approx(theirs["RiseTime"], abs=1.01 * step)
    settled = measured(settling=Y, band=0.02, relative=True, value="final")
    assert settled == pytest.approx(theirs["SettlingTime"], abs=1.01 * step)


def test_settling_of_a_second_order_system_in_closed_form():
    """y = 1 - exp(-z w t) (cos wd t + z w / wd sin wd t): the last time |y - 1| is 0.05, by a fine search."""
    z, w = 0.2, 3.0
    wd = w * np.sqrt(1 - z * z)
    response = lambda t: 1 - np.exp(-z * w * t) * (np.cos(wd * t) + z * w / wd * np.sin(wd * t))
    time = np.linspace(0.0, 12.0, 1201)
    found = float(
        described(MetricTable(settling=Y, band=0.05, value=1.0), SignalCourse(time, response(time)[None, :]))[
            0
        ]
    )
    fine = np.linspace(0.0, 12.0, 1_000_001)
    known = fine[np.flatnonzero(np.abs(response(fine) - 1) > 0.05)[-1]]
    assert known < found <= known + 0.0101
    overshoot = float(
        described(MetricTable(overshoot=Y, value=1.0), SignalCourse(time, response(time)[None, :]))[0]
    )
    assert overshoot == pytest.approx(100 * np.exp(-np.pi * z / np.sqrt(1 - z * z)), abs=0.02)


def swinging(time, start=0.0, end=1.0, z=0.2, w=3.0):
    """The response of second order with its slopes, (1, n) each."""
    wd = w * np.sqrt(1 - z * z)
    falling = np.exp(-z * w * time)
    y = 1 - falling * (np.cos(wd * time) + z * w / wd * np.sin(wd * time))
    slope = falling * w * w / wd * np.sin(wd * time)
    return start + (end - start) * y[None], (end - start) * slope[None]


def measured_on(time, smooth=None, start=0.0, end=1.0, **table):
    values, slopes = swinging(time, start, end)
    return float(described(MetricTable(**table), SignalCourse(time, values, slopes, smooth))[0])


@pytest.mark.parametrize(("start", "end"), [(0.0, 1.0), (2.0, -3.0)])
@pytest.mark.parametrize("band", [0.05, 0.02, 0.3, 0.5])
def test_levels_are_passed_between_the_instants_of_the_grid(start, end, band):
    """On 25 instants a period; those of a fine grid, also where only a peak leaves the band."""
    fine = np.linspace(0.0, 12.0, 1_200_001)
    share = (swinging(fine, start, end)[0][0] - start) / (end - start)
    settled = fine[np.flatnonzero(np.abs(share - 1) > band)[-1]]
    rise = fine[np.argmax(share >= 0.9)] - fine[np.argmax(share >= 0.1)]
    for step in (0.08, 0.083, 0.091):
        time = np.arange(0.0, 12.0, step)
        on_grid = {"start": start, "end": end}
        found = measured_on(time, **on_grid, settling=Y, band=band, relative=True, value=end)
        assert found == pytest.approx(settled, abs=3e-4)
        # the first value is that of the start, the last one is not quite the end
        assert measured_on(time, **on_grid, rise=Y, value=end) == pytest.approx(rise, abs=3e-4)


def test_where_a_signal_may_jump_its_levels_are_passed_at_instants():
    time = np.arange(0.0, 12.0, 0.08)
    for table in ({"settling": Y, "band": 0.05, "value": 1.0}, {"rise": Y, "value": 1.0, "low": 0.0}):
        found = measured_on(time, np.zeros((1, len(time) - 1), bool), **table)
        assert found in time
        assert 0 < found - measured_on(time, **table) < 0.08


def test_a_peak_between_two_instants_counts():
    """sin t on instants at which it is below 0.96: it reaches 0.99 of the way, and leaves a band of 0.99."""
    time = np.array([0.0, 0.3, 0.6, 0.9, 1.2, 1.9, 2.2, 2.5, 2.8, 3.1])
    course = SignalCourse(time, np.sin(time)[None], np.cos(time)[None])
    rise = described(MetricTable(rise=Y, value=1.0, low=0.5, high=0.99), course)[0]
    assert rise == pytest.approx(np.arcsin(0.99) - np.pi / 6, abs=5e-3)
    settled = described(MetricTable(settling=Y, band=0.99), course)[0]
    assert settled == pytest.approx(np.pi - np.arcsin(0.99), abs=5e-3)
    only = SignalCourse(time[:1], np.array([[0.5]]))
    assert described(MetricTable(settling=Y, band=0.6), only)[0] == 0.0
    assert np.isnan(described(MetricTable(settling=Y, band=0.4), only)[0])


def test_in_a_study_a_lag_settles_when_it_does():
    """Of a lag of time constant T from 1: T ln(1/0.02); it has risen from 0.1 to 0.9 after T ln 9."""
    d = Diagram("lag")
    d.add("one", Constant(1.0))
    d.add("lag", TransferFunction([1.0], [0.5, 1.0]))
    d.connect("one.y", "lag.u")
    tables = {"s": {"settling": "lag.y", "band": 0.02, "value": 1.0}, "r": {"rise": "lag.y", "value": 1.0}}
    study = Study(d, until=4.0, metrics=tables, log_every=0.1, engine="reference")
    found = study.case(0).measures
    assert found["s"] == pytest.approx(0.5 * np.log(50), abs=2e-5)
    assert found["r"] == pytest.approx(0.5 * np.log(9), abs=2e-5)
