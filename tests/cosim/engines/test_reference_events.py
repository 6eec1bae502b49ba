"""Events of the reference engine by themselves: due ones, endless ones, restarts and invariants."""

from __future__ import annotations

import math
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

from blocks import Integrator
from blocks.errors import SimulationError
from cosim import Diagram, Simulation
from cosim.engines.reference.crossings import Crossings, Part
from cosim.engines.reference.events import Events, Repetition
from cosim.engines.reference.invariants import Invariants
from cosim.engines.reference.restart import Restart
from tests.helpers.crossing_parts import DUE, InPython


# --- events -----------------------------------------------------------------------------------------------
def test_rounds_within_a_billionth_of_what_is_left_are_counted_and_later_ones_not():
    c = SimpleNamespace(events=[None], begin=lambda: None)
    r = Repetition(3.0, c)
    for t, n in [(1.0, 1), (1.0, 2), (1.0 + 1.9e-9, 3), (1.0 + 2.1e-9, 1), (1.0 + 4.0e-9, 2), (2.0, 1)]:
        assert not r.endless(t, []) and r._dense == n, t
    r._dense = 999
    assert not r.endless(2.0, []) and r.endless(2.0, [])
    assert not r.endless(2.5, [])


def test_an_event_that_does_not_leave_its_threshold_may_fire_a_thousand_times():
    found = {}
    c = SimpleNamespace(
        events=[None] * 3, begin=lambda: None, idle=lambda due: np.array([found[k] for k in due])
    )
    r = Repetition(9.0, c)
    for k, (idle, count) in enumerate([(True, 1), (True, 2), (False, 0), (True, 1)]):
        found.update({0: False, 2: idle})
        assert not r.endless(1.0 + 0.1 * k, [0, 2]) and r._idle.tolist() == [0, 0, count]
    r._idle[2] = 999
    assert not r.endless(2.0, [2])
    assert r.endless(2.1, [2])


@pytest.mark.parametrize(
    ("gone", "largest", "idle"),
    [(0.5e-6, 0.1, False), (0.5e-6, 1.0, True), (3e-6, 1e3, True), (4e-6, 1e3, False), (1e-9, 1e-2, True)],
)
def test_rounding_of_the_states_alone_is_no_flight(gone, largest, idle):
    """1e9 less x of 1e9: four times its last bits are 3.6e-6, or a millionth of the largest value."""
    way = InPython([lambda x: 1e9 - x, lambda x: 5.0])
    c = way.crossings
    x = c.workspace.context.x
    c._shaken, c._g = np.array([1.0 + 2.0**-50]), lambda: np.array([1e9 - x[0], 5.0])
    x[0] = 1e9
    c.farthest[:], c._largest[:] = [gone, 7.0], largest
    assert c.idle([0]).tolist() == [idle]
    assert c.farthest.tolist() == [0.0, 7.0] and x[0] == 1e9


@pytest.mark.parametrize(
    ("off", "threshold", "largest", "missed"),
    [(1e-6, 1e-10, 10.0, 1), (1e-6, 1e-10, 0.1, 0), (1e-4, 1e-10, 1e9, 0), (1e-6, 0.0, 10.0, 0),
     (1e-6, 1e-5, 10.0, 0)],
)  # fmt: skip
def test_a_crossing_that_rounding_left_off_its_threshold_counts_as_on_it(off, threshold, largest, missed):
    c = InPython([lambda x: 0.0] * 2, threshold=[threshold] * 2).crossings
    x = c.workspace.context.x
    c._shaken, c._g = np.array([1.0 + 2.0**-50]), lambda: np.array([5.0, 1e9 + off - x[0]])
    x[0], c._largest[:] = 1e9, largest
    c.located([0, 1])
    assert c._missed.tolist() == [0.0, abs(1e9 + off - 1e9) if missed else 0.0]
    c.left()
    assert c._missed.tolist() == [0.0, 0.0]


def test_the_last_bits_of_all_states_are_shaken_each_in_its_way():
    """The numbers that states are multiplied with, as a system makes them: in turn up and down."""
    d = Diagram("d")
    for k in range(9):
        d.add(f"i{k}", Integrator(1.0))
        d.connect(f"i{k}.y", f"i{k}.u")
    sim = Simulation(d, engine="reference")
    expected = [1.0 + 2.0**-50 * (-1) ** k * (1 + (k % 7) / 7) for k in range(9)]
    assert sim._engine.parts.events.crossings._shaken.tolist() == expected
    assert len({*expected}) > 4


def test_what_is_solved_for_is_up_to_date_where_crossings_are_looked_at():
    way = InPython([lambda x: x - 0.3], signs=[-1.0])
    told = []
    way.crossings.unknowns.refresh = lambda: told.append(way.x)
    way.crossings.signs()
    assert told == [0.0]
    way.locate(0.0, 1.0)
    assert [*dict.fromkeys(told)] == [*dict.fromkeys(way.visited)]  # wherever one is evaluated
    for look in (lambda: way.resolved(0.0, 1.0), lambda: way.crossings.located([0])):
        told.clear()
        way.visited.clear()
        look()
        assert len(told) == len(way.visited) > 0
    way.crossings._timed_events, way.crossings._event_times = np.zeros(0, int), np.zeros(0, int)
    way.crossings._timed_segment, way.crossings.workspace.context.h = np.full(1, -1), np.zeros(1)
    way.crossings._following = {0: (lambda: told.append("given") or np.ones(1), np.array([0]))}
    told.clear()
    way.crossings.begin_segment(0)
    assert len(told) == 2 and told[1] == "given"


def firing(values, rates=None, stored=(1.0,), directions=(0,), eager=(False,), threshold=0.5):
    c = InPython([lambda x, v=v: v for v in values], [lambda x, r=r: r for r in rates or [0.0] * len(values)],
                 signs=list(stored), threshold=[threshold] * len(values)).crossings  # fmt: skip
    c.events = [
        SimpleNamespace(direction=d, place="it", eager=e) for d, e in zip(directions, eager, strict=True)
    ]
    c._timed = np.zeros(len(values), dtype=bool)
    return c


@pytest.mark.parametrize(("value", "rate", "direction", "eager", "stored", "due", "sign"), DUE)
def test_an_event_is_due_where_its_sign_changes_in_its_direction(
    value, rate, direction, eager, stored, due, sign
):
    """Thresholds are 0.5; stored signs: 0 at the start of a run, 2 of an event that its own reset moved."""
    c = firing([3.0, value], [rate, rate], (1.0, stored), (0, direction), (False, bool(eager)))
    assert c.fired(Part.AFTER) == ([1] if due else [])
    assert c.workspace.context.signs.tolist() == [1.0, sign]
    assert c.farthest.tolist() == [3.0, abs(value)] == c._largest.tolist()


def test_before_ticks_all_events_but_timed_ones_are_due_and_those_that_wait_with_them():
    """Segments 0 and 1 have timed events 0 and 4, of which the second is due, at 1 s."""
    c = firing([-1.0] * 5, stored=[1.0, 1.0, 1.0, 1.0, 0.0], directions=[0] * 5, eager=[True] * 5)
    c._timed_events, c._event_times = np.array([0, 4]), np.array([0, 1])
    c._timed = np.array([True, False, False, False, True])
    c._timed_segment = np.array([0, 0, 1, -1, 1])
    c._early = np.array([False, False])
    context = c.workspace.context
    context.h, context.t = np.array([2.0, 1.0]), 1.0
    waits = lambda part: np.flatnonzero(c.waiting(part)).tolist()
    assert waits(Part.AFTER) == []
    assert waits(Part.BEFORE) == [0, 2]  # 4 is at the start of its run
    c._segment = 1
    assert waits(Part.TIMED) == [0, 1, 3]
    c._early = np.array([True, False])
    assert waits(Part.TIMED) == [0, 1, 3]
    c._early = np.array([False, True])
    assert waits(Part.TIMED) == [0, 1, 3, 4]
    assert c.fired(Part.TIMED) == [2] and context.signs.tolist() == [1.0, 1.0, -1.0, 1.0, 0.0]
    context.h[1] = 1.0 + 0.9e-12
    assert c._due_times().tolist() == [False, True]
    context.h[1] = 1.0 + 1.1e-12
    assert c._due_times().tolist() == [False, False]
    context.h[:], context.t = [100 + 0.9e-10, 100 + 1.1e-10], 100.0
    assert c._due_times().tolist() == [True, False]


def test_an_event_follows_where_its_crossing_is_not_beyond_its_threshold():
    """Segment 1 gives crossings of events 2 and 0."""
    c = firing([1.0] * 3, stored=[-1.0, 1.0, 1.0], directions=[0] * 3, eager=[False] * 3)
    c.threshold = np.array([0.5, 9.0, 0.25])
    c._timed_events, c._event_times = np.zeros(0, dtype=int), np.zeros(0, dtype=int)
    c._timed_segment, c.workspace.context.h = np.full(3, -1), np.zeros(1)
    values = []
    c._following = {1: (lambda: np.array(values), np.array([2, 0]))}
    for given, follows in [
        ((0.3, -0.6), False), ((0.25, -0.6), True), ((-0.3, -0.6), True), ((0.3, -0.5), True),
        ((0.3, 0.6), True),
        ((math.nan, -0.6), True), ((0.3, -0.4), True),
    ]:  # fmt: skip
        values[:] = given
        assert c.begin_segment(1) is follows, given
    assert c.begin_segment(0) is False and c._segment == 0


def test_an_event_whose_time_is_moved_may_be_due_at_once():
    c = firing([1.0] * 3, stored=[1.0] * 3, directions=[0] * 3, eager=[False] * 3)
    c._timed_events, c._event_times = np.array([0, 2]), np.array([2, 1])
    c.workspace.context.h = np.array([0.0, 5.0, 6.0])
    before = c.event_times()
    c.workspace.context.h[1] = 7.0
    c.moved(before)
    assert c.workspace.context.signs.tolist() == [1.0, 1.0, -1.0]


class Iteration:
    """Events of which each round names those due; located ones, and whether they have an end."""

    def __init__(self, rounds, waiting=(), endless=()):
        self.rounds, self.told = [*rounds, []], []
        e = self.events = object.__new__(Events)
        e.loops = SimpleNamespace(fired=lambda events: None)
        e.workspace = SimpleNamespace(system=SimpleNamespace(parts={}))
        c = SimpleNamespace(
            waiting=lambda part: np.array([k in waiting for k in range(3)]),
            located=lambda due: self.told.append(("located", list(due))),
            fired=lambda part: self.rounds.pop(0) if self.rounds else [],
            reset_by=lambda due: self.told.append(("reset", list(due))),
        )  # fmt: skip
        e.crossings, e.events = c, [
            SimpleNamespace(name=f"e{k}", path="it", direction=1, resets=(), counts=(k, k + 10))
            for k in range(3)
        ]  # fmt: skip
        after = lambda counts, counted: self.told.append(("after", list(counts), counted))
        e.restart = SimpleNamespace(after_events=after)
        e._apply = lambda t, due: [("event", t, k) for k in due]
        asked = iter(endless)
        self.repetition = SimpleNamespace(endless=lambda t, due: next(asked, False))

    def run(self, **options):
        happened = []
        return self.events.iterate(1.0, happened, self.repetition, **options), happened


def test_rounds_of_events_go_on_until_none_is_due():
    assert Iteration([]).run() == (False, [])
    i = Iteration([[0], [2, 1]])
    assert i.run(counted=(4,)) == (True, [("event", 1.0, 0), ("event", 1.0, 2), ("event", 1.0, 1)])
    assert i.told == [
        ("after", [0, 10], (4,)), ("reset", [0]), ("after", [2, 12, 1, 11], (4,)), ("reset", [2, 1])
    ]  # fmt: skip
    assert Iteration([[1]]).run()[0] is True


def test_a_located_one_is_on_its_threshold_before_and_after_others_are_looked_for():
    i = Iteration([[1, 2]])
    i.run(located=1)
    assert i.told[:2] == [("located", [1]), ("located", [1, 2])]
    i = Iteration([[2]], waiting=[1])
    i.run(located=1)
    assert ("located", [2]) not in i.told
    i = Iteration([[2]])
    i.run()
    assert not [told for told in i.told if told[0] == "located"]


def test_events_without_end_are_an_error_where_they_are_counted():
    with pytest.raises(SimulationError, match="without end.*'e1'"):
        Iteration([], endless=[True]).run(located=1)
    assert Iteration([], endless=[True]).run() == (False, [])
    assert Iteration([], endless=[True], waiting=[1]).run(located=1) == (False, [])
    with pytest.raises(SimulationError, match="'e0', 'e2'"):
        Iteration([[0, 2]], endless=[True]).run()
    assert len(Iteration([[0]] * 100).run()[1]) == 100
    with pytest.raises(SimulationError, match="without end"):
        Iteration([[0]] * 101).run()


# --- what starts anew -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("count", "counted", "left"),
    [(3.0, (), 1.0), (3.0, (2,), 2.0), (3.0, (1,), 1.0), (0.0, (), 0.0), (1.0, (2,), 1.0), (2.0, (2,), 2.0)],
)
def test_holds_start_anew_with_the_sample_before_and_one_of_this_instant(count, counted, left):
    taken = []
    r = object.__new__(Restart)
    c = SimpleNamespace(h=np.array([9.0, 9.0, count]), step=0.5, error=0.5, t=3.0, x=np.array([1.0]))
    r.workspace = SimpleNamespace(context=c, put=lambda t, x: taken.append(t))
    r.invariants = SimpleNamespace(restored=lambda t, x: x + t)
    r.acceptance = SimpleNamespace(take=lambda: taken.append("accepted"))
    r.after_events([2], counted)
    assert c.h.tolist() == [9.0, 9.0, left]
    assert (c.step, c.error, c.x[0], taken) == (0.0, 1e-4, 4.0, [3.0, "accepted"])


def test_modes_at_a_start_follow_each_other_and_invariants_hold():
    """h[2] follows h[1], h[1] follows h[0], which is 4; a last round says that nothing changes."""
    rounds = []
    r = object.__new__(Restart)
    c = SimpleNamespace(h=np.array([0.0, 0.0, 0.0, 9.0]), t=3.0, x=np.array([0.0]))
    modes = lambda: (rounds.append(1), np.array([c.h[1], c.h[0], 4.0]))[1]
    r.workspace = SimpleNamespace(
        context=c, system=SimpleNamespace(starting=(ca.SX(3, 1), np.array([2, 1, 0]))),
        bind=lambda name, make: modes,
    )  # fmt: skip
    r.unknowns = SimpleNamespace(refresh=lambda: None)
    r.invariants = SimpleNamespace(restored=lambda t, x: x + 7.0)
    r.first()
    assert c.h.tolist() == [4.0, 4.0, 4.0, 9.0] and c.x[0] == 7.0 and len(rounds) == 4


class Circle:
    """x0^2 + x1^2 = 1 to 1e-12 by Newton's method along its own gradient, and `off` beside."""

    def __init__(self, tolerance=1e-12, off=0.0):
        self.looks, self.off = 0, off
        i = self.invariants = object.__new__(Invariants)
        i.workspace = SimpleNamespace(put=self.put)
        i.unknowns, i.exist, i.unmet = SimpleNamespace(refresh=lambda: None), True, -1
        i.tolerances, i.names = np.array([tolerance, 1.0]), [("a", ""), ("b", "its length")]
        i._residual = lambda: np.array([(self.x @ self.x - 1.0) / 2, 0.0])
        i._correction = lambda: self.off - (self.x @ self.x - 1.0) / 2 * self.x / (self.x @ self.x)

    def put(self, t, x):
        self.looks, self.x = self.looks + 1, x.copy()


def test_a_state_goes_back_to_where_its_invariant_is_zero():
    c = Circle()
    assert c.invariants.restored(0.0, np.array([3.0, 4.0])) == pytest.approx([0.6, 0.8], rel=1e-12)
    assert c.invariants.unmet == -1 and c.looks < 9
    c = Circle()
    x = np.array([1.0 + 0.9e-13, 0.0])  # within a tenth of the tolerance
    assert c.invariants.restored(0.0, x) is x and c.looks == 1
    c = Circle()
    x = np.array([1.0 + 1e-12, 0.0])
    assert abs(c.invariants.restored(0.0, x)[0] - 1.0) < 1e-15 and c.looks == 2


def test_corrections_end_after_eight_and_where_they_do_not_help():
    c = Circle(tolerance=1e-20, off=1.0)  # far from holding all the time
    c.invariants.restored(0.0, np.array([3.0, 4.0]))
    assert c.looks == 9 and c.invariants.unmet == 0
    with pytest.raises(SimulationError, match="'a': an invariant cannot be met"):
        c.invariants.check(2.0)
    c = Circle(tolerance=1.0, off=2.0)  # no better after the second
    c.invariants.restored(0.0, np.array([3.0, 4.0]))
    assert c.looks == 3 and c.invariants.unmet == -1
    c.invariants.check(2.0)


def test_the_noise_of_a_state_is_what_its_last_digits_move_back():
    """Corrections double the distance from (1, 1), twice; weights 1 and 3."""
    i = object.__new__(Invariants)
    seen = []
    i.workspace = SimpleNamespace(put=lambda t, x: seen.append(x.copy()))
    i.unknowns, i.rounding = SimpleNamespace(refresh=lambda: None), np.array([1.0, 3.0])
    i._correction = lambda: seen[-1] - 1.0
    noise = i.noise(0.0, np.array([1.0, 1.0]))
    assert noise == pytest.approx(4 * 2.0**-52 * np.array([1.0, 3.0]), rel=1e-12)
    assert seen[-1].tolist() == [1.0, 1.0]  # left as it was


def test_what_its_own_reset_does_is_marked_for_the_events_listed():
    c = object.__new__(Crossings)
    c.workspace = SimpleNamespace(context=SimpleNamespace(signs=np.ones(4)))
    c._anew = [[1, 3], [], [2], []]
    c.reset_by([0, 1])
    assert c.workspace.context.signs.tolist() == [1.0, 2.0, 1.0, 2.0]
