"""Reactions: forces and torques of constraints and joints of the tree on the bodies of their markers.

Of a cut joint, and of every joint in absolute coordinates, F = Phi_r^T lam and T likewise with rotations
(Haug, eq. 6.6.8: F'' = -C^T A^T Phi_r^T lam in the joint's own axes). Of a joint of the tree the reaction is
what its link needs beyond all other forces (recursive Newton-Euler).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca

from plant.constraints.closure import Closure
from plant.constraints.solution import Solution
from plant.mechanics.kinematics import Kinematics
from plant.mechanics.mechanism import GROUND
from plant.mechanics.spatial import cross

Pair = tuple[ca.SX, ca.SX]
"""Force and torque at a marker's origin, (3, 1) each, ground axes."""


class Reactions:
    """Reactions for one solution.

    Parameters
    ----------
    kinematics : Kinematics     links and markers
    closure : Closure or None   the constraints
    solution : Solution         its `a` are the final accelerations of all links
    penalties : callable        () -> marker -> (F, T) of forces that `solution.loads.on_links` leaves out
    """

    def __init__(
        self,
        kinematics: Kinematics,
        closure: Closure | None,
        solution: Solution,
        penalties: Callable[[], Mapping[int, Pair]],
    ) -> None:
        self._kinematics, self._closure, self._solution = kinematics, closure, solution
        self._penalties = penalties
        self._on_links: dict[int, ca.SX] | None = None
        self._through: dict[int, ca.SX] = {}

    def by_multipliers(self, rows: Sequence[int]) -> dict[int, Pair]:
        """Marker -> force and torque of some conditions; nothing for conditions that do not react."""
        closure, found = self._closure, dict[int, Pair]()
        if closure is None:
            return found
        acting = [k for k in rows if not closure.is_servo(k)]
        if not acting:  # a FREE joint, or one whose conditions are satisfied automatically
            return found
        for marker, F, T in self._of_rows(closure, acting):
            if F.nnz() or T.nnz():
                found[marker] = (ca.SX(F), ca.SX(T))
        return found

    def _of_rows(self, closure: Closure, rows: list[int]) -> list[tuple[int, ca.SX, ca.SX]]:
        """Marker, force and torque of some conditions, all markers."""
        lam = self._solution.lam[rows]
        return [(m, c[rows, :].T @ lam, t[rows, :].T @ lam) for m, (c, t) in closure.wrenches.items()]

    def by_balance(self, i: int) -> dict[int, Pair]:
        """Marker -> force and torque of the joint that carries link i."""
        kinematics, link = self._kinematics, self._kinematics.mechanism.links[i]
        if i not in self._through:
            self._through[i] = ca.SX(kinematics.tree.reaction(i, self._solution.a, self._loads()))
        f, A = self._through[i], kinematics.tree.pose(i)[0]
        F, T = A @ f[3:], A @ f[:3]
        assert link.connection is not None  # a joint of the tree
        ends: tuple[Any, Any] = link.connection.ends
        child, parent = ends
        if link.joint.reversed:
            child, parent = parent, child
        arm = kinematics.marker(child).r - kinematics.marker(parent).r
        return {child: (F, T), parent: (-F, -(T + cross(arm, F)))}

    def _loads(self) -> dict[int, ca.SX]:
        """Everything except the tree's own joints: applied forces and constraints, on each link."""
        if self._on_links is None:
            kinematics, found = self._kinematics, dict(self._solution.loads.on_links)
            for marker, F, T in self._acting():
                link = kinematics.link(marker)
                if link != GROUND and (F.nnz() or T.nnz()):
                    A, _ = kinematics.tree.pose(link)
                    along = A.T @ F
                    f = ca.vertcat(A.T @ T + cross(kinematics.point(marker), along), along)
                    found[link] = found[link] + f if link in found else f
            self._on_links = found
        return self._on_links

    def _acting(self) -> list[tuple[int, ca.SX, ca.SX]]:
        """Marker, force and torque of all constraints and penalties."""
        closure, found = self._closure, list[tuple[int, ca.SX, ca.SX]]()
        if closure is not None:
            rows = [k for k in range(closure.size) if not closure.is_servo(k)]
            found += self._of_rows(closure, rows) if rows else []
        return [*found, *((marker, *pair) for marker, pair in self._penalties().items())]
