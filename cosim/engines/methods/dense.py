"""Small linear systems, solved by the same operations in the same order as in runtime/algebraic.c."""

from __future__ import annotations

import numpy as np

OWN = 32  # unknowns; beyond, LAPACK is much faster and the last bits may differ


def solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """x of matrix @ x = right, by Gaussian elimination with partial pivoting.

    Parameters
    ----------
    matrix : (n, n); right : (n,)

    Raises
    ------
    numpy.linalg.LinAlgError     the matrix is singular
    """
    n = len(right)
    if n > OWN:
        return np.linalg.solve(matrix, right)
    a, b = matrix.copy(), right.copy()
    for k in range(n):
        pivot = k + int(np.argmax(np.abs(a[k:, k])))
        if a[pivot, k] == 0.0:
            raise np.linalg.LinAlgError("singular matrix")
        if pivot != k:
            a[[k, pivot]], b[[k, pivot]] = a[[pivot, k]], b[[pivot, k]]
        factor = a[k + 1 :, k] / a[k, k]
        a[k + 1 :, k + 1 :] -= factor[:, np.newaxis] * a[k, k + 1 :]
        b[k + 1 :] -= factor * b[k]
    for k in range(n - 1, -1, -1):
        b[k] = b[k] / a[k, k]
        b[:k] -= a[:k, k] * b[k]
    return b
