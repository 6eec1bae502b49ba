"""A constraint whose value touches 0 without passing through it is refused, in both coordinates alike.

Before, absolute coordinates took `MAX(DX - 5, 0)` for a stop that lies apart, both took `ABS(DX - 0.5)` and
`DM(20,11)` for conditions that other joints repeat, and slid off by 1e-4 m in a second.
"""

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
    Force_Vector_OneBody,
    Model,
    Reference_Marker,
    Reference_Variable,
)
from tests.helpers.slider import ALONG

pytestmark = pytest.mark.parametrize("coordinates", ["joint", "absolute"])


def rail(coordinates: str, *elements: Element) -> Plant:
    """A mass of 2 at x = 0.5 that moves at 1 along x, and is pushed by 3."""
    model = [
        Body_Rigid(id=1, isground=True),
        Reference_Marker(id=10, body_id=1, **ALONG),
        Reference_Marker(id=11, body_id=1, pos_x=0.5, **ALONG),
        Body_Rigid(id=2, cg_id=20, mass=2, inertia_xx=1, inertia_yy=1, inertia_zz=1, v_ic_x=1.0),
        Reference_Marker(id=20, body_id=2, pos_x=0.5, **ALONG),
        Constraint_Joint(id=1, label="rail", type="TRANSLATIONAL", i_marker_id=20, j_marker_id=10),
        Force_Vector_OneBody(id=1, type="FORCEONLY", marker_id=20, ref_marker_id=0, fx_expression="3"),
        Reference_Variable(id=9, expr="DX(20)"),
        Control_PlantOutput(id=1, label="y", variable_id_list=(9,)),
    ]
    return Plant.from_model(Model.build([*model, *elements]), coordinates=coordinates)


@pytest.mark.slow
@pytest.mark.parametrize(
    "expr",
    [
        "MAX(DX(20) - 0.5, 0)", "MIN(0.5 - DX(20), 0)", "DIM(DX(20), 0.5)",
        "MAX(0, DX(20) - 0.3)", "ABS(DX(20) - 0.5)", "(DX(20) - 0.5)**2", "-(DX(20) - 0.5)**2", "DM(20,11)",
        "MAX(VX(20) - 1, 0)", "MAX(VX(20) - 0.5, 0)", "ABS(VX(20) - 1)",
    ],
)  # fmt: skip
def test_one_that_touches_zero_is_refused(expr, coordinates):
    with pytest.raises(ModelError, match="_General id=1: its expr .*no force can (make it 0|hold it there)"):
        rail(coordinates, Constraint_General(id=1, expr=expr))


@pytest.mark.parametrize("expr", ["MAX(DX(20) - 5, 0)", "IF(DX(20) - 0.5: 0, 0, DX(20) - 0.5)"])
def test_one_that_holds_on_the_other_side_only_is_refused(expr, coordinates):
    with pytest.raises(ModelError, match="_General id=1: its expr .*One that holds on one side only"):
        rail(coordinates, Constraint_General(id=1, expr=expr))


def test_one_that_passes_through_zero_elsewhere_is_refused(coordinates):
    """Negative on both sides of the start, it is 0 once more 0.1 further, where it changes its sign."""
    with pytest.raises(ModelError, match="_General id=1: its expr .*no force can (make it 0|hold it there)"):
        rail(coordinates, Constraint_General(id=1, expr="(DX(20) - 0.5)**2 * (DX(20) - 0.6)"))


@pytest.mark.slow
def test_a_variable_that_touches_zero_is_refused(coordinates):
    with pytest.raises(ModelError, match="Reference_Variable id=3: its expr is nowhere below 0"):
        rail(coordinates, Reference_Variable(id=3, expr="ABS(DX(20)-0.5)", is_implicit=True))


@pytest.mark.parametrize("expr", ["DX(20)*ABS(DX(20)) - 0.25", "DM(20,10) - 0.5", "MAX(DX(20), 0.1) - 0.5"])
def test_one_that_passes_through_zero_holds(expr, coordinates):
    """Corners elsewhere change nothing."""
    d = Diagram("held")
    d.add("plant", rail(coordinates, Constraint_General(id=1, expr=expr)))
    found = simulate(d, 0.5, log_every=0.25, engine="reference")["plant.y"]
    assert found == pytest.approx(0.5, abs=1e-12)
