"""Motions: prescribed displacements, velocities and accelerations, and what they cost."""

from __future__ import annotations

import numpy as np
import pytest

from blocks import Constant
from cosim import Diagram, simulate
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantInput,
    Control_PlantOutput,
    Force_Gravity,
    Model,
    Motion_Joint,
    Motion_Marker,
    Reference_Marker,
    Reference_Variable,
)

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")
TIMES = np.array([0.0, 0.3, 1.0])


def outputs(*texts):
    found = [Reference_Variable(id=k, expr=text) for k, text in enumerate(texts, start=100)]
    return [*found, Control_PlantOutput(id=1, label="y", variable_id_list=tuple(v.id for v in found))]


def wheel(*elements, type="REVOLUTE", texts=("AZ(20,10)", "WZ(20,10)", "WDTZ(20,10)", "MOTION(1,0,8,0)")):
    """One body of inertia 2 and mass 3 on a joint along global z."""
    return Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1),
            Body_Rigid(id=2, cg_id=20, mass=3.0, inertia_xx=1.0, inertia_yy=1.0, inertia_zz=2.0),
            Reference_Marker(id=20, body_id=2),
            Constraint_Joint(id=1, label="axle", type=type, i_marker_id=20, j_marker_id=10),
            Force_Gravity(grav_z=-9.81),
            *elements,
            *outputs(*texts),
        ]
    )


def run(model, coordinates="joint"):
    d = Diagram("motion")
    plant = d.add("plant", Plant.from_model(model, coordinates=coordinates))
    for name in plant.block.inputs if hasattr(plant, "block") else ():
        d.ground(f"plant.{name}")
    return simulate(d, until=1.0, log_at=TIMES, rtol=1e-10, atol=1e-12, engine="reference")["plant.y"]


def sine(t):
    """Value, rate and second rate of 0.2 sin 3t + t^2."""
    return 0.2 * np.sin(3 * t) + t**2, 0.6 * np.cos(3 * t) + 2 * t, -1.8 * np.sin(3 * t) + 2


LEVELS = {
    "D": {"val_type": "D", "expr": "0.2*SIN(3*TIME) + TIME**2"},
    "V": {"val_type": "V", "expr": "0.6*COS(3*TIME) + 2*TIME", "ic_disp": 0.0},
    "A": {"val_type": "A", "expr": "-1.8*SIN(3*TIME) + 2", "ic_disp": 0.0, "ic_vel": 0.6},
}


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("level", "DVA")
def test_driven_turn_and_its_torque(level, coordinates):
    y = run(wheel(Motion_Joint(id=1, joint_id=1, joint_type="R", **LEVELS[level])), coordinates)
    q, qd, qdd = sine(TIMES)
    assert y == pytest.approx(np.array([q, qd, qdd, 2.0 * qdd]).T, abs=1e-8)


def test_initial_displacement_of_a_velocity_motion():
    y = run(wheel(Motion_Joint(id=1, joint_id=1, val_type="V", expr="2", ic_disp=0.5)))
    assert y[:, 0] == pytest.approx(0.5 + 2 * TIMES)


def test_driven_slide_carries_the_weight():
    motion = Motion_Joint(id=1, joint_id=1, joint_type="T", expr="STEP5(TIME, 0, 0, 1, 0.4)")
    model = wheel(
        motion, type="TRANSLATIONAL", texts=("DZ(20,10,10)", "ACCZ(20)", "MOTION(1,0,4,0)", "FZ(20,10)")
    )
    y = run(model)
    assert y[-1, 0] == pytest.approx(0.4, abs=1e-9)
    assert y[:, 2] == pytest.approx(3.0 * (9.81 + y[:, 1]))
    assert y[:, 3] == pytest.approx(y[:, 2])  # the joint itself carries nothing along its axis


@pytest.mark.parametrize("direction", ["X", "Y", "Z"])
def test_marker_motion_along_an_axis(direction):
    motion = Motion_Marker(id=1, i_marker_id=20, j_marker_id=10, direction=direction, expr="0.1*TIME**2")
    model = wheel(motion, type="FREE", texts=(f"D{direction}(20)", f"ACC{direction}(20)"))
    y = run(model)
    assert y == pytest.approx(np.array([0.1 * TIMES**2, 0.2 + 0 * TIMES]).T, abs=1e-9)


@pytest.mark.parametrize("direction", ["B1", "B2", "B3"])
def test_marker_motion_about_an_axis(direction):
    motions = [
        Motion_Marker(
            id=k,
            i_marker_id=20,
            j_marker_id=10,
            direction=name,
            expr="0.3*TIME" if name == direction else "0.2",
        )
        for k, name in enumerate(("B1", "B2", "B3"), start=1)
    ]
    model = wheel(*motions, type="SPHERICAL", texts=("YAW(20,10)", "WM(20)"))
    plant = Plant.from_model(model)
    assert plant.info()["dof"] == 0
    y = run(model)
    rate = {"B1": 1.0, "B2": 1.0, "B3": 1.0}[direction]  # each angle turns about a unit axis
    assert y[:, 1] == pytest.approx(0.3 * rate, abs=1e-8)


def test_acceleration_from_a_plant_input():
    elements = [
        Reference_Variable(id=1, expr="0"),
        Control_PlantInput(id=5, label="u", variable_id_list=(1,)),
        Motion_Joint(id=1, joint_id=1, joint_type="R", val_type="A", expr="VARVAL(1)"),
    ]
    d = Diagram("driven")
    plant = d.add("plant", Plant.from_model(wheel(*elements)))
    d.connect(d.add("u", Constant(1.5))["y"], plant["u"])
    r = simulate(d, until=1.0, log_at=TIMES, engine="reference")
    assert r["plant.y"][:, 0] == pytest.approx(0.75 * TIMES**2, abs=1e-9)
