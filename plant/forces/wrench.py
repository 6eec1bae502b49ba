"""The effects of a force element on a body."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

NOTHING = ca.SX(3, 1)
"""No force, or no torque."""


@dataclass(frozen=True, eq=False)
class Wrench:
    """Force and torque on the body of a marker, in the ground frame.

    marker : int     id of the marker
    F, T : (3, 1)    force [force] at `at`, torque [force length]
    at : (3, 1)      where the force acts, in the ground frame; None: at the marker's own origin
    """

    marker: int
    F: ca.SX
    T: ca.SX
    at: ca.SX | None = None


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
