"""Rates a mechanism starts with: on every branch that goes on from the pose, and in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plant.assembly.branches import Branches
from plant.mechanics.mechanism import Mechanism
from plant.mechanics.rank import MassRoot


@dataclass(frozen=True, eq=False)
class Rates:
    """Rates at a start.

    root : of the mass matrix; branches : rates in its metric
    free : (n, k)    directions in that metric which neither constraints nor given velocities decide
    travels : (n,)   size of the mechanism for rates that travel, 1 for those that turn
    """

    root: MassRoot
    branches: Branches
    free: np.ndarray
    travels: np.ndarray

    def of(self, k: int) -> np.ndarray:
        """(n,) rates on branch k; that of least energy is the first."""
        found = self.root.rates(self.branches.x[k])
        share = np.abs(found) / self.travels
        found[share < 1e-15 * max(1.0, share.max(initial=0.0))] = 0.0
        return np.asarray(found)


def singular_start(mechanism: Mechanism, joints: list[str], rates: Rates) -> str:
    """The warning about a start at a pose from which a mechanism can continue in several ways."""
    text = (
        f"{', '.join(joints)}: the start is a singular pose (axes or bars in line), from which the "
        "mechanism can go on in several ways"
    )
    if not np.any(rates.of(0)):
        return f"{text}; at rest rounding decides which. Give an initial velocity, or start beside the pose."
    if rates.branches.kept and not rates.free.shape[1]:
        return f"{text}; the given rates choose one."
    every = [named_rates(mechanism, rates.of(k)) for k in range(len(rates.branches.x))]
    others = "".join(f"; another one has {_shown(found)}" for found in every[1:])
    return (
        f"{text}. Too few rates are given, so the way with the least kinetic energy is taken: "
        f"{_shown(every[0])}{others}. Give the initial velocity of one more body to choose."
    )


def named_rates(mechanism: Mechanism, qd: np.ndarray) -> dict[str, float]:
    """Rates of all joints by the names of their states."""
    found = {}
    for link, part in zip(mechanism.links, mechanism.rates_by_link(qd), strict=True):
        for name, value in zip(link.joint.rates, part, strict=True):
            found[f"{link.name}.qd ({name})"] = float(value)
    return found


def _shown(rates: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.6g}" for name, value in list(rates.items())[:6])


def null_space(A: np.ndarray) -> np.ndarray:
    """(n, n - rank) orthonormal columns with A N = 0."""
    _, s, V = np.linalg.svd(A)
    rank = int((s > 1e-10 * s.max(initial=0.0)).sum())
    return np.asarray(V[rank:].T)
