"""Solving once more with factors that were found before, for many right-hand sides, in loops.

What finds the factors is written out, operation by operation; this takes them as numbers, so that its code
does not grow with the number of entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import casadi as ca

from plant.mechanics.factors import Factors
from plant.mechanics.spatial import Matrix


@dataclass(frozen=True)
class FactorsAgain:
    """The pattern of factors L D L^T of one matrix, or of diagonal blocks of one.

    order : (n,) int        places in the matrix, as they were eliminated
    lower : Sparsity        of L (n, n) with its diagonal
    numbers : (k, 1) SX     L column by column, then the inverted pivots
    """

    order: list[int]
    lower: ca.Sparsity
    numbers: ca.SX

    @classmethod
    def of(cls, blocks: Sequence[tuple[Sequence[int], Factors]]) -> FactorsAgain:
        """blocks : the places of each in the matrix, and its factors."""
        order: list[int] = []
        columns: list[dict[int, Matrix]] = []
        pivots: list[Matrix] = []
        for places, factors in blocks:
            start = len(order)
            order += [places[k] for k in factors.order]
            columns += [{start + i: v for i, v in column.items()} for column in factors.columns]
            pivots += factors.inverse
        n = len(order)
        for j, column in enumerate(columns):
            column[j] = ca.SX(1)
        entries = [(j * n + i, v) for j, column in enumerate(columns) for i, v in sorted(column.items())]
        lower = ca.Sparsity.nonzeros(n, n, [place for place, _ in entries])
        numbers = ca.vertcat(ca.SX(0, 1), *[ca.SX(v) for _, v in entries], *[ca.SX(v) for v in pivots])
        return cls(order, lower, ca.densify(numbers))

    def solve(self, numbers: ca.MX, right: ca.MX) -> ca.MX:
        """(n, c) solution for `right` (n, c); numbers : as of the class."""
        n, filled = len(self.order), self.lower.nnz()
        if not n:
            return right
        L, inverse = ca.MX(self.lower, numbers[:filled]), ca.diag(numbers[filled:])
        found = ca.solve(L.T, inverse @ ca.solve(L, right[self.order, :]))
        back = [0] * n
        for place, k in enumerate(self.order):
            back[k] = place
        return found[back, :]


def taken(numbers: ca.MX, sizes: Sequence[int]) -> Iterator[ca.MX]:
    """Parts of a column, one after the other."""
    start = 0
    for size in sizes:
        yield numbers[start : start + size]
        start += size
