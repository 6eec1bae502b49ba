"""Accelerations under constraints: the saddle-point system [H J^T; J 0] with redundant rows allowed.

H is factored first (joints from the tips inwards: no fill), then the small matrix of the constraints,
S = J H^-1 J^T with its rows scaled so that its diagonal is about 1, by LDL without pivoting. A proximal term
eps = 1e-12 keeps it definite when rows are redundant or the pose is singular; refinement against the
unregularised rows takes its effect away again and leaves the minimum-norm (scaled) multipliers. Measured on
the N-four-bar through its singular poses: eps = 0 gives nan, eps = 1e-8 is wrong by 3e-2 there even after
refinement, eps = 1e-12 with 3 rounds is right to 1e-14.

Source: Featherstone, RBDA, sections 6.5 (LTL without fill) and 8.3; proximal refinement: Rockafellar 1976.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from plant.spatial import Matrix, symmetric

PROXIMAL = 1e-12  # relative to the scaled diagonal
ROUNDS = 3  # solutions in all: one and the rest refinement


class MassInverse:
    """Applies H^-1, block by block of bodies that move together.

    H : (n, n) SX, symmetric positive definite; the parents of a coordinate come before it
    """

    def __init__(self, H: Matrix) -> None:
        self._n = H.shape[0]
        self._blocks = []
        for block in _blocks(H):
            order = block[::-1]
            part = ca.SX(H[order, order])
            self._blocks.append((order, ca.ldl(part)))

    def __call__(self, right: Matrix) -> Matrix:
        """H^-1 right (n, k), structural zeros kept."""
        right = ca.sparsify(ca.SX(right))
        rows: list[Matrix] = [None] * self._n
        for order, factors in self._blocks:
            part = right[order, :]
            columns = sorted(set(part.sparsity().get_triplet()[1]))
            solved = ca.SX(len(order), right.shape[1])
            if columns:
                solved[:, columns] = ca.sparsify(ca.ldl_solve(part[:, columns], *factors))
            for k, row in enumerate(order):
                rows[row] = solved[k, :]
        return ca.vertcat(ca.SX(0, right.shape[1]), *rows)


def _blocks(H: Matrix) -> list[list[int]]:
    """Sets of coordinates that H couples."""
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
    """

    def __init__(
        self,
        inverse: MassInverse,
        J: Matrix,
        scale: np.ndarray,
        proximal: float = PROXIMAL,
        rounds: int = ROUNDS,
    ) -> None:
        self._rounds = rounds
        self._inverse = inverse
        self._scale = ca.DM(scale)
        self._J = ca.sparsify(ca.SX(ca.diag(self._scale)) @ J)
        self._Y = inverse(self._J.T)  # H^-1 J^T
        S = symmetric(self._J @ self._Y)
        self._factors = ca.ldl(S + proximal * ca.SX.eye(len(scale)), True)

    def free(self, Q: Matrix) -> Matrix:
        """(n, 1) accelerations without the constraints."""
        return self._inverse(Q)

    def __call__(self, Q: Matrix, gamma: Matrix) -> tuple[Matrix, Matrix]:
        """qdd (n, 1) and multipliers lam (m, 1)."""
        return self.closed(self.free(Q), gamma)

    def closed(self, qdd: Matrix, gamma: Matrix) -> tuple[Matrix, Matrix]:
        """Accelerations nearest to qdd (in the mass metric) with J qdd = gamma, and the multipliers."""
        target = self._scale * gamma
        lam = ca.SX(self._J.shape[0], 1)
        for _ in range(self._rounds):
            step = ca.ldl_solve(ca.densify(target - self._J @ qdd), *self._factors)
            lam, qdd = lam + step, qdd + self._Y @ step
        return qdd, self._scale * lam
