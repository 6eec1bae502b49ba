"""Polynomials over a communication step. Oracle: numpy.polynomial through the same samples, term by term."""

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from cosim.fmi.coupling.curves import Curve, between, through

TIMES = (0.7, 0.45, 0.15, -0.2)  # the newest first, steps of several sizes
POLYNOMIALS = (Polynomial([1.0, -2.0, 3.0]), Polynomial([0.5, 4.0, -1.5]), Polynomial([-2.0, 0.25, 7.0]))
ALL = np.ones(3, dtype=bool)


def samples(times=TIMES):
    return [(t, np.array([p(t) for p in POLYNOMIALS])) for t in times]


def fitted(some, order):
    """The polynomials of this order through the newest of some samples."""
    some = some[: order + 1]
    return [Polynomial.fit([t for t, _ in some], [v[k] for _, v in some], order) for k in range(3)]


@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_curve_goes_through_as_many_samples_as_its_order_needs(order):
    curve, expected = through(samples(), order, ALL), fitted(samples(), order)
    assert curve.t0 == TIMES[0]
    for t in (*TIMES[: order + 1], 0.9, 2.0):
        assert curve.at(t) == pytest.approx([p(t) for p in expected])
    moved = curve.moved(0.9)
    assert moved.t0 == 0.9
    assert moved.slope == pytest.approx([p.deriv()(0.9) for p in expected])
    assert moved.curvature == pytest.approx([p.deriv(2)(0.9) if order else 0.0 for p in expected])
    means = [(p.integ()(1.1) - p.integ()(TIMES[0])) / (1.1 - TIMES[0]) for p in expected]
    assert curve.mean(1.1) == pytest.approx(means)


@pytest.mark.parametrize("known", [1, 2])
def test_with_few_samples_the_order_is_what_they_allow(known):
    few = samples()[:known]
    expected = fitted(few, known - 1)
    for order in range(known - 1, 4 - known):
        assert through(few, order, ALL).at(1.3) == pytest.approx([p(1.3) for p in expected])


@pytest.mark.parametrize("order", [0, 1, 2])
def test_components_that_jump_are_held(order):
    smooth = np.array([True, False, True])
    curve, expected = through(samples(), order, smooth), fitted(samples(), order)
    held = [p(1.3) if s else v for p, s, v in zip(expected, smooth, samples()[0][1], strict=True)]
    assert curve.at(1.3) == pytest.approx(held)
    assert through(samples(), order, ~ALL).at(1.3).tolist() == samples()[0][1].tolist()


@pytest.mark.parametrize("order", [0, 1, 2])
def test_between_samples_a_curve_ends_at_the_known_one(order):
    """It begins at the newest sample; what jumps, and all of order 0, is at the end from the start on."""
    end, *older = samples()
    smooth = np.array([True, False, True])
    curve, expected = between(end, older, order, smooth), fitted(samples(), order)
    assert curve.t0 == TIMES[1]
    for t in (TIMES[1], 0.6, TIMES[0]):
        along = [p(t) if s else v for p, s, v in zip(expected, smooth, end[1], strict=True)]
        assert curve.at(t) == pytest.approx(along)


def test_a_constant():
    curve = Curve.held(0.3, np.array([2.0, -1.0]))
    assert (
        curve.at(5.0).tolist() == curve.mean(9.0).tolist() == curve.moved(4.0).at(1.0).tolist() == [2.0, -1.0]
    )
