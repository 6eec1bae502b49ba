"""Exact Jacobian of the right-hand side along the algebraic unknowns, for stiff integrators."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from cosim.engines.methods import through_solutions
from cosim.engines.methods.stiff import SPARSE_FROM
from cosim.engines.reference.workspace import Workspace


class Jacobian:
    """d f(t, x, z(t, x))/dx and /dt with r(t, x, z) = 0: f_x - f_z r_z^-1 r_x, and the same for t.

    Sparse for many states without unknowns, dense otherwise. Delayed signals count as given.
    """

    def __init__(self, workspace: Workspace) -> None:
        s, n = workspace.system, len(workspace.context.x)
        self.n, self.unknowns = n, s.residual.numel()
        f_x, f_t = through_solutions.jacobian(s) or [ca.jacobian(s.derivative, v) for v in (s.x, s.t)]
        self.sparse = n >= SPARSE_FROM and not self.unknowns
        self.pattern = f_x.sparsity()
        nonzeros = f_x[:] if not self.sparse else f_x.nz[:]
        z = s.w[: self.unknowns]
        rest = [ca.jacobian(e, v) for e, v in ((s.derivative, z), (s.residual, z), (s.residual, s.x))]
        rest.append(ca.jacobian(s.residual, s.t))
        parts = [nonzeros, f_t, *(rest if self.unknowns else [])]
        self._values = workspace.bind_trial("stiff jacobian", lambda: parts)

    def __call__(self) -> tuple[Any, np.ndarray]:
        """J and f_t at the states a step tries."""
        self._values()
        n, m, out = self.n, self.unknowns, self._values.outputs
        f_t = out[1].copy()
        if self.sparse:
            from scipy.sparse import csc_matrix  # takes long to import, and only large stiff systems need it

            rows, columns = self.pattern.row(), self.pattern.colind()
            return csc_matrix((out[0].copy(), rows, columns), shape=(n, n)), f_t
        f_x = out[0].reshape(n, n).T.copy()
        if m:
            f_z, r_z, r_x = (a.reshape(k, -1).T for a, k in zip(out[2:5], (m, m, n), strict=True))
            both = np.linalg.solve(r_z, np.column_stack([r_x, out[5]]))
            f_x -= f_z @ both[:, :-1]
            f_t -= f_z @ both[:, -1]
        return f_x, f_t
