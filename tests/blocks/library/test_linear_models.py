"""Models as fields of blocks: what noise adds between ticks, and Riccati equations without answer."""

import numpy as np
import pytest
from numpy.testing import assert_allclose as close
from scipy.linalg import solve_discrete_are

from blocks import LQG, LQI, LQR, BlockError, KalmanFilter, ReferenceGovernor

DOUBLE = ([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], [[1.0, 0.0]], [[0.0]])


@pytest.mark.parametrize("a", [3.0, 300.0, 1e3, 3e4, 1e6])
def test_noise_behind_a_fast_decay_keeps_its_digits(a):
    """x1' = x2 - x1, x2' = noise - a x2: integrals of (exp(-t) - exp(-a t)) / (a - 1) and exp(-a t)."""
    T, density = 0.1, 2.0
    grown = lambda rate: -np.expm1(-rate * T) / rate  # the integral of exp(-rate t)
    both = (grown(1 + a) - grown(2 * a)) / (a - 1)
    one = (grown(2.0) - 2 * grown(1 + a) + grown(2 * a)) / (a - 1) ** 2
    Qk = density * np.array([[one, both], [both, grown(2 * a)]])
    Ad = np.array([[np.exp(-T), (np.exp(-T) - np.exp(-a * T)) / (a - 1)], [0.0, np.exp(-a * T)]])
    C, R = np.array([[1.0, 0.0]]), 1e-9
    P = solve_discrete_are(Ad.T, C.T, Qk, [[R]])
    model = ([[-1.0, 1.0], [0.0, -a]], [[0.0], [1.0]], C, [[0.0]])
    found = KalmanFilter(model, [0.0, density], R, sample=T).gain()
    close(found, P @ C.T / (P[0, 0] + R), rtol=1e-7)
    close(LQG(model, Qn=[0.0, density], Rn=R, sample=T).gains()[1], found)


@pytest.mark.parametrize(
    "make",
    [
        lambda: LQR(DOUBLE, [0.0, 0.0]),
        lambda: LQR(DOUBLE, [0.0, 1.0]),
        lambda: LQR(DOUBLE, [0.0, 1.0], sample=0.1),
        lambda: LQR(([[0.0, 3.0], [-3.0, 0.0]], [0.0, 1.0]), 0.0),
        lambda: LQR(([[0.0, 3.0], [-3.0, 0.0]], [0.0, 1.0]), 0.0, sample=0.1),
        lambda: KalmanFilter(DOUBLE, 0.0, sample=0.1),
        lambda: KalmanFilter(DOUBLE, 0.0),
        lambda: LQI((*DOUBLE[:2], np.eye(2), np.zeros((2, 1))), sample=0.1),
        lambda: LQG(DOUBLE, Qn=0.0, sample=0.1),
    ],
)
def test_what_would_stay_on_the_limit_of_stability_is_refused(make):
    """SciPy finds a P for each of them, which leaves poles at 0, on the imaginary axis or on the circle."""
    with pytest.raises(BlockError, match="no stabilising solution.*does not decay"):
        make()


def test_slow_poles_that_decay_may_cost_nothing():
    """The fast one alone: P^2 + 2e3 P = 1, K = P."""
    K = LQR((np.diag([-1e-9, -1e3]), [[0.0], [1.0]]), [0.0, 1.0]).gain()
    close(K, [[0.0, 1.0 / (1e3 + np.sqrt(1e6 + 1.0))]], rtol=1e-9)
    assert LQR((np.diag([-1e-9, -1e3]), [[0.0], [1.0]]), [0.0, 1.0], sample=0.1).gain()[0, 0] == 0.0


def test_weights_that_rounding_left_asymmetric_are_taken_and_others_refused_in_any_unit():
    almost = LQR(DOUBLE, [[2.0, 1.0 + 1e-9], [1.0, 3.0]]).gain()
    close(almost, LQR(DOUBLE, [[2.0, 1.0], [1.0, 3.0]]).gain(), rtol=1e-8)
    with pytest.raises(BlockError, match="Q is .*expected a symmetric matrix"):
        LQR(DOUBLE, [[2e-9, 1e-9], [0.0, 3e-9]])


def test_columns_and_rows_may_be_written_as_lists():
    A, (B, C) = [[0.0, 1.0], [-2.0, -0.3]], ([0.0, 1.5], [1.0, 0.4])
    whole = KalmanFilter((A, [[b] for b in B], [C], [[0.0]]))
    assert KalmanFilter((A, B, C, [[0.0]])) == whole
    assert KalmanFilter(tuple(np.array(m) for m in (A, B, C, [[0.0]]))) == whole


def test_a_governor_looks_ahead_until_a_thousandth_is_left():
    """0.5^10 is less than 1e-3, 0.5^9 is not; in 100 ms ticks of exp(-t) it takes 6.91 s."""
    half = ([[0.5]], [[0.5]], [[1.0]], [[0.0]], 0.1)
    assert ReferenceGovernor(half, y_max=1.0, sample=0.1).horizon() == 10
    assert ReferenceGovernor(([[-1.0]], [[1.0]], [[1.0]], [[0.0]]), y_max=1.0, sample=0.1).horizon() == 70
    assert ReferenceGovernor(half, y_max=1.0, N=3, sample=0.1).horizon() == 3


def test_what_a_governor_keeps_within_its_limits():
    """y_k = 2 0.5^k x + (2 (1 - 0.5^k) / 0.5 + 0.3) v for k = 0..3, and 4.3 v in the end, by a margin."""
    limits = {"y_max": 5.0, "y_min": -3.0, "N": 3, "margin": 0.25, "sample": 0.1}
    Hx, Hv, h = ReferenceGovernor(([[0.5]], [[1.0]], [[2.0]], [[0.3]], 0.1), **limits).rows()
    free, forced = np.array([2.0, 1.0, 0.5, 0.25, 0.0]), np.array([0.3, 2.3, 3.3, 3.8, 4.3])
    assert Hx.ravel() == pytest.approx(np.concatenate([free, -free]))
    assert Hv.ravel() == pytest.approx(np.concatenate([forced, -forced]))
    assert h.tolist() == [5.0] * 4 + [4.75] + [3.0] * 4 + [2.75]
