"""Poses in which the dot products of a joint are 0 though it is closed the other way round."""

import numpy as np
import pytest

from blocks import PlantloopError
from cosim import trim
from plant import Plant
from plant.constraints.turned_joints import turned_joints
from plant.elements import Body_Rigid, Constraint_Joint, Force_Gravity, Model
from tests.helpers.trees import marker

HALF = 0.5 * np.ones(4)  # a third of a turn about (1, 1, 1): x to y to z to x
OVER = np.array([0.0, 1.0, 0.0, 0.0])  # half a turn about x


def held(type, coordinates="joint"):
    """A body on a ball joint at the origin, with a second joint that holds directions."""
    elements = [
        Force_Gravity(grav_z=-9.81),
        Body_Rigid(id=1, isground=True),
        marker(1, 1, np.zeros(3), np.eye(3)),
        Body_Rigid(id=2, label="body", cg_id=20, mass=1.0, inertia_xx=0.1, inertia_yy=0.2, inertia_zz=0.3),
        marker(20, 2, np.array([0.0, 0.0, -0.3]), np.eye(3)),
        marker(21, 2, np.zeros(3), np.eye(3)),
        Constraint_Joint(id=1, label="ball", type="SPHERICAL", i_marker_id=21, j_marker_id=1),
        Constraint_Joint(id=2, label="held", type=type, i_marker_id=21, j_marker_id=1),
    ]
    return Plant.from_model(Model.build(elements), coordinates=coordinates)


@pytest.mark.parametrize(
    ("type", "e", "wrong"),
    [
        ("ORIENTATION", HALF, True), ("ORIENTATION", OVER, True),
        ("ORIENTATION", np.array([1.0, 1e-3, 0.0, 0.0]), False),
        ("PARALLEL_AXES", OVER, True), ("PARALLEL_AXES", np.array([0.1, 0.0, 0.0, 1.0]), False),
        ("CONSTANT_VELOCITY", HALF, False), ("INPLANE", OVER, False),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_which_poses_are_others(type, e, wrong):
    plant = held(type)
    now = [e / np.linalg.norm(e)]
    found = list(turned_joints(plant.mechanism, [np.array([1.0, 0.0, 0.0, 0.0])], now))
    assert found == (['Constraint_Joint id=2 "held"'] if wrong else [])


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize(
    ("type", "e"), [("ORIENTATION", HALF), ("PARALLEL_AXES", OVER)], ids=["third", "half"]
)
def test_a_rest_that_is_put_together_otherwise_is_none(type, e, coordinates):
    """From a guess that is turned like this there may be no way back."""
    plant = held(type, coordinates)
    (link,) = plant.mechanism.links
    centre = [-0.3, 0.0, 0.0] if e is HALF else [0.0, 0.0, 0.3]
    place = [*e, *centre] if coordinates == "absolute" else e
    said = 'no equilibrium found: where the equations hold, Constraint_Joint id=2 "held" has its'
    try:
        point = trim(plant, x={f"{link.name}.q": np.array(place)})
    except PlantloopError as error:
        assert str(error).startswith(said)
    else:
        assert np.abs(point.states[f"{link.name}.q"][:4]) == pytest.approx([1.0, 0.0, 0.0, 0.0], abs=1e-9)
    if coordinates == "joint":
        with pytest.raises(PlantloopError, match="has its markers the other way round"):
            trim(plant, x={f"{link.name}.q": np.array(place)})
    assert trim(plant).residual < 1e-9
