"""Coordinates for one step that turn with the bodies of a system, for the stiff method.

In coordinates along fixed axes everything on a spinning shaft goes round, and no method takes steps longer
than a part of a turn. Here the states of a body in a step of length s are an affine function of others, z,
that stand still where it moves on a screw with angular velocity W (3,) and velocity u (3,)::

    velocity  v = R z_v                              R = exp(s [W]x)
    place     p = p0 + R (z_p - p0) + integral of R u
    attitude  e = exp(s W/2) z_e (a quaternion), or angle = z + s W_z

so y = A(s) z + b(s) with A(0) = I, b(0) = 0, A orthogonal, and z' = A^T (f(t, A z + b) - A' z - b'). The
method solves this for z; nothing of it outlasts the step. Whichever W and u are taken, the solution is the
same. Those of the body whose axis turns least are taken for all that turn about as fast: then whatever is
between them is the same function of z as of the states, and stands still as in joint coordinates.

`runtime/turning.c` does the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from blocks.contract.memories import ContinuousState
from cosim.system import System

LIKE = 0.5  # an angular velocity whose difference is at most this part of another one's is like it
COLUMNS = 14  # of the table of bodies: attitude 4, place 3, angular velocity 3, velocity 3, block


def bodies_of(system: System) -> np.ndarray:
    """Where the states of bodies are: (n, 14) places in x, -1 for none, and the number of the block."""
    rows, blocks = [], []
    for slot in system.states.values():
        memory = slot.memory
        if not isinstance(memory, ContinuousState) or not memory.velocity_of:
            continue
        q, qd = system.states[f"{slot.path}.{memory.velocity_of}"].index.tolist(), slot.index.tolist()
        if slot.path not in blocks:
            blocks.append(slot.path)
        if len(qd) == 6:
            row = [*q, *qd]
        else:
            row = [q[2], -1, -1, -1, q[0], q[1], -1, -1, -1, qd[2], qd[0], qd[1], -1]
        rows.append([*row, blocks.index(slot.path)])
    return np.array(rows, dtype=np.int32).reshape(-1, COLUMNS)


class TurningBodies:
    """The places of bodies in x, and how their states turn.

    table : (n, 14) of `bodies_of`; atol : (nx,) of the states
    """

    def __init__(self, table: np.ndarray, atol: np.ndarray) -> None:
        self.attitude, self.place, self.spin, self.velocity = np.split(table[:, :13], [4, 7, 10], axis=1)
        self.spatial = table[:, 1] >= 0
        self.beside = table[:, None, 13] == table[None, :, 13]  # of the same block
        self.slack = _at(atol, self.velocity).max(axis=1, initial=0.0)

    def frames(self, x: np.ndarray, f: np.ndarray) -> TurningFrames | None:
        """Coordinates for a step that begins at x with the derivative f; None: nothing turns."""
        A = _rotation(_at(x, self.attitude))
        A[~self.spatial] = np.eye(3)
        own = np.einsum("nij,nj->ni", A, _at(x, self.spin))
        change = np.einsum("nij,nj->ni", A, _at(f, self.spin))
        size = _square(own)
        if not size.any():
            return None
        v, a, p = _at(x, self.velocity), _at(f, self.velocity), _at(x, self.place)
        leader = self._leaders(own, change, size)
        W = own[leader]
        whole = self._fits(own, v, a)[leader] & self._fits(W, v, a) & (size > 0.0)
        u = v[leader] + np.cross(W, p - p[leader])
        screw, drift = np.where(whole[:, None], W, 0.0), np.where(whole[:, None], u, 0.0)
        return TurningFrames(self, x, W, screw, drift, p)

    def _leaders(self, own: np.ndarray, change: np.ndarray, size: np.ndarray) -> np.ndarray:
        """(n,) the body each turns like and whose axis turns least; itself if it does not turn."""
        with np.errstate(divide="ignore", invalid="ignore"):
            unsteady = np.where(size > 0.0, np.sqrt(_square(change)) / size, np.inf)
        like = _square(own[None, :, :] - own[:, None, :]) <= LIKE * LIKE * size[None, :]
        like &= (size[None, :] > 0.0) & self.beside
        found = np.where(like, unsteady[None, :], np.inf).argmin(axis=1)
        return np.where(size > 0.0, found, np.arange(len(own)))

    def _fits(self, W: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """(n,) whether velocities v change no faster in axes that turn with W; not so where a wheel rolls."""
        left = np.sqrt(_square(a - np.cross(W, v)))
        return np.asarray(left <= np.sqrt(_square(a)) + self.slack * np.sqrt(_square(W)))


@dataclass(frozen=True)
class TurningFrames:
    """How the states of bodies turn in one step.

    x : (nx,) states it begins at; turn, screw : (n, 3) angular velocity of attitudes, and of places and
    velocities; drift : (n, 3) velocity of the screw at the places start (n, 3)
    """

    bodies: TurningBodies
    x: np.ndarray
    turn: np.ndarray
    screw: np.ndarray
    drift: np.ndarray
    start: np.ndarray

    def states(self, s: float, z: np.ndarray) -> np.ndarray:
        """y = A(s) z + b(s)."""
        b, y = self.bodies, z.copy()
        R, moved = _turned(self.screw, s), _drift(self.screw, self.drift, s)
        _put(y, b.velocity, np.einsum("nij,nj->ni", R, _at(z, b.velocity)))
        place = self.start + np.einsum("nij,nj->ni", R, _at(z, b.place) - self.start)
        _put(y, b.place, place + moved)
        e = _at(z, b.attitude)
        angle = e[:, :1] + s * self.turn[:, 2:]
        _put(y, b.attitude, self._attitude(_times(_half_turn(self.turn, s), e), angle))
        return y

    def field(self, s: float, z: np.ndarray, f: np.ndarray) -> np.ndarray:
        """z' = A^T (f - A' z - b') for the derivative f at y."""
        b, found = self.bodies, f.copy()
        R = _turned(self.screw, s)
        v = np.einsum("nji,nj->ni", R, _at(f, b.velocity)) - np.cross(self.screw, _at(z, b.velocity))
        _put(found, b.velocity, v)
        p = np.einsum("nji,nj->ni", R, _at(f, b.place)) - self.drift
        _put(found, b.place, p - np.cross(self.screw, _at(z, b.place) - self.start))
        back = _times(_half_turn(self.turn, -s), _at(f, b.attitude))
        e = back - 0.5 * _times(_pure(self.turn), _at(z, b.attitude))
        _put(found, b.attitude, self._attitude(e, _at(f, b.attitude)[:, :1] - self.turn[:, 2:]))
        return found

    def linearised(self, jacobian: Any, slope: np.ndarray, f: np.ndarray) -> tuple[Any, np.ndarray]:
        """Jacobian of `field` at s = 0, dense or sparse as that of f, and its derivative in s.

        f : at the beginning; jacobian, slope : its derivatives in x and time
        """
        b, n = self.bodies, len(self.x)
        moved, back = np.zeros(n), np.zeros(n)  # y' of the frames; A'(0) f
        _put(moved, b.velocity, np.cross(self.screw, _at(self.x, b.velocity)))
        _put(moved, b.place, self.drift)
        half = 0.5 * _times(_pure(self.turn), _at(self.x, b.attitude))
        _put(moved, b.attitude, self._attitude(half, self.turn[:, 2:]))
        for where in (b.velocity, b.place):
            _put(back, where, np.cross(self.screw, _at(f, where)))
        half = 0.5 * _times(_pure(self.turn), _at(f, b.attitude))
        _put(back, b.attitude, self._attitude(half, np.zeros((len(half), 1))))
        return self._less(jacobian), slope + jacobian @ moved - back

    def _attitude(self, quaternion: np.ndarray, angle: np.ndarray) -> np.ndarray:
        """(n, 4) of bodies in space, the angle and nothing else of others."""
        return np.where(
            self.bodies.spatial[:, None], quaternion, np.hstack([angle, np.zeros((len(angle), 3))])
        )

    def _less(self, jacobian: Any) -> Any:
        """The Jacobian without A'(0)."""
        from scipy.sparse import csc_matrix

        b, n = self.bodies, len(self.x)
        half = 0.5 * np.array([_times(_pure(self.turn), e) for e in np.eye(4)])  # (column, body, row)
        half = half.transpose(1, 2, 0) * b.spatial[:, None, None]
        rate = np.array([np.cross(self.screw, e) for e in np.eye(3)]).transpose(1, 2, 0)
        rows, columns, values = [], [], []
        for where, block in ((b.attitude, half), (b.place, rate), (b.velocity, rate)):
            row, column = np.broadcast_arrays(where[:, :, None], where[:, None, :])
            there = (row >= 0) & (column >= 0)
            rows.append(row[there])
            columns.append(column[there])
            values.append(block[there])
        numbers = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
        less = csc_matrix(numbers, shape=(n, n))
        return jacobian - less.toarray() if isinstance(jacobian, np.ndarray) else csc_matrix(jacobian - less)


def _at(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Numbers at places, 0 where there is none."""
    return np.where(places >= 0, x[places], 0.0)


def _put(x: np.ndarray, places: np.ndarray, values: np.ndarray) -> None:
    there = places >= 0
    x[places[there]] = values[there]


def _square(v: np.ndarray) -> np.ndarray:
    return np.asarray((v * v).sum(axis=-1))


def _pure(w: np.ndarray) -> np.ndarray:
    """(n, 4) quaternions without a scalar part."""
    return np.hstack([np.zeros((len(w), 1)), w])


def _times(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Product of quaternions (n, 4), scalar first."""
    b = np.broadcast_to(b, a.shape)
    scalar = a[:, :1] * b[:, :1] - (a[:, 1:] * b[:, 1:]).sum(axis=1, keepdims=True)
    return np.hstack([scalar, a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])])


def _rotation(e: np.ndarray) -> np.ndarray:
    """(n, 3, 3) axes of the bodies as columns."""
    skew = np.cross(e[:, None, 1:], np.eye(3)[None]).transpose(0, 2, 1)
    outer = e[:, 1:, None] * e[:, None, 1:]
    along = (2.0 * e[:, 0] ** 2 - 1.0)[:, None, None] * np.eye(3)
    return np.asarray(along + 2.0 * (outer + e[:, 0, None, None] * skew))


def _half_turn(w: np.ndarray, s: float) -> np.ndarray:
    """(n, 4) quaternions exp(s w/2)."""
    size = np.sqrt(_square(w))
    per = np.where(size > 0.0, np.sin(0.5 * s * size) / np.where(size > 0.0, size, 1.0), 0.0)
    return np.hstack([np.cos(0.5 * s * size)[:, None], per[:, None] * w])


def _turned(w: np.ndarray, s: float) -> np.ndarray:
    """(n, 3, 3) rotations exp(s [w]x)."""
    return _rotation(_half_turn(w, s))


def _drift(w: np.ndarray, u: np.ndarray, s: float) -> np.ndarray:
    """(n, 3) integrals over s of exp(s [w]x) u."""
    size = np.sqrt(_square(w))[:, None]
    known = np.where(size > 0.0, size, 1.0)
    half = np.sin(0.5 * s * size)
    along = w * ((w * u).sum(axis=1, keepdims=True) / known / known)
    aside = np.cross(w, u) / known / known
    turned = np.sin(s * size) / known * (u - along) + 2.0 * half * half * aside + s * along
    return np.asarray(np.where(size > 0.0, turned, s * u))
