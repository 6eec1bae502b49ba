"""Rates of least energy that given velocities leave, in numbers."""

from __future__ import annotations

import numpy as np
import pytest

from plant.assembly.initial_rates import _least_energy


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_of_all_rates_that_are_asked_for_those_of_least_energy(unit):
    """x + y = 1 with 2 x^2 + 3 y^2 least: x = 3/5, y = 2/5 by Lagrange's multiplier."""
    x, rank = _least_energy(unit * np.diag([2.0, 3.0]), np.array([[1.0, 1.0]]), np.array([1.0]))
    assert x == pytest.approx([0.6, 0.4]) and rank == 1


def test_two_wishes_that_differ_by_rounding_are_one():
    """They are met halfway; the direction that only rounding tells is not moved at all."""
    x, rank = _least_energy(np.eye(2), np.array([[1.0, 0.0], [1.0, 1e-12]]), np.array([1.0, 2.0]))
    assert x == pytest.approx([1.5, 0.0], abs=1e-9) and rank == 1
    x, rank = _least_energy(np.eye(2), np.array([[1.0, 0.0], [1.0, 1e-8]]), np.array([1.0, 2.0]))
    assert x == pytest.approx([1.0, 1e8], rel=1e-6) and rank == 2


def test_where_nothing_moves_nothing_is_chosen():
    x, rank = _least_energy(np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0))
    assert x.shape == (0,) and rank == 0
