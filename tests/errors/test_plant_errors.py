"""Every message of the plant, raised on purpose; each names the culprit and the cure."""

from __future__ import annotations

import pytest

from blocks.errors import BlockError, ExpressionError, ModelError
from blocks.trace import trace
from plant import Plant, PlantWarning
from plant.elements import (
    Body_Point,
    Body_Rigid,
    Constraint_Coupler,
    Constraint_Joint,
    Control_Diff,
    Control_PlantInput,
    Control_PlantOutput,
    Element,
    Force_Gravity,
    Force_Penalty,
    Force_Scalar_TwoBody,
    Force_Vector_OneBody,
    Model,
    Post_Request,
    Reference_Array,
    Reference_Marker,
    Reference_Variable,
)
from tests.helpers.plants import deck

UNIT = {"mass": 1, "inertia_xx": 1, "inertia_yy": 1, "inertia_zz": 1}


def axle(*elements: Element, type: str = "REVOLUTE", x: float = 0.0, **axes: float) -> Model:
    """One body on a joint, its marker 20 at x."""
    return Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1),
            Body_Rigid(id=2, label="Wheel", cg_id=20, **UNIT),
            Reference_Marker(id=20, body_id=2, pos_x=x, **axes),
            Constraint_Joint(id=1, label="axle", type=type, i_marker_id=20, j_marker_id=10),
            *elements,
        ]
    )


def refused(model: Model, *parts: str, error: type[Exception] = ModelError) -> str:
    """Message of the refusal, which has to contain all parts."""
    with pytest.raises(error) as caught:
        Plant.from_model(model)
    for part in parts:
        assert part in str(caught.value)
    return str(caught.value)


def refused_equations(model: Model, *parts: str, error: type[Exception] = ModelError) -> None:
    plant = Plant.from_model(model)
    with pytest.raises(error) as caught:
        trace(plant, {})
    for part in parts:
        assert part in str(caught.value)


# --- the mechanism ---------------------------------------------------------------------------------------
def test_closed_loop():
    second = [
        Reference_Marker(id=11, body_id=1),
        Reference_Marker(id=21, body_id=2),
        Constraint_Joint(id=2, label="rail", type="TRANSLATIONAL", i_marker_id=21, j_marker_id=11),
    ]
    refused(
        axle(*second),
        'Constraint_Joint id=2 "rail"',
        "closes a loop",
        "Body_Rigid 2",
        "not supported yet",
    )


def test_closed_loop_of_a_file_names_its_line():
    with pytest.raises(ModelError, match=r"four_bar.xml:\d+: Constraint_Joint id=\d+.*closes a loop"):
        Plant.read(deck("four_bar.xml"))


def test_joint_types_without_coordinates():
    refused(axle(type="INLINE"), 'id=1 "axle"', "type INLINE are not supported yet", "REVOLUTE")


def test_markers_that_do_not_fit():
    refused(axle(x=0.5), 'id=1 "axle"', "markers 20 and 10", "0.5 apart", "0 deg askew", "assembly")
    turned = {"a00": 1, "a10": 0, "a20": 0, "a01": 0, "a11": 0, "a21": 1, "a02": 0, "a12": -1, "a22": 0}
    refused(axle(**turned), "0 apart and 90 deg askew")


def test_small_misfit_is_absorbed_with_a_warning():
    with pytest.warns(PlantWarning, match="1e-07 apart.*moved onto the joint"):
        plant = Plant.from_model(axle(x=1e-7))
    assert plant.mechanism.links[0].q0 == pytest.approx([0.0])


def test_joints_of_point_masses():
    bead = [
        Body_Point(id=3, cg_id=30, mass=1),
        Reference_Marker(id=30, body_id=3, body_type="POINTBODY"),
        Constraint_Joint(id=2, type="SPHERICAL", i_marker_id=30, j_marker_id=20),
    ]
    refused(axle(*bead), "Constraint_Joint id=2", "Body_Point 3", "not supported yet")


def test_joint_that_moves_no_mass():
    light = [
        Body_Rigid(id=3, label="Link", cg_id=30),
        Reference_Marker(id=30, body_id=3),
        Constraint_Joint(id=2, label="tip", type="REVOLUTE", i_marker_id=30, j_marker_id=20),
    ]
    refused(axle(*light), 'id=2 "tip"', "moves nothing that has inertia", 'Body_Rigid id=3 "Link"')


# --- what is not there yet -------------------------------------------------------------------------------
def test_unsupported_elements_are_listed_together():
    elements = [
        Force_Penalty(id=3, expr="AZ(20,10)", penalty=1.0),
        Control_Diff(id=4, expr="1"),
        Constraint_Coupler(id=5, joint1_id=1, joint2_id=1, coefficients=(1.0, 2.0)),
        Reference_Variable(id=6, expr="DX(20)", is_implicit=True, autobalance="DISABLED"),
        Force_Scalar_TwoBody(id=7, type="TORQUE", i_marker_id=20, j_marker_id=10, script_name="a.py"),
    ]
    text = refused(axle(*elements), "5 problems in model")
    for part in (
        "Force_Penalty id=3",
        "Control_Diff id=4",
        "Constraint_Coupler id=5",
        "Reference_Variable id=6",
    ):
        assert part in text and "not supported yet" in text
    assert "autobalance=DISABLED" in text and "user subroutines" in text


def test_file_with_penalty_names_its_line():
    with pytest.raises(ModelError, match=r"bead_on_catenary.xml:\d+: Force_Penalty id=1 .*not supported yet"):
        Plant.read(deck("bead_on_catenary.xml"))


def test_requests_of_other_kinds_are_mentioned():
    request = Post_Request(id=1, type="MARKER_DISPLACEMENT", i_marker_id=20)
    with pytest.warns(PlantWarning, match="Post_Request id=1: requests of type MARKER_DISPLACEMENT"):
        plant = Plant.from_model(axle(request))
    assert not plant.outputs and len(plant.warnings) == 1


def test_accelerations_in_forces():
    force = Force_Vector_OneBody(
        id=1, type="TORQUEONLY", marker_id=20, ref_marker_id=0, tz_expression="ACCX(20)"
    )
    refused_equations(
        axle(force), "Force_Vector_OneBody id=1", "accelerations are not available", error=ExpressionError
    )


def test_states_and_sensors_in_expressions():
    output = Control_PlantOutput(id=1, variable_id_list=(1,))
    for text, part in (("SENVAL(3)", "Sensor_Evaluate 3"), ("DIF(2)", "Control_Diff 2"), ("FX(20)", "FX")):
        model = axle(Reference_Variable(id=1, expr=text), output)
        refused_equations(model, "Reference_Variable id=1", part, "not supported yet", error=ExpressionError)


def test_coordinates_and_stabilisation():
    for options, part in (
        ({"coordinates": "absolut"}, "did you mean 'absolute'?"),
        ({"coordinates": "absolute"}, "not supported yet"),
        ({"stabilisation": "projektion"}, "did you mean 'projection'?"),
    ):
        with pytest.raises(ModelError) as caught:
            Plant.from_model(axle(), **options)
        assert part in str(caught.value)


# --- expressions -----------------------------------------------------------------------------------------
def test_unknown_ids_in_expressions_are_reported_together():
    output = Control_PlantOutput(id=1, variable_id_list=(1, 2))
    elements = [Reference_Variable(id=1, expr="DX(29)"), Reference_Variable(id=2, expr="VARVAL(7) + DX(")]
    text = refused(axle(*elements, output), "2 problems")
    assert "Reference_Variable id=1" in text and "29" in text and "Reference_Variable id=2" in text


def test_recursive_variables():
    elements = [
        Reference_Variable(id=1, expr="VARVAL(2) + 1"),
        Reference_Variable(id=2, expr="2*VARVAL(3)"),
        Reference_Variable(id=3, expr="VARVAL(1)"),
        Reference_Variable(id=4, expr="VARVAL(4)"),
    ]
    text = refused(axle(*elements), "1 -> 2 -> 3 -> 1", "4 -> 4", "recursive definition")
    assert "Reference_Variable id=1" in text


def test_integrals_and_inputs_may_use_themselves():
    elements = [
        Reference_Variable(id=1, expr="-VARVAL(1)", dot_form=True, ic=1.0),
        Reference_Variable(id=2, expr="VARVAL(2)"),
        Control_PlantInput(id=1, variable_id_list=(2,)),
    ]
    trace(Plant.from_model(axle(*elements)), {})


def test_forces_that_read_each_other():
    forces = [
        Force_Scalar_TwoBody(
            id=k, type="TORQUE", i_marker_id=20, j_marker_id=10, val_expression=f"SFORCE({3 - k},0,8)"
        )
        for k in (1, 2)
    ]
    refused_equations(
        axle(*forces),
        "recursive definition: Force_Scalar_TwoBody 1 -> Force_Scalar_TwoBody 2 -> Force_Scalar_TwoBody 1",
    )


def test_array_component_that_is_not_there():
    elements = [
        Reference_Array(id=1, type="IC", values=(1.0,)),
        Reference_Variable(id=1, expr="ARYVAL(1,2)"),
        Control_PlantOutput(id=1, variable_id_list=(1,)),
    ]
    refused_equations(axle(*elements), "Reference_Array 1 has 1 entries, not 2", error=ExpressionError)


def test_gravity_depends_on_time_only():
    refused(axle(Force_Gravity(grav_z="-9.81*DX(20)")), "Force_Gravity", "grav_z", "TIME only")


# --- ports and parameters --------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def pendulum() -> Plant:
    return Plant.read(deck("inverted_pendulum.xml"))


def test_unknown_port(pendulum):
    with pytest.raises(BlockError, match=r"no port 'control_forse'; did you mean 'control_force'\?"):
        pendulum.with_port("control_forse", hold_order=1)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"hold_order": -1}, "hold_order of port 'slider' is -1"),
        ({"hold_order": 1.5}, "expected 0, 1, 2"),
        ({"sampling_period": -0.1}, "sampling_period of port 'slider' is -0.1 s"),
        ({"offset_time": "soon"}, "offset_time of port 'slider' 'soon' is not a number"),
    ],
)
def test_values_of_ports(pendulum, options, part):
    with pytest.raises(BlockError, match=part):
        pendulum.with_port("slider", **options)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("Body_Rigid/2.mas", "did you mean 'Body_Rigid/2.mass'"),
        ("Reference_Marker/20.pos_x", "it places"),
        ("Reference_Marker/21.pos_x", "did you mean"),
    ],
)
def test_tunable_names(name, part):
    with pytest.raises(ModelError, match=part):
        Plant.from_model(axle(), tunable=[name])


def test_tunable_is_a_list():
    with pytest.raises(ModelError, match="is text, expected a list"):
        Plant.from_model(axle(), tunable="Body_Rigid/2.mass")


def test_missing_file():
    with pytest.raises(ModelError, match=r"cartpol.xml: there is no such file.*cartpole.xml"):
        Plant.read(deck("cartpole.xml").with_name("cartpol.xml"))
