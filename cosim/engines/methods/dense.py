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
    # lists of numbers: calls of NumPy for so few took ten times as long
    a, b = np.asarray(matrix, dtype=float).tolist(), np.asarray(right, dtype=float).tolist()
    for k in range(n):
        pivot, largest = k, abs(a[k][k])
        for i in range(k + 1, n):
            if (size := abs(a[i][k])) > largest:
                pivot, largest = i, size
        if largest == 0.0:
            raise np.linalg.LinAlgError("singular matrix")
        a[k], a[pivot], b[k], b[pivot] = a[pivot], a[k], b[pivot], b[k]
        row, own = a[k], b[k]
        for i in range(k + 1, n):
            below = a[i]
            factor = below[k] / row[k]
            for j in range(k + 1, n):
                below[j] -= factor * row[j]
            b[i] -= factor * own
    for k in range(n - 1, -1, -1):
        x = b[k] = b[k] / a[k][k]
        for i in range(k):
            b[i] -= a[i][k] * x
    return np.array(b)
