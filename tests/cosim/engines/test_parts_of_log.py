"""What a run keeps, in C, by its functions alone: which rows, with which times, and where there is room."""

from __future__ import annotations

import math

import pytest

from tests.helpers.runtime_parts import Runtime, parts

TEXTS = {
    "log": """#include "log.c"
void pl_interpolate(pl_run *r, double t, double *x) { x[0] = 2.0 * t; }
int pl_project(pl_run *r, double t, double *x) { x[0] += 0.5; return 1; }""",
    "evaluate": '#include "evaluate.c"\nvoid pl_update_w(void *r, const pl_args *a) {}',
    "norms": '#include "norms.c"',
}
CALLED = """
int pl_log_within(pl_run *r);
int pl_log_ticks(pl_run *r);
int pl_log_step(pl_run *r, double t, const double *x);
int pl_log_instant(pl_run *r);
"""
CODE = "void(const pl_args *, double *)"


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(*parts(tmp_path_factory.mktemp("parts"), TEXTS, CALLED))


class Log:
    """A run with signals 10 x and 20 x of one state, which logs the second, the first, x, h[1] and p[0].

    rates : rows there is room for, of each rate, whose samples are the first signal alone
    """

    def __init__(self, runtime, times, capacity=9, every_step=0, rates=(), due=(), nx=1, **context):
        ints = lambda *values: runtime.array(values, "int32_t")
        self.runtime, self.called = runtime, []
        pieces = [runtime.function(CODE, lambda a, out, k=k: self.signal(k, a, out)) for k in range(2)]
        self.x, h, p = runtime.array([1.5]), runtime.array([5.0, 6.0]), runtime.array([7.0])
        self.log = runtime.new(
            "pl_log", every_step=every_step, times=runtime.array([*times, -1.0]), n_times=len(times)
        )
        self.buffer(self.log.log, [1, 0, 2, 4, 5], [0, 1], [2, 4, 5], capacity)
        self.ticks = runtime.ffi.new("pl_buffer[]", max(1, len(rates)))
        for b, room in zip(self.ticks, rates, strict=False):
            self.buffer(b, [0] if room >= 0 else [], [0], [], abs(room))
        self.log.ticks = self.ticks
        self.context = runtime.new("pl_context", x=self.x, h=h, p=p, **context)
        self.r = runtime.run(
            {"nx": nx, "nh": 2, "np": 1, "ny": 2, "signals": runtime.array(pieces, "pl_function"),
             "n_pieces": 2},
            {"n_rates": len(rates)}, context=self.context, log=self.log, y=runtime.array([0.0] * 7),
            scratch=runtime.array([0.0]), due=ints(*due, 0), t0=0.0, t1=1.0, end=1.0, last_good=-1.0,
            integrated1=runtime.array([3.0]), f1=runtime.array([0.0]),
        )  # fmt: skip
        self.r.a.h, self.r.a.p, self.r.a.x = h, p, self.x
        self.bad = math.inf

    def buffer(self, b, places, pieces, inner, capacity):
        ints = lambda values: self.runtime.array([*values, 99], "int32_t")
        b.places, b.pieces, b.inner, b.width = ints(places), ints(pieces), ints(inner), len(places)
        b.n_pieces, b.n_inner, b.capacity = len(pieces), len(inner), capacity
        b.rows = self.runtime.array([-5.0] * (capacity + 1) * (len(places) + 1))

    def signal(self, k, a, out):
        self.called.append(k)
        value = a.x[0] if a.x[0] < self.bad else math.nan
        out[k] = 10.0 * (k + 1) * value

    def rows(self, b=None):
        b = self.log.log if b is None else b
        n = b.width + 1
        return [list(b.rows[k * n : (k + 1) * n]) for k in range(b.count)]


def row(t, x):
    return [t, 20 * x, 10 * x, x, 6.0, 7.0]


def test_rows_inside_a_step_are_those_before_its_end(runtime):
    """At 0.25 s, one before the step, and at 1 s less a half of 1e-12, which is the end."""
    log = Log(runtime, [-0.5, 0.25, 0.75, 1 - 2e-12, 1 - 0.5e-12, 2.0])
    assert runtime.c.pl_log_within(log.r) == runtime.c.PL_DONE
    assert log.rows() == [
        [-0.5, *row(0.0, 0.0)[1:]],
        row(0.25, 0.5),
        row(0.75, 1.5),
        row(1 - 2e-12, 2 - 4e-12),
    ]
    assert (log.log.position, log.r.last_good) == (4, 1 - 2e-12)
    log = Log(runtime, [0.25])
    log.r.system.n_invariants = 1
    assert runtime.c.pl_log_within(log.r) == runtime.c.PL_DONE and log.rows() == [row(0.25, 1.0)]
    log = Log(runtime, [0.25], nx=0)
    log.r.model.nx = 0
    runtime.c.pl_log_within(log.r)
    assert log.rows()[0][1:3] == [30.0, 15.0]  # of the context
    log = Log(runtime, [0.25], every_step=1)
    assert runtime.c.pl_log_within(log.r) == runtime.c.PL_DONE and log.rows() == []


def test_a_log_without_room_is_asked_for_and_goes_on_with_the_same_row(runtime):
    log = Log(runtime, [0.25, 0.5], capacity=1)
    assert runtime.c.pl_log_within(log.r) == runtime.c.PL_FULL and log.log.position == 1
    log.log.log.count = 0
    assert runtime.c.pl_log_within(log.r) == runtime.c.PL_DONE and log.rows() == [row(0.5, 1.0)]


@pytest.mark.parametrize(
    ("bad", "f1", "end_known", "end", "at"),
    [
        (1.0, 0.0, 1, 3.0, 0.5), (1.0, math.nan, 0, 3.0, 0.5), (1.0, 0.0, 1, math.inf, 0.5),
        (1.0, math.nan, 1, 3.0, 0.5),
    ],
)  # fmt: skip
def test_what_is_no_number_inside_a_step_is_told_at_its_row(runtime, bad, f1, end_known, end, at):
    log = Log(runtime, [0.25, 0.5])
    log.bad, log.r.f1[0], log.r.end_known, log.r.integrated1[0] = bad, f1, end_known, end
    assert runtime.c.pl_log_within(log.r) == runtime.c.PL_NOT_FINITE
    assert (log.context.t, log.x[0], log.log.log.count) == (at, 2 * at, 1)


@pytest.mark.parametrize(
    ("times", "t", "rows", "position"),
    [
        ([1.0, 2.0], 1.0, [1.0], 1), ([1.0, 1.0, 2.0], 1.0, [1.0, 1.0], 2), ([2.0], 1.0, [], 0),
        ([1 + 0.9e-12, 2.0], 1.0, [1 + 0.9e-12], 1), ([1 + 1.1e-12], 1.0, [], 0),
        ([-1 + 0.9e-12], -1.0, [-1 + 0.9e-12], 1),
        ([], 1.0, [], 0), ([100 + 0.9e-10], 100.0, [100 + 0.9e-10], 1),
    ],
)  # fmt: skip
def test_an_instant_is_logged_at_the_times_asked_for(runtime, times, t, rows, position):
    log = Log(runtime, times, t=t)
    assert runtime.c.pl_log_ticks(log.r) == runtime.c.PL_DONE
    assert runtime.c.pl_log_instant(log.r) == runtime.c.PL_DONE
    assert log.rows() == [row(time, 1.5) for time in rows] and log.log.position == position
    assert log.called == ([0, 1] if rows else [])


@pytest.mark.parametrize(
    ("times", "before", "last"),
    [([0.5, 2.0], [0.5], [0.5, 1.0]), ([0.5, 1.0], [0.5, 1.0], [0.5, 1.0]),
     ([1.0 - 0.9e-12], [1.0 - 0.9e-12], [1.0 - 0.9e-12]),
     ([1.0 - 1.1e-12], [1.0 - 1.1e-12], [1.0 - 1.1e-12, 1.0]), ([2.0], [], [1.0])],
)  # fmt: skip
def test_the_end_of_a_run_that_was_stopped_is_its_last_row(runtime, times, before, last):
    """At 1 s, where it was logged before an event already, as the `before` say."""
    log = Log(runtime, times, t=1.0, stopped=2)
    log.log.position = log.log.log.count = len(before)
    for k, time in enumerate(before):
        log.log.log.rows[6 * k] = time
    assert runtime.c.pl_log_ticks(log.r) == runtime.c.PL_DONE and log.called == [0, 1]
    assert runtime.c.pl_log_instant(log.r) == runtime.c.PL_DONE
    assert [r[0] for r in log.rows()] == last and log.rows()[-1][1:] == row(1.0, 1.5)[1:]


def test_a_stopped_run_needs_room_for_its_end(runtime):
    log = Log(runtime, [2.0], capacity=1, t=1.0, stopped=1)
    log.log.log.count = 1
    assert runtime.c.pl_log_instant(log.r) == runtime.c.PL_FULL
    log = Log(runtime, [1.0], capacity=0, t=1.0)
    assert runtime.c.pl_log_instant(log.r) == runtime.c.PL_FULL and log.log.position == 0
    log = Log(runtime, [], capacity=1, t=1.0, stopped=1, every_step=1)
    log.log.log.count = 1
    assert runtime.c.pl_log_instant(log.r) == runtime.c.PL_FULL


def test_every_step_is_a_row_and_an_instant_one_more(runtime):
    log = Log(runtime, [0.2], every_step=1, t=1.0, capacity=2, stopped=1)
    assert runtime.c.pl_log_step(log.r, 0.5, runtime.array([4.0])) == runtime.c.PL_DONE
    assert runtime.c.pl_log_ticks(log.r) == runtime.c.PL_DONE
    assert runtime.c.pl_log_instant(log.r) == runtime.c.PL_DONE
    assert log.rows() == [row(0.5, 4.0), row(1.0, 1.5)]
    assert runtime.c.pl_log_step(log.r, 0.5, log.x) == runtime.c.PL_FULL
    log = Log(runtime, [0.2])
    assert runtime.c.pl_log_step(log.r, 0.5, log.x) == runtime.c.PL_DONE and log.rows() == []


def test_what_is_no_number_at_a_step_an_instant_or_a_tick_ends_the_run_there(runtime):
    log = Log(runtime, [1.0], every_step=1, t=1.0)
    log.bad = 1.0
    assert runtime.c.pl_log_step(log.r, 0.5, runtime.array([4.0])) == runtime.c.PL_NOT_FINITE
    assert (log.context.t, log.x[0], log.rows(), log.r.last_good) == (0.5, 4.0, [], -1.0)
    for every in (0, 1):
        log = Log(runtime, [1.0], t=1.0, every_step=every)
        log.bad = 1.0
        assert runtime.c.pl_log_ticks(log.r) == runtime.c.PL_DONE
        assert runtime.c.pl_log_instant(log.r) == runtime.c.PL_NOT_FINITE and log.rows() == []
    log = Log(runtime, [2.0], t=1.0, rates=[3], due=[1])
    log.bad = 1.0
    assert runtime.c.pl_log_ticks(log.r) == runtime.c.PL_NOT_FINITE and log.r.index == runtime.c.PL_AT_STATE


@pytest.mark.parametrize(("times", "called"), [([2.0], [0, 0]), ([1.0], [0, 1]), ([], [0, 0])])
def test_samples_of_rates_that_hit_are_kept_and_all_is_evaluated_once_where_the_log_needs_it(
    runtime, times, called
):
    """Of four rates the third has not ticked, and of the fourth nothing is kept."""
    log = Log(runtime, times, t=1.0, rates=[3, 3, 3, -3], due=[1, 1, 0, 1])
    assert runtime.c.pl_log_ticks(log.r) == runtime.c.PL_DONE
    assert [log.rows(b) for b in log.ticks] == [[[1.0, 15.0]], [[1.0, 15.0]], [], []]
    assert log.called == called and list(log.r.due[0:4]) == [0, 0, 0, 0]


def test_a_rate_without_room_is_asked_for_and_those_before_it_are_done(runtime):
    log = Log(runtime, [], t=1.0, rates=[1, 0, 1], due=[1, 1, 1])
    assert runtime.c.pl_log_ticks(log.r) == runtime.c.PL_FULL_TICKS
    assert (log.r.index, list(log.r.due[0:3])) == (1, [0, 1, 1])
    log.ticks[1].capacity = 1
    assert runtime.c.pl_log_ticks(log.r) == runtime.c.PL_DONE
    assert [b.count for b in log.ticks] == [1, 1, 1]
