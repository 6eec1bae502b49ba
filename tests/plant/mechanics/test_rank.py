"""Sparse linear algebra of a start: independent rows, what they leave free, shortest solutions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.sparse import csr_array

from plant.mechanics.rank import MassRoot, Triangle, normal_solver, scaled, squares
from tests.helpers.matrices import mass_matrix, sparse


@pytest.fixture
def rows():
    """Rows of different length; the third and the last repeat others, the fifth is nothing."""
    A = sparse(np.random.default_rng(3), 9, 12)
    A[2] = 2 * A[0] - 3e-3 * A[1]
    A[4] = 0.0
    A[8] = 1e3 * (A[3] + A[5] - A[2])
    return A


def test_independent_rows_and_what_they_leave_free(rows):
    found = Triangle(csr_array(rows))
    assert found.independent.tolist() == [0, 1, 3, 5, 6, 7]
    assert found.repeated.tolist() == [2, 4, 8]
    assert found.rank == np.linalg.matrix_rank(rows) == 6
    free = found.free()
    assert free.shape == (12, 6)
    assert np.abs(rows @ free).max() < 1e-12 * np.abs(rows).max()
    assert np.abs(free.T @ free - np.eye(6)).max() < 1e-14
    assert null_space(rows) @ (null_space(rows).T @ free) == pytest.approx(free, abs=1e-12)


def test_shortest_solution(rows):
    right = rows @ np.arange(12.0)
    x = Triangle(csr_array(rows)).least(right)
    assert x == pytest.approx(np.linalg.lstsq(rows, right, rcond=1e-12)[0], abs=1e-12)
    contradicting = right + 1e3 * np.eye(9)[8]
    missed = Triangle(csr_array(rows)).missed(x, contradicting)
    assert np.argmax(missed) == 8 and np.delete(missed, 8).max() < 1e-12
    of_nothing = Triangle(csr_array(rows), natural=2.0).missed(x, right + 3.0 * np.eye(9)[4])
    assert of_nothing[4] == pytest.approx(1.5) and np.delete(of_nothing, 4).max() < 1e-9


def test_combinations_that_vanish(rows):
    w = Triangle(csr_array(rows)).combinations()
    assert w.shape == (9, 3)
    assert np.linalg.norm(w, axis=0) == pytest.approx(1.0)
    assert np.abs(w.T @ rows).max() < 1e-12
    assert np.flatnonzero(w[:, 0]).tolist() == [0, 1, 2]
    assert np.flatnonzero(w[:, 1]).tolist() == [4]


def test_rows_that_nearly_repeat_others_count_as_repetitions():
    A = sparse(np.random.default_rng(5), 3, 6)
    near = np.vstack([A, A[0] + A[1] + 1e-10 * np.ones(6)])
    far = np.vstack([A, A[0] + A[1] + 1e-4 * np.ones(6)])
    assert Triangle(csr_array(near)).repeated.tolist() == [3]
    assert Triangle(csr_array(far)).repeated.tolist() == []


def test_rows_are_compared_in_length_by_their_natural_sizes_and_in_direction_by_none():
    """A row of 1e-8 of the longest counts with all its digits, one of 1e-10 is none, unless by nature."""
    A = np.diag([1.0, 1e-8, 1e-10])
    assert Triangle(csr_array(A)).independent.tolist() == [0, 1]
    assert Triangle(csr_array(A), natural=np.array([1.0, 1.0, 1e-9])).rank == 3
    assert Triangle(csr_array(A)).least(np.array([2.0, 3e-8, 0.0])) == pytest.approx([2.0, 3.0, 0.0])


@pytest.mark.parametrize("shape", [(0, 4), (0, 0), (2, 0)])
def test_nothing_to_take_in(shape):
    found = Triangle(csr_array(np.zeros(shape)))
    free = found.free()
    assert found.rank == 0 and np.abs(free @ free.T - np.eye(shape[1])).max(initial=0.0) == 0.0
    assert found.least(np.zeros(shape[0])).shape == (shape[1],)


def test_long_chains_are_taken_in_by_their_width():
    n = 3000
    A = csr_array(np.eye(n - 1, n) - np.eye(n - 1, n, k=1)).tocsr()
    assert np.abs(Triangle(A).free()) == pytest.approx(np.full((n, 1), n**-0.5), abs=1e-12)


def test_mass_metric():
    rng = np.random.default_rng(1)
    H, J = mass_matrix(rng), sparse(rng, 4, 7)
    root = MassRoot(csr_array(H))
    C = root.rows(csr_array(J)).toarray()
    assert np.allclose(C @ C.T, J @ np.linalg.inv(H) @ J.T, rtol=1e-12)
    x = rng.standard_normal(7)
    qd = root.rates(x)
    assert qd @ H @ qd == pytest.approx(x @ x)
    assert J @ qd == pytest.approx(C @ x)


def test_inertia_of_a_coordinate_while_its_parents_rest():
    """With those behind it free to follow: one over its entry of the inverse of what is left of H."""
    H = mass_matrix(np.random.default_rng(1))
    expected = [1 / np.linalg.inv(H[k:, k:])[0, 0] for k in range(7)]
    assert MassRoot(csr_array(H)).own == pytest.approx(expected, rel=1e-12)
    assert MassRoot(csr_array((0, 0))).own.shape == (0,)


def test_rows_whose_products_are_singular_are_solved():
    """1 + 1e-18 is 1: the second row times itself is as the first, which a factorisation refuses."""
    A = csr_array(np.array([[1.0, 0.0, 0.0], [1.0, 1e-9, 0.0], [0.0, 0.0, 2.0]]))
    x = np.array([1.0, 2.0, 3.0])
    assert A.T @ normal_solver(A)(A @ x) == pytest.approx(x, rel=1e-6)
    both = np.array([x, -x]).T
    assert A.T @ normal_solver(A)(A @ both) == pytest.approx(both, rel=1e-6)


def test_rows_and_columns_are_scaled_and_squared_as_they_are_stored(rows):
    A, down, along = csr_array(rows), np.arange(1.0, 10.0), np.linspace(-1.0, 2.0, 12)
    for given, dense in (
        ({"rows": down}, down[:, None] * rows),
        ({"columns": along}, rows * along),
        ({"rows": 2.0, "columns": along}, 2.0 * rows * along),
    ):
        np.testing.assert_array_equal(scaled(A, **given).toarray(), dense)
    np.testing.assert_array_equal(A.toarray(), rows)
    np.testing.assert_allclose(squares(A), (rows**2).sum(axis=1), rtol=1e-14)
