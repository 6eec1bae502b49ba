"""Initial joint rates from the velocities that bodies are given at the start.

`Body.v` is the velocity of a body's centre of mass, `Body.w` its angular velocity. The rates meet them as
well as the joints allow (least squares; beside travels a turn counts as what it moves at the radius of
gyration, so that units do not matter); of all rates that do, those with the least kinetic energy are taken,
so that what is not given stays at rest.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from blocks.contract.user_lines import warn_user
from plant.description import Frame, Velocity
from plant.mechanics.inertia import plain_inertia
from plant.mechanics.mechanism import GROUND, Mechanism
from plant.reporting import PlantWarning

NOTHING = 1e-12  # of a body's mobility (or moments): below it a direction is one the joints do not allow
MISMATCH = 1e-9  # of the largest velocity: beyond it the joints contradict the numbers


@dataclass(frozen=True)
class Wish:
    """One given velocity component: J qd = value; `weight` makes misses of several comparable."""

    J: np.ndarray
    value: float
    where: str
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class Start:
    """A mechanism at coordinates q, with the frame of every link in the global frame."""

    mechanism: Mechanism
    q: list[np.ndarray]
    frames: list[Frame]


def wishes_of(mechanism: Mechanism, q: Sequence[np.ndarray]) -> list[Wish]:
    """Velocities the bodies are given, in terms of the joint rates at coordinates q, one (nq,) per link."""
    starts = mechanism.rate_starts
    at = Start(mechanism, list(q), mechanism.frames_at(q))
    return _all_wishes(at, starts)


def weighted(wishes: Sequence[Wish]) -> tuple[np.ndarray, np.ndarray]:
    """A (m, n) and b (m,) of A qd = b, every wish times its weight."""
    return np.array([w.weight * w.J for w in wishes]), np.array([w.weight * w.value for w in wishes])


def mention_missed(wishes: Sequence[Wish], rates: np.ndarray) -> None:
    """Warn of given velocities that the start does not have."""
    has = [float(wish.J @ rates) for wish in wishes]
    sizes = [wish.weight * max(abs(wish.value), abs(v)) for wish, v in zip(wishes, has, strict=True)]
    largest = max(sizes, default=0.0)
    for wish, found in zip(wishes, has, strict=True):
        if wish.weight * abs(found - wish.value) > MISMATCH * largest:
            warn_user(
                f"{wish.where}={wish.value:g} is not possible with the joints and the other initial "
                f"velocities: the start has {found:.6g}. Correct it, or set its flag FALSE.",
                PlantWarning,
            )


def initial_rates(
    mechanism: Mechanism, q: Sequence[np.ndarray] | None = None
) -> tuple[tuple[np.ndarray, ...], bool]:
    """Rate (nv,) of every joint at coordinates q, at the design without; do given velocities leave some open?

    q : one (nq,) per link

    Warns
    -----
    PlantWarning    naming each body whose given velocity the joints do not allow
    """
    starts = mechanism.rate_starts
    at = Start(mechanism, [link.q0 for link in mechanism.links], [link.seat for link in mechanism.links])
    if q is not None:
        at = Start(mechanism, list(q), mechanism.frames_at(q))
    wishes = _all_wishes(at, starts)
    rates, decided = np.zeros(starts[-1]), starts[-1]
    if any(wish.value for wish in wishes):
        rates, decided = _least_energy(_mass_matrix(at, starts), *weighted(wishes))
        rates[np.abs(rates) < 1e-15 * np.abs(rates).max(initial=0.0)] = 0.0
        mention_missed(wishes, rates)
    by_link = tuple(np.split(rates, starts[1:-1])) if len(mechanism.links) else ()
    return by_link, bool(decided < starts[-1] and np.any(rates))


def _least_energy(H: np.ndarray, A: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, int]:
    """Least-squares solution of A x = b with the least x^T H x, and the rank of A."""
    if not len(H):
        return np.zeros(0), 0  # nothing moves
    values, vectors = np.linalg.eigh(H)
    floor = 1e-12 * max(values.max(), 1e-300)
    scaled = vectors / np.sqrt(np.maximum(values, floor))
    x, _, rank, _ = np.linalg.lstsq(A @ scaled, b, rcond=1e-10)
    return np.asarray(scaled @ x), int(rank)


def _all_wishes(at: Start, starts: np.ndarray) -> list[Wish]:
    """Wishes of all bodies; a turn weighs what it moves at the radius of gyration, beside given travels."""
    bodies = [link.body for link in at.mechanism.links]
    turns = any(w is not None for body in bodies for w in body.w.values)
    travels = any(v is not None for body in bodies for v in body.v.values)
    lever = _gyration(at.mechanism) if turns and travels else 1.0
    return [wish for i in range(len(bodies)) for wish in _wishes(at, i, starts, lever)]


def _gyration(mechanism: Mechanism) -> float:
    """Radius of gyration [length] of all bodies, each about its own centre of mass; 1 where there is none."""
    mass, moments, about_joints = 0.0, 0.0, 0.0
    for i in range(len(mechanism.links)):
        inertia = plain_inertia(mechanism, i)
        m, first = inertia[3, 3], inertia[:3, 3:]  # mass, and mass times what turns into a velocity
        if m > 0.0:
            mass += m
            about_joints += np.trace(inertia[:3, :3])
            moments += np.trace(inertia[:3, :3]) - np.sum(first**2) / m
    return float(np.sqrt(moments / (2 * mass))) if moments > NOTHING * about_joints else 1.0


def _wishes(at: Start, i: int, starts: np.ndarray, lever: float) -> list[Wish]:
    body = at.mechanism.links[i].body
    if all(value is None for value in (*body.v.values, *body.w.values)) or body.centre is None:
        return []
    J = jacobian(at, i, _moved(at, body.key, body.centre)[0], starts)
    wishes = []
    for rows, given, weight in ((J[:3], body.w, lever), (J[3:], body.v, 1.0)):
        axes = _axes(at, given)
        for k, value in enumerate(given.values):
            if value is not None:
                along = axes[:, k] @ rows
                if np.linalg.norm(along) <= NOTHING * np.linalg.norm(rows):
                    along = np.zeros_like(along)  # rounding: the joints do not move that way
                wishes.append(Wish(along, value, f"{body.where}: {given.name}_{'xyz'[k]}", weight))
    return wishes


def _axes(at: Start, given: Velocity) -> np.ndarray:
    """(3, 3) axes along which a velocity is given."""
    if given.along is None:
        return np.eye(3)
    return _moved(at, *at.mechanism.description.point(given.along))[1]


def _moved(at: Start, body: Hashable, design: Frame) -> Frame:
    """Where a frame on a body is."""
    place = at.mechanism.on(body, design)
    if place.link == GROUND or at.mechanism.links[place.link].frame is at.frames[place.link]:
        return design
    r, A = at.frames[place.link]
    return r + A @ place.s, A @ place.A


def jacobian(at: Start, i: int, point: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """(6, n) that gives [w; v] of link i at a point (3,), all in the global frame, from the joint rates."""
    J = np.zeros((6, starts[-1]))
    for k in at.mechanism.path(i):
        link, (r, A) = at.mechanism.links[k], at.frames[k]
        S = np.array(ca.DM(link.joint.jcalc(ca.DM(at.q[k]))[1])).reshape(6, link.joint.nv)
        w, v = A @ S[:3], A @ S[3:]
        J[:3, starts[k] : starts[k + 1]] = w
        J[3:, starts[k] : starts[k + 1]] = v + np.cross(w, point - r, axis=0)
    return J


def _mass_matrix(at: Start, starts: np.ndarray) -> np.ndarray:
    """(n, n) joint-space inertia, summed over the links."""
    H = np.zeros((starts[-1], starts[-1]))
    for i in range(len(at.mechanism.links)):
        r, A = at.frames[i]
        J = jacobian(at, i, r, starts)
        local = np.vstack([A.T @ J[:3], A.T @ J[3:]])
        H += local.T @ plain_inertia(at.mechanism, i) @ local
    return H
