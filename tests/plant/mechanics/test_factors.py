"""L D L^T of symbols, and the inverse of a mass matrix made with it."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from plant.mechanics.factors import Factors
from plant.mechanics.saddle import MassInverse
from tests.helpers.matrices import mass_matrix, sparse


@pytest.mark.parametrize("ordered", [True, False])
def test_factors(ordered):
    rng = np.random.default_rng(2)
    A = sparse(rng, 8, 8, 0.2)
    S = A @ A.T + 0.1 * np.eye(8)
    symbols = ca.SX.sym("s", ca.sparsify(ca.DM(S)).sparsity())
    right = ca.SX.sym("r", 8)
    f = ca.Function("f", [symbols, right], [Factors(symbols, ordered).solved(right)])
    r = rng.standard_normal(8)
    assert np.array(f(ca.DM(S), r)).ravel() == pytest.approx(np.linalg.solve(S, r))


def test_factors_divide_once_per_pivot():
    n = 12
    S = ca.SX.sym("s", ca.Sparsity.banded(n, 2))
    solved = Factors(S, ordered=True).solved(ca.SX.sym("r", n))
    f = ca.Function("f", [*ca.symvar(solved)], [solved])
    names = [f.instruction_id(k) for k in range(f.n_instructions())]
    assert names.count(ca.OP_INV) == n and ca.OP_DIV not in names


def test_factors_look_at_the_lower_half_alone():
    rng = np.random.default_rng(4)
    root = rng.standard_normal((5, 5))
    S, r = root @ root.T + np.eye(5), rng.standard_normal(5)
    lower = ca.SX(ca.DM(np.where(np.tri(5, dtype=bool), S, np.nan)))
    for ordered in (True, False):
        found = Factors(lower, ordered).solved(ca.SX(ca.DM(r)))
        assert np.array(ca.DM(found)).ravel() == pytest.approx(np.linalg.solve(S, r))


def test_factors_eliminate_in_an_order_of_little_fill():
    """An arrow that is eliminated from its head on fills the whole triangle; from its tail on, nothing."""
    n = 9
    arrow = np.diag(np.full(n, float(n)))
    arrow[0, 1:] = arrow[1:, 0] = 1.0
    S = ca.SX(ca.sparsify(ca.DM(arrow)))
    assert sum(len(column) for column in Factors(S).columns) == n - 1
    assert sum(len(column) for column in Factors(S, ordered=True).columns) == n * (n - 1) // 2


def test_inverse_of_the_mass_matrix_keeps_mechanisms_apart():
    rng = np.random.default_rng(1)
    H, right = mass_matrix(rng), np.zeros((7, 2))
    right[3, 0], right[5, 1] = 1.0, 2.0
    found = MassInverse(ca.SX(ca.sparsify(ca.DM(H))))(ca.sparsify(ca.DM(right)))
    assert np.array(ca.DM(found)) == pytest.approx(np.linalg.solve(H, right))
    assert found.sparsity().has_nz(0, 0) and not found.sparsity().has_nz(1, 0)
