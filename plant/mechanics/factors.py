"""L D L^T of a symmetric matrix of symbols, entry by entry, without the entries that are zero.

Pivots are inverted once and multiplied with afterwards: a division takes as long as a dozen other operations,
and the pivots of a chain of loops wait for each other.

Source: Golub and Van Loan, Matrix Computations, 4th ed., section 4.1; Davis, Direct Methods for Sparse Linear
Systems, chapter 7 (order of least fill).
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from plant.mechanics.spatial import Matrix, Scalar

Entries = dict[int, Scalar]


def _times(a: ca.SX, b: ca.SX) -> ca.SX:
    """a b of two scalars; `a * b` asks first, for six times as long, what kind of numbers they are."""
    return ca.SX.binary(ca.OP_MUL, a, b)


def _minus(a: ca.SX, b: ca.SX) -> ca.SX:
    return ca.SX.binary(ca.OP_SUB, a, b)


class Factors:
    """Factors of a positive definite matrix.

    S : (n, n) SX       of which the lower half is looked at
    ordered : bool      eliminate in the order given (where that fills nothing in); else in one of little fill
    order, columns, inverse : places as they are eliminated, columns of L by row, inverted pivots
    """

    def __init__(self, S: Matrix, ordered: bool = False) -> None:
        n = S.shape[0]
        self.order = list(range(n)) if ordered or not n else list(S.sparsity().amd())
        self._place = {k: place for place, k in enumerate(self.order)}
        below: list[Entries] = [{} for _ in range(n)]
        pivots: list[Scalar] = [0.0] * n
        for i, j, entry in zip(*S.sparsity().get_triplet(), S.nonzeros(), strict=True):
            if i < j:
                continue
            a, b = sorted((self._place[i], self._place[j]))
            if a == b:
                pivots[a] = entry
            else:
                below[a][b] = entry
        self.columns: list[Entries] = []  # of L in the order of elimination, without the unit diagonal
        self.inverse: list[Scalar] = []
        for k, column in enumerate(below):
            inverse = ca.fabs(1 / pivots[k])  # positive; without `fabs` CasADi makes x * (1 / d) into x / d
            L = {i: _times(column[i], inverse) for i in sorted(column)}
            for i, factor in L.items():
                pivots[i] = _minus(pivots[i], _times(factor, column[i]))
                for j in (j for j in L if j < i):
                    change = _times(factor, column[j])
                    below[j][i] = _minus(below[j][i], change) if i in below[j] else -change
            self.columns.append(L)
            self.inverse.append(inverse)

    def solve(self, right: Mapping[int, Scalar]) -> Entries:
        """S^-1 right, both by place with zeros left out."""
        y = {self._place[k]: value for k, value in right.items()}
        for k, L in enumerate(self.columns):
            if k in y:
                for i, factor in L.items():
                    change = _times(factor, y[k])
                    y[i] = _minus(y[i], change) if i in y else -change
        for k in reversed(range(len(self.columns))):
            known = [_times(factor, y[i]) for i, factor in self.columns[k].items() if i in y]
            value = _times(y[k], self.inverse[k]) if k in y else None
            for part in known:
                value = -part if value is None else _minus(value, part)
            if value is not None:
                y[k] = value
        return {self.order[k]: value for k, value in y.items()}

    def solved(self, right: Matrix) -> Matrix:
        """S^-1 right, (n, 1)."""
        found = self.solve(entries(right))
        return ca.vertcat(ca.SX(0, 1), *[found.get(k, ca.SX(1, 1)) for k in range(len(self.columns))])


def entries(column: Matrix) -> Entries:
    """Nonzeros of an SX column (n, 1) by row."""
    return dict(zip(column.sparsity().row(), column.nonzeros(), strict=True))
