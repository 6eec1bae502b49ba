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
from tests.helpers.slider import ALONG

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
