"""Velocities that are given and that constraints do not allow are told: they were changed silently."""

from __future__ import annotations

import warnings

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
