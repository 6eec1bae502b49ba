"""What joints and motions exert between two markers, as the language's functions say: weights and moments."""

from __future__ import annotations

import numpy as np
import pytest

from cosim import Diagram, simulate
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantOutput,
    Force_Gravity,
    Model,
    Motion_Joint,
    Reference_Marker,
    Reference_Variable,
)

G, M, L = 9.81, 2.0, 0.7
AXES = ("FX", "FY", "FZ", "FM", "TX", "TY", "TZ", "TM")


def shown(type: str, coordinates: str, *more, pairs: tuple[str, ...]) -> np.ndarray:
    """Force and torque, row by row, on markers of a body that is held beside its centre, at 0.4 s."""
    texts = [f"{name}({pair})" for pair in pairs for name in AXES]
    variables = [Reference_Variable(id=k, expr=text) for k, text in enumerate(texts, start=100)]
    model = Model.build(
        [
            Force_Gravity(grav_z=-G),
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=11, body_id=1, pos_y=0.2),
            Body_Rigid(id=2, cg_id=20, mass=M, inertia_xx=0.3, inertia_yy=0.4, inertia_zz=0.5),
            Reference_Marker(id=20, body_id=2, pos_x=L, pos_y=0.2),
            Reference_Marker(id=21, body_id=2, pos_y=0.2),
            Constraint_Joint(id=1, label="held", type=type, i_marker_id=21, j_marker_id=11),
            *more,
            *variables,
            Control_PlantOutput(id=1, label="y", variable_id_list=tuple(v.id for v in variables)),
        ]
    )
    d = Diagram("held")
    d.add("plant", Plant.from_model(model, coordinates=coordinates))
    r = simulate(d, 0.4, log_at=[0.4], engine="reference", rtol=1e-9, atol=1e-11)
    return r["plant.y"][0].reshape(len(pairs), -1)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_cantilever_carries_its_weight_and_moment(coordinates):
    expected = np.array([0, 0, M * G, M * G, 0, -M * G * L, 0, M * G * L])
    on, back, alone = shown("FIXED", coordinates, pairs=("21,11", "11,21", "21"))
    assert on == pytest.approx(expected, abs=1e-8) and alone == pytest.approx(expected, abs=1e-8)
    assert back == pytest.approx(np.where(np.char.endswith(AXES, "M"), 1, -1) * expected, abs=1e-8)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_motion_adds_its_torque_to_what_its_joint_carries(coordinates):
    """Turned about Z by 3 t^2 / 2: what holds it on its circle, weight, the torque of the motion."""
    motion = Motion_Joint(id=1, joint_id=1, joint_type="R", val_type="D", expr="1.5*TIME**2")
    t, alpha = 0.4, 3.0
    angle, w = 1.5 * t * t, alpha * t
    out, side = np.array([np.cos(angle), np.sin(angle), 0]), np.array([-np.sin(angle), np.cos(angle), 0])
    F = M * L * (alpha * side - w * w * out) + [0, 0, M * G]
    T = (0.5 + M * L * L) * alpha * np.array([0, 0, 1]) + M * G * L * np.cross(out, [0, 0, 1])
    expected = [*F, np.linalg.norm(F), *T, np.linalg.norm(T)]
    (found,) = shown("REVOLUTE", coordinates, motion, pairs=("21,11",))
    assert found == pytest.approx(np.array(expected), abs=1e-6)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_friction_by_what_a_guide_exerts_slows_the_slider(coordinates):
    """The force may be written with the sum of all between two markers, where it is none of these itself."""
    along_x = f'psi="{np.pi / 2}" theta="{np.pi / 2}"'
    deck = f"""<M><Model><Force_Gravity grav_y="-{G}"/><Body_Rigid id="1" isground="TRUE"/>
    <Reference_Marker id="11" body_id="1" {along_x}/>
    <Body_Rigid id="2" cg_id="20" mass="{M}" inertia_xx="1" inertia_yy="1" inertia_zz="1" v_ic_x="3"/>
    <Reference_Marker id="20" body_id="2"/><Reference_Marker id="21" body_id="2" {along_x}/>
    <Constraint_Joint id="1" type="TRANSLATIONAL" i_marker_id="21" j_marker_id="11"/>
    <Force_Vector_OneBody id="1" type="FORCEONLY" marker_id="20" ref_marker_id="0"
        fx_expression="-0.2*FY(21,11)" fy_expression="-5"/>
    <Reference_Variable id="1" expr="VX(20)"/><Reference_Variable id="2" expr="FY(21,11)"/>
    <Control_PlantOutput id="1" label="y" variable_id_list="1 2"/></Model></M>"""
    d = Diagram("slider")
    d.add("plant", Plant.read(deck.encode(), coordinates=coordinates))
    r = simulate(d, 0.4, log_at=[0.4], engine="reference", rtol=1e-9, atol=1e-11)
    N = M * G + 5
    assert r["plant.y"][0] == pytest.approx([3 - 0.2 * N / M * 0.4, N], rel=1e-9)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_hinge_carries_what_a_turned_carrier_is_given_by_another_joint(coordinates):
    """A carrier turned about X by 0.6 rad and left there; two joints hold an arm on it.

    The torque with which the arm leans on the carrier is along neither axis of the carrier.
    """
    turned, mass, arm = 0.6, 1.5, np.array([0.3, 0.4, 0.2])
    inertia = {"inertia_xx": 0.3, "inertia_yy": 0.4, "inertia_zz": 0.5}
    own = np.array([0.1, -0.2, 0.3])
    names = dict(zip(("pos_x", "pos_y", "pos_z"), own, strict=True))
    far = dict(zip(("pos_x", "pos_y", "pos_z"), own + arm, strict=True))
    along_x = {"psi": np.pi / 2, "theta": np.pi / 2, "phi": 0.0}
    texts = [f"{name}(21,11)" for name in AXES]
    variables = [Reference_Variable(id=k, expr=text) for k, text in enumerate(texts, start=100)]
    model = Model.build(
        [
            Force_Gravity(grav_z=-G),
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=11, body_id=1, **along_x),
            Body_Rigid(id=2, cg_id=20, mass=M, **inertia),
            Reference_Marker(id=20, body_id=2, **names),
            Reference_Marker(id=21, body_id=2, **along_x),
            Body_Rigid(id=3, cg_id=30, mass=mass, **inertia),
            Reference_Marker(id=30, body_id=3, **far),
            Reference_Marker(id=31, body_id=3, **names),
            Constraint_Joint(id=1, type="REVOLUTE", i_marker_id=21, j_marker_id=11),
            Motion_Joint(
                id=1, joint_id=1, joint_type="R", val_type="D", expr=f"STEP5(TIME,0,0,0.2,{turned})"
            ),
            Constraint_Joint(id=2, type="SPHERICAL", i_marker_id=31, j_marker_id=20),
            Constraint_Joint(id=3, type="ORIENTATION", i_marker_id=31, j_marker_id=20),
            *variables,
            Control_PlantOutput(id=1, label="y", variable_id_list=tuple(v.id for v in variables)),
        ]
    )
    d = Diagram("held")
    d.add("plant", Plant.from_model(model, coordinates=coordinates))
    r = simulate(d, 0.4, log_at=[0.4], engine="reference", rtol=1e-9, atol=1e-11)
    c, s = np.cos(turned), np.sin(turned)
    A = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    up = np.array([0, 0, G])
    F = (M + mass) * up
    T = np.cross(A @ own, M * up) + np.cross(A @ (own + arm), mass * up)
    expected = [*F, np.linalg.norm(F), *T, np.linalg.norm(T)]
    assert r["plant.y"][0] == pytest.approx(np.array(expected), abs=1e-6)
