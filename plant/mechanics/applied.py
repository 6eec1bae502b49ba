"""What acts on a mechanism besides its constraints, whatever applies it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca


@dataclass(frozen=True, eq=False)
class Penalty:
    """One penalty force, all (1, 1): violation g, its rate along the motion, and the force factor F.

    source : what applies it; the mechanics do not look at it
    """

    source: Any
    g: ca.SX
    rate: ca.SX
    F: ca.SX


Penalties = Mapping[tuple[str, int], Penalty]
"""By kind and number of what applies them."""


@dataclass(frozen=True, eq=False)
class Loads:
    """The loads on a mechanism besides its constraints.

    gravity : (3, 1)       acceleration in the ground frame
    on_links : dict        link -> (6, 1) force [n; f] at its origin and along its axes, of the force elements
    tau : dict             link -> (nv, 1) generalized force of penalties on its joint
    penalties : mapping    the penalty forces themselves
    """

    gravity: ca.SX
    on_links: dict[int, ca.SX]
    tau: dict[int, ca.SX]
    penalties: Penalties

    def flat(self) -> list[ca.SX]:
        """All expressions."""
        parts = [part for p in self.penalties.values() for part in (p.g, p.rate, p.F)]
        return [self.gravity, *self.on_links.values(), *self.tau.values(), *parts]

    def filled(self, parts: Sequence[ca.SX]) -> Loads:
        """The loads with other expressions, in the order of `flat`."""
        left = iter(parts)
        gravity = next(left)
        on_links = {link: next(left) for link in self.on_links}
        tau = {link: next(left) for link in self.tau}
        penalties = {
            key: replace(p, g=next(left), rate=next(left), F=next(left)) for key, p in self.penalties.items()
        }
        return Loads(gravity, on_links, tau, penalties)
