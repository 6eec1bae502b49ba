"""planar(2) with q2 = 2 sin q1 under a constant torque (1, 0): the work done is q1."""

from __future__ import annotations

import numpy as np
import pytest

from blocks import Constant
from cosim import Diagram, simulate
from plant.gamma_q import RobotPlant, gamma, planar
from tests.helpers.checked import closed_form, independent
from tests.helpers.plants import reference

KNOWN = reference("planar2g")


def robot() -> Diagram:
    d = Diagram("planar2g")
    law = gamma(lambda y: [y[0], 2 * np.sin(y[0])], independent=[0], Tstab=0.1)
    geared = d.add("robot", RobotPlant(planar(2), constraint=law))
    d.connect(d.add("torque", Constant(KNOWN["parameters"]["tau"]))["y"], geared["tau"])
    return d


def planar2g(times):
    return simulate(robot(), until=times[-1], log_at=times, rtol=1e-10, atol=1e-12, engine="reference")


def test_reference_rows(checked):
    table = np.array(KNOWN["reference"]["rows"])
    r = planar2g(table[:, 0])
    q, qd, KE = r["robot.q"], r["robot.qd"], r["robot.KE"].ravel()
    accept = KNOWN["accept"]
    robot, ode = (
        "planar2 with q2 = 2 sin q1",
        independent("DOP853 of SciPy; a quadrature in time agrees to 4e-13 s"),
    )
    checked(q, table[:, 1:3], robot, "coordinates", ode, atol=accept["q_abs"] / 10)
    checked(qd, table[:, 3:5], robot, "rates", ode, atol=accept["q_abs"])
    work = closed_form("work of a constant torque 1 is q1")
    checked(KE, q[:, 0], robot, "kinetic energy", work, atol=accept["energy_minus_q1"] / 10)
    law = closed_form("q2 = 2 sin q1")
    checked(q[:, 1], 2 * np.sin(q[:, 0]), robot, "constraint", law, atol=accept["constraint_residual"] / 10)
    assert r["robot.residual"].ravel() == pytest.approx(0.0, abs=1e-7)
