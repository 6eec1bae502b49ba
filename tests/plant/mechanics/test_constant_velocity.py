"""Two shafts that meet at an angle, joined by CONSTANT_VELOCITY: they spin alike, and in the same sense."""

from __future__ import annotations

import numpy as np
import pytest

from cosim import Diagram, simulate
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantOutput,
    Force_Vector_OneBody,
    Model,
    Reference_Variable,
)
from plant.formats.motionsolve.reader import read_model
from plant.formats.motionsolve.writer import model_text
from tests.helpers.checked import closed_form
from tests.helpers.plants import Alone
from tests.helpers.trees import marker

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")

DRIVEN, OTHER, TORQUE = 0.2, 0.3, 0.75  # kg m^2 about the axes, N m


AWAY = np.diag([1.0, -1.0, -1.0])  # z the other way


def shafts(bend, away=False):
    """Shaft 2 along z up to (0, 0, 1), shaft 3 from there along z turned by `bend` [rad] about x.

    away : do the z axes of the joint's markers point away from it?
    """
    c, s = np.cos(bend), np.sin(bend)
    A = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    straight, meet, far = np.eye(3), np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0]) + A[:, 2]
    texts = ("WZ(20, 10, 10)", "WZ(30, 13, 13)", "AZ(20, 10)", "AZ(30, 13)")
    variables = [Reference_Variable(id=k, expr=text) for k, text in enumerate(texts, start=1)]
    return Model.build(
        [
            Body_Rigid(id=1, isground=True),
            marker(10, 1, np.zeros(3), straight),
            marker(13, 1, far, A),
            Body_Rigid(
                id=2, cg_id=20, mass=1.0, inertia_xx=0.1, inertia_yy=0.1, inertia_zz=DRIVEN
            ),
            marker(20, 2, np.zeros(3), straight),
            marker(21, 2, meet, AWAY if away else straight),
            Body_Rigid(id=3, cg_id=30, mass=1.0, inertia_xx=0.1, inertia_yy=0.1, inertia_zz=OTHER),
            marker(30, 3, far, A),
            marker(31, 3, meet, A),
            Constraint_Joint(id=1, type="REVOLUTE", i_marker_id=20, j_marker_id=10),
            Constraint_Joint(id=2, type="REVOLUTE", i_marker_id=30, j_marker_id=13),
            Constraint_Joint(id=3, type="CONSTANT_VELOCITY", i_marker_id=31, j_marker_id=21),
            Force_Vector_OneBody(
                id=1, type="TORQUEONLY", marker_id=20, ref_marker_id=10, tz_expression=str(TORQUE)
            ),
            *variables,
            Control_PlantOutput(id=1, label="shafts", variable_id_list=tuple(v.id for v in variables)),
        ]
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize(("bend", "away"), [(0.5, False), (-0.9, False), (0.5, True), (0.0, True)])
def test_shafts_that_meet_at_an_angle_spin_alike(checked, bend, away, coordinates):
    plant = Plant.from_model(shafts(bend, away), coordinates=coordinates)
    assert plant.info()["dof"] == 1
    d = Diagram("shafts")
    d.add("plant", plant)
    t = np.linspace(0.0, 2.0, 9)
    r = simulate(d, 2.0, log_at=t, engine="reference", rtol=1e-9, atol=1e-11)["plant.shafts"]
    rate = TORQUE / (DRIVEN + OTHER) * t
    expected = np.column_stack([rate, rate, rate * t / 2, rate * t / 2])
    oracle = closed_form("T t / (I1 + I2) of both, T t^2 / (2 I1 + 2 I2)")
    checked(r, expected, "shafts at an angle, CONSTANT_VELOCITY", "rates and angles", oracle, atol=1e-7)


@pytest.mark.parametrize("away", [False, True])
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_shafts_that_have_folded_beyond_a_right_angle_are_saved_as_they_are(away, coordinates):
    """A ball with its spin held, swung over: the file was read as the joint whose z axes point away."""
    bend = 0.4 + np.pi * away
    c, s = np.cos(bend), np.sin(bend)
    A = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    texts = [f"ACC{x}(20)" for x in "XYZ"] + [f"WDT{x}(20)" for x in "XYZ"]
    variables = [Reference_Variable(id=k, expr=text) for k, text in enumerate(texts, start=1)]
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            marker(10, 1, np.zeros(3), np.eye(3)),
            Body_Rigid(
                id=2, label="ball", cg_id=20, mass=1.0, inertia_xx=0.1, inertia_yy=0.2, inertia_zz=0.25,
                w_ic_x=2.0, w_ic_y=0.9,
            ),
            marker(20, 2, A @ [0.1, 0.2, 0.3], A),
            marker(21, 2, np.zeros(3), A),
            Constraint_Joint(id=1, type="CONSTANT_VELOCITY", i_marker_id=21, j_marker_id=10),
            *variables,
            Control_PlantOutput(id=1, label="y", variable_id_list=tuple(v.id for v in variables)),
        ]
    )  # fmt: skip
    plant, d = Plant.from_model(model, coordinates=coordinates), Diagram("ball")
    d.add("plant", plant)
    r = simulate(d, 0.8, log_at=[0.8], engine="reference")
    there = {name: np.asarray(r[f"plant.{name}"])[0] for name in plant.initial}
    text = model_text(plant, [there["ball.q"]], [there["ball.qd"]], there)
    tilt = read_model(text.encode()).frames[21][1][2, 2]
    assert (tilt > 0.3) if away else (tilt < -0.3)
    again = Plant.read(text.encode(), coordinates=coordinates)
    assert Alone(again).output("y") == pytest.approx(np.asarray(r["plant.y"])[0], abs=1e-7)
