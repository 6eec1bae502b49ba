"""Replacement of a plant by another one: its bodies get the positions and velocities of the old bodies.

When elements are switched on or off or changed between two simulations, the plant is built anew, and its
spanning tree may be another one. What carries over is where every body is and how it moves: each link's
coordinates are those nearest to its body's pose, then constraints are closed as at any start (`assembly`).
Rates are those nearest to the bodies' velocities in the mass metric, which is what an inelastic impact
leaves: a constraint that is switched on while the bodies move against it takes that motion out at once.

Source: Haug, Computer-Aided Kinematics and Dynamics, 2nd ed., section 4.6; Featherstone, RBDA, section 11.7
(impulsive dynamics).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from plant.assembly.assemble import Assembly, moves
from plant.assembly.closing import Assembler
from plant.assembly.initial_rates import Start, Wish, jacobian
from plant.description import Frame
from plant.mechanics.inertia import plain_inertia
from plant.mechanics.joints import ANGLE, UNIT
from plant.mechanics.massless import massless_links
from plant.mechanics.mechanism import GROUND, Link, Mechanism, in_frame
from plant.mechanics.spatial import Transform
from plant.mechanics.turning import Turning
from plant.mechanics.turns import turns_between

if TYPE_CHECKING:
    from plant.block import Plant

SAME = 1e-12  # rad or length: closer coordinates count as unchanged
TELLING = 1e-7  # of the size of the mechanism, or rad: bodies that moved less count as unmoved
FAR = 1e-3  # of the size of the mechanism, or rad: bodies that constraints move further were not held by them
MASSLESS = 1e-12  # of the largest inertia of a body: the weight of directions without inertia

NOTHING: Mapping[Any, float] = MappingProxyType({})

Key = Hashable  # of a body
Angle = tuple[Turning, int, int]  # of marker I relative to J, by their ids
Parts = Sequence[np.ndarray]


@dataclass(frozen=True, eq=False)
class PoseAndTwist:
    """Position and twist of a body.

    design, now : Frame     of one frame fixed to it, in the global frame
    twist : (6,)            [w; v] of that frame's origin along global axes
    """

    design: Frame
    now: Frame
    twist: np.ndarray

    def at(self, frame: Frame) -> tuple[Frame, np.ndarray]:
        """Present pose and twist of a frame of the body, given in the design."""
        (r0, A0), (r1, A1), (r, A) = self.design, self.now, frame
        turn = A1 @ A0.T
        arm = turn @ (r - r0)
        w, v = self.twist[:3], self.twist[3:]
        return (r1 + arm, turn @ A), np.concatenate([w, v + np.cross(w, arm)])


def motions_of(plant: Plant, q: Parts, qd: Parts) -> dict[Key, PoseAndTwist]:
    """Motion of every body of a plant at coordinates q and rates qd, (nq,) and (nv,) of each link."""
    mechanism = plant.mechanism
    starts = mechanism.rate_starts
    rates = np.concatenate([np.zeros(0), *qd])
    at = Start(mechanism, list(q), mechanism.frames_at(q))
    return {
        link.body.key: PoseAndTwist(
            link.frame, at.frames[i], jacobian(at, i, at.frames[i][0], starts) @ rates
        )
        for i, link in enumerate(mechanism.links)
    }


def carried(
    plant: Plant,
    before: Plant,
    q: Parts,
    qd: Parts,
    time: float,
    under_way: bool = True,
    angles: Mapping[Angle, float] = NOTHING,
) -> Plant:
    """`plant` with a start at the state of another plant with the same bodies.

    Parameters
    ----------
    before : Plant      the other plant; q, qd its coordinates and rates, (nq,) and (nv,) of each link
    time : s            what TIME is: constraints may depend on it
    under_way : bool    the bodies have moved before, so that ic_disp and ic_vel of motions are over
    angles : angle -> rad   those whose full turns were counted: joints that are new go on from there

    Returns
    -------
    plant : Plant       ``assembly.moved`` is what closing its constraints moved

    Raises
    ------
    ModelError          constraints that cannot be closed from there, by element
    """
    bodies = motions_of(before, q, qd)
    mechanism = plant.mechanism
    start = _coordinates(mechanism, bodies)
    start = [_nearest(link, own, before, q) for link, own in zip(mechanism.links, start, strict=True)]
    _wind(mechanism, start, before, angles)
    closing = plant.closing()
    if closing is None or closing.closure is None:
        rates = _least_impact(_wishes(mechanism, bodies, start), mechanism.dof)
        return replace(plant, start=tuple(start), rates=tuple(mechanism.rates_by_link(rates)))
    assert plant.assembly is not None  # it has constraints, so it was assembled
    assembler = Assembler(closing.b, closing.closure, massless_links(mechanism), time, under_way)
    given = np.concatenate([np.zeros(0), *start])
    closed = assembler.positions_closed(given)
    parts = mechanism.coordinates_by_link(closed)
    rates = assembler.rates(closed, _wishes(mechanism, bodies, parts)).of(0)
    assembly = Assembly(
        tuple(parts),
        tuple(mechanism.rates_by_link(rates)),
        plant.assembly.closing,
        moves(mechanism, given, closed),
        plant.assembly.redundant,
        plant.assembly.dof,
    )
    return replace(plant, start=assembly.q, rates=assembly.qd, assembly=assembly)


@dataclass(frozen=True)
class MovedBodies:
    """Distances of bodies from their old poses, if they moved: "rod" [length], "rod (turned)" [rad].

    far : those of them that are no small correction
    """

    by: dict[str, float]
    far: dict[str, float]


def moved_bodies(
    plant: Plant, before: Mapping[Key, PoseAndTwist], now: Mapping[Key, PoseAndTwist]
) -> MovedBodies:
    """How far bodies are from their old poses."""
    moved, far, size = {}, {}, plant.mechanism.description.size
    for link in plant.mechanism.links:
        old, new = before[link.body.key], now[link.body.key]
        frame = link.frame if link.body.centre is None else link.body.centre
        ((r0, A0), _), ((r1, A1), _) = old.at(frame), new.at(frame)
        name = link.body.label
        turn = math.acos(min(1.0, max(-1.0, (float(np.trace(A0.T @ A1)) - 1) / 2)))
        travel = float(np.linalg.norm(r1 - r0))
        for what, by, unit in ((name, travel, size), (f"{name} (turned)", turn, 1.0)):
            if by > TELLING * unit:
                moved[what] = by
            if by > FAR * unit:
                far[what] = by
    return MovedBodies(moved, far)


def _coordinates(mechanism: Mechanism, bodies: Mapping[Key, PoseAndTwist]) -> list[np.ndarray]:
    """Coordinates (nq,) of every link nearest to the pose of its body."""
    now = [bodies[link.body.key].at(link.frame)[0] for link in mechanism.links]
    found = []
    for link, inner in zip(mechanism.links, now, strict=True):
        r, A = (np.zeros(3), np.eye(3)) if link.parent == GROUND else now[link.parent]
        on_parent = _frame_of(link.Xtree)
        outer = (r + A @ on_parent[0], A @ on_parent[1])
        pair = (inner, outer) if link.joint.reversed else (outer, inner)
        found.append(link.joint.initial(*in_frame(*pair))[0])
    return found


def _frame_of(X: Transform) -> Frame:
    import casadi as ca

    return np.array(ca.DM(X.r)).ravel(), np.array(ca.DM(X.E)).T


def _nearest(link: Link, q: np.ndarray, before: Plant, old: Parts) -> np.ndarray:
    """The same coordinates with turns and signs of quaternions nearest to the previous ones."""
    same = [own for other, own in zip(before.mechanism.links, old, strict=True) if _continues(link, other)]
    if not same:
        return q
    (was,) = same
    q = q.copy()
    units = [k for k, (_, unit) in enumerate(link.joint.coordinates) if unit == UNIT]
    if units and q[units] @ was[units] < 0:
        q[units] = -q[units]
    for k, (_, unit) in enumerate(link.joint.coordinates):
        if unit == ANGLE:
            q[k] += 2 * math.pi * round((was[k] - q[k]) / (2 * math.pi))
    close = np.abs(q - was) <= SAME * np.maximum(1.0, np.abs(was))
    return np.where(close, was, q)


def _wind(
    mechanism: Mechanism, start: list[np.ndarray], before: Plant, angles: Mapping[Angle, float]
) -> None:
    """Add full turns to coordinates of joints that there were not before, so that angles go on as counted."""
    old, links = before.mechanism.links, mechanism.links
    new = {k for k, link in enumerate(links) if not any(_continues(link, other) for other in old)}
    for angle, was in angles.items() if new else ():
        turns = turns_between(mechanism, *angle)
        fresh = [] if turns is None else [k for k in turns.signs if k in new]
        if turns is None or len(fresh) != 1:
            continue
        (k,) = fresh
        missing = round((was - turns.at(mechanism, start)) / (2 * math.pi))
        start[k] = start[k].copy()
        start[k][links[k].joint.turn] += turns.signs[k] * 2 * math.pi * missing
        new.remove(k)


def _continues(link: Link, other: Link) -> bool:
    """Whether the coordinates of a link are those of a link there was before."""
    return _is_same_joint(link, other) and link.joint.nq == other.joint.nq


def _is_same_joint(link: Link, other: Link) -> bool:
    if link.connection is None or other.connection is None:
        return link.connection is other.connection and link.body.key == other.body.key
    return link.connection.key == other.connection.key and link.joint.name == other.joint.name


def _wishes(mechanism: Mechanism, bodies: Mapping[Key, PoseAndTwist], q: Parts) -> list[Wish]:
    """Velocities of all bodies, weighted so that least squares minimise the mass metric."""
    starts = mechanism.rate_starts
    at = Start(mechanism, list(q), mechanism.frames_at(q))
    wishes = []
    for i, link in enumerate(mechanism.links):
        (_, before), twist = bodies[link.body.key].at(link.frame)
        origin, now = at.frames[i]
        root = _root(plain_inertia(mechanism, i))  # in link coordinates
        J = root @ np.kron(np.eye(2), now.T) @ jacobian(at, i, origin, starts)
        value = root @ np.kron(np.eye(2), before.T) @ twist
        wishes += [Wish(J[k], float(value[k]), link.where) for k in range(6)]
    return wishes


def _root(inertia: np.ndarray) -> np.ndarray:
    """(6, 6) L with L^T L the inertia; directions without inertia get a small weight."""
    values, vectors = np.linalg.eigh(inertia)
    floor = MASSLESS * max(float(values.max(initial=0.0)), 1e-300)
    return np.asarray(np.sqrt(np.maximum(values, floor))[:, None] * vectors.T)


def _least_impact(wishes: Sequence[Wish], n: int) -> np.ndarray:
    if not n:
        return np.zeros(0)
    A, b = np.array([w.J for w in wishes]), np.array([w.value for w in wishes])
    found = np.linalg.lstsq(A, b, rcond=1e-13)[0]
    found[np.abs(found) < 1e-15 * max(1.0, np.abs(found).max(initial=0.0))] = 0.0
    return np.asarray(found)
