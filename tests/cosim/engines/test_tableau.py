"""Coefficients of Runge-Kutta methods against the conditions of order (Hairer, Norsett & Wanner I, II.2)."""

import numpy as np
import pytest

from cosim.engines.methods.tableau import DOPRI5, TABLEAUS


def stages(method):
    """A, c, and for every order the (tree, 1 / its density)."""
    A = np.array([[*row, *[0.0] * (method.stages - len(row))] for row in method.a])
    c = np.array(method.c)
    Ac, Acc = A @ c, A @ c**2
    trees = {
        1: [(c**0, 1)],
        2: [(c, 2)],
        3: [(c**2, 3), (Ac, 6)],
        4: [(c**3, 4), (c * Ac, 8), (Acc, 12), (A @ Ac, 24)],
        5: [
            (c**4, 5), (c**2 * Ac, 10), (c * Acc, 15), (c * (A @ Ac), 30), (Ac**2, 20), (A @ c**3, 20),
            (A @ (c * Ac), 40), (A @ Acc, 60), (A @ A @ Ac, 120),
        ],
    }  # fmt: skip
    return A, c, trees


def check(weights, trees, order):
    for p in range(1, order + 1):
        for tree, density in trees[p]:
            assert weights @ tree == pytest.approx(1 / density, abs=1e-13), (p, density)


@pytest.mark.parametrize("name", TABLEAUS)
def test_methods_have_the_order_they_say(name):
    method = TABLEAUS[name]
    A, c, trees = stages(method)
    np.testing.assert_allclose(A.sum(axis=1), c, atol=1e-14)
    check(np.array(method.b), trees, method.order)
    if method.order < 5:
        assert any(abs(np.array(method.b) @ t - 1 / d) > 1e-3 for t, d in trees[method.order + 1])


def test_the_error_is_the_difference_to_a_method_of_order_four():
    _, _, trees = stages(DOPRI5)
    other = np.array(DOPRI5.b) - np.array(DOPRI5.error)
    check(other, trees, 4)
    assert any(abs(other @ t - 1 / d) > 1e-4 for t, d in trees[5])


def test_the_solution_inside_a_step_has_order_four():
    """The cubic through both ends lacks s^2 (1 - s)^2 times 1 / density of the trees of order four."""
    _, _, trees = stages(DOPRI5)
    for p in (1, 2, 3):
        for tree, _ in trees[p]:
            assert np.array(DOPRI5.dense) @ tree == pytest.approx(0.0, abs=1e-13)
    for tree, density in trees[4]:
        assert np.array(DOPRI5.dense) @ tree == pytest.approx(1 / density, abs=1e-12)
