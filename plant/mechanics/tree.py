"""Dynamics of a kinematic tree in joint coordinates: articulated bodies, inverse dynamics, mass matrix.

Every algorithm asks the joints for ``jcalc`` and never for their type. Small mechanisms are written out as
one graph of scalars in which constants fold; large ones as calls of small functions, one per joint type,
that all equal links share. Spatial vectors are angular first, in link coordinates; the ground accelerates
with -g instead of gravity acting on each body.

Accelerations are classical, [alpha; dv/dt of the origin] = a + [0; w x v] (RBDA section 2.11): velocities of
origins cancel from the equations of motion, by which a pendulum on a cart saves a third of its operations.

Source: Featherstone, RBDA, tables 5.1 (RNEA), 6.2 (CRBA) and 7.1 (ABA).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import casadi as ca

from plant.mechanics.calls import Calls, written_out
from plant.mechanics.joints import Joint
from plant.mechanics.mechanism import GROUND, Mechanism
from plant.mechanics.spatial import Matrix, Transform, crf, cross, symmetric

INLINE_LINKS = 20
"""Up to so many links, or so many on a path in a flat mechanism, the equations are written out.

Compiled, calls and written-out equations of a chain in space take the same time to within a third; beyond 20
links the written-out ones take seconds to compile. In a plane little is left of them: the N-four-bar's
right-hand side, N = 40, is 1.5 times faster without calls, its residuals 3.4 times.
"""


# --- parts of the algorithms: one link each ------------------------------------------------------------
def _outward(
    joint: Joint, q: Matrix, qd: Matrix, E: Matrix, r: Matrix, v: Matrix | None = None
) -> list[Matrix]:
    """Transform X_link_parent, motion subspace, velocity and bias acceleration (table 7.1, pass 1).

    The bias of classical accelerations, with w_J, v_J of the joint and w = E w_parent:
    c_J + [w x w_J; (2 w + w_J) x v_J + E (w_parent x (w_parent x r))]
    """
    XJ, S = joint.jcalc(q)
    X = XJ @ Transform(E, r)
    vJ = S @ qd
    cJ = joint.cJ(q, qd)
    wJ, along = vJ[:3], vJ[3:]
    if v is None:
        return [X.E, X.r, S, vJ, ca.sparsify(cJ + ca.vertcat(ca.SX(3, 1), cross(wJ, along)))]
    carried, outer = X.motion(v), v[:3]
    w = carried[:3]
    centripetal = X.E @ cross(outer, cross(outer, X.r))
    c = cJ + ca.vertcat(cross(w, wJ), cross(2 * w + wJ, along) + centripetal)
    return [X.E, X.r, S, carried + vJ, ca.sparsify(c)]


def _inward(
    joint: Joint,
    on_ground: bool,
    E: Matrix,
    r: Matrix,
    S: Matrix,
    v: Matrix,
    c: Matrix,
    I: Matrix,
    IA: Matrix,
    p: Matrix,
    tau: Matrix,
) -> list[Matrix]:
    """Gain K and k of qdd = k - K a' and what the link adds to its parent (table 7.1, pass 2).

    I is the link's own inertia, IA and p what its children and the forces on it add. On the ground nothing
    is added, and U, u and D of D qdd = u - U^T a' are left as they are: one division is enough.
    """
    IA = I + IA
    pA = p + gyroscopic(I, v)
    if joint.nv == 0:
        K, k, Ia, pa = ca.SX(0, 6), ca.SX(0, 1), IA, pA + IA @ c
    elif joint.nv == 6:
        # S^T S = 1, so (S^T IA S)^-1 = S^T IA^-1 S: nothing of the link is felt through the joint
        K, k = S.T, S.T @ _solved(IA, S @ tau - pA)
        Ia, pa = ca.SX(6, 6), ca.SX(6, 1)
    else:
        U = IA @ S
        D, u = symmetric(S.T @ U), tau - S.T @ pA
        if on_ground:
            return [U.T, u, D]
        solved = _solved(D, ca.horzcat(U.T, u))
        K, k = ca.sparsify(solved[:, :6]), solved[:, 6]
        Ia = symmetric(IA - U @ K)
        pa = pA + Ia @ c + U @ k
    if on_ground:
        return [K, k]
    X = Transform(E, r)
    return [K, k, X.inertia_back(Ia), X.force_back(pa)]


def gyroscopic(I: Matrix, v: Matrix) -> Matrix:
    """(6, 1) force that inertia I needs to turn without acceleration: w x* I w, w the angular part of v."""
    w = ca.vertcat(v[:3], ca.SX(3, 1))
    return ca.sparsify(crf(w) @ (I @ w))


def _solved(D: Matrix, right: Matrix) -> Matrix:
    """D^-1 right for a symmetric positive definite D, structural zeros kept."""
    if D.shape == (1, 1):
        return right * (1 / D)
    return ca.ldl_solve(right, *ca.ldl(ca.SX(D)))


def _accelerated(
    E: Matrix, r: Matrix, S: Matrix, c: Matrix, a: Matrix, K: Matrix, k: Matrix, D: Matrix | None = None
) -> list[Matrix]:
    """Acceleration of the link and of its coordinates from its parent's (table 7.1, pass 3)."""
    carried = Transform(E, r).motion(a) + c
    right = k - K @ carried
    qdd = right if D is None else _solved(D, right)
    return [carried + S @ qdd, qdd]


def _accelerated_tip(
    E: Matrix, r: Matrix, S: Matrix, c: Matrix, a: Matrix, K: Matrix, k: Matrix
) -> list[Matrix]:
    """The same of a link that carries none: with K X known beforehand less has to wait for the parent's a."""
    X = Transform(E, r)
    KX = ca.vertcat(ca.SX(0, 6), *[X.force_back(K[j, :].T).T for j in range(K.shape[0])])
    qdd = k - K @ c - KX @ a
    return [X.motion(a) + c + S @ qdd, qdd]


def _posed(A: Matrix, r: Matrix, E_link: Matrix, r_link: Matrix) -> list[Matrix]:
    """Axes (columns) and origin of a link in the ground frame from its parent's."""
    return [A @ E_link.T, r + A @ r_link]


def starts_of(mechanism: Mechanism) -> list[int]:
    """Where the rates of each link begin among all of them, and their number last."""
    return list(accumulate((link.joint.nv for link in mechanism.links), initial=0))  # trees of spatial_v2 too


def _short(mechanism: Mechanism) -> bool:
    """Whether the equations are written out."""
    depth: list[int] = []
    for link in mechanism.links:
        depth.append(1 if link.parent == GROUND else depth[link.parent] + 1)
    size = max(depth, default=0) if mechanism.flat else len(depth)
    return size <= INLINE_LINKS


class Tree:
    """Kinematics and dynamics of a mechanism at symbolic coordinates.

    Parameters
    ----------
    q, qd : list of (nq, 1), (nv, 1)    coordinates and rates of each link's joint
    inertia : list of (6, 6)            inertia of each link in its frame
    write_out : bool                    one graph of scalars, or calls of shared functions; None: by size
    """

    def __init__(
        self,
        mechanism: Mechanism,
        q: Sequence[Matrix],
        qd: Sequence[Matrix],
        inertia: Sequence[Matrix],
        write_out: bool | None = None,
    ) -> None:
        self.mechanism, self.q, self.qd, self.inertia = mechanism, q, qd, inertia
        inline = _short(mechanism) if write_out is None else write_out
        self._evaluate: Any = written_out if inline else Calls()
        self.X: list[Transform] = []
        self.S: list[Matrix] = []
        self.v: list[Matrix] = []  # velocities, link coordinates
        self._c: list[Matrix] = []
        for link, position, rate in zip(mechanism.links, q, qd, strict=True):
            carried = [] if link.parent == GROUND else [self.v[link.parent]]
            key = ("outward", *link.joint.kind, len(carried))
            outward = partial(_outward, link.joint)
            E, r, S, v, c = self._evaluate(key, outward, position, rate, link.Xtree.E, link.Xtree.r, *carried)
            self.X.append(Transform(E, r))
            self.S.append(S)
            self.v.append(v)
            self._c.append(c)
        # where the rates of each joint begin; their number last
        self.starts: list[int] = starts_of(mechanism)
        self._mass: Matrix | None = None
        self._poses: dict[int, tuple[Matrix, Matrix]] = {GROUND: (ca.SX.eye(3), ca.SX(3, 1))}

    # --- kinematics -----------------------------------------------------------------------------------
    def pose(self, i: int) -> tuple[Matrix, Matrix]:
        """Axes (3, 3), as columns, and origin (3, 1) of link i in the ground frame."""
        for k in reversed(self.mechanism.path(i)):
            if k not in self._poses:
                A, r = self._poses[self.mechanism.links[k].parent]
                X = self.X[k]
                self._poses[k] = tuple(self._evaluate(("posed",), _posed, A, r, X.E, X.r))
        return self._poses[i]

    def velocity(self, i: int) -> tuple[Matrix, Matrix]:
        """Angular velocity and velocity of the origin of link i, in link coordinates."""
        return (ca.SX(3, 1), ca.SX(3, 1)) if i == GROUND else (self.v[i][:3], self.v[i][3:])

    def columns(self, i: int) -> tuple[Matrix, Matrix]:
        """(3, nv) angular velocity and velocity of the origin of link i per unit rate of its own joint.

        In the ground frame.
        """
        A, _ = self.pose(i)
        S = self.S[i]
        return A @ S[:3, :], A @ S[3:, :]

    # --- forward dynamics -----------------------------------------------------------------------------
    def link_accelerations(self, qdd: Sequence[Matrix] | None, gravity: Matrix) -> list[Matrix]:
        """(6, 1) classical acceleration of every link in its coordinates, with gravity in it as -g.

        qdd : None for zero
        """
        base = ca.vertcat(ca.SX(3, 1), -gravity)
        a: list[Matrix] = []
        for i, link in enumerate(self.mechanism.links):
            outer = base if link.parent == GROUND else a[link.parent]
            moved = self.X[i].motion(outer) + self._c[i]
            a.append(ca.sparsify(moved if qdd is None else moved + self.S[i] @ qdd[i]))
        return a

    def accelerations(
        self, gravity: Matrix, forces: dict[int, Matrix], tau: dict[int, Matrix] | None = None
    ) -> tuple[list[Matrix], list[Matrix]]:
        """Articulated-body algorithm.

        Parameters
        ----------
        gravity : (3, 1)            acceleration of gravity in the ground frame
        forces : link -> (6, 1)     applied [n; f] at the link's origin, in link coordinates
        tau : link -> (nv, 1)       generalized forces of the joints

        Returns
        -------
        qdd : list of (nv, 1)
        a : list of (6, 1)          classical accelerations in link coordinates; gravity is in them as -g
        """
        links, tau = self.mechanism.links, tau or {}
        IA: list[Matrix] = [ca.SX(6, 6) for _ in links]
        p: list[Matrix] = [-forces[i] if i in forces else ca.SX(6, 1) for i in range(len(links))]
        gains: list[Sequence[Matrix]] = [()] * len(links)
        for i in reversed(range(len(links))):
            found = self._gather(i, IA[i], p[i], tau.get(i, ca.SX(links[i].joint.nv, 1)))
            parent = links[i].parent
            gains[i] = found if parent == GROUND else found[:2]
            if parent != GROUND:
                IA[parent], p[parent] = IA[parent] + found[2], p[parent] + found[3]
        a: list[Matrix] = []
        qdd: list[Matrix] = []
        base = ca.vertcat(ca.SX(3, 1), -gravity)
        tips = self._tips()
        for i, link in enumerate(links):
            outer = base if link.parent == GROUND else a[link.parent]
            moving = (self.X[i].E, self.X[i].r, self.S[i], self._c[i])
            name, part = ("tip", _accelerated_tip) if i in tips else ("accelerated", _accelerated)
            accelerated, second = self._evaluate((name,), part, *moving, outer, *gains[i])
            a.append(accelerated)
            qdd.append(second)
        return qdd, a

    def _tips(self) -> set[int]:
        """Links on others that carry none, in equations in which nothing is computed that nobody asks for."""
        if self._evaluate is not written_out:
            return set()
        parents = {link.parent for link in self.mechanism.links}
        return {
            i for i, link in enumerate(self.mechanism.links) if link.parent != GROUND and i not in parents
        }

    def _gather(self, i: int, IA: Matrix, p: Matrix, tau: Matrix) -> Sequence[Matrix]:
        joint, on_ground = self.mechanism.links[i].joint, self.mechanism.links[i].parent == GROUND
        X, inward = self.X[i], partial(_inward, joint, on_ground)
        moving = (X.E, X.r, self.S[i], self.v[i], self._c[i])
        return self._evaluate(("inward", joint.nv, on_ground), inward, *moving, self.inertia[i], IA, p, tau)

    # --- inverse dynamics and mass matrix -------------------------------------------------------------
    def inverse(
        self, gravity: Matrix, qdd: Sequence[Matrix] | None, forces: dict[int, Matrix]
    ) -> list[Matrix]:
        """Generalized forces (nv, 1) that give these accelerations: recursive Newton-Euler (table 5.1).

        qdd : None for zero
        """
        links = self.mechanism.links
        a = self.link_accelerations(qdd, gravity)
        f = [self._balance(i, a[i], forces) for i in range(len(links))]
        tau: list[Matrix] = [None] * len(links)
        for i in reversed(range(len(links))):
            tau[i] = self.S[i].T @ f[i]
            if links[i].parent != GROUND:
                f[links[i].parent] = f[links[i].parent] + self.X[i].force_back(f[i])
        return tau

    def _balance(self, i: int, a: Matrix, forces: dict[int, Matrix]) -> Matrix:
        """(6, 1) force that all joints of link i exert on it: what it needs beyond the applied ones."""
        applied = forces.get(i, ca.SX(6, 1))
        return self.inertia[i] @ a + gyroscopic(self.inertia[i], self.v[i]) - applied

    def reaction(self, i: int, a: Sequence[Matrix], forces: dict[int, Matrix]) -> Matrix:
        """(6, 1) force [n; f] on link i through its own joint, in link coordinates (table 5.1, f_i).

        a : classical accelerations of all links; forces : everything else that acts on the links
        """
        f = self._balance(i, a[i], forces)
        for k in range(i + 1, len(self.mechanism.links)):
            if self.mechanism.links[k].parent == i:
                f = f + self.X[k].force_back(self.reaction(k, a, forces))
        return f

    def mass_matrix(self) -> Matrix:
        """(n, n) joint-space inertia matrix H, n the degrees of freedom: composite bodies (table 6.2)."""
        if self._mass is None:
            self._mass = self._composite()
        return self._mass

    def _composite(self) -> Matrix:
        links = self.mechanism.links
        starts = self.starts
        IC: list[Matrix] = list(self.inertia)
        H = ca.SX(starts[-1], starts[-1])
        for i in reversed(range(len(links))):
            if links[i].parent != GROUND:
                IC[links[i].parent] = IC[links[i].parent] + self.X[i].inertia_back(IC[i])
            rows = slice(starts[i], starts[i + 1])
            F = IC[i] @ self.S[i]
            H[rows, rows] = symmetric(self.S[i].T @ F)
            j = i
            while links[j].parent != GROUND:
                F = ca.horzcat(ca.SX(6, 0), *[self.X[j].force_back(F[:, k]) for k in range(F.shape[1])])
                j = links[j].parent
                columns = slice(starts[j], starts[j + 1])
                H[rows, columns] = F.T @ self.S[j]
                H[columns, rows] = H[rows, columns].T
        return ca.sparsify(H)

    # --- points ---------------------------------------------------------------------------------------
    def point_acceleration(self, i: int, a: Matrix, s: Matrix, gravity: Matrix) -> tuple[Matrix, Matrix]:
        """Angular acceleration of link i and acceleration of its point s, both (3, 1) in the ground frame.

        `a` is the link's acceleration from `accelerations`, with gravity in it.
        """
        w, _ = self.velocity(i)
        A, _ = self.pose(i)
        al = a[:3]
        at_point = a[3:] + cross(al, s) + cross(w, cross(w, s))
        return A @ al, A @ at_point + gravity
