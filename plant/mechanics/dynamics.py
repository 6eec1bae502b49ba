"""The equations of motion of a description as numbers, at any state.

    H qdd + C = tau + J^T lam,      J qdd = gamma

For looking at a mechanism that was made in Python or read from any format, with the forces of its
description; a `Plant` has its own equations, in which forces, inputs and constraints of a deck take part.
Joints, trees and bodies are the same in both.

Source: Featherstone, RBDA, sections 3.2, 8.2 and 8.3.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from blocks.errors import ModelError, near_miss
from plant.description import Connection, Description, End
from plant.expressions.scope import MarkerState
from plant.mechanics.absolute import Bodies
from plant.mechanics.inertia import tree_inertias
from plant.mechanics.joints import JointSetting
from plant.mechanics.mechanism import GROUND, in_frame, mechanism_of
from plant.mechanics.spatial import Matrix, constant, cross
from plant.mechanics.tree import Tree

Wrench = tuple[Sequence[float], Sequence[float]]
"""Force and torque (3,) along global axes, at the origin of a frame."""


@dataclass(frozen=True, eq=False)
class _Pose:
    r: ca.SX
    A: ca.SX


@dataclass(frozen=True, eq=False)
class MotionAt:
    """The equations at one state; rows and columns by name.

    H : (n, n)        mass matrix, C : (n,) bias forces with gravity and applied forces in them
    J : (m, n)        Jacobian of the conditions, gamma : (m,) right-hand side of the accelerations
    Phi : (m,)        what the conditions are off by, rate : (m,) its rate
    qdd : (n,)        accelerations, lam : (m,) multipliers (the least where conditions repeat each other)
    rows : (m,) str   what each condition fixes; columns : (n,) str the rates
    forces : mapping  key of a force of the description -> (k, 6) force and torque at each of its k frames,
                      along global axes; empty where a `Plant` gives the equations
    """

    H: np.ndarray
    C: np.ndarray
    J: np.ndarray
    gamma: np.ndarray
    Phi: np.ndarray
    rate: np.ndarray
    qdd: np.ndarray
    lam: np.ndarray
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    forces: Mapping[Hashable, np.ndarray] = field(default_factory=dict)

    @property
    def Q(self) -> np.ndarray:
        """(n,) right-hand side of the forces, -C."""
        return -self.C

    @property
    def saddle(self) -> tuple[np.ndarray, np.ndarray]:
        """(n + m, n + m) matrix [H J^T; J 0] and (n + m,) right-hand side [Q; gamma], for [qdd; -lam].

        The multipliers of Haug's eq. 6.3.18 have the other sign: here H qdd = Q + J^T lam.
        """
        m = len(self.rows)
        matrix = np.block([[self.H, self.J.T], [self.J, np.zeros((m, m))]])
        return matrix, np.concatenate([self.Q, self.gamma])


def accelerations(
    H: np.ndarray, Q: np.ndarray, J: np.ndarray, gamma: np.ndarray, reacts: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """qdd (n,) and the least multipliers (k,) with H qdd = Q + J^T lam, J qdd = gamma.

    reacts : (m,) bool    conditions that have a multiplier here, k of them; all if None
    """
    n, own = len(H), J if reacts is None else J[reacts]
    system = np.block([[H, -own.T], [J, np.zeros((len(J), len(own)))]])
    found = np.linalg.lstsq(system, np.concatenate([Q, gamma]), rcond=1e-13)[0]
    return found[:n], found[n:]


class Dynamics:
    """Equations of motion of a description.

    Parameters
    ----------
    description : Description
    coordinates : str           "joint": a spanning tree, loops closed by conditions; "absolute": bodies on
                                their own, every joint a condition

    Angles of conditions (a HELICAL joint that closes a loop) are principal values: within half a turn.
    """

    def __init__(self, description: Description, coordinates: str = "joint") -> None:
        if coordinates not in ("joint", "absolute"):
            choices = near_miss(str(coordinates), ("joint", "absolute"))
            raise ModelError(f"coordinates={coordinates!r} is not known; {choices}", value=coordinates)
        if description.gravity is None:
            raise ModelError(f"{description.name}: gravity is a function of time; give three numbers.")
        self.mechanism = mechanism_of(description, absolute=coordinates == "absolute")
        links = self.mechanism.links
        q = [ca.SX.sym(f"q{i}", link.joint.nq) for i, link in enumerate(links)]
        qd = [ca.SX.sym(f"qd{i}", link.joint.nv) for i, link in enumerate(links)]
        kind = Bodies if self.mechanism.absolute else Tree
        self._tree = kind(self.mechanism, q, qd, tree_inertias(self.mechanism))
        self._q, self._qd = (ca.vertcat(ca.SX(0, 1), *parts) for parts in (q, qd))
        self._qdot = ca.vertcat(
            ca.SX(0, 1), *[link.joint.qdot(*pair) for link, *pair in zip(links, q, qd, strict=True)]
        )
        self.columns = tuple(f"{link.name}: {rate}" for link in links for rate in link.joint.rates)
        parts = [part for joint in self.mechanism.cut for part in self._conditions(joint)]
        self.rows = tuple(text for text, _ in parts)
        self._closed = self._function(ca.vertcat(ca.SX(0, 1), *[value for _, value in parts]))
        gravity = ca.SX(constant(description.gravity))
        time, applied = ca.SX.sym("t"), description.forces
        wrenches = [force.wrenches(time, [self._state(key) for key in force.frames]) for force in applied]
        C = ca.vertcat(ca.SX(0, 1), *self._tree.inverse(gravity, None, self._on_links(wrenches)))
        acting = [ca.vertcat(ca.SX(0, 6), *[ca.vertcat(*pair).T for pair in pairs]) for pairs in wrenches]
        state = [self._q, self._qd, time]
        self._moving = ca.Function("moving", state, [self._tree.mass_matrix(), C])
        self._acting = ca.Function("acting", state, [ca.densify(part) for part in acting])
        self._reach: dict[Hashable, ca.Function] = {}

    @property
    def start(self) -> np.ndarray:
        """(nq,) coordinates of the design configuration."""
        return np.concatenate([np.zeros(0), *[link.q0 for link in self.mechanism.links]])

    def at(
        self,
        q: Any = None,
        qd: Any = None,
        tau: Any = None,
        forces: Mapping[Hashable, Wrench] | None = None,
        time: float = 0.0,
    ) -> MotionAt:
        """Matrices and accelerations at a state.

        Parameters
        ----------
        q : (nq,)         coordinates; those of the design if None
        qd : (n,)         rates; at rest if None
        tau : (n,)        generalized forces
        forces : mapping  key of a frame -> force and torque there, along global axes, besides the
                          forces of the description
        time : float      what the forces of the description are given as time
        """
        n = len(self.columns)
        position = _vector("q", self.start if q is None else q, self._q.numel())
        rates = _vector("qd", np.zeros(n) if qd is None else qd, n)
        state = [ca.DM(position), ca.DM(rates), ca.DM(_vector("time", [time], 1))]
        H, C = (np.array(e) for e in self._moving.call(state))
        Phi, J, rate, gamma = (np.array(e) for e in self._closed(position, rates))
        right = _vector("tau", np.zeros(n) if tau is None else tau, n) - C.ravel()
        for key, (F, T) in (forces or {}).items():
            wrench = np.concatenate([_vector("force", F, 3), _vector("torque", T, 3)])
            right = right + np.array(self._jacobian(key)(position)).T @ wrench
        J = J.reshape(-1, n)
        Phi, rate, gamma = (e.ravel() for e in (Phi, rate, gamma))
        qdd, lam = accelerations(H, right, J, gamma)
        keys = [force.key for force in self.mechanism.description.forces]
        acting = dict(zip(keys, (np.array(e) for e in self._acting.call(state)), strict=True))
        return MotionAt(H, -right, J, gamma, Phi, rate, qdd, lam, self.rows, self.columns, acting)

    def _function(self, Phi: Matrix) -> ca.Function:
        """(q, qd) -> Phi, J, its rate and gamma = -(J' qd)."""
        N = ca.jacobian(self._qdot, self._qd)
        J = ca.jacobian(Phi, self._q) @ N
        rate = J @ self._qd
        gamma = -(ca.jacobian(rate, self._q) @ self._qdot)
        return ca.Function("closed", [self._q, self._qd], [ca.densify(e) for e in (Phi, J, rate, gamma)])

    def _pose(self, end: End) -> _Pose:
        place = self.mechanism.on(*end)
        if place.link == GROUND:
            return _Pose(ca.SX(constant(place.s)), ca.SX(constant(place.A)))
        A, r = self._tree.pose(place.link)
        return _Pose(r + A @ constant(place.s), A @ constant(place.A))

    def _state(self, key: Hashable) -> MarkerState:
        """Pose and motion of a named frame."""
        place = self.mechanism.place(key)
        pose = self._pose(self.mechanism.description.point(key))
        if place.link == GROUND:
            return MarkerState(pose.r, pose.A, ca.SX(3, 1), ca.SX(3, 1))
        A, _ = self._tree.pose(place.link)
        w, v = self._tree.velocity(place.link)
        return MarkerState(pose.r, pose.A, A @ (v + cross(w, constant(place.s))), A @ w)

    def _on_links(self, wrenches: Sequence[Sequence[tuple[ca.SX, ca.SX]]]) -> dict[int, Matrix]:
        """[n; f] (6, 1) at the origin of each link and along its axes, of the forces of the description."""
        found: dict[int, Matrix] = {}
        for force, pairs in zip(self.mechanism.description.forces, wrenches, strict=True):
            for key, (F, T) in zip(force.frames, pairs, strict=True):
                place = self.mechanism.place(key)
                if place.link != GROUND:
                    A, _ = self._tree.pose(place.link)
                    along = A.T @ F
                    f = ca.vertcat(A.T @ T + cross(constant(place.s), along), along)
                    found[place.link] = found.get(place.link, ca.SX(6, 1)) + f
        return found

    def _conditions(self, joint: Connection) -> list[tuple[str, ca.SX]]:
        I, J = self._pose(joint.I), self._pose(joint.J)
        r0, A0 = in_frame(joint.J[1], joint.I[1])
        R = J.A.T @ I.A
        setting = JointSetting(
            I,
            J,
            lambda: ca.atan2(R[1, 0], R[0, 0]),
            lambda y, x: -ca.atan2(y, x),
            r0,
            A0,
            joint.numbers,
            joint.where,
        )
        return [(f"{joint.where}: {text}", value) for text, value in joint.kind.equations(setting)]

    def _jacobian(self, key: Hashable) -> ca.Function:
        """q -> (6, n) velocity and angular velocity of a named frame, along global axes, per unit rate."""
        if key not in self._reach:
            place = self.mechanism.place(key)
            pose = self._pose(self.mechanism.description.point(key))
            found = ca.SX(6, len(self.columns))
            for k in self.mechanism.path(place.link):
                W, V = self._tree.columns(k)
                arm = pose.r - self._tree.pose(k)[1]
                for j in range(W.shape[1]):
                    column = ca.vertcat(V[:, j] + cross(W[:, j], arm), W[:, j])
                    found[:, self._tree.starts[k] + j] = column
            self._reach[key] = ca.Function("reach", [self._q], [ca.densify(found)])
        return self._reach[key]


def _vector(name: str, value: Any, size: int) -> np.ndarray:
    found = np.asarray(value, dtype=float)
    if found.shape != (size,) or not np.isfinite(found).all():
        raise ModelError(f"{name} has shape {found.shape}, expected ({size},) finite numbers.", value=value)
    return found
