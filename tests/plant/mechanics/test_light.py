"""Light parts between heavy ones, on a line: what the conditions that hold them are given."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from plant.mechanics.light import lent_inertia


def lent(masses, joins, parts=None, natural=1.0):
    """Points of these masses; each condition keeps two of them together, or one in place."""
    J = np.zeros((len(joins), len(masses)))
    for row, (one, *other) in enumerate(joins):
        J[row, one] = 1.0
        J[row, other] = -1.0
    C = J / np.sqrt(masses)
    part = np.arange(len(masses)) if parts is None else np.array(parts)
    return (*lent_inertia(csr_array(natural * C), np.full(len(joins), natural), part), (C * C).sum(axis=1))


@pytest.mark.parametrize("natural", [1.0, 1e-3])
def test_each_light_part_between_heavy_ones_counts_by_itself(natural):
    """Two chains; in each as many times as the light one is lighter than the heavier of its neighbours."""
    masses = [1.0, 1e-8, 2.0, 5.0, 1e-6, 1.0]
    joins = [(3, 4), (0, 1), (1, 2), (4, 5)]
    weights, times, compliance = lent(masses, joins, natural=natural)
    ratio = np.array([5e6, 2e8, 2e8, 5e6])
    assert weights == pytest.approx(ratio / (natural**2 * compliance), rel=1e-9)
    assert times == pytest.approx([0.0, 2e8, 0.0, 0.0, 5e6, 0.0])


def test_a_light_part_that_hangs_moves_as_it_should_without():
    """Of two coordinates, with one condition: it is light, and the condition lends nothing."""
    W, times, _ = lent([1.0, 1e-8, 1e-8], [(0, 1)], parts=[0, 1, 1])
    assert not W.any()
    assert times == pytest.approx([0.0, 1e8, 1e8])


def test_parts_that_are_not_light_enough_are_left_alone():
    for masses in ([1.0, 2e-5, 1.0], [1.0, 1.0, 1.0]):
        W, times, _ = lent(masses, [(0, 1), (1, 2)])
        assert not W.any() and not times.any()
    W, times, _ = lent([1.0], [])
    assert W.shape == (0,) and times.tolist() == [0.0]
