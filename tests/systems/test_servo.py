"""Servo constraints: the tip of a two-link arm follows a path, torques at the joints make it do so.

Reference: analytic inverse kinematics and inverse dynamics.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from blocks import Constant, Mux
from cosim import Diagram, simulate
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantOutput,
    Force_Gravity,
    Force_Vector_TwoBody,
    Model,
    Reference_Variable,
)
from tests.helpers.checked import closed_form
from tests.helpers.loops import at, bar, largest_residual
from tests.helpers.plants import DATA, deck, reference

KNOWN = reference("servo_constraint_2R")
ROWS = np.array(KNOWN["reference"]["rows"])
pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")


INVERSE = closed_form("inverse kinematics and inverse dynamics")


def arm():
    """Two rods of 1 m and 1 kg; the tip on a circle."""
    q1, q2 = ROWS[0, 1:3]
    elbow = np.array([np.cos(q1), np.sin(q1)])
    along = np.array([np.cos(q1 + q2), np.sin(q1 + q2)])
    motor = {"type": "TORQUEONLY", "ref_marker_id": 77}
    texts = ("AZ(33,44)", "AZ(55,66)", "WZ(33,44)", "WZ(55,66)", "VARVAL(1)", "VARVAL(2)")
    found = [Reference_Variable(id=k, expr=text) for k, text in enumerate(texts, start=10)]
    servo = {"is_implicit": True, "autobalance": "DISABLED"}
    return Model.build(
        [
            Body_Rigid(id=1, isground=True),
            at(44, 1, 0.0, 0.0),
            at(77, 1, 0.0, 0.0),
            Force_Gravity(grav_y=-9.81),
            Body_Rigid(**bar(2, 1.0, 1.0)),
            at(20, 2, *elbow / 2, q1),
            at(33, 2, 0.0, 0.0, q1),
            at(66, 2, *elbow, q1),
            Body_Rigid(**bar(3, 1.0, 1.0)),
            at(30, 3, *(elbow + along / 2), q1 + q2),
            at(55, 3, *elbow, q1 + q2),
            at(2011, 3, *(elbow + along), q1 + q2),
            Constraint_Joint(id=1, type="REVOLUTE", i_marker_id=33, j_marker_id=44),
            Constraint_Joint(id=2, type="REVOLUTE", i_marker_id=55, j_marker_id=66),
            Reference_Variable(id=1, expr="DX(2011) - 1 - 0.3*COS(2*TIME)", **servo),
            Reference_Variable(id=2, expr="DY(2011) - 0.6 - 0.3*SIN(2*TIME)", **servo),
            Force_Vector_TwoBody(
                id=1, i_marker_id=33, j_floating_marker_id=44, tz_expression="VARVAL(1)", **motor
            ),
            Force_Vector_TwoBody(
                id=2, i_marker_id=55, j_floating_marker_id=66, tz_expression="VARVAL(2)", **motor
            ),
            *found,
            Control_PlantOutput(id=1, label="y", variable_id_list=tuple(v.id for v in found)),
        ]
    )


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_circle(checked, coordinates):
    d = Diagram("servo")
    d.add("plant", Plant.from_model(arm(), coordinates=coordinates))
    r = simulate(d, until=3.0, log_at=ROWS[:, 0], rtol=1e-9, atol=1e-11)
    checked(
        r["plant.y"], ROWS[:, 1:], "two-link arm on a circle", "angles, rates and torques", INVERSE, atol=1e-8
    )


def test_path_is_kept_at_every_step():
    assert largest_residual(Plant.from_model(arm()), 1.0) < 1e-10


@pytest.mark.parametrize("coordinates", [pytest.param("joint", marks=pytest.mark.slow), "absolute"])
@pytest.mark.parametrize("case", [0, 1])
def test_published_model(checked, case, coordinates):
    expected = json.loads((DATA / "models" / "robot_2d.expected.json").read_text())
    known = expected["cases"][case]
    d = Diagram("robot")
    plant = d.add("plant", Plant.read(deck("robot_2d.xml"), coordinates=coordinates))
    mux = d.add("load", Mux(2))
    for k, axis in enumerate("xy", start=1):
        source = d.add(f"f{axis}", Constant(float(known["inputs"][f"tip_load_{axis}"])))
        d.connect(source["y"], mux[f"in{k}"])
    d.connect(mux["out"], plant["tip_load"])
    times = np.array(known["times"])[::10]
    r = simulate(d, until=times[-1], log_at=times, rtol=1e-9, atol=1e-11)
    for name, column in (("tau1", 0), ("tau2", 1)):
        want = np.array(known["outputs"][name])[::10]
        checked(r["plant.motor_torques"][:, column], want, "model robot_2d", name, INVERSE, atol=1e-5)
    for name, column in (("q1", 0), ("q2", 1), ("tip_x", 2), ("tip_y", 3)):
        want = np.array(known["outputs"][name])[::10]
        checked(r["plant.arm_pose"][:, column], want, "model robot_2d", name, INVERSE, atol=1e-8)
