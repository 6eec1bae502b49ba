"""Which events crowd before a collapsed step: twenty within a thousandth of the run so far."""

import numpy as np
import pytest

from blocks.errors import StepCollapsed
from cosim.result.record import Event
from cosim.run.crowded_events import say_crowded


def told(times, since=0.0, time=10.0):
    """What is added to an error at `time` [s] after events a, a, b, a, a, b, ..."""
    error = StepCollapsed("it collapses.", time=time)
    say_crowded(error, [Event(t, "aab"[k % 3], {}, {}) for k, t in enumerate(times)], since)
    return str(error)


def test_events_that_crowd_are_named_the_frequent_ones_first():
    """Of 30 the first ten count neither for the span nor for the names."""
    text = told([*np.linspace(0, 9, 10), *np.linspace(9.995, 9.996, 20)])
    assert "the last 20 within 0.005 s: 'a', 'b'." in text


@pytest.mark.parametrize(
    ("times", "since", "crowd"),
    [
        (np.linspace(9.9, 9.999, 19), -1e9, False),  # too few
        (np.linspace(9.9, 9.999, 20), -1e9, True),
        (np.linspace(9.98, 9.999, 20), 0.0, False),  # 0.02 s of 10 s
        (np.linspace(9.995, 9.999, 20), 0.0, True),
        (np.linspace(9.995, 9.999, 20), 9.0, False),  # 0.005 s of 1 s
    ],
)
def test_a_crowd_is_twenty_in_a_thousandth_of_the_run(times, since, crowd):
    assert ("Events crowd" in told(times, since)) == crowd
    assert "Events crowd" not in told(times, since, None)


def test_just_a_thousandth_is_a_crowd():
    assert "within 1 s" in told([999.0] * 20, time=1000.0)
    assert "Events crowd" not in told([np.nextafter(999.0, 0.0)] * 20, time=1000.0)
