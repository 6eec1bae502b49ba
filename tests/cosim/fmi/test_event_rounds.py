"""Event mode by its rules alone: which calls an instance gets, in which order, and where steps end.

The instance is a script: what it returns from updates of discrete states and from steps.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cosim.fmi.description import ClockTiming, Dependent, FMUDescription, Variable
from cosim.fmi.event_mode import EventModeSteps
from cosim.fmi.event_rounds import EventRounds, clocked
from cosim.fmi.fmi_errors import FMUCallError
from cosim.fmi.interface.outcomes import ClockInterval, DiscreteStates, StepOutcome

QUIET = DiscreteStates(False, False, False, False, None)
EVERY = Variable("every", 1, "Clock", "input", "discrete", clock=ClockTiming("constant", Fraction(1, 4)))
PRESS = Variable("press", 2, "Clock", "input", "discrete", clock=ClockTiming("triggered"))
LATER = Variable("later", 3, "Clock", "input", "discrete", clock=ClockTiming("countdown"))
RINGS = Variable("rings", 4, "Clock", "output", "discrete", clock=ClockTiming("triggered"))
SUM = Variable("sum", 5, "Float64", "output", "discrete", start=(1.0, 2.0), shape=(2,), clocks=("every",))
BELL = Variable("bell", 6, "Float64", "output", "discrete", clocks=("rings", "press"))
GIVEN = Variable("w", 7, "Float64", "input", "discrete", clocks=("every",))
ALL = (EVERY, PRESS, LATER, RINGS, SUM, BELL, GIVEN)


class Instance:
    """Notes its calls; `updates`: what its rounds return, then quiet ones."""

    def __init__(self, *updates: DiscreteStates, steps: Any = (), clocks: bool = True) -> None:
        self.updates, self.steps, self.said, self.name = list(updates), list(steps), [], "unit"
        self.rings, self.later, self.reads = [], (0.0, False, False), 0
        found = {v.name: v for v in (ALL if clocks else (SUM,))}
        self.description = FMUDescription(
            "unit.fmu", "3.0", "unit", "", found, initial_unknowns=(Dependent("bell"),)
        )
        self.call = SimpleNamespace(time=None)
        self.log = SimpleNamespace(shown=lambda: "It said nothing.")
        self.interface = SimpleNamespace(variable_step=True)
        self.clocks = SimpleNamespace(
            tick=lambda vs: self.said.append(("tick", *(v.name for v in vs))),
            ticked=lambda vs: [bool(self.rings) and self.rings.pop(0)],
            intervals=lambda vs: [ClockInterval(*self.later) for _ in vs],
            shifts=lambda vs: [], set_intervals=lambda vs, seconds: None,
        )  # fmt: skip
        for name in ("enter_event_mode", "enter_step_mode"):
            setattr(self, name, lambda name=name: self.said.append((name,)))

    def getter(self, variables):
        def read():
            self.reads += 1
            return np.arange(sum(v.size for v in variables)) + 10.0 * self.reads

        return SimpleNamespace(read=read)

    def update_once(self):
        self.said.append(("update",))
        return self.updates.pop(0) if self.updates else QUIET

    def step(self, t, h, no_way_back=True):
        assert not no_way_back
        self.said.append(("step", t, h))
        return self.steps.pop(0)(t, h) if self.steps else StepOutcome(t + h)

    def rounds(self) -> EventRounds:
        return EventRounds(self, self.description, {}, clocked(list(self.description.variables.values())))

    def taken(self) -> list[tuple[Any, ...]]:
        """The calls since it was asked last."""
        found, self.said = self.said, []
        return found


def test_rounds_go_on_until_nothing_changes():
    """Flags are those of any round; a value is put in the first one."""
    again = replace(QUIET, again=True)
    changing = replace(again, nominals_changed=True), replace(again, values_changed=True, next_time=9.0)
    unit = Instance(*changing, clocks=False)
    rounds = unit.rounds()
    rounds.prepare(0.0)
    found = rounds.run(0.1, lambda: unit.said.append(("put",)))
    assert found == DiscreteStates(False, False, True, True, None)
    assert unit.taken() == [("put",), ("update",), ("update",), ("update",)]
    unit.updates = [replace(QUIET, next_time=0.1), replace(QUIET, next_time=0.2)]  # the first one is now
    assert rounds.run(0.1).next_time == 0.2 and len(unit.taken()) == 2
    unit.updates = [replace(again, terminate=True), QUIET]
    assert rounds.run(0.1).terminate and len(unit.taken()) == 1


def test_what_belongs_to_one_clock_is_read_at_once_and_each_variable_has_its_part():
    unit = Instance()
    one, pair = replace(BELL, name="one", clocks=("every",)), replace(SUM, name="pair")
    rounds = EventRounds(unit, unit.description, {}, [SUM, one, BELL, pair])
    rounds.prepare(0.0)
    assert unit.reads == 1  # of the bell, which is known at the start
    rounds.run(0.0)
    assert unit.reads == 2
    found = {name: value.tolist() for name, value in rounds.values.items()}
    assert found == {"sum": [20.0, 21.0], "one": [22.0], "bell": [10.0], "pair": [23.0, 24.0]}


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (
            replace(QUIET, again=True, next_time=0.5),
            "discrete states still change after 100 rounds at t=0.5 s",
        ),
        (replace(QUIET, next_time=0.25), "at t=0.5 s it announces its next event for t=0.25 s, 100 times"),
    ],
)
def test_rounds_without_end(state, words):
    unit = Instance(*[state] * 100)
    with pytest.raises(FMUCallError, match=words) as said:
        unit.rounds().run(0.5)
    assert (said.value.time, said.value.path) == (0.5, "unit")
    assert len(unit.taken()) == 100
    unit = Instance(*[state] * 99)
    assert unit.rounds().run(0.5) == QUIET


def test_values_are_read_and_given_while_their_clocks_tick():
    unit = Instance()
    rounds = unit.rounds()
    rounds.prepare(0.0)
    assert rounds.values["sum"].tolist() == [1.0, 2.0] and rounds.values["bell"].tolist() == [10.0]  # known
    rounds.give(GIVEN, lambda: unit.said.append(("give",)))
    assert rounds.next_tick == 0.0
    rounds.run(0.0)
    assert unit.taken() == [("tick", "every"), ("give",), ("update",)]
    assert rounds.values["sum"].tolist() == [20.0, 21.0] and rounds.values["bell"].tolist() == [10.0]
    rounds.run(0.125)
    assert unit.taken() == [("update",)] and unit.reads == 2
    rounds.run(0.125, None, [PRESS])
    assert unit.taken() == [("tick", "press"), ("update",)]
    assert rounds.values["bell"].tolist() == [30.0] and rounds.values["sum"].tolist() == [20.0, 21.0]
    unit.rings = [True]
    rounds.run(0.125)
    assert rounds.values["bell"].tolist() == [40.0]
    assert rounds.counts == {"every": 1, "press": 1, "later": 0, "rings": 1}
    kept = rounds.kept()
    rounds.run(0.25)
    assert rounds.values["sum"].tolist() == [50.0, 51.0] and rounds.counts["every"] == 2
    rounds.restored(kept)
    assert rounds.values["sum"].tolist() == [20.0, 21.0] and rounds.counts["every"] == 1
    unit.taken()
    rounds.run(0.25)
    assert unit.taken() == [("tick", "every"), ("update",)]  # what was given is known to the FMU's state


def test_a_countdown_that_ends_at_once_ticks_in_the_next_round():
    unit = Instance()
    rounds = unit.rounds()
    rounds.prepare(0.0)
    rounds.run(0.0)
    unit.taken()
    unit.later = (0.0, True, True)
    intervals, calls = unit.clocks.intervals, []

    def once(vs):
        calls.append([v.name for v in vs])
        found = intervals(vs)
        unit.later = (0.0, False, True)
        return found

    unit.clocks.intervals = once
    rounds.run(0.125)
    assert unit.taken() == [("update",), ("tick", "later"), ("update",)]
    assert calls == [["later"]] * 4 and rounds.counts["later"] == 1  # before and behind each update


def test_without_clocks_there_is_no_tick():
    unit = Instance(clocks=False)
    rounds = unit.rounds()
    rounds.prepare(0.0)
    rounds.run(0.0)
    assert rounds.next_tick == math.inf and rounds.counts == {} and unit.taken() == [("update",)]
    kept = rounds.kept()
    assert kept["clocks"] is None
    rounds.restored(kept)
    assert rounds.values["sum"].tolist() == [1.0, 2.0]


# --- steps ----------------------------------------------------------------------------------------
def stepping(*updates: DiscreteStates, steps: Any = (), begin: DiscreteStates = QUIET) -> Any:
    """An instance without clocks behind its first events, and its steps."""
    unit = Instance(begin, *updates, steps=steps, clocks=False)
    made = EventModeSteps(unit, unit.rounds())
    made.prepare(0.0)
    assert made.begin(0.0) == begin.terminate
    assert unit.taken() == [("update",), *([] if begin.terminate else [("enter_step_mode",)])]
    return unit, made


EVENT = [("enter_event_mode",), ("update",), ("enter_step_mode",)]


def test_a_step_stops_at_announced_events_alone():
    """The event at its end is left to `arrive`."""
    unit, made = stepping(replace(QUIET, next_time=1.0), begin=replace(QUIET, next_time=0.25))
    assert made.next == 0.25
    assert made.step(0.0, 1.0) == StepOutcome(1.0)
    assert unit.taken() == [("step", 0.0, 0.25), *EVENT, ("step", 0.25, 0.75)]
    assert unit.call.time == 1.0 and made.waits(1.0) and not made.waits(0.9)
    assert not made.arrive(1.0) and unit.taken() == EVENT
    assert not made.waits(1.0) and not made.arrive(1.0) and unit.taken() == []
    for given in ((lambda: None, ()), (None, (PRESS,))):
        made.arrive(1.0, *given)
        assert unit.taken() == EVENT


def test_a_unit_of_one_step_size_is_stepped_to_the_end():
    unit, made = stepping(begin=replace(QUIET, next_time=0.25))
    unit.interface.variable_step = False
    assert made.step(0.0, 1.0) == StepOutcome(1.0)
    assert unit.taken() == [("step", 0.0, 1.0)]


def test_where_it_returns_early_it_goes_on():
    """Behind an event if it asked for one; it may stop anywhere, or at once for a while."""
    early = lambda t, h: StepOutcome(t + h / 2, event=True, early=True)
    at_once = lambda t, h: StepOutcome(t, early=True)
    unit, made = stepping(steps=[early, at_once])
    assert made.step(0.0, 1.0) == StepOutcome(1.0)
    assert unit.taken() == [("step", 0.0, 1.0), *EVENT, ("step", 0.5, 0.5), ("step", 0.5, 0.5)]


def test_times_that_differ_by_rounding_are_one():
    """By 1e-10 of them, at most a thousandth of the step."""
    off = lambda by: lambda t, h: StepOutcome(t + h + by)
    unit, made = stepping(steps=[off(-0.9e-10)])
    assert made.step(0.0, 1.0) == StepOutcome(1.0) and len(unit.taken()) == 1
    unit, made = stepping(steps=[off(-1.1e-10)])
    assert made.step(0.0, 1.0) == StepOutcome(1.0) and len(unit.taken()) == 2
    unit, made = stepping(steps=[off(-0.9e-10)])  # or by 1e-10 s below 1 s
    assert made.step(0.0, 0.25) == StepOutcome(0.25) and len(unit.taken()) == 1
    unit, made = stepping(steps=[off(-0.9e-7)])
    assert made.step(1e3, 1e3 + 1.0) == StepOutcome(1e3 + 1.0) and len(unit.taken()) == 1
    unit, made = stepping(steps=[off(-2e-14)])  # of a step of 1e-11 s
    assert made.step(0.0, 1e-11) == StepOutcome(1e-11) and len(unit.taken()) == 2
    unit, made = stepping(steps=[off(-2e-14)])
    assert made.step(1.0, 1.0 + 1e-11) == StepOutcome(1.0 + 1e-11) and len(unit.taken()) == 2
    unit, made = stepping(begin=replace(QUIET, next_time=0.25), steps=[off(1e-11)])
    made.step(0.0, 1.0)
    assert unit.taken()[0] == ("step", 0.0, 0.25) and unit.said == []


@pytest.mark.parametrize("flag", ["terminate", "discarded"])
def test_a_step_that_ends_the_run(flag):
    last = StepOutcome(0.3, **{flag: True})
    unit, made = stepping(steps=[lambda t, h: last])
    assert made.step(0.0, 1.0) is last
    unit, made = stepping(replace(QUIET, terminate=True), steps=[lambda t, h: StepOutcome(0.3, event=True)])
    assert made.step(0.0, 1.0) == StepOutcome(0.3, terminate=True)
    assert unit.taken() == [("step", 0.0, 1.0), *EVENT[:2]]  # it is terminated from event mode
    assert stepping(begin=replace(QUIET, terminate=True))


def test_steps_that_do_not_get_on():
    unit, made = stepping(steps=[lambda t, h: StepOutcome(t)] * 1001)
    with pytest.raises(FMUCallError, match="returns from its steps without getting on at t=0.5 s") as said:
        made.step(0.5, 1.0)
    assert len(unit.taken()) == 1001 and (said.value.path, said.value.time) == ("unit", 0.5)
    unit, made = stepping(steps=[lambda t, h: StepOutcome(t)] * 1000)
    assert made.step(0.5, 1.0) == StepOutcome(1.0)
    steps = [*[lambda t, h: StepOutcome(t)] * 9, lambda t, h: StepOutcome(0.75)]  # it is counted afresh
    unit, made = stepping(steps=[*steps, *[lambda t, h: StepOutcome(t)] * 1000])
    assert made.step(0.5, 1.0) == StepOutcome(1.0)


def test_jumps_of_states_are_counted_and_a_state_is_kept():
    unit, made = stepping(replace(QUIET, values_changed=True, next_time=0.75))
    assert made.jumps == 0
    made.arrive(0.5, lambda: None)
    assert (made.jumps, made.next, made.wanted) == (1, 0.75, False)
    made.found(True, True, False, None)
    assert made.wanted and made.next == 0.75
    kept = made.kept()
    unit.taken()
    made.arrive(0.5)
    assert unit.taken() == EVENT[1:]  # compiled code had entered event mode
    assert (made.next, made.wanted) == (math.inf, False)
    never = made.kept()
    made.restored(kept)
    assert (made.next, made.wanted, made.entered) == (0.75, True, False)
    made.found(False, False, False, 0.875)
    assert (made.next, made.wanted) == (0.875, False)
    made.restored(never)
    assert (made.next, made.wanted) == (math.inf, False)


def test_values_that_were_read_are_part_of_a_state():
    unit = Instance(clocks=False)
    rounds = unit.rounds()
    made = EventModeSteps(unit, rounds)
    kept = made.kept()
    rounds.values["sum"] = np.array([8.0, 9.0])
    made.restored(kept)
    assert rounds.values["sum"].tolist() == [1.0, 2.0]
