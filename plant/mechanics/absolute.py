"""Dynamics in absolute coordinates: every body moves on its own, joints are constraints.

The coordinates of a body are those of a FREE joint to ground (unit quaternion and position of its centre of
mass; rates: angular velocity along its own axes, velocity along global axes), of a PLANAR one in a mechanism
that stays in a plane (x, y, phi), or the position of a Body_Point. The link frame sits at the centre of mass,
so the mass matrix is block diagonal with constant blocks.

Source: Haug, Computer-Aided Kinematics and Dynamics, 2nd ed., sections 6.3 (planar), 11.3 (spatial, Euler
parameters with angular velocities).
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from plant.mechanics.mechanism import GROUND, Mechanism
from plant.mechanics.spatial import Matrix, cross
from plant.mechanics.tree import starts_of


class Bodies:
    """Kinematics and dynamics of free bodies at symbolic coordinates; answers what `Tree` answers.

    Parameters
    ----------
    q, qd : list of (nq, 1), (nv, 1)    coordinates and rates of each body
    inertia : list of (6, 6)            inertia of each body in its frame, which is at its centre of mass
    """

    def __init__(
        self, mechanism: Mechanism, q: Sequence[Matrix], qd: Sequence[Matrix], inertia: Sequence[Matrix]
    ) -> None:
        self.mechanism, self.q, self.qd, self.inertia = mechanism, q, qd, inertia
        self.starts: list[int] = starts_of(mechanism)  # where the rates of each body begin; their number last
        self._poses: dict[int, tuple[Matrix, Matrix]] = {GROUND: (ca.SX.eye(3), ca.SX(3, 1))}
        self.v: list[Matrix] = []  # velocities, link coordinates
        for i, link in enumerate(mechanism.links):
            XJ, _ = link.joint.jcalc(q[i])
            X = XJ @ link.Xtree
            A, r = ca.sparsify(ca.SX(X.E.T)), ca.sparsify(ca.SX(X.r))
            self._poses[i] = A, r
            w, v = self._twist(i, qd[i])
            self.v.append(ca.vertcat(w, A.T @ v))

    def _twist(self, i: int, rates: Matrix) -> tuple[Matrix, Matrix]:
        """Angular velocity along the body's axes and velocity along global axes; or accelerations."""
        link = self.mechanism.links[i]
        assert link.joint.twist is not None  # bodies on their own have such joints
        w, v = link.joint.twist(rates)
        return w, link.Xtree.E.T @ v

    # --- kinematics -----------------------------------------------------------------------------------
    def pose(self, i: int) -> tuple[Matrix, Matrix]:
        """Axes (3, 3), as columns, and origin (3, 1) of body i in the ground frame."""
        return self._poses[i]

    def velocity(self, i: int) -> tuple[Matrix, Matrix]:
        """Angular velocity and velocity of the origin of body i, in its coordinates."""
        return (ca.SX(3, 1), ca.SX(3, 1)) if i == GROUND else (self.v[i][:3], self.v[i][3:])

    def columns(self, i: int) -> tuple[Matrix, Matrix]:
        """(3, nv) angular velocity and velocity of the origin per unit rate, in the ground frame."""
        W, V = self._dual(i)
        return self._poses[i][0] @ W, V

    # --- dynamics -------------------------------------------------------------------------------------
    def link_accelerations(self, qdd: Sequence[Matrix] | None, gravity: Matrix) -> list[Matrix]:
        """(6, 1) classical acceleration of every body in its coordinates, with gravity in it as -g.

        qdd : None for zero
        """
        found = []
        for i, link in enumerate(self.mechanism.links):
            rates = ca.SX(link.joint.nv, 1) if qdd is None else qdd[i]
            al, a = self._twist(i, rates)
            A, _ = self._poses[i]
            found.append(ca.vertcat(al, A.T @ (a - gravity)))
        return found

    def accelerations(
        self, gravity: Matrix, forces: dict[int, Matrix], tau: dict[int, Matrix] | None = None
    ) -> tuple[list[Matrix], list[Matrix]]:
        """qdd and classical accelerations without constraints; arguments as in `Tree.accelerations`."""
        bias = self.inverse(gravity, None, forces)
        qdd = []
        for i, link in enumerate(self.mechanism.links):
            applied = (tau or {}).get(i, ca.SX(link.joint.nv, 1)) - bias[i]
            qdd.append(ca.sparsify(ca.ldl_solve(applied, *ca.ldl(ca.SX(self._mass(i))))))
        return qdd, self.link_accelerations(qdd, gravity)

    def inverse(
        self, gravity: Matrix, qdd: Sequence[Matrix] | None, forces: dict[int, Matrix]
    ) -> list[Matrix]:
        """Generalized forces (nv, 1) that give these accelerations; None for zero."""
        found = []
        for i, link in enumerate(self.mechanism.links):
            I, A, (w, _) = self.inertia[i], self._poses[i][0], self.velocity(i)
            f = forces.get(i, ca.SX(6, 1))
            n = cross(w, I[:3, :3] @ w) - f[:3]
            F = -(I[3, 3] * gravity) - A @ f[3:]
            W, V = self._dual(i)
            tau = W.T @ n + V.T @ F
            if qdd is not None:
                tau = tau + self._mass(i) @ qdd[i]
            found.append(ca.sparsify(ca.SX(ca.densify(tau)) if link.joint.nv == 0 else tau))
        return found

    def _dual(self, i: int) -> tuple[Matrix, Matrix]:
        """(3, nv) angular velocity along the body's axes and velocity along global axes per unit rate."""
        n = self.mechanism.links[i].joint.nv
        unit = ca.SX.eye(n)
        parts = [self._twist(i, unit[:, k]) for k in range(n)]
        return ca.horzcat(*[w for w, _ in parts]), ca.horzcat(*[v for _, v in parts])

    def _mass(self, i: int) -> Matrix:
        I, (W, V) = self.inertia[i], self._dual(i)
        return ca.sparsify(W.T @ I[:3, :3] @ W + I[3, 3] * (V.T @ V))

    def mass_matrix(self) -> Matrix:
        """(n, n) block-diagonal mass matrix."""
        return ca.sparsify(ca.SX(ca.diagcat(*[self._mass(i) for i in range(len(self.mechanism.links))])))

    def reaction(self, i: int, a: Sequence[Matrix], forces: dict[int, Matrix]) -> Matrix:
        """(6, 1) force through the joint of body i to ground: nothing holds it."""
        return ca.SX(6, 1)

    def point_acceleration(self, i: int, a: Matrix, s: Matrix, gravity: Matrix) -> tuple[Matrix, Matrix]:
        """Angular acceleration of body i and acceleration of its point s, both (3, 1) in the ground frame."""
        w, _ = self.velocity(i)
        A, _ = self._poses[i]
        al = a[:3]
        at_point = a[3:] + cross(al, s) + cross(w, cross(w, s))
        return A @ al, A @ at_point + gravity
