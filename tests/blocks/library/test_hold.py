"""Holds against a table worked by hand, polynomials, and the bits of the samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blocks import Hold, RateTransition
from tests.helpers.solo import Solo

# Samples 1, 4, 2, 3 at t = 0, 1, 2, 3 s (T = 1 s); value half a period after each, s = 1/2. Newton's
# coefficients are 1, s = 1/2, s(s+1)/2 = 3/8, s(s+1)(s+2)/6 = 5/16; the backward differences
#   u: 1, 4, 2, 3   D u: -, 3, -2, 1   D2 u: -, -, -5, 3   D3 u: -, -, -, 8
BY_HAND = {
    0: [1, 4, 2, 3],
    1: [1, 4 + 3 / 2, 2 - 2 / 2, 3 + 1 / 2],
    2: [1, 4 + 3 / 2, 2 - 2 / 2 - 5 * 3 / 8, 3 + 1 / 2 + 3 * 3 / 8],
    3: [1, 4 + 3 / 2, 2 - 2 / 2 - 5 * 3 / 8, 3 + 1 / 2 + 3 * 3 / 8 + 8 * 5 / 16],
}


@pytest.mark.parametrize("order", BY_HAND)
@pytest.mark.parametrize("offset", [0, 0.25])
def test_hold_against_the_table(order, offset):
    samples = [1, 4, 2, 3]
    run = Solo(Hold(order, sample=1, offset=offset), {"u": 1}).run
    y = run([offset + k + 0.5 for k in range(4)], u=lambda t: samples[int(t - offset)])["y"]
    np.testing.assert_array_equal(y[:, 0], BY_HAND[order])


@pytest.mark.parametrize("order", range(5))
def test_at_a_tick_the_output_is_the_sample_itself(order):
    rng = np.random.default_rng(order)
    samples = {round(k / 10, 9): rng.normal(size=2) * 10.0 ** rng.uniform(-200, 200) for k in range(20)}
    y = Solo(Hold(order, sample=0.1), {"u": 2}).run(list(samples), u=lambda t: samples[round(t, 9)])["y"]
    assert y.tobytes() == np.array(list(samples.values())).tobytes()


@pytest.mark.parametrize("order", range(4))
def test_before_the_first_sample_the_initial_value_shows(order):
    hold = Hold(order, sample=1, offset=0.5, initial=[7, 8])
    y = Solo(hold).run([0, 0.4, 0.5, 0.9], u=lambda t: [1, 2])["y"]
    np.testing.assert_array_equal(y, [[7, 8], [7, 8], [1, 2], [1, 2]])


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-3, 3), min_size=1, max_size=4), st.fractions("1/10", 2, max_denominator=60))
def test_a_hold_of_order_p_continues_a_polynomial_of_degree_p(coefficients, period):
    order = len(coefficients) - 1
    between = [period * (order + k + f) for k in range(2) for f in (0, 0.3, 0.9)]
    y = Solo(Hold(order, sample=period), {"u": 1}).run(between, u=lambda t: np.polyval(coefficients, t))["y"]
    expected = np.polyval(coefficients, [float(t) for t in between])
    np.testing.assert_allclose(y[:, 0], expected, rtol=1e-11, atol=1e-11)


def test_between_ticks_the_input_does_not_pass():
    solo = Solo(Hold(1, sample=0.1), {"u": 2})
    assert not solo.feedthrough(ticking=False)["y"].any()
    np.testing.assert_array_equal(solo.feedthrough(ticking=True)["y"], np.eye(2, dtype=bool))


def test_rate_transition_is_a_hold_of_order_zero():
    at, u = [k / 20 for k in range(10)], np.sin
    same = Solo(Hold(sample=0.1, offset=0.05), {"u": 1}).run(at, u=u)["y"]
    np.testing.assert_array_equal(Solo(RateTransition(0.1, 0.05), {"u": 1}).run(at, u=u)["y"], same)
