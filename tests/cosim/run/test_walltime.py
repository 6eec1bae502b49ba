"""Where the wall time went, by a clock that stands still."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from blocks.contract.derived import Derived
from cosim.run import walltime
from cosim.run.walltime import WallTime


@dataclass(eq=False)
class Live:
    """A call as the clock sees it."""

    spent: float


def system(calls=(), callers=(), schedule=()):
    return SimpleNamespace(calls=calls, callers=callers, schedule=schedule, derived=Derived())


def test_time_of_advances_and_of_calls_within_them(monkeypatch):
    """Two blocks share one call; what it took before is not counted, what others say is added."""
    clock = SimpleNamespace(now=10.0)
    monkeypatch.setattr(walltime.time, "perf_counter", lambda: clock.now)
    shared, own = Live(5.0), Live(7.0)
    found = WallTime(system(["f", "g", "f"], ["a", "b", "c"]), SimpleNamespace(calls={"f": shared, "g": own}))
    for seconds, in_f, in_g in ((4.0, 0.5, 0.25), (6.0, 1.0, 0.0)):
        with found:
            clock.now += seconds
            shared.spent += in_f
            own.spent += in_g
        clock.now += 100.0
    engine = SimpleNamespace(name="native", counters=SimpleNamespace(python={}))
    said = found.statistics(engine)()
    assert said["wall time [s]"] == 10.0
    assert said["time in Python [s]"] == {"a, c": 1.5, "b": 0.25}
    assert said["engine"] == "native engine; 18 % of the time in Python: 'a, c', 'b'"


def test_a_block_in_python_that_was_not_due_has_taken_no_time():
    schedule = [SimpleNamespace(path=p, external=e) for p, e in (("f", print), ("gain", None), ("g", print))]
    found = WallTime(system(schedule=schedule), SimpleNamespace(calls={}))
    engine = SimpleNamespace(name="reference", counters=SimpleNamespace(python={"g": 0.25}))
    assert found.statistics(engine)()["time in Python [s]"] == {"f": 0.0, "g": 0.25}


@pytest.mark.parametrize(
    ("spent", "text"),
    [
        ({}, None),
        ({"a": 1.0, "b": 3.0, "c": 2.0}, "75 % of the time in Python: 'b', 'c', 'a'"),
        ({"a": 1.0, "b": 3.0, "c": 2.0, "d": 0.0}, "75 % of the time in Python: 'b', 'c', 'a' and 1 more"),
    ],
)
def test_those_that_take_most_are_named(spent, text):
    found = WallTime(system(), SimpleNamespace(calls={}))
    engine = SimpleNamespace(name="reference", counters=SimpleNamespace(python=spent))
    assert found.statistics(engine)().get("engine") == (
        f"reference engine; {text.replace('75', '0')}" if text else None
    )
    found.total = 8.0
    assert found.statistics(engine)().get("engine") == (f"reference engine; {text}" if text else None)
