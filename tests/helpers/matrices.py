"""Matrices to try linear algebra on."""

from __future__ import annotations

import numpy as np


def sparse(rng, m, n, share=0.4):
    """(m, n) with about that share of nonzeros."""
    A = np.where(rng.random((m, n)) < share, rng.standard_normal((m, n)), 0.0)
    A[np.arange(m), np.arange(m) % n] += 2.0
    return A


def mass_matrix(rng):
    """(7, 7) of two mechanisms, their coordinates shuffled but parents first."""
    H = np.zeros((7, 7))
    for block in ([0, 2, 3, 6], [1, 4, 5]):
        L = np.tril(rng.standard_normal((len(block), len(block)))) + 2 * np.eye(len(block))
        H[np.ix_(block, block)] = L.T @ L
    return H
