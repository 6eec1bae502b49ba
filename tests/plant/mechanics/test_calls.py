"""Matrices as the places of their distinct entries in one column."""

from __future__ import annotations

import casadi as ca
import numpy as np

from plant.mechanics.calls import DistinctEntries


def test_matrices_come_back_from_the_column_of_their_distinct_entries():
    """Wide, tall, empty and constant ones, one after the other; ones and zeros take no room."""
    a, b, c = ca.SX.sym("a"), ca.SX.sym("b"), ca.SX.sym("c")
    product = a * b
    given = [
        ca.sparsify(ca.vertcat(ca.horzcat(a, 0, 1), ca.horzcat(-1, product, b))),
        ca.SX(3, 2),
        ca.SX.eye(3),
        ca.vertcat(b, 1, product, c),
        ca.horzcat(c, 2 * c, a, -1),
    ]
    distinct = DistinctEntries()
    patterns = [distinct.pattern(value) for value in given]
    assert distinct.size == 5  # a, b, a b, c, 2 c
    column = ca.SX.sym("column", 5)
    back = [pattern.filled(ca.vertcat(column, 1, -1)) for pattern in patterns]
    known = ca.vertcat(a, b, c)
    at = ca.DM([2.0, 3.0, 5.0])
    entries = ca.Function("entries", [known], [distinct.vector()])(at)
    assert sorted(np.array(entries).ravel()) == [2.0, 3.0, 5.0, 6.0, 10.0]
    for value, again in zip(given, back, strict=True):
        expected = ca.Function("expected", [known], [value])(at)
        found = ca.Function("found", [column], [again])(entries)
        assert found.shape == value.shape and found.sparsity() == value.sparsity()
        assert np.array_equal(np.array(found), np.array(expected))
