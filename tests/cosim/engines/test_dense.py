"""Small linear systems."""

import numpy as np
import pytest

from cosim.engines.methods.dense import OWN, solve


@pytest.mark.parametrize("n", [1, 2, 5, OWN, OWN + 1])
def test_solutions_are_those_of_lapack_also_where_rows_must_change_places(n):
    rng = np.random.default_rng(n)
    full, turned = rng.standard_normal((n, n)), np.roll(np.diag(1.0 + np.arange(n)), 1, axis=0)
    for matrix in (full, turned, turned + np.triu(full, 2)):
        right = rng.standard_normal(n)
        kept = matrix.copy(), right.copy()
        np.testing.assert_allclose(solve(matrix, right), np.linalg.solve(matrix, right), rtol=1e-9)
        assert np.array_equal(matrix, kept[0]) and np.array_equal(right, kept[1])


@pytest.mark.parametrize("matrix", [[[0.0]], [[1.0, 2.0], [2.0, 4.0]], np.zeros((3, 3))])
def test_singular_ones_are_told(matrix):
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        solve(np.array(matrix), np.ones(len(matrix)))
