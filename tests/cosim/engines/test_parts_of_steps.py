"""Steps in C by their functions alone: how many, how long, what is inside them, and the phases of a run."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

from tests.helpers.runtime_parts import Runtime, parts

TEXTS = {
    "stretch": """#include "stretch.c"
int64_t equal_steps(double begin, double stop, double longest) { return pieces(begin, stop, longest); }
int pl_limit_by_delays(pl_run *r, double t, const double *x) { r->value = t; return r->other; }
void pl_record_delayed(pl_run *r) { r->rounds++; }
int pl_locate_crossing(pl_run *r) { return r->round++ == 40 ? PL_NO_SIGN : 0; }
double pl_rosenbrock_initial_step_size(pl_run *r, double t, const double *x, double stop) { return 0.75; }""",
    "step": """#include "step.c"
int pl_rosenbrock_step(pl_run *r) { return 77; }
void pl_rosenbrock_interpolate(pl_run *r, double t, double *x) { x[0] = 88.0; }
int pl_project(pl_run *r, double t, double *x) { x[0] += 1.0; r->apart = r->segment; return 1; }""",
    "explicit": """#include "explicit.c"
int64_t in_one_go(const pl_run *r) { return steps_without_stop(r); }
double pl_first_corner(pl_run *r, void (*inside)(pl_run *r, double t, double *x), double t, double h)
{ return r->last_good < t + h && r->last_good > t && r->rounds-- > 0 ? r->last_good : INFINITY; }
const double *pl_rounding_noise(pl_run *r, double t, const double *x) { return r->y; }""",
    "control": '#include "step_control.c"',
    "norms": '#include "norms.c"',
    "evaluate": '#include "evaluate.c"\nvoid pl_update_w(void *owner, const pl_args *a) {}',
}
CALLED = """
int64_t equal_steps(double begin, double stop, double longest);
int64_t in_one_go(const pl_run *r);
int pl_fixed_step(pl_run *r);
int pl_adaptive_step(pl_run *r);
void pl_explicit_interpolate_some(pl_run *r, double t, int first, int last, double *x);
int pl_begin_stretch(pl_run *r);
int pl_end_step(pl_run *r);
int pl_take_step(pl_run *r);
int pl_integrate_step(pl_run *r);
void pl_interpolate_some(pl_run *r, double t, int first, int last, double *x);
double pl_initial_step_size(pl_run *r, double t, const double *x, const double *f0, double stop);
double pl_moving_step_size(double t, double h, double stop);
"""
CODE = "void(const pl_args *, double *)"
STEP = "int64_t(const pl_args *, const pl_equal_steps *, double *, double *, double *)"


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(*parts(tmp_path_factory.mktemp("parts"), TEXTS, CALLED))


@pytest.mark.parametrize(
    ("begin", "stop", "longest", "n"),
    [
        (0.0, 1.0, 0.1, 10), (0.0, 1.0, 0.3, 4), (0.0, 1.0, 2.0, 1), (0.0, 1.0, 1.0, 1), (2.0, 2.0, 0.1, 1),
        (0.0, 1.0, 0.5 - 1e-11, 2), (0.0, 1.0, 0.5 - 1e-8, 3), (5.0, 6.0, 0.25, 4), (-1.0, 0.0, 0.4, 3),
        (0.0, 2.1, 1.0, 3), (1e9, 1e9 + 1.0000005, 0.1, 10), (1e9, 1e9 + 1.0001, 0.1, 11),
        (0.0, 1.0, 1e-300, 2**53),
        (-1e9, -1e9 + 1.0000005, 0.1, 10),
    ],
)  # fmt: skip
def test_a_stretch_is_divided_into_the_fewest_equal_steps_but_for_rounding(runtime, begin, stop, longest, n):
    assert runtime.c.equal_steps(begin, stop, longest) == n


class Steps:
    """A run from (begin, x) to `stop` whose steps a function of the test takes: (t, h, x, k) -> x1."""

    def __init__(
        self, runtime, step, x=(1.0, 2.0), begin=1.0, stop=2.0, order=4, stages=2, adaptive=0, **fields
    ):
        nx = len(x)
        self.taken, self.runtime, self.nx = [], runtime, nx
        self.bad_from = math.inf

        def steps(a, w, now, k, x1):
            done = 0
            for j in range(w.count):
                t = w.t if j == 0 else w.begin + (w.first + j) * w.h
                self.taken.append((t, w.h))
                if j:
                    now[0:nx] = list(x1[0:nx])
                slopes = np.zeros((stages, nx))
                x1[0:nx] = [float(v) for v in step(t, w.h, np.array(list(now[0:nx])), slopes)]
                k[0 : stages * nx] = slopes.ravel().tolist()
                if t + w.h > self.bad_from:
                    return done
                done += 1
            return done

        doubles = lambda n: runtime.array([0.0] * n)
        settings = runtime.new("pl_settings", rtol=1e-3, atol=1e-3, max_step=math.inf, step=0.25)
        m = settings.method
        m.number, m.stages, m.order, m.adaptive = 1, stages, order, adaptive
        m.error.count, m.error.weight[0], m.error.place[0] = 1, 1.0, stages - 1
        self.log = runtime.new("pl_log", times=runtime.array([math.inf] * 3))
        context = runtime.new("pl_context", x=runtime.array(x), t=begin, error=1e-4)
        functions = runtime.array([runtime.ffi.NULL, runtime.function(STEP, steps)], "pl_step")
        self.derived = []
        derivative = runtime.function(CODE, lambda a, out: self.derivative(a, out))
        self.r = runtime.run(
            {"nx": nx, "steps": functions, "derivative": derivative,
             "accepted": runtime.new("pl_lasting")},
            {"n_controlled": nx, "nominal": runtime.array([1.0] * nx)},
            context=context, settings=settings, log=self.log, t0=begin, begin=begin, stop=stop, budget=100,
            x0=runtime.array(x), x1=doubles(nx), k=doubles(stages * nx), f1=doubles(nx), trial=doubles(nx),
            scratch=doubles(nx), unprojected=doubles(nx), y=doubles(nx), shortest_delay=math.inf,
            last_good=-1.0,
            **fields,
        )  # fmt: skip
        self.r.integrated1 = self.r.x1
        self.r.counters.limited_by = runtime.array([0] * nx, "int64_t")

    def derivative(self, a, out):
        self.derived.append((a.t, *a.x[0 : self.nx]))
        out[0 : self.nx] = [10.0 + a.t + v for v in a.x[0 : self.nx]]


def unmoved(t, h, x, k):
    return x + h


@pytest.mark.parametrize(
    ("n", "i", "budget", "position", "steps"),
    [(10, 0, 99, 9, 10), (10, 4, 99, 9, 6), (5000, 0, 9999, 9, 1000), (10, 0, 4, 9, 5), (10, 0, 0, 9, 1),
     (10, 0, 99, 0, 3), (10, 0, 99, 1, 1), (10, 0, 99, 2, 10), (3, 0, 99, 0, 3), (10, 0, 1, 0, 2)],
)  # fmt: skip
def test_steps_go_in_one_go_up_to_where_somebody_looks(runtime, n, i, budget, position, steps):
    """Of 0.1 s from 1 s on; log times 1.35, 1.02 and 9 s."""
    s = Steps(runtime, unmoved, h=0.1, n=n, i=i)
    s.r.budget = budget
    s.log.n_times, s.log.position = 3, position
    s.log.times[0:3] = [1.35, 1.02, 9.0]
    assert runtime.c.in_one_go(s.r) == steps


@pytest.mark.parametrize("field", ["n_events", "n_invariants", "n_unknowns", "n_accepted", "n_delays"])
def test_where_something_is_looked_at_after_each_step_they_go_one_by_one(runtime, field):
    s = Steps(runtime, unmoved, h=0.1, n=10, i=0)
    assert runtime.c.in_one_go(s.r) == 10
    setattr(s.r.system, field, 1)
    assert runtime.c.in_one_go(s.r) == 1
    setattr(s.r.system, field, 0)
    s.log.every_step = 1
    assert runtime.c.in_one_go(s.r) == 1


@pytest.mark.parametrize("count", [1, 2, 7])
def test_fixed_steps_are_counted_and_the_last_ends_at_the_stop(runtime, count):
    s = Steps(runtime, unmoved, h=0.125, n=8, i=0, stop=2.0 + 2**-40)
    s.r.budget = count - 1
    assert runtime.c.pl_fixed_step(s.r) == runtime.c.PL_DONE
    r = s.r
    assert (r.i, r.budget, r.counters.steps, r.counters.evaluations) == (count, 0, count, 2 * count)
    assert (r.t0, r.t1, r.arrived) == (1.0 + (count - 1) * 0.125, 1.0 + count * 0.125, 0)
    assert r.last_good == (r.t0 if count > 1 else -1.0)
    r.budget, r.t0, r.x0, r.x1 = 99, r.t1, r.x1, r.x0
    assert runtime.c.pl_fixed_step(r) == runtime.c.PL_DONE
    assert (r.i, r.t1, r.arrived, r.counters.steps) == (8, 2.0 + 2**-40, 1, 8)
    assert [t for t, _ in s.taken] == [1.0 + k / 8 for k in range(8)]


@pytest.mark.parametrize(("bad", "passed"), [(1.0, 0), (1.3, 2), (1.99, 7)])
def test_a_fixed_step_that_ends_at_no_number_stops_the_run_where_it_began(runtime, bad, passed):
    s = Steps(runtime, unmoved, h=0.125, n=8, i=0)
    s.bad_from = bad
    assert runtime.c.pl_fixed_step(s.r) == runtime.c.PL_NOT_FINITE
    r = s.r
    assert (r.index, r.t1, r.context.t) == (-1, 1 + (passed + 1) / 8, 1 + (passed + 1) / 8)
    assert (r.counters.steps, r.counters.evaluations, r.i) == (passed, 2 * passed, passed)  # not the bad one
    assert r.last_good == (1.0 + passed / 8 if passed else -1.0) and r.budget == 100 - passed


def test_inside_a_fixed_step_is_the_cubic_through_both_ends(runtime):
    """The one of SciPy; the derivative at the end is asked for once, and at the begin it is not looked at."""
    s = Steps(runtime, unmoved, x=(1.0, -2.0, 5.0), stages=1)
    r = s.r
    r.t0, r.end = 1.0, 1.5
    r.x1[0:3], r.k[0:3], r.f1[0:3] = [2.0, 1.0, 7.0], [0.5, 3.0, -1.0], [math.nan] * 3
    x = runtime.array([9.0] * 3)
    runtime.c.pl_explicit_interpolate_some(r, 1.0, 0, 2, x)
    assert list(x) == [1.0, -2.0, 9.0] and s.derived == []
    f1 = [10.0 + 1.5 + v for v in (2.0, 1.0, 7.0)]
    expected = CubicHermiteSpline([1.0, 1.5], [[1.0, -2.0, 5.0], [2.0, 1.0, 7.0]], [[0.5, 3.0, -1.0], f1])
    for t in (1.1, 1.25, 1.4, 1.5):
        x[0:3] = [9.0] * 3
        runtime.c.pl_explicit_interpolate_some(r, t, 1, 3, x)
        assert list(x) == [9.0, *(pytest.approx(v, rel=1e-13) for v in expected(t)[1:])]
    assert s.derived == [(1.5, 2.0, 1.0, 7.0)]


def test_inside_an_adaptive_step_is_the_quartic_of_hairer(runtime):
    """x = 1 + t^4 and 3 + 2 t from 0 to 0.5: with the dense weights a quartic is itself (eq. II.6.12)."""
    h, f = 0.5, lambda t: np.array([t**4 + 1.0, 2 * t + 3.0])
    s = Steps(runtime, unmoved, x=f(0.0).tolist(), begin=0.0, adaptive=1, stages=2)
    r = s.r
    r.h = h
    r.x1[0:2] = f(h).tolist()
    r.k[0:4] = [0.0, 2.0, 4 * h**3, 2.0]
    # x0 + s (change + (1 - s) (bend + s (last + (1 - s) fifth))): fifth = s^4 and s^3 terms of t^4 = h^4 s^4
    m = r.settings.method
    m.dense.count, m.dense.weight[0], m.dense.place[0] = 1, 0.25, 1
    x = runtime.array([9.0, 9.0])
    for t in (0.0, 0.1, 0.3, 0.5):
        runtime.c.pl_explicit_interpolate_some(r, t, 0, 1, x)
        u, change = t / h, h**4
        bend, last, fifth = -change, change - 4 * h**4 + change, h * 0.25 * 4 * h**3
        value = 1.0 + u * change + u * (1 - u) * bend + u**2 * (1 - u) * last + u**2 * (1 - u) ** 2 * fifth
        assert list(x) == [pytest.approx(value, rel=1e-14), 9.0]
    m.dense.count = 0  # none: cubic, so a line is a line
    runtime.c.pl_explicit_interpolate_some(r, 0.2, 1, 2, x)
    assert x[1] == pytest.approx(3.4, rel=1e-14)


def with_error(error):
    """A step whose last stage makes the scaled error what is given: of t and h."""

    def step(t, h, x, k):
        scale = 1e-3 + 1e-3 * np.abs(x)
        k[-1] = error(t, h) * scale / h
        return x

    return step


def test_an_adaptive_step_is_halved_to_land_and_grows_by_the_pi_rule(runtime):
    """0.9 / error^(1/5 - 0.03) 1e-4^0.04 h, at most tenfold; before a stop two equal steps."""
    for step, h, lands in [
        (0.4, 0.4, 0), (0.6, 0.5, 0), (1.0, 1.0, 1), (5.0, 1.0, 1), (1 - 1e-13, 1.0, 1), (1 - 1e-11, 0.5, 0),
        (0.5, 0.5, 0),
    ]:  # fmt: skip
        s = Steps(runtime, with_error(lambda t, h: 0.5), order=5, adaptive=1)
        r = s.r
        r.context.step = step
        assert runtime.c.pl_adaptive_step(r) == runtime.c.PL_DONE
        assert (r.h, r.arrived, len(s.taken)) == (h, lands, 1), step
        assert r.t1 == (r.stop if lands else 1.0 + h)
        factor = 0.5 ** (0.2 - 0.03) / 1e-4**0.04 / 0.9
        grown = h / max(0.1, factor)
        assert r.context.step == pytest.approx(max(grown, step) if h < step else grown, rel=1e-14)
        assert (r.context.error, r.counters.steps, r.counters.evaluations) == (pytest.approx(0.5), 1, 1)


@pytest.mark.parametrize(
    ("error", "factor"), [(4.0, 4.0 ** (0.2 - 0.03) / 0.9), (1e9, 5.0), (math.inf, 10.0)]
)
def test_a_step_with_too_large_an_error_is_tried_anew_shorter(runtime, error, factor):
    s = Steps(runtime, with_error(lambda t, h: error if h > 0.199 else 0.01), order=5, adaptive=1, stop=9.0)
    s.r.context.step = 0.2
    assert runtime.c.pl_adaptive_step(s.r) == runtime.c.PL_DONE
    assert [h for _, h in s.taken] == [0.2, pytest.approx(0.2 / factor, rel=1e-12)]
    r = s.r
    assert (r.counters.rejected, r.counters.steps, r.budget, r.counters.evaluations) == (1, 1, 99, 2)
    assert r.t1 == 1.0 + r.h and r.arrived == 0


@pytest.mark.parametrize(("max_step", "delay"), [(0.125, math.inf), (math.inf, 0.125), (0.25, 0.125)])
def test_a_step_is_no_longer_than_was_asked_for_nor_than_a_delay(runtime, max_step, delay):
    s = Steps(runtime, with_error(lambda t, h: 0.5), order=5, adaptive=1)
    s.r.settings.max_step, s.r.shortest_delay, s.r.context.step = max_step, delay, 0.5
    assert runtime.c.pl_adaptive_step(s.r) == runtime.c.PL_DONE and s.r.h == 0.125


@pytest.mark.parametrize("t", [0.0, 1e-3, 5.0, -5.0])
def test_a_step_that_comes_down_to_rounding_ends_the_run(runtime, t):
    """At 1e-14 of the time, or of 10 ms; the state that limits it is named."""

    def step(now, h, x, k):
        k[-1] = [1.0, 50.0 / h]
        return x

    s = Steps(runtime, step, order=5, adaptive=1, begin=t, stop=t + 1.0)
    s.r.context.step, s.r.budget = 0.5, 10**6
    assert runtime.c.pl_adaptive_step(s.r) == runtime.c.PL_COLLAPSED
    r = s.r
    least = 1e-14 * max(abs(t), 1e-2)
    assert r.index == 1 and r.value > 1.0 and r.context.t == t
    assert r.context.step <= least < s.taken[-1][1]
    assert r.counters.rejected == len(s.taken) == 10**6 - r.budget


def test_a_step_that_does_not_move_the_time_is_not_tried(runtime):
    s = Steps(runtime, with_error(lambda t, h: 0.1), x=(1.0, 1.0), order=5, adaptive=1, begin=1.0, stop=2.0)
    s.r.context.step = 1e-17
    s.r.k[0:2] = [1.0, -3.0]
    assert runtime.c.pl_adaptive_step(s.r) == runtime.c.PL_COLLAPSED
    assert (s.r.index, s.r.value, s.taken) == (1, 0.0, [])
    assert s.r.context.step == s.r.h == 1e-17


def test_an_adaptive_step_ends_at_a_corner_inside_it(runtime):
    s = Steps(runtime, with_error(lambda t, h: 0.1), order=5, adaptive=1, begin=1.0, stop=9.0)
    s.r.context.step, s.r.last_good, s.r.rounds = 0.5, 1.125, 1
    assert runtime.c.pl_adaptive_step(s.r) == runtime.c.PL_DONE
    assert s.taken == [(1.0, 0.5), (1.0, 0.125)] and (s.r.t1, s.r.arrived) == (1.125, 0)
    assert s.r.counters.steps == 1 and s.r.context.step >= 0.5  # not made shorter by it
    s = Steps(runtime, with_error(lambda t, h: 0.1), order=5, adaptive=1, begin=1.0, stop=9.0)
    s.r.context.step, s.r.last_good, s.r.rounds = 0.5, 1.0 + 2**-6, 99
    assert runtime.c.pl_adaptive_step(s.r) == runtime.c.PL_DONE
    assert len(s.taken) == 2


def test_what_rounding_of_the_state_means_is_no_error(runtime):
    """Scale of 2e-3 and an error of 2: with a noise of 6e-3 it is 0.5."""

    def step(t, h, x, k):
        k[-1] = [4e-3 / h, 0.0]
        return x

    s = Steps(runtime, step, x=(1.0, 1.0), order=5, adaptive=1)
    s.r.context.step, s.r.system.n_rounding = 0.25, 1
    s.r.y[0] = 6e-3
    assert runtime.c.pl_adaptive_step(s.r) == runtime.c.PL_DONE
    assert len(s.taken) == 1 and s.r.context.error == pytest.approx(0.5 / math.sqrt(2))


def test_an_adaptive_step_that_ends_at_no_number_is_refused_or_ends_the_run(runtime):
    s = Steps(runtime, with_error(lambda t, h: 0.1), order=5, adaptive=1)
    s.bad_from, s.r.context.step = 1.0, 0.25
    assert runtime.c.pl_adaptive_step(s.r) == runtime.c.PL_NOT_FINITE
    assert (s.r.index, s.r.context.t) == (-1, 1.25)
    s.r.cancel = 1
    s = Steps(runtime, with_error(lambda t, h: 9.0), order=5, adaptive=1)
    s.r.cancel, s.r.context.step = 1, 0.25
    assert runtime.c.pl_adaptive_step(s.r) == runtime.c.PL_CANCELLED and len(s.taken) == 1


def first_step(t, x, f, stop, rtol, atol, order, longest):
    """Hairer, Norsett & Wanner I, section II.4, the algorithm after eq. 4.14, written out again."""
    norm = lambda v: math.sqrt(np.mean((v / (atol + rtol * np.abs(x))) ** 2))
    f0 = f(t, x)
    d0, d1 = norm(x), norm(f0)
    h0 = min(1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1, stop - t, longest)
    d2 = norm(f(t + h0, x + h0 * f0) - f0) / h0
    h1 = max(1e-6, h0 * 1e-3) if max(d1, d2) <= 1e-15 else (0.01 / max(d1, d2)) ** (1 / order)
    return min(100 * h0, h1, longest)


@pytest.mark.parametrize(
    ("x", "f", "stop", "longest"),
    [
        ((1.0, 2.0), lambda t, x: np.array([-3.0, 0.5]) * x + t, 9.0, math.inf),
        ((0.0, 0.0), lambda t, x: np.array([1.0, 2.0]) + 0 * x, 9.0, math.inf),
        ((1.0, 2.0), lambda t, x: 0 * x, 9.0, math.inf),
        ((1.0, 2.0), lambda t, x: -x, 1.0 + 1e-4, math.inf),
        ((1.0, 2.0), lambda t, x: -x, 9.0, 1e-3),
        ((1.0, 2.0), lambda t, x: -x, 9.0, 1.5e-2),
        ((1.0, 2.0), lambda t, x: -1e6 * x * (1 + t), 9.0, math.inf),
        ((1e-9, 1e-9), lambda t, x: np.sin(7 * t) + x, 9.0, math.inf),
    ],
)
def test_the_first_step_is_that_of_hairer(runtime, x, f, stop, longest):
    s = Steps(runtime, unmoved, x=x, order=5, adaptive=1)
    s.derivative = lambda a, out: out.__setitem__(slice(0, 2), f(a.t, np.array(list(a.x[0:2]))).tolist())
    s.r.settings.rtol, s.r.settings.atol, s.r.settings.max_step = 1e-4, 1e-6, longest
    f0 = runtime.array(f(1.0, np.array(x)).tolist())
    found = runtime.c.pl_initial_step_size(s.r, 1.0, runtime.array(x), f0, stop)
    assert found == pytest.approx(first_step(1.0, np.array(x), f, stop, 1e-4, 1e-6, 5, longest), rel=1e-12)
    assert s.r.counters.evaluations == 1
    s.r.model.nx = 0
    assert runtime.c.pl_initial_step_size(s.r, 1.0, runtime.array(x), f0, stop) == stop - 1.0


@pytest.mark.parametrize(
    ("t", "h", "stop", "moving"),
    [(1.0, 0.5, 2.0, 0.5), (1.0, 1e-20, 2.0, 2.0**-50), (-1.0, 1e-20, 2.0, 2.0**-50),
     (1.0, 1e-20, 1 + 2**-52, 2**-52), (0.0, 1e-300, 1.0, 1e-300), (1e6, 1e-12, 2e6, 4 * 2.0**-33)],
)  # fmt: skip
def test_a_step_moves_the_time_by_some_last_digits_at_least(runtime, t, h, stop, moving):
    assert runtime.c.pl_moving_step_size(t, h, stop) == moving


def test_a_stretch_begins_where_the_context_stands(runtime):
    """With equal steps, an adaptive method, a stiff one, and without states."""
    s = Steps(runtime, unmoved, begin=3.0, stop=4.1)
    s.r.context.t, s.r.arrived, s.r.i, s.r.horizon, s.r.unsolved = 3.5, 1, 5, 0.0, 1
    s.r.context.x[0] = 6.0
    assert runtime.c.pl_begin_stretch(s.r) == runtime.c.PL_DONE
    r = s.r
    assert (r.begin, r.t0, r.arrived, r.i, r.horizon, r.x0[0]) == (3.5, 3.5, 0, 0, 4.1, 6.0)
    assert (r.n, r.h, r.unsolved, r.value) == (3, pytest.approx(0.2), 0, 3.5)
    r.shortest_delay = 0.1
    assert runtime.c.pl_begin_stretch(r) == runtime.c.PL_DONE and r.n == 6
    r.model.nx, r.settings.longest_unwatched = 0, 0.07
    assert runtime.c.pl_begin_stretch(r) == runtime.c.PL_DONE and r.n == 9
    r.settings.longest_unwatched = 0.5
    assert runtime.c.pl_begin_stretch(r) == runtime.c.PL_DONE and r.n == 6
    r.other = runtime.c.PL_NO_DELAY
    assert runtime.c.pl_begin_stretch(r) == runtime.c.PL_NO_DELAY


def test_an_adaptive_stretch_begins_with_its_derivative_and_a_first_step(runtime):
    s = Steps(runtime, unmoved, begin=3.0, stop=4.0, adaptive=1, order=5)
    assert runtime.c.pl_begin_stretch(s.r) == runtime.c.PL_DONE
    assert s.derived[0] == (3.0, 1.0, 2.0) and list(s.r.k[0:2]) == [14.0, 15.0]
    assert s.r.counters.evaluations == 2 and 0.0 < s.r.context.step < 1.0
    s.r.context.step = 0.3
    assert runtime.c.pl_begin_stretch(s.r) == runtime.c.PL_DONE
    assert (s.r.context.step, s.r.counters.evaluations) == (0.3, 3)
    s.derivative = lambda a, out: out.__setitem__(slice(0, 2), [1.0, math.nan])
    assert runtime.c.pl_begin_stretch(s.r) == runtime.c.PL_NOT_FINITE and s.r.index == runtime.c.PL_AT_STATE
    s.r.stiff, s.r.context.step = runtime.new("pl_stiff"), 0.0
    assert runtime.c.pl_begin_stretch(s.r) == runtime.c.PL_DONE and s.r.context.step == 0.75
    s.r.context.step = 0.5
    assert runtime.c.pl_begin_stretch(s.r) == runtime.c.PL_DONE and s.r.context.step == 0.5


@pytest.mark.parametrize(
    ("adaptive", "arrived", "corrected", "k"),
    [(1, 0, 0, [5.0, 6.0]), (1, 0, 1, [15.0, 16.0]), (0, 0, 0, [1.0, 2.0]), (1, 1, 0, [1.0, 2.0]),
     (1, 1, 1, [1.0, 2.0])],
)  # fmt: skip
def test_a_step_ends_with_its_end_as_the_next_begin(runtime, adaptive, arrived, corrected, k):
    """The last stage of an adaptive one is the first of the next, unless its end was moved."""
    s = Steps(runtime, unmoved, adaptive=adaptive, stages=3, arrived=arrived, corrected=corrected, t1=2.0)
    r = s.r
    r.x1[0:2], r.k[0:6] = [3.0, 4.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    old = (r.x0, r.x1)
    assert runtime.c.pl_end_step(r) == runtime.c.PL_DONE
    assert (r.x0, r.x1) == old[::-1] and (r.t0, r.last_good, r.value, r.rounds) == (2.0, 2.0, 2.0, 0)
    assert list(r.k[0:2]) == k
    r.stiff, r.k[0] = runtime.new("pl_stiff"), 9.0
    assert runtime.c.pl_end_step(r) == runtime.c.PL_DONE and r.k[0] == 9.0
    r.system.n_delays, r.other = 1, runtime.c.PL_NO_DELAY
    assert runtime.c.pl_end_step(r) == runtime.c.PL_NO_DELAY
    assert (r.rounds, r.context.t) == (1, 2.0) and r.context.x[0] == r.x0[0]


def test_without_states_equal_steps_lead_to_the_stop(runtime):
    s = Steps(runtime, unmoved, begin=1.0, stop=1.7, n=3, located=5, apart=4)
    s.r.model.nx, s.r.i = 0, 0
    times = []
    for k in range(3):
        assert runtime.c.pl_take_step(s.r) == runtime.c.PL_DONE
        assert (s.r.i, s.r.arrived, s.r.located, s.r.apart, s.r.end) == (k + 1, k == 2, -1, -1, s.r.t1)
        times.append(s.r.t1)
    assert times == [pytest.approx(1.0 + 0.7 / 3), pytest.approx(1.0 + 1.4 / 3), 1.7]
    assert (s.r.budget, s.r.round) == (97, 0)
    s.r.system.n_events, s.r.i = 1, 0
    assert runtime.c.pl_take_step(s.r) == runtime.c.PL_DONE and s.r.round == 1


def test_a_step_looks_for_crossings_and_says_what_invariant_is_unmet(runtime):
    s = Steps(runtime, unmoved, h=0.125, n=8, i=0)
    s.r.system.n_events = 1
    assert runtime.c.pl_take_step(s.r) == runtime.c.PL_DONE
    assert (s.r.round, s.r.t1, s.r.end, s.r.budget) == (1, 1.125, 1.125, 99)
    s.r.system.n_invariants, s.r.segment = 3, 2
    assert runtime.c.pl_take_step(s.r) == runtime.c.PL_UNMET and s.r.index == 2
    assert s.r.corrected == 1 and s.r.integrated1 == s.r.unprojected
    assert s.r.x1[0] == s.r.unprojected[0] + 1.0
    s.r.segment = 0  # the first of them
    assert runtime.c.pl_take_step(s.r) == runtime.c.PL_UNMET and s.r.index == 0
    s.r.round = 40  # a crossing of which no sign is known: that is said, not the invariant
    assert runtime.c.pl_take_step(s.r) == runtime.c.PL_NO_SIGN
    s.r.segment, s.r.cancel = -1, 1
    s.r.unsolved = 1  # for want of numbers of a function that was interrupted: the run can go on
    assert runtime.c.pl_take_step(s.r) == runtime.c.PL_CANCELLED
    assert (s.r.context.t, s.r.unsolved) == (s.r.t0, 0)


def test_each_method_has_its_step_and_its_solution_inside(runtime):
    s = Steps(runtime, with_error(lambda t, h: 0.5), order=5, adaptive=1)
    s.r.context.step = 0.25
    assert runtime.c.pl_integrate_step(s.r) == runtime.c.PL_DONE and s.r.end == 1.25
    x = runtime.array([5.0])
    s.r.stiff = runtime.new("pl_stiff")
    assert runtime.c.pl_integrate_step(s.r) == 77
    runtime.c.pl_interpolate_some(s.r, 1.0, 1, 1, x)
    assert x[0] == 5.0  # of no states nothing is asked
    runtime.c.pl_interpolate_some(s.r, 1.0, 0, 1, x)
    assert x[0] == 88.0
