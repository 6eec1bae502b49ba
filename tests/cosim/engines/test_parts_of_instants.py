"""Instants in C by their functions alone: times on the grid, what is counted, and segments in their order."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from tests.helpers.runtime_parts import Runtime, parts

TEXTS = {
    "instants": """#include "instants.c"
int event_follows(pl_run *r, int segment) { return follows(r, segment); }
void pl_draw(pl_run *r, int draw) { r->context->w[draw] += 1.0; }
int pl_project(pl_run *r, double t, double *x) { x[0] = 7.0; return 1; }
int pl_solve_segment(pl_run *r, int i) { r->context->w[0] = 100.0 + i; return r->context->w[1] != 0.0; }""",
    "evaluate": """#include "evaluate.c"
void pl_update_w(void *owner, const pl_args *a) { ((pl_run *)owner)->value += 1.0; }""",
    "norms": '#include "norms.c"',
    "event_loops": '#include "event_loops.c"',
}
CALLED = """
int event_follows(pl_run *r, int segment);
int pl_has_stops(const pl_run *r);
int64_t pl_instants_passed(const pl_run *r);
double pl_one_instant(double begin, double stop);
double pl_next_listed(const pl_run *r);
void pl_count_ticks(pl_run *r, double t);
int pl_timed_event_due(const pl_run *r, int segment);
int pl_run_segments(pl_run *r);
int pl_initialise(pl_run *r);
"""
CODE = "void(const pl_args *, double *)"
OUTPUT, UPDATE, EXTERNAL, SOLVE, REPEAT, EVENTS = range(6)


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(*parts(tmp_path_factory.mktemp("parts"), TEXTS, CALLED))


def ints(runtime, *values):
    return runtime.array(values, "int32_t")


def longs(runtime, *values):
    return runtime.array(values, "int64_t")


BIG = 2**53


@pytest.mark.parametrize(
    ("position", "grid"),
    [
        (7, 3), (BIG, 3), (BIG + 1, 1), (BIG + 1, 3), (BIG + 3, 2), (3, BIG + 1), (0, BIG + 5),
        (1, 2**62 + 1),
        (2**62 + 2**8 + 1, 1), (2**62 + 2**9, 2**10 + 1), (2**61 - 1, 2**61 - 3), (2**60 + 1, 10**15 + 3),
        (2**62 - 1, 7), (5 * 10**17 + 1, 3 * 10**17), (BIG + 2, BIG + 6), (2**58 + 17, 1), (2**58 + 16, 1),
        (2**58 + 48, 1), (2**56 + 4, 1), (2**56 + 12, 1), (2**55 + 2, 1), (2**55 + 6, 1), (2**55 + 2, 2),
        (2**61 + 3, 2**54 + 1), (10**18 + 7, 999_999_999_989), (2**54 + 1, 4), (2**54 + 3, 4),
    ],
)  # fmt: skip
def test_a_time_on_the_grid_is_rounded_once(runtime, position, grid):
    assert runtime.c.pl_seconds(position, grid) == float(Fraction(position, grid))


def test_the_next_stop_is_the_first_tick_instant_event_or_delayed_jump(runtime):
    """At 1 s: ticks at 0.25 + 0.5 k and 3 k s after an origin of 0.125 s, then the rest one by one."""
    h, stops = runtime.array([math.inf, math.inf, 1.01]), runtime.array([0.5, 1.0, 1.0625])
    context = runtime.new(
        "pl_context", t=1.0, origin=0.125, ticks=longs(runtime, 2, 1), h=h, stops=stops,
        instants=longs(runtime, 1, 2),
    )  # fmt: skip
    r = runtime.run({}, {
        "n_rates": 2, "grid": 4, "first": longs(runtime, 1, 0), "period": longs(runtime, 2, 12),
        "n_lists": 2, "n_instants": 4, "instant_time": runtime.array([0.1, 0.2, 0.3, 1.25, 0.0]),
        "n_event_times": 0, "event_time_place": ints(runtime, 1, 0, 2),
    }, context=context)  # fmt: skip
    assert runtime.c.pl_instants_passed(r) == 3
    assert (runtime.c.pl_next_stop(r), runtime.c.pl_next_listed(r)) == (1.25, 1.25)
    context.ticks[0] = 1
    assert (runtime.c.pl_next_stop(r), runtime.c.pl_next_listed(r)) == (0.875, 1.25)
    context.ticks[0] = 5
    context.instants[1] = 3  # all have passed
    assert (runtime.c.pl_next_stop(r), runtime.c.pl_next_listed(r)) == (0.125 + 11 / 4, math.inf)
    context.ticks[0] = 9
    assert runtime.c.pl_next_stop(r) == 0.125 + 3.0  # of the slower rate
    context.n_stops = 2  # one has passed, one is here
    assert runtime.c.pl_next_listed(r) == math.inf
    context.n_stops = 3
    assert runtime.c.pl_next_listed(r) == 1.0625
    r.system.n_event_times = 2
    for times, first in [
        ([1.03, 1.04], 1.03),
        ([1.05, 1.04], 1.04),
        ([1.0, 0.5], 1.0625),
        ([1.07, 2.0], 1.0625),
    ]:
        h[0:2] = times
        assert runtime.c.pl_next_listed(r) == runtime.c.pl_next_stop(r) == first, times
    h[0:2] = [1.0625 - 1e-15, math.inf]  # the same instant
    assert runtime.c.pl_next_listed(r) == 1.0625
    context.n_stops, context.t = 0, 1.0
    for times, first in [([1e30, 9e29], 9e29), ([1e30, 2e30], math.inf), ([math.nan, 5.0], 5.0)]:
        h[0:2] = times
        assert runtime.c.pl_next_listed(r) == first, times


@pytest.mark.parametrize(("begin", "stop"), [(0.0, 1.0), (1.0, 3.0), (-2.0, 0.0), (5.0, 5.0), (-4.0, -3.0)])
def test_one_instant_is_a_share_of_the_way_and_the_rounding_of_its_end(runtime, begin, stop):
    found = runtime.c.pl_one_instant(begin, stop)
    assert found == pytest.approx(1e-12 * (stop - begin) + 2.0**-50 * abs(stop), rel=1e-12)
    assert runtime.c.pl_one_instant(begin, math.inf) == 0.0


def test_each_kind_of_stop_alone_is_one(runtime):
    r = runtime.run(context=runtime.new("pl_context"))
    assert not runtime.c.pl_has_stops(r)
    for field in ("n_rates", "n_instants", "n_event_times"):
        setattr(r.system, field, 1)
        assert runtime.c.pl_has_stops(r), field
        setattr(r.system, field, 0)
    r.context.n_stops = 1
    assert runtime.c.pl_has_stops(r)


def test_ticks_count_rates_that_hit_and_instants_that_are_reached(runtime):
    """At 0.5 s of rates of 0.25 s (its third tick), 0.5 s from 0.25 s on, and 0.5 s; h[8:] stays as it is."""
    h = runtime.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 6.0, 40.0, 41.0, 42.0, 43.0])
    context = runtime.new(
        "pl_context", h=h, next=runtime.array([100.0 + k for k in range(12)]), w=runtime.array([0.0] * 4),
        ticks=longs(runtime, 2, 1, 1), instants=longs(runtime, 1, 0),
    )  # fmt: skip
    r = runtime.run({}, {
        "n_rates": 3, "grid": 4, "first": longs(runtime, 0, 1, 0), "period": longs(runtime, 1, 2, 2),
        "time_place": ints(runtime, 0, 2, 4), "count_place": ints(runtime, 1, 3, 5),
        "since_start": ints(runtime, 0, 1, 2, 2), "since": ints(runtime, 6, 7),
        "discrete_start": ints(runtime, 0, 1, 2, 4), "discrete": ints(runtime, 8, 9, 10, 11),
        "n_lists": 2, "n_instants": 4, "instant_time": runtime.array([0.25, 0.5, 0.5, 0.75]),
        "instant_place": ints(runtime, 8, 9, 8, 9), "instant_list": ints(runtime, 0, 1, 0, 1),
        "n_draws": 3, "draw_rate": ints(runtime, 0, 1, 2),
    }, context=context, due=ints(runtime, 5, 5, 5), held_known=1, events_known=1,
       accepted_known=1)  # fmt: skip
    runtime.c.pl_count_ticks(r, 0.5)
    assert context.t == 0.5
    assert list(context.instants[0:2]) == [2, 1]
    assert list(r.due[0:3]) == [1, 0, 1]
    assert list(context.ticks[0:3]) == [3, 1, 2]
    assert list(h[0:8]) == [0.5, 3.0, 0.0, 0.0, 0.5, 2.0, 6.0, 6.0]
    assert list(h[8:12]) == [
        108.0,
        42.0,
        110.0,
        111.0,
    ]  # rates 0 and 2 have ticked; one instant each was counted
    assert list(context.w[0:4]) == [1.0, 0.0, 1.0, 0.0]
    assert (r.held_known, r.events_known, r.accepted_known) == (0, 0, 0)


def test_a_listed_instant_alone_says_that_what_is_held_has_changed(runtime):
    context = runtime.new("pl_context", h=runtime.array([3.0, 4.0]), instants=longs(runtime, 0))
    r = runtime.run({}, {
        "n_lists": 1, "n_instants": 2, "instant_time": runtime.array([1.0, 2.0]),
        "instant_place": ints(runtime, 1, 1), "instant_list": ints(runtime, 0, 0),
    }, context=context, held_known=1, events_known=1, accepted_known=1)  # fmt: skip
    for t, known, count in [(0.5, 1, 4.0), (1.0, 0, 5.0)]:
        runtime.c.pl_count_ticks(r, t)
        assert (r.held_known, r.events_known, r.accepted_known, context.h[1]) == (known, known, known, count)


def test_a_timed_event_is_due_where_its_time_is_reached_but_for_rounding(runtime):
    h = runtime.array([0.0, 1e30, 1e30])
    r = runtime.run({}, {
        "n_event_times": 2, "event_time_place": ints(runtime, 1, 2), "event_time_event": ints(runtime, 2, 0),
        "timed_segment": ints(runtime, 4, -1, 3),
    }, context=runtime.new("pl_context", t=100.0, h=h))  # fmt: skip
    for time, due in [
        (99.0, 1),
        (100.0, 1),
        (100 + 0.9e-10, 1),
        (100 + 1.1e-10, 0),
        (101.0, 0),
        (math.nan, 0),
    ]:
        h[1] = time
        assert (runtime.c.pl_timed_event_due(r, 3), runtime.c.pl_timed_event_due(r, 4)) == (due, 0), time
    h[1], h[2] = 1e30, 100.0
    assert (runtime.c.pl_timed_event_due(r, 3), runtime.c.pl_timed_event_due(r, 4)) == (0, 1)
    r.context.t = 0.0
    for time, due in [(0.9e-12, 1), (1.1e-12, 0), (-5.0, 1)]:
        h[1] = time
        assert runtime.c.pl_timed_event_due(r, 3) == due, time


def test_an_event_follows_where_its_crossing_is_not_beyond_its_threshold(runtime):
    """Segment 1 gives crossings of events 2 and 0."""
    values = [0.0, 0.0]

    def crossings(a, out):
        out[0:2] = values

    r = runtime.run({"segments": runtime.array([runtime.function(CODE, crossings)] * 3, "pl_function")}, {
        "follow_start": ints(runtime, 0, 1, 3, 3), "follow": ints(runtime, 1, 2, 0),
        "threshold": runtime.array([0.5, 9.0, 0.25]),
    }, context=runtime.new("pl_context", signs=runtime.array([-1.0, 1.0, 1.0])),
       out=runtime.array([0.0] * 3))  # fmt: skip
    for given, follows in [
        ((0.3, -0.6), 0), ((0.25, -0.6), 1), ((0.2, -0.6), 1), ((-0.3, -0.6), 1), ((0.3, -0.5), 1),
        ((0.3, 0.6), 1), ((math.nan, -0.6), 1), ((0.3, -0.4), 1),
    ]:  # fmt: skip
        values[:] = given
        assert runtime.c.event_follows(r, 1) == follows, given
    assert runtime.c.event_follows(r, 2) == 0


class Schedule:
    """Segments by kind; number k writes 10 (k + 1), or what it is to `give`, into its place."""

    def __init__(self, runtime, kinds, rates=None, due=(), asked=None, again=None, limits=None):
        n = len(kinds)
        self.calls, self.give = [], {}
        zeros, one_each = [0] * n, list(range(n + 1))
        self.h = runtime.array([-1.0] * n + [0.0, 1.0])
        self.context = runtime.new(
            "pl_context", t=2.0, h=self.h, next=runtime.array([-2.0] * n), signs=runtime.array([1.0] * n),
            w=runtime.array([0.0, 0.0]),
        )  # fmt: skip
        functions = [runtime.function(CODE, lambda a, out, k=k: self.called(k, out)) for k in range(n)]
        system = {
            "n_segments": n, "segment_kind": kinds, "segment_rate": rates or [-1] * n,
            "segment_again": again or zeros, "segment_asked": asked or [-1] * n,
            "segment_limit": limits or [99] * n, "segment_start": one_each, "segment_writes": list(range(n)),
            "segment_size": [1] * n, "follow_start": [0] * (n + 1), "follow": [0],
        }  # fmt: skip
        tables = {k: ints(runtime, *v) if isinstance(v, list) else v for k, v in system.items()}
        self.r = runtime.run(
            {"segments": runtime.array(functions, "pl_function"), "accepted": runtime.new("pl_lasting")},
            tables, context=self.context,
            out=runtime.array([0.0, 0.0]), due=ints(runtime, *due, 0),
        )  # fmt: skip
        self.runtime = runtime

    def called(self, k, out):
        self.calls.append(k)
        out[0] = self.give[k].pop(0) if self.give.get(k) else 10.0 * (k + 1)

    def run(self):
        return self.runtime.c.pl_run_segments(self.r)


def test_segments_run_in_order_at_every_instant_or_where_their_rate_hits(runtime):
    s = Schedule(runtime, [OUTPUT, UPDATE, OUTPUT, UPDATE, OUTPUT], [-1, 0, 1, 1, 0], due=[0, 1])
    assert s.run() == runtime.c.PL_DONE
    assert s.calls == [0, 2, 3]
    assert list(s.h[0:5]) == [10.0, -1.0, 30.0, -1.0, -1.0]
    assert list(s.context.next[0:5]) == [-2.0, -2.0, -2.0, 40.0, -2.0]
    s.r.segment, s.r.rounds = 0, 0
    s.r.due[0], s.r.due[1] = 1, 0
    s.calls.clear()
    assert s.run() == runtime.c.PL_DONE and s.calls == [0, 1, 4]


def test_a_second_time_only_those_run_that_are_called_again(runtime):
    s = Schedule(runtime, [OUTPUT] * 4, [-1, 0, 0, -1], due=[0], again=[0, 1, 0, 1])
    s.r.again = 1
    assert s.run() == runtime.c.PL_DONE and s.calls == [1, 3]


def test_one_that_is_asked_for_runs_only_where_its_place_says_so(runtime):
    s = Schedule(runtime, [OUTPUT] * 3, asked=[3, 4, 0])
    s.h[0] = 0.5
    assert s.run() == runtime.c.PL_DONE and s.calls == [1, 2]
    s.h[0], s.r.segment = 0.49, 0
    assert s.run() == runtime.c.PL_DONE and s.calls == [1, 2, 1]


@pytest.mark.parametrize(("left", "reason", "calls"), [(2, 0, 3), (3, 0, 4), (4, "PL_NO_LAST_ROUND", 4)])
def test_a_repeated_one_runs_until_it_says_zero_or_the_most_often(runtime, left, reason, calls):
    s = Schedule(runtime, [OUTPUT, REPEAT, OUTPUT], limits=[1, 4, 1])
    s.give[1] = [1.0] * left + [0.0] * 9
    assert s.run() == (getattr(runtime.c, reason) if reason else runtime.c.PL_DONE)
    assert s.calls.count(1) == calls
    if not reason:
        assert s.calls == [0, *[1] * calls, 2]
        assert s.h[1] == 0.0 and s.r.rounds == 0


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("kind", [OUTPUT, UPDATE])
def test_what_is_no_number_ends_the_run_at_its_segment_and_writes_nothing(runtime, bad, kind):
    s = Schedule(runtime, [OUTPUT, kind, OUTPUT])
    s.give[1] = [bad]
    assert s.run() == runtime.c.PL_NOT_FINITE
    assert (s.r.index, s.r.segment, s.h[1], s.context.next[1]) == (1, 1, -1.0, -2.0)
    assert s.calls == [0, 1]


def test_the_host_is_called_for_an_external_one_unless_something_else_answers(runtime):
    s = Schedule(runtime, [OUTPUT, EXTERNAL, OUTPUT])
    assert s.run() == runtime.c.PL_CALL
    assert (s.r.index, s.r.segment, s.r.out[0], s.h[1]) == (1, 2, 20.0, -1.0)
    assert s.run() == runtime.c.PL_DONE and s.calls == [0, 1, 2]

    asked = []

    def answer(own, row):
        asked.append(row[0])
        row[0] = 77.0
        return len(asked) - 1

    visits = runtime.ffi.new("pl_foreign[3]")
    visits[1].call = kept = runtime.function("int(const void *, double *)", answer)
    s = Schedule(runtime, [OUTPUT, EXTERNAL, OUTPUT])
    s.r.visits = visits
    assert s.run() == runtime.c.PL_DONE and s.calls == [0, 1, 2]
    assert (s.h[1], asked) == (77.0, [20.0]) and kept
    s.r.segment = 0
    assert s.run() == runtime.c.PL_CALL  # it could not
    s.give[1], s.r.segment = [math.nan], 0
    assert s.run() == runtime.c.PL_CALL and len(asked) == 2  # not asked with what is no number


def test_loops_are_solved_in_their_turn_and_events_come_before_what_follows(runtime):
    s = Schedule(runtime, [OUTPUT, SOLVE, OUTPUT])
    s.r.held_known = s.r.events_known = s.r.accepted_known = 1
    assert s.run() == runtime.c.PL_DONE and s.calls == [0, 2]
    assert (s.context.w[0], s.r.held_known, s.r.accepted_known) == (101.0, 0, 0)
    s.context.w[1], s.r.segment = 1.0, 0
    assert s.run() == 1 and s.r.index == 1

    s = Schedule(runtime, [OUTPUT, EVENTS, OUTPUT])
    s.r.system.n_event_times = 1
    s.r.system.event_time_place, s.r.system.event_time_event = ints(runtime, 0), ints(runtime, 0)
    s.r.system.timed_segment = ints(runtime, 1)
    s.give[0] = [2.0, 3.0]
    assert s.run() == -1  # it is due at 2 s: PL_EVENTS_DUE
    assert (s.r.segment, s.calls) == (2, [0])
    s.r.segment = 0
    assert s.run() == runtime.c.PL_DONE and s.calls == [0, 0, 2]


def test_modes_at_a_start_follow_each_other_and_invariants_hold(runtime):
    """h[2] follows h[1], h[1] follows h[0], which is 4; a third round says that nothing changes."""
    rounds = []

    def starting(a, out):
        rounds.append(a.t)
        out[0:3] = [a.h[1], a.h[0], 4.0]

    h, x = runtime.array([0.0, 0.0, 0.0, 9.0]), runtime.array([0.0])
    r = runtime.run(
        {"starting": runtime.function(CODE, starting)},
        {"n_starting": 3, "starting": ints(runtime, 2, 1, 0), "n_invariants": 1},
        context=runtime.new("pl_context", t=3.0, h=h, x=x), out=runtime.array([0.0] * 4),
    )  # fmt: skip
    r.a.h = h
    assert runtime.c.pl_initialise(r) == runtime.c.PL_DONE
    assert list(h[0:4]) == [4.0, 4.0, 4.0, 9.0] and x[0] == 7.0
    assert rounds == [3.0] * 4 and r.context.started
    assert runtime.c.pl_initialise(r) == runtime.c.PL_DONE and len(rounds) == 5  # nothing changes any more
    r.system.n_starting = r.system.n_invariants = 0
    x[0] = 0.0
    assert runtime.c.pl_initialise(r) == runtime.c.PL_DONE and (len(rounds), x[0]) == (5, 0.0)
    r.system.n_starting, r.unsolved = 3, 1
    assert runtime.c.pl_initialise(r) == runtime.c.PL_NO_SOLUTION
