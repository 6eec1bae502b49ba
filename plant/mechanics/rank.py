"""Linear algebra of a start: sparse Jacobians as numbers, whose rows may repeat each other.

Rows are taken in one by one and turned into a triangle R by Givens rotations, with the columns in an order
that keeps R narrow. A row that turns out to be nothing but a combination of rows before it adds nothing to R
and is reported; what R lacks are the directions the rows leave free. Rates are measured in the mass metric,
x = L^T qd with H = L L^T, in which every step is the one of least kinetic energy.

Source: George and Heath, Solution of sparse linear least squares problems using Givens rotations, Linear
Algebra Appl. 34 (1980).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array

DEPENDENT = 1e-7  # sine of the angle to rows before it below which a row repeats them
NOTHING = 1e-9  # of the longest row, each relative to its natural size: rows below are none
ROUNDING = 1e-13  # of a row: entries below are none
SMALL = 1e-9  # of a repeated row: factors below are none
ROUNDS = 2  # of refinement


class MassRoot:
    """L^T qd and its inverse for a mass matrix H = L L^T, in blocks of coordinates that move together.

    H : (n, n) sparse, symmetric positive definite; the parents of a coordinate come before it
    """

    def __init__(self, H: csr_array) -> None:
        from scipy.linalg.lapack import dtrtri  # SciPy is slow to import, and only closed mechanisms need it
        from scipy.sparse import csr_array

        n = H.shape[0]
        i, j, values = [np.zeros(0, int)], [np.zeros(0, int)], [np.zeros(0)]
        for block, own, *places in _blocks(*pattern_of(H)):
            part = np.zeros((len(block), len(block)))
            part[*places] = H.data[own]
            inverse, _ = dtrtri(np.linalg.cholesky(part), lower=1)
            rows, columns = np.nonzero(inverse)
            i.append(block[columns])
            j.append(block[rows])
            values.append(inverse[rows, columns])
        row, column = np.concatenate(i), np.concatenate(j)
        order = np.lexsort((column, row))
        ends = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))])
        self._inverse = csr_array((np.concatenate(values)[order], column[order], ends), shape=(n, n))  # L^-T

    @property
    def own(self) -> np.ndarray:
        """(n,) inertia of each coordinate while its parents rest: squares of L's diagonal."""
        return np.asarray(self._inverse.diagonal()) ** -2.0

    def rows(self, J: csr_array) -> csr_array:
        """J L^-T: rows (m, n) in terms of x."""
        found = J @ self._inverse
        found.sort_indices()
        return found

    def rates(self, x: np.ndarray) -> np.ndarray:
        """qd = L^-T x."""
        return np.asarray(self._inverse @ x)


class Triangle:
    """The triangle R of a sparse matrix, and which of its rows repeat others.

    A : (m, n) sparse        every row is brought to length 1 first
    natural : (m,)           sizes by which lengths of rows are comparable; 1 without

    independent : (r,) int   rows that do not repeat rows before them
    repeated : (d,) int      the others
    """

    def __init__(self, A: csr_array, natural: np.ndarray | float = 1.0) -> None:
        norms = np.sqrt(squares(A))
        self._natural, shares = natural, norms / natural
        self._norms = np.where(shares > NOTHING * shares.max(initial=0.0), norms, np.inf)
        unit = scaled(A, 1 / self._norms)
        unit.data[np.abs(unit.data) < ROUNDING] = 0.0
        unit.eliminate_zeros()
        self._unit, self._order = unit, _narrow(*pattern_of(unit))
        place = np.argsort(self._order)
        rows = [
            (place[unit.indices[a:b]], unit.data[a:b])
            for a, b in zip(unit.indptr[:-1], unit.indptr[1:], strict=True)
        ]
        width = 1 + max((int(np.ptp(columns)) for columns, _ in rows if columns.size), default=0)
        self._R = np.zeros((A.shape[1], width))  # row j from its diagonal on
        self._filled = np.zeros(A.shape[1], dtype=bool)
        taken = np.array([self._take(*row) for row in rows], dtype=bool)
        self.independent, self.repeated = np.flatnonzero(taken), np.flatnonzero(~taken)
        self._kept = unit[self.independent]
        self._turned = self._kept.T
        self._solve = normal_solver(self._kept) if self.rank else np.asarray

    def _take(self, columns: np.ndarray, values: np.ndarray) -> bool:
        """Take in one row; whether it adds to what is there."""
        if not columns.size:
            return False
        R, width = self._R, self._R.shape[1]
        first = int(columns.min())
        rest = np.zeros(len(R) - first + width)
        rest[columns - first] = values
        for j in range(first, len(R)):
            here = rest[j - first : j - first + width]
            if not here.any():
                return False
            if self._filled[j]:
                length = np.hypot(R[j, 0], here[0])
                c, s = R[j, 0] / length, here[0] / length
                R[j], here[:] = c * R[j] + s * here, c * here - s * R[j]
            elif abs(here[0]) > DEPENDENT:
                R[j], self._filled[j] = here, True
                return True
            here[0] = 0.0
        return False

    @property
    def rank(self) -> int:
        """Number of independent rows."""
        return len(self.independent)

    def free(self) -> np.ndarray:
        """(n, n - rank) orthonormal columns that all rows leave free."""
        n, width = self._R.shape
        open_ones = np.flatnonzero(~self._filled)
        found = np.zeros((n + width, len(open_ones)))
        found[open_ones, range(len(open_ones))] = 1.0
        for j in np.flatnonzero(self._filled)[::-1]:
            found[j] = -(self._R[j, 1:] @ found[j + 1 : j + width]) / self._R[j, 0]
        basis = np.zeros((n, len(open_ones)))
        basis[self._order] = found[:n]
        for _ in range(ROUNDS):  # what was left out as too small is not quite nothing
            basis = np.linalg.qr(basis)[0]
            basis = basis - self._turned @ self._solve(self._kept @ basis)
        return np.asarray(np.linalg.qr(basis)[0])

    def least(self, right: np.ndarray) -> np.ndarray:
        """(n,) shortest x for which the independent rows have these values; right : (m,) of all rows."""
        wanted = (right / self._norms)[self.independent]
        x = np.zeros(self._unit.shape[1])
        for _ in range(1 + ROUNDS):
            x = x + self._turned @ self._solve(wanted - self._kept @ x)
        return x

    def missed(self, x: np.ndarray, right: np.ndarray) -> np.ndarray:
        """(m,) how far rows, of those that are none 0, are from their values at x, in their natural sizes."""
        have = (self._unit @ x) * np.where(np.isfinite(self._norms), self._norms, 0.0)
        return np.asarray(np.abs(have - right) / self._natural)

    def combinations(self) -> np.ndarray:
        """(m, d) unit columns w with w^T A = 0, one for each repeated row; sparse as numbers."""
        found = np.zeros((len(self._norms), len(self.repeated)))
        for column, k in zip(found.T, self.repeated, strict=True):
            column[k] = 1.0
            if self.rank and np.isfinite(self._norms[k]):
                column[self.independent] = -self._solve(self._kept @ self._unit[[k]].toarray().ravel())
                column[np.abs(column) < SMALL] = 0.0
                column /= self._norms
                column /= np.linalg.norm(column)
        return found


def normal_solver(A: csr_array) -> Callable[[np.ndarray], np.ndarray]:
    """y -> (A A^T)^-1 y, for y (m,) or (m, k)."""
    from scipy.sparse.linalg import splu

    try:
        found: Callable[[np.ndarray], np.ndarray] = splu((A @ A.T).tocsc()).solve
    except RuntimeError:  # rows so near to each other that products lose what tells them apart
        U, s, _ = np.linalg.svd(A.toarray(), full_matrices=False)
        U, s = U[:, s > ROUNDING * s[0]], s[s > ROUNDING * s[0]]
        return lambda y: np.asarray((U / s**2) @ (U.T @ y))
    return found


# --- sparse matrices as they are stored: SciPy's own ways take longer where they are small ------------
def scaled(A: csr_array, rows: np.ndarray | float = 1.0, columns: np.ndarray | float = 1.0) -> csr_array:
    """A with its rows (m,) and columns (n,) multiplied by numbers; what is stored stays stored."""
    found = A.copy()
    found.data = A.data * np.broadcast_to(rows, A.shape[0])[rows_of(A)]
    found.data *= np.broadcast_to(columns, A.shape[1])[A.indices]
    return found


def squares(A: csr_array) -> np.ndarray:
    """(m,) sums of the squares in each row: the diagonal of A A^T."""
    return np.bincount(rows_of(A), A.data * A.data, A.shape[0])


def rows_of(A: csr_array) -> np.ndarray:
    """(nnz,) rows of what is stored."""
    return np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))


def pattern_of(A: csr_array) -> tuple[int, bytes, bytes]:
    """Where A has entries, as the functions below take it: found once for matrices that follow each other."""
    return A.shape[1], A.indptr.astype(np.int32).tobytes(), A.indices.astype(np.int32).tobytes()


def _pattern(n: int, ends: bytes, columns: bytes) -> csr_array:
    from scipy.sparse import csr_array

    indptr, indices = (np.frombuffer(part, np.int32) for part in (ends, columns))
    return csr_array((np.ones(len(indices)), indices, indptr), shape=(len(indptr) - 1, n))


@lru_cache(maxsize=32)
def _blocks(n: int, ends: bytes, columns: bytes) -> list[tuple[np.ndarray, ...]]:
    """Of coordinates that move together: these, their entries in H, and where these are among them."""
    from scipy.sparse.csgraph import connected_components

    if not n:
        return []
    H = _pattern(n, ends, columns)
    _, label = connected_components(H, directed=False)
    # tips first, so that rows of coordinates on one path stay on that path
    order = np.argsort(label, kind="stable")
    blocks = [b[::-1] for b in np.split(order, np.flatnonzero(np.diff(label[order])) + 1)]
    place = np.empty(n, dtype=int)
    for block in blocks:
        place[block] = np.arange(len(block))
    row = rows_of(H)
    cuts = np.cumsum(np.bincount(label[row], minlength=len(blocks)))[:-1]
    entries = np.split(np.argsort(label[row], kind="stable"), cuts)
    return [(b, own, place[row[own]], place[H.indices[own]]) for b, own in zip(blocks, entries, strict=True)]


@lru_cache(maxsize=32)
def _narrow(n: int, ends: bytes, columns: bytes) -> np.ndarray:
    """An order of the columns (n,) in which every row has its entries close together."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    if not n:
        return np.arange(0)
    pattern = _pattern(n, ends, columns)
    return np.asarray(reverse_cuthill_mckee(csr_array(pattern.T @ pattern), symmetric_mode=True))
