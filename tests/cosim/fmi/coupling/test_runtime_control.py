"""Error control of macro steps in C by its functions alone, and what a unit is rolled back to.

Numbers and rules are those of `test_error_control.py` and `test_inside_jumps.py`, for the same two units.
"""

from __future__ import annotations

import math

import pytest

from tests.helpers.runtime_parts import Runtime, parts

TEXTS = {
    "control": """#include "macro_control.c"
int signals_of(const pl_coupling *m, int largest, double *out) { return signals(m, largest, out); }
void find_tolerances_of(const pl_coupling *m) { const attempt a = room_of(m); find_tolerances(m, &a); }
double worst_of(const pl_coupling *m, double h)
{ const attempt a = room_of(m); return worst_error(m, &a, h); }
int jumps_of(const pl_coupling *m, double worst, int again)
{ const attempt a = room_of(m); return jumps(m, &a, worst, again); }
void next_of(pl_coupling *m, double h, double worst) { next_size(m, h, worst); }
double end_of(const pl_coupling *m, double t0, double limit) { return end_of_step(m, t0, limit); }
double row_behind(const pl_coupling *m, double t) { return next_row(m, t); }
""",
    "rollback": '#include "rollback.c"',
}
CALLED = """
int signals_of(const pl_coupling *m, int largest, double *out);
void find_tolerances_of(const pl_coupling *m);
double worst_of(const pl_coupling *m, double h);
int jumps_of(const pl_coupling *m, double worst, int again);
void next_of(pl_coupling *m, double h, double worst);
double end_of(const pl_coupling *m, double t0, double limit);
double row_behind(const pl_coupling *m, double t);
int pl_keep_unit(pl_fmu_unit *u, int level);
int pl_unit_back(pl_fmu_unit *u, int level);
"""
N = 6  # outputs and inputs of both units
BIG, START, MIDDLE, FINE, TOLERANCE, BEFORE = range(0, 6 * N, N)


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(*parts(tmp_path_factory.mktemp("parts"), TEXTS, CALLED))


def samples(runtime, into, *rows):
    """Samples, the newest first, at 0, -1/4, ... s."""
    into.n, into.count, into.most = len(rows[0]), len(rows), 3
    into.values = runtime.array([v for row in rows for v in row] + [math.nan] * 3)
    into.time = [-k / 4 for k in range(len(rows))] + [0.0] * (len(into.time) - len(rows))


def coupling(runtime, order=1, **fields):
    """Outputs (smooth, smooth) and inputs (smooth, not) of one, of the other an output (not) and an input."""
    every = runtime.ffi.new("pl_fmu_unit[]", 3)
    units = every + 1  # what lies before is no unit of this coupling
    samples(runtime, every[0].out, [55.0])
    ints = lambda *given: runtime.array(given, "int32_t")
    samples(runtime, units[0].out, [1.0, -5.0], [-3.0, 2.0])
    samples(runtime, units[0].u, [7.0, 9.0])
    samples(runtime, units[1].out, [100.0])
    samples(runtime, units[1].u, [-2.0], [8.0])
    units[0].smooth_outputs, units[0].smooth_inputs = ints(1, 1), ints(1, 0)
    units[1].smooth_outputs, units[1].smooth_inputs = ints(0), ints(1)
    log = runtime.new("pl_log", times=runtime.array([0.5, 1.0, 1e6]), n_times=3)
    given = {"rtol": 1e-3, "atol": 1e-6, "size": 0.5, "horizon": 100.0} | fields
    m = runtime.new(
        "pl_coupling", run=runtime.run({}, {}, log=log), units=units, n_units=2, n_inputs=3, n_outputs=3,
        order=order, adds_up=ints(1, 0, 1, 1, -9), watched=ints(1, 1, 1, 1, 1, 0),
        tried=runtime.array([*[0.0] * 6 * N, 55.0]), **given,
    )  # fmt: skip
    runtime.kept += [every, log]
    return m


def put(m, place, *numbers):
    m.tried[place : place + N] = list(numbers)


def test_signals_are_outputs_and_inputs_unit_by_unit(runtime):
    m, out = coupling(runtime), runtime.array([5.5] * (N + 1))
    assert runtime.c.signals_of(m, 0, out) == N
    assert list(out) == [1.0, -5.0, 7.0, 9.0, 100.0, -2.0, 5.5]
    assert runtime.c.signals_of(m, 1, out) == N  # the largest of those that are kept
    assert list(out) == [3.0, 5.0, 7.0, 9.0, 100.0, 8.0, 5.5]


def test_tolerances_are_of_the_largest_recent_value(runtime):
    m = coupling(runtime)
    put(m, FINE, -0.5, 6.0, 0.0, 9.5, -101.0, 3.0)
    runtime.c.find_tolerances_of(m)
    sizes = [3.0, 6.0, 7.0, 9.5, 101.0, 8.0]
    assert list(m.tried[TOLERANCE : TOLERANCE + N]) == pytest.approx([1e-3 * s + 1e-6 for s in sizes])


@pytest.mark.parametrize("worst", range(4))
@pytest.mark.parametrize(("order", "share"), [(0, 1.0), (1, 3.0), (2, 7.0)])
def test_the_worst_error_is_of_a_smooth_signal(runtime, worst, order, share):
    """Over a share of the tolerance, or all of it where errors do not add up (the second)."""
    m = coupling(runtime, order)
    put(m, TOLERANCE, *[2.0] * N)
    put(m, FINE, *[1.0] * N)
    put(m, BIG, *[1.0] * 3, 9e9, -9e9, 1.0)  # what is not smooth is nothing
    place, allowed = (0, 1, 2, 5)[worst], (0.1, 2.0, 0.1, 0.1)[worst]
    for sign in (1.0, -1.0):
        m.tried[BIG + place] = 1.0 + sign * 0.75
        assert runtime.c.worst_of(m, 5.0) == pytest.approx(0.75 / share / allowed)
    for wrong in (math.nan, math.inf):
        m.tried[BIG + place] = wrong
        assert math.isnan(runtime.c.worst_of(m, 5.0))


@pytest.mark.parametrize("reversed_", [False, True])
def test_what_counts_as_a_jump(runtime, reversed_):
    """One half changes by more than eight times what the other does, and by more than is tolerated."""
    for k, (first, second, jumped) in enumerate(
        [(2.0, 0.25, 0), (2.125, 0.25, 1), (0.25, 0.0, 0), (0.375, 0.0, 1), (-0.5, 0.0625 / 2, 1)]
    ):
        m = coupling(runtime)
        put(m, TOLERANCE, *[0.25] * N)
        first, second = (second, first) if reversed_ else (first, second)
        m.tried[START + k], m.tried[MIDDLE + k], m.tried[FINE + k] = 1.0, 1.0 + first, 1.0 + first + second
        assert runtime.c.jumps_of(m, 1.0, 0) == jumped
        changes = [0.0] * N
        changes[k] = max(abs(first), abs(second))
        assert list(m.tried[BEFORE : BEFORE + N + 1]) == [*changes, 55.0]
        assert runtime.c.jumps_of(m, 1.5, 0) == 0  # first the step is made shorter
        assert runtime.c.jumps_of(m, 1.5, 1) == jumped  # where the jump is the same as before
        m.tried[BEFORE + k] = changes[k] / 0.7 * 1.01
        assert runtime.c.jumps_of(m, 1.5, 1) == 0
        m.tried[BEFORE + k] = changes[k] / 0.7 * 0.99
        assert runtime.c.jumps_of(m, 1.5, 1) == jumped
    m = coupling(runtime)
    m.tried[FINE + 5] = 9.0  # nobody looks at this one
    assert runtime.c.jumps_of(m, 1.0, 0) == 0


@pytest.mark.parametrize(
    ("worst", "order", "factor"),
    [(0.0, 0, 2.0), (0.01, 0, 2.0), (0.5, 0, 1.7), (1.0, 0, 0.85), (4.0, 1, 0.85 / 2), (8.0, 2, 0.85 / 2),
     (1e9, 0, 0.2), (math.nan, 0, 2.0)],
)  # fmt: skip
def test_the_next_step_is_as_long_as_the_error_lets_it_be(runtime, worst, order, factor):
    for h, size, base in ((0.5, 0.5, 0.5), (0.25, 0.5, 0.25), (1.0, 0.5, 0.5)):
        m = coupling(runtime, order, size=size)
        runtime.c.next_of(m, h, worst)
        assert m.size == pytest.approx(base * factor, rel=1e-12)


@pytest.mark.parametrize(
    ("size", "end"),
    [(1.0, 3.0), (1.0 - 1e-10, 3.0), (0.99, 2.5), (0.5, 2.5), (0.5 - 1e-11, 2.5), (0.4, 2.4), (5.0, 3.0)],
)
def test_what_is_left_is_one_step_two_halves_or_begun(runtime, size, end):
    assert runtime.c.end_of(coupling(runtime, size=size), 2.0, 3.0) == pytest.approx(end, abs=1e-15)


def test_a_step_ends_at_the_next_row(runtime):
    """A row at the present time but for 1e-12 of it is none."""
    m = coupling(runtime)
    behind = lambda t: runtime.c.row_behind(m, t)
    assert [behind(t) for t in (0.0, 0.5, 0.75, 1.0, 999999.0, 1e6)] == [0.5, 1.0, 1.0, 1e6, 1e6, math.inf]
    assert (behind(1e6 - 0.5e-6), behind(1e6 - 2e-6)) == (math.inf, 1e6)
    m.run.log.position = 2
    assert behind(0.0) == 1e6
    m.run.log.position = 3
    assert behind(0.0) == math.inf
    m.run.log.position, m.run.log.every_step = 0, 1
    assert behind(0.0) == math.inf


# --- a unit goes back -----------------------------------------------------------------------------
@pytest.mark.parametrize("events", [False, True])
def test_a_unit_goes_back_with_all_that_was_kept_of_it(runtime, events):
    """Samples of inputs and outputs, points, rows, and of event mode what comes and what was set last."""
    r, calls = runtime, []
    u = r.new("pl_fmu_unit", version=3, points=5, count=4, used=1, time=2.0, next=2.5, ended=0)
    samples(r, u.u, [1.0, 2.0], [3.0, 4.0])
    samples(r, u.out, [5.0, 6.0, 7.0], [8.0, 9.0, 10.0])
    state = r.array([r.ffi.NULL], "void *")
    kept = u.kept[1]
    kept.state, kept.values = state, r.array([math.nan] * 40)
    note = lambda name: lambda c, s: (calls.append(name), 0)[1]
    u.get_state = r.pointer("int(void *, void **)", note("get"))
    u.set_state = r.pointer("int(void *, void *)", note("set"))
    if events:
        e = r.new("pl_fmu_events", next=3.5, wanted=1, last=r.array([11.0, 12.0]), failed=0)
        u.events = e
    assert r.c.pl_keep_unit(u, 1) == 0
    values = [list(u.u.values[0:4]), list(u.out.values[0:6])]
    times = [list(u.u.time[0:2]), list(u.out.time[0:2])]
    u.u.values[0:4], u.out.values[0:6] = [0.0] * 4, [0.0] * 6
    u.u.time[0:2], u.out.time[0:2] = [9.0, 9.0], [9.0, 9.0]
    u.u.count, u.out.count, u.points, u.count, u.used, u.time, u.next = 1, 3, 6, 9, 99, 9.0, math.nan
    u.ended = 1
    if events:
        e.next, e.wanted, e.failed, e.stage, e.last[0], e.last[1] = 9.0, 0, 3, 2, -1.0, -1.0
    assert r.c.pl_unit_back(u, 1) == 0 and calls == ["get", "set"]
    assert [list(u.u.values[0:4]), list(u.out.values[0:6])] == values
    assert [list(u.u.time[0:2]), list(u.out.time[0:2])] == times
    assert (u.u.count, u.out.count, u.points, u.count, u.time, u.next) == (2, 2, 5, 4, 2.0, 2.5)
    assert u.used == 4 * 5  # rows of 1 + 2 + 2 numbers
    if events:
        assert (e.next, e.wanted, e.failed, e.stage, list(e.last[0:2])) == (3.5, 1, 0, 0, [11.0, 12.0])
        assert u.ended == 0
