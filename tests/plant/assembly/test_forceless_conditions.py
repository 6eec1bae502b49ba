"""Conditions that no force can meet are refused by name, not dropped as if others fixed the same."""

from __future__ import annotations

import pytest

from blocks.errors import ModelError
from cosim import Diagram, simulate
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_General,
    Constraint_Joint,
    Control_PlantOutput,
    Element,
    Model,
    Motion_Joint,
    Reference_Marker,
    Reference_Variable,
)
from tests.helpers.slider import ALONG

pytestmark = pytest.mark.parametrize("coordinates", ["joint", "absolute"])


def rail(coordinates: str, *elements: Element, speed: float = 0.0) -> Plant:
    moving = {"v_ic_x": speed, "v_ic_x_flag": True} if speed else {}
    model = [
        Body_Rigid(id=1, isground=True),
        Reference_Marker(id=10, body_id=1, **ALONG),
        Body_Rigid(id=2, cg_id=20, mass=2, inertia_xx=1, inertia_yy=1, inertia_zz=1, **moving),
        Reference_Marker(id=20, body_id=2, pos_x=0.5, **ALONG),
        Reference_Marker(id=21, body_id=2, pos_x=0.9, **ALONG),
        Constraint_Joint(id=1, label="rail", type="TRANSLATIONAL", i_marker_id=20, j_marker_id=10),
        Reference_Variable(id=1, expr="VX(20)"),
        Control_PlantOutput(id=1, label="y", variable_id_list=(1,)),
    ]
    return Plant.from_model(Model.build([*model, *elements]), coordinates=coordinates)


def motion(expr: str, val_type: str = "D") -> Motion_Joint:
    return Motion_Joint(id=1, joint_id=1, joint_type="T", val_type=val_type, type="EXPRESSION", expr=expr)


@pytest.mark.parametrize(("expr", "val_type"), [("DX(20) + 0.1*TIME", "D"), ("VX(20)", "V")])
def test_motion_by_its_own_coordinate_is_refused(expr, val_type, coordinates):
    with pytest.raises(ModelError, match="Motion_Joint id=1: its expression follows the driven coordinate"):
        rail(coordinates, motion(expr, val_type))


def test_motion_by_part_of_its_own_coordinate(coordinates):
    """x = x/2 + 1/4 + t: x' = 2."""
    d = Diagram("own")
    d.add("plant", rail(coordinates, motion("0.5*DX(20) + 0.25 + TIME")))
    assert simulate(d, 0.5, log_every=0.25, engine="reference")["plant.y"] == pytest.approx(2.0, rel=1e-8)


@pytest.mark.parametrize("expr", ["DM(20,21) - 0.4", "DY(21,20,20)", "MAX(0, DX(20) - 5)"])
def test_condition_that_changes_with_nothing_is_refused(expr, coordinates):
    """Between two markers of one body, by forces and with a torque; on one side only."""
    with pytest.raises(ModelError, match="Constraint_General id=1: its expr changes with no displacement"):
        rail(coordinates, Constraint_General(id=1, expr=expr))


def test_condition_on_velocities_that_changes_with_none_is_refused(coordinates):
    with pytest.raises(ModelError, match="Constraint_General id=1: its expr changes with no velocity"):
        rail(coordinates, Constraint_General(id=1, expr="MAX(0, VX(20) - 5)**2"), speed=1.0)


def test_condition_curved_in_velocities_without_any_is_refused(coordinates):
    """x'^2 = 1 has two solutions, and rest is as far from one as from the other."""
    with pytest.raises(ModelError, match="changes with no velocity.*needs initial ones"):
        rail(coordinates, Constraint_General(id=1, expr="VX(20)**2 - 1"))
    assert rail(coordinates, Constraint_General(id=1, expr="VX(20)**2 - 1"), speed=0.7).info()["dof"] == 0
