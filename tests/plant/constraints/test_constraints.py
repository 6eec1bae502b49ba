"""Every constraint element: the same motion in both coordinate choices, energy kept, conditions held."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from blocks.errors import ModelError
from cosim import Diagram, simulate
from plant import Plant, PlantWarning
from plant.elements import (
    Body_Point,
    Body_Rigid,
    Constraint_Coupler,
    Constraint_General,
    Constraint_Joint,
    Control_PlantOutput,
    Force_Gravity,
    Force_SpringDamper,
    Force_Vector_OneBody,
    Force_Vector_TwoBody,
    Model,
    Motion_Joint,
    Reference_Array,
    Reference_Marker,
    Reference_Variable,
)
from plant.mechanics.joints import JOINT_TYPES, pose
from tests.helpers.plants import Alone
from tests.helpers.trees import JOINTS, body, marker, random_coordinates, random_rotation

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")


def outputs(*texts):
    found = [Reference_Variable(id=k, expr=text) for k, text in enumerate(texts, start=100)]
    return [*found, Control_PlantOutput(id=1, label="y", variable_id_list=tuple(v.id for v in found))]


def pair(type, seed=3, **numbers):
    """Body 2 on a spherical joint at the ground, body 3 on it by this type; gravity and a spring."""
    rng = np.random.default_rng(seed)
    r2, A2 = np.array([0.3, -0.2, 0.4]), random_rotation(rng)
    joint = (r2 + np.array([0.5, 0.1, -0.3]), random_rotation(rng))
    if type in JOINTS:
        q = random_coordinates(type, rng)
        rq, Aq = pose(JOINTS[type], q) if type != "FREE" else (rng.normal(size=3), random_rotation(rng))
    else:
        rq, Aq = _allowed(type, rng)
    inner = (joint[0] + joint[1] @ rq, joint[1] @ Aq)
    r3 = inner[0] + inner[1] @ np.array([0.2, 0.4, 0.1])
    return Model.build(
        [
            Body_Rigid(id=1, isground=True),
            marker(10, 1, np.zeros(3), np.eye(3)),
            *body(2, r2, A2, rng),
            marker(21, 2, np.zeros(3), np.eye(3)),
            *body(3, r3, random_rotation(rng), rng),
            marker(22, 2, *joint),
            marker(32, 3, *inner),
            Constraint_Joint(id=1, type="SPHERICAL", i_marker_id=21, j_marker_id=10),
            Constraint_Joint(id=2, label="middle", type=type, i_marker_id=32, j_marker_id=22, **numbers),
            Force_SpringDamper(
                id=1,
                type="TRANSLATIONAL",
                i_marker_id=30,
                j_marker_id=10,
                stiffness=20.0,
                length=0.5,
                damping=0.0,
            ),
            Force_Vector_OneBody(
                id=2, type="TORQUEONLY", marker_id=30, ref_marker_id=0, tx_expression="0.3*SIN(3*TIME)"
            ),
            Force_Gravity(grav_z=-9.81),
            *outputs(
                *(f"D{a}(30)" for a in "XYZ"),
                *(f"W{a}(30)" for a in "XYZ"),
                *(f"ACC{a}(30)" for a in "XYZ"),
                *(f"JOINT(2,{flag},{c},0)" for flag in (0, 1) for c in (2, 3, 4, 6, 7, 8)),
                *(f"JOINT(1,0,{c},10)" for c in (1, 2, 3, 4)),
                *(f"FX(32,22,{k})" for k in (0, 32)),
                "TZ(22,32)",
            ),
        ]
    )


def _allowed(type, rng):
    """A pose of I in J that a primitive allows."""
    A = random_rotation(rng)
    near = {
        "CONSTANT_VELOCITY": (np.zeros(3), pose(JOINTS["HOOKE"], np.array([0.0, 0.5]))[1]),
        "INLINE": (np.array([0.0, 0.0, 0.4]), A),
        "INPLANE": (np.array([0.3, -0.4, 0.0]), A),
        "ORIENTATION": (rng.normal(size=3), np.eye(3)),
        "PARALLEL_AXES": (rng.normal(size=3), pose(JOINTS["REVOLUTE"], np.array([0.6]))[1]),
        "PERPENDICULAR": (rng.normal(size=3), pose(JOINTS["UNIVERSAL"], np.array([0.3, 0.8]))[1]),
        "SCREW": (rng.normal(size=3), A),
        "RACK_PINION": (rng.normal(size=3), A),
    }
    return near[type]


def numbers_of(type):
    return {"SCREW": {"pitch": 0.3}, "RACK_PINION": {"pitch_diameter": 0.4}}.get(type, {})


@pytest.mark.parametrize("type", [name for name, entry in JOINT_TYPES.items() if entry.in_decks])
def test_same_motion_and_reactions_in_both_coordinates(type):
    model = pair(type, **numbers_of(type))
    found = []
    for coordinates in ("joint", "absolute"):
        alone = Alone(Plant.from_model(model, coordinates=coordinates))
        x = alone.solve(np.array([0.0, 0.25]), rtol=1e-10, atol=1e-11)[:, -1]
        found.append(alone.output("y", 0.25, x))
        g = alone.traced.function("g", _stacked(alone.declared.invariants))
        assert np.abs(alone.call(g, 0.25, x, {})).max() < 1e-7  # drift without projection
    scale = np.abs(found[0]).max()
    assert found[0] == pytest.approx(found[1], abs=2e-7 * scale)


def _stacked(parts):
    return ca.vertcat(*parts) if parts else ca.SX.zeros(1)


@pytest.mark.parametrize("type", ["INLINE", "INPLANE", "PERPENDICULAR", "CONSTANT_VELOCITY", "SCREW"])
def test_number_of_conditions(type):
    plant = Plant.from_model(pair(type, **numbers_of(type)))
    assert plant.info()["dof"] == 9 - sum(JOINT_TYPES[type].fixes)


# --- couplers and general constraints --------------------------------------------------------------------
def shafts(*elements):
    """Two wheels on parallel axes with inertia 2 and 3; the first is driven with 1 N m."""
    wheels = []
    for id, inertia in ((2, 2.0), (3, 3.0)):
        wheels += [
            Body_Rigid(id=id, cg_id=id * 10, mass=1.0, inertia_xx=1.0, inertia_yy=1.0, inertia_zz=inertia),
            Reference_Marker(id=id * 10, body_id=id, pos_x=float(id)),
            Reference_Marker(id=id * 10 + 1, body_id=1, pos_x=float(id)),
            Constraint_Joint(
                id=id, label=f"w{id}", type="REVOLUTE", i_marker_id=id * 10, j_marker_id=id * 10 + 1
            ),
        ]
    drive = Force_Vector_TwoBody(
        id=1, type="TORQUEONLY", i_marker_id=20, j_floating_marker_id=10, ref_marker_id=10, tz_expression="1"
    )
    ground = [Body_Rigid(id=1, isground=True), Reference_Marker(id=10, body_id=1)]
    return Model.build([*ground, *wheels, drive, *elements, *outputs("WDTZ(20)", "WDTZ(30)", "TZ(20)")])


GEARS = {
    "coupler": Constraint_Coupler(id=1, joint1_id=2, joint2_id=3, coefficients=(1.0, 2.0)),
    "general, positions": Constraint_General(id=1, expr="AZ(20,21) + 2*AZ(30,31)"),
    "general, velocities": Constraint_General(id=1, expr="WZ(20,21) + 2*WZ(30,31)"),
    "variable": Reference_Variable(id=9, expr="AZ(20,21) + 2*AZ(30,31)", is_implicit=True),
    "motion by a rate": Motion_Joint(id=1, joint_id=2, joint_type="R", val_type="V", expr="-2*WZ(30,31)"),
}


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("how", list(GEARS))
def test_gears(how, coordinates):
    """q1 + 2 q2 = 0: (J1 + J2/4) q1'' = 1."""
    alone = Alone(Plant.from_model(shafts(GEARS[how]), coordinates=coordinates))
    y = alone.output("y")
    assert y[:2] == pytest.approx([1 / 2.75, -0.5 / 2.75])


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize(
    "expr",
    [
        "ARYVAL(1,1) + 2*ARYVAL(1,2)", "ARYVAL(2,1)*AZ(20,21) + ARYVAL(2,2)*AZ(30,31)",
        "POUVAL(7,1) + 2*POUVAL(7,2)",
    ],
)  # fmt: skip
def test_gears_by_what_is_listed(expr, coordinates):
    """The angles by an array or a port that lists them; the factors of the gear by an array."""
    model = shafts(
        Constraint_General(id=1, expr=expr),
        Reference_Variable(id=8, expr="AZ(20,21)"),
        Reference_Variable(id=9, expr="AZ(30,31)"),
        Reference_Array(id=1, type="U", variable_id=(8, 9)),
        Reference_Array(id=2, type="IC", values=(1.0, 2.0)),
        Control_PlantOutput(id=7, label="angles", variable_id_list=(8, 9)),
    )
    y = Alone(Plant.from_model(model, coordinates=coordinates)).output("y")
    assert y[:2] == pytest.approx([1 / 2.75, -0.5 / 2.75])


def wheel_and_slider(*joints, x=0.0, texts=()):
    """A wheel (3 kg m^2, 2 kg) about the global z-axis, driven with 1 N m, and a slider (5 kg) along x."""
    along_x = {"psi": np.pi / 2, "theta": np.pi / 2}  # its z-axis is the global x-axis
    moments = {"inertia_xx": 2.0, "inertia_yy": 2.0, "inertia_zz": 3.0}
    return Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1),
            Reference_Marker(id=11, body_id=1, **along_x),
            Body_Rigid(id=2, cg_id=20, mass=2.0, **moments),
            Reference_Marker(id=20, body_id=2),
            Body_Rigid(id=3, cg_id=30, mass=5.0, **moments),
            Reference_Marker(id=30, body_id=3, pos_x=x, **along_x),
            Constraint_Joint(id=1, type="TRANSLATIONAL", i_marker_id=30, j_marker_id=11),
            Force_Vector_TwoBody(
                id=1, type="TORQUEONLY", i_marker_id=20, j_floating_marker_id=10, ref_marker_id=10,
                tz_expression="1",
            ),
            *joints,
            *outputs("WDTZ(20)", "ACCZ(20)", "ACCX(30)", *texts),
        ]
    )  # fmt: skip


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("pitch", [0.7, -2.5])
def test_a_screw_travels_its_pitch_in_one_turn(pitch, coordinates):
    """(J + m h^2) w' = T and z'' = h w', with h the travel per radian."""
    on = {"i_marker_id": 20, "j_marker_id": 10}
    joints = (
        Constraint_Joint(id=2, type="CYLINDRICAL", **on),
        Constraint_Joint(id=3, type="SCREW", pitch=pitch, **on),
    )
    h = pitch / (2 * np.pi)
    y = Alone(Plant.from_model(wheel_and_slider(*joints), coordinates=coordinates)).output("y")
    assert y[:2] == pytest.approx(np.array([1.0, h]) / (3.0 + 2.0 * h**2))


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_rack_travels_the_radius_of_its_pinion_per_radian(coordinates):
    """(J + m r^2) w' = T and x'' = r w', r = 0.2 m half the pitch diameter."""
    joints = (
        Constraint_Joint(id=2, type="REVOLUTE", i_marker_id=20, j_marker_id=10),
        Constraint_Joint(id=3, type="RACK_PINION", pitch_diameter=0.4, i_marker_id=20, j_marker_id=30),
    )
    y = Alone(Plant.from_model(wheel_and_slider(*joints), coordinates=coordinates)).output("y")
    assert y[[0, 2]] == pytest.approx(np.array([1.0, 0.2]) / (3.0 + 5.0 * 0.2**2))


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_coupler_keeps_what_its_coordinates_are_in_the_design(coordinates):
    """2 q - 3 x with q = 0.4 rad and x = 0.7 m: nothing has to move at the start; (J + 4/9 m) q'' = T."""
    model = wheel_and_slider(
        Reference_Marker(id=21, body_id=2, psi=0.4),
        Constraint_Joint(id=2, type="REVOLUTE", i_marker_id=21, j_marker_id=10),
        Constraint_Coupler(id=1, joint1_id=2, joint2_id=1, coefficients=(2.0, -3.0)),
        x=0.7,
        texts=("AZ(21,10)", "DX(30)"),
    )
    y = Alone(Plant.from_model(model, coordinates=coordinates)).output("y")
    faster = 1 / (3.0 + 5.0 * 4 / 9)
    assert y == pytest.approx([faster, 0.0, 2 / 3 * faster, 0.4, 0.7])


def test_multiplier_of_a_variable_drives_the_constraint_upwards():
    """J1 q1'' = 1 + lam."""
    found = Reference_Variable(id=120, expr="VARVAL(9)")
    port = Control_PlantOutput(id=2, label="lam", variable_id_list=(120,))
    alone = Alone(Plant.from_model(shafts(GEARS["variable"], found, port)))
    assert alone.output("lam") == pytest.approx([2.0 * alone.output("y")[0] - 1.0])


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("autobalance", ["DEFAULT", "CONDITIONAL", "UNCONDITIONAL"])
def test_autobalance_that_acts_by_itself(autobalance, coordinates):
    """Three names of one constraint: its reaction acts without the model's help."""
    geared = Reference_Variable(
        id=9, expr="AZ(20,10) + 2*AZ(30,10)", is_implicit=True, autobalance=autobalance
    )
    alone = Alone(Plant.from_model(shafts(geared), coordinates=coordinates))
    assert alone.output("y")[:2] == pytest.approx([1 / 2.75, -0.5 / 2.75])


def rack_and_pinion(*texts, axes=None, ends=None):
    """A pinion of radius 0.2 turns about y above a rack that slides along x."""
    axes_y = {"a00": 1.0, "a10": 0.0, "a20": 0.0, "a01": 0.0, "a11": 0.0, "a21": -1.0,
              "a02": 0.0, "a12": 1.0, "a22": 0.0}  # fmt: skip
    axes_x = {"a00": 0.0, "a10": 1.0, "a20": 0.0, "a01": 0.0, "a11": 0.0, "a21": 1.0,
              "a02": 1.0, "a12": 0.0, "a22": 0.0}  # fmt: skip
    turned = {"a00": 0.0, "a10": 0.0, "a20": 1.0, "a01": 0.0, "a11": -1.0, "a21": 0.0,
              "a02": 1.0, "a12": 0.0, "a22": 0.0}  # fmt: skip
    unit = {"mass": 2.0, "inertia_xx": 0.5, "inertia_yy": 0.5, "inertia_zz": 0.5}
    return Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1, pos_z=0.2, **axes_y),
            Reference_Marker(id=11, body_id=1, **axes_x),
            Body_Rigid(id=2, cg_id=20, w_ic_y=3.0, **unit),
            Reference_Marker(id=20, body_id=2, pos_z=0.2),
            Reference_Marker(id=21, body_id=2, pos_z=0.2, **axes_y),
            Body_Rigid(id=3, cg_id=30, **unit),
            Reference_Marker(id=30, body_id=3, **axes_x),
            Reference_Marker(id=31, body_id=3, **axes_y),
            Reference_Marker(id=32, body_id=3, **turned),
            Constraint_Joint(id=1, type="REVOLUTE", i_marker_id=21, j_marker_id=10),
            Constraint_Joint(id=2, type="TRANSLATIONAL", i_marker_id=30, j_marker_id=11),
            Constraint_Joint(
                id=3,
                type="RACK_PINION",
                **dict(zip(("i_marker_id", "j_marker_id"), ends or (21, axes or 30), strict=True)),
                pitch_diameter=0.4,
            ),
            *outputs(*texts),
        ]
    )


def test_rack_and_pinion_rolls():
    w, v = Alone(Plant.from_model(rack_and_pinion("WZ(21,10,10)", "VZ(30,11,11)"))).output("y")
    assert abs(v) == pytest.approx(0.2 * abs(w)) and w == pytest.approx(3.0, rel=0.2)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_rack_and_pinion_keep_their_teeth(coordinates):
    """Displacements are bound, not only rates: after many turns the travel is the radius times the angle."""
    d = Diagram("teeth")
    model = rack_and_pinion("AZ(21,10)", "DZ(30,11,11)")
    d.add("plant", Plant.from_model(model, coordinates=coordinates))
    r = simulate(d, until=20.0, log_every=1.0, rtol=1e-5, atol=1e-7, engine="reference")
    angle, travel = r["plant.y"].T
    assert angle[-1] > 8 * np.pi
    assert travel == pytest.approx(0.2 * angle, abs=1e-11)


@pytest.mark.parametrize("rack", [30, 32])  # 32 is turned about the rack's own axis
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_rack_and_pinion_the_other_way_round(coordinates, rack):
    """The other joints say which is which; as written the element demanded nothing, a mere "repeats"."""
    texts = ("WDTY(21)", "ACCX(30)", "JOINT(3,0,1,0)", "TIME")
    model = rack_and_pinion(*texts).changed(Force_Gravity(grav_x=9.81, grav_z=-9.81))
    expected = Alone(Plant.from_model(model, coordinates=coordinates)).output("y")
    other = rack_and_pinion(*texts, ends=(rack, 21)).changed(Force_Gravity(grav_x=9.81, grav_z=-9.81))
    with pytest.warns(PlantWarning, match=f"id=3: i_marker_id={rack} is on the rack .* exchange the ids"):
        plant = Plant.from_model(other, coordinates=coordinates)
    assert Alone(plant).output("y") == pytest.approx(expected)
    assert expected[1] == pytest.approx(2 * 9.81 / (2 + 0.5 / 0.2**2))  # m g / (m + I / r^2)


def test_rack_along_the_pinions_axis():
    with pytest.raises(ModelError, match="Constraint_Joint id=3: the z-axes of its markers are parallel"):
        Plant.from_model(rack_and_pinion("1", axes=31))


# --- point masses ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_bead_on_a_circle(coordinates):
    """A Body_Point on a sphere of 1 m by its distance: a pendulum."""
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Body_Point(id=2, cg_id=20, mass=2.0),
            Reference_Marker(id=20, body_id=2, body_type="POINTBODY", pos_x=1.0),
            Constraint_General(id=1, expr="DM(20) - 1"),
            Force_Gravity(grav_y=-9.81),
            *outputs("DX(20)", "DY(20)", "ACCY(20)"),
        ]
    )
    plant = Plant.from_model(model, coordinates=coordinates)
    alone = Alone(plant)
    assert alone.output("y") == pytest.approx([1.0, 0.0, -9.81])
    x = alone.solve(np.linspace(0, 0.5, 3))[:, -1]
    y = alone.output("y", 0.5, x)
    speed = x[alone.slice(next(n for n in plant.initial if n.endswith(".qd")))]
    assert np.hypot(*y[:2]) == pytest.approx(1.0, abs=1e-8)
    assert speed @ speed / 2 == pytest.approx(-9.81 * y[1], rel=1e-8)


@pytest.mark.parametrize("type", ["SPHERICAL", "INPLANE", "INLINE"])
def test_joints_of_point_masses(type):
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1),
            Body_Point(id=2, cg_id=20, mass=2.0),
            Reference_Marker(id=20, body_id=2, body_type="POINTBODY"),
            Constraint_Joint(id=1, type=type, i_marker_id=20, j_marker_id=10),
            Force_Gravity(grav_x=1.0, grav_z=-9.81),
            *outputs("ACCX(20)", "ACCZ(20)", "JOINT(1,0,4,0)"),
        ]
    )
    expected = {
        "SPHERICAL": [0.0, 0.0, 19.62], "INPLANE": [1.0, 0.0, 19.62], "INLINE": [0.0, -9.81, 0.0],
    }[type]  # fmt: skip
    assert Alone(Plant.from_model(model)).output("y") == pytest.approx(expected, abs=1e-12)


# --- forces that depend on the solution ------------------------------------------------------------------
def test_force_from_an_acceleration_acts_as_added_mass():
    """J q'' = 1 - 0.5 q''."""
    added = Force_Vector_OneBody(
        id=5, type="TORQUEONLY", marker_id=20, ref_marker_id=10, tz_expression="-0.5*WDTZ(20)"
    )
    assert Alone(Plant.from_model(shafts(added))).output("y")[:2] == pytest.approx([1 / 2.5, 0.0])
    geared = Alone(Plant.from_model(shafts(added, GEARS["coupler"]))).output("y")
    assert geared[0] == pytest.approx(1 / 3.25)


def test_force_from_a_reaction():
    """Half of the reaction torque of a motor held at rest turns the other wheel."""
    hold = Motion_Joint(id=1, joint_id=2, joint_type="R", expr="0")
    share = Force_Vector_OneBody(
        id=5, type="TORQUEONLY", marker_id=30, ref_marker_id=10, tz_expression="0.5*MOTION(1,0,8,0)"
    )
    y = Alone(Plant.from_model(shafts(hold, share))).output("y")
    assert y[:2] == pytest.approx([0.0, -0.5 / 3], abs=1e-12)


def test_condition_that_holds_by_itself_has_no_multiplier():
    variable = Reference_Variable(id=9, expr="DZ(20,10)", is_implicit=True)
    found = Reference_Variable(id=120, expr="VARVAL(9)")
    port = Control_PlantOutput(id=2, label="lam", variable_id_list=(120,))
    plant = Plant.from_model(shafts(variable, found, port))
    assert plant.info()["dof"] == 2 and Alone(plant).output("lam") == pytest.approx([0.0])
