"""All constraints of a mechanism: residuals, Jacobian and right-hand side in its coordinates.

With the conditions Phi(q, t) = 0 and their rates Phi' = J qd + nu = 0 (velocity-level conditions have no
Phi), the accelerations obey J qdd = gamma; multipliers act as generalized forces J^T lam.

Source: Haug, Computer-Aided Kinematics and Dynamics, 2nd ed., eqs. 6.3.18 (multipliers), 7.3.8 (Baumgarte).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from plant.constraints.conditions import ACCELERATION, POSITION, VELOCITY, Condition, NamedConstraint
from plant.constraints.local import Local
from plant.expressions.scope import MarkerState
from plant.mechanics.kinematics import Kinematics
from plant.mechanics.motion import Roots
from plant.mechanics.spatial import Matrix, cross

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class Closing:
    """Facts about the constraints that are found before the final equations are written.

    kept : (k,) int           conditions that restrict the coordinates; others hold by themselves
    pattern : (k, n) bool     which rates each of them contains
    scale : (k,) float        1 / sqrt(diag(J H^-1 J^T)), with the inertia lent
    natural : (k,) float      what each changes by if bodies turn by 1 rad and travel by their distances
    support : (k,) float      weights that make the mass matrix regular (`plant.mechanics.massless`); most 0
    lent : (k,) float         inertia lent to each condition, see `plant/mechanics/light.py`; mostly zero
    ballast : (n,) float      added to the mass matrix for steps back onto the constraints; mostly zero
    travels : (n,) float      size of the mechanism for rates that travel, 1 for those that turn
    design : (k, n) sparse    J at a pose near the start where as few rows as anywhere repeat others
    """

    kept: tuple[int, ...]
    pattern: np.ndarray
    scale: np.ndarray
    natural: np.ndarray
    support: np.ndarray
    lent: np.ndarray
    ballast: np.ndarray
    travels: np.ndarray
    design: csr_array


def _only(J: Matrix, pattern: np.ndarray) -> Matrix:
    """The matrix with zeros where the pattern (m, n) is False."""
    rows, columns = (np.array(places, dtype=int) for places in J.sparsity().get_triplet())
    kept = np.flatnonzero(pattern[rows, columns])
    if len(kept) == len(rows):
        return J
    m, n = J.shape
    shape = ca.Sparsity.triplet(m, n, rows[kept].tolist(), columns[kept].tolist())
    return ca.SX(shape, J.nz[kept.tolist()])


class Closure:
    """Constraints of a mechanism at the symbolic state.

    Parameters
    ----------
    kinematics : Kinematics      links and markers
    local : Local                the markers the conditions are written for
    conditions : list            all conditions, in order

    closing is None: all conditions count; see `restricted`.
    """

    def __init__(self, kinematics: Kinematics, local: Local, conditions: Sequence[Condition]) -> None:
        self._kinematics, self._local = kinematics, local
        self.mechanics = kinematics.tree
        self._moving: dict[int, tuple[Matrix, Matrix]] = {}  # columns of the links' own joints
        self.constraints: list[NamedConstraint] = list(dict.fromkeys(c.constraint for c in conditions))
        self.conditions: list[Condition] = list(conditions)
        self.closing: Closing | None = None
        self.repeats: dict[tuple[int, ...], Matrix] = {}  # of sets of rows, see `repeats.py`
        self._write()

    @property
    def size(self) -> int:
        """Number of conditions."""
        return len(self.conditions)

    def _write(self) -> None:
        local, found = self._local, self.conditions
        column = ca.vertcat(ca.SX(0, 1), *[c.value for c in found])
        rates = ca.SX(local.rate(column)) if found else column
        moving = [k for k, c in enumerate(found) if c.moving]
        for k in moving:
            rates[k] = column[k]
        drive = ca.vertcat(ca.SX(0, 1), *[c.drive for c in found])
        at_velocity = ca.DM([float(c.level == VELOCITY) for c in found])
        at_acceleration = ca.DM([float(c.level == ACCELERATION) for c in found])
        # nu_dot: the second rates at qdd = 0
        missing = rates - at_velocity * drive  # the drive of a velocity may itself depend on velocities
        wrenches = local.wrenches(missing)
        second = local.second(missing) - at_acceleration * drive if found else column
        flat = [column, missing, second, *[part for pair in wrenches.values() for part in pair]]
        value, rate, rest, *parts = local.closed(flat)
        self.value: Matrix = value  # (m, 1) of all conditions, including those given as rates only
        self.rate: Matrix = rate  # (m, 1)
        self.gamma: Matrix = -rest
        pairs = list(zip(parts[0::2], parts[1::2], strict=True))
        self.wrenches: dict[int, tuple[Matrix, Matrix]] = dict(zip(wrenches, pairs, strict=True))
        roots = local.roots
        # unknowns in the conditions
        self.roots = Roots(roots.v, local.actual(roots.R)) if roots.v.numel() else roots
        self.J = self._jacobian()

    def _jacobian(self) -> Matrix:
        """(m, n) derivatives of the conditions' rates by the rates of the joints."""
        starts = self.mechanics.starts
        if not self.size:
            return ca.SX(0, starts[-1])
        found: dict[tuple[int, int], Matrix] = {}  # (column, row) -> entry
        for id, (c, t) in self.wrenches.items():
            rows = sorted({*c.sparsity().row(), *t.sparsity().row()})
            for k in self.mechanics.mechanism.path(self._kinematics.link(id)):
                W, V = self._columns(k, id)
                block = ca.sparsify(t[rows, :] @ W + c[rows, :] @ V)
                places = zip(*block.sparsity().get_triplet(), strict=True)
                for (i, j), entry in zip(places, block.nonzeros(), strict=True):
                    place = starts[k] + j, rows[i]
                    found[place] = found[place] + entry if place in found else entry
        kept = sorted(found)
        shape = ca.Sparsity.nonzeros(self.size, starts[-1], [j * self.size + i for j, i in kept])
        return ca.sparsify(ca.SX(shape, ca.vertcat(ca.SX(0, 1), *[found[place] for place in kept])))

    def origin(self, id: int) -> Matrix:
        """(3, 1) place of a marker."""
        return self._kinematics.marker(id).r

    def _columns(self, k: int, id: int) -> tuple[Matrix, Matrix]:
        """(3, nv) angular velocity, and velocity of a marker's origin, per unit rate of link k's joint."""
        if k not in self._moving:
            self._moving[k] = self.mechanics.columns(k)
        W, V = self._moving[k]
        arm = self.origin(id) - self.mechanics.pose(k)[1]
        return W, V + ca.horzcat(ca.SX(3, 0), *[cross(W[:, j], arm) for j in range(W.shape[1])])

    def restricted(self, closing: Closing) -> Closure:
        """The same closure with only the conditions that count, and only the rates that they may contain."""
        kept, found = list(closing.kept), copy(self)
        found.closing, found.repeats = closing, {}
        found.conditions = [self.conditions[k] for k in kept]
        found.value, found.rate, found.gamma = self.value[kept, :], self.rate[kept, :], self.gamma[kept, :]
        found.wrenches = {id: (c[kept, :], t[kept, :]) for id, (c, t) in self.wrenches.items()}
        found.J = _only(self.J[kept, :], closing.pattern)
        return found

    def beside(
        self, rows: Sequence[int], ways: Sequence[Callable[[MarkerState], MarkerState]]
    ) -> list[Matrix]:
        """(1, 1) values of conditions if their markers moved in each way, regardless of other constraints."""
        return self._local.beside([self.conditions[k].value for k in rows], ways)

    # --- with the mass matrix -------------------------------------------------------------------------
    def mass_matrix(self) -> Matrix:
        """(n, n) of the mechanism, made regular by conditions where it is not."""
        H, (rows, weights) = self.mechanics.mass_matrix(), self._support
        if not rows:
            return H
        J = self.J[rows, :]
        return ca.sparsify(H + J.T @ (ca.diag(weights) @ J))

    def supported(self, Q: Matrix, gamma: Matrix) -> Matrix:
        """(n, 1) forces to use with `mass_matrix`; gamma : (m, 1) right-hand side of the accelerations."""
        rows, weights = self._support
        return Q if not rows else Q + self.J[rows, :].T @ (weights * gamma[rows])

    @property
    def supports(self) -> bool:
        """Whether conditions are added to the mass matrix."""
        return bool(self._support[0])

    @property
    def _support(self) -> tuple[list[int], ca.DM]:
        if self.closing is None:
            return [], ca.DM(0, 1)
        rows = np.flatnonzero(self.closing.support)
        return rows.tolist(), ca.DM(self.closing.support[rows])

    # --- parts ----------------------------------------------------------------------------------------
    def rows(self, test: Callable[[Condition], bool]) -> list[int]:
        """Numbers of the conditions with some property."""
        return [k for k, c in enumerate(self.conditions) if test(c)]

    @property
    def positions(self) -> list[int]:
        """Conditions on positions."""
        return self.rows(lambda c: c.level == POSITION)

    @property
    def velocities(self) -> list[int]:
        """Conditions on velocities: rates of those on positions, and those given as such."""
        return self.rows(lambda c: c.level <= VELOCITY)

    def of(self, constraint: NamedConstraint) -> list[int]:
        """Conditions of one constraint."""
        return self.rows(lambda c: c.constraint is constraint)

    def is_servo(self, k: int) -> bool:
        """Whether the multiplier is used only by the model's own forces, and does not act on the bodies."""
        return not self.conditions[k].reacts
