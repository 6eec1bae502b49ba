"""One step of a coupling in C, phase by phase: what units get, when our own blocks go, what is delivered.

Steps of units and of our blocks are stubs that note their calls.
"""

from __future__ import annotations

import math

import pytest

from tests.helpers.runtime_parts import Runtime, parts

TEXTS = {
    "curves": '#include "curves.c"',
    "exchange": '#include "exchange.c"\nvoid pl_set_arguments(pl_run *r, double t, const double *x) {}',
    "macro_step": """#include "macro_step.c"
#include <stdio.h>
static char story[1000];
static int stops, answer;
static double next_stop;
#define note(...) snprintf(story + strlen(story), sizeof story - strlen(story), __VA_ARGS__)
const char *told(void) { return story; }
void begin(int chosen, int has_stops, double next)
{
    story[0] = 0, answer = chosen, stops = has_stops, next_stop = next;
}
int pl_step_unit(pl_fmu_unit *u, double t1, int held) { note("step(%g,%d) ", t1, held); return answer; }
int pl_unit_arrived(pl_fmu_unit *u) { note("arrived "); return answer; }
int pl_iterate(pl_coupling *m) { note("iterate "); return answer; }
int pl_advance(pl_run *r, double t) { note("advance(%g,%d) ", t, r->approach); return answer; }
void pl_reset(pl_run *r) { note("reset "); }
double pl_next_stop(const pl_run *r) { return next_stop; }
int pl_has_stops(const pl_run *r) { return stops; }
int64_t pl_instants_passed(const pl_run *r) { return r->n; }
int iterated_now(pl_coupling *m) { return is_iterated(m); }
int unit_steps(pl_coupling *m, pl_fmu_unit *u) { return step_unit(m, u); }
int next_one(pl_coupling *m) { return next_in_order(m); }
void leads_on(pl_coupling *m, pl_fmu_unit *u) { lead_on(m, u); }
int one_arrived(pl_coupling *m) { return arrived(m); }
int delivers(pl_coupling *m) { return deliver(m); }
int samples(pl_coupling *m) { return sample(m); }
""",
}
CALLED = """
enum { PL_BEGIN = 0, PL_ITERATE, PL_CONTROL, PL_NEXT_IN_ORDER, PL_ARRIVED, PL_APPROACH, PL_DELIVER, PL_ARRIVE,
       PL_SAMPLE };
const char *told(void);
void begin(int chosen, int has_stops, double next);
void pl_begin_macro_step(pl_coupling *m, double t1);
int pl_walk_macro_step(pl_coupling *m);
int iterated_now(pl_coupling *m);
int unit_steps(pl_coupling *m, pl_fmu_unit *u);
int next_one(pl_coupling *m);
void leads_on(pl_coupling *m, pl_fmu_unit *u);
int one_arrived(pl_coupling *m);
int delivers(pl_coupling *m);
int samples(pl_coupling *m);
"""


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(*parts(tmp_path_factory.mktemp("parts"), TEXTS, CALLED))


class Coupling:
    """Units of two inputs and two outputs each; those of unit k are inputs 2 k, 2 k + 1, in h from 20 k on.

    An output's value, slope and curvature are at h[20 k + 3 i ...], the time they count from at h[20 k + 9],
    and inputs are read off h[20 k + 10 + i].
    """

    def __init__(self, runtime, n=2, most=3, **fields):
        self.r, self.c, r = runtime, runtime.c, runtime
        ints = lambda *values: r.array(values, "int32_t")
        self.h = r.array([100.0 + k for k in range(20 * n)])
        context = r.new("pl_context", t=2.0, h=self.h, p=r.array([0.0]))
        self.log = r.new("pl_log")
        self.run = r.new("pl_run", context=context, log=self.log, model=r.new("pl_model", nh=20 * n), n=4)
        self.run.counters.events = 7
        self.units = r.array([{} for _ in range(n)], "pl_fmu_unit")
        for k, u in enumerate([self.units[k] for k in range(n)]):
            u.start, u.arriving, u.since, u.time, u.next = 2 * k, 1, 20 * k + 9, 2.0, math.nan
            u.y, u.slope, u.curvature = (ints(20 * k + j, 20 * k + 3 + j) for j in range(3))
            u.smooth_inputs, u.smooth_outputs, u.late = ints(1, 1), ints(1, 1), ints(0, 1)
            u.assumed, u.value, u.bend, u.curve = (r.array([-1.0] * 2) for _ in range(4))
            u.rows, u.kind = r.array([0.0] * 20), r.array([9] * 4, "uint8_t")
            # at 2, 1 and 0 s; inputs t and 10 - 2 t, outputs 3 t and 1
            for s, values in ((u.u, [2, 6, 1, 8, 0, 10]), (u.out, [6, 1, 3, 1, 0, 1])):
                s.n, s.count, s.most, s.values = 2, min(most, 3), most, r.array([float(v) for v in values])
                s.time = [2.0, 1.0, 0.0]
        wires = [20 * (k // 2) + 10 + k % 2 for k in range(2 * n)]
        self.m = r.new(
            "pl_coupling", run=self.run, units=self.units, n_units=n, n_inputs=2 * n, n_sequence=n + 1,
            sequence=ints(-1, *range(n)), inputs=r.array([-5.0] * (2 * n + 6)), t1=2.5, events=7, instants=4,
            wires=ints(*wires), wire_adds=r.array([0.0] * 2 * n), **fields,
        )  # fmt: skip
        self.m.wired = r.array([self.h + k for k in wires], "const double *")

    def call(self, name, *arguments, answer=0, stops=0, next=math.inf):
        """What it returns, and what was called."""
        self.c.begin(answer, stops, next)
        found = getattr(self.c, name)(self.m, *arguments)
        return found, self.r.ffi.string(self.c.told()).decode().strip()


@pytest.mark.parametrize(
    ("iterate", "begins", "arriving", "counts", "expected"),
    [
        (0, 0, (1, 1), (1, 1), 0), (1, 0, (1, 0), (3, 3), 1), (1, 0, (0, 0), (1, 1), 0),
        (0, 1, (1, 1), (2, 2), 0), (0, 1, (1, 1), (2, 1), 1), (0, 1, (1, 0), (2, 1), 0),
        (0, 1, (0, 1), (2, 1), 1), (0, 1, (1, 0), (0, 3), 1),
    ],
)  # fmt: skip
def test_a_step_is_iterated_where_asked_or_where_a_unit_begins(
    runtime, iterate, begins, arriving, counts, expected
):
    one = Coupling(runtime, iterate=iterate, begins_iterated=begins)
    for k in range(2):
        one.units[k].arriving, one.units[k].u.count = arriving[k], counts[k]
    assert bool(one.c.iterated_now(one.m)) == bool(expected)
    one.call("pl_begin_macro_step", 3.0)
    assert one.m.phase == (one.c.PL_ITERATE if expected else one.c.PL_NEXT_IN_ORDER)


def test_our_blocks_are_quiet_where_nothing_of_theirs_is_due(runtime):
    one = Coupling(runtime, idle=1)
    one.log.times, one.log.n_times = runtime.array([2.0, 3.0, 4.0]), 3

    def quiet(t1, position=1, every=0, **stops):
        one.log.position, one.log.every_step = position, every
        one.m.place = one.m.ours_done = 5
        one.call("pl_begin_macro_step", t1, **stops)
        assert (one.m.t1, one.m.events, one.m.instants, one.m.place, one.m.ours_done) == (t1, 7, 4, 0, 0)
        return bool(one.m.quiet)

    assert quiet(2.5) and not quiet(3.0) and not quiet(3.0 - 1e-12) and quiet(3.0 - 1e-11)
    assert quiet(4.0, position=3) and not quiet(2.5, every=1)
    assert (
        not quiet(2.5, stops=1, next=2.5) and quiet(2.5, stops=1, next=2.6) and quiet(2.5, stops=0, next=2.0)
    )
    one.m.idle = 0
    assert not quiet(2.5)


@pytest.mark.parametrize(("order", "at_end"), [(0, [2.0, 6.0]), (1, [2.5, 5.0]), (2, [2.5, 5.0])])
def test_inputs_of_a_step_lead_on_from_those_before(runtime, order, at_end):
    one = Coupling(runtime, order=order)
    u = one.units[1]
    assert one.call("unit_steps", one.units + 1, answer=5) == (5, "step(2.5,0)")
    assert list(u.assumed[0:2]) == pytest.approx(at_end) and list(u.value[0:2]) == [2.0, 6.0]
    assert list(u.bend[0:2]) == pytest.approx([1.0, -2.0] if order else [0.0, 0.0])


@pytest.mark.parametrize("ours_done", [0, 1])
def test_the_newest_inputs_are_those_at_the_end(runtime, ours_done):
    """An input that follows our own states is led on while these are still at the beginning."""
    one = Coupling(runtime, order=1, newest=1, ours_done=ours_done)
    one.h[30], one.h[31] = 4.0, 9.0
    u = one.units[1]
    assert one.call("unit_steps", one.units + 1) == (0, "step(2.5,1)")
    assert list(u.assumed[0:2]) == pytest.approx([4.0, 9.0 if ours_done else 5.0])
    assert list(u.bend[0:2]) == pytest.approx([4.0, 6.0 if ours_done else -2.0])
    one.h[30] = math.nan
    assert one.call("unit_steps", one.units + 1) == (one.c.PL_UNITS_NOT_FINITE, "")


def test_units_and_our_own_blocks_come_in_their_order(runtime):
    one = Coupling(runtime)
    c = one.c
    assert one.call("next_one") == (0, "reset") and (one.m.unit, one.m.phase, one.m.place) == (
        -1,
        c.PL_APPROACH,
        1,
    )
    assert one.run.approach == 1
    assert one.call("next_one", answer=5) == (5, "step(2.5,0)") and (one.m.unit, one.m.phase) == (
        0,
        c.PL_ARRIVED,
    )
    one.m.phase, one.units[1].arriving = 0, 0
    assert one.call("next_one") == (0, "") and (one.m.unit, one.m.phase) == (1, 0)
    assert one.call("next_one") == (0, "") and one.m.phase == c.PL_DELIVER


@pytest.mark.parametrize(
    ("quiet", "t1", "goes", "t"), [(1, 2.5, 0, 2.5), (0, 2.5, 1, 2.0), (0, 2.0, 0, 2.0), (0, 1.5, 0, 2.0)]
)
def test_our_own_blocks_go_where_there_is_a_way(runtime, quiet, t1, goes, t):
    one = Coupling(runtime)
    one.m.quiet, one.m.t1 = quiet, t1
    assert one.call("next_one") == (0, "reset" if goes else "")
    assert one.m.phase == (one.c.PL_APPROACH if goes else one.c.PL_NEXT_IN_ORDER)
    assert (one.m.ours_done, one.run.context.t, one.run.approach) == (1 - goes, t, goes)
    one.m.place, one.units[1].ended = 0, 1
    assert one.call("next_one") == (one.c.PL_UNITS_ENDED, "")


def outputs(one, k):
    """Values, slopes and curvatures in h, and the time they count from."""
    h = one.h
    return [[h[20 * k + 3 * i + j] for i in range(2)] for j in range(3)], h[20 * k + 9]


def test_who_comes_later_sees_outputs_that_lead_to_the_newest(runtime):
    """From 3 and 1 at 1 s to 6 and 1 at the end; without curves the newest are held."""
    one = Coupling(runtime, order=1, newest=1)
    one.m.t1 = 2.0
    one.c.leads_on(one.m, one.units + 1)
    (value, slope, curvature), since = outputs(one, 1)
    assert (value, slope, curvature, since) == ([3.0, 1.0], [3.0, 0.0], [0.0, 0.0], 1.0)
    assert outputs(one, 0)[1] == 109.0  # of the other unit nothing
    one = Coupling(runtime, order=2, newest=1)
    one.units[1].out.values[2] = 4.0  # at 1 s, so that it is curved: 0, 4, 6
    one.m.t1 = 2.0
    one.c.leads_on(one.m, one.units + 1)
    (value, slope, curvature), since = outputs(one, 1)
    assert since == 1.0 and value == [4.0, 1.0]
    assert value[0] + slope[0] + curvature[0] / 2 == pytest.approx(6.0)
    one = Coupling(runtime, order=0, newest=1)
    one.c.leads_on(one.m, one.units + 1)
    assert outputs(one, 1) == ([[6.0, 1.0], [0.0, 0.0], [0.0, 0.0]], 2.0)


def test_a_unit_that_arrived(runtime):
    one = Coupling(runtime, order=1)
    c, events = one.c, runtime.new("pl_fmu_events")
    one.m.unit, one.m.phase = 1, c.PL_ARRIVED
    assert one.call("one_arrived", answer=5) == (5, "arrived") and one.m.phase == c.PL_ARRIVED
    assert one.call("one_arrived") == (0, "arrived") and one.m.phase == c.PL_NEXT_IN_ORDER
    assert outputs(one, 1)[1] == 129.0 and one.units[1].out.count == 3
    one.units[1].events = events
    one.call("one_arrived")
    assert one.units[1].out.count == 3
    events.jumped = 1
    one.call("one_arrived")
    assert one.units[1].out.count == 1
    one.units[1].events = runtime.ffi.NULL
    one.m.newest, one.units[1].out.count, one.m.t1 = 1, 3, 2.0
    assert one.call("one_arrived") == (0, "arrived") and outputs(one, 1)[1] == 1.0
    one.units[1].ended = 1
    assert one.call("one_arrived")[0] == c.PL_UNITS_ENDED
    one.m.newest = 0
    assert one.call("one_arrived")[0] == 0


def test_outputs_are_delivered_and_what_was_assumed_is_logged(runtime):
    """What a unit gets in visits was not assumed; one that does not arrive is left alone."""
    one = Coupling(runtime, order=1)
    one.units[0].arriving = 0
    one.h[30], one.h[31] = 4.0, 9.0
    events = runtime.new("pl_fmu_events", n_given=1, given=runtime.array([1, 0], "int32_t"))
    one.units[1].events = events
    assert one.c.delivers(one.m) == 0 and one.m.phase == one.c.PL_ARRIVE
    u = one.units[1]
    assert list(u.rows[0:5]) == [2.5, -1.0, 9.0, 4.0, 9.0] and (u.count, u.used, u.kind[0]) == (1, 5, 0)
    assert outputs(one, 1) == ([[6.0, 1.0], [3.0, 0.0], [0.0, 0.0]], 2.0)
    assert one.units[0].count == 0 and outputs(one, 0)[1] == 109.0 and u.out.count == 3
    one.run.counters.events = 8  # something has happened: what was before leads nowhere
    assert one.c.delivers(one.m) == 0 and u.out.count == 1
    assert outputs(one, 1) == ([[6.0, 1.0], [0.0, 0.0], [0.0, 0.0]], 2.0)
    one.h[31] = math.inf
    assert one.c.delivers(one.m) == one.c.PL_UNITS_NOT_FINITE


@pytest.mark.parametrize(("events", "instants", "jumped"), [(7, 4, 0), (8, 4, 1), (7, 5, 1)])
def test_inputs_are_sampled_at_the_end(runtime, events, instants, jumped):
    """Where something has jumped those before lead nowhere; a unit that is due as well is sampled too."""
    one = Coupling(runtime, order=1)
    one.run.counters.events, one.run.n = events, instants
    one.units[0].arriving, one.units[0].next = 0, 2.5
    one.units[0].time = one.units[1].time = 2.5
    one.h[10], one.h[11], one.h[30], one.h[31] = 1.0, 2.0, 3.0, 4.0
    assert one.c.samples(one.m) == 0 and (one.m.phase, one.m.macro_steps) == (one.c.PL_BEGIN, 1)
    for k, values in ((0, [1.0, 2.0]), (1, [3.0, 4.0])):
        u = one.units[k]
        assert list(u.u.values[0:2]) == values and u.u.time[0] == 2.5 and math.isnan(u.next)
        assert u.u.count == (1 if jumped and k == 1 else 3)
    one.units[0].next, one.units[0].ended = 2.6, 1
    one.h[10] = 50.0
    assert one.c.samples(one.m) == 0 and one.units[0].u.values[0] == 1.0 and one.units[0].next == 2.6
    one.units[1].ended = 1
    assert one.c.samples(one.m) == one.c.PL_UNITS_LEFT


def test_visits_change_outputs_and_may_make_them_jump(runtime):
    one = Coupling(runtime, order=1, with_events=1)
    quiet, loud = runtime.new("pl_fmu_events", visits=0), runtime.new("pl_fmu_events", visits=1)
    one.units[0].events, one.units[1].events = quiet, loud
    assert one.c.samples(one.m) == 0
    assert outputs(one, 0)[1] == 109.0 and outputs(one, 1)[1] == 2.0
    assert one.units[0].u.count == one.units[1].u.count == 3
    loud.jumped = 1
    one.units[1].arriving = 0
    one.c.samples(one.m)
    assert one.units[0].u.count == 3  # of one that does not arrive
    one.units[1].arriving = 1
    one.units[0].time = 2.5
    one.c.samples(one.m)
    assert one.units[0].u.count == one.units[1].u.count == 1


def test_phases_follow_each_other_to_the_end_of_a_step(runtime):
    one = Coupling(runtime, order=1)
    one.call("pl_begin_macro_step", 2.5)
    found, story = one.call("pl_walk_macro_step")
    assert found == 0 and one.m.macro_steps == 1
    assert story == "reset advance(2.5,1) step(2.5,0) arrived step(2.5,0) arrived advance(2,0) reset"
    one = Coupling(runtime, iterate=1)
    one.call("pl_begin_macro_step", 2.5)
    assert one.call("pl_walk_macro_step", answer=100) == (100, "iterate") and one.m.phase == one.c.PL_BEGIN
    one.call("pl_begin_macro_step", 2.5)
    assert one.call("pl_walk_macro_step") == (0, "iterate advance(2,0) reset")
    assert one.m.macro_steps == 1 and one.call("pl_walk_macro_step") == (0, "")
