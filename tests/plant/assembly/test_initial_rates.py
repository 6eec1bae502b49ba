"""Velocities that are given and that constraints do not allow are told: they were changed silently."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from plant import Plant, PlantWarning
from plant.elements import (
    Body_Rigid,
    Constraint_General,
    Constraint_Joint,
    Element,
    Model,
    Motion_Joint,
    Reference_Marker,
)
from plant.elements.markers import euler_313
from tests.helpers.plants import Alone
from tests.helpers.slider import ALONG
from tests.helpers.trees import marker, random_rotation

pytestmark = pytest.mark.parametrize("coordinates", ["joint", "absolute"])


def told(coordinates: str, speed: float, *elements: Element) -> list[str]:
    """What is said of the velocity of a mass on a rail along X."""
    model = [
        Body_Rigid(id=1, isground=True),
        Reference_Marker(id=10, body_id=1, **ALONG),
        Body_Rigid(id=2, cg_id=20, mass=2, inertia_xx=1, inertia_yy=1, inertia_zz=1, v_ic_x=speed),
        Reference_Marker(id=20, body_id=2, pos_x=0.5, **ALONG),
        Constraint_Joint(id=1, label="rail", type="TRANSLATIONAL", i_marker_id=20, j_marker_id=10),
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Plant.from_model(Model.build([*model, *elements]), coordinates=coordinates)
    return [str(w.message) for w in caught if w.category is PlantWarning and "v_ic_x" in str(w.message)]


CONSTRAINT = Constraint_General(id=1, expr="VX(20) - 2")
MOTION = Motion_Joint(
    id=1, joint_id=1, joint_type="T", val_type="V", type="EXPRESSION", expr="2+TIME", ic_disp=0.5
)


@pytest.mark.parametrize("element", [CONSTRAINT, MOTION])
@pytest.mark.parametrize("speed", [1.0, 0.0, 2.001])
def test_a_velocity_that_a_constraint_does_not_allow(element, speed, coordinates):
    (line,) = told(coordinates, speed, element)
    assert f"v_ic_x={speed:g} is not possible with the joints" in line and "the start has 2." in line


@pytest.mark.parametrize("element", [CONSTRAINT, MOTION])
def test_a_velocity_that_it_asks_for_is_not_mentioned(element, coordinates):
    assert told(coordinates, 2.0, element) == []


@pytest.mark.filterwarnings("ignore:.*v_ic_y")
@pytest.mark.parametrize("unit", [1.0, 1e3, 1e-4])
def test_what_contradicts_itself_is_settled_alike_in_all_units(unit, coordinates):
    """A pendulum told to turn and to travel: the least miss of k w and v, k its radius of gyration."""
    a, m, J, w, v = 0.5 * unit, 3.0, np.array([0.2, 0.3, 0.4]) * unit**2, 2.0, 3.0 * unit
    rod = Body_Rigid(
        id=2, cg_id=20, mass=m, w_ic_z=w, v_ic_y=v,
        inertia_xx=J[0], inertia_yy=J[1], inertia_zz=J[2],
    )  # fmt: skip
    model = [
        Body_Rigid(id=1, isground=True),
        Reference_Marker(id=10, body_id=1),
        rod,
        Reference_Marker(id=20, body_id=2, pos_x=a),
        Reference_Marker(id=21, body_id=2),
        Constraint_Joint(id=1, type="REVOLUTE", i_marker_id=21, j_marker_id=10),
    ]
    with pytest.warns(PlantWarning, match="w_ic_z=2 is not possible"):
        plant = Plant.from_model(Model.build(model), coordinates=coordinates)
    k2 = J.sum() / (2 * m)
    found = plant.rates[0][-1 if coordinates == "joint" else 2]
    assert found == pytest.approx((k2 * w + a * v) / (k2 + a**2))


def test_a_turn_that_is_not_possible_is_told_beside_a_fast_travel_in_a_small_unit(coordinates):
    model = [
        Body_Rigid(id=1, isground=True),
        Reference_Marker(id=10, body_id=1),
        Body_Rigid(
            id=2, cg_id=20, mass=2, inertia_xx=1e16, inertia_yy=1e16, inertia_zz=1e16, v_ic_z=3e9, w_ic_z=1.0
        ),
        Reference_Marker(id=20, body_id=2),
        Constraint_Joint(id=1, type="TRANSLATIONAL", i_marker_id=20, j_marker_id=10),
    ]
    with pytest.warns(PlantWarning, match="w_ic_z=1 is not possible"):
        Plant.from_model(Model.build(model), coordinates=coordinates)


def chain(coordinates: str, *given: tuple[str, float], **options) -> Plant:
    """Two bars of 1 m and 1 kg in line along x, hip and knee about z; `given`: velocities of the outer."""
    inertia = {"inertia_xx": 0.1, "inertia_yy": 0.1, "inertia_zz": 0.1}
    model = [
        Body_Rigid(id=1, isground=True),
        Reference_Marker(id=10, body_id=1),
        Body_Rigid(id=2, label="thigh", cg_id=20, mass=1, **inertia),
        Body_Rigid(id=3, label="shank", cg_id=30, mass=1, **inertia, **dict(given)),
        *[Reference_Marker(id=i, body_id=2, pos_x=x) for i, x in ((20, 0.5), (21, 0.0), (22, 1.0))],
        *[Reference_Marker(id=i, body_id=3, pos_x=x) for i, x in ((30, 1.5), (31, 1.0))],
        Constraint_Joint(id=1, label="hip", type="REVOLUTE", i_marker_id=21, j_marker_id=10),
        Constraint_Joint(id=2, label="knee", type="REVOLUTE", i_marker_id=31, j_marker_id=22),
    ]
    return Plant.from_model(Model.build(model), coordinates=coordinates, **options)


@pytest.mark.parametrize(("a", "b"), [(0.0, 0.0), (0.6, 0.2), (-1.1, 2.3)])
def test_rates_that_are_left_open_are_of_the_pose_held_and_in_the_report(a, b, coordinates):
    """v_ic_y = 2 of the shank at angles a and b of both bars: w = M^-1 J^T (J M^-1 J^T)^-1 2.

    With joint coordinates they were those of the design pose, and the report called none open.
    """
    hold = {"hip.q": a, "knee.q": b - a}
    if coordinates == "absolute":
        hold = {"thigh.q[2]": a, "shank.q[2]": b}
    plant = chain(coordinates, ("v_ic_y", 2.0), hold=hold if a else {})
    J = np.array([np.cos(a), 0.5 * np.cos(b)])
    M = np.array([[0.1 + 0.25 + 1.0, 0.5 * np.cos(b - a)], [0.5 * np.cos(b - a), 0.1 + 0.25]])
    w = np.linalg.solve(M, J)
    w *= 2.0 / (J @ w)
    expected = {"hip.qd (angle rate)": w[0], "knee.qd (angle rate)": w[1] - w[0]}
    if coordinates == "absolute":
        expected = {"thigh.qd (angle rate)": w[0], "shank.qd (angle rate)": w[1], "shank.qd (v_y)": 2.0}
    chosen = plant.info()["rates of least kinetic energy"]
    assert {name: chosen[name] for name in expected} == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("given", [(("v_ic_y", 0.0),), (("v_ic_x", 0.0), ("v_ic_y", 3.0), ("w_ic_z", 2.0))])
def test_no_rates_are_reported_where_none_are_open(given, coordinates):
    """All at rest, or hip and knee both turn at 2 and 0."""
    assert chain(coordinates, *given).info()["rates of least kinetic energy"] == {}


@pytest.mark.filterwarnings("ignore:.*conditions.*repeat")
def test_a_joint_that_repeats_another_leaves_its_velocity_alone(coordinates):
    """What rounding leaves of the conditions of a PLANAR joint across a hinge is all they have to say."""
    rng = np.random.default_rng(3)
    for _ in range(3):
        A, r = random_rotation(rng), rng.normal(size=3)
        w = dict(zip(("w_ic_x", "w_ic_y", "w_ic_z"), 0.7 * A[:, 2], strict=True))
        model = [
            Body_Rigid(id=1, isground=True),
            Body_Rigid(id=2, cg_id=20, mass=2, inertia_xx=1, inertia_yy=1, inertia_zz=1, **w),
            marker(20, 2, r + rng.normal(size=3), random_rotation(rng)),
        ]
        for k, type in enumerate(["REVOLUTE", "PLANAR"]):
            at, turned = r + k * A @ [0.3, -0.4, 0.0], A @ euler_313(0.4 * k, 0.0, 0.0)
            model += [marker(10 + k, 1, at, turned), marker(21 + k, 2, at, turned)]
            model.append(Constraint_Joint(id=k + 1, type=type, i_marker_id=21 + k, j_marker_id=10 + k))
        alone = Alone(Plant.from_model(Model.build(model), coordinates=coordinates))
        rate = alone.x0[alone.slice(next(m.name for m in alone.states if m.name.endswith(".qd")))]
        assert np.linalg.norm(rate[:3]) == pytest.approx(0.7, rel=1e-9)
