"""Rise, overshoot and settling of step responses beside python-control's `step_info` on the same samples."""

import control
import numpy as np
import pytest

from cosim.study.between import SignalCourse
from cosim.study.formulas import parsed
from cosim.study.measures import described
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
