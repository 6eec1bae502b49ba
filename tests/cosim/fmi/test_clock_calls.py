"""Clocks and partitions of scheduled execution (FMI 3.0.2, 2.2.9 and 5): their calls by themselves."""

from __future__ import annotations

import gc
import math
import weakref
from types import SimpleNamespace

import pytest

from cosim.fmi import scheduled
from cosim.fmi.fmi_errors import FMUCallError
from cosim.fmi.interface.binding import ffi
from cosim.fmi.interface.clock_calls import CHANGED, NOT_YET_KNOWN, UNCHANGED, ClockCalls, PartitionCalls
from cosim.fmi.interface.outcomes import ClockInterval, StepOutcome


def clock(name, reference, kind="constant", priority=0):
    return SimpleNamespace(
        name=name, reference=reference, clock=SimpleNamespace(kind=kind, priority=priority), clocks=()
    )


A, B, C = clock("a", 7), clock("b", 9), clock("c", 11, "changing")


class Call:
    """Notes calls of an FMU; `found` are numbers it answers with, array by array."""

    def __init__(self, *found):
        self.told, self.found, self.time, self.during = [], list(found), None, None

    def __call__(self, name, *given):
        if name == "ActivateModelPartition":
            self.told.append((name, *given))
            if self.during:
                self.during()
            return
        references, n, *arrays = given
        self.told.append((name, list(references), n, *[list(a) for a in arrays]))
        if name.startswith("Get"):
            for array in arrays:
                values = self.found.pop(0)
                array[0 : len(values)] = values


def test_clocks_are_ticked_and_asked_all_at_once():
    call = Call([True, False])
    calls = ClockCalls(call)
    calls.tick([A, B])
    assert call.told.pop() == ("SetClock", [7, 9], 2, [True, True])
    found = calls.ticked([B, A])
    assert found == [True, False] and call.told.pop()[:3] == ("GetClock", [9, 7], 2)
    calls.set_intervals([A, B], (0.5, 2))
    assert call.told.pop() == ("SetIntervalDecimal", [7, 9], 2, [0.5, 2.0])
    call.found = [[0.25, 1.5]]
    assert calls.shifts([A, B]) == [0.25, 1.5] and call.told.pop()[0] == "GetShiftDecimal"


def test_intervals_are_new_unchanged_or_not_yet_known():
    call = Call([0.5, 0.25, 2.0], [UNCHANGED, CHANGED, NOT_YET_KNOWN])
    found = ClockCalls(call).intervals([A, B, C])
    assert found == [
        ClockInterval(0.5, False, True),
        ClockInterval(0.25, True, True),
        ClockInterval(2.0, False, False),
    ]
    assert call.told == [("GetIntervalDecimal", [7, 9, 11], 3, [0.0] * 3, [0] * 3)]


def test_of_no_clocks_nobody_is_asked():
    calls = ClockCalls(call := Call())
    assert calls.tick([]) is calls.set_intervals([], []) is None
    assert calls.ticked([]) == calls.intervals([]) == calls.shifts([]) == [] and call.told == []


def test_what_a_partition_says_of_its_clocks():
    """The callback asks which outputs ticked and how long countdowns are; what was said before is gone."""
    partitions, call = PartitionCalls([A, B], [B, C]), Call()
    partitions.belongs_to(call)
    update = partitions.callbacks.update
    call.during = lambda: update(ffi().NULL)
    for ticked, names in (([True, False], ["b"]), ([False, True], ["c"]), ([False, False], [])):
        call.found, call.told = [ticked, [0.5, 0.25], [CHANGED, UNCHANGED]], []
        found = partitions.activate(call, A, 1.5)
        assert found == (
            names,
            [("a", ClockInterval(0.5, True, True)), ("b", ClockInterval(0.25, False, True))],
        )
        assert call.told[0] == ("ActivateModelPartition", 7, 1.5) and call.time == 1.5
        assert [told[:2] for told in call.told[1:]] == [("GetClock", [9, 11]), ("GetIntervalDecimal", [7, 9])]
    call.during, call.found, call.told = None, [[2.0], [CHANGED]], []
    assert partitions.activate(call, C, 2.0) == ([], [("c", ClockInterval(2.0, True, True))])
    assert partitions.activate(call, A, 2.0) == ([], [])
    assert partitions.callbacks.lock() is partitions.callbacks.unlock() is None


def test_a_callback_before_there_is_an_instance_says_nothing():
    partitions = PartitionCalls([A], [B])
    partitions.callbacks.update(ffi().NULL)
    assert (partitions._ticked, partitions._intervals, partitions._problem) == ([], [], None)


def test_a_problem_in_a_callback_comes_after_the_partition():
    """Nothing passes through the frames of the FMU; the first problem is told, once."""
    partitions, call = PartitionCalls([A], [B]), Call()
    partitions.belongs_to(call)

    def twice():
        for _ in range(2):
            partitions.callbacks.update(ffi().NULL)

    call.during, call.found = twice, []
    with pytest.raises(IndexError):
        partitions.activate(call, A, 0.5)
    call.during = None
    assert partitions.activate(call, A, 0.5) == ([], [])


def test_callbacks_do_not_keep_an_instance_alive():
    partitions = PartitionCalls([A], [B])
    update, ended = partitions.callbacks.update, weakref.ref(partitions)
    gc.disable()
    try:
        del partitions
        assert ended() is None
    finally:
        gc.enable()
    update(ffi().NULL)


class Clocks:
    """A schedule: times when clocks are due, in order."""

    def __init__(self, component, description, intervals):
        self.given = (component, description, intervals)
        self.plan, self.counts, self.told = [], {"a": 1, "b": 0, "c": 0}, []

    @property
    def next(self):
        return self.plan[0][0] if self.plan else math.inf

    def due(self, t, triggers):
        return [*triggers, *[c for time, c in self.plan if time <= t]]

    def ticked(self, clock):
        self.told.append(("ticked", clock.name))
        self.plan = [entry for entry in self.plan if entry[1] is not clock]

    def said(self, v, t, interval, own):
        self.told.append(("said", v.name, t, interval, own))

    def prepare(self, start):
        self.told.append(("prepare", start))

    def kept(self):
        return "kept"

    def restored(self, kept):
        self.told.append(("restored", kept))


class Component:
    name = "u"

    def __init__(self):
        self.call, self.told, self.answer = SimpleNamespace(time=None), [], ([], [])

    def activate(self, clock, t):
        self.told.append((clock.name, t))
        return self.answer


@pytest.fixture
def steps(monkeypatch):
    monkeypatch.setattr(scheduled, "ClockSchedule", Clocks)
    component = Component()
    description = SimpleNamespace(file="u.fmu", variables={"a": A, "b": B, "c": C})
    made = scheduled.ScheduledSteps(component, description, {"a": 1})
    assert made._clocks.given == (component, description, {"a": 1})
    return made, component, made._clocks


def test_partitions_before_the_end_of_a_step_run_in_it_and_those_at_its_end_behind_it(steps):
    made, component, clocks = steps
    clocks.plan = [(0.25, A), (0.5, B), (1.0, C)]
    assert made.step(0.0, 1.0) == StepOutcome(1.0) and component.told == [("a", 0.25), ("b", 0.5)]
    assert component.call.time == 1.0
    put = []
    assert made.arrive(1.0, lambda: put.append(len(component.told))) is False
    assert put == [2] and component.told[2:] == [("c", 1.0)]
    assert made.arrive(1.0) is False and len(component.told) == 3
    assert made.begin(2.0, [B]) is False and component.told[3:] == [("b", 2.0)]
    assert made.arrive(2.5, None, [A, C]) is False and component.told[4:] == [("a", 2.5), ("c", 2.5)]
    assert made.quick() is None


def test_what_a_partition_does_to_other_clocks(steps):
    made, component, clocks = steps
    component.answer = (["b", "c", "b"], [("a", "in 1"), ("c", "in 2")])
    made.begin(0.5, [A])
    assert clocks.told == [
        ("ticked", "a"),
        ("said", "a", 0.5, "in 1", True),
        ("said", "c", 0.5, "in 2", False),
    ]
    assert made.counts == {"a": 1, "b": 2, "c": 1}


def test_clocked_inputs_are_set_before_each_run_of_their_partition(steps):
    made, component, _ = steps
    story = component.told
    one, two = (
        SimpleNamespace(name=name, clocks=clocks) for name, clocks in (("v", ("a", "b")), ("w", ("c",)))
    )
    made.give(one, lambda: story.append("v"))
    made.give(two, lambda: story.append("w"))
    assert story == ["v", "w"]
    del story[:]
    made.begin(0.0, [A, C])
    assert story == ["v", ("a", 0.0), "w", ("c", 0.0)]
    made.give(one, lambda: story.append("v2"))
    del story[:]
    made.begin(0.0, [B])
    assert story == ["v2", ("b", 0.0)]
    assert made.kept() == "kept"
    made.restored("kept")
    del story[:]
    made.begin(0.0, [A])
    assert story == [("a", 0.0)] and made._clocks.told[-2:] == [("restored", "kept"), ("ticked", "a")]
    made.prepare(3.0)
    assert made._clocks.told[-1] == ("prepare", 3.0)


@pytest.mark.parametrize("runs", [999, 1000])
def test_clocks_that_tick_without_end_are_an_error(steps, runs):
    """1000 runs at one instant are too many."""
    made, component, clocks = steps
    left = [runs]

    def activate(clock, t):
        left[0] -= 1
        clocks.plan = [(t, A)] if left[0] else []
        return [], []

    component.activate = activate
    if runs < 1000:
        made.begin(0.5, [A])
        assert left == [0]
        return
    with pytest.raises(
        FMUCallError, match=r"FMU 'u.fmu', instance 'u': its clocks tick without end at t=0.5 s"
    ) as caught:
        made.begin(0.5, [A])
    assert (caught.value.path, caught.value.time, left) == ("u", 0.5, [0])
