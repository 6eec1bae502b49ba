"""Steps of units in C in which nothing else happens, by their functions alone: when, and for how long."""

from __future__ import annotations

import math

import pytest

from tests.helpers.runtime_parts import Runtime, parts

TEXTS = {
    "steady": """#include "steady.c"
int points_are_counted(const pl_coupling *m) { return counts_points(m); }
double nothing_until(const pl_coupling *m, double until, int counted)
{ return free_until(m, until, counted); }
int64_t room_for(const pl_coupling *m, int counted) { return room(m, counted); }
int held_row(pl_run *r, pl_buffer *b, double t) { return log_held(r, b, t); }
int pl_has_stops(const pl_run *r) { return r->index; }
double pl_next_listed(const pl_run *r) { return 3.0; }
double pl_next_stop(const pl_run *r) { return 2.0; }
""",
}
CALLED = """
int pl_is_steady(const pl_coupling *m);
int points_are_counted(const pl_coupling *m);
double nothing_until(const pl_coupling *m, double until, int counted);
int64_t room_for(const pl_coupling *m, int counted);
int held_row(pl_run *r, pl_buffer *b, double t);
"""


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(*parts(tmp_path_factory.mktemp("parts"), TEXTS, CALLED))


def coupling(runtime, n=2, rates=2, **fields):
    """Units at their third point of the same rate, and our own blocks that are idle."""
    units = runtime.ffi.new("pl_fmu_unit[]", max(n, 1))
    for u in units:
        u.first, u.period, u.points, u.capacity, u.count, u.u.count = 1, 4, 3, 10, 2, 1
    log = runtime.new("pl_log", times=runtime.array([0.5, 1.5, -1e6]), n_times=2)
    context = runtime.new("pl_context", ticks=runtime.array([3] * rates, "int64_t"))
    ticks = runtime.ffi.new("pl_buffer[]", max(rates, 1))
    log.ticks = ticks
    r = runtime.run({}, {"n_rates": rates}, log=log, context=context)
    m = runtime.new("pl_coupling", run=r, units=units, n_units=n, idle=1, only_counts=1, **fields)
    runtime.kept += [units, ticks, log, context]
    return m


def test_steps_are_steady_where_units_of_one_rate_do_nothing_else(runtime):
    assert runtime.c.pl_is_steady(coupling(runtime))
    assert runtime.c.pl_is_steady(coupling(runtime, n=1))
    assert not runtime.c.pl_is_steady(coupling(runtime, n=0))
    for field in ("order", "with_events", "iterate", "begins_iterated", "controlled"):
        assert not runtime.c.pl_is_steady(coupling(runtime, **{field: 1})), field
    m = coupling(runtime)
    m.idle = 0
    assert not runtime.c.pl_is_steady(m)
    for field in ("first", "period", "points"):
        m = coupling(runtime, n=3)
        setattr(m.units[2], field, getattr(m.units[2], field) + 1)
        assert not runtime.c.pl_is_steady(m), field
    for k in range(2):
        m = coupling(runtime)
        m.units[k].u.count = 0
        assert not runtime.c.pl_is_steady(m)


def test_our_own_blocks_count_points_where_all_their_rates_have_as_many(runtime):
    assert runtime.c.points_are_counted(coupling(runtime))
    assert not runtime.c.points_are_counted(coupling(runtime, rates=0))
    assert not runtime.c.points_are_counted(coupling(runtime, newest=1))
    m = coupling(runtime)
    m.only_counts = 0
    assert not runtime.c.points_are_counted(m)
    m = coupling(runtime)
    m.run.context.origin = 0.5
    assert not runtime.c.points_are_counted(m)
    for k in range(2):
        m = coupling(runtime)
        m.run.context.ticks[k] = 4
        assert not runtime.c.points_are_counted(m)


def test_nothing_happens_until_the_first_stop_or_time_that_is_logged(runtime):
    """Log times at 0.5 and 1.5 s, less 2e-12 of them; a stop at 2 s, and 3 s beside counted ticks."""
    m = coupling(runtime)
    until = lambda end, counted=0: runtime.c.nothing_until(m, end, counted)
    assert until(9.0) == pytest.approx(0.5 - 1e-12, rel=1e-15)
    assert until(0.25) == 0.25
    m.run.log.position = 1
    assert until(9.0) == pytest.approx(1.5 - 3e-12, rel=1e-15)
    m.run.log.position = 2
    assert until(9.0) == 9.0
    m.run.index = 1
    assert (until(9.0), until(9.0, 1), until(2.5), until(2.5, 1), until(1.0)) == (2.0, 3.0, 2.0, 2.5, 1.0)
    m.run.log.every_step = 1
    assert until(9.0) == -math.inf
    m.run.log.every_step, m.run.log.n_times, m.run.index = 0, 3, 0
    assert until(9.0) == pytest.approx(-1e6 - 2e-6, rel=1e-15)


def test_there_are_as_many_steps_as_all_that_is_logged_has_room_for(runtime):
    m = coupling(runtime, n=3)
    assert runtime.c.room_for(m, 0) == 8
    m.units[1].count = 7
    assert runtime.c.room_for(m, 0) == 3
    ticks = m.run.log.ticks
    ticks[1].capacity, ticks[1].count, ticks[1].width = 5, 4, 1
    assert (runtime.c.room_for(m, 0), runtime.c.room_for(m, 1)) == (3, 1)
    ticks[1].width = 0  # nothing is kept of it
    assert runtime.c.room_for(m, 1) == 3
    ticks[0].width, ticks[0].capacity = 1, 2
    assert runtime.c.room_for(m, 1) == 2
    assert runtime.c.room_for(coupling(runtime, n=0), 0) == 2**63 - 1


@pytest.mark.parametrize("bad", [None, 0, 1])
def test_samples_that_are_held_are_a_row_if_all_are_numbers(runtime, bad):
    h = runtime.array([1.0, math.nan, 3.0, 4.0])
    rows = runtime.array([-5.0] * 9)
    b = runtime.new(
        "pl_buffer", rows=rows, width=2, count=1, capacity=2, held=runtime.array([3, 0], "int32_t")
    )
    r = runtime.run(context=runtime.new("pl_context", h=h), last_good=-1.0)
    if bad is not None:
        h[(3, 0)[bad]] = (math.nan, -math.inf)[bad]
    assert bool(runtime.c.held_row(r, b, 0.75)) == (bad is None)
    assert (b.count, r.last_good) == ((2, 0.75) if bad is None else (1, -1.0))
    assert list(rows[0:3]) == [-5.0] * 3 and rows[3] == 0.75 and list(rows[6:9]) == [-5.0] * 3
    if bad is None:
        assert list(rows[4:6]) == [4.0, 1.0]
