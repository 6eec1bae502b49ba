"""Crossings by their functions alone, in C and in Python: signs, and where between two times one changes.

The state of the only step is x = t, so that crossings are functions of x that are known in closed form.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from blocks.errors import SimulationError
from tests.helpers.crossing_parts import InC, InPython
from tests.helpers.runtime_parts import Runtime, parts

TEXTS = {
    "crossings": '#include "crossings.c"',
    "crossing_search": """#include "crossing_search.c"
double find_root(pl_run *r, int i, double side, double low, double high)
{ return root(r, i, side, low, high); }
double find_turn(pl_run *r, int i, double side, double low, double high)
{ return turn(r, i, side, low, high); }
int is_resolved(pl_run *r, double t0, double t1) { return resolved(r, t0, t1); }
void pl_interpolate(pl_run *r, double t, double *x) { x[0] = t; }
void pl_interpolate_some(pl_run *r, double t, int first, int last, double *x)
{ if (first < last) x[0] = t; }
int pl_project(pl_run *r, double t, double *x) { (void)r, (void)t, (void)x; return 0; }""",
    "quartic": '#include "quartic.c"',
    "evaluate": """#include "evaluate.c"
void pl_update_w(void *owner, const pl_args *a) { ((pl_run *)owner)->value = a->t; }""",
    "norms": '#include "norms.c"',
}
CALLED = """
double find_root(pl_run *r, int i, double side, double low, double high);
double find_turn(pl_run *r, int i, double side, double low, double high);
int is_resolved(pl_run *r, double t0, double t1);
double pl_crossing(const pl_run *r, int i);
int pl_evaluate_crossings(pl_run *r, double t, const double *x);
void pl_all_looked_at(pl_run *r);
void pl_look_again(pl_run *r, int i);
void pl_note_farthest(pl_run *r);
double pl_farthest(const pl_run *r, int i);
void pl_forget_farthest(pl_run *r, int i);
void pl_set_sign(pl_run *r, int i, double now);
void pl_settle_side(pl_run *r, int i);
int pl_locate_crossing(pl_run *r);
"""
BIT = 1e-15  # relative; roots are found to this


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(*parts(tmp_path_factory.mktemp("parts"), TEXTS, CALLED))


# function of x, its root in a bracket, the bracket, and how often it may be looked at: both ends too
ROOTS = {
    "line": (lambda x: x - 0.3, 0.3, (0.25, 0.5), 5),
    "falling line": (lambda x: 0.3 - x, 0.3, (0.25, 0.5), 5),
    "late": (lambda x: x - 1e5 - 1 / 3, 1e5 + 1 / 3, (1e5, 1e5 + 1), 6),
    "before zero": (lambda x: x + 7 + 2 / 3, -7 - 2 / 3, (-8.0, -7.0), 6),
    "cube": (lambda x: x**3 - 0.027, 0.3, (0.0, 1.0), 25),
    "sine": (lambda x: math.sin(x) - 0.5, math.pi / 6, (0.0, 1.0), 18),
    "steep": (lambda x: math.expm1(40 * (x - 0.7)), 0.7, (0.0, 1.0), 60),
    "flat": (lambda x: (x - 0.6) ** 5, 0.6, (0.0, 1.0), 103),
    "jump": (lambda x: 1.0 if x > 0.37 else -1e-3, 0.37, (0.0, 1.0), 129),
    "square root": (lambda x: math.sqrt(x) - 0.1, 0.01, (0.0, 1.0), 20),
    "at the end": (lambda x: x - 1.0 + 1e-14, 1.0 - 1e-14, (0.5, 1.0), 7),
    "on it at its begin": (lambda x: x, 0.0, (0.0, 0.5), 8),
    "at its begin": (lambda x: x - 1e-14, 1e-14, (0.0, 0.5), 9),
}


@pytest.mark.parametrize("name", list(ROOTS))
def test_a_root_is_found_just_behind_it_in_few_looks_at_the_same_times_in_both(runtime, name):
    g, root, (low, high), most = ROOTS[name]
    side = 1.0 if g(high) > 0 else -1.0
    both = InC(runtime, [g]), InPython([g])
    found = [way.root(0, side, low, high) for way in both]
    assert both[0].visited == both[1].visited and found[0] == found[1]
    assert len(both[0].visited) <= most
    near = 1e-3 if name == "flat" else 3 * BIT * max(1.0, abs(root)) + 4 * math.ulp(root)
    assert abs(found[0] - root) <= near and g(found[0]) * side > 0.0


@pytest.mark.parametrize("place", [0.3, 0.71875, 17.2, 1000.3])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_what_begins_to_move_on_its_threshold_is_found_by_halves(runtime, place, side):
    """The crossing is 0 all the way, and moves from `place` on."""
    low, high = math.floor(place), math.floor(place) + 1.0
    rates = [lambda x: side if x > place else -side]
    both = [make([lambda x: 0.0], rates) for make in (lambda *a: InC(runtime, *a), InPython)]
    found = [way.turn(0, side, low, high) for way in both]
    assert found[0] == found[1] and both[0].visited == both[1].visited
    assert place < found[0] <= place + 1.1 * BIT * max(1.0, place) + math.ulp(place)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_what_is_beyond_all_the_way_turns_where_it_does_and_not_at_the_end(runtime, side):
    """Just above zero, but not above its threshold: there its sign is that of its rate."""
    g, rates = [lambda x: 1e-12 * side], [lambda x: side if x > 0.3125 else -side]
    for way in (InC(runtime, g, rates, threshold=[1e-10]), InPython(g, rates, threshold=[1e-10])):
        assert way.root(0, side, 0.0, 1.0) == pytest.approx(0.3125, abs=2 * BIT)


def smooth(x):
    return 1.0 + x


SEEN = {
    "a parabola above zero": (lambda x: (x - 0.4) ** 2 + 0.01, True),
    "one that dips below between quarters": (lambda x: (x - 0.37) ** 2 - 1e-4, False),
    "the same upside down": (lambda x: 1e-4 - (x - 0.37) ** 2, False),
    "one that dips below at a quarter": (lambda x: (x - 0.25) ** 2 - 1e-4, True),
    "one that dips too little": (lambda x: (x - 0.4) ** 2 - 1e-9, True),
    "a pulse that a quartic does not follow": (lambda x: math.exp(-(((x - 0.6) / 0.05) ** 2)), False),
    "another pulse": (lambda x: math.exp(-(((x - 0.1) / 0.05) ** 2)), False),
    "a line": (lambda x: x - 0.3, True),
    "a quartic": (lambda x: x * (x - 0.3) * (x - 0.6) * (x - 0.9) + 1.0, True),
    "nothing": (lambda x: 0.0, True),
    "a dip in the last quarter": (lambda x: (x - 0.875) ** 2 - 1e-3, False),
    "a dip in the first quarter": (lambda x: (x - 0.125) ** 2 - 1e-3, False),
    "a dip just behind a node": (lambda x: (x - 0.56) * (x - 0.69), False),
    "a dip just before a node": (lambda x: (x - 0.685) * (x - 0.745), False),
}


@pytest.mark.parametrize("scale", [1.0, -1e-3])
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("name", list(SEEN))
def test_a_piece_is_resolved_where_five_points_show_every_change_of_sign(runtime, name, order, scale):
    g, resolved = SEEN[name]
    all_of_them = [smooth, lambda x: scale * g(x)]
    for way in (InC(runtime, all_of_them[:: 1 - 2 * order]), InPython(all_of_them[:: 1 - 2 * order])):
        assert way.resolved(0.0, 1.0) == resolved
    late = [lambda x: scale * g((x - 3.0) / 2.0)]
    for way in (InC(runtime, late), InPython(late)):
        assert way.resolved(3.0, 5.0) == resolved


@pytest.mark.parametrize(
    ("values", "resolved"),
    [
        ([1.0, 0.51, 1e-7, 0.51, 1.0], True),
        ([1.0, 0.2, 0.02, 0.06, 0.5], None),
        ([3.0, 1.0, 0.2, 0.1, 1.0], None),
    ],
)
def test_both_judge_quartics_alike(runtime, values, resolved):
    quartic = np.polynomial.Polynomial.fit(np.linspace(0, 1, 5), values, 4)
    for g in ([lambda x: float(quartic(x))], [lambda x: float(-quartic(x))]):
        roots = [z.real for z in quartic.roots() if abs(z.imag) < 1e-12 and 0.0 < z.real < 1.0]
        expected = (len(roots) == 0) if resolved is None else resolved
        for way in (InC(runtime, g), InPython(g)):
            assert way.resolved(0.0, 1.0) == expected


def test_what_pieces_share_is_evaluated_once_in_a_search(runtime):
    """A jump behind the start halves the first piece again and again; the next search begins anew.

    Three of the seven points of a first half are its whole's, which Python evaluates again. A
    loop's solution is where the search for the next one begins: there nothing is left out.
    """
    jump = lambda x: x if x > 2e-3 else 1.0
    way, python = InC(runtime, [jump], in_time=1), InPython([jump], in_time=1)
    for _ in range(2):
        way.visited.clear()
        assert way.locate(0.0, 1.0) is None and python.locate(0.0, 1.0) is None
        assert len(way.visited) < 0.7 * len(python.visited)
        assert set(way.visited) == set(python.visited)
        python.visited.clear()
    way.g[0] = lambda x: x - 0.5
    way.context.signs[0] = -1.0
    assert way.locate(0.0, 1.0) == (pytest.approx(0.5, rel=1e-12), 0)
    solved = InC(runtime, [jump], in_time=1)
    solved.r.system.n_unknowns = 1
    assert solved.locate(0.0, 1.0) is None and python.locate(0.0, 1.0) is None
    assert set(solved.visited) == set(python.visited) and len(solved.visited) > len(python.visited)


def test_in_time_a_narrow_pulse_is_found_in_pieces(runtime):
    """It is above zero for 83 ms of a step of 1 s, between two quarters."""
    g = [lambda x: 2.0 * math.exp(-(((x - 0.62) / 0.05) ** 2)) - 1.0]
    place = 0.62 - 0.05 * math.sqrt(math.log(2.0))
    both = InC(runtime, g, signs=[-1.0], in_time=1), InPython(g, signs=[-1.0], in_time=1)
    found = [way.locate(0.0, 1.0) for way in both]
    assert found[0] == found[1] and both[0].visited[-1] == both[1].visited[-1]
    assert found[0] == (pytest.approx(place, abs=1e-14), 0)
    for way in (InC(runtime, g, signs=[-1.0]), InPython(g, signs=[-1.0])):
        assert way.locate(0.0, 1.0) is None  # by quarters it is overlooked


def test_pieces_are_halved_ten_times_at_most(runtime):
    """A jump is never resolved."""
    g = [lambda x: -1.0 if x < 0.6 else 1.0]
    both = InC(runtime, g, signs=[-1.0], in_time=1), InPython(g, signs=[-1.0], in_time=1)
    found = [way.locate(0.0, 1.0) for way in both]
    assert found[0] == found[1] == (pytest.approx(0.6, abs=2e-15), 0)
    assert len(set(both[0].visited)) < 200
    for way in both:  # points of pieces of 1/512 s with 0.6 s in them, and none of shorter ones
        near = [min(abs(1024 * x - place) for x in way.visited) for place in (614.2, 614.1)]
        assert near[0] < 1e-9 < near[1]


STEP = {
    "one": ([lambda x: x - 0.3], [-1.0], [0], (0.3, 0)),
    "falling": ([lambda x: 0.3 - x], [1.0], [0], (0.3, 0)),
    "the first of three": (
        [lambda x: x - 0.45, lambda x: x - 0.4, lambda x: x - 0.42], [-1.0] * 3, [0] * 3, (0.4, 1)
    ),
    "in another quarter": ([lambda x: x - 0.9, lambda x: x - 0.8], [-1.0] * 2, [0, 0], (0.8, 1)),
    "only one direction": ([lambda x: x - 0.3, lambda x: x - 0.4], [-1.0] * 2, [-1, 1], (0.4, 1)),
    "rising twice": ([lambda x: (x - 0.2) * (x - 0.6)], [1.0], [1], (0.6, 0)),
    "the wrong way": ([lambda x: x - 0.3], [-1.0], [-1], None),
    "none": ([lambda x: x + 0.3], [1.0], [0], None),
    "at once both": ([lambda x: x - 0.35, lambda x: 2 * x - 0.7], [-1.0] * 2, [0, 0], (0.35, 0)),
    "at the end": ([lambda x: x - 1 + 1e-15], [-1.0], [0], (1.0, 0)),
}  # fmt: skip


@pytest.mark.parametrize("pieces", [False, True])
@pytest.mark.parametrize("name", list(STEP))
def test_the_first_crossing_of_a_step_in_its_direction_is_located(runtime, name, pieces):
    g, signs, direction, first = STEP[name]
    both = (
        InC(runtime, g, signs=list(signs), direction=direction, pieces=pieces),
        InPython(g, signs=list(signs), direction=direction),
    )
    found = [way.locate(0.0, 1.0) for way in both]
    assert found[0] == found[1] and both[0].signs() == both[1].signs()
    assert found[0] == (first and (pytest.approx(first[0], abs=3e-15), first[1]))
    assert both[0].r.arrived == (first is not None)
    if first and first[0] < 1.0:
        assert (both[0].r.corrected, both[0].r.x1[0]) == (1, found[0][0])
        assert both[0].r.integrated1[0] == 1.0  # the end of the step as it was integrated
    if name == "the wrong way":
        assert both[0].signs() == [1.0]


@pytest.mark.parametrize(("unknowns", "farthest"), [(0, 1.0), (1, 0.5)])
def test_unknowns_are_not_sought_behind_the_quarter_that_has_a_crossing(unknowns, farthest):
    """Behind the crossing they may have no solution; without unknowns a whole step is looked at at once."""
    way = InPython([lambda x: x - 0.3], signs=[-1.0])
    way.crossings.unknowns.count = unknowns
    assert way.locate(0.0, 1.0) == (pytest.approx(0.3, abs=3e-15), 0)
    assert max(way.visited) == farthest


def test_how_far_crossings_have_gone_is_the_largest_seen_and_in_the_middle_of_a_flight(runtime):
    """x - 0.3 from -0.3 on, and 0.1 - 10 x that falls before: in the middle of the first it is -1.4 or so."""
    g, signs = [lambda x: x - 0.3, lambda x: 0.05 - 10 * x, lambda x: 5 - x], [-1.0, 1.0, 1.0]
    way = InC(runtime, g, signs=list(signs), direction=[0, 1, 0])
    assert way.locate(0.0, 0.2) is None
    far = [runtime.c.pl_farthest(way.r, k) for k in range(3)]
    assert far == pytest.approx([0.25, 1.95, 4.95])  # quarters from 0.05 s on
    assert way.signs() == [-1.0, -1.0, 1.0]
    assert way.locate(0.2, 1.0) == (pytest.approx(0.3), 0)
    assert runtime.c.pl_farthest(way.r, 0) == pytest.approx(0.25)
    runtime.c.pl_forget_farthest(way.r, 1)
    assert [runtime.c.pl_farthest(way.r, k) for k in range(3)] == pytest.approx([0.25, 0.0, 4.95])

    python = InPython(g, signs=list(signs), direction=[0, 1, 0])
    assert python.locate(0.0, 0.2) is None
    assert python.crossings.farthest.tolist() == pytest.approx([0.25, 1.95, 4.95])


@pytest.mark.parametrize("make", ["c", "python"])
def test_a_flight_that_begins_and_ends_within_a_quarter_is_measured_in_its_middle(runtime, make):
    """4 x (0.2 - x) falls through zero at 0.2 s: 0.04 in the middle; another changes the other way."""
    g = [lambda x: 4 * x * (0.2 - x), lambda x: x - 0.15, lambda x: 7.0]
    settings = {"signs": [1.0, -1.0, 1.0], "direction": [0, -1, 0]}
    way = InC(runtime, g, **settings) if make == "c" else InPython(g, **settings)
    if make == "c":
        way.r.fired[0:3] = [2, 2, 2]  # from before
    assert way.locate(0.0, 1.0) == (pytest.approx(0.2), 0)
    if make == "c":
        far = [runtime.c.pl_farthest(way.r, k) for k in range(3)]
    else:
        far = way.crossings.farthest.tolist()
    assert far == pytest.approx([0.04, 0.05, 0.0])


def test_events_of_one_place_forget_how_far_it_has_gone_one_by_one(runtime):
    way = InC(runtime, [lambda x: 3.0, lambda x: -x], signs=[1.0, 1.0, -1.0], at=[0, 0, 1])
    runtime.c.pl_evaluate_crossings(way.r, 2.0, runtime.array([2.0]))
    runtime.c.pl_note_farthest(way.r)
    assert [runtime.c.pl_farthest(way.r, k) for k in range(3)] == [3.0, 3.0, 2.0]
    way.r.events_known = 1
    runtime.c.pl_forget_farthest(way.r, 1)
    assert [runtime.c.pl_farthest(way.r, k) for k in range(3)] == [3.0, 0.0, 2.0]
    assert way.r.events_known == 0
    runtime.c.pl_note_farthest(way.r)
    assert [runtime.c.pl_farthest(way.r, k) for k in range(3)] == [3.0, 3.0, 2.0]


# value, rate, sign at rest, threshold; stored sign; its sign, None where it is quiet
SIGNS = [
    ((0.5, 0.0, 1, 0.1), 1.0, None), ((0.5, 0.0, 1, 0.1), -1.0, 1.0), ((-0.5, 9.0, 1, 0.1), -1.0, None),
    ((-0.5, 9.0, 1, 0.1), 1.0, -1.0), ((0.1, 3.0, -1, 0.1), 1.0, 1.0), ((0.1, -3.0, 1, 0.1), 1.0, -1.0),
    ((-0.1, 3.0, -1, 0.1), -1.0, 1.0), ((0.05, 0.0, -1, 0.1), 1.0, -1.0), ((0.05, 0.0, 1, 0.1), -1.0, 1.0),
    ((0.0, 0.0, -1, 0.0), 1.0, -1.0), ((0.0, 2.0, -1, 0.0), -1.0, 1.0), ((0.5, 0.0, 1, 0.1), 2.0, 1.0),
    ((0.5, 0.0, 1, 0.1), 0.0, 1.0), ((-0.5, 0.0, 1, 0.1), 0.0, -1.0), ((-0.5, 0.0, 1, 0.1), 2.0, -1.0),
    ((math.inf, 0.0, 1, 0.1), 1.0, None), ((-math.inf, 0.0, 1, 0.1), 1.0, -1.0),
]  # fmt: skip


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("case", range(len(SIGNS)))
def test_a_sign_is_that_of_the_value_and_on_the_threshold_of_the_rate(runtime, case, shared):
    """Alone, and sharing its place with an event beyond it on the other side or with a wider threshold."""
    (value, rate, rest, threshold), stored, expected = SIGNS[case]
    others = 2 if shared else 0
    way = InC(
        runtime, [lambda x: value], [lambda x: rate] * (1 + others), signs=[stored, *[1.0, -1.0][:others]],
        rest=[rest] * (1 + others), threshold=[threshold, 0.3, 0.0][: 1 + others], at=[0] * (1 + others),
    )  # fmt: skip
    assert runtime.c.pl_evaluate_crossings(way.r, 0.0, runtime.array([0.0])) == runtime.c.PL_DONE
    loud = list(way.r.loud[0 : way.r.n_loud])
    assert (0 in loud) == (expected is not None) and loud == sorted(loud)
    assert expected is None or way.r.new_signs[0] == expected
    if not shared:
        python = InPython([lambda x: value], [lambda x: rate], rest=[rest], threshold=[threshold])
        signs, moving = python.crossings.signs()
        assert signs[0] == (stored if expected is None else expected)
        assert moving[0] == (abs(value) <= threshold and rate != 0.0)


@pytest.mark.parametrize(("value", "rate"), [(math.nan, 1.0), (0.0, math.nan)])
def test_what_has_no_sign_is_named(runtime, value, rate):
    g, rates = [lambda x: 1.0, lambda x: value], [lambda x: 1.0, lambda x: rate]
    way = InC(runtime, g, rates)
    assert runtime.c.pl_evaluate_crossings(way.r, 0.0, runtime.array([0.0])) == runtime.c.PL_NO_SIGN
    assert way.r.index == 1
    with pytest.raises(SimulationError, match="no number"):
        InPython(g, rates).crossings.signs()


def test_what_has_no_sign_inside_a_step_ends_the_run_there(runtime):
    late = InC(runtime, [lambda x: math.nan if x > 0.6 else 1.0])
    assert late.locate(0.0, 1.0) == runtime.c.PL_NO_SIGN
    assert (late.context.t, late.context.x[0]) == (0.75, 0.75)


def test_one_that_was_missed_by_rounding_is_on_its_threshold(runtime):
    """0.2 beyond a threshold of 0.1 and of nothing: on it where it was noted to be missed by as much."""
    for missed, sign in [(0.0, None), (0.15, None), (0.2, -1.0), (0.3, -1.0)]:
        way = InC(runtime, [lambda x: 0.2], [lambda x: -1.0], threshold=[0.1])
        way.r.missed[0] = missed
        runtime.c.pl_evaluate_crossings(way.r, 0.0, runtime.array([0.0]))
        assert (way.r.new_signs[0] if way.r.n_loud else None) == sign
        python = InPython([lambda x: 0.2], [lambda x: -1.0], threshold=[0.1])
        python.crossings._missed[0] = missed
        assert python.crossings.signs()[0][0] == (sign or 1.0)


def test_what_is_held_is_looked_at_again_only_where_it_changed(runtime):
    """The first of three crossings is held: once all are known, only the others are evaluated."""
    way = InC(runtime, [lambda x: 1.0, lambda x: 2.0, lambda x: 3.0], held=1)
    c, x = runtime.c, runtime.array([0.0])
    looked_at = lambda: [tuple(way.r.looked_at[2 * k : 2 * k + 2]) for k in range(way.r.n_looked_at)]
    c.pl_evaluate_crossings(way.r, 0.0, x)
    assert looked_at() == [(0, 3)] and len(way.visited) == 1
    c.pl_all_looked_at(way.r)
    c.pl_evaluate_crossings(way.r, 0.0, x)
    assert looked_at() == [(1, 3)] and len(way.visited) == 2
    way.r.events_known = 1
    c.pl_look_again(way.r, 1)
    assert (way.r.stale_crossings[0], way.r.events_known) == (0, 0)
    c.pl_look_again(way.r, 0)
    c.pl_evaluate_crossings(way.r, 0.0, x)
    assert looked_at() == [(0, 1), (1, 3)] and len(way.visited) == 4
    c.pl_all_looked_at(way.r)
    assert way.r.stale_crossings[0] == 0


def test_a_piece_of_what_is_held_may_give_several_runs_and_is_the_one_that_is_stale(runtime):
    values = [1.0, -1.0, -1.0, 1.0, -1.0]  # the second is in no run
    way = InC(runtime, [lambda x, v=v: v for v in values], held=4, pieces=True)
    held = way.r.model.held_crossings
    held.n_pieces = 1
    held.runs_start, held.runs = runtime.array([0, 2], "int32_t"), runtime.array([0, 1, 2, 4], "int32_t")
    runtime.c.pl_all_looked_at(way.r)
    runtime.c.pl_look_again(way.r, 2)
    assert list(way.r.stale_crossings[0:4]) == [0, 0, 1, 0]  # by the number of its piece
    way.r.stale_crossings[0] = 1
    runtime.c.pl_evaluate_crossings(way.r, 0.0, runtime.array([0.0]))
    assert [tuple(way.r.looked_at[2 * k : 2 * k + 2]) for k in range(3)] == [(0, 1), (2, 4), (4, 5)]
    assert way.r.n_looked_at == 3 and list(way.r.loud[0 : way.r.n_loud]) == [2, 4]
    way.crossings.n_pieces = 2
    runtime.c.pl_look_again(way.r, 3)
    assert list(way.r.stale_crossings[0:4]) == [1, 0, 1, 1]
    way.crossings.n_pieces = 1
    way.r.stale_crossings[0] = 0
    runtime.c.pl_look_again(way.r, 3)
    assert list(way.r.stale_crossings[0:4]) == [1, 0, 1, 1]


@pytest.mark.parametrize("n", [1, 63, 64, 65, 130])
def test_of_many_crossings_those_that_are_not_quiet_are_listed_in_order(runtime, n):
    loud = sorted({0, n // 2, n - 1, min(64, n - 1)})
    g = [(lambda x: -1.0) if k in loud else (lambda x: 1.0) for k in range(n)]
    way = InC(runtime, g[::-1], at=list(range(n))[::-1])
    runtime.c.pl_evaluate_crossings(way.r, 0.0, runtime.array([0.0]))
    assert list(way.r.loud[0 : way.r.n_loud]) == loud
    for k in loud:
        runtime.c.pl_set_sign(way.r, k, -1.0)
    runtime.c.pl_evaluate_crossings(way.r, 0.0, runtime.array([0.0]))
    assert way.r.n_loud == 0


def test_the_side_of_a_place_is_that_of_all_its_events_and_its_limit_the_widest(runtime):
    way = InC(runtime, [lambda x: 1.0], at=[0, 0, 0], threshold=[0.1, 0.3, 0.2], signs=[1.0, 1.0, 1.0])
    runtime.c.pl_settle_side(way.r, 1)
    assert (way.r.side[0], way.r.limit[0]) == (1.0, 0.3)
    way.r.missed[2] = 0.5
    runtime.c.pl_settle_side(way.r, 0)
    assert (way.r.side[0], way.r.limit[0]) == (1.0, 0.5)
    for k, sign, side in [
        (1, -1.0, 0.0),
        (0, -1.0, 0.0),
        (2, -1.0, -1.0),
        (0, 2.0, 0.0),
        (1, 2.0, 0.0),
        (2, 2.0, 0.0),
    ]:
        runtime.c.pl_set_sign(way.r, k, sign)
        assert way.r.side[0] == side, (k, sign)


def test_unknowns_are_up_to_date_where_a_crossing_is_looked_at(runtime):
    way = InC(runtime, [lambda x: x - 0.3], signs=[-1.0])
    way.r.system.n_unknowns, way.r.a.owner = 1, way.r
    assert way.locate(0.0, 1.0) == (pytest.approx(0.3), 0)
    assert way.r.value > 0.0


def test_without_states_crossings_are_functions_of_time(runtime):
    """x is not interpolated, but what the context has."""
    way = InC(runtime, [lambda x: x - 0.3], signs=[1.0])
    way.r.model.nx = 0
    way.context.x[0] = 0.5
    assert way.locate(0.0, 1.0) is None and set(way.visited) == {0.5}
