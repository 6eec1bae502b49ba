"""Inertia wheels while a plant's equations are written: their states, momenta and energy.

A wheel of spin-axis moment Iw about the unit vector a of its body has the absolute spin rate s about a as its
only state. With the motor torque T on the wheel::

    Iw s' = T                                   h = Iw s
    torque on the body = -T a - w x (h a)       (reaction, and what turning the momentum takes)

which is d/dt (h a) with its sign turned, so that momentum is kept; the power of both is T (s - a.w). The rate
relative to the body is s - a.w. Kinetic energy h^2 / (2 Iw), momentum h a: the body has all else.

Source: Hughes, Spacecraft Attitude Dynamics, section 3.4; energies as in equation (1) of `plant.energy`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.block import Equations
from plant.assembly.initial_rates import Start, jacobian
from plant.elements import Inertia_Wheel
from plant.equations.setting import Setting
from plant.forces.wrench import Spin
from plant.mechanics.mechanism import GROUND, Mechanism
from plant.names import unique_names


@dataclass(frozen=True)
class WheelState:
    """One wheel's state: `name` in the plant, and the spin rate `start` [rad/time] at the beginning."""

    wheel: Inertia_Wheel
    name: str
    start: float


def wheel_states(
    wheels: Sequence[Inertia_Wheel], mechanism: Mechanism, q: Sequence[np.ndarray], qd: Sequence[np.ndarray]
) -> tuple[WheelState, ...]:
    """States of all wheels; their bodies start at coordinates q (nq,) and rates qd (nv,) per link."""
    names = unique_names([(w.label, "wheel", w.id) for w in wheels])
    if not wheels:
        return ()
    starts = mechanism.rate_starts
    at = Start(mechanism, list(q), mechanism.frames_at(q))
    rates = np.concatenate([np.zeros(0), *qd])
    found = []
    for wheel, name in zip(wheels, names, strict=True):
        place, carried = mechanism.place(wheel.marker_id), 0.0
        if place.link != GROUND:
            w = jacobian(at, place.link, at.frames[place.link][0], starts)[:3] @ rates
            carried = float(at.frames[place.link][1] @ place.A[:, 2] @ w)
        found.append(WheelState(wheel, f"{name}.spin", wheel.w_ic + carried))
    return tuple(found)


class Wheels:
    """The wheels' states as symbols.

    Parameters
    ----------
    b : Equations
    states : as `wheel_states` gives them
    """

    def __init__(self, b: Equations, states: Sequence[WheelState]) -> None:
        self._b, self._wheels = b, {state.wheel.id: state.wheel for state in states}
        self._handles: dict[int, Any] = {
            s.wheel.id: b.continuous(s.name, s.start, static="hold", labels=["spin rate"]) for s in states
        }
        self._spins: Mapping[int, ca.SX] = {id: ca.SX(handle) for id, handle in self._handles.items()}

    def __iter__(self) -> Iterator[Inertia_Wheel]:
        return iter(self._wheels.values())

    def momentum(self, values: Setting, wheel: Inertia_Wheel) -> ca.SX:
        """h along the axis [force length time], the model's unit factor in it; 0 of one switched off."""
        if wheel.id not in self._spins:
            return ca.SX(0)
        return ca.SX(values.number(wheel, "inertia") * values.model.units.factor * self._spins[wheel.id])

    def rate(self, values: Setting, wheel: Inertia_Wheel) -> ca.SX:
        """Spin rate relative to the body; 0 of a wheel that is switched off."""
        if wheel.id not in self._spins:
            return ca.SX(0)
        return self._spins[wheel.id] - ca.dot(
            axis(values, wheel), values.kinematics.marker(wheel.marker_id).w
        )

    def torque(self, values: Setting, wheel: Inertia_Wheel) -> ca.SX:
        """What the motor exerts on the wheel."""
        return values.expression(wheel, "torque_expression")

    def spun(self, values: Setting, wheel: Inertia_Wheel) -> Spin:
        """What turns a wheel."""
        return Spin(self.torque(values, wheel), self.momentum(values, wheel), self._spins[wheel.id])

    def kinetic(self, values: Setting, wheel: Inertia_Wheel) -> ca.SX:
        """h^2 / (2 Iw)."""
        return self.momentum(values, wheel) * self._spins[wheel.id] / 2

    def momenta(self, values: Setting) -> list[ca.SX]:
        """(3, 1) momentum of every wheel in the ground frame."""
        return [self.momentum(values, w) * axis(values, w) for w in self]

    def states(self, values: Setting) -> Iterator[tuple[ca.SX, Any]]:
        """Every state with its rate."""
        for id, symbol in self._spins.items():
            yield symbol, lambda id=id: self._acceleration(values, id)

    def _acceleration(self, values: Setting, id: int) -> ca.SX:
        wheel = self._wheels[id]
        inertia = values.number(wheel, "inertia") * values.model.units.factor
        return ca.SX(self.torque(values, wheel) / inertia)

    def declare(self, values: Setting) -> None:
        """Give every state its rate."""
        for id, handle in self._handles.items():
            self._b.derivative(handle, self._acceleration(values, id))


def axis(values: Setting, wheel: Inertia_Wheel) -> ca.SX:
    """(3, 1) spin axis in the ground frame."""
    return values.kinematics.marker(wheel.marker_id).A[:, 2]
