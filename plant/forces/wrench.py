"""The effects of a force element on a body."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from plant.mechanics.spatial import cross

NOTHING = ca.SX(3, 1)
"""No force, or no torque."""


@dataclass(frozen=True, eq=False)
class Wrench:
    """Force and torque on the body of a marker, in the ground frame.

    marker : int     id of the marker
    F, T : (3, 1)    force [force] at `at`, torque [force length]
    at : (3, 1)      where the force acts, in the ground frame; None: at the marker's own origin
    floats : bool    is the marker where the force acts, wherever the file puts it?
    """

    marker: int
    F: ca.SX
    T: ca.SX
    at: ca.SX | None = None
    floats: bool = False

    def torque_about(self, origin: ca.SX) -> ca.SX:
        """Torque about the marker [force length], (3, 1).

        origin : (3, 1) where the file puts the marker, in the ground frame; a floating one is at `at` instead
        """
        if self.at is None or self.floats:
            return self.T
        return self.T + cross(self.at - origin, self.F)


Applied = tuple[Wrench, ...]
"""The wrench on marker I comes first, the reaction on J second."""


@dataclass(frozen=True, eq=False)
class Spin:
    """The torques on an inertia wheel along its axis, all (1, 1).

    torque [force length] of its motor, momentum [force length time], rate [rad/time] in space
    """

    torque: ca.SX
    momentum: ca.SX
    rate: ca.SX
