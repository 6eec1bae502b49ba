"""Accelerations under constraints: the saddle-point system [H J^T; J 0] with redundant rows allowed.

H is factored first (joints from the tips inwards: no fill), then the small matrix of the constraints,
S = J H^-1 J^T, by LDL without pivoting. A proximal term eps = 1e-12, for rows scaled so that the diagonal of
S is about 1, keeps it definite when rows are redundant or the pose is singular; refinement against the
unregularised rows takes its effect away again and leaves the minimum-norm (scaled) multipliers. The rows
themselves stay as they are: a scaled 1 would have to be multiplied with. Measured on the N-four-bar through
its singular poses: eps = 0 gives nan, eps = 1e-8 is wrong by 3e-2 there even after refinement, eps = 1e-12
with 2 rounds is as accurate as with 3 at every tolerance.

Source: Featherstone, RBDA, sections 6.5 (LTL without fill) and 8.3; proximal refinement: Rockafellar 1976.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np

from plant.mechanics.factors import Entries, Factors
from plant.mechanics.factors_again import FactorsAgain, taken
from plant.mechanics.spatial import Matrix, Scalar

PROXIMAL = 1e-12  # relative to the scaled diagonal
ROUNDS = 2  # solutions in all: one and the rest refinement


class MassInverse:
    """Applies H^-1, block by block of bodies that move together.

    H : (n, n) SX           symmetric positive definite
    ordered : bool          the parents of a coordinate come before it
    """

    def __init__(self, H: Matrix, ordered: bool = True) -> None:
        self.H, self._n = H, H.shape[0]
        # tips first: no fill
        self._blocks = [(block[::-1], Factors(H[block[::-1], block[::-1]], ordered)) for block in _blocks(H)]
        self._block = {k: (n, i) for n, (block, _) in enumerate(self._blocks) for i, k in enumerate(block)}

    def with_lent(self, J: Matrix, lent: np.ndarray) -> MassInverse:
        """The same with inertia lent to the conditions J (m, n), so much to each; see `light.py`."""
        held = np.flatnonzero(lent).tolist()
        rows = J[held, :]
        return MassInverse(ca.sparsify(self.H + rows.T @ ca.diag(ca.DM(lent[held])) @ rows), ordered=False)

    @property
    def again(self) -> FactorsAgain:
        """The factors, to solve with them once more."""
        return FactorsAgain.of(self._blocks)

    def __call__(self, right: Matrix) -> Matrix:
        """H^-1 right (n, k), structural zeros kept."""
        right = ca.sparsify(ca.SX(right))
        parts: dict[tuple[int, int], Entries] = {}  # (column, block) -> entries
        for i, j, entry in zip(*right.sparsity().get_triplet(), right.nonzeros(), strict=True):
            n, place = self._block[i]
            parts.setdefault((j, n), {})[place] = entry
        found: dict[int, Scalar] = {}  # by place in the matrix, column by column
        for (j, n), part in parts.items():
            block, factors = self._blocks[n]
            found |= {j * self._n + block[place]: value for place, value in factors.solve(part).items()}
        return _matrix(self._n, right.shape[1], found)


def _matrix(rows: int, columns: int, found: dict[int, Scalar]) -> Matrix:
    """Sparse SX of entries by place, column by column."""
    if not rows or not columns:
        return ca.SX(rows, columns)
    shape = ca.Sparsity.nonzeros(rows, columns, sorted(found))
    return ca.sparsify(ca.SX(shape, ca.vertcat(ca.SX(0, 1), *[found[place] for place in sorted(found)])))


def _blocks(H: Matrix) -> list[list[int]]:
    """Sets of coordinates that H couples."""
    from scipy.sparse import csr_array  # slow to import, and only closed mechanisms need it
    from scipy.sparse.csgraph import connected_components

    n = H.shape[0]
    if not n:
        return []
    rows, columns = H.sparsity().get_triplet()
    graph = csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
    count, label = connected_components(graph, directed=False)
    return [np.flatnonzero(label == k).tolist() for k in range(count)]


Rounds = list[tuple[Matrix, Matrix]]


def accelerations(rounds: Rounds) -> Matrix:
    """(n, 1) sum of the parts."""
    qdd = rounds[0][0]
    for change, _ in rounds[1:]:
        qdd = qdd + change
    return qdd


class Saddle:
    """Solves H qdd = Q + J^T lam, J qdd = gamma.

    H : (n, n) SX        mass matrix
    J : (m, n) SX        constraint Jacobian
    scale : (m,) float   1 / sqrt(diag(J H^-1 J^T)), roughly
    repeats : (m, d) SX  near the combinations of scaled rows that vanish; None: there are none (`repeats.py`)
    lent : (m,) float    inertia lent to each condition, mostly zero (`light.py`)
    """

    def __init__(
        self,
        inverse: MassInverse,
        J: Matrix,
        scale: np.ndarray,
        proximal: float = PROXIMAL,
        rounds: int = ROUNDS,
        repeats: Matrix | None = None,
        lent: np.ndarray | None = None,
    ) -> None:
        self._lent = lent if lent is not None and lent.any() else None
        if self._lent is not None:
            inverse = inverse.with_lent(J, self._lent)
        self._rounds, self._inverse, self._J = rounds, inverse, J
        self._scale = ca.DM(scale)
        self._Y = inverse(J.T)  # H^-1 J^T
        self._added = ca.diag(proximal / self._scale**2)
        S = J @ self._Y + self._added
        self._near = None if repeats is None else repeats / self._scale
        if self._near is not None:
            S = S + self._near @ self._near.T
        self._factors = Factors(S)
        self.null = None if repeats is None else self._combinations(repeats)  # (m, d), orthonormal

    def _combinations(self, repeats: Matrix) -> Matrix:
        """Combinations of rows that vanish, from others near them; orthonormal by Gram and Schmidt."""
        found: list[Matrix] = []
        for k in range(repeats.shape[1]):
            w = self._factors.solved(repeats[:, k] / self._scale) / self._scale
            for other in found * 2:  # twice is enough (Kahan)
                w = w - ca.dot(other, w) * other
            found.append(w / ca.sqrt(ca.sumsqr(w)))
        return ca.horzcat(*found)

    def free(self, Q: Matrix) -> Matrix:
        """(n, 1) accelerations without the constraints."""
        return self._inverse(Q)

    def __call__(self, Q: Matrix, gamma: Matrix) -> tuple[Matrix, Matrix]:
        """qdd (n, 1) and multipliers lam (m, 1)."""
        return self.closed(self.free(Q), gamma)

    def closed(self, qdd: Matrix, gamma: Matrix) -> tuple[Matrix, Matrix]:
        """Accelerations nearest to qdd (in the mass metric) with J qdd = gamma, and the multipliers."""
        rounds = self.rounds(qdd, gamma)
        return accelerations(rounds), self.multipliers(rounds, gamma)

    def residual(self, rounds: Rounds, Q: Matrix, gamma: Matrix) -> Matrix:
        """(k (n + m), 1) the equations that k rounds solve, what is added to S included."""
        H, J, qdd, parts = self._inverse.H, self._J, ca.SX(*Q.shape), []
        for change, step in rounds:
            qdd, added = qdd + change, self._added @ step
            if self._near is not None:
                added += self._near @ (self._near.T @ step)
            parts += [H @ change - J.T @ step - Q, J @ qdd + added - gamma]
            Q = ca.SX(*Q.shape)
        return ca.vertcat(*parts)

    def again(self) -> tuple[Matrix, Callable[[ca.MX, ca.MX], ca.MX]]:
        """Numbers, and what solves the equations of `residual` with them: a column per right-hand side."""
        H = self._inverse.again
        S = FactorsAgain.of([(range(self._J.shape[0]), self._factors)])
        parts = [H.numbers, S.numbers, *[ca.vertcat(ca.SX(0, 1), *M.nonzeros()) for M in (self._J, self._Y)]]
        sizes, patterns = [part.numel() for part in parts], [M.sparsity() for M in (self._J, self._Y)]
        n, m = self._Y.shape

        def solve(numbers: ca.MX, right: ca.MX) -> ca.MX:
            of_H, of_S, *entries = taken(numbers, sizes)
            J, Y = (ca.MX(pattern, part) for pattern, part in zip(patterns, entries, strict=True))
            found, qdd = [], ca.MX.zeros(n, right.shape[1])
            for start in range(0, right.shape[0], n + m):
                free = H.solve(of_H, right[start : start + n, :])
                step = S.solve(of_S, right[start + n : start + n + m, :] - J @ (qdd + free))
                found += [free + Y @ step, step]
                qdd += found[-2]
            return ca.vertcat(*found)

        return ca.densify(ca.vertcat(*parts)), solve

    def rounds(self, qdd: Matrix, gamma: Matrix) -> Rounds:
        """Parts of accelerations (n, 1) and multipliers (m, 1), to be added: a solution and its refinements.

        qdd : (n, 1) accelerations without the constraints, the first part begins there
        """
        found = [self._round(qdd, gamma)]
        while len(found) < self._rounds:
            step = self._factors.solved(gamma - self._J @ accelerations(found))
            found.append((self._Y @ step, step))
        return found

    def _round(self, free: Matrix, gamma: Matrix) -> tuple[Matrix, Matrix]:
        step = self._factors.solved(gamma - self._J @ free)
        return free + self._Y @ step, step

    def multipliers(self, rounds: Rounds, gamma: Matrix) -> Matrix:
        """(m, 1) multipliers that act: without what is lent, and least where rows are redundant."""
        lam = ca.SX(self._J.shape[0], 1)
        for _, step in rounds:
            lam = lam + step
        if self._lent is not None:
            lam = lam - ca.DM(self._lent) * gamma
        if self.null is not None:
            lam = lam - self._scale * (self.null @ (self.null.T @ (lam / self._scale)))
        return lam
