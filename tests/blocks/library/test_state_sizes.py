"""Sizes of states of linear systems beside inputs and outputs of 1, as canonical forms have them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal
from scipy.linalg import expm

from blocks.library.realisation import canonical_sizes
from blocks.library.state_sizes import state_sizes

NOTHING = np.zeros((1, 1))


def within(found, expected, factor=8.0):
    """Powers of two, at most some `factor` from what is expected: sizes are averages over time."""
    assert np.all(np.log2(found) % 1 == 0)
    np.testing.assert_array_less(np.abs(np.log2(found / np.asarray(expected))), np.log2(factor) + 1e-9)


def peaks(num, den, until):
    """The largest output that a start of 1 of each state alone leads to, by the matrix exponential."""
    A, _, C, _ = signal.tf2ss(num, den)
    return np.abs([C @ expm(A * t) for t in np.linspace(0.0, until, 300)]).max(axis=0).ravel()


@pytest.mark.parametrize("order", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("w", [1e5, 1e9])
def test_derivatives_of_the_output_over_powers_of_the_cutoff(order, w):
    """xi = y / w^n, so that x = [xi^(n-1), ..., xi] are w^-1, ..., w^-n times those with a cutoff of 1."""
    expected = w ** -np.arange(1.0, order + 1) / peaks(*signal.butter(order, 1.0, analog=True), 20.0)
    within(canonical_sizes(*signal.butter(order, w, analog=True)), expected)


def test_states_in_the_order_and_scale_they_have():
    """The same system with its states turned round, and each multiplied by something: x_new = s x."""
    w = 1e6
    A, B, C, D = signal.tf2ss(*signal.butter(3, w, analog=True))
    whole = state_sizes(A, B, C, D)
    turned = state_sizes(A[::-1, ::-1], B[::-1], C[:, ::-1], D)
    assert turned.tolist() == whole[::-1].tolist()
    s = np.array([2.0**30, 2.0**3, 2.0**-40])
    scaled = state_sizes(A * s[:, None] / s, B * s[:, None], C / s, D)
    np.testing.assert_allclose(scaled, np.where(whole * s < 1e-2, whole * s, 1.0), rtol=1.0)


@pytest.mark.parametrize(
    ("num", "den", "expected"),
    [
        ([1.0], [1.0, 1.4, 1.0], [1.0, 1.0]),  # ordinary
        ([1.0], [0.1, 1.0], [1.0]),
        ([1.0], [1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0]),  # integrators
        ([1e12], [1.0, 1.0], [1e-12]),  # y = 1e12 x
        ([1e-12], [1.0, 1.0], [1.0]),  # an input of 1 makes x that large
        ([1e12], [1.0, 0.0], [1e-12]),
        ([1.0], [1e-3, 1.0, 1e6], [1.0, 1e-6]),  # a mass on a spring: 1e-6 m, 3e-2 m/s
        ([1e12], [1.0, 2e2, 1e12], [1e-6, 1e-12]),  # a damping ratio of 1e-4
        ([1.0, 0.0, 0.0], [1.0, 1.4e6, 1e12], [1e-6, 1e-12]),  # high pass
        ([1e12], [1.0, 1.4e6, 1e12, 0.0, 0.0], [1.0, 1e-6, 1e-12, 1e-12]),  # in front of integrators
    ],
)
def test_gains_resonances_and_integrators(num, den, expected):
    found = canonical_sizes(np.array(num), np.array(den))
    ordinary = np.asarray(expected) >= 1.0
    assert found[ordinary].tolist() == [1.0] * int(ordinary.sum())
    within(found[~ordinary], np.asarray(expected)[~ordinary])


def test_systems_side_by_side_have_sizes_of_their_own():
    """A filter at 1e9 rad/s beside one at 1: neither changes the other's sizes."""
    fast = signal.tf2ss(*signal.butter(4, 1e9, analog=True))
    A, B, C = np.zeros((5, 5)), np.zeros((5, 2)), np.zeros((2, 5))
    A[0, 0], B[0, 0], C[0, 0] = -1.0, 1.0, 1.0
    A[1:, 1:], B[1:, 1:], C[1:, 1:] = fast[0], fast[1], fast[2]
    found = state_sizes(A, B, C, np.zeros((2, 2)))
    assert found[0] == 1.0
    assert found[1:].tolist() == state_sizes(*fast).tolist()


def test_an_output_that_cancels_asks_for_nothing_its_terms_cannot_give():
    """y = x0 - x1 of two equal lags is rounding; the states keep sizes that have a meaning."""
    found = state_sizes(-np.eye(2), np.ones((2, 1)), [[1.0, -1.0 + 1e-15]], NOTHING)
    assert np.all(found >= 1e-7)


def test_what_grows_is_looked_at_no_longer_than_it_takes_to_grow():
    """x'' = 9 x grows as exp(3 t): sizes are those of the start, not of exp(3 t) after 1 s."""
    found = canonical_sizes(np.array([9.0]), np.array([1.0, 0.0, -9.0]))
    assert np.all(found >= 1e-4)
    assert state_sizes([[1e6]], [[1.0]], [[1.0]], NOTHING) == pytest.approx([2.0**-20], rel=1.0)
    # at 2/s, the first power of two above twice 0.5/s: a change of 1 shows as 1500 s / (s - 0.5) = 2000
    assert state_sizes([[0.5]], [[1.0]], [[1500.0]], NOTHING) == [2.0**-11]


def test_slow_systems_are_looked_at_for_as_long_as_they_take():
    """x' = 1e-14 (u - x) follows u in the end; in 1 s an input of 1 changes 1e-14 of it."""
    assert state_sizes([[-1e-14]], [[1e-14]], [[1.0]], NOTHING) == [1.0]


@pytest.mark.parametrize(
    "system",
    [
        (np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0)), NOTHING),
        ([[np.inf]], [[1.0]], [[1.0]], NOTHING),
        ([[np.nan]], [[1.0]], [[1.0]], NOTHING),
        ([[0.0]], [[0.0]], [[0.0]], NOTHING),  # seen by nothing
        ([[-1.0]], np.zeros((1, 0)), [[1.0]], np.zeros((1, 0))),  # without inputs
        ([[-1.0]], [[1.0]], np.zeros((0, 1)), np.zeros((0, 1))),  # without outputs
    ],
)
def test_what_says_nothing_of_sizes_has_ones(system):
    assert state_sizes(*system).tolist() == [1.0] * len(system[0])
