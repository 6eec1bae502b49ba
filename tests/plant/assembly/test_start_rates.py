"""Rates at a start in numbers, and how markers are moved to look beside it."""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

from plant.assembly.branches import Branches
from plant.assembly.start_rates import Rates, null_space
from plant.assembly.touching import Disturbed
from plant.expressions.scope import MarkerState


def test_what_is_rounding_beside_the_largest_rate_is_none():
    """Travels count by the size of the mechanism, 100 m: 2e-14 m/s are none, 2e-13 are."""
    travels = np.array([1.0, 100.0, 100.0, 1.0, 1.0])
    x = np.array([1.0, 2e-14, 2e-13, -0.9e-15, 1.1e-15])
    root = SimpleNamespace(rates=lambda x: x.copy())
    rates = Rates(root, Branches([2 * x, x], True), np.zeros((5, 0)), travels)
    assert rates.of(1).tolist() == [1.0, 0.0, 2e-13, 0.0, 1.1e-15]
    assert rates.of(0).tolist() == [2.0, 0.0, 4e-13, 0.0, 2.2e-15]
    slow = Rates(root, Branches([1e-3 * x], True), np.zeros((5, 0)), travels)
    assert slow.of(0).tolist() == [1e-3, 0.0, 0.0, 0.0, 0.0]  # nor is what is rounding of 1


@pytest.mark.parametrize("rows", [[], [[3.0, 4.0, 0.0]], [[3.0, 4.0, 0.0], [6.0, 8.0, 1e-12]]])
def test_columns_of_a_null_space_are_orthonormal_and_vanish(rows):
    A = np.array(rows).reshape(-1, 3)
    N = null_space(A)
    assert N.shape == (3, 2 if rows else 3)
    assert pytest.approx(np.eye(N.shape[1])) == N.T @ N and pytest.approx(0.0, abs=1e-11) == A @ N


def test_markers_are_moved_by_a_share_of_the_size_and_turned_by_a_share():
    state = MarkerState(ca.SX([1.0, 2.0, 3.0]), ca.SX.eye(3), ca.SX([4.0, 5.0, 6.0]), ca.SX([7.0, 8.0, 9.0]))

    def moved(share, size):
        found = Disturbed(share, size, np.random.default_rng(7))(state)
        apart = (found.r - state.r, found.v - state.v, found.w - state.w, found.A - state.A)
        return [np.array(ca.DM(e)).ravel() for e in apart]

    base = moved(1e-4, 1.0)
    assert all(1e-6 < np.abs(part).max() < 1e-3 for part in base)
    for share, size in ((1e-4, 5.0), (1e-6, 0.5)):
        for part, first, unit in zip(moved(share, size), base, (size, size, 1.0, 1.0), strict=True):
            assert part == pytest.approx(first * unit * share / 1e-4, rel=1e-3, abs=1e-7 * share / 1e-4)
