"""A plant written in Python: an inverted rod on a motor, balanced, and the margins of its loop.

The elements of MotionSolve's XML are classes; what is an attribute there is a field here. A rod of mass m and
length L stands on a hinge with axis y; a motor turns the hinge. With theta from upright and J = m L^2 / 3::

    J theta'' = m g L / 2 sin(theta) + u,    u = -kp theta - kd theta'

The open loop is (kd s + kp) / (J s^2 - m g L / 2), whose margins python-control knows.

::

    python examples/pendulum_in_python.py
"""

from __future__ import annotations

from typing import NamedTuple

import control
import numpy as np

from blocks import StateFeedback
from cosim import Diagram, linearize, margins, simulate
from plant import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantInput,
    Control_PlantOutput,
    Force_Gravity,
    Force_Vector_OneBody,
    Model,
    Plant,
    Reference_Marker,
    Reference_Variable,
)

m, L, g = 0.2, 0.6, 9.81  # kg, m, m/s^2
kp, kd = 3.0, 0.25  # N m per rad, N m s per rad
J = m * L**2 / 3
AXIS_ALONG_Y = {"a00": 1, "a10": 0, "a20": 0, "a01": 0, "a11": 0, "a21": -1, "a02": 0, "a12": 1, "a22": 0}


class Found(NamedTuple):
    """Least gain (as a factor), phase margins [deg] and poles [1/s]; where the rod is in the end [rad]."""

    gain: float
    known_gain: float
    phase: float
    known_phase: float
    poles: np.ndarray
    known_poles: np.ndarray
    angle: float


def rod() -> Plant:
    """The rod: input "torque" [N m], output "angle": theta [rad] and theta' [rad/s]."""
    inertia = m * L**2 / 12
    elements = [
        Force_Gravity(grav_z=-g),
        Body_Rigid(id=1, isground=True),
        Reference_Marker(id=10, body_id=1, **AXIS_ALONG_Y),
        Body_Rigid(id=2, cg_id=20, mass=m, inertia_xx=inertia, inertia_yy=inertia, inertia_zz=1e-6),
        Reference_Marker(id=20, body_id=2, pos_z=L / 2),
        Reference_Marker(id=21, body_id=2, **AXIS_ALONG_Y),
        Constraint_Joint(id=1, label="hinge", type="REVOLUTE", i_marker_id=21, j_marker_id=10),
        Reference_Variable(id=1, expr="0"),  # what the input port sets
        Control_PlantInput(id=1, label="torque", variable_id_list=(1,)),
        Force_Vector_OneBody(
            id=1, type="TorqueOnly", marker_id=21, ref_marker_id=10, tz_expression="VARVAL(1)"
        ),
        Reference_Variable(id=2, expr="AZ(21,10)"),
        Reference_Variable(id=3, expr="WZ(21,10,10)"),
        Control_PlantOutput(id=1, label="angle", variable_id_list=(2, 3)),
    ]
    return Plant.from_model(Model.build(elements))


def loop() -> Diagram:
    """The rod with its controller."""
    d = Diagram("rod")
    d.add("rod", rod())
    d.add("c", StateFeedback([[kp, kd]]))
    d.connect("rod.angle -> c.x", "c.u -> rod.torque")
    return d


def main() -> Found:
    """Margins and poles as found and as known, and the rod let go at 0.3 rad."""
    d = loop()
    gain, phase, _, crossover = control.margin(control.tf([kd, kp], [J, 0, -m * g * L / 2]))
    known = np.sort_complex(np.roots([J, kd, kp - m * g * L / 2]))
    result = simulate(d, until=3.0, initial={"rod.hinge.q": 0.3}, log_every=0.01)
    found = margins(d, at="c.u")
    print(found)
    print(f"known (python-control): gain {gain:.4g}, phase {phase:.6f} deg at {crossover:.6f} rad/s")
    poles = np.sort_complex(linearize(d).poles())
    return Found(found.gain[0], gain, found.phase, phase, poles, known, float(result["rod.angle"][-1, 0]))


if __name__ == "__main__":
    print(main())
