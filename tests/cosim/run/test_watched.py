"""What is said at the end of a run about signals that were watched."""

import warnings
from types import SimpleNamespace

import pytest

from cosim.run.watched import WatchedSignalWarning, warn_of_watched

SYSTEM = SimpleNamespace(
    events=[
        SimpleNamespace(name="a.low", path="a", warning="too low"),
        SimpleNamespace(name="a.high", path="a", warning="too high"),
        SimpleNamespace(name="b.zero", path="b", warning=""),
    ]
)


def said(*events):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_watched(SYSTEM, [SimpleNamespace(name=name, time=time) for name, time in events])
    assert all(issubclass(w.category, WatchedSignalWarning) for w in caught)
    return [str(w.message) for w in caught]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], []),
        ([("b.zero", 0.1)], []),
        ([("a.low", 0.25)], ["'a': too low (once, first at t=0.25 s)."]),
        (
            [("a.high", 0.5), ("a.low", 0.75), ("b.zero", 0.8), ("a.high", 1.5)],
            ["'a': too high (2 times, first at t=0.5 s).", "'a': too low (once, first at t=0.75 s)."],
        ),
    ],
)
def test_first_time_and_how_often(events, expected):
    assert said(*events) == expected
