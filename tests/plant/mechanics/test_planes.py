"""Planar coordinates are for mechanisms in whose plane everything acts; others keep all reactions."""

from __future__ import annotations

import numpy as np
import pytest

from plant import (
    Body_Rigid,
    Constraint_General,
    Constraint_Joint,
    Control_PlantOutput,
    Force_Bushing,
    Force_Field,
    Force_Gravity,
    Force_Penalty,
    Force_Scalar_TwoBody,
    Force_SpringDamper,
    Force_Vector_OneBody,
    Force_Vector_TwoBody,
    Inertia_Wheel,
    Model,
    Plant,
    Reference_Marker,
    Reference_Variable,
)
from tests.helpers.checked import closed_form
from tests.helpers.plants import Alone

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")

SPIN = 9.0  # rad/s


def axes(z, turn: float = 0.0) -> dict[str, float]:
    """Direction cosines of a marker whose z axis is `z`, turned about it by `turn`."""
    z = np.array(z) / np.linalg.norm(z)
    x = np.cross(z, [0.0, 0.0, 1.0]) if abs(z[2]) < 0.9 else np.array([1.0, 0, 0])
    x = x / np.linalg.norm(x)
    x = np.cos(turn) * x + np.sin(turn) * np.cross(z, x)
    A = np.stack([x, np.cross(z, x), z], axis=1)
    return {f"a{i}{j}": float(A[i, j]) for i in range(3) for j in range(3)}


def marker(id, body, r=(0.0, 0.0, 0.0), z=(0.0, 0.0, 1.0), turn=0.0):
    at = dict(zip(("pos_x", "pos_y", "pos_z"), map(float, r), strict=True))
    return Reference_Marker(id=id, body_id=body, **at, **axes(z, turn))


def reaction(joint: int, frame: int = 0) -> list:
    """An output with force and torque of a joint on its body I."""
    parts = [
        Reference_Variable(id=k, expr=f"JOINT({joint}, 0, {k}, {frame})", type="EXPRESSION")
        for k in (2, 3, 4, 6, 7, 8)
    ]
    ids = tuple(v.id for v in parts)
    return [*parts, Control_PlantOutput(id=1, label="reaction", variable_id_list=ids)]


def found(elements: list, coordinates: str) -> np.ndarray:
    alone = Alone(Plant.from_model(Model.build(elements), coordinates=coordinates))
    return alone.output("reaction", 0.0, alone.x0).ravel()


GROUND = [Body_Rigid(id=99, isground=True), Reference_Marker(id=90, body_id=99)]


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_bearing_of_a_rotor_out_of_balance(coordinates, checked):
    """A centre beside the axis and above the bearing, and a product of inertia: F = m a, T = w x I w."""
    m, Ixz, c = 2.0, 0.03, (0.1, 0.0, 0.25)
    inertia = {"inertia_xx": 0.2, "inertia_yy": 0.3, "inertia_zz": 0.25, "inertia_xz": Ixz}
    elements = [
        *GROUND,
        Body_Rigid(id=1, cg_id=11, mass=m, **inertia, w_ic_z=SPIN),
        marker(11, 1, c),
        marker(12, 1),
        marker(91, 99, turn=0.7),
        Constraint_Joint(id=5, type="REVOLUTE", i_marker_id=12, j_marker_id=91),
        *reaction(5),
    ]
    bearing = found(elements, coordinates)
    expected = SPIN**2 * np.array([-m * c[0], 0.0, 0.0, 0.0, -(Ixz + m * c[0] * c[2]), 0.0])
    law = closed_form("F = m a, T = w x I w")
    checked(bearing, expected, "rotor out of balance", "force and torque of its bearing", law, atol=1e-9)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("turn", [0.0, 0.5])
def test_slider_on_a_turning_arm(coordinates, turn, checked):
    """Its reaction lies in the plane, however the slider's markers are turned about its axis."""
    m, I, r, v = 2.0, 0.4, 0.6, 1.5
    along = (1.0, 0.0, 0.0)
    moments = {"inertia_xx": 0.3, "inertia_yy": 0.3, "inertia_zz": I / 2}
    elements = [
        *GROUND,
        Body_Rigid(id=1, cg_id=11, mass=1.0, **moments, w_ic_z=SPIN),
        Body_Rigid(id=2, cg_id=21, mass=m, **moments, v_ic_x=v),
        marker(11, 1),
        marker(12, 1, (r, 0.0, 0.0), along, turn),
        marker(21, 2, (r, 0.0, 0.0)),
        marker(22, 2, (r, 0.0, 0.0), along, turn),
        Constraint_Joint(id=5, type="REVOLUTE", i_marker_id=11, j_marker_id=90),
        Constraint_Joint(id=6, type="TRANSLATIONAL", i_marker_id=22, j_marker_id=12),
        *reaction(6),
    ]
    spin_up = -2 * m * r * v * SPIN / (I + m * r**2)
    expected = [0.0, m * (r * spin_up + 2 * v * SPIN), 0.0, 0.0, 0.0, I / 2 * spin_up]
    law = closed_form("Coriolis, angular momentum")
    checked(found(elements, coordinates), expected, "slider on an arm", "reaction", law, atol=1e-9)


def two_links(*extra, height: float = 0.0, moments: dict[str, float] | None = None) -> list:
    """A double pendulum in the plane z = height, with something more."""
    inertia = {"inertia_xx": 0.1, "inertia_yy": 0.1, "inertia_zz": 0.1} | (moments or {})
    return [
        *GROUND,
        Body_Rigid(id=1, cg_id=11, mass=1.0, **inertia),
        Body_Rigid(id=2, cg_id=21, mass=1.0, **inertia),
        marker(11, 1, (0.5, 0, height)),
        marker(12, 1, (0, 0, height)),
        marker(13, 1, (1, 0, height)),
        marker(21, 2, (1.5, 0, height)),
        marker(22, 2, (1, 0, height)),
        marker(23, 2, (2, 0, height + 0.1)),
        marker(24, 2, (2, 0, height), (1, 0, 0)),
        marker(25, 2, (2, 0, height), (1, 0, 1)),
        marker(91, 99, (0, 0, height)),
        marker(92, 99, (0, 2, height)),
        marker(93, 99, (0, 2, height + 0.1)),
        Constraint_Joint(id=1, type="REVOLUTE", i_marker_id=12, j_marker_id=91),
        Constraint_Joint(id=2, type="REVOLUTE", i_marker_id=22, j_marker_id=13),
        *extra,
    ]


def spring(i: int, j: int, type: str = "TRANSLATIONAL") -> Force_SpringDamper:
    return Force_SpringDamper(id=1, type=type, i_marker_id=i, j_marker_id=j, stiffness=5.0, length=1.0)


def scalar(type: str, i: int, j: int, action: bool = False) -> Force_Scalar_TwoBody:
    return Force_Scalar_TwoBody(id=1, type=type, i_marker_id=i, j_marker_id=j, val=2.0, is_action_only=action)


def pair(ref: int, **components: str) -> Force_Vector_TwoBody:
    kind, ends = "FORCEANDTORQUE", {"i_marker_id": 21, "j_floating_marker_id": 91}
    return Force_Vector_TwoBody(id=1, type=kind, ref_marker_id=ref, **ends, **components)


def bushing(i: int, **numbers: float) -> Force_Bushing:
    return Force_Bushing(id=1, i_marker_id=i, j_marker_id=92, kx=1.0, ktz=1.0, kz=4.0, **numbers)


PLANAR = {
    "nothing": [],
    "gravity along it": [Force_Gravity(grav_y=-9.81)],
    "spring": [spring(21, 92)],
    "rotational spring": [spring(21, 91, "ROTATIONAL")],
    "force along a line": [scalar("FORCE", 21, 92)],
    "force along an axis": [scalar("FORCE", 21, 24, True)],
    "torque": [scalar("TORQUE", 21, 92)],
    "vector": [pair(92, fx_expression="3*TIME", fz_expression="0.0", tz_expression="1")],
    "vector along turned axes": [pair(24, fz_expression="2")],
    "bushing": [bushing(21, preload_x=2.0, preload_tz=1.0)],
    "soft constraint": [Force_Penalty(id=1, type="EXPRESSION", expr="DM(21, 92) - 3", penalty=10.0)],
    "soft constraint beside a variable it does not read": [
        Reference_Variable(id=1, type="EXPRESSION", expr="DM(23, 92)"),
        Force_Penalty(id=1, type="EXPRESSION", expr="DM(21, 92) - 3 - 0*TIME", penalty=10.0),
    ],
    "general constraint": [Constraint_General(id=1, type="EXPRESSION", expr="DY(21) + 0*TIME")],
    "wheel": [Inertia_Wheel(id=1, marker_id=21, inertia=0.1)],
}
ACROSS = {
    "gravity": [Force_Gravity(grav_z=-9.81)],
    "spring": [spring(23, 92)],
    "spring to the ground": [spring(21, 93)],
    "rotational spring": [spring(11, 24, "ROTATIONAL")],
    "force along a line": [scalar("FORCE", 23, 92)],
    "force along an axis": [scalar("FORCE", 21, 92, True)],
    "force beside it": [scalar("FORCE", 23, 24, True)],
    "torque": [scalar("TORQUE", 11, 24)],
    "vector": [pair(92, fz_expression="TIME")],
    "vector with a torque": [pair(92, tx_expression="1")],
    "vector along oblique axes": [pair(25, fx_expression="1")],
    "vector on one body": [
        Force_Vector_OneBody(id=1, type="FORCEONLY", marker_id=23, ref_marker_id=92, fx_expression="1")
    ],
    "preloaded bushing": [bushing(21, preload_z=2.0)],
    "bushing turned up": [bushing(24)],
    "field": [Force_Field(id=1, i_marker_id=21, j_marker_id=92, attributes=(("k_matrix", "1 1 1 1 1 1"),))],
    "soft constraint": [Force_Penalty(id=1, type="EXPRESSION", expr="DM(23, 92) - 3", penalty=10.0)],
    "soft constraint through a variable": [
        Reference_Variable(id=1, type="EXPRESSION", expr="DM(23, 92)"),
        Force_Penalty(id=1, type="EXPRESSION", expr="VARVAL(1) - 3", penalty=10.0),
    ],
    "variable as a constraint": [
        Reference_Variable(id=1, type="EXPRESSION", expr="DX(25, 92, 25) - 1", is_implicit=True)
    ],
    "wheel": [Inertia_Wheel(id=1, marker_id=24, inertia=0.1)],
    "screw": [Constraint_Joint(id=3, type="SCREW", i_marker_id=24, j_marker_id=92, pitch=0.1)],
}


def is_planar(elements: list) -> bool:
    return Plant.from_model(Model.build(elements), coordinates="absolute").mechanism.planar


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANAR)
def test_planar_coordinates(name):
    assert is_planar(two_links(*PLANAR[name]))
    assert is_planar(two_links(*PLANAR[name], height=-3.0))


@pytest.mark.parametrize("name", ACROSS)
def test_coordinates_in_space(name):
    assert not is_planar(two_links(*ACROSS[name]))


def test_bodies_that_tilt_get_coordinates_in_space():
    assert not is_planar(two_links(moments={"inertia_yz": 0.01}))
    assert is_planar(two_links(moments={"inertia_xy": 0.01}))


@pytest.mark.parametrize("tied", [False, True])
def test_links_that_nothing_ties_to_the_ground_get_coordinates_in_space(tied):
    """Two links hinged to each other move across the plane of their hinge, unless one is on the ground."""
    inertia = {"mass": 1.0, "inertia_xx": 0.1, "inertia_yy": 0.1, "inertia_zz": 0.1}
    elements = [
        *GROUND,
        *(Body_Rigid(id=k, cg_id=10 * k, **inertia) for k in (1, 2)),
        *(marker(id, body, (x, 0, 0)) for id, body, x in ((10, 1, 0), (12, 1, 1), (20, 2, 2), (21, 2, 1))),
        Constraint_Joint(id=1, type="REVOLUTE", i_marker_id=21, j_marker_id=12),
        Force_Gravity(id=1, grav_y=-9.81),
    ]
    bearing = Constraint_Joint(id=2, type="REVOLUTE", i_marker_id=10, j_marker_id=90)
    assert is_planar([*elements, *([bearing] if tied else [])]) == tied
