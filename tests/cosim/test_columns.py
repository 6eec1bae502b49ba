"""Columns of symbols: what is in them, and how many rows nothing has."""

import casadi as ca
import numpy as np
import pytest

from cosim.columns import pick, stack

X = ca.SX.sym("x", 3)


@pytest.mark.parametrize(
    ("made", "rows"),
    [
        (stack([]), []), (pick(X, []), []), (stack([X]), [0, 1, 2]), (stack([X, X[:2]]), [0, 1, 2, 0, 1]),
        (pick(X, np.array([2, 0])), [2, 0]),
    ],
)  # fmt: skip
def test_columns(made, rows):
    assert made.shape == (len(rows), 1)
    assert [str(e) for e in ca.vertsplit(made)] == [f"x_{k}" for k in rows]
