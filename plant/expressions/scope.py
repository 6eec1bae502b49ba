"""The interface of a plant while one of its run-time expressions is turned into equations.

All values are symbols (``casadi.SX``); all vectors and matrices are given in the ground frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import casadi as ca

from plant.expressions.splines import SplineData
from plant.mechanics.turning import Turning


class Refusal(Exception):
    """A function, or the plant behind a `Scope`, cannot provide what an expression needs.

    Raise it with the bare reason: the expression that asked turns it into an `ExpressionError` with its
    text, a caret under the call and the place in the file.
    """


@dataclass(frozen=True, eq=False)
class MarkerState:
    """Position, orientation and motion of one marker, relative to and along the axes of ground.

    r : (3, 1) SX     origin [length]
    A : (3, 3) SX     columns are the marker's unit axes; A takes marker components to ground
    v : (3, 1) SX     velocity of the origin [length/time]
    w : (3, 1) SX     angular velocity [rad/time]
    a, al : (3, 1) SX, or None    acceleration of the origin and angular acceleration, where the plant
                      offers them
    """

    r: ca.SX
    A: ca.SX
    v: ca.SX
    w: ca.SX
    a: ca.SX | None = None
    al: ca.SX | None = None


class Scope(Protocol):
    """Values that a plant provides to evaluate an expression; any method may raise `Refusal`."""

    @property
    def time(self) -> ca.SX:
        """Simulated time."""
        ...

    def marker(self, id: int) -> MarkerState:
        """State of a Reference_Marker; id 0 is the ground frame itself."""
        ...

    def angle(self, turning: Turning, i: int, j: int, principal: ca.SX) -> ca.SX:
        """Angle of marker `i` relative to `j`.

        `principal` is its value in (-pi, pi]; a plant that counts turns returns a neighbouring branch.
        """
        ...

    def variable(self, id: int) -> ca.SX:
        """VARVAL: value of a Reference_Variable."""
        ...

    def array(self, id: int, k: int) -> ca.SX:
        """ARYVAL: component `k`, counted from 1, of a Reference_Array."""
        ...

    def state(self, id: int) -> ca.SX:
        """DIF: state of a Control_Diff."""
        ...

    def state_rate(self, id: int) -> ca.SX:
        """DIF1: time derivative of the state of a Control_Diff."""
        ...

    def plant_input(self, id: int, k: int) -> ca.SX:
        """PINVAL: value `k`, counted from 1, of a Control_PlantInput."""
        ...

    def plant_output(self, id: int, k: int) -> ca.SX:
        """POUVAL: value `k`, counted from 1, of a Control_PlantOutput."""
        ...

    def sensor(self, id: int) -> ca.SX:
        """SENVAL: last stored value of a Sensor_Evaluate."""
        ...

    def wheel(self, id: int) -> tuple[ca.SX, ca.SX]:
        """WHEELH and WHEELW: momentum of an Inertia_Wheel and its spin rate relative to its body."""
        ...

    def spline(self, id: int) -> SplineData:
        """Points of a Reference_Spline."""
        ...

    def force(self, function: str, ids: tuple[int, ...]) -> ca.SX:
        """Component of a force or torque: ``("FX", (i, j, k))``, ``("JOINT", (id, jflag, comp, rm))``.

        Omitted ids are given as 0: no marker J, ground axes.
        """
        ...

    def sliding(self, v: ca.SX, below: ca.SX, above: ca.SX, text: str) -> ca.SX | None:
        """Value of an expression that is `below` where v < 0 and `above` where v > 0, if v may slide at zero.

        None where it does not: the expression is then what its function says. text : as it is written
        """
        ...

    def passed(self, times: tuple[float, ...]) -> ca.SX:
        """The number of these instants, in ascending order, that simulated time has reached."""
        ...
