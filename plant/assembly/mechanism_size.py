"""How large a mechanism is: what lengths are compared with, and how far poses beside a start are from it.

Poses in which bodies are 1e4 times their size apart have levers that no pose of the motion has, and those
moved by 1e-8 of it show nothing that the design does not show.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from plant.description import ROUNDING
from plant.mechanics.joints import LENGTH
from plant.mechanics.mechanism import Mechanism

ORDINARY = 1e-2, 1e4  # length: of mechanisms between these one unit of length is a fair way to travel


@dataclass(frozen=True, eq=False)
class Sizes:
    """What makes lengths and angles comparable, in any unit of length.

    length : largest distance of bodies and of what holds them from the origin; 1 where all are in it
    rates : (n,)          `length` for rates that travel, 1 for those that turn
    coordinates : (nq,)   the same of coordinates
    """

    length: float
    rates: np.ndarray
    coordinates: np.ndarray

    @classmethod
    def of(cls, mechanism: Mechanism, points: Iterable[np.ndarray]) -> Sizes:
        """Sizes of a mechanism in its design.

        points : (3,) each, where constraints hold bodies
        """
        seats = [link.seat[0] for link in mechanism.links]
        length = float(max((np.abs(r).max() for r in [*points, *seats]), default=1.0))
        return cls.with_length(mechanism, length if length > ROUNDING[0] else 1.0)

    @classmethod
    def with_length(cls, mechanism: Mechanism, length: float) -> Sizes:
        """Sizes of a mechanism with a characteristic length."""
        links = mechanism.links
        units = [unit for link in links for _, unit in link.joint.coordinates]
        coordinates = np.array([length if unit == LENGTH else 1.0 for unit in units])
        return cls(length, np.where(_turns(mechanism), 1.0, length), coordinates)


def nominal_sizes(mechanism: Mechanism) -> Sizes:
    """Typical sizes of coordinates and rates, which absolute tolerances of runs are multiplied by.

    Rates : per second; those of mechanisms of an ordinary length are 1, so that tolerances are in its unit.
    """
    size = mechanism.description.size
    return Sizes.with_length(mechanism, 1.0 if ORDINARY[0] <= size <= ORDINARY[1] else size)


def travels(mechanism: Mechanism, q: Sequence[np.ndarray], points: Iterable[np.ndarray]) -> np.ndarray:
    """(n,) what a rate is multiplied by: the size of the mechanism for travels, 1 for turns.

    q : coordinates of every link, one (nq,) each; points : (3,) each, where constraints hold bodies
    """
    size = _extent([*points, *[r for r, _ in mechanism.frames_at(q)]])
    if size == 0.0 or ORDINARY[0] <= size <= ORDINARY[1]:
        return np.ones(mechanism.dof)
    return np.where(_turns(mechanism), 1.0, size)


def _extent(points: Sequence[np.ndarray]) -> float:
    """Longest side of the box around some points."""
    return float(np.ptp(np.array(points), axis=0).max()) if points else 0.0


def _turns(mechanism: Mechanism) -> np.ndarray:
    """(n,) which rates turn a body."""
    return mechanism.derived.get("turns", lambda: _found_turns(mechanism))


def _found_turns(mechanism: Mechanism) -> np.ndarray:
    known: dict[object, np.ndarray] = {}  # by kind of joint
    for link in mechanism.links:
        if link.joint.kind not in known:
            S = np.array(link.joint.jcalc(ca.DM(link.q0))[1])
            known[link.joint.kind] = np.asarray(S[:3].any(axis=0))
    return np.concatenate([np.zeros(0, dtype=bool), *[known[link.joint.kind] for link in mechanism.links]])
