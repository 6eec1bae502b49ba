"""Extrema between the instants of the grid: as in closed form where signals are smooth, never invented."""

import math

import casadi as ca
import numpy as np
import pytest

from blocks import Constant, Hold, Integrator, Saturation, Sine, Step, Sum, TransferFunction, TransportDelay
from cosim import Diagram, Study
from cosim.compile.slopes import along
from cosim.study import probes
from cosim.study.between import SignalCourse
from cosim.study.formulas import Compared, below, parsed, value
from cosim.study.robustness import margins
from tests.helpers.hybrid import Ball

DAMPING = 0.2
TOP = 1 + math.exp(-math.pi * DAMPING / math.sqrt(1 - DAMPING**2))  # of the step response, at pi/wd
LONG = 0.6389288811156257  # s above 1.5, of the closed form by Brent's method
REQUIREMENTS = [
    {"name": "below", "always": "sys.y < 1.6"},
    {"name": "reaches", "eventually": "sys.y > 1.5"},
    {"name": "both", "formula": "always[0, 5](sys.y < 1.6 and t < 100)"},
    {"name": "one of", "formula": "eventually[0, 5](sys.y > 1.5 or t > 100)"},
    {"name": "not yet", "formula": "always[0, 2](sys.y < 1.6)"},
]
METRICS = {
    "top": "max(sys.y)",
    "low": "min(0 - sys.y)",
    "when": "time_of_max(sys.y)",
    "beyond": {"overshoot": "sys.y", "value": 1.0},
    "long": "duration(sys.y > 1.5)",
    "often": "count(sys.y > 1.526615)",
}


def swinging():
    d = Diagram("swinging")
    d.add("u", Step(time=0.0))
    d.add("sys", TransferFunction([1.0], [1.0, 2 * DAMPING, 1.0]))
    d.connect("u.y", "sys.u")
    return d


def found(every, engine="reference", **more):
    keys = {"until": 5.0, "metrics": METRICS, "requirements": REQUIREMENTS, "rtol": 1e-10, "atol": 1e-12}
    return Study(swinging(), log_every=every, engine=engine, **keys | more).case(0).measures


def test_extrema_and_margins_are_those_of_the_closed_form():
    m = found(0.05)
    assert m["top"] == pytest.approx(TOP, abs=5e-9)  # the grid alone misses it by up to 2e-4
    assert m["low"] == -m["top"]
    assert m["when"] == pytest.approx(math.pi / math.sqrt(1 - DAMPING**2), abs=2e-6)
    assert m["beyond"] == pytest.approx(100 * (TOP - 1), abs=1e-6)
    for name, expected in (("below", 1.6 - TOP), ("reaches", TOP - 1.5)):
        assert m[f"{name}.robustness"] == pytest.approx(expected, abs=5e-9)
    assert m["long"] == pytest.approx(LONG, abs=2e-7)  # by the grid alone 0.65
    assert m["often"] == 1  # between two instants, in none of which it is above
    assert m["both.robustness"] == m["below.robustness"]
    assert m["one of.robustness"] == m["reaches.robustness"]
    assert m["not yet.robustness"] > 0.3  # the peak at 3.2 s is past its window


@pytest.mark.parametrize("step", [0.4, 0.1, 0.025])
def test_error_of_the_cubic(step):
    """sin(t + phase) on a grid: off by h^4/384 at most, wherever the peak lies between two instants."""
    phase, time = np.linspace(0, step, 40)[:, None], np.arange(0, 3.3, step)
    tops, when = SignalCourse(time, np.sin(time + phase), np.cos(time + phase)).highest()
    assert np.abs(tops - 1).max() < 1.01 * step**4 / 384
    assert when == pytest.approx(math.pi / 2 - phase[:, 0], abs=step**3 / 20)


@pytest.mark.parametrize("peak", [0.04, 0.86])
def test_a_peak_in_the_first_or_the_last_interval_is_found(peak):
    """One neighbour tells that the slope changes alike; of one interval alone nothing is believed."""
    time = 0.1 * np.arange(10)
    top, when = SignalCourse(time, np.cos([time - peak]), -np.sin([time - peak])).highest()
    assert top[0] == pytest.approx(1.0, abs=1e-6) and when[0] == pytest.approx(peak, abs=1e-4)
    k = int(peak / 0.1)
    two = time[k : k + 2]
    top, when = SignalCourse(two, np.cos([two - peak]), -np.sin([two - peak])).highest()
    assert top[0] == np.cos(two - peak).max() and when[0] in two


@pytest.mark.parametrize("mirrored", [False, True])
def test_it_is_the_next_interval_that_a_peak_is_compared_with(mirrored):
    """A parabola with its peak in the first interval, which goes on as a line; and the same backwards."""
    time, peak = np.arange(8.0), 0.4
    slope = -2 * (np.minimum(time, 2.0) - peak)
    value = np.concatenate([[0.0], np.cumsum((slope[1:] + slope[:-1]) / 2)])
    if mirrored:
        value, slope, peak = value[::-1], -slope[::-1], time[-1] - peak
    top, when = SignalCourse(time, value[None, :], slope[None, :]).highest()
    assert top[0] == pytest.approx(0.16, abs=1e-12) and when[0] == pytest.approx(peak, abs=1e-12)


def test_both_engines_find_the_same_bits():
    one, other = found(0.1), found(0.1, "native")
    for name in one:
        if name != "wall_time":
            assert one[name] == other[name]


def test_what_is_added_changes_no_step():
    bare = Study(swinging(), until=5.0, log_every=0.1, engine="reference").case(0).result
    seen = Study(swinging(), until=5.0, log_every=0.1, engine="reference", metrics=METRICS).case(0).result
    assert np.array_equal(bare["sys.y"], seen["sys.y"])


@pytest.mark.parametrize("every", [0.1, 0.05, 0.02])
def test_a_ball_that_bounces_is_never_below_the_ground(every):
    """Between two instants of falling and rising it bounces; at last several times."""
    d = Diagram("ball")
    d.add("ball", Ball(restitution=0.8))
    requirement = {"name": "above", "always": "ball.h >= 0"}
    found = Study(
        d, until=3.5, log_every=every, engine="reference", requirements=[requirement],
        metrics={"apex": "max(ball.h - 2*floor(1 - min(1, max(0, t - 0.46))))"},
    ).case(0)  # fmt: skip
    assert found.measures["above"]
    assert found.measures["above.robustness"] >= 0
    assert found.measures["apex"] == pytest.approx(0.64, abs=1e-12)  # a parabola: the cubic is exact


def test_no_peak_beyond_a_limit():
    d = Diagram("limit")
    d.add("s", Sine(frequency=1.0))
    d.add("limit", Saturation(-0.5, 0.5))
    d.add("held", Hold(sample=0.03))
    d.add("sum", Sum("++"))
    for pair in (("s.y", "limit.u"), ("s.y", "held.u"), ("held.y", "sum.in1"), ("limit.y", "sum.in2")):
        d.connect(*pair)
    requirements = [
        {"name": "a", "always": "limit.y <= 0.5 and limit.y >= -0.5"},
        {"name": "b", "always": "abs(s.y) >= 0 and abs(sum.y) <= 1.5"},
    ]
    for every in (0.01, 0.037, 0.11):
        m = (
            Study(d, until=2.0, log_every=every, engine="reference", requirements=requirements)
            .case(0)
            .measures
        )
        assert m["a.robustness"] >= 0
        assert m["b.robustness"] >= 0


@pytest.mark.slow
def test_delays_and_constants_are_seen_on_the_grid():
    d = Diagram("late")
    d.add("s", Sine(frequency=1.0))
    d.add("late", TransportDelay(0.3))
    d.add("c", Constant(2.0))
    d.connect("s.y", "late.u")
    metrics = {"late": "max(late.y)", "s": "max(s.y)", "c": "max(c.y)"}
    study = Study(d, until=2.0, log_every=0.2, engine="reference", metrics=metrics)
    one = study.case(0)
    assert one.measures["late"] == one.result["late.y"].max()
    assert one.measures["c"] == 2.0
    assert one.measures["s"] == pytest.approx(1.0, abs=1e-5)


# --- curves ---------------------------------------------------------------------------------------------
def test_a_corner_is_never_passed():
    """Of curves with one corner or one jump between instants the cubic stays within what is reached."""
    time = np.linspace(0.0, 1.0, 11)
    fine = np.linspace(0.0, 1.0, 20001)
    chance = np.random.default_rng(3)
    for _ in range(300):
        at, before, after = chance.uniform(0.1, 0.9), *chance.normal(size=2)
        bend, jump = chance.normal(), chance.choice([0.0, chance.normal()])
        curve = lambda t, at=at, before=before, after=after, bend=bend, jump=jump: (
            np.where(t < at, before * (t - at), jump + after * (t - at)) + bend * (t - at) ** 2
        )
        slope = lambda t, at=at, before=before, after=after, bend=bend: (
            np.where(t < at, before, after) + 2 * bend * (t - at)
        )
        course = SignalCourse(time, curve(time)[None, :], slope(time)[None, :])
        assert course.highest()[0][0] <= curve(fine).max() + 1e-6


def test_what_is_believed():
    """A parabola has its peak in the middle; with a jump, corner or event there it is not known."""
    time, slopes = np.arange(4.0), np.array([[3.0, 1.0, -1.0, -3.0]])
    parabola = np.array([[0.0, 2.0, 2.0, 0.0]])
    peak = lambda values, slopes, smooth=None: SignalCourse(time, values, slopes, smooth).highest()[0][0]
    assert peak(parabola, slopes) == 2.25
    assert peak(parabola, slopes, np.array([[True, False, True]])) == 2.0
    assert peak(parabola + np.array([0, 0, 5, 5]), slopes) == 7.0
    assert peak(parabola, np.array([[2.0, 1.9, -1.9, -2.0]])) == 2.0
    assert peak(parabola, None) == 2.0
    assert -(-SignalCourse(time, -parabola, -slopes)).highest()[0][0] == -2.25


@pytest.mark.slow
def test_margins_in_between_are_those_of_a_fine_grid():
    """Conditions that combine three smooth signals, beside instants a hundred times as dense.

    And those where margins of two comparisons are equal, or opposite: lines between two dense instants meet
    there within 1e-7 s.
    """
    chance = np.random.default_rng(5)
    texts = [
        "always(x.a < 2 and x.b < 2)", "eventually(x.a > 1 or x.b > 1)", "always(x.a < 1 or x.b < 1)",
        "eventually(x.a > 0 and x.c > 0)", "always(x.a > 1 implies x.c < 2)", "not (always(x.a < x.b))",
        "always[0.5, 2.5](x.a - x.b < 1)", "eventually[1, 2](always[0, 0.5](x.c > 0))",
    ]  # fmt: skip
    coarse, fine = np.linspace(0, 4, 81), np.linspace(0, 4, 8001)
    for _ in range(20):
        w, phase = chance.uniform(1, 5, 3), chance.uniform(0, 6, 3)
        known = {f"x.{n}": (w[k], phase[k]) for k, n in enumerate("abc")}
        for text in texts:
            at_start = lambda time, slopes, text=text, known=known: float(
                margins(parsed(text), time, lambda f: seen(f, time, known, slopes)).at[0, 0]
            )
            dense = np.unique(np.concatenate([fine, met(parsed(text), fine, known)]))
            exact, grid, ours = (at_start(t, s) for t, s in ((dense, False), (coarse, False), (coarse, True)))
            assert abs(ours - exact) <= abs(grid - exact) + 1e-6
            if "[1, 2]" not in text:
                assert ours == pytest.approx(exact, abs=4e-5)


def met(formula, time, known):
    """Instants at which the margins of two comparisons are equal or opposite."""
    sides = [p for p in below(formula) if isinstance(p, Compared)]
    values = [(seen(p.left, time, known, False) - seen(p.right, time, known, False)).values[0] for p in sides]
    found = []
    for k, one in enumerate(values):
        for apart in (one + sign * two for two in values[:k] for sign in (-1, 1)):
            at = np.flatnonzero(apart[:-1] * apart[1:] < 0)
            share = apart[at] / (apart[at] - apart[at + 1])
            found.append(time[at] + share * (time[at + 1] - time[at]))
    return np.concatenate([time[:0], *found])


def seen(formula, time, known, slopes):
    sines = {n: 2 * np.sin(w * time + p)[None, :] for n, (w, p) in known.items()}
    rates = {n: 2 * w * np.cos(w * time + p)[None, :] for n, (w, p) in known.items()}
    values = np.broadcast_to(value(formula, sines.__getitem__), (1, len(time)))
    constant = not any(n in str(formula) for n in known)
    slope = np.zeros((1, len(time))) if constant else value(formula, rates.__getitem__)
    return SignalCourse(time, values, slope if slopes else None)


def test_slopes_of_many_formulas_are_found_at_once(monkeypatch):
    """One by one they took a time with the square of their number: 6 s of 2000."""
    asked = []
    monkeypatch.setattr(probes, "along", lambda g, *rest: asked.append(g.numel()) or along(g, *rest))
    for count in (3, 60):
        d = Diagram("many")
        for k in range(count):
            d.add(f"s{k}", Sine(amplitude=k + 1.0, frequency=4.0))
            d.add(f"i{k}", Integrator())
            d.connect(f"s{k}.y", f"i{k}.u")
        d.add("still", Constant(2.0))
        metrics = {f"m{k}": f"max(i{k}.y)" for k in range(count)} | {"none": "max(still.y)", "end": "max(t)"}
        asked.clear()
        m = Study(d, until=1.0, log_every=0.1, rtol=1e-10, atol=1e-12, engine="reference", metrics=metrics)
        found = m.case(0).measures
        assert asked == [count + 2] * 2  # once for their values, once for whether they jump
        for k in range(count):  # at t = pi/4; the grid alone misses it by 4e-4
            assert found[f"m{k}"] == pytest.approx((k + 1.0) / 2.0, rel=5e-5)
        assert (found["none"], found["end"]) == (2.0, 1.0)


def test_slopes_among_many_are_those_alone():
    """Of a delayed signal nothing is claimed, of one beside it the slope; held ones jump."""
    d = Diagram("mixed")
    d.add("s", Sine(frequency=0.5))
    d.add("i", Integrator())
    d.add("late", TransportDelay(0.25))
    d.add("h", Hold(sample=0.1))
    d.connect("s.y -> i.u, late.u, h.u")
    names = ["i.y", "late.y", "h.y", "2*s.y", "t", "i.y*h.y", "i.y + late.y"]
    formulas = [parsed(name) for name in names]
    system = d.system()
    assert probes.which_follow_held(system, formulas) == [False, True, True, False, False, True, True]
    slopes = probes.slopes_of(system, formulas)
    args = [system.t, system.x, system.h, system.w, system.p]
    context = [0.3, [0.7], system.h0, np.zeros(system.w.numel()), system.p0]
    context[2] = np.full(len(system.h0), 0.4)  # the held sample, among them
    got = np.array(ca.Function("f", args, [ca.vertcat(*slopes)])(*context)).ravel()
    u, rate = math.sin(0.5 * 0.3), 0.5 * math.cos(0.5 * 0.3)
    assert got == pytest.approx([u, 0.0, 0.0, 2 * rate, 1.0, 0.4 * u, 0.0], rel=1e-12)


def test_where_two_comparisons_cross():
    """sin t and cos t meet at pi/4 and 5 pi/4, between instants of the grid."""
    d = Diagram("crossing")
    d.add("s", Sine())
    d.add("c", Sine(phase=math.pi / 2))
    half = math.sqrt(0.5)
    expected = {
        "eventually[0, 2](s.y > 0 and c.y > 0)": half,
        "always[0, 2](s.y > 0.7 or c.y > 0.7)": half - 0.7,
        "always[0, 2](s.y < 0.7 implies c.y > 0.7)": half - 0.7,
        "not eventually[3, 5](s.y < 0.1 and c.y < 0.1)": -(half + 0.1),
        "eventually[0, 2](s.y > 0 and c.y > 0 and t < 9)": half,
        "eventually[0, 2](s.y > 0 and c.y > 0 and t < 1)": 1 - 0.510973429388569,  # where sin t = 1 - t
        "c.y > 0 until[0, 2] s.y > 0": half,
    }
    study = Study(
        d, until=6.0, log_every=0.09,
        requirements=[{"name": f"r{k}", "formula": text} for k, text in enumerate(expected)],
    )  # fmt: skip
    found = study.case(0).measures
    margins_found = [found[f"r{k}.robustness"] for k in range(len(expected))]
    assert margins_found == pytest.approx(list(expected.values()), abs=1e-6)


def test_crossings_at_corners_and_jumps_are_not_believed():
    time = np.arange(6.0)
    line = SignalCourse(time, np.array([time - 2.4]), np.ones((1, 6)))
    rising = lambda values, slopes, smooth=None: line.meets(
        SignalCourse(time, np.array([values]), np.array([slopes]), smooth)
    )[0]
    nothing = np.full(5, -np.inf)
    still = rising(np.zeros(6), np.zeros(6))
    assert np.isfinite(still).tolist() == [False, False, True, False, False] and abs(still[2]) < 1e-12
    falling = rising(2.6 - time, -np.ones(6))
    assert falling[2] == pytest.approx(0.1, abs=1e-12)
    assert np.array_equal(
        rising(2.6 - time, -np.ones(6), np.array([[True, True, False, True, True]])), nothing
    )
    corner = rising(np.abs(time - 2.5) - 0.3, np.sign(time - 2.5))
    assert np.array_equal(corner, nothing)
    assert np.array_equal(rising([1.0, 1, 1, -1, -1, -1], np.zeros(6)), nothing)  # slopes are not known
