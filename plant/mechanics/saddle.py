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

import casadi as ca
import numpy as np

from plant.mechanics.factors import Entries, Factors
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
        S = J @ self._Y + ca.diag(proximal / self._scale**2)
        if repeats is not None:
            near = repeats / self._scale
            S = S + near @ near.T
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
        lam = ca.SX(self._J.shape[0], 1)
        for _ in range(self._rounds):
            step = self._factors.solved(gamma - self._J @ qdd)
            lam, qdd = lam + step, qdd + self._Y @ step
        if self._lent is not None:
            lam = lam - ca.DM(self._lent) * gamma
        if self.null is not None:
            lam = lam - self._scale * (self.null @ (self.null.T @ (lam / self._scale)))
        return qdd, lam
