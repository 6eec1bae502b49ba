"""How long conditions are true, how often they come true, and until: between the instants of the grid too."""

import math

import numpy as np
import pytest

from cosim.study.between import SignalCourse
from cosim.study.formulas import PlainNumber, parsed
from cosim.study.robustness import holds, margins
from cosim.study.true_spans import TrueSpans

H = 0.1
TIME = H * np.arange(64)  # past 2 pi
PHASES = np.linspace(0.0, 6.0, 31)[:, None]


def course(name, time):
    """sin and cos, each run with a phase of its own, the time, and a lamp that is switched at instants."""
    if isinstance(name, PlainNumber):
        return SignalCourse.constant(time, name.value)
    zero = 0 * PHASES
    match name.name:
        case "a.y":
            return SignalCourse(time, np.sin(time + PHASES), np.cos(time + PHASES))
        case "b.y":
            return SignalCourse(time, np.cos(2 * time) + zero, -2 * np.sin(2 * time) + zero)
        case "t":
            return SignalCourse(time, time + zero, 1 + 0 * time + zero)
    return SignalCourse(time, (time % 1.0 > 0.45) + zero, 0 * time + zero)


def spans(text, time=TIME):
    return TrueSpans.of(parsed(text), time, lambda name: course(name, time))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a.y > 0.3", 3e-7),
        ("not (a.y >= 0.99) and b.y < 0.5", 5e-5),
        ("b.y < 0.2 or a.y > 0.1 and t > 3.33", 2e-5),
        ("a.y <= 0.9999 implies lamp.y > 0", 2e-3),  # 0.028 s of a peak, off by h^4/384 over its slope
    ],
)
def test_of_smooth_signals_they_are_those_of_a_grid_a_thousand_times_as_fine(text, error):
    found, fine = spans(text), np.linspace(TIME[0], TIME[-1], 63 * 2000 + 1)
    values = {k: v for k in ("a.y", "b.y", "t") for v in [course(parsed(f"{k} > 0").left, fine).values]}
    lamp = np.repeat(course(parsed("lamp.y > 0").left, TIME).values[:, :-1], 2000, axis=1)
    values["lamp.y"] = np.column_stack([lamp, lamp[:, -1]])  # it holds what it was at the instant before
    true = holds(
        parsed(text), lambda p: np.array([[p.value]]) if isinstance(p, PlainNumber) else values[p.name]
    )
    lasted = true[:, :-1].sum(axis=1) * H / 2000
    assert found.duration() == pytest.approx(lasted, abs=error + 4 * H / 2000)
    assert (found.count() == true[:, 0] + (true[:, 1:] & ~true[:, :-1]).sum(axis=1)).all()


def test_of_a_sine_they_are_those_of_the_closed_form():
    found = spans("a.y > 0.3")
    k = int(np.argmin(np.abs(PHASES)))
    assert found.duration()[k] == pytest.approx(math.pi - 2 * math.asin(0.3), abs=3e-7)


def test_a_peak_between_two_instants_counts_and_one_that_only_touches_does_as_its_sign_says():
    time = np.array([0.0, 2.0, 4.0, 6.0, 7.0])
    values, slopes = 25 - (time - 5) ** 2, -2 * (time - 5)
    whole = {
        text: TrueSpans.of(parsed(text), time, lambda p: _one(p, time, values, slopes))
        for text in ("a.y > 24.99", "a.y < 24.99", "a.y >= 16", "a.y > 16", "a.y <= 16", "a.y < 16")
    }
    assert whole["a.y > 24.99"].duration() == pytest.approx([0.2]) and whole["a.y > 24.99"].count() == [1]
    assert whole["a.y < 24.99"].duration() == pytest.approx([6.8]) and whole["a.y < 24.99"].count() == [2]
    for sign, other in ((">=", "<"), (">", "<=")):  # 16 is passed at 2 s exactly
        above, below = whole[f"a.y {sign} 16"], whole[f"a.y {other} 16"]
        assert above.duration() == pytest.approx([5]) and below.duration() == pytest.approx([2])
        assert above.count() == [1] and below.count() == [1]


def _one(part, time, values, slopes):
    if isinstance(part, PlainNumber):
        return SignalCourse.constant(time, part.value)
    return SignalCourse(time, values[None], slopes[None], np.ones((1, len(time) - 1), bool))


def test_what_jumps_holds_its_value_until_the_next_instant():
    lamp = spans("lamp.y > 0")
    on = course(parsed("lamp.y > 0").left, TIME).values > 0
    assert (lamp.duration() == (on[:, :-1] * np.diff(TIME)).sum(axis=1)).all()
    assert (lamp.count() == 6).all()
    assert len(spans("a.y > 0", TIME[:1]).duration()) == len(PHASES)  # one instant alone


def test_until_sees_what_both_are_between_two_instants():
    """p until q is the best over s of the lesser of q at s and all p before."""
    margin = margins(parsed("a.y < 2 until[0, 3] a.y > 0"), TIME, lambda p: course(p, TIME)).at[:, 0]
    best = np.where((PHASES[:, 0] <= math.pi / 2) | (PHASES[:, 0] > 5 * math.pi / 2 - 3), 1.0, np.nan)
    seen = ~np.isnan(best)
    assert seen.sum() > 10 and margin[seen] == pytest.approx(best[seen], abs=1.01 * H**4 / 384)
    low = margins(parsed("a.y < 1.5 until[3, 4] t > 0"), TIME, lambda p: course(p, TIME)).at[:, 0]
    within = (PHASES[:, 0] < math.pi / 2 - H) | (PHASES[:, 0] > 5 * math.pi / 2 - 3 + H)
    assert within.sum() > 10 and low[within] == pytest.approx(0.5, abs=1.01 * H**4 / 384)
