"""planar(2) with q2 = 2 sin q1 under a constant torque (1, 0): the work done is q1."""

from __future__ import annotations

import numpy as np
import pytest

from blocks import Constant
from cosim import Diagram, simulate
from plant.gamma_q import RobotPlant, gamma, planar
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


def test_reference_rows():
    table = np.array(KNOWN["reference"]["rows"])
    r = planar2g(table[:, 0])
    q, qd, KE = r["robot.q"], r["robot.qd"], r["robot.KE"].ravel()
    accept = KNOWN["accept"]
    assert np.abs(q - table[:, 1:3]).max() < accept["q_abs"] / 10
    assert np.abs(qd - table[:, 3:5]).max() < accept["q_abs"]
    assert np.abs(KE - q[:, 0]).max() < accept["energy_minus_q1"] / 10
    assert np.abs(q[:, 1] - 2 * np.sin(q[:, 0])).max() < accept["constraint_residual"] / 10
    assert r["robot.residual"].ravel() == pytest.approx(0.0, abs=1e-7)
