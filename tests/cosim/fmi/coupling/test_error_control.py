"""Sizes of macro steps in Python, as `test_runtime_units.py` has them in C, for Euler's method."""

from types import SimpleNamespace

import numpy as np
import pytest

from blocks.errors import SimulationError
from cosim.fmi.coupling import error_control
from cosim.fmi.coupling.error_control import ErrorControl
from cosim.fmi.coupling.inside_jumps import Halves


class Euler:
    """A master of one unit with one output, held between communication points."""

    order = 0

    def __init__(self, rate):
        self.rate, self.context = rate, SimpleNamespace(t=0.0)
        self.coupling = SimpleNamespace(rtol=0.0, atol=6.0, iterate=False, order="jacobi")
        self.engine = SimpleNamespace(log_mark=lambda: None, log_back=lambda mark: None)
        self.log = SimpleNamespace(mark=lambda: None, back=lambda mark: None, rejected=0)
        none = np.zeros(0, int)
        unit = SimpleNamespace(y=np.array([0]), inputs=none, smooth_outputs=np.array([True]))
        unit.smooth_inputs, unit.output_names, unit.input_names = none.astype(bool), lambda: ["a.y"], list
        self.coupled = SimpleNamespace(units=[unit], follows=lambda at_once: none.astype(bool))
        self.coupled.assumed_signals = lambda: np.array([True])
        self.runs = [
            SimpleNamespace(standing=SimpleNamespace(y=[(0.0, np.zeros(1))], u=[(0.0, np.zeros(0))]))
        ]

    @property
    def y(self):
        return self.runs[0].standing.y[0][1]

    def mark(self):
        t, y = self.context.t, self.y.copy()

        def back():
            self.context.t, self.y[:] = t, y

        return SimpleNamespace(back=back)

    def make(self, t1, every):
        self.y[:] += (t1 - self.context.t) * self.rate(self.context.t)
        self.context.t = t1
        return ""


@pytest.fixture
def control(monkeypatch):
    monkeypatch.setattr(error_control, "kept", lambda runs: None)
    monkeypatch.setattr(error_control, "restored", lambda runs, units: None)
    return lambda rate, first: ErrorControl(Euler(rate), first, [np.array([False])])


def test_steps_are_the_longest_whose_error_is_allowed(control):
    """One step of H and two halves differ by H^2 / 2; allowed is 6 H / 10. 5 s is 25/6 times too wrong."""
    c = control(lambda t: 2 * t, 5.0)
    assert c.make(10.0, 10.0) == ""
    h = 5.0 * 0.85 / (25 / 6)
    assert (c.macro.context.t, c.size, c.macro.log.rejected) == (pytest.approx(h), pytest.approx(h), 1)
    assert c.macro.y[0] == pytest.approx(h**2 / 2)


def test_without_an_error_steps_double_and_the_rest_is_divided_evenly(control):
    c, times = control(lambda t: 3.0, 1.0), []
    while c.macro.context.t < 10.0:
        assert c.make(10.0, 10.0) == ""
        times.append((c.macro.context.t, c.size))
    assert times == [(1.0, 2.0), (3.0, 4.0), (6.5, 7.0), (10.0, 7.0)]
    assert c.macro.y[0] == pytest.approx(30.0)


def test_a_jump_at_one_instant_makes_the_step_collapse(control):
    with pytest.raises(SimulationError, match="collapses at t=0 s.*'a.y' is still wrong"):
        control(lambda t: 1e99 * (t > 0), 1.0).make(10.0, 10.0)


def unit(name, outputs, inputs, places, smooth_outputs, smooth_inputs):
    """A unit of a coupled system, and where it stands: samples of outputs and of inputs, the newest first."""
    y, u = (tuple((-k / 4, np.array(v, float)) for k, v in enumerate(rows)) for rows in (outputs, inputs))
    names = lambda kind, n: lambda: [f"{name}.{kind}{k}" for k in range(n)]
    return SimpleNamespace(
        y=np.arange(*places[0]), inputs=slice(*places[1]), smooth_outputs=np.array(smooth_outputs, bool),
        smooth_inputs=np.array(smooth_inputs, bool), output_names=names("y", len(outputs[0])),
        input_names=names("u", len(inputs[0])),
    ), SimpleNamespace(standing=SimpleNamespace(y=y, u=u))  # fmt: skip


def two_units(order=1, direct=((False, True), (True,)), through=(False, True, False), **tolerances):
    """Outputs of the first: (smooth, smooth), of the second: not; inputs: (smooth, not), (smooth)."""
    first, run = unit("a", [[1.0, -5.0], [-3.0, 2.0]], [[7.0, 9.0]], ((0, 2), (0, 2)), (1, 1), (1, 0))
    second, other = unit("b", [[100.0]], [[-2.0], [8.0]], ((2, 3), (2, 3)), (0,), (1,))
    asked = []

    def follows(at_once):
        asked.append([a.tolist() for a in at_once])
        return np.array(through)

    given = {"rtol": 1e-3, "atol": None, "iterate": False, "order": "jacobi"} | tolerances
    assumed = lambda: np.ones(6, bool)
    macro = SimpleNamespace(
        coupling=SimpleNamespace(**given), runs=[run, other], order=order,
        coupled=SimpleNamespace(units=[first, second], follows=follows, assumed_signals=assumed),
    )  # fmt: skip
    return ErrorControl(macro, 0.5, [np.array(d) for d in direct]), asked


def test_signals_are_outputs_and_inputs_unit_by_unit_and_some_may_be_extrapolated():
    c, asked = two_units()
    assert c._signals().tolist() == [1.0, -5.0, 7.0, 9.0, 100.0, -2.0]
    assert c._signals()[c.smooth].tolist() == [1.0, -5.0, 7.0, -2.0]
    assert asked == [[[1], [2]]]  # what follows from the places of outputs that follow inputs at once
    assert c.adds_up.tolist() == [True, False, True, True]
    c, _ = two_units(direct=((False, False), (False,)), through=(True, False, True))
    assert c.adds_up.tolist() == [True, True, False, False]


def test_errors_are_measured_by_the_largest_recent_value():
    """Of all samples that are kept, and of the new value."""
    c, _ = two_units()
    assert c._sizes(np.array([-0.5, 6.0, 0.0, 0.0, 0.0, 3.0])).tolist() == [3.0, 6.0, 7.0, 9.0, 100.0, 8.0]
    assert c._sizes(np.array([-4.0, 0.0, -7.5, 9.5, -101.0, 9.0])).tolist() == [
        4.0,
        5.0,
        7.5,
        9.5,
        101.0,
        9.0,
    ]


@pytest.mark.parametrize(("atol", "found"), [(None, 1e-6), (0.25, 0.25), (0.0, 0.0)])
def test_the_absolute_tolerance_is_a_thousandth_unless_it_is_given(atol, found):
    c, _ = two_units(atol=atol)
    assert (c.rtol, c.atol, c.size, c._first) == (1e-3, pytest.approx(found), 0.5, 0.5)
    assert c._order() == 2 and two_units(order=0)[0]._order() == 1


@pytest.mark.parametrize(
    ("size", "end"),
    [(1.0, 3.0), (1.0 - 1e-10, 3.0), (0.99, 2.5), (0.5, 2.5), (0.5 - 1e-11, 2.5), (0.4, 2.4), (5.0, 3.0)],
)
def test_what_is_left_is_one_step_two_halves_or_begun(size, end):
    """From 2 s to 3 s; a step too short by rounding is no step more."""
    c, _ = two_units()
    c.size = size
    assert c._end(2.0, 3.0) == pytest.approx(end, abs=1e-15)


@pytest.mark.parametrize(
    ("errors", "name"),
    [
        ([5.0, 1.0, 2.0, 3.0], "a.y0"),
        ([0.0, 9.0, 2.0, 3.0], "a.y1"),
        ([1, 2, 7.0, 3], "a.u0"),
        ([1, 2, 3, 4.5], "b.u0"),
    ],
)
def test_a_collapse_names_the_signal_that_is_worst(errors, name):
    c, _ = two_units()
    told = c._collapsed(1.25, 2e-13, np.array(errors, float))
    assert f"t=1.25 s: with 2e-13 s '{name}' is still wrong by {max(errors):.3g} times" in str(told)
    assert (told.path, told.time, told.value) == (
        name,
        1.25,
        max(errors),
    ) and "iterate=True helps" in told.hint
    c, _ = two_units(direct=((False, False), (False,)), through=(False, False, False))
    assert "iterate=True" not in c._collapsed(1.25, 2e-13, np.array(errors, float)).hint


def halves(fine, h=1.0):
    """Two halves from 0 to h in which nothing but the end is of interest; a tolerance of 2."""
    return Halves(
        0.0, h, [np.zeros(6), np.zeros(6), np.array(fine, float)], np.full(6, 2.0), np.ones(6, bool)
    )


def test_errors_are_compared_with_a_share_of_the_tolerance_or_with_all_of_it():
    """Halves of second order are wrong by a third. A jump may cost a tenth of the tolerance."""
    c, _ = two_units()
    big, fine = np.array([3.0, -4.0, 1.0, 9.0, 9.0, 0.0]), [0.0, 2.0, 4.0, 0.0, 0.0, 6.0]
    wrong = np.array([3.0, 6.0, 3.0, 6.0]) / 3.0  # of a.y0, a.y1, a.u0 and b.u0; a.y1 does not add up
    share = np.array([2.0 / 100.0, 2.0, 2.0 / 100.0, 2.0 / 100.0])
    assert c._errors(halves(fine), big, 100.0, False) == pytest.approx(wrong / share)
    share = np.array([0.2, 2.0, 0.2, 0.2])
    assert c._errors(halves(fine), big, 100.0, True) == pytest.approx(wrong / share)
    share = np.array([0.5, 2.0, 0.5, 0.5])  # a quarter of the run has a larger share
    assert c._errors(halves(fine), big, 4.0, True) == pytest.approx(wrong / share)


def test_what_follows_inputs_at_once_may_be_late_for_a_moment():
    """By a tenth of the relative tolerance of a unit's own step, or 1e-11 of the run where that is more."""
    c, _ = two_units()
    assert c._brief(1.0) == pytest.approx(0.1 * 1e-3 * 0.5, rel=1e-12)
    assert c._brief(1e9) == pytest.approx(1e-2, rel=1e-12)
    fine = [0.0] * 6
    for h, found in ((5e-5, 0.0), (5.1e-5, 1.0)):
        errors = c._errors(halves(fine, h), np.array([0.0, 6.0, *[0.0] * 4]), 100.0, True)
        assert errors.tolist() == [0.0, found, 0.0, 0.0]


@pytest.mark.parametrize(("horizon", "share"), [(100.0, 0.2), (4.0, 0.5)])
def test_what_a_jump_costs_is_a_difference_or_the_length_of_a_step(horizon, share):
    c, _ = two_units()
    c._differences = lambda step, back: np.array([0.1, 2.5, 0.0, 0.3])
    brief = 0.1 * 1e-3 * 0.5
    assert c._cost(halves([0.0] * 6), horizon, lambda: None) == pytest.approx(
        [0.1 / share, 1.0 / brief, 0.0, 0.3 / share]
    )
    c._differences = lambda step, back: np.array([0.1, 1.9, 0.0, 0.3])
    assert c._cost(halves([0.0] * 6), horizon, lambda: None)[1] == 0.0


class Chosen(Euler):
    """Its output, which no unit reads, is what the test says: of the whole step, and of its second half."""

    def __init__(self, big, fine, order=0, rtol=0.0, atol=1.0):
        super().__init__(lambda t: 0.0)
        self.results, self.order, self.ends = iter([big, 0.0, fine] * 9), order, []
        self.coupling = SimpleNamespace(rtol=rtol, atol=atol, iterate=False, order="jacobi")
        self.coupled.assumed_signals = lambda: np.array([False])
        self.ended_at = None

    def make(self, t1, every):
        self.ends.append(t1)
        assert list(every) == [0]
        self.y[:], self.context.t = next(self.results), t1
        return "over" if t1 == self.ended_at else ""


def chosen(macro, size, direct=False):
    return ErrorControl(macro, size, [np.array([direct])])


@pytest.fixture
def without_states(monkeypatch):
    monkeypatch.setattr(error_control, "kept", lambda runs: None)
    monkeypatch.setattr(error_control, "restored", lambda runs, units: None)


@pytest.mark.parametrize(
    ("error", "order", "factor"),
    [
        (0.0, 0, 2.0),
        (0.01, 0, 2.0),  # no more than twice
        (0.5, 0, 0.85 / 0.5),
        (1.0, 0, 0.85),
        (0.5, 1, 0.85 / (0.5 / 3) ** 0.5),  # of second order the halves are wrong by a third
        (0.9, 2, 0.85 / (0.9 / 7) ** (1 / 3)),
    ],
)
def test_the_next_step_is_as_long_as_the_error_lets_it_be(error, order, factor, without_states):
    """A whole step of 1 s, of a run of 1 s, where an error of 1 is allowed."""
    macro = Chosen(3.0 + error, 3.0, order)
    c = chosen(macro, 1.0)
    assert c.make(1.0, 1.0) == "" and macro.ends == [1.0, 0.5, 1.0]
    assert c.size == pytest.approx(min(factor, 2.0), rel=1e-12) and macro.log.rejected == 0


def test_a_step_that_a_limit_cuts_does_not_shorten_those_behind_it(without_states):
    """From a size of 4 s a step of 1 s without an error: twice 1 s; one of the whole size: twice that."""
    c = chosen(Chosen(3.0, 3.0), 4.0)
    assert c.make(1.0, 1.0) == "" and c.size == 2.0
    c = chosen(Chosen(3.0, 3.0), 0.25)
    assert c.make(1.0, 1.0) == "" and c.size == 0.5 and c.macro.context.t == 0.25


def test_a_step_that_is_refused_is_made_shorter_by_a_tenth_at_least_and_a_fifth_at_most(without_states):
    for error, sizes in ((1.05, 0.85 / 1.05), (1e9, 0.2), (1.0 + 1e-9, 0.85)):
        macro = Chosen(3.0 + error, 3.0)
        macro.results = iter([3.0 + error, 0.0, 3.0, 3.0, 3.0, 3.0])
        c = chosen(macro, 1.0)
        assert c.make(1.0, 1.0) == "" and macro.log.rejected == 1
        first = macro.ends[3]
        assert first == pytest.approx(sizes if sizes < 0.5 else 0.5, rel=1e-6)  # the rest is divided evenly


def test_errors_that_do_not_add_up_may_be_as_large_in_every_step(without_states):
    """A step of 1 s of a run of 100 s: an error of 0.5 is 50 times its share, or half of what is allowed."""
    for direct, rejected in ((True, 0), (False, 1)):
        macro = Chosen(3.5, 3.0)
        macro.results = iter([3.5, 0.0, 3.0, 3.0, 3.0, 3.0])
        c = chosen(macro, 1.0, direct)
        assert c.make(1.0, 100.0) == "" and macro.log.rejected == rejected


def test_the_tolerance_is_relative_and_absolute(without_states):
    """1e-2 of 3, and 0.01: 0.04 in all."""
    for error, rejected in ((0.0399, 0), (0.0401, 1)):
        macro = Chosen(3.0 + error, 3.0, rtol=1e-2, atol=0.01)
        macro.results = iter([3.0 + error, 0.0, 3.0, 3.0, 3.0, 3.0])
        assert chosen(macro, 1.0).make(1.0, 1.0) == "" and macro.log.rejected == rejected


@pytest.mark.parametrize(("at", "ends"), [(1.0, [1.0]), (0.5, [1.0, 0.5])])
def test_a_run_that_ends_in_a_step_ends_there(at, ends, without_states):
    macro = Chosen(3.0, 3.0)
    macro.ended_at = at
    assert chosen(macro, 1.0).make(1.0, 1.0) == "over" and macro.ends == ends
