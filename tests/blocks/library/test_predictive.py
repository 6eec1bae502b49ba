"""The quadratic programs of predictive control in other units, and with limits that u cannot move."""

import numpy as np
import pytest
from numpy.testing import assert_allclose as close

from blocks import MPC
from blocks.library.predictive import _gain, nearest
from tests.blocks.library.test_logic import sampled
from tests.blocks.library.test_optimal import FULL, separately


@pytest.mark.parametrize(("of_u", "of_y"), [(1e3, 1e-3), (1e6, 1.0), (1e-7, 1.0), (1.0, 1e-5), (1e5, 1e3)])
def test_the_move_does_not_depend_on_units(of_u, of_y):
    """N and mm in place of kN and m: u was 14 % wrong in silence, or a program with an answer infeasible."""
    A, B, C, D = FULL
    of = {"u_min": -1.0 * of_u, "u_max": 1.5 * of_u, "du_min": -0.4 * of_u, "du_max": 0.4 * of_u}
    of |= {"y_max": 0.45 * of_y, "sample": 0.1}
    block = MPC((A, B * of_y / of_u, C, D), 20, 5.0 / of_y**2, 0.1 / of_u**2, **of)
    rng = np.random.default_rng(5)
    x, r = rng.uniform(-0.3, 0.3, (8, 2)), rng.uniform(-0.4, 0.4, 8)
    last = 0.0
    for k, u in enumerate(sampled(block, x=of_y * x, r=of_y * r)["u"][:, 0] / of_u):
        close(u, separately(x[k], r[k], last, 20, 0.45), atol=1e-5)
        last = u


def test_long_horizons_are_not_refused_for_their_units():
    """Per um of x the rounding of u in N is 1e12 times that per m of u in MN."""
    A, B, C, D = FULL
    held = [
        MPC((A, B * y / u, C, D), 20, 1.0 / y**2, 0.1 / u**2, sample=0.1) for y, u in ((1, 1), (1e-6, 1e6))
    ]
    one, other = (
        sampled(block, x=np.full((2, 2), 0.3 * y), r=[y, y])["u"]
        for block, y in zip(held, (1, 1e-6), strict=True)
    )
    close(other, 1e6 * one, rtol=1e-9)


def test_a_limit_that_nothing_moves():
    """The nearest point to (1, 1) with x0 <= 0.2; 0 <= 0.5 holds anyway, and 0 <= -0.5 never."""
    H, q, G = np.eye(2), np.array([-1.0, -1.0]), np.array([[0.0, 0.0], [1.0, 0.0]])
    low = np.full(2, -np.inf)
    close(nearest(H, q, G, low, np.array([0.5, 0.2])), [0.2, 1.0], rtol=1e-12)
    assert nearest(H, q, G, low, np.array([-0.5, 0.2])) is None


def test_an_output_that_u_moves_two_ticks_later_keeps_its_limit():
    """y_k+2 = u_k: with r = 1 and y_max = 0.6 u is 0.6 at once, whatever u weighs."""
    late = ([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], [[1.0, 0.0]], [[0.0]], 0.1)
    block = MPC(late, 5, R=1e-9, y_max=0.6, sample=0.1)
    close(sampled(block, x=np.zeros((2, 2)), r=[1.0, 1.0])["u"][0], [0.6], rtol=1e-6)


def test_changes_of_two_inputs_are_the_least_squares():
    """(M' Q M + R)^-1 M' Q, with weights of inputs that differ and belong together, tick by tick."""
    rng = np.random.default_rng(3)
    N, moves = 3, rng.normal(size=(6, 6))
    Q, R = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([[1.0, 0.4], [0.4, 5.0]])
    Qs, Rs = np.kron(np.eye(N), Q), np.kron(np.eye(N), R)
    close(_gain(moves, Q, R, N), np.linalg.solve(moves.T @ Qs @ moves + Rs, moves.T @ Qs), rtol=1e-10)
