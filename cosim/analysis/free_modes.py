"""Modes on the stability limit that are not part of a loop, as of a shaft whose speed alone is controlled.

The angle of such a shaft integrates its speed and comes back nowhere: a pole at 0 (at 1 of a sampled model)
that no factor or delay on the looked-at signal moves. Asked how far the loop is from instability, it is left
out: with V the eigenvectors that the signal does not show (C V = 0) and Q orthonormal beside them,
(Q^T A Q, Q^T B, C Q) has the same transfer function. So are modes that the signal does not move (W^T B = 0).
What integrates such a mode once more is one itself when that is left out: it goes on until none is found.

Source: Kailath, Linear Systems, section 6.2 (Popov-Belevitch-Hautus tests and decompositions).
"""

from __future__ import annotations

import numpy as np

EDGE = 1e-5  # relative: how far rounding may put a pole off the edge (three integrators in a row: eps**(1/3))
NULL = 1e-12  # of the largest singular value: a smaller one is rounding


def without_free(
    A: np.ndarray, B: np.ndarray, C: np.ndarray, sampled: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A (n, n), B (n, m), C (p, n) without its k free modes, and their poles (k,).

    sampled : the edge of stability is the unit circle, not the imaginary axis
    """
    poles: list[complex] = []
    while True:
        pole, V = _hidden(A, C, sampled)
        if not V.shape[1]:
            pole, V = _hidden(A.T, B.T, sampled)
        if not V.shape[1]:
            return A, B, C, np.array(poles, dtype=complex)
        Q = _beside(V)
        poles += [pole, pole.conjugate()] if pole.imag else [pole] * V.shape[1]
        A, B, C = Q.T @ A @ Q, Q.T @ B, C @ Q


def without(poles: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Poles (n,) without those that stand for the free ones (k,), the nearest to each."""
    left = list(poles)
    for pole in free:
        left.pop(int(np.argmin(np.abs(np.array(left) - pole))))
    return np.array(left, dtype=complex)


def _hidden(A: np.ndarray, C: np.ndarray, sampled: bool) -> tuple[complex, np.ndarray]:
    """A pole on the edge, and (n, k) eigenvectors of it that C does not show; none: k is 0."""
    for pole in _on_edge(np.linalg.eigvals(A), sampled):
        _, singular, rows = np.linalg.svd(np.vstack([A - pole * np.eye(len(A)), C]))
        V = rows[singular <= NULL * singular[0]].conj().T
        if V.shape[1]:
            return pole, V[:, :1] if pole.imag else V
    return 0j, np.zeros((len(A), 0))


def _on_edge(values: np.ndarray, sampled: bool) -> list[complex]:
    """The poles near the stability limit, moved onto it."""
    size = float(np.abs(values).max(initial=1.0))
    near = values[(np.abs(np.abs(values) - 1.0) if sampled else np.abs(values.real)) < EDGE * size]
    near = near / np.abs(near) if sampled else 1j * near.imag
    rest = 1.0 if sampled else 0.0
    return [complex(rest if abs(pole - rest) < EDGE * size else pole) for pole in near if pole.imag >= 0]


def _beside(V: np.ndarray) -> np.ndarray:
    """Orthonormal real basis (n, n - k) of what is perpendicular to V and its conjugate."""
    U, singular, _ = np.linalg.svd(np.hstack([V.real, V.imag]))
    return np.asarray(U[:, int((singular > 1e-8 * singular[0]).sum()) :])
