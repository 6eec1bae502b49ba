"""Every message of the plant, raised on purpose; each names the culprit and the cure."""

from __future__ import annotations

import warnings

import pytest

from blocks.contract.trace import trace
from blocks.errors import BlockError, ExpressionError, ModelError
from cosim import Diagram, linearize, simulate
from plant import GammaQ, Plant, PlantWarning
from plant.elements import (
    Body_Point,
    Body_Rigid,
    Constraint_Coupler,
    Constraint_General,
    Constraint_Joint,
    Control_Diff,
    Control_PlantInput,
    Control_PlantOutput,
    Force_Gravity,
    Force_Scalar_TwoBody,
    Force_SpringDamper,
    Force_Vector_OneBody,
    Force_Vector_TwoBody,
    Inertia_Wheel,
    Model,
    Motion_Joint,
    Post_Request,
    Reference_Array,
    Reference_Marker,
    Reference_Variable,
    Sensor_Evaluate,
    Sensor_Event,
)
from tests.helpers.plants import Alone, deck
from tests.helpers.refused_plants import UNIT, axle, refused, refused_equations


# --- the mechanism ---------------------------------------------------------------------------------------
def test_loop_that_cannot_close():
    far = [
        Reference_Marker(id=11, body_id=1, pos_x=3.0),
        Reference_Marker(id=21, body_id=2, pos_x=1.0),
        Constraint_Joint(id=2, label="pin", type="SPHERICAL", i_marker_id=21, j_marker_id=11),
    ]
    text = refused(
        axle(*far), 'Constraint_Joint id=2 "pin"', "cannot be closed", "displacement along global x"
    )
    assert "off by 2" in text and "its loop goes through Constraint_Joint 1" in text


def test_motions_that_contradict_each_other():
    both = [Motion_Joint(id=k, joint_id=1, joint_type="R", val_type="V", expr=f"{k}") for k in (1, 2)]
    refused(axle(*both), "Motion_Joint id=", "no velocities obey them all")


@pytest.mark.parametrize("level, what", [("D", "displacement"), ("V", "velocity")])
@pytest.mark.parametrize(
    "expr",
    [
        "IF(TIME-1: 0, 0, 1)",
        "TIME + STEP(TIME, 1, 0, 1, 3)",
        "IF(TIME-1: 0, 0, AZ(20,10))",
        "IF(TIME-1: 0, 0, LOG(-TIME))",
    ],
)
def test_motions_that_jump(level, what, expr):
    """Joint and absolute coordinates went on from such a jump in ways of their own, without a word."""
    jump = Motion_Joint(id=1, joint_id=1, joint_type="R", val_type=level, expr=expr)
    refused(axle(jump), "Motion_Joint id=1", f"its {what} jumps at TIME = 1", "STEP(TIME,")


@pytest.mark.parametrize(
    "level, expr",
    [
        ("D", "IF(TIME-1: 0, 0, TIME-1)"), ("A", "IF(TIME-1: 0, 0, 1)"),
        ("D", "IF(TIME+0.5: 1, 0, 0)"), ("D", "IF(TIME: 1, 0, 0)"),  # before the start, and there
    ],
)  # fmt: skip
def test_corners_and_accelerations_may_jump(level, expr):
    motion = Motion_Joint(id=1, joint_id=1, joint_type="R", val_type=level, expr=expr)
    d = Diagram()
    d.add("plant", Plant.from_model(axle(motion)))
    assert set(d.system().rounding) <= ({0.0} if level == "A" else {1e4})  # nothing to come back to


def test_a_displacement_driven_by_velocities():
    motion = Motion_Joint(id=1, joint_id=1, joint_type="R", val_type="D", expr="WZ(20,10) - 1")
    refused(axle(motion), "Motion_Joint id=1", "depends on velocities", 'val_type="V"')


def test_constraints_on_nothing_that_moves():
    """They counted as what "the other joints fix already", or as loops that do not close."""
    told = ("depends on no displacement and no velocity", "VARVAL")
    refused(axle(Constraint_General(id=1, expr="0*TIME")), "Constraint_General id=1", *told)
    refused(axle(Reference_Variable(id=1, expr="TIME", is_implicit=True)), "Reference_Variable id=1", *told)


def test_a_start_without_a_value():
    motion = Motion_Joint(id=1, joint_id=1, joint_type="R", val_type="D", expr="1/TIME")
    refused(
        axle(motion), "Motion_Joint id=1: has no finite value at the start (TIME = 0)", "division by zero"
    )


def test_a_joint_coupled_to_itself_or_by_nothing():
    def coupler(**numbers):
        return axle(Constraint_Coupler(id=1, joint1_id=1, **numbers))

    with pytest.raises(ModelError, match="joint2_id=1 is the coordinate of joint1_id"):
        coupler(joint2_id=1, coefficients=(1.0, 2.0))
    with pytest.raises(ModelError, match="its coefficients are all 0"):
        coupler(joint2_id=2, coefficients=(0.0, 0.0))


def test_markers_of_a_body_that_is_switched_off():
    """Joints and expressions that use them ended in a KeyError."""
    off = [Body_Rigid(id=4, cg_id=40, is_active=False, **UNIT), Reference_Marker(id=40, body_id=4)]
    told = "is a marker of Body_Rigid 4, which is switched off"
    joint = Constraint_Joint(id=5, type="REVOLUTE", i_marker_id=40, j_marker_id=10)
    refused(axle(*off, joint), "Constraint_Joint id=5: i_marker_id=40 " + told)
    refused(axle(*off, Reference_Variable(id=1, expr="DX(20, 40)")), "expr: marker=40 " + told)


@pytest.mark.parametrize("reads", ["VARVAL(1)", "DIF(1)", "SENVAL(1)", "WHEELH(1)", "WHEELW(1)"])
def test_values_of_elements_that_are_switched_off(reads):
    """They are 0, which was not said; of sensors and wheels a KeyError was."""
    off = [
        Reference_Variable(id=1, expr="5", is_active=False),
        Control_Diff(id=1, expr="5", is_active=False),
        Sensor_Evaluate(id=1, expr="5", is_active=False),
        Inertia_Wheel(id=1, marker_id=20, inertia=0.1, w_ic=3.0, is_active=False),
        Sensor_Event(id=1, expr="TIME", value=0.2, compare="GE", halt=True, evaluate_id=1),
    ]
    shown = [Reference_Variable(id=2, expr=f"{reads} + 1"), Control_PlantOutput(id=1, variable_id_list=(2,))]
    with pytest.warns(PlantWarning) as caught:
        plant = Plant.from_model(axle(*off, *shown))
    said = [str(w.message) for w in caught]
    for reader in ("Reference_Variable id=2, expr", "Sensor_Event id=1"):
        (line,) = [text for text in said if text.startswith(f"{reader}: reads")]
        assert "which is switched off: its value is 0" in line
    d = Diagram("off")
    d.add("plant", plant)
    r = simulate(d, until=0.5, engine="reference")
    assert r["plant.output_1"][-1] == pytest.approx([1.0]) and r.time[-1] == pytest.approx(0.2)


@pytest.mark.parametrize(("off", "value"), [(False, 3.0), (True, 5.0)])
def test_a_function_that_could_read_two_elements(off, value):
    """Ids are unique per type of element: the first of the types that is active is read."""
    pair = Force_Vector_TwoBody(
        id=1, type="FORCEONLY", i_marker_id=20, j_floating_marker_id=10, ref_marker_id=0,
        fz_expression="3", is_active=not off,
    )  # fmt: skip
    one = Force_Vector_OneBody(id=1, type="FORCEONLY", marker_id=20, ref_marker_id=0, fz_expression="5")
    request = Post_Request(id=1, type="ELEMENTAL_FORCE", elem_type="GFORCE", elem_id=1)
    read, output = (
        Reference_Variable(id=1, expr="GFORCE(1,0,4)"),
        Control_PlantOutput(id=1, variable_id_list=(1,)),
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plant = Plant.from_model(axle(pair, one, request, read, output))
    said = [str(w.message) for w in caught if "same id" in str(w.message)]
    told = "GFORCE(1, ...) reads Force_Vector_TwoBody id=1, and not Force_Vector_OneBody id=1, which has"
    readers = () if off else ("Reference_Variable id=1", "Post_Request id=1")
    assert len(said) == len(readers) and all(any(f"{r}: {told}" in text for text in said) for r in readers)
    assert Alone(plant).output("output_1") == value


def test_motions_of_a_joint_that_is_switched_off():
    off = Constraint_Joint(id=5, type="REVOLUTE", i_marker_id=20, j_marker_id=10, is_active=False)
    motion = Motion_Joint(id=1, joint_id=5, expr="TIME")
    with pytest.warns(PlantWarning, match="Motion_Joint id=1: joint_id=5 is switched off; this holds"):
        Plant.from_model(axle(off, motion))


def test_torques_on_a_point_mass():
    point = [Body_Point(id=5, cg_id=50, mass=1.0), Reference_Marker(id=50, body_id=5, body_type="POINTBODY")]
    spring = Force_SpringDamper(id=1, type="ROTATIONAL", i_marker_id=50, j_marker_id=20, stiffness=1.0)
    with pytest.warns(PlantWarning, match="id=1: its torque on Body_Point id=5 changes nothing"):
        Plant.from_model(axle(*point, spring))


def test_the_state_of_a_control_element_that_is_switched_off():
    off = Control_Diff(id=5, expr="1", ic=3.0, is_active=False)
    asks = Reference_Variable(id=1, expr="2 + DIF(5) + DIF1(5)")
    output = Control_PlantOutput(id=1, label="y", variable_id_list=(1,))
    assert Alone(Plant.from_model(axle(off, asks, output))).output("y") == 2.0


def test_what_is_no_element():
    for given in (["x"], 5, [Body_Rigid(id=1, isground=True), None]):
        with pytest.raises(ModelError, match="is no element; write elements such as Body_Rigid"):
            Model.build(given)


def test_motions_cannot_follow_a_port_that_may_jump():
    elements = [
        Reference_Variable(id=1, expr="0"),
        Control_PlantInput(id=5, variable_id_list=(1,)),
        Motion_Joint(id=1, joint_id=1, val_type="D", expr="VARVAL(1)"),
    ]
    with pytest.warns(PlantWarning, match="Motion_Joint id=1: depends on plant input 5"):
        plant = Plant.from_model(axle(*elements))
    with pytest.raises(ModelError) as caught:  # it can be read, so that with_port can mend it; not used
        trace(plant, {})
    for part in ("Motion_Joint id=1", "plant input 5", 'val_type="A"', 'with_port("input_5", filter=0.01)'):
        assert part in str(caught.value)
    mended = plant.with_port("input_5", filter=0.01)
    assert not mended.warnings and mended.inputs["input_5"].filter == 0.01
    assert mended.with_port("input_5", filter=0).jumpy


def test_constraints_on_velocities_by_variables():
    variable = Reference_Variable(id=6, expr="WZ(20)", is_implicit=True)
    refused(axle(variable), "Reference_Variable id=6", "velocities", "Constraint_General")


def test_servo_constraint_that_no_force_meets():
    variable = Reference_Variable(id=6, expr="DX(21) - 1", is_implicit=True, autobalance="DISABLED")
    model = axle(Reference_Marker(id=21, body_id=2, pos_x=1.0, pos_y=0.5), variable)
    refused_equations(model, "Reference_Variable id=6", "no force can meet", "VARVAL")


def test_constraints_by_subroutine_that_is_not_there():
    general = Constraint_General(id=3, type="USERSUB", script_name="a.py")
    with pytest.raises(ModelError, match=r"Constraint_General id=3: the script .*a\.py cannot be read"):
        Plant.from_model(axle(general), trust=True)


def test_couplers_by_subroutine_that_is_not_there():
    slide = [
        Body_Rigid(id=3, cg_id=30, **UNIT),
        Reference_Marker(id=30, body_id=3),
        Constraint_Joint(id=2, type="TRANSLATIONAL", i_marker_id=30, j_marker_id=10),
    ]
    coupler = Constraint_Coupler(id=3, joint1_id=1, joint2_id=2, script_name="a.py")
    with pytest.raises(ModelError, match=r"Constraint_Coupler id=3: the script .*a\.py cannot be read"):
        Plant.from_model(axle(*slide, coupler), trust=True)


def test_constraints_cannot_depend_on_forces():
    general = Constraint_General(id=3, expr="FX(20,10)")
    refused(axle(general), "Constraint_General id=3", "cannot depend on forces", error=ExpressionError)


def test_markers_that_do_not_fit_are_put_together():
    with pytest.warns(PlantWarning, match="axle.*markers 20 and 10 are 0.5 apart.*Wheel.*was moved onto it"):
        plant = Plant.from_model(axle(x=0.5))
    assert plant.start[0] == pytest.approx([0.0])
    turned = {"a00": 1, "a10": 0, "a20": 0, "a01": 0, "a11": 0, "a21": 1, "a02": 0, "a12": -1, "a22": 0}
    with pytest.warns(PlantWarning, match="1.57 rad askew"):
        Plant.from_model(axle(**turned))


def test_small_misfit_is_absorbed_with_a_warning():
    with pytest.warns(PlantWarning, match="1e-07 apart.*moved onto the joint"):
        plant = Plant.from_model(axle(x=1e-7))
    assert plant.mechanism.links[0].q0 == pytest.approx([0.0])


def test_joint_that_moves_no_mass():
    light = [
        Body_Rigid(id=3, label="Link", cg_id=30),
        Reference_Marker(id=30, body_id=3),
        Constraint_Joint(id=2, label="tip", type="REVOLUTE", i_marker_id=30, j_marker_id=20),
    ]
    refused(axle(*light), 'id=2 "tip"', "moves nothing that has inertia", 'Body_Rigid id=3 "Link"')


# --- what is not there yet -------------------------------------------------------------------------------
def test_scripts_do_not_run_without_trust():
    force = Force_Scalar_TwoBody(id=7, type="TORQUE", i_marker_id=20, j_marker_id=10, script_name="a.py")
    library = Reference_Variable(id=6, type="USERSUB", usrsub_dll_name="ke.dll", usrsub_fnc_name="Energy")
    text = refused(axle(force, library), "2 problems", "would run SFOSUB of the script", "a.py", "trust=True")
    assert "Reference_Variable id=6: would run Energy of the library ke.dll" in text


def test_file_with_a_script_names_its_line():
    with pytest.raises(ModelError, match=r"kinetic_energy.xml:\d+: Reference_Variable id=3080 .*ke.py"):
        Plant.read(deck("kinetic_energy.xml"))


def test_requests_of_unknown_elements_are_mentioned():
    request = Post_Request(id=1, type="ELEMENTAL_FORCE", elem_type="Force_Beam", elem_id=1)
    with pytest.warns(PlantWarning, match="id=1: requests of type ELEMENTAL_FORCE of Force_Beam"):
        plant = Plant.from_model(axle(request))
    assert not plant.requests and len(plant.warnings) == 1


def test_states_and_sensors_in_expressions():
    output = Control_PlantOutput(id=1, variable_id_list=(1,))
    for text, part in (("SENVAL(3)", "names a Sensor_Evaluate"), ("DIF(2)", "names a Control_Diff")):
        refused(axle(Reference_Variable(id=1, expr=text), output), "Reference_Variable id=1", part)


def test_coordinates_and_stabilisation():
    for options, part in (
        ({"coordinates": "absolut"}, "did you mean 'absolute'?"),
        ({"stabilisation": "projektion"}, "did you mean 'projection'?"),
    ):
        with pytest.raises(ModelError) as caught:
            Plant.from_model(axle(), **options)
        assert part in str(caught.value)


def test_fields_of_a_plant_that_is_made():
    plant = Plant.from_model(axle())
    assert plant.with_fields(stabilisation="gamma_q").stabilisation == GammaQ(0.1)
    mass = next(name for name in plant.numbers if name.endswith("mass"))
    for values, part in (
        ({"stabilisation": 3}, "stabilisation is 3, expected 'projection'"),
        ({"tunable": 5}, "tunable is 5"),
        ({"coordinates": "absolute"}, "got coordinates: the equations of a plant are made for the others"),
    ):
        with pytest.raises(ModelError, match=part):
            plant.with_fields(**values)
    assert linearize(plant).name == "model"
    assert plant.with_fields(tunable=[mass]).tunable == (mass,)


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
    ]
    text = refused(axle(*elements), "1 -> 2 -> 3 -> 1", "recursive definition")
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
    with pytest.raises(ModelError, match=r"there is no file '.*cartpol.xml'; did you mean 'cartpole.xml'"):
        Plant.read(deck("cartpole.xml").with_name("cartpol.xml"))
