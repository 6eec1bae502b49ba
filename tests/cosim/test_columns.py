"""Columns of symbols: what is in them, and how many rows nothing has."""

import casadi as ca
import numpy as np
import pytest

from cosim.columns import pick, stack

X = ca.SX.sym("x", 3)


@pytest.mark.parametrize(
    ("parts", "rows"), [([], []), ([X], [0, 1, 2]), ([X, X[:2]], [0, 1, 2, 0, 1]), ([ca.SX(0, 1)], [])]
)
def test_columns_stand_on_top_of_each_other(parts, rows):
    made = stack(parts)
    assert made.shape == (len(rows), 1)
    assert [str(e) for e in ca.vertsplit(made)] == [f"x_{k}" for k in rows]


@pytest.mark.parametrize("places", [[], [1], np.array([2, 0]), range(3), np.array([], dtype=int)])
def test_parts_of_a_column_are_those_asked_for(places):
    made = pick(X, places)
    assert made.shape == (len(places), 1)
    assert [str(e) for e in ca.vertsplit(made)] == [f"x_{k}" for k in places]
