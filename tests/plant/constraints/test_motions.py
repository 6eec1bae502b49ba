"""Motions: prescribed displacements, velocities and accelerations, and what they cost."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from blocks import Constant, Hold, Sine, Step
from blocks.errors import ModelError
from cosim import Diagram, linearize, simulate
from plant import Plant, PlantWarning
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantInput,
    Control_PlantOutput,
    Force_Gravity,
    Force_Penalty,
    Model,
    Motion_Joint,
    Motion_Marker,
    Reference_Marker,
    Reference_Variable,
)
from tests.helpers.checked import closed_form
from tests.helpers.plants import Alone

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
def test_driven_turn_and_its_torque(checked, level, coordinates):
    y = run(wheel(Motion_Joint(id=1, joint_id=1, joint_type="R", **LEVELS[level])), coordinates)
    q, qd, qdd = sine(TIMES)
    law, name = closed_form("the given motion, torque I q''"), f"Motion_Joint by {level}"
    checked(y, np.array([q, qd, qdd, 2.0 * qdd]).T, name, "angle, rates and torque", law, atol=1e-8)


def test_initial_displacement_of_a_velocity_motion():
    y = run(wheel(Motion_Joint(id=1, joint_id=1, val_type="V", expr="2", ic_disp=0.5)))
    assert y[:, 0] == pytest.approx(0.5 + 2 * TIMES)


def other_wheel():
    """Free, and at 3 rad/s."""
    return (
        Body_Rigid(
            id=3,
            cg_id=30,
            mass=1.0,
            inertia_xx=1.0,
            inertia_yy=1.0,
            inertia_zz=1.0,
            w_ic_z=3.0,
            w_ic_z_flag=True,
        ),
        Reference_Marker(id=30, body_id=3),
        Reference_Marker(id=11, body_id=1),
        Constraint_Joint(id=2, type="REVOLUTE", i_marker_id=30, j_marker_id=11),
    )


def test_a_rate_may_depend_on_velocities_and_a_displacement_may_not():
    def model(level):
        motion = Motion_Joint(id=1, joint_id=1, joint_type="R", val_type=level, expr="2*WZ(30,11)")
        return wheel(motion, *other_wheel())

    with pytest.raises(ModelError, match='depends on velocities, but a motion of val_type "D"'):
        Plant.from_model(model("D"))
    assert run(model("V"))[:, 0] == pytest.approx(6.0 * TIMES)


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
def test_marker_motion_along_an_axis(checked, direction):
    motion = Motion_Marker(id=1, i_marker_id=20, j_marker_id=10, direction=direction, expr="0.1*TIME**2")
    model = wheel(motion, type="FREE", texts=(f"D{direction}(20)", f"ACC{direction}(20)"))
    y, law = run(model), closed_form("the given motion")
    expected = np.array([0.1 * TIMES**2, 0.2 + 0 * TIMES]).T
    checked(y, expected, f"Motion_Marker along {direction}", "way and acceleration", law, atol=1e-9)


def test_a_motion_that_a_joint_leaves_no_room_for_is_told():
    """At the start it agrees with the hinge; later it cannot be followed."""
    motion = Motion_Marker(id=1, i_marker_id=20, j_marker_id=10, direction="B1", expr="0.1*TIME**2")
    with pytest.warns(PlantWarning, match=r"Motion_Marker id=1: 1 of its 1 conditions.*is not followed"):
        y = run(wheel(motion, texts=("AX(20,10)",)))
    assert y == pytest.approx(np.zeros((3, 1)), abs=1e-12)


@pytest.mark.parametrize("direction", ["Y", "B3"])
@pytest.mark.parametrize(("val_type", "expr"), [("V", "0.2*TIME"), ("A", "0.2")])
def test_marker_motion_on_rates(val_type, expr, direction):
    """The same motion given by its velocity or its acceleration, along an axis and about one."""
    motion = Motion_Marker(
        id=1, i_marker_id=20, j_marker_id=10, direction=direction, val_type=val_type, expr=expr
    )
    turns = direction == "B3"
    texts = ("YAW(20,10)", "WDTZ(20)") if turns else ("DY(20)", "ACCY(20)")
    y = run(wheel(motion, type="REVOLUTE" if turns else "FREE", texts=texts))
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


ACROSS = {"theta": np.pi / 2, "psi": np.pi / 2}  # z along x


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("direction", ["B1", "B3"])
@pytest.mark.parametrize(
    ("law", "start"),
    [
        ({"expr": "9*TIME**2"}, 0.0),
        ({"expr": "9*TIME**2 - 4"}, 2 * np.pi - 4.0),
        ({"val_type": "V", "expr": "18*TIME", "ic_disp": 4.0}, 4.0 - 2 * np.pi),
    ],
)
def test_a_body_angle_is_driven_through_full_turns(law, start, direction, coordinates):
    """At half a turn such a motion could not be met any more, nor could one that begins beyond that."""
    axis = {"B1": ("X", ACROSS), "B3": ("Z", {})}[direction]
    letter, turned = axis
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1),
            Reference_Marker(id=11, body_id=1, **turned),
            Body_Rigid(id=2, cg_id=20, mass=3.0, inertia_xx=2.0, inertia_yy=2.0, inertia_zz=2.0),
            Reference_Marker(id=20, body_id=2),
            Reference_Marker(id=21, body_id=2, **turned),
            Constraint_Joint(id=1, label="axle", type="REVOLUTE", i_marker_id=21, j_marker_id=11),
            Motion_Marker(id=1, i_marker_id=20, j_marker_id=10, direction=direction, **law),
            *outputs(f"A{letter}(20,10)", f"W{letter}(20)", f"MOTION(1,0,{'68'[letter == 'Z']})"),
        ]
    )
    y = run(model, coordinates)
    angle = y[:, 0] - 9 * TIMES**2 - start
    assert np.exp(1j * angle) == pytest.approx(1.0, abs=1e-8) and np.ptp(angle) < 1e-8
    assert y[:, 1] == pytest.approx(18 * TIMES, abs=1e-8) and y[:, 2] == pytest.approx(36.0, abs=1e-8)


def test_driven_body_angles_turn_one_after_the_other_about_axes_that_turn_along():
    """A = Rx(b1) Ry(b2) Rz(b3): the columns are where points on the axes of the body are."""
    angles = (0.4, -0.7, 1.1)
    turns = [
        Motion_Marker(id=k, i_marker_id=20, j_marker_id=10, direction=f"B{k}", expr=str(angle))
        for k, angle in enumerate(angles, start=1)
    ]
    ends = [Reference_Marker(id=21, body_id=2, pos_x=1.0), Reference_Marker(id=22, body_id=2, pos_y=1.0)]
    texts = [f"D{axis}({end},20)" for end in (21, 22) for axis in "XYZ"]
    model = wheel(*turns, *ends, type="SPHERICAL", texts=texts)
    expected = Rotation.from_euler("XYZ", angles).as_matrix()[:, :2].T.ravel()
    for coordinates in ("joint", "absolute"):
        y = Alone(Plant.from_model(model, coordinates=coordinates)).output("y")
        assert y == pytest.approx(expected, abs=1e-9)


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


# --- behind a filter -------------------------------------------------------------------------------------
TAU, W = 0.05, 7.0
LATER = np.array([0.0, 0.04, 0.3, 1.0, 1.5])


def after_the_filter(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """y, y', y'' of tau^2 y'' + 2 tau y' + y = sin W t from rest: steady sine plus (a + b t) e^(-t/tau)."""
    H = 1 / (1 + 1j * W * TAU) ** 2
    steady = [np.imag((1j * W) ** n * H * np.exp(1j * W * t)) for n in range(3)]
    a = -np.imag(H)
    b = a / TAU - np.imag(1j * W * H)
    e = np.exp(-t / TAU)
    c = b - a / TAU
    return steady[0] + (a + b * t) * e, steady[1] + (c - b * t / TAU) * e, (
        steady[2] + (-b / TAU - (c - b * t / TAU) / TAU) * e
    )  # fmt: skip


def driven_by_a_port(expr="VARVAL(1)", val_type="D", **more):
    return [
        Reference_Variable(id=1, expr="0"),
        Control_PlantInput(id=5, label="u", variable_id_list=(1,), hold_order=0),
        Motion_Joint(id=1, joint_id=1, joint_type="R", val_type=val_type, expr=expr, **more),
    ]


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_filtered_input_drives_a_turn(checked, engine, coordinates):
    plant = Plant.from_model(wheel(*driven_by_a_port()), coordinates=coordinates)
    plant = plant.with_port("u", filter=TAU)
    d = Diagram("filtered")
    d.connect(d.add("u", Sine(frequency=W))["y"], d.add("plant", plant)["u"])
    r = simulate(d, until=1.5, log_at=LATER, rtol=1e-10, atol=1e-12, engine=engine)
    y, rate, second = after_the_filter(LATER)
    law, expected = (
        closed_form("steady sine and (a + b t) exp(-t/tau)"),
        np.array([y, rate, second, 2.0 * second]).T,
    )
    checked(
        r["plant.y"], expected, "turn driven by a filtered input", "angle, rates and torque", law, atol=1e-7
    )


def test_a_filtered_input_drives_a_rate():
    model = wheel(*driven_by_a_port(val_type="V", ic_disp=0.0))
    d = Diagram("filtered")
    p = d.add("plant", Plant.from_model(model).with_port("u", filter=TAU))
    d.connect(d.add("u", Sine(frequency=W))["y"], p["u"])
    r = simulate(d, until=1.5, log_at=LATER, rtol=1e-10, atol=1e-12, engine="reference")
    y, rate, _ = after_the_filter(LATER)
    assert r["plant.y"][:, 1:] == pytest.approx(np.array([y, rate, 2.0 * rate]).T, abs=1e-8)


def test_a_filtered_input_may_jump_at_ticks():
    """A sample held from t = 0.2 on: the step response 1 - (1 + s) e^-s, s = (t - 0.2)/tau."""
    d = Diagram("held")
    p = d.add("plant", Plant.from_model(wheel(*driven_by_a_port())).with_port("u", filter=TAU))
    d.connect(d.add("u", Step(time=0.2, after=0.7))["y"], (h := d.add("h", Hold(0, sample=0.1)))["u"])
    d.connect(h["y"], p["u"])
    r = simulate(d, until=0.5, log_at=[0.1, 0.2, 0.3, 0.5], rtol=1e-10, atol=1e-12, engine="reference")
    s = np.array([0.0, 0.0, 0.1, 0.3]) / TAU
    expected = 0.7 * np.array([1 - (1 + s) * np.exp(-s), s * np.exp(-s) / TAU]).T
    assert r["plant.y"][:, :2] == pytest.approx(expected, abs=1e-8)
    assert r["plant.y"][:, 2] == pytest.approx([0, 0.7 / TAU**2, *(0.7 * (1 - s) * np.exp(-s) / TAU**2)[2:]])


@pytest.mark.parametrize("expr", ["TIME", "5 + TIME", "SIN(TIME) + 1"])
def test_filter_starts_at_zero_where_the_variable_is_no_number(expr):
    elements = driven_by_a_port("VARVAL(1) + 0.1*TIME")
    elements[0] = Reference_Variable(id=1, expr=expr)
    plant = Plant.from_model(wheel(*elements)).with_port("u", filter=TAU)
    assert plant.initial["u.filtered"] == plant.initial["u.filtered_rate"] == pytest.approx([0.0])


def test_filter_starts_where_the_variable_stands():
    elements = driven_by_a_port("VARVAL(1) + 0.1*TIME")
    elements[0] = Reference_Variable(id=1, expr="0.3")
    plant = Plant.from_model(wheel(*elements)).with_port("u", filter=TAU)
    assert plant.initial["u.filtered"] == pytest.approx([0.3])
    assert plant.initial["axle.q"] == pytest.approx([0.3])
    assert plant.initial["axle.qd"] == pytest.approx([0.1])
    d = Diagram("still")
    d.connect(d.add("u", Constant(0.3))["y"], d.add("plant", plant)["u"])
    r = simulate(d, until=1.0, log_at=TIMES, engine="reference")
    assert r["plant.y"][:, 0] == pytest.approx(0.3 + 0.1 * TIMES, abs=1e-9)


def test_damped_penalty_follows_the_rate_of_a_filtered_input():
    """penalty1 acts on the rate of the difference: the target's own rate makes no force."""
    elements = [
        Reference_Variable(id=1, expr="0"),
        Control_PlantInput(id=5, label="u", variable_id_list=(1,)),
        Force_Penalty(id=1, expr="AZ(20,10) - VARVAL(1)", penalty=1e6, penalty1=1e3),
    ]
    d = Diagram("soft")
    texts = ("AZ(20,10)", "VARVAL(1)")
    p = d.add("plant", Plant.from_model(wheel(*elements, texts=texts)).with_port("u", filter=TAU))
    d.connect(d.add("u", Sine(frequency=W))["y"], p["u"])
    r = simulate(d, until=1.0, log_at=TIMES, engine="reference")
    y, rate, second = after_the_filter(TIMES)
    assert r["plant.y"][:, 1] == pytest.approx(y, abs=1e-7)
    lag = r["plant.y"][-1, 0] - r["plant.y"][-1, 1]
    assert lag == pytest.approx(-2.0 * second[-1] / 1e6, abs=1e-6)  # what accelerates the wheel, no more
    assert abs(1e3 * rate[-1] / 1e6) > 1e-3  # lag if the target counted as standing still


def test_linear_model_of_a_filtered_motion():
    """A driven mechanism has no states of its own: the filter's two are left, and y over u is the filter."""
    plant = Plant.from_model(wheel(*driven_by_a_port())).with_port("u", filter=TAU)
    ss = linearize(plant)
    assert sorted(np.linalg.eigvals(ss.A).real) == pytest.approx([-1 / TAU] * 2, rel=1e-5)
    assert ss(1j * W)[0, 0] == pytest.approx(1 / (1 + 1j * W * TAU) ** 2)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize(("val_type", "expr"), [("D", "0.3*SIN(TIME)"), ("V", "0.3")])
def test_a_rate_asked_of_what_cannot_move_at_all_is_refused(coordinates, val_type, expr):
    """A body fixed to the ground has no joint coordinate that the driven one depends on."""
    motion = Motion_Marker(id=1, i_marker_id=20, j_marker_id=10, direction="X", val_type=val_type, expr=expr)
    with pytest.raises(ModelError, match="Motion_Marker id=1: contradicts.*no velocities obey them all"):
        Plant.from_model(wheel(motion, type="FIXED", texts=("DX(20)",)), coordinates=coordinates)
    stays = Motion_Marker(id=1, i_marker_id=20, j_marker_id=10, direction="X", expr="0*TIME")
    Plant.from_model(wheel(stays, type="FIXED", texts=("DX(20)",)), coordinates=coordinates)
