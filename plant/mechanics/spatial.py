"""Spatial vector algebra: six-dimensional motion and force vectors of rigid bodies.

Vectors are angular first: a motion is ``[w; v]``, a force ``[n; f]``. Everything works on CasADi SX (sparse:
an entry that is known to be zero stays a structural zero, so that products with it disappear) and on
numbers (NumPy arrays or CasADi DM in, DM out).

Source: Featherstone, Rigid Body Dynamics Algorithms (RBDA), 2008, chapter 2 and appendix A.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

Matrix = Any  # ca.SX or ca.DM of the shape in the docstring; NumPy arrays are accepted as input
Scalar = Any  # float or 1x1 SX / DM

SNAP = 1e-14  # direction cosines closer than this to 0 or +-1 are exactly that: far below any drawing


def matrix(rows: Sequence[Sequence[Scalar]]) -> Matrix:
    """Matrix of these scalars, with structural zeros where an entry is exactly zero."""
    n, m = len(rows), len(rows[0])
    if not any(isinstance(e, ca.SX) for row in rows for e in row):
        return constant([[float(e) for e in row] for row in rows])
    found = {j * n + i: e for j in range(m) for i, row in enumerate(rows) if not _zero_number(e := row[j])}
    entries = ca.densify(ca.vertcat(*[e if isinstance(e, ca.SX) else ca.SX(e) for e in found.values()]))
    return ca.sparsify(ca.SX(ca.Sparsity.nonzeros(n, m, [*found]), entries))


def _zero_number(value: Scalar) -> bool:
    return isinstance(value, (int, float)) and value == 0


def vector(entries: Sequence[Scalar]) -> Matrix:
    """(n, 1) column of these scalars, with structural zeros where an entry is exactly zero."""
    return ca.sparsify(ca.vertcat(*[_entry(e) for e in entries]))


def _entry(value: Scalar) -> Matrix:
    return value if isinstance(value, (ca.SX, ca.DM)) else ca.DM(float(value))


def constant(value: Any) -> ca.DM:
    """Numbers (n,) or (n, m) as a sparse DM: zeros become structural."""
    return ca.sparsify(ca.DM(np.asarray(value, dtype=float)))


def snapped(A: np.ndarray) -> np.ndarray:
    """Rotation matrix (3, 3) whose entries within `SNAP` of 0, 1 or -1 are exactly that."""
    nearest = np.round(A)
    return np.where(np.abs(A - nearest) < SNAP, nearest, A) + 0.0


def skew(v: Matrix) -> Matrix:
    """(3, 3) matrix of the cross product: skew(v) @ u = v x u (RBDA eq. 2.23)."""
    return ca.sparsify(ca.skew(v))


def cross(v: Matrix, u: Matrix) -> Matrix:
    """(3, 1) cross product v x u."""
    kinds = [type(part) for part in (v, u) if isinstance(part, (ca.SX, ca.DM)) and not part.nnz()]
    if kinds:  # often one is zero: spares CasADi's search for the function that fits
        return ca.SX(3, 1) if ca.SX in (*kinds, type(v), type(u)) else ca.DM(3, 1)
    return ca.sparsify(ca.cross(v, u))


def rx(angle: Scalar) -> Matrix:
    """Coordinate rotation about x (RBDA section A.1): components in a frame turned by `angle` [rad]."""
    c, s = ca.cos(angle), ca.sin(angle)
    return matrix([[1, 0, 0], [0, c, s], [0, -s, c]])


def ry(angle: Scalar) -> Matrix:
    """Coordinate rotation about y (RBDA section A.1)."""
    c, s = ca.cos(angle), ca.sin(angle)
    return matrix([[c, 0, -s], [0, 1, 0], [s, 0, c]])


def rz(angle: Scalar) -> Matrix:
    """Coordinate rotation about z (RBDA section A.1)."""
    c, s = ca.cos(angle), ca.sin(angle)
    return matrix([[c, s, 0], [-s, c, 0], [0, 0, 1]])


def quaternion_rotation(e: Matrix) -> Matrix:
    """Coordinate rotation (3, 3) of a unit quaternion e = [e0, e1, e2, e3], scalar first (RBDA eq. 4.12).

    E turns components in the outer frame into components in the turned frame; its transpose has the
    turned frame's axes as columns.
    """
    e0, e1, e2, e3 = e[0], e[1], e[2], e[3]
    return 2 * matrix(
        [
            [e0 * e0 + e1 * e1 - 0.5, e1 * e2 + e0 * e3, e1 * e3 - e0 * e2],
            [e1 * e2 - e0 * e3, e0 * e0 + e2 * e2 - 0.5, e2 * e3 + e0 * e1],
            [e1 * e3 + e0 * e2, e2 * e3 - e0 * e1, e0 * e0 + e3 * e3 - 0.5],
        ]
    )


def quaternion_rate(e: Matrix, w: Matrix) -> Matrix:
    """(4, 1) rate of a unit quaternion for angular velocity w in the turned frame [rad/s] (RBDA eq. 4.13)."""
    e0, e1, e2, e3 = e[0], e[1], e[2], e[3]
    return 0.5 * (matrix([[-e1, -e2, -e3], [e0, -e3, e2], [e3, e0, -e1], [-e2, e1, e0]]) @ w)


def quaternion_of(A: np.ndarray) -> np.ndarray:
    """(4,) unit quaternion, scalar first and not negative, of the frame whose axes are the columns of A."""
    trace = np.trace(A)
    candidates = np.array([trace, A[0, 0], A[1, 1], A[2, 2]])
    k = int(np.argmax(candidates))  # divide by the largest component (Shepperd 1978)
    if k == 0:
        e = np.array([1 + trace, A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]])
    else:
        i, j, m = k - 1, k % 3, (k + 1) % 3
        e = np.empty(4)
        e[0] = A[m, j] - A[j, m]
        e[1 + i] = 1 + A[i, i] - A[j, j] - A[m, m]
        e[1 + j] = A[j, i] + A[i, j]
        e[1 + m] = A[m, i] + A[i, m]
    e = e / np.linalg.norm(e)
    return np.where(e[0] < 0, -e, e) + 0.0


def crm(v: Matrix) -> Matrix:
    """(6, 6) cross product with a motion vector: crm(v) @ m = v x m (RBDA eq. 2.31)."""
    W, V = skew(v[:3]), skew(v[3:])
    return ca.blockcat([[W, _zero(W)], [V, W]])


def crf(v: Matrix) -> Matrix:
    """(6, 6) cross product with a force vector: crf(v) @ f = v x* f (RBDA eq. 2.32)."""
    W, V = skew(v[:3]), skew(v[3:])
    return ca.blockcat([[W, V], [_zero(W), W]])


def _zero(like: Matrix) -> Matrix:
    return type(like)(3, 3)


def mcI(m: Scalar, c: Matrix, Ic: Matrix) -> Matrix:
    """(6, 6) inertia of a rigid body about its frame's origin (RBDA eq. 2.63).

    Parameters
    ----------
    m : mass
    c : (3,) centre of mass in the frame
    Ic : (3, 3) rotational inertia about the centre of mass
    """
    C = skew(c)
    upper = Ic + m * (C @ C.T)
    return symmetric(ca.blockcat([[upper, m * C], [m * C.T, m * type(upper)(ca.DM.eye(3))]]))


def symmetric(M: Matrix) -> Matrix:
    """The matrix with its lower half taken from the upper one, so that each entry is computed once."""
    return ca.triu2symm(ca.triu(ca.sparsify(M)))


def _turned_back(E: Matrix, M: Matrix) -> Matrix:
    """E^T M E (3, 3) for a rotation E and a symmetric M.

    A multiple of the unit matrix, such as the mass of a rigid body, does not turn. A diagonal M is such a
    multiple and a rest with fewer entries.
    """
    M = ca.sparsify(M)
    entries = [M[k, k] for k in range(3)]
    if M.nnz() > M.sparsity().get_diag()[0].nnz() or not M.nnz():
        return symmetric(E.T @ M @ E)
    equal = {(i, j): i == j or ca.is_equal(entries[i], entries[j], 1) for i in range(3) for j in range(i + 1)}
    same = [[equal[max(i, j), min(i, j)] for j in range(3)] for i in range(3)]
    k = max(range(3), key=lambda i: sum(same[i]))
    rest = ca.diag(ca.vertcat(*[0 if same[k][i] else entries[i] - entries[k] for i in range(3)]))
    return symmetric(entries[k] * ca.SX.eye(3) + E.T @ ca.sparsify(ca.SX(rest)) @ E)


@dataclass(frozen=True, eq=False)
class Transform:
    """Plücker transform X_B_A from frame A to frame B, X = [E 0; -E rx E] (RBDA eq. 2.24).

    E : (3, 3)    turns components along A into components along B
    r : (3, 1)    origin of B in A coordinates
    """

    E: Matrix
    r: Matrix

    @staticmethod
    def of_frame(r: np.ndarray, A: np.ndarray) -> Transform:
        """Constant transform to a frame at r whose axes are the columns of A, both in the outer frame."""
        return Transform(constant(snapped(A).T), constant(r))

    @property
    def matrix(self) -> Matrix:
        """(6, 6) matrix for motion vectors."""
        return ca.blockcat([[self.E, _zero(self.E)], [-self.E @ skew(self.r), self.E]])

    def __matmul__(self, other: Transform) -> Transform:
        """X_C_B @ X_B_A = X_C_A (RBDA eq. 2.27)."""
        return Transform(self.E @ other.E, other.r + other.E.T @ self.r)

    def inverse(self) -> Transform:
        """X_A_B (RBDA eq. 2.26)."""
        return Transform(self.E.T, -(self.E @ self.r))

    def motion(self, m: Matrix) -> Matrix:
        """(6, 1) motion vector in B coordinates: X m."""
        w = m[:3]
        return ca.vertcat(self.E @ w, self.E @ (m[3:] - cross(self.r, w)))

    def force_back(self, f: Matrix) -> Matrix:
        """(6, 1) force vector from B to A coordinates: X^T f."""
        along = self.E.T @ f[3:]
        return ca.vertcat(self.E.T @ f[:3] + cross(self.r, along), along)

    def inertia_back(self, Ia: Matrix) -> Matrix:
        """(6, 6) symmetric inertia from B to A coordinates: X^T I X, block by block (RBDA eq. 2.66).

        With I', H', M' the blocks turned by E^T:  [I' + rx H'^T - (H' + rx M') rx,  H' + rx M';  .,  M'].
        """
        E, R = self.E, skew(self.r)
        inertia = _turned_back(E, Ia[:3, :3])
        H = E.T @ Ia[:3, 3:] @ E
        M = _turned_back(E, Ia[3:, 3:])
        shifted = H + R @ M
        upper = inertia + R @ H.T - shifted @ R
        return symmetric(ca.blockcat([[upper, shifted], [shifted.T, M]]))
