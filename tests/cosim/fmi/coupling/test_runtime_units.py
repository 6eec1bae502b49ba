"""The coupling of FMUs in C by its functions alone, with FMUs that are functions of a test.

Whole runs show little of them: where C gives up, the host makes the step, and results are the same.
"""

import math

import numpy as np
import pytest

from tests.helpers.runtime_parts import Runtime, parts

TEXTS = {
    "fmu_values": '#include "fmu_values.c"',
    "units": '#include "units.c"',
    "curves": '#include "curves.c"',
    "exchange": '#include "exchange.c"\nvoid pl_set_arguments(pl_run *r, double t, const double *x) {}\n'
    "int held_inputs(pl_coupling *m, pl_fmu_unit *u) { return pl_hold_inputs(m, u); }\n"
    "int read_inputs(pl_coupling *m, double t) { return pl_read_inputs(m, t); }\n"
    "int are_same(const double *a, const double *b, int n) { return pl_same(a, b, n); }",
    "rollback": '#include "rollback.c"\nvoid keep_outputs(pl_coupling *m) { pl_keep_outputs(m, 0); }',
    "coupling": """#define pl_is_steady are_alike
#define pl_steady_steps all_alike
#define pl_controlled_step controlled
#include "coupling.c"
int begin_step_to(pl_coupling *m, double until) { return begin(m, until); }
double pl_seconds(int64_t position, int64_t grid) { return (double)position / (double)grid; }
void pl_update_constants(pl_run *r) {}
int are_alike(const pl_coupling *m) { return m->idle; }
int all_alike(pl_coupling *m, double until) { m->events++; return PL_CANCELLED; }
int controlled(pl_coupling *m, double until) { return PL_DONE; }
void pl_begin_macro_step(pl_coupling *m, double t1) { m->t1 = t1, m->phase = PL_DELIVER; }
int pl_walk_macro_step(pl_coupling *m)
{
    m->run->context->t = m->t1, m->phase = PL_BEGIN, m->macro_steps++;
    return PL_DONE;
}""",
    "steady": """#include "steady.c"
int all_units(pl_coupling *m) { return step_units(m); }""",
    "iterated": """#include "iterated.c"
int inverse_of(double *a, double *inverse, int n) { return invert(a, inverse, n); }
int one_unit(pl_coupling *m, pl_fmu_unit *u, double *found) { return step_unit(m, u, found); }
void largest_of(const pl_samples *s, double *out) { largest(s, out); }
void guess_of(pl_coupling *m, double *y) { guess(m, y); }
int64_t room_at(const pl_coupling *m, int n, int k)
{
    const numbers v = room_of(m, n);
    double *all[] = {v.y, v.found, v.scale, v.before, v.residual,
                     v.moved, v.column, v.row, v.matrix, v.inverse};
    return all[k] - m->iterated;
}
void pl_reset(pl_run *r) { r->rounds++; }""",
    "control": """#define pl_begin_macro_step euler_to
#define pl_walk_macro_step euler
#include "macro_control.c"
void euler_to(pl_coupling *m, double t1) { m->t1 = t1; }
int euler(pl_coupling *m) /* y' = 2 t */
{
    pl_context *c = m->run->context;
    m->units->out.values[0] += (m->t1 - c->t) * 2 * c->t;
    c->t = m->t1;
    return PL_DONE;
}
double pl_next_stop(const pl_run *r) { return INFINITY; }""",
}
CALLED = """
int pl_step_unit(pl_fmu_unit *u, double t1, int held_at_end);
int pl_unit_arrived(pl_fmu_unit *u);
void pl_add_older_samples(pl_samples *s, double t, const double *values);
int pl_keep_unit(pl_fmu_unit *u, int level);
int pl_unit_back(pl_fmu_unit *u, int level);
void pl_keep_ours(pl_coupling *m, int level, int whole);
void pl_ours_back(pl_coupling *m, int level);
void pl_write_curve(const pl_coupling *m, const pl_fmu_unit *u, double t0, const double *curve);
int begin_step_to(pl_coupling *m, double until);
int all_units(pl_coupling *m);
int inverse_of(double *a, double *inverse, int n);
int one_unit(pl_coupling *m, pl_fmu_unit *u, double *found);
int pl_controlled_step(pl_coupling *m, double until);
int pl_iterate(pl_coupling *m);
int pl_give_up(pl_coupling *m, int level, int reason);
void largest_of(const pl_samples *s, double *out);
void guess_of(pl_coupling *m, double *y);
int64_t room_at(const pl_coupling *m, int n, int k);
int held_inputs(pl_coupling *m, pl_fmu_unit *u);
int read_inputs(pl_coupling *m, double t);
int are_same(const double *a, const double *b, int n);
void pl_find_wires(pl_coupling *m);
void keep_outputs(pl_coupling *m);
typedef struct { double t0; double *value, *slope, *curvature; } pl_curve;
void pl_through(pl_curve *c, const pl_samples *s, int order, const int32_t *smooth);
double pl_curve_at(const pl_curve *c, int i, double t);
"""

STEP_2, STEP_3 = (
    "int(void *, double, double, int)",
    "int(void *, double, double, _Bool, _Bool *, _Bool *, _Bool *, double *)",
)
VALUES_2 = "int(void *, const uint32_t *, size_t, void *)"
OK, WARNING, DISCARD = 0, 1, 2


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(*parts(tmp_path_factory.mktemp("parts"), TEXTS, CALLED))


class Unit:
    """A unit with an input and an output, which answers 4.0 after each step."""

    def __init__(self, runtime, version=2, status=OK, told=OK, **fields):
        self.runtime, self.status, self.told = runtime, status, told
        self.stepped, self.set, self.bent = [], [], []
        self.answer = lambda: 4.0
        step = self.step_2 if version == 2 else self.step_3
        setter, _ = runtime.batch(runtime.c.PL_FMU_DOUBLE, "double", [0])
        getter, _ = runtime.batch(runtime.c.PL_FMU_DOUBLE, "double", [0])
        kind = VALUES_2 if version == 2 else VALUES_2[:-1] + ", size_t)"
        setter.function = runtime.pointer(kind, lambda *a: self.exchanged(a, self.set))
        getter.function = runtime.pointer(kind, lambda *a: self.exchanged(a, None))
        self.state = runtime.array([runtime.ffi.NULL], "void *")
        one = ["value", "bend", "curve", "fresh", "assumed"]
        flags = (
            {} if version == 2 else {n: runtime.array([0], "_Bool") for n in ("event", "terminate", "early")}
        )
        last, asked = runtime.array([0.0]), runtime.array([7.0, *[0.0] * 6]) + 1
        flags |= {} if version == 2 else {"last": last, "asked": asked}
        derivatives = "int(void *, const uint32_t *, size_t, const int *, const double *)"
        self.u = runtime.new(
            "pl_fmu_unit", version=version, n_set=1, n_get=1, set=setter, get=getter, time=1.0,
            do_step=runtime.pointer(STEP_2 if version == 2 else STEP_3, step),
            set_derivatives=runtime.pointer(derivatives, self.derivatives),
            n_bent=1, bent=runtime.array([5, 5], "uint32_t"), bent_orders=runtime.array([1, 2], "int32_t"),
            bent_places=runtime.array([0], "int32_t"), bent_values=runtime.array([0.0, 0.0]),
            get_state=runtime.pointer("int(void *, void **)", lambda c, s: self.told),
            set_state=runtime.pointer("int(void *, void *)", lambda c, s: self.told),
            **{name: runtime.array([0.0]) for name in one}, **flags, **fields,
        )  # fmt: skip
        u = self.u
        u.u.n = u.out.n = u.u.count = u.out.count = 1
        u.u.most = u.out.most = 3
        u.u.values, u.out.values = runtime.array([0.0] * 3), runtime.array([0.0] * 3)
        u.u.time[0] = u.out.time[0] = 1.0
        u.smooth_inputs = u.smooth_outputs = runtime.array([1], "int32_t")
        for level in range(2):
            u.kept[level].state = self.state
            u.kept[level].values = runtime.array([50.0] * 9) + 3

    def exchanged(self, arguments, noted):
        values = self.runtime.ffi.cast("double *", arguments[3])
        if noted is None:
            values[0] = self.answer()
        else:
            noted.append(values[0])
        return WARNING

    def step_2(self, c, t, h, no_way_back):
        self.stepped.append((t, h, int(no_way_back)))
        return self.status

    def step_3(self, c, t, h, no_way_back, event, terminate, early, last):
        return self.step_2(c, t, h, no_way_back)

    def derivatives(self, c, vr, n, orders, values):
        self.bent.append(list(values[0:n]))
        return self.told


def test_an_input_that_follows_a_parabola_is_held_bent_or_curved(runtime):
    """u = 2 + 3 s + 4 s^2 / 2 over 1 s: mean 2 + 3/2 + 4/6, end 7; with one slope, a line to its end."""
    for slopes, at_end, given, bent in ((0, 0, 2 + 1.5 + 4 / 6, []), (0, 1, 7.0, []), (1, 0, 2.0, [[5.0]]),
                                        (2, 0, 2.0, [[3.0, 4.0]])):  # fmt: skip
        unit = Unit(runtime, slopes=slopes, told=WARNING)
        unit.u.value[0], unit.u.bend[0], unit.u.curve[0], unit.u.u.time[0] = 2.0, 3.0, 4.0, 1.0
        assert runtime.c.pl_step_unit(unit.u, 2.0, at_end) == runtime.c.PL_DONE
        assert (unit.set, unit.bent, unit.stepped) == ([pytest.approx(given)], bent, [(1.0, 1.0, 0)])


def test_a_unit_none_of_whose_inputs_takes_slopes_is_stepped(runtime):
    unit = Unit(runtime, slopes=1)
    unit.u.n_bent, unit.u.bend[0] = 0, 3.0
    assert runtime.c.pl_step_unit(unit.u, 2.0, 0) == runtime.c.PL_DONE
    assert (unit.bent, unit.stepped) == ([], [(1.0, 1.0, 0)])


@pytest.mark.parametrize("version", [2, 3])
def test_what_a_unit_says_of_its_step_is_left_to_the_host(runtime, version):
    held, bent = (0.0, 3.0)
    for bend in (held, bent):
        discarded = (DISCARD, runtime.c.PL_UNIT_STEPPED)
        for status, reason in ((OK, runtime.c.PL_DONE), (WARNING, runtime.c.PL_DONE), discarded):
            unit = Unit(runtime, version, status, slopes=1)
            unit.u.bend[0] = bend
            assert runtime.c.pl_step_unit(unit.u, 2.0, 0) == reason
    if version == 2:
        unit = Unit(runtime, told=DISCARD, slopes=1)
        unit.u.bend[0] = bent
        assert runtime.c.pl_step_unit(unit.u, 2.0, 0) == runtime.c.PL_UNIT_STEP and not unit.stepped
    else:  # the host was asked for inputs in the step, and failed
        unit = Unit(runtime, version, slopes=1)
        unit.u.bend[0], unit.u.asked[1] = bent, 1.0
        assert runtime.c.pl_step_unit(unit.u, 2.0, 0) == runtime.c.PL_UNIT_STEPPED
        assert unit.u.asked[-1] == 7.0  # what lies before is another's


def test_a_unit_goes_back_where_its_fmu_can(runtime):
    for told, refused in ((OK, 0), (WARNING, 0), (DISCARD, 1)):
        unit = Unit(runtime, told=told)
        unit.u.out.values[0], unit.u.points = 6.0, 3
        assert runtime.c.pl_keep_unit(unit.u, 0) == refused
        unit.u.out.values[0], unit.u.points, unit.u.time = 7.0, 4, 9.0
        assert runtime.c.pl_unit_back(unit.u, 0) == refused
        assert (unit.u.out.values[0], unit.u.points, unit.u.time) == (6.0, 3, 1.0)


def test_a_unit_without_inputs_or_outputs_has_no_samples_to_write(runtime):
    """Their arrays have no room for a number: what lies there is another's."""
    unit = Unit(runtime)
    others = [runtime.array([7.0]), runtime.array([8.0])]
    unit.u.u.values, unit.u.out.values = others
    unit.u.u.n = unit.u.out.n = unit.u.n_get = 0
    unit.u.fresh[0], unit.u.reached = 9.0, 2.0
    assert runtime.c.pl_unit_arrived(unit.u) == runtime.c.PL_DONE
    runtime.c.pl_add_older_samples(runtime.ffi.addressof(unit.u, "u"), 2.0, unit.u.fresh)
    assert [others[0][0], others[1][0]] == [7.0, 8.0]
    assert (unit.u.u.count, unit.u.out.count, unit.u.out.time[0], unit.u.time) == (2, 2, 2.0, 2.0)


def coupling(runtime, units, **fields):
    """A master of units, with our own blocks that have two rates and nothing to compute."""
    log = runtime.new(
        "pl_log", every_step=1, ticks=runtime.array([{"count": 2, "taken": 5}, {"count": 1}], "pl_buffer")
    )
    context = runtime.new(
        "pl_context", t=0.0, h=runtime.array([0.0] * 8), ticks=runtime.array([1, 2], "int64_t")
    )
    run = runtime.run({"nh": 0}, {"n_rates": 2}, context=context, log=log, budget=10)
    made = runtime.new("pl_coupling", run=run, units=units, n_units=1, grid=1, goes_back=1, **fields)
    for level in range(2):
        made.kept[level].logged = runtime.array([0] * 3, "int64_t")
        made.kept[level].values = runtime.array([0.0] * 8)
    return made


def test_rows_logged_since_are_dropped_but_for_those_the_host_took(runtime):
    m = coupling(runtime, Unit(runtime).u)
    log = m.run.log
    log.log.count, log.log.taken, log.position, log.events.used = 3, 10, 4, 6
    runtime.c.pl_keep_ours(m, 1, 1)
    log.log.count, log.log.taken, log.position, log.events.used = 2, 12, 5, 9
    log.ticks[0].count, log.ticks[1].count, m.run.context.ticks[1], m.run.context.t = 6, 6, 7, 8.0
    runtime.c.pl_ours_back(m, 1)
    assert (log.log.count, log.position, log.events.used) == (1, 4, 6)
    assert (log.ticks[0].count, log.ticks[1].count, m.run.context.ticks[1], m.run.context.t) == (2, 1, 2, 0.0)


def test_a_curve_of_outputs_is_written_where_it_is_read(runtime):
    places = {"y": [0, 4], "slope": [1, 5], "curvature": [2, 6]}
    around = {name: runtime.array([7, *at, 7], "int32_t") + 1 for name, at in places.items()}
    unit = Unit(runtime, since=3, **around)
    unit.u.out.n = 2
    m = coupling(runtime, unit.u)
    runtime.c.pl_write_curve(m, unit.u, 0.25, runtime.array([9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 9.0]) + 1)
    assert list(m.run.context.h[0:8]) == [1.0, 3.0, 5.0, 0.25, 2.0, 4.0, 6.0, 0.0]


def test_steps_are_the_longest_whose_error_is_allowed(runtime):
    """Euler's method for y' = 2 t: one step of H and two halves differ by H^2 / 2, of 6 in a run of 10 s.

    H = 5 s is 25/6 times too wrong; the next is 0.85 / (25/6) of it, and has 0.85 of what is allowed.
    """
    unit = Unit(runtime)
    unit.u.smooth_inputs = runtime.array([0], "int32_t")
    room = {"tried": runtime.array([0.0] * 6), "adds_up": runtime.array([1], "int32_t"),
            "watched": runtime.array([1], "int32_t")}  # fmt: skip
    m = coupling(runtime, unit.u, size=5.0, horizon=10.0, atol=6.0, n_outputs=1, **room)
    assert runtime.c.pl_controlled_step(m, 10.0) == runtime.c.PL_DONE
    h = 5.0 * 0.85 / (25.0 / 2 / (6.0 * 5.0 / 10.0))
    assert (m.run.context.t, m.rejected) == (pytest.approx(h), 1)
    assert unit.u.out.values[0] == pytest.approx(h**2 / 2) and m.size == pytest.approx(h)


def test_only_a_repeated_step_keeps_what_changes_in_it(runtime):
    """States of blocks that do nothing are not kept; where units are extrapolated nothing is."""
    for newest, quiet, whole in ((1, 0, 1), (1, 1, 0), (0, 0, 5)):
        m = coupling(runtime, Unit(runtime).u, newest=newest, quiet=quiet)
        m.kept[0].whole = 5
        m.units.capacity = 9
        assert runtime.c.begin_step_to(m, 2.0) == runtime.c.PL_DONE
        assert m.kept[0].whole == whole


@pytest.mark.slow
def test_steps_that_are_not_all_alike_are_made_one_by_one(runtime):
    for alike, reason in ((0, runtime.c.PL_DONE), (1, runtime.c.PL_CANCELLED)):
        m = coupling(runtime, Unit(runtime, period=1, points=1, capacity=9, next=math.nan).u, idle=alike)
        assert runtime.c.pl_couple(m, 1.0) == reason
        assert (m.macro_steps, m.events) == (1 - alike, alike)


def test_where_a_unit_needs_the_host_all_units_are_on_their_way(runtime):
    """And nobody else is: what lies before them in memory stays."""
    three = runtime.array([{}, {}, {}], "pl_fmu_unit")
    for k in (1, 2):
        three[k] = Unit(runtime, status=DISCARD).u[0]
        three[k].arriving = 0
    three[0].arriving = 7
    m = coupling(runtime, three + 1, sequence=runtime.array([0, 1], "int32_t"), n_sequence=2, t1=2.0)
    m.n_units = 2
    m.inputs = runtime.array([0.0, 0.0])
    assert runtime.c.all_units(m) == runtime.c.PL_UNIT_STEPPED
    assert [u.arriving for u in three] == [7, 1, 1] and m.unit == 0


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_inverse_is_numpys(runtime, n):
    """Rows are swapped: the first pivot is zero."""
    a = np.random.default_rng(n).normal(size=(n, n))
    a[0, 0] = 0.0 if n > 1 else 3.0
    around = runtime.array([8.0, *a.ravel(), 9.0])
    inverse = runtime.array([8.0, *np.zeros(n * n), 9.0])
    assert runtime.c.inverse_of(around + 1, inverse + 1, n) == 0
    np.testing.assert_allclose(np.reshape(list(inverse)[1:-1], (n, n)), np.linalg.inv(a), rtol=1e-11)
    np.testing.assert_allclose(np.reshape(list(around)[1:-1], (n, n)), np.eye(n), atol=1e-12)
    assert [around[0], around[n * n + 1], inverse[0], inverse[n * n + 1]] == [8.0, 9.0, 8.0, 9.0]
    assert runtime.c.inverse_of(runtime.array([0.0] * n * n), inverse + 1, n) == 1


def test_outputs_of_an_iterated_step_lead_on_from_those_before(runtime):
    """y = t^2 at 0, 1 and now 2 s: from 1 s on it is 1 + 2 s + s^2."""
    unit = Unit(runtime, y=runtime.array([0], "int32_t"), slope=runtime.array([1], "int32_t"),
                curvature=runtime.array([2], "int32_t"), since=3)  # fmt: skip
    m = coupling(runtime, unit.u, newest=1, order=2, t1=2.0, n_inputs=1, inputs=runtime.array([0.0] * 4))
    m.run.model.unit_inputs = runtime.function("void(const pl_args *, double *)", lambda a, out: None)
    kept = unit.u.kept[1]
    kept.values[3], kept.values[4], kept.n_out = 1.0, 0.0, 2
    kept.out_time[0], kept.out_time[1] = 1.0, 0.0
    found = runtime.array([0.0])
    assert runtime.c.one_unit(m, unit.u, found) == runtime.c.PL_DONE
    assert found[0] == 4.0
    assert list(m.run.context.h[0:4]) == pytest.approx([1.0, 2.0, 2.0, 1.0])


def test_everything_of_ours_goes_back_to_where_the_step_began(runtime):
    m = coupling(runtime, Unit(runtime).u)
    runtime.c.pl_keep_ours(m, 0, 1)
    m.run.context.t, m.run.context.ticks[0] = 3.0, 9
    runtime.c.pl_couple_back(m)
    assert (m.run.context.t, m.run.context.ticks[0]) == (0.0, 1)


@pytest.mark.parametrize(
    ("newest", "late", "ours_done", "expected"),
    [(0, 0, 0, 5.0), (1, 0, 0, 6.0), (1, 1, 0, 5.0), (1, 1, 1, 6.0)],
)
def test_the_inputs_a_unit_holds_are_those_before_or_the_newest(runtime, newest, late, ours_done, expected):
    """Where our states are not yet at the end, inputs that follow them are those before."""
    unit = Unit(runtime, late=runtime.array([late], "int32_t"))
    around = [runtime.array([7.0, 0.0, 7.0]) for _ in range(2)]
    unit.u.value, unit.u.assumed = around[0] + 1, around[1] + 1
    unit.u.u.values[0] = 5.0
    inputs = runtime.array([0.0, math.nan])  # what lies behind is no input
    m = coupling(runtime, unit.u, newest=newest, ours_done=ours_done, n_inputs=1, inputs=inputs)
    m.run.model.unit_inputs = runtime.function(
        "void(const pl_args *, double *)", lambda a, out: out.__setitem__(0, 6.0)
    )
    assert runtime.c.held_inputs(m, unit.u) == runtime.c.PL_DONE
    assert [list(a) for a in around] == [[7.0, expected, 7.0]] * 2


def test_inputs_that_are_numbers_of_h_or_p_are_read_there(runtime):
    """Or constants. Bit for bit: -0 on a wire stays, as the value of a curve without slope it is 0."""
    m = coupling(runtime, Unit(runtime).u, n_inputs=4, inputs=runtime.array([9.0] * 5))
    m.run.model.nh, m.run.context.p = 8, runtime.array([5.0, 6.0])
    m.wires, m.wired = (
        runtime.array([2, 2, 9, -1, 2], "int32_t"),
        runtime.array([runtime.ffi.NULL] * 5, "double *"),
    )
    m.wire_adds = runtime.array([-0.0, 0.0, -0.0, -0.0])
    runtime.c.pl_find_wires(m)
    assert m.wired[4] == runtime.ffi.NULL
    m.run.context.h[2] = -0.0
    assert runtime.c.read_inputs(m, 1.0) == runtime.c.PL_DONE
    assert [str(x) for x in m.inputs[0:5]] == ["-0.0", "0.0", "6.0", "-0.0", "9.0"]
    for wrong in (math.inf, -math.inf, math.nan):
        m.run.context.h[2] = wrong
        assert runtime.c.read_inputs(m, 1.0) == runtime.c.PL_UNITS_NOT_FINITE
    pairs = ([1.0, -0.0], [1.0, 0.0]), ([1.0, 2.0], [1.0, 2.0]), ([1.0, 2.0], [3.0, 2.0])
    found = [runtime.c.are_same(runtime.array(a), runtime.array(b), 2) for a, b in pairs]
    assert found == [0, 1, 0]


def test_outputs_alone_are_kept_where_nothing_else_has_changed(runtime):
    """The time, two outputs and since when they are held; what was kept of all others stays."""
    unit = Unit(runtime, y=runtime.array([4, 1], "int32_t"), slope=runtime.array([2], "int32_t"), since=6)
    unit.u.out.n = 2
    m = coupling(runtime, unit.u)
    m.run.model.nh = 8
    m.kept[0].values = runtime.array([0.0] * 10)
    runtime.c.pl_keep_ours(m, 0, 0)
    m.run.context.t = 3.0
    for k in range(8):
        m.run.context.h[k] = 10.0 + k
    runtime.c.keep_outputs(m)
    m.run.context.t = 4.0
    for k in range(8):
        m.run.context.h[k] = -1.0
    runtime.c.pl_couple_back(m)
    assert m.run.context.t == 3.0 and list(m.run.context.h[0:8]) == [0, 11, 0, 0, 14, 0, 16, 0]


@pytest.mark.parametrize(("order", "at_4"), [(0, 4.0), (1, 10.0), (2, 16.0)])
def test_what_is_smooth_is_extrapolated_by_a_polynomial(runtime, order, at_4):
    """t^2 at 2, 1 and -1 s, to 4 s; beside it a signal that is held."""
    samples = runtime.new("pl_samples", n=2, count=3, most=3)
    samples.time = [2.0, 1.0, -1.0]
    samples.values = runtime.array([4.0, 4.0, 1.0, 1.0, 1.0, 1.0])
    curve = runtime.new("pl_curve", **{n: runtime.array([0.0] * 2) for n in ("value", "slope", "curvature")})
    runtime.c.pl_through(curve, samples, order, runtime.array([1, 0], "int32_t"))
    assert [runtime.c.pl_curve_at(curve, i, 4.0) for i in (0, 1)] == pytest.approx([at_4, 4.0])
    sizes = runtime.array([0.0, 0.0])
    samples.values[3] = -9.0
    runtime.c.largest_of(samples, sizes)
    assert list(sizes) == [4.0, 9.0]


@pytest.mark.parametrize(("order", "at_3"), [(0, 7.0), (1, 7.0), (2, 9.0)])
def test_an_iterated_step_begins_with_what_outputs_lead_to(runtime, order, at_3):
    """t^2 at 2, 1 and 0 s: a line at least. Eight vectors and two matrices lie one behind the other."""
    unit = Unit(runtime, part=1)
    out, y = unit.u.out, runtime.array([5.0] * 3)
    m = coupling(runtime, unit.u, order=order, t1=3.0, inputs=runtime.array([0.0] * 4))
    out.count, out.time, out.values = 3, [2.0, 1.0, 0.0], runtime.array([4.0, 1.0, 0.0])
    for arriving, found in ((0, 5.0), (1, at_3)):
        unit.u.arriving = arriving
        runtime.c.guess_of(m, y)
        assert list(y) == pytest.approx([5.0, found, 5.0])
    for n in (1, 3):
        assert [runtime.c.room_at(m, n, k) for k in range(10)] == [*range(0, 9 * n, n), 8 * n + n * n]


@pytest.mark.parametrize(("iterate", "rounds"), [(1, 40), (2, 4)])
def test_an_iterated_step_ends_where_outputs_are_those_assumed(runtime, iterate, rounds):
    """y = 4 + u / 2 with u = y is 8: by substitution in many rounds, by Newton's method in few."""
    unit = Unit(runtime, y=runtime.array([0], "int32_t"))
    unit.answer = lambda: 4.0 + unit.set[-1] / 2
    unit.u.arriving = 1
    m = coupling(runtime, unit.u, iterate=iterate, quiet=1, t1=2.0, n_inputs=1, n_sequence=1,
                 inputs=runtime.array([0.0] * 4), sequence=runtime.array([0], "int32_t"),
                 iterated=runtime.array([0.0] * 10))  # fmt: skip
    read = lambda a, out: out.__setitem__(0, m.run.context.h[0])
    m.run.model.unit_inputs = runtime.function("void(const pl_args *, double *)", read)
    assert runtime.c.pl_iterate(m) == runtime.c.PL_DONE
    assert unit.u.out.values[0] == pytest.approx(8.0, rel=1e-9)
    assert m.run.context.t == unit.u.time == 2.0 and m.rounds <= rounds


def test_a_step_that_is_given_up_ends_where_it_began(runtime):
    """The host makes it; but a full log of rows that the host can take is tried again."""
    for reason, logged, found in (
        (runtime.c.PL_UNIT_GET, 0, runtime.c.PL_UNITS_HOST),
        (runtime.c.PL_CANCELLED, 0, runtime.c.PL_CANCELLED),
        (runtime.c.PL_FULL, 2, runtime.c.PL_FULL), (runtime.c.PL_FULL, 0, runtime.c.PL_UNITS_HOST),
    ):  # fmt: skip
        unit = Unit(runtime, arriving=1)
        m = coupling(runtime, unit.u)
        m.run.log.log.count = logged
        runtime.c.pl_keep_ours(m, 1, 1)
        assert runtime.c.pl_keep_unit(unit.u, 1) == 0
        m.run.context.t, unit.u.time, m.phase, m.run.approach = 3.0, 3.0, 4, 1
        assert runtime.c.pl_give_up(m, 1, reason) == found
        assert (m.run.context.t, unit.u.time, m.phase, m.run.approach, m.run.rounds) == (0.0, 1.0, 0, 0, 1)
