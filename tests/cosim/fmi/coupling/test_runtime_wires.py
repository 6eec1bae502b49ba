"""Curves, inputs and points of units in C by their functions alone: numbers stay where they belong.

Around every vector lies nan, so that one number too many or too few is seen.
"""

from __future__ import annotations

import math

import pytest

from tests.helpers.runtime_parts import Runtime, parts

TEXTS = {
    "fmu_values": '#include "fmu_values.c"',
    "units": '#include "units.c"',
    "curves": '#include "curves.c"',
    "exchange": '#include "exchange.c"\nvoid pl_set_arguments(pl_run *r, double t, const double *x) {}',
    "coupling": """#include "coupling.c"
double point_behind(pl_coupling *m, double until) { return next_point(m, until); }
int begin_to(pl_coupling *m, double until) { return begin(m, until); }
double pl_seconds(int64_t position, int64_t grid) { return (double)position / (double)grid; }
void pl_update_constants(pl_run *r) {}
void pl_keep_ours(pl_coupling *m, int level, int whole) { m->kept[level].whole = 10 + whole; }
int pl_is_steady(const pl_coupling *m) { return 0; }
int pl_steady_steps(pl_coupling *m, double until) { return PL_DONE; }
int pl_controlled_step(pl_coupling *m, double until) { m->run->context->t = until; return PL_DONE; }
void pl_begin_macro_step(pl_coupling *m, double t1)
{ m->t1 = t1, m->phase = m->iterate ? PL_ITERATE : PL_DELIVER; }
int pl_walk_macro_step(pl_coupling *m) { m->run->context->t += 1.0, m->phase = PL_BEGIN; return PL_DONE; }
""",
}
CALLED = """
int pl_step_unit(pl_fmu_unit *u, double t1, int held_at_end);
void pl_add_older_samples(pl_samples *s, double t, const double *values);
int pl_evaluate_inputs(pl_coupling *m, double t);
void pl_find_wires(pl_coupling *m);
typedef struct { double t0; double *value, *slope, *curvature; } pl_curve;
void pl_through(pl_curve *c, const pl_samples *s, int order, const int32_t *smooth);
void pl_between(pl_curve *c, double end, const double *values, const pl_samples *s, int order,
                const int32_t *smooth);
double pl_curve_at(const pl_curve *c, int i, double t);
double pl_curve_mean(const pl_curve *c, int i, double end);
double point_behind(pl_coupling *m, double until);
int begin_to(pl_coupling *m, double until);
"""
NAN = math.nan


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(*parts(tmp_path_factory.mktemp("parts"), TEXTS, CALLED))


def around(runtime, *values):
    """A vector between numbers that are none."""
    return runtime.array([NAN, *values, NAN]) + 1


def inside(vector, n):
    """Its numbers, checked for what lies around them."""
    assert math.isnan(vector[-1]) and math.isnan(vector[n])
    return list(vector[0:n])


def samples(runtime, *rows, most=3):
    """t^2 and 3 t + 1 at times, the newest first."""
    made = runtime.new("pl_samples", n=2, count=len(rows), most=most)
    made.values = around(
        runtime, *(v for t in rows for v in (t * t, 3 * t + 1)), *[NAN] * (2 * (3 - len(rows)))
    )
    made.time = [*rows, *[0.0] * (len(made.time) - len(rows))]
    return made


def curve(runtime):
    return runtime.new("pl_curve", **{n: around(runtime, NAN, NAN) for n in ("value", "slope", "curvature")})


@pytest.mark.parametrize("order", [0, 1, 2])
def test_curves_through_samples_and_to_an_end(runtime, order):
    """Through 2, 1 and -1 s: t^2 is met by a parabola alone, 3 t + 1 by a line too; the mean to 4 s."""
    smooth = runtime.array([1, 1], "int32_t")
    s, c = samples(runtime, 2.0, 1.0, -1.0), curve(runtime)
    runtime.c.pl_through(c, s, order, smooth)
    slopes = ([0, 0], [3, 3], [4, 3])[order]
    assert (c.t0, inside(c.value, 2), inside(c.slope, 2)) == (2.0, [4.0, 7.0], slopes)
    assert inside(c.curvature, 2) == [2.0 * (order == 2), 0.0]
    at_4 = ([4, 7], [10, 13], [16, 13])[order]
    assert [runtime.c.pl_curve_at(c, i, 4.0) for i in (0, 1)] == at_4
    mean = (4.0, 7.0, (4**3 - 2**3) / 3 / 2)[order]
    assert runtime.c.pl_curve_mean(c, 0, 4.0) == pytest.approx(mean)
    runtime.c.pl_between(c, 4.0, runtime.array([16.0, 13.0]), s, order, smooth)
    assert c.t0 == 2.0
    if order:
        assert [runtime.c.pl_curve_at(c, i, t) for i in (0, 1) for t in (2.0, 4.0)] == pytest.approx(
            [4, 16, 7, 13]
        )
        assert runtime.c.pl_curve_at(c, 0, 3.0) == pytest.approx(10.0 if order == 1 else 9.0)
    else:
        assert inside(c.value, 2) == [16.0, 13.0] and inside(c.slope, 2) == [0.0, 0.0]
    runtime.c.pl_between(c, 4.0, runtime.array([16.0, 13.0]), s, order, runtime.array([0, 1], "int32_t"))
    assert (inside(c.value, 2)[0], inside(c.slope, 2)[0], inside(c.curvature, 2)[0]) == (16.0, 0.0, 0.0)
    one = samples(runtime, 2.0)  # the highest order that there are samples for
    runtime.c.pl_through(c, one, order, smooth)
    assert inside(c.slope, 2) == inside(c.curvature, 2) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("before", "t", "most", "after"),
    [
        ((), 1.0, 3, [1.0]), ((1.0,), 2.0, 3, [2.0, 1.0]), ((2.0, 1.0, 0.0), 3.0, 3, [3.0, 2.0, 1.0]),
        ((2.0, 1.0), 3.0, 2, [3.0, 2.0]), ((2.0, 1.0, 0.0), 2.0, 3, [2.0, 1.0, 0.0]),
        ((2.0, 1.0, 0.0), 1.0, 3, [1.0, 0.0]), ((2.0, 1.0), 0.5, 3, [0.5]), ((2.0, 1.0), 1.5, 3, [1.5, 1.0]),
    ],
)  # fmt: skip
def test_samples_are_of_times_that_fall(runtime, before, t, most, after):
    """One of the same time takes the place of the other, and of all that are later."""
    s = samples(runtime, *before, most=most)
    runtime.c.pl_add_older_samples(s, t, runtime.array([-t, -2 * t]))
    assert (s.count, list(s.time[0 : s.count])) == (len(after), after)
    expected = [-t, -2 * t] + [v for time in after[1:] for v in (time * time, 3 * time + 1)]
    assert list(s.values[0 : 2 * s.count]) == expected and math.isnan(s.values[-1])


def coupling(runtime, n=0, **fields):
    """A master of n units, each with a point every 1/4 s, of which three are reached."""
    units = runtime.ffi.new("pl_fmu_unit[]", max(n, 1))
    for u in units:
        u.first, u.period, u.points, u.capacity, u.next = 1, 2, 3, 9, NAN
        u.u.count, u.u.n = 2, 0
    context = runtime.new("pl_context", h=around(runtime, *range(1, 5)), p=around(runtime, 5.0, 6.0))
    run = runtime.run({"nh": 4}, {}, context=context, budget=3)
    runtime.kept += [units, context]
    return runtime.new("pl_coupling", run=run, units=units, n_units=n, grid=8, **fields)


@pytest.mark.parametrize("wrong", [None, 0, 1, 2])
def test_inputs_that_equations_give_are_numbers(runtime, wrong):
    m = coupling(runtime, n_inputs=3, inputs=around(runtime, *[NAN] * 3))

    def inputs(_, out):
        for k in range(3):
            out[k] = math.inf if k == wrong else 1.0 + k

    m.run.model.unit_inputs = runtime.function("void(const pl_args *, double *)", inputs)
    found = runtime.c.pl_evaluate_inputs(m, 1.0)
    assert found == (runtime.c.PL_DONE if wrong is None else runtime.c.PL_UNITS_NOT_FINITE)
    m.run.unsolved = 1
    assert runtime.c.pl_evaluate_inputs(m, 1.0) == runtime.c.PL_NO_SOLUTION


def test_wires_lead_to_the_first_and_last_numbers_of_h_and_p(runtime):
    places = [0, 3, 4, 5, -1]
    m = coupling(runtime, n_inputs=5, wires=runtime.array(places, "int32_t"))
    m.wired = runtime.array([runtime.ffi.NULL] * 6, "double *")
    runtime.c.pl_find_wires(m)
    assert [str(m.wired[k][0]) for k in range(5)] == ["1.0", "4.0", "5.0", "6.0", "-0.0"]
    assert m.wired[5] == runtime.ffi.NULL


def stepped(runtime, version, **fields):
    """A unit with two inputs u = (1, 2) + (3, 4) s + (5, 6) s^2 / 2 from 1 s on; what a step to 3 s sees."""
    seen = {}
    setter, _ = runtime.batch(runtime.c.PL_FMU_DOUBLE, "double", [0, 1])
    kind = "int(void *, const uint32_t *, size_t, void *" + (")" if version == 2 else ", size_t)")
    note = lambda c, vr, n, values, *count: (
        seen.__setitem__("set", list(runtime.ffi.cast("double *", values)[0:2])) or 0
    )
    setter.function = runtime.pointer(kind, note)
    asked = around(runtime, *[0.0] * 9)

    def step(*given):
        seen["asked"] = inside(asked, 9)
        return 0

    takes = "int(void *, double, double, int)"
    takes = takes if version == 2 else takes[:-4] + "_Bool, _Bool *, _Bool *, _Bool *, double *)"
    vectors = {"value": (1.0, 2.0), "bend": (3.0, 4.0), "curve": (5.0, 6.0)}
    flags = {n: runtime.array([0], "_Bool") for n in ("event", "terminate", "early")} if version == 3 else {}
    u = runtime.new(
        "pl_fmu_unit", version=version, n_set=1, set=setter, time=1.0, clock=10.0, asked=asked,
        do_step=runtime.pointer(takes, step), last=runtime.array([0.0]), **flags, **fields,
        **{n: around(runtime, *v) for n, v in vectors.items()},
    )  # fmt: skip
    u.u.n, u.u.count, u.u.time[0] = 2, 1, 1.0
    return u, seen


@pytest.mark.parametrize(
    ("slopes", "bend", "bent"), [(2, [3.0, 4.0], [5.0, 6.0]), (1, [8.0, 10.0], [0.0, 0.0])]
)
def test_a_curve_that_the_host_is_asked_for_in_a_step(runtime, slopes, bend, bent):
    """On the clock of the FMU, as far as it takes it: value, slopes and curvatures; then there is none."""
    u, seen = stepped(runtime, 3, slopes=slopes)
    assert runtime.c.pl_step_unit(u, 3.0, 0) == runtime.c.PL_DONE
    assert seen == {"set": [1.0, 2.0], "asked": [1.0, 0.0, 11.0, 1.0, 2.0, *bend, *bent]}
    assert u.asked[0] == 0.0
    for name, found in (("value", [1.0, 2.0]), ("bend", bend), ("curve", bent)):
        assert inside(getattr(u, name), 2) == found


@pytest.mark.parametrize(
    ("at_end", "values"), [(0, [1 + 3 + 10 / 3, 2 + 4 + 4]), (1, [1 + 6 + 10, 2 + 8 + 12])]
)
def test_what_an_fmu_without_slopes_gets_of_a_curve(runtime, at_end, values):
    """Its mean over 2 s, u + u' h / 2 + u'' h^2 / 6, or its end; everything else is zero then."""
    u, seen = stepped(runtime, 2)
    assert runtime.c.pl_step_unit(u, 3.0, at_end) == runtime.c.PL_DONE
    assert seen["set"] == pytest.approx(values) and seen["asked"][0] == 0.0
    assert inside(u.value, 2) == pytest.approx(values)
    assert inside(u.bend, 2) == inside(u.curve, 2) == [0.0, 0.0]


def test_the_next_point_is_that_of_the_first_unit(runtime):
    """Points are first + k period on the grid: 7/8 s; units that have no sample yet begin there."""
    m = coupling(runtime, 3)
    assert runtime.c.point_behind(m, 9.0) == 7 / 8 and runtime.c.point_behind(m, 0.5) == 0.5
    assert [m.units[k].next for k in range(3)] == [7 / 8] * 3
    for k in range(3):
        m = coupling(runtime, 3)
        m.units[k].points = 2
        assert runtime.c.point_behind(m, 9.0) == 5 / 8
        m = coupling(runtime, 3)
        m.units[k].u.count = 0
        assert runtime.c.point_behind(m, 9.0) == 5 / 8
        assert [m.units[i].next for i in range(3)] == [5 / 8 if i == k else 7 / 8 for i in range(3)]


@pytest.mark.parametrize("k", [0, 1, 2])
def test_who_arrives_and_has_room(runtime, k):
    done, full = runtime.c.PL_DONE, runtime.c.PL_UNITS_FULL
    m = coupling(runtime, 3)
    m.units[k].points = 2
    assert runtime.c.begin_to(m, 9.0) == done and m.t1 == 5 / 8
    assert [m.units[i].arriving for i in range(3)] == [int(i == k) for i in range(3)]
    m = coupling(runtime, 3)
    m.units[k].u.count, m.units[k].points = 0, 4  # it begins there, and has no step behind it
    assert runtime.c.begin_to(m, 9.0) == done
    assert [m.units[i].arriving for i in range(3)] == [int(i != k) for i in range(3)]
    for controlled, count in ((0, 8), (1, 7)):
        for more, reason in ((0, done), (1, full)):
            m = coupling(runtime, 3, controlled=controlled)
            m.units[k].count = count + more
            assert runtime.c.begin_to(m, 9.0) == reason
            assert m.unit == (k if more else 2)
    for goes_back, samples_, reason in ((0, 2, done), (0, 1, runtime.c.PL_UNITS_HOST), (1, 1, done)):
        m = coupling(runtime, 3, begins_iterated=1, goes_back=goes_back)
        m.units[k].u.count = samples_
        assert runtime.c.begin_to(m, 9.0) == reason


def test_our_blocks_are_kept_where_units_get_the_newest_values(runtime):
    for newest, iterate, quiet, kept in ((0, 0, 0, 0), (1, 0, 0, 11), (1, 0, 1, 10), (1, 1, 0, 0)):
        m = coupling(runtime, 1, newest=newest, iterate=iterate, quiet=quiet)
        assert runtime.c.begin_to(m, 9.0) == runtime.c.PL_DONE
        assert m.kept[0].whole == kept


def test_a_coupling_pauses_when_its_budget_is_spent(runtime):
    """Three steps of 1 s; then none more is begun."""
    for until, reason, t, left in ((2.0, runtime.c.PL_DONE, 2.0, 1), (3.0, runtime.c.PL_DONE, 3.0, 0),
                                   (4.0, runtime.c.PL_PAUSE, 3.0, -1)):  # fmt: skip
        m = coupling(runtime, 1)
        assert runtime.c.pl_couple(m, until) == reason
        assert (m.run.context.t, m.run.budget) == (t, left)
    m = coupling(runtime, 1)
    m.run.cancel = 1
    assert runtime.c.pl_couple(m, 4.0) == runtime.c.PL_CANCELLED and m.run.context.t == 0.0
    m.run.context.stopped = 1
    assert runtime.c.pl_couple(m, 4.0) == runtime.c.PL_DONE
    m = coupling(runtime, 1, controlled=1)
    assert runtime.c.pl_couple(m, 4.0) == runtime.c.PL_DONE and m.run.context.t == 4.0
