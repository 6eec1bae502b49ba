"""Events in loops in the reference engine, by themselves: repeated where what they read has changed since."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from blocks.errors import SimulationError
from cosim.engines.reference import event_loops
from cosim.engines.reference.event_loops import EventLoops
from cosim.segments import EventSegment


class Machine:
    """Segments 1 and 3 are in loops, with one and two crossings before what they read, and one event each."""

    def __init__(self, monkeypatch):
        parts = (("a", 1, 4), ("b", 0, -1), ("c", 2, 0))
        segments = [object(), *[self._segment(k, *part) for k, part in enumerate(parts, 1)]]
        self.h, self.read = np.zeros(5), {"segment1": [2.0, 3.0], "segment3": [4.0]}
        system = SimpleNamespace(schedule=segments)
        self.bound, self.refreshed = [], 0

        def bind(name, make):
            assert make() == [f"expression of {name}"]
            self.bound.append(name)
            before = [99.0] * len(segments[int(name[-1])].following)
            return lambda: np.array([*before, *self.read[name]])

        monkeypatch.setattr(event_loops, "timed_segments", lambda s: np.array([1, 3]))
        workspace = SimpleNamespace(context=SimpleNamespace(h=self.h), system=system, bind=bind)
        self.loops = EventLoops(workspace, SimpleNamespace(refresh=self._refresh))

    def _segment(self, number, path, following, rounds):
        made = EventSegment.__new__(EventSegment)
        fields = {"path": path, "following": tuple(range(following)), "rounds": rounds}
        for name, value in (fields | {"expression": f"expression of segment{number}"}).items():
            object.__setattr__(made, name, value)
        return made

    def _refresh(self):
        self.refreshed += 1

    def again(self):
        return self.loops.repeat(1.5), self.h[4], self.h[0]


@pytest.fixture
def machine(monkeypatch):
    made = Machine(monkeypatch)
    assert made.bound == ["segment1", "segment3"]
    return made


def test_only_what_has_fired_and_reads_something_new_is_repeated(machine):
    m = machine
    m.loops.note(1)
    m.loops.note(2)
    m.loops.note(3)
    assert m.refreshed == 2
    m.read |= {"segment1": [2.0, 3.5], "segment3": [5.0]}
    assert m.again() == (False, 0.0, 0.0)  # none has fired
    m.loops.fired([0])
    assert m.again() == (False, 0.0, 0.0)  # nothing has changed
    m.read["segment1"], m.read["segment3"] = [2.0, 3.0], [6.0]
    assert m.again() == (True, 1.0, 0.0)
    assert m.again() == (False, 1.0, 0.0)
    m.loops.fired([1])
    m.read["segment3"] = [7.0]
    assert m.again() == (True, 1.0, 1.0)
    m.read |= {"segment1": [9.0, 3.0], "segment3": [8.0]}
    assert m.again() == (True, 2.0, 2.0)
    m.loops.begin()
    m.loops.note(1)
    m.read["segment1"] = [0.0, 0.0]
    assert m.again() == (False, 2.0, 2.0)  # of another instant


@pytest.mark.filterwarnings("error")
def test_rounding_is_no_change(machine):
    """2^-50 of the larger of two numbers; numbers that are none differ always."""
    m = machine
    m.loops.note(1)
    m.loops.note(3)
    m.loops.fired([0])
    big = 1.0 / (1.0 - 2.0**-50)
    for before, now, changed in (
        (1.0, 1.0 + 2.0**-51, False), (1.0, 1.0 + 2.0**-49, True), (-3.0, -3.0 - 2.0**-50, False),
        (0.0, 1e-300, True), (1e-300, 1e-300 * (1.0 + 2.0**-51), False),
        (1.0, big, False), (0.0, -0.0, False),
        (np.inf, np.inf, False), (1.0, np.nan, True), (np.nan, np.nan, True),
    ):  # fmt: skip
        m.read["segment1"] = [2.0, before]
        m.loops.note(1)
        m.read["segment1"] = [2.0, now]
        assert m.loops.repeat(0.0) == changed, (before, now)


def test_a_loop_that_does_not_settle_is_an_error_after_100_rounds(machine):
    m = machine
    m.loops.note(1)
    m.loops.note(3)
    m.loops.fired([0, 1])
    for k in range(100):
        m.read |= {"segment1": [float(k), 0.0], "segment3": [k + 0.5]}
        assert m.again() == (True, k + 1.0, k + 1.0)
    assert m.again()[0] is False
    m.read |= {"segment1": [0.0, 0.0], "segment3": [0.0]}
    said = (
        r"through 'a' and 'c' do not settle at t=1.5 s: what they read there still changes after 100 rounds"
    )
    with pytest.raises(SimulationError, match=said) as caught:
        m.again()
    assert (caught.value.path, caught.value.time) == ("a", 1.5)
    m.loops.begin()
    m.loops.note(3)
    m.loops.fired([1])
    m.read["segment3"] = [9.0]
    m.loops.note(1)
    assert m.loops.repeat(2.0)
