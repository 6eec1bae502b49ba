"""Functions of the runtime by themselves, against closed forms: what whole runs would hardly show."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from cosim.engines.methods.corners import first_corner
from tests.helpers.runtime_parts import Runtime, parts

TEXTS = {
    "norms": """#include "norms.c"
int all_finite(const double *v, int n) { return pl_all_finite(v, n); }""",
    "lu": '#include "lu.c"',
    "pace": '#include "pace.c"',
    "evaluate": '#include "evaluate.c"\nvoid pl_update_w(void *r, const pl_args *a) {}',
    "batch": """#define pl_advance told
#include "batch.c"
int told(pl_run *r, double until)
{
    r->log->log.rows[r->log->log.count++ * 2] = r->context->x[0];
    r->context->t = until;
    return r->context->x[0] == 3.0 ? PL_CANCELLED : PL_DONE;
}
void start_run(pl_run *r, const pl_batch *b, int64_t i) { start(r, b, i); }""",
    "invariants": '#include "invariants.c"',
    "stiff": """#include "rosenbrock.c"
int32_t farthest_state(const pl_run *r, const double *x, const double *trial)
{ return farthest(r, x, trial); }
void accept_step(pl_run *r, double h, double wanted, double error)
{ accepted(r, h, wanted, (pl_error){error, 0}); }""",
    "step": """#include "step.c"
int pl_fixed_step(pl_run *r) { r->t1 = 2.0; return 0; }
void pl_explicit_interpolate_some(pl_run *r, double t, int i, int n, double *x) { x[0] = r->value; }""",
    "run": '#include "run.c"\nvoid pl_forget_missed(pl_run *r) {}',
    "log": '#include "log.c"',
    "corners": '#include "corners.c"',
    "turning": '#include "turning.c"',
}
CALLED = """
double pl_pairwise_sum(const double *v, int n);
double pl_largest_absolute(const double *v, int n);
int all_finite(const double *v, int n);
void pl_update_constants(pl_run *r);
void pl_set_state(pl_run *r, double t, const double *x);
int pl_update_accepted(pl_run *r, double t, const double *x);
int pl_factor(pl_stiff *s, int n, double diagonal);
void pl_solve_factored(const pl_stiff *s, int n, double *b);
void pl_evaluate_some(pl_run *r, const pl_parts *f, const int32_t *places, int n, double *out);
void pl_set_held(pl_run *r, const int32_t *places, const double *values, int n);
void start_run(pl_run *r, const pl_batch *b, int64_t i);
int pl_project(pl_run *r, double t, double *x);
int32_t farthest_state(const pl_run *r, const double *x, const double *trial);
void accept_step(pl_run *r, double h, double wanted, double error);
int pl_integrate_step(pl_run *r);
int pl_log_within(pl_run *r);
typedef void (*pl_inside)(pl_run *r, double t, double *x);
void pl_begin_turning(pl_run *r, const double *x, const double *f);
double pl_first_corner(pl_run *r, pl_inside inside, double t, double h);
"""

CODE = "void(const pl_args *, double *)"  # of generated functions


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(*parts(tmp_path_factory.mktemp("parts"), TEXTS, CALLED))


@pytest.mark.parametrize("n", [0, 7, 8, 19, 128, 129, 300])
def test_sums_have_numpys_order(runtime, n):
    v = np.random.default_rng(n).normal(size=n) * 10.0 ** np.random.default_rng(n + 1).integers(-8, 8, n)
    assert runtime.c.pl_pairwise_sum(runtime.array([*v, 1e300]), n) == np.sum(v)


def test_the_largest_is_looked_for_among_all_and_nowhere_else(runtime):
    around = runtime.array([9.0, -1.0, 4.0, -7.0, 2.0, 9.0])
    assert runtime.c.pl_largest_absolute(around + 1, 4) == 7.0
    assert runtime.c.pl_largest_absolute(around, 0) == 0.0
    around[2] = math.nan
    assert math.isnan(runtime.c.pl_largest_absolute(around + 1, 4))


@pytest.mark.parametrize("n", range(10))
def test_one_number_that_is_not_finite_is_found_at_any_place(runtime, n):
    around = runtime.array([math.nan, *range(-3, n - 3), math.inf])
    assert runtime.c.all_finite(around + 1, n)
    for k in range(n):
        for bad in (math.nan, math.inf, -math.inf):
            around[1 + k] = bad
            assert not runtime.c.all_finite(around + 1, n)
        around[1 + k] = 1e308


def matrix_of(runtime, J, sparse):
    """J as the stiff method has it; the pattern of its factors is full."""
    n = len(J)
    every = range(n * n)
    return runtime.new(
        "pl_stiff",
        sparse=sparse,
        column_start=runtime.array([0, *range(0, n * n + 1, n)], "int32_t") + 1,
        rows=runtime.array([k % n for k in every], "int32_t"),
        jacobian=runtime.array(J.T.ravel()),
        order=runtime.array(range(n), "int32_t"),
        lu_start=runtime.array(range(0, n * n + 1, n), "int32_t"),
        lu_column=runtime.array([k % n for k in every], "int32_t"),
        lu_diagonal=runtime.array([i * n + i for i in range(n)], "int32_t"),
        lu_place=runtime.array([(k % n) * n + k // n for k in every], "int32_t"),
        work=runtime.array([0.0] * n),
        factors=runtime.array([0.0] * n * n),
        dense=runtime.array([0.0] * (n * n + n + 1)) + n + 1,
        pivots=runtime.array([0] * n, "int32_t"),
    )


@pytest.mark.parametrize(("sparse", "diagonal"), [(1, 9.0), (0, 9.0), (0, 0.0), (1, 0.0)])
def test_factors_solve_what_numpy_solves(runtime, sparse, diagonal):
    """Without pivots where the diagonal is large; with a zero at its first place only with them."""
    J = np.random.default_rng(3).normal(size=(5, 5))
    J[0, 0] = 0.0
    s = matrix_of(runtime, J, sparse)
    assert runtime.c.pl_factor(s, 5, diagonal) == 1
    assert s.pivoted == (not (sparse and diagonal))
    assert s.dense[-6] == 0.0  # before the matrix
    b = runtime.array([1.0, -2.0, 3.0, 0.5, 4.0])
    expected = np.linalg.solve(diagonal * np.eye(5) - J, list(b))
    runtime.c.pl_solve_factored(s, 5, b)
    np.testing.assert_allclose(list(b), expected, rtol=1e-12)
    s.jacobian[7] = math.inf
    assert runtime.c.pl_factor(s, 5, diagonal) == 0


@pytest.mark.parametrize("sparse", [1, 0])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_whole_numbers_are_factored_exactly(runtime, sparse, side):
    """[[1, s], [s, 3]] [2, 3] = [2 + 3 s, 2 s + 9]: rows are subtracted once, added and left alone."""
    s = matrix_of(runtime, np.array([[0.0, -side, 0.0], [-side, -2.0, 0.0], [0.0, 0.0, -1.0]]), sparse)
    assert runtime.c.pl_factor(s, 3, 1.0) == 1 and s.pivoted == (not sparse)
    b = runtime.array([2.0 + 3.0 * side, 2.0 * side + 9.0, 8.0])
    runtime.c.pl_solve_factored(s, 3, b)
    assert list(b) == [2.0, 3.0, 4.0]


def test_pieces_that_are_asked_for_are_called_with_those_they_need(runtime):
    """Piece 2 needs piece 0; behind the places asked for stands one that needs piece 1."""
    called = []
    pieces = [runtime.function(CODE, lambda a, out, k=k: called.append(k)) for k in range(4)]
    f = runtime.new(
        "pl_parts",
        n_pieces=4,
        pieces=runtime.array(pieces, "pl_function"),
        piece_of=runtime.array([0, 2, 3, 1], "int32_t"),
        needs_start=runtime.array([0, 1, 2, 4, 5], "int32_t"),
        needs=runtime.array([0, 1, 0, 2, 3], "int32_t"),
    )
    r = runtime.run(wanted=runtime.array([0] * 4, "int32_t"))
    out = runtime.array([0.0] * 4)
    for places, expected in (([1, 3], [0, 2]), ([1, 0, 3], [0, 2]), ([2, 1, 3], [0, 2, 3]), ([3], [])):
        called.clear()
        runtime.c.pl_evaluate_some(r, f, runtime.array(places, "int32_t"), len(places) - 1, out)
        assert called == expected, places


def test_constants_are_made_anew_where_a_parameter_changed(runtime):
    """Any of them; else they stay."""
    made, p = [], runtime.array([1.0, 2.0, 3.0])
    model = {"np": 3, "prepare": runtime.function(CODE, lambda a, out: made.append(a.p[2]))}
    r = runtime.run(model, context=runtime.new("pl_context", p=p), prepared=runtime.array([0.0] * 3))
    for change in (3.0, 3.0, 4.0, 4.0):
        p[2] = change
        runtime.c.pl_update_constants(r)
    assert made == [3.0, 4.0] and list(r.prepared[0:3]) == [1.0, 2.0, 4.0]


def test_an_accepted_state_is_whole_and_with_it_the_solution_to_start_from(runtime):
    w, solution = runtime.array([5.0, 6.0, 7.0]), runtime.array([0.0, 0.0, 8.0])
    context = runtime.new("pl_context", x=runtime.array([0.0] * 3), w=w, solution=solution)
    r = runtime.run({"nx": 2}, {"n_unknowns": 2}, context=context)
    runtime.c.pl_set_state(r, 1.5, runtime.array([1.0, 2.0, 3.0]))
    assert (context.t, *context.x[0:3]) == (1.5, 1.0, 2.0, 0.0)
    assert runtime.c.pl_update_accepted(r, 1.5, context.x) == runtime.c.PL_DONE
    assert list(solution) == [5.0, 6.0, 8.0]


def test_held_numbers_are_set_and_what_reads_one_that_changed_is_stale(runtime):
    h, values = runtime.array([1.0, 2.0, 3.0]), runtime.array([3.0, 1.0, 9.0])
    starts, readers = runtime.array([0, 0, 1, 2], "int32_t"), runtime.array([1, 0], "int32_t")
    lasting = runtime.new("pl_lasting", n_pieces=2, readers_start=starts, readers=readers)
    stale = [runtime.array([0, 0], "int32_t") for _ in range(2)]
    r = runtime.run(
        {"accepted": lasting, "held_crossings": lasting}, {"n_events": 1},
        context=runtime.new("pl_context", h=h), held_known=1, accepted_known=1,
        stale_crossings=stale[0], stale_accepted=stale[1],
    )  # fmt: skip
    for changed in (1, 0):  # the second time nothing changes
        stale[0][1] = stale[1][1] = 0
        runtime.c.pl_set_held(r, runtime.array([2, 1, 0], "int32_t"), values, 2)
        assert list(h) == [1.0, 1.0, 3.0]
        assert [[*flags] for flags in stale] == [[0, changed]] * 2


@pytest.mark.parametrize("changed", [0, 63, 64, 127, 128, 129])
def test_one_of_many_held_numbers_is_set(runtime, changed):
    """Also one that differs in its sign of zero alone."""
    n = 130
    places = runtime.array([*range(n - 1, -1, -1)], "int32_t")
    for new in (2.5, -0.0):
        h, values = runtime.array([0.0] * n), runtime.array([0.0] * n)
        values[changed] = new
        r = runtime.run({}, {}, context=runtime.new("pl_context", h=h), events_known=1)
        runtime.c.pl_set_held(r, places, values, n - 1)
        written = changed < n - 1
        assert [k for k in range(n) if h[k] or math.copysign(1.0, h[k]) < 0.0] == [n - 1 - changed] * written
        assert r.events_known == (not written)


def test_a_run_of_a_batch_begins_with_its_own_numbers_and_no_past(runtime):
    widths = {"nx": 2, "nh": 4, "nw": 3, "np": 5}
    history = runtime.array([{"count": 4}, {"count": 5}], "pl_history")
    context = runtime.new(
        "pl_context", histories=history, n_stops=2, t=3.0, started=1, stopped=2,
        solution=runtime.array([0.0] * 2), ticks=runtime.array([7], "int64_t"),
        instants=runtime.array([7], "int64_t"), signs=runtime.array([1.0]),
        **{name[1:]: runtime.array([0.0] * n) for name, n in widths.items()}, next=runtime.array([0.0] * 4),
    )  # fmt: skip
    numbers = {name[1:]: runtime.array(np.arange(3.0 * n) + 10 * n) for name, n in widths.items()}
    b = runtime.new("pl_batch", seed=runtime.array([1, 2, 3], "uint64_t"), **numbers)
    r = runtime.run(widths, {"n_unknowns": 2, "n_delays": 2, "n_rates": 1, "n_lists": 1, "n_events": 1},
                    context=context, settings=runtime.new("pl_settings"))  # fmt: skip
    runtime.c.start_run(r, b, 1)
    for name, n in widths.items():
        assert list(getattr(context, name[1:])[0:n]) == [11.0 * n + k for k in range(n)]
    assert list(context.next[0:4]) == list(context.h[0:4])
    assert list(context.solution[0:2]) == [33.0, 34.0]
    assert [h.count for h in history] == [0, 0]
    assert (context.ticks[0], context.instants[0], context.signs[0]) == (0, 0, 0.0)
    assert (context.t, context.started, context.stopped, context.n_stops) == (0.0, 0, 0, 0)
    assert (context.step, context.error) == (0.0, 1e-4)
    assert r.settings.seed == 2


def test_each_run_of_a_batch_logs_into_its_own_rows_until_it_is_cancelled(runtime):
    log = runtime.new("pl_log")
    log.log.width = 1
    context = runtime.new("pl_context", x=runtime.array([0.0]))
    r = runtime.run({"nx": 1}, context=context, settings=runtime.new("pl_settings"), log=log)
    kinds = {"logged": "int64_t", "stopped": "int32_t", "reason": "int32_t"}
    room = {name: runtime.array([9] * 5, kind) for name, kind in kinds.items()}
    b = runtime.new("pl_batch", until=2.5, capacity=1, x=runtime.array([5.0, 1.0, 2.0, 3.0, 4.0]),
                    seed=runtime.array([0] * 5, "uint64_t"), rows=runtime.array([0.0] * 10),
                    ended=runtime.array([0.0] * 5), **room)  # fmt: skip
    assert runtime.c.pl_run_batch(r, b, 1, 5, 0) == 5
    assert list(b.rows[0:10]) == [0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 3.0, 0.0, 0.0, 0.0]
    assert (list(b.logged[0:5]), list(b.stopped[0:5])) == ([9, 1, 1, 1, 9], [9, 0, 0, 0, 9])
    assert list(b.reason[0:5]) == [9, 0, 0, runtime.c.PL_CANCELLED, 9]
    assert list(b.ended[0:5]) == [0.0, 2.5, 2.5, 2.5, 0.0]


def test_a_state_goes_back_to_where_its_invariant_is_zero(runtime):
    """x0^2 + x1^2 = 1 by Newton's method along its own gradient; the number behind the states stays."""

    def invariants(a, out):
        out[0] = (a.x[0] ** 2 + a.x[1] ** 2 - 1.0) / 2

    def correction(a, out):
        size = a.x[0] ** 2 + a.x[1] ** 2
        out[0:3] = [-(size - 1.0) / 2 * a.x[0] / size, -(size - 1.0) / 2 * a.x[1] / size, 99.0]

    model = {
        "nx": 2,
        "invariants": runtime.function(CODE, invariants),
        "correction": runtime.function(CODE, correction),
    }
    r = runtime.run(
        model, {"n_invariants": 1, "tolerance": runtime.array([1e-12])}, out=runtime.array([0.0] * 3)
    )
    x = runtime.array([3.0, 4.0, 7.0])
    assert runtime.c.pl_project(r, 0.0, x) == 1
    assert list(x) == pytest.approx([0.6, 0.8, 7.0], rel=1e-12)
    assert runtime.c.pl_project(r, 0.0, x) == 0


def test_the_state_that_moved_farthest_in_its_own_size_is_named(runtime):
    r = runtime.run({"nx": 3}, {"n_controlled": 3, "nominal": runtime.array([1.0, 1.0, 1.0])},
                    settings=runtime.new("pl_settings", atol=1e-3))  # fmt: skip
    x = runtime.array([100.0, 1.0, -2.0])
    cases = [([101.0, 1.5, -2.1], 1), ([100.0, 1.0, -3.0], 2), ([300.0, 1.9, -2.0], 0)]
    cases += [([100.0, -0.5, -2.0], 1), ([1e9, math.nan, 5.0], 1)]
    for trial, worst in cases:
        assert runtime.c.farthest_state(r, x, runtime.array(trial)) == worst, trial


def test_an_accepted_stiff_step_says_how_long_the_next_one_may_be(runtime):
    """h * 0.9 / error^(1/4), at most 6 h; after one that was cut short as long as it was to be."""
    r = runtime.run(context=runtime.new("pl_context"))
    r.counters.limited_by = runtime.array([0], "int64_t")
    steps = {}
    for error in (1e-12, 1e-8, 0.003, 0.1, 0.5):
        runtime.c.accept_step(r, 2.0, 2.0, error)
        steps[error] = r.context.step / 2.0
    for error in (0.003, 0.1, 0.5):
        assert steps[error] == pytest.approx(0.9 / error**0.25)
    assert steps[1e-12] == steps[1e-8] == pytest.approx(6.0)
    runtime.c.accept_step(r, 1.0, 50.0, 0.5)
    assert r.context.step == 50.0
    assert (r.counters.steps, r.counters.limited_by[0]) == (6, 6)


def test_a_step_without_invariants_is_as_it_was_integrated(runtime):
    r = runtime.run({"nx": 1}, settings=runtime.new("pl_settings"), corrected=7, located=3, end_known=1)
    r.x1 = runtime.array([1.0])
    assert runtime.c.pl_integrate_step(r) == 0
    assert (r.corrected, r.located, r.end_known, r.end) == (0, -1, 0, 2.0)
    assert r.integrated1 == r.x1


def test_a_run_that_is_put_back_forgets_what_crossings_were(runtime):
    r = runtime.run({}, {"n_events": 2}, n_dense=4, unsolved=1)
    r.farthest, r.largest, r.missed = (runtime.array([1.0 + k, 2.0]) for k in range(3))
    r.n_idle = runtime.array([5, 6], "int32_t")
    runtime.c.pl_reset(r)
    found = [*r.farthest[0:2], *r.largest[0:2], *r.missed[0:2], *r.n_idle[0:2]]
    assert found == [0.0] * 8
    assert (r.n_dense, r.unsolved, r.horizon) == (0, 0, math.inf) and math.isnan(r.dense_since)


@pytest.mark.parametrize(
    ("inside", "end", "at"), [(math.inf, 5.0, 0.5), (math.inf, math.inf, 2.0), (3.0, math.inf, 0.5)]
)
def test_what_is_no_number_inside_a_step_is_named_where_it_is_one(runtime, inside, end, at):
    """A row at 0.5 s in a step to 2 s whose signal is no number: the state there, or that at the end."""

    def signals(a, out):
        out[0] = math.nan

    model = {"nx": 1, "ny": 1, "n_pieces": 1}
    model["signals"] = runtime.array([runtime.function(CODE, signals)], "pl_function")
    log = runtime.new("pl_log", times=runtime.array([0.5]), n_times=1)
    log.log.rows, log.log.capacity, log.log.width = runtime.array([0.0] * 4), 2, 1
    log.log.places, log.log.pieces = runtime.array([0], "int32_t"), runtime.array([0], "int32_t")
    log.log.n_pieces = 1
    x = SimpleNamespace(context=runtime.array([1.0]), scratch=runtime.array([0.0]), end=runtime.array([end]))
    context = runtime.new("pl_context", x=x.context)
    r = runtime.run(model, log=log, context=context, t0=0.0, t1=2.0, end=2.0, value=inside)
    r.y, r.scratch, r.integrated1, r.f1 = runtime.array([0.0]), x.scratch, x.end, runtime.array([0.0])
    assert runtime.c.pl_log_within(r) == runtime.c.PL_NOT_FINITE
    assert context.t == at and r.index == runtime.c.PL_AT_STATE
    assert context.x[0] == (inside if at == 0.5 else end)


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([0.7], 0.7),
        ([0.9, 0.4, 0.6], 0.6),
        ([2.0, -1.0], math.inf),
        ([0.5 + 1e-9], math.inf),
        ([0.99, 1.4], 0.99),
        ([0.5 + (1.0 - 1e-6) * 0.5], math.inf),
    ],
)
@pytest.mark.parametrize("shape", [lambda u: u, lambda u: -(u**3), lambda u: np.expm1(30 * u)])
def test_the_first_corner_of_a_step_is_found_just_behind_it(runtime, places, expected, shape):
    """x = 3 t in a step from 0.5 to 1 s, corners where x / 3 passes a place; Python finds the same bits."""

    def corners(t, x):
        return np.array([shape(x[0] / 3 - place) for place in places])

    def found(a, out):
        out[0 : len(places)] = corners(a.t, [a.x[0]]).tolist()

    def inside(r, t, x):
        x[0] = 3 * t

    room = [runtime.array([0.0] * len(places)) for _ in range(3)]
    r = runtime.run(
        {"n_corners": len(places), "corners": runtime.function(CODE, found)}, scratch=runtime.array([0.0])
    )
    r.corners_before, r.corners_behind, r.corners_now = room
    inside_c = runtime.function("void(pl_run *, double, double *)", inside)
    time = runtime.c.pl_first_corner(r, inside_c, 0.5, 0.5)
    assert time == first_corner(corners, 0.5, 0.5, lambda t: np.array([3 * t]))
    if expected == math.inf:
        assert time == math.inf
    else:
        assert 0.0 <= time - expected <= 0.5e-7
    r.model.n_corners = 0
    assert runtime.c.pl_first_corner(r, inside_c, 0.5, 0.5) == math.inf


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("in_space", [True, False])
def test_how_fast_the_turning_of_a_body_changes_has_all_three_parts(runtime, axis, in_space):
    """Of two bodies the first changes by 6 of 10 rad/s in a second, the second by 2, each about one axis."""
    n, spins = (13 if in_space else 3), ([0.0, 0.0, 10.0], [0.0, 0.0, 11.0])
    x, f, rows = np.zeros(2 * n), np.zeros(2 * n), []
    for k, change in enumerate((6.0, 2.0)):
        places = np.arange(13) if in_space else np.r_[[-1] * 7, 0:3, [-1] * 3]
        rows += [*np.where(places < 0, -1, places + n * k), 0]
        at = n * k + (7 if in_space else 0)
        x[at : at + 3], f[at + axis] = spins[k], change
        if in_space:
            x[n * k] = 1.0
    frames = runtime.ffi.new("pl_frame[2]")
    tables = {
        "n_bodies": 2,
        "bodies": runtime.array(rows, "int32_t"),
        "nominal": runtime.array(np.ones(2 * n)),
    }
    r = runtime.run(system=tables)
    r.settings = runtime.new("pl_settings", atol=1e-9)
    r.stiff = runtime.new("pl_stiff", frames=frames)
    runtime.c.pl_begin_turning(r, runtime.array(x), runtime.array(f))
    assert [frame.unsteady for frame in frames] == pytest.approx([6 / 10**2, 2 / 11**2])
    assert [list(frame.turn) for frame in frames] == [spins[1], spins[1]]
