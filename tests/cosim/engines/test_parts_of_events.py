"""Events in C by their functions alone: which are due, what their resets write, and when they have no end."""

from __future__ import annotations

import math

import pytest

from tests.helpers.crossing_parts import DUE
from tests.helpers.runtime_parts import Runtime, parts

TEXTS = {
    "events": """#include "events.c"
int event_waits(pl_run *r, int event) { return waits(r, event); }
int find_events(pl_run *r) { return find_due(r); }
int without_end(pl_run *r) { return endless(r); }
int conflict(pl_run *r) { return in_conflict(r); }
void write_target(pl_run *r, int place, double value) { set_target(r, place, value); }
void restart_count(pl_run *r, int place) { keep_samples(r, place); }
void miss(pl_run *r, const int32_t *events, int n) { keep_missed(r, events, n); }
int not_left(pl_run *r, int event) { return has_not_left(r, event); }
int pl_timed_event_due(const pl_run *r, int segment) { return segment == r->index; }
int pl_project(pl_run *r, double t, double *x) { r->value += t; return 1; }
""",
    "crossings": """#include "crossings.c"
void pl_interpolate(pl_run *r, double t, double *x) { x[0] = t; }
void pl_interpolate_some(pl_run *r, double t, int first, int last, double *x)
{ if (first < last) x[0] = t; }""",
    "quartic": '#include "quartic.c"',
    "evaluate": '#include "evaluate.c"\nvoid pl_update_w(void *owner, const pl_args *a) {}',
    "norms": '#include "norms.c"',
    "event_loops": '#include "event_loops.c"',
}
CALLED = """
int event_waits(pl_run *r, int event);
int find_events(pl_run *r);
int without_end(pl_run *r);
int conflict(pl_run *r);
void write_target(pl_run *r, int place, double value);
void restart_count(pl_run *r, int place);
void miss(pl_run *r, const int32_t *events, int n);
int not_left(pl_run *r, int event);
void pl_begin_events(pl_run *r, int located, int which);
void pl_begin_timed_events(pl_run *r, int segment);
int pl_handle_events(pl_run *r);
void pl_forget_missed(pl_run *r);
void pl_begin_loops(pl_run *r);
void pl_note_read(pl_run *r, int segment);
int pl_repeat_events(pl_run *r);
"""
CODE = "void(const pl_args *, double *)"
ALL, BEFORE, TIMED = range(3)


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(*parts(tmp_path_factory.mktemp("parts"), TEXTS, CALLED))


class Machine:
    """Crossings and resets as functions of (x, h), and room for all of it.

    resets : of every event its places, in h or -1 - place in x, and a function that gives as many numbers
    """

    def __init__(self, runtime, g, resets=None, x=(0.0,), h=(0.0,), rates=None, signs=None, **tables):
        n, nx, nh = len(g), len(x), len(h)
        resets = resets or [((), lambda x, h: ())] * n
        ints = lambda *values: runtime.array(values, "int32_t")
        doubles = lambda size: runtime.array([0.0] * size)
        self.runtime, self.n, self.nx, self.nh = runtime, n, nx, nh
        self.asked = []  # which crossings were evaluated at

        def crossings(a, out):
            self.asked.append([*a.x[0:nx]])
            out[0:n] = [float(one(a.x[0:nx], a.h[0:nh])) for one in g]

        def values(a, out):
            out[0 : len(places)] = [float(v) for _, f in resets for v in f(a.x[0:nx], a.h[0:nh])]

        def slopes(a, out):
            out[0:n] = [float(one(a.x[0:nx], a.h[0:nh])) for one in rates]

        rates = rates or [lambda x, h: 0.0] * n
        places = [p for where, _ in resets for p in where]
        starts = [0]
        for where, _ in resets:
            starts.append(starts[-1] + len(where))
        none = ints(*[0] * (n + 1))
        part = lambda f: runtime.new("pl_parts", all=runtime.function(CODE, f), states=ints(0, nx))
        self.x, self.h, self.next = runtime.array(x), runtime.array(h), runtime.array(h)
        self.context = runtime.new(
            "pl_context", x=self.x, h=self.h, next=self.next, t=1.0, step=0.25, error=0.5,
            signs=runtime.array(signs or [1.0] * n),
        )  # fmt: skip
        lists = {
            k: v if isinstance(v, int) else runtime.array(v) if k == "threshold" else ints(*v)
            for k, v in tables.items()
        }
        system = {
            "n_events": n, "direction": none, "rest": ints(*[1] * n), "threshold": doubles(n), "eager": none,
            "timed": none, "timed_segment": ints(*[-1] * n), "ends": none, "anew_start": none,
            "reset_start": ints(*starts), "reset_places": ints(*places, 0), "restarted_start": none,
            "renewed_start": none, "segment_early": ints(0, 0, 0),
        } | lists  # fmt: skip
        self.log = runtime.new("pl_log")
        self.r = runtime.run(
            {
                "nx": nx, "nh": nh, "crossings": part(crossings), "resets": part(values),
                "crossing_rates": part(slopes), "n_places": n,
                "held_crossings": runtime.new("pl_lasting"), "accepted": runtime.new("pl_lasting"),
                "moving_crossings": runtime.function(CODE, crossings), "place_of": ints(*range(n)),
                "event_start": ints(*range(n + 1)), "event_at": ints(*range(n)),
            },
            system, context=self.context, log=self.log, until=2.0, dense_since=math.nan, located=-1, index=-9,
            g=doubles(n), g_rates=doubles(n), side=doubles(n), limit=doubles(n), reached=doubles(n),
            farthest=doubles(n), largest=doubles(n), missed=doubles(n), new_signs=doubles(n),
            out=doubles(9 * n), scratch=doubles(nx), special=ints(*[0] * n), loud=ints(*[0] * n),
            wanted=ints(0), fired=ints(*[0] * n),
            looked_at=ints(*[0] * 2 * (n + 1)), stale_crossings=ints(0), n_idle=ints(*[0] * n),
            resets=doubles(len(places) + 1), reset_now=ints(*[0] * (len(places) + 1)),
            reset_by=ints(*[0] * (nx + nh + 1)),
        )  # fmt: skip
        self.r.a.h, self.r.a.x = self.h, self.x
        self.counted = runtime.array([0] * nx, "int64_t")

    def due(self, which=ALL, segment=0):
        """Events due here, and the signs that are stored after."""
        self.r.which, self.r.timed_segment, self.r.events_known = which, segment, 0
        assert self.runtime.c.find_events(self.r) == self.runtime.c.PL_DONE
        return list(self.r.fired[0 : self.r.n_fired]), self.signs()

    def signs(self):
        return list(self.context.signs[0 : self.n])

    def handle(self, located=-1, which=ALL):
        self.runtime.c.pl_begin_events(self.r, located, which)
        return self.runtime.c.pl_handle_events(self.r)

    def keep(self, capacity):
        """Room for the log of events."""
        self.log.events.values, self.log.events.capacity = self.runtime.array([-9.0] * capacity), capacity
        return self.log.events


@pytest.mark.parametrize(("value", "rate", "direction", "eager", "stored", "due", "sign"), DUE)
def test_an_event_is_due_where_its_sign_changes_in_its_direction(
    runtime, value, rate, direction, eager, stored, due, sign
):
    """Thresholds are 0.5; stored signs: 0 at the start of a run, 2 of an event that its own reset moved."""
    m = Machine(
        runtime, [lambda x, h: 3.0, lambda x, h: value], rates=[lambda x, h: rate] * 2, signs=[1.0, stored],
        direction=[0, direction], eager=[0, eager], threshold=[0.5, 0.5],
    )  # fmt: skip
    assert m.due() == ([1] if due else [], [1.0, sign])
    assert m.r.events_known == (not due) and m.r.held_known == 1
    assert m.r.reached[1] == abs(value)
    m.r.events_known, m.r.fired[0] = 1, 7
    m.context.signs[1] = -sign
    assert runtime.c.find_events(m.r) == runtime.c.PL_DONE and m.r.n_fired == 0  # nothing has changed


@pytest.mark.parametrize(
    ("moved", "due"),
    [((1, 2, 4), [2, 4]), ((0, 1, 3, 4), [0, 4]), ((0, 1), [0]), ((1, 3, 4), [1, 3, 4]), ((2,), [2])],
)
def test_events_wait_for_those_they_depend_on(runtime, moved, due):
    """Events 2 -> 0 -> {1, 3}, where 1 and 3 depend on each other, and 4 alone; flags were others before."""
    order = {"order": [2, 0, 1, 3, 4], "loop": [0, 1, 2, 1, 4]}
    tables = {"n_before": 2, "before_start": [0, 1, 2, 2, 2, 2], "before": [2, 0], **order}
    m = Machine(runtime, [lambda x, h, k=k: -1.0 if k in moved else 1.0 for k in range(5)], **tables)
    flags = [runtime.array([before] * 5, "int32_t") for before in (0, 7)]
    m.r.candidate, m.r.behind = flags
    assert m.due() == (due, [-1.0 if k in due else 1.0 for k in range(5)])
    assert m.r.events_known == 0


@pytest.mark.parametrize("field", ["n_unknowns", "n_delays"])
def test_where_something_is_solved_for_or_delayed_events_are_looked_for_again(runtime, field):
    m = Machine(runtime, [lambda x, h: 3.0], **{field: 1})
    m.due()
    assert m.r.events_known == 0


def test_before_ticks_all_events_but_timed_ones_are_due_and_those_that_wait_with_them(runtime):
    """Segments 0 and 1 have timed events, of which that of segment 1 is due."""
    tables = {"timed": [1, 0, 0, 0, 0], "timed_segment": [0, 0, 1, -1, 1], "n_event_times": 0}
    g = [lambda x, h: -1.0] * 5
    m = Machine(runtime, g, signs=[1.0] * 4 + [0.0], eager=[1] * 5, **tables)
    m.r.index = 1
    waits = lambda which: (
        [runtime.c.event_waits(m.r, k) for k in range(5)] if not setattr(m.r, "which", which) else None
    )
    assert waits(ALL) == [0] * 5
    assert waits(BEFORE) == [1, 0, 1, 0, 0]
    m.r.timed_segment = 1
    assert waits(TIMED) == [1, 1, 0, 1, 0]
    m.r.system.segment_early = runtime.array([1, 0], "int32_t")
    assert waits(TIMED) == [1, 1, 0, 1, 0]
    m.r.system.segment_early = runtime.array([0, 1], "int32_t")
    assert waits(TIMED) == [1, 1, 0, 1, 1]
    m.r.system.segment_early = runtime.array([0, 0], "int32_t")
    assert m.due(TIMED, 1) == ([2, 4], [1.0, 1.0, -1.0, 1.0, -1.0])
    assert m.r.held_known == 1
    m.r.system.n_event_times = 1
    assert m.due(BEFORE) == ([1, 3], [1.0, -1.0, -1.0, -1.0, -1.0])
    assert (m.r.held_known, m.r.events_known) == (0, 0)


def test_resets_read_what_was_before_any_of_them_and_write_states_and_what_is_held(runtime):
    """Two events swap x[0] and h[1]; the log has their times, numbers, and values before and after."""
    m = Machine(
        runtime, [lambda x, h: -1.0 if h[0] == 0 else 1.0] * 2,
        [((-1, 0), lambda x, h: (h[1], 1.0)), ((1,), lambda x, h: (x[0],))], x=(3.0, 8.0), h=(0.0, 5.0, 6.0),
        direction=[-1, -1], n_invariants=1,
    )  # fmt: skip
    events = m.keep(20)
    events.used = 2
    assert m.handle() == runtime.c.PL_DONE
    assert (list(m.x[0:2]), list(m.h[0:3])) == ([5.0, 8.0], [1.0, 3.0, 6.0])
    assert list(events.values[0:13]) == [-9.0, -9.0, 1.0, 0.0, 3.0, 0.0, 5.0, 1.0, 1.0, 1.0, 5.0, 3.0, -9.0]
    assert (events.used, m.r.counters.events) == (12, 2)
    assert (m.context.step, m.context.error, m.r.value) == (0.0, 1e-4, 1.0)
    assert m.signs() == [1.0, 1.0] and m.r.round == 1


def test_a_log_that_is_too_short_is_asked_for_before_anything_is_written(runtime):
    m = Machine(runtime, [lambda x, h: h[0] - 1.0], [((0,), lambda x, h: (2.0,))], direction=[-1])
    m.keep(4).used = 1
    assert m.handle() == runtime.c.PL_FULL_EVENTS and m.h[0] == 0.0
    m.log.events.used = 0
    assert runtime.c.pl_handle_events(m.r) == runtime.c.PL_DONE and (m.h[0], m.log.events.used) == (2.0, 4)


def test_an_event_may_end_the_run_and_the_first_that_does_says_so(runtime):
    m = Machine(runtime, [lambda x, h: -1.0] * 3, ends=[0, 1, 1])
    assert m.handle() == runtime.c.PL_DONE and m.context.stopped == 2


def test_discrete_states_that_are_reset_are_so_at_their_next_tick_too(runtime):
    m = Machine(
        runtime, [lambda x, h: -1.0, lambda x, h: 1.0],
        [((0, 2), lambda x, h: (4.0, 5.0)), ((1,), lambda x, h: (9.0,))],
        h=(1.0, 2.0, 3.0), renewed_start=[0, 1, 2], renewed=[2, 1],
    )  # fmt: skip
    for k in range(3):
        m.next[k] = -1.0
    assert m.handle() == runtime.c.PL_DONE
    assert (list(m.h[0:3]), list(m.next[0:3])) == ([4.0, 2.0, 5.0], [-1.0, -1.0, 5.0])


def test_what_its_own_reset_does_is_no_crossing_of_an_event(runtime):
    """A ball at -1 that is put to +1 with both directions: one event, not two."""
    for anew, events in [(True, 1), (False, 2)]:
        m = Machine(
            runtime, [lambda x, h: x[0]], [((-1,), lambda x, h: (1.0,))], x=(-1.0,),
            **({"anew_start": [0, 1], "anew": [0]} if anew else {}),
        )  # fmt: skip
        assert m.handle() == runtime.c.PL_DONE and m.r.counters.events == events


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_reset_to_what_is_no_number_is_named(runtime, bad):
    m = Machine(
        runtime, [lambda x, h: -1.0] * 3,
        [((0,), lambda x, h: (1.0,)), ((1, 2), lambda x, h: (1.0, bad)), ((3,), lambda x, h: (1.0,))],
        h=(0.0,) * 4,
    )  # fmt: skip
    assert m.handle() == runtime.c.PL_NOT_FINITE
    assert (m.r.index, m.r.other) == (-3, 1)  # PL_IN_RESET


def test_two_resets_of_one_state_are_a_conflict_and_nothing_is_left_of_looking(runtime):
    places = [((-1, 0), None), ((-2, 1), None), ((2, -2), None), ((0,), None)]
    nothing = lambda x, h: ()
    for fired, found in [
        ([0, 1], None),
        ([1, 2], (2, 1)),
        ([0, 2], None),
        ([0, 1, 3], (3, 0)),
        ([0, 1, 2, 3], (2, 1)),
    ]:
        m = Machine(
            runtime, [lambda x, h: 1.0] * 4, [(p, nothing) for p, _ in places], x=(0.0,) * 2, h=(0.0,) * 3
        )
        m.r.n_fired = len(fired)
        for k, event in enumerate(fired):
            m.r.fired[k] = event
        for _ in range(2):
            assert bool(runtime.c.conflict(m.r)) == (found is not None), fired
            if found:
                assert (m.r.index, m.r.other) == found
            assert list(m.r.reset_by[0:6]) == [0] * 6
    m = Machine(runtime, [lambda x, h: 1.0], [((0, 0), nothing)])
    m.r.n_fired = 1
    assert not runtime.c.conflict(m.r)  # one event alone is none


def test_a_conflict_ends_the_instant(runtime):
    m = Machine(runtime, [lambda x, h: -1.0] * 2, [((0,), lambda x, h: (1.0,))] * 2)
    assert m.handle() == runtime.c.PL_CONFLICT and (m.r.index, m.r.other, m.h[0]) == (1, 0, 0.0)


def test_an_event_whose_time_is_moved_may_be_due_at_once(runtime):
    m = Machine(
        runtime, [lambda x, h: 1.0] * 3, h=(0.0, 5.0, 6.0), n_event_times=2, event_time_place=[2, 1],
        event_time_event=[0, 2],
    )  # fmt: skip
    for place, value, signs in [
        (1, 5.0, [1.0, 1.0, 1.0]), (0, 3.0, [1.0, 1.0, 1.0]), (1, 7.0, [1.0, 1.0, -1.0]),
        (2, 1.0, [-1.0, 1.0, -1.0]),
    ]:  # fmt: skip
        m.r.events_known = 1
        runtime.c.write_target(m.r, place, value)
        assert m.signs() == signs and m.h[place] == value and m.r.events_known == 0
    m.r.events_known = 1
    runtime.c.write_target(m.r, -1, 4.0)
    assert (m.x[0], m.r.events_known) == (4.0, 1)


@pytest.mark.parametrize(
    ("which", "due", "count", "left"),
    [(ALL, [1, 1], 3.0, 1.0), (TIMED, [1, 0], 3.0, 2.0), (TIMED, [0, 1], 3.0, 1.0), (TIMED, [1, 0], 1.0, 1.0),
     (ALL, [0, 0], 0.0, 0.0), (TIMED, [0, 0], 2.0, 1.0), (TIMED, [1, 0], 2.0, 2.0)],
)  # fmt: skip
def test_holds_start_anew_with_the_sample_before_and_one_of_this_instant(runtime, which, due, count, left):
    """Rate 0 counts h[1] and h[2], rate 1 h[3]."""
    m = Machine(
        runtime,
        [lambda x, h: 1.0],
        h=(9.0, 9.0, count, 9.0),
        n_rates=2,
        since_start=[0, 2, 3],
        since=[1, 2, 3],
    )
    m.r.which, m.r.due = which, runtime.array(due, "int32_t")
    runtime.c.restart_count(m.r, 2)
    assert list(m.h[0:4]) == [9.0, 9.0, left, 9.0]


def test_each_event_that_fired_restarts_its_holds(runtime):
    m = Machine(
        runtime, [lambda x, h: -1.0, lambda x, h: 1.0, lambda x, h: -1.0], h=(5.0,) * 5,
        restarted_start=[0, 2, 3, 4], restarted=[0, 1, 2, 4],
    )  # fmt: skip
    assert m.handle() == runtime.c.PL_DONE
    assert list(m.h[0:5]) == [1.0, 1.0, 5.0, 5.0, 1.0]


def test_two_events_that_undo_each_other_end_after_a_hundred_rounds(runtime):
    m = Machine(
        runtime, [lambda x, h: h[0] - 0.5, lambda x, h: 0.5 - h[0]],
        [((0,), lambda x, h: (1.0,)), ((0,), lambda x, h: (0.0,))], signs=[1.0, 1.0], direction=[-1, -1],
    )  # fmt: skip
    assert m.handle() == runtime.c.PL_CHATTERING
    assert (m.r.counters.events, m.r.n_fired) == (100, 1)


def test_rounds_within_a_billionth_of_what_is_left_are_counted_and_later_ones_not(runtime):
    m = Machine(runtime, [lambda x, h: 1.0])
    m.r.until = 3.0
    for t, n in [(1.0, 1), (1.0, 2), (1.0 + 1.9e-9, 3), (1.0 + 2.1e-9, 1), (1.0 + 4.0e-9, 2), (2.0, 1)]:
        m.context.t = t
        assert not runtime.c.without_end(m.r) and m.r.n_dense == n, t
    assert m.r.dense_since == 2.0
    m.r.n_dense = 999
    assert not runtime.c.without_end(m.r)
    assert runtime.c.without_end(m.r)


def test_an_event_that_does_not_leave_its_threshold_may_fire_a_thousand_times(runtime):
    m = Machine(runtime, [lambda x, h: 5.0, lambda x, h: 5.0], threshold=[0.5, 0.5])
    m.r.n_fired, m.r.fired[0] = 1, 1
    for reached, idle in [(0.4, 1), (0.5, 2), (0.6, 0), (0.1, 1)]:
        m.r.reached[0], m.r.reached[1], m.context.t = 0.3, reached, m.context.t + 0.1
        m.asked.clear()
        assert not runtime.c.without_end(m.r)
        assert (m.r.n_idle[0], m.r.n_idle[1]) == (0, idle)
        assert (m.r.reached[0], m.r.reached[1]) == (0.3, 0.0)
        assert m.asked == []  # far beyond what rounding may do
    assert (m.r.largest[0], m.r.largest[1]) == (0.0, 0.6)
    m.r.n_idle[1], m.context.t = 999, 1.8
    assert not runtime.c.without_end(m.r)
    m.context.t = 1.9
    assert runtime.c.without_end(m.r)


@pytest.mark.parametrize(
    ("gone", "largest", "left"),
    [
        (0.5e-6, 0.1, 1),
        (0.5e-6, 1.0, 0),
        (3e-6, 1e3, 0),
        (4e-6, 1e3, 1),
        (1e-9, 1e3, 0),
        (1e-9, 1e-2, 0),
        (0.99e-9, 1e-3, 0),
    ],
)
def test_rounding_of_the_states_alone_is_no_flight(runtime, gone, largest, left):
    """1e9 less x of 1e9: four times its last bits are 3.6e-6, or a millionth of the largest value."""
    m = Machine(runtime, [lambda x, h: 1e9 - x[0]], x=(1e9,))
    m.r.farthest[0], m.r.largest[0] = gone, largest
    assert runtime.c.not_left(m.r, 0) == (not left)


def test_the_last_bits_of_all_states_are_shaken_each_in_its_way(runtime):
    """x[0] - x[1] of equal states: their bits are shaken in opposite ways, so that their difference shows."""
    m = Machine(runtime, [lambda x, h: x[0] - x[1]], x=(1.0,) * 9)
    m.r.farthest[0], m.r.largest[0] = 1e-20, 1e3
    assert runtime.c.not_left(m.r, 0)
    shaken = [(value - 1.0) * 2.0**50 for value in m.asked[-1]]
    expected = [(-1) ** k * (1 + (k % 7) / 7) for k in range(9)]
    assert shaken == pytest.approx([e if abs(e) else 1 for e in expected], abs=0.26)  # of last bits of 2^-52
    assert m.asked[-2] == [1.0] * 9


@pytest.mark.parametrize(
    ("off", "threshold", "largest", "missed"),
    [
        (1e-6, 1e-10, 10.0, 1),
        (1e-6, 1e-10, 0.1, 0),
        (1e-4, 1e-10, 1e9, 0),
        (1e-6, 0.0, 10.0, 0),
        (1e-6, 1e-5, 10.0, 0),
    ],
)
def test_a_crossing_that_rounding_left_off_its_threshold_counts_as_on_it(
    runtime, off, threshold, largest, missed
):
    """x of 1e9 is known to 1e-6 or so: that far from 1e9 a located crossing is on its threshold."""
    m = Machine(
        runtime, [lambda x, h: 5.0, lambda x, h: 1e9 + off - x[0]], x=(1e9,), threshold=[threshold] * 2
    )
    off = abs(1e9 + off - 1e9)
    m.r.largest[0] = m.r.largest[1] = largest
    m.r.sides_known, m.r.events_known = 1, 1
    runtime.c.miss(m.r, runtime.array([0, 1], "int32_t"), 2)
    assert (m.r.missed[0], m.r.missed[1]) == (0.0, off if missed else 0.0)
    assert m.r.any_missed == missed and m.r.events_known == (not missed)
    assert (m.r.side[1], m.r.limit[1]) == ((1.0, off) if missed else (0.0, 0.0))
    m.r.events_known = 1
    runtime.c.pl_forget_missed(m.r)
    assert (m.r.missed[1], m.r.any_missed, m.r.events_known) == (0.0, 0, not missed)
    assert (m.r.side[1], m.r.limit[1]) == ((1.0, threshold) if missed else (0.0, 0.0))


def test_a_located_crossing_that_does_not_fire_counts_as_a_repetition(runtime):
    m = Machine(runtime, [lambda x, h: 1.0])
    for k in range(1000):
        assert m.handle(located=0) == runtime.c.PL_DONE and m.r.n_dense == k + 1
    assert m.handle(located=0) == runtime.c.PL_CHATTERING
    assert list(m.r.fired[0 : m.r.n_fired]) == [0]


def test_one_that_waits_is_not_taken_as_located_here(runtime):
    m = Machine(runtime, [lambda x, h: 1.0], timed=[1], timed_segment=[0])
    for _ in range(3):
        assert m.handle(located=0, which=BEFORE) == runtime.c.PL_DONE
    assert m.r.n_dense == 0 and m.r.located == -1


def test_where_timed_events_come_next_all_that_is_held_is_looked_at_again(runtime):
    m = Machine(runtime, [lambda x, h: 1.0])
    for times, known in [(0, 1), (2, 0)]:
        m.r.system.n_event_times, m.r.held_known = times, 1
        runtime.c.pl_begin_timed_events(m.r, 5)
        assert (m.r.round, m.r.located, m.r.which, m.r.timed_segment, m.r.held_known) == (
            -1,
            -1,
            TIMED,
            5,
            known,
        )
    m.r.held_known = 1
    runtime.c.pl_begin_events(m.r, 3, ALL)
    assert (m.r.held_known, m.r.located, m.r.which) == (1, 3, ALL)


def test_a_run_that_is_cancelled_or_has_no_solution_resets_nothing(runtime):
    m = Machine(runtime, [lambda x, h: -1.0], [((0,), lambda x, h: (1.0,))])
    m.r.cancel = 1
    assert m.handle() == runtime.c.PL_CANCELLED and m.h[0] == 0.0
    m = Machine(runtime, [lambda x, h: -1.0], [((0,), lambda x, h: (1.0,))])
    m.r.unsolved = 1
    assert m.handle() == runtime.c.PL_NO_SOLUTION and m.h[0] == 0.0
    m = Machine(runtime, [lambda x, h: math.nan])
    assert m.handle() == runtime.c.PL_NO_SIGN and m.r.index == 0


def test_events_in_loops_are_repeated_where_what_they_read_has_changed(runtime):
    """Of two segments, 1 and 3, whose functions return a crossing, then what they read; 3 has not fired."""
    m = Machine(runtime, [lambda x, h: -1.0], signs=[1.0], h=(5.0, 7.0))
    read, ints = {1: [2.0, 3.0], 3: [4.0]}, lambda *values: runtime.array(values, "int32_t")

    def segment(k):
        def function(a, out):
            out[0 : 1 + len(read[k])] = [99.0, *read[k]]

        return runtime.function(CODE, function)

    m.r.model.segments = runtime.array(
        [runtime.ffi.NULL, segment(1), runtime.ffi.NULL, segment(3)], "pl_function"
    )
    s = m.r.system
    s.n_loops, s.loop_segment, s.loop_place = 2, ints(1, 3), ints(1, 0)
    s.read_start, s.read_from, s.timed_segment = ints(0, 2, 3), ints(1, 1), ints(1)
    m.r.loop_fired, m.r.out = ints(9, 9), runtime.array([0.0] * 9)
    m.r.loop_read = runtime.array([0.0] * 3 + [-7.0] * 6)
    again = lambda: (runtime.c.pl_repeat_events(m.r), m.h[0], m.h[1])
    runtime.c.pl_begin_loops(m.r)
    assert list(m.r.loop_fired[0:2]) == [0, 0]
    assert again() == (0, 5.0, 7.0)  # none has fired
    runtime.c.pl_begin_timed_events(m.r, 1)
    assert runtime.c.pl_handle_events(m.r) == runtime.c.PL_DONE and list(m.r.loop_fired[0:2]) == [1, 0]
    assert again() == (0, 5.0, 7.0)  # nothing has changed
    read[1], read[3] = [2.0, 3.5], [8.0]
    assert again() == (1, 5.0, 8.0) and list(m.r.loop_fired[0:2]) == [2, 0]
    assert again() == (0, 5.0, 8.0)
    read[1] = [2.0 + 1e-15, 3.5]  # rounding
    assert again() == (0, 5.0, 8.0)
    for k in range(99):
        read[1] = [float(k), 0.0]
        assert again() == (1, 5.0, 9.0 + k)
    read[1] = [0.5, 0.0]
    assert again() == (runtime.c.PL_UNSETTLED, 5.0, 108.0)
    assert list(m.r.loop_read[0:9]) == [0.5, 0.0, 8.0] + [-7.0] * 6  # each has room for its own numbers
