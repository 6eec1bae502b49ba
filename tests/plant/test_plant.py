"""The plant as a block: ports, names, states, parameters, and its outputs at the initial state."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from fractions import Fraction

import casadi as ca
import numpy as np
import pytest

from blocks.contract.memories import (
    AcceptedMemory,
    ContinuousState,
    CountedInstants,
    DiscreteState,
    SampledMemory,
)
from blocks.contract.trace import trace
from blocks.errors import PlantloopError
from plant import Plant, PlantWarning
from plant.elements import (
    Body_Point,
    Body_Rigid,
    Constraint_Joint,
    Control_PlantInput,
    Control_PlantOutput,
    Element,
    Force_Gravity,
    Force_Scalar_TwoBody,
    Force_Vector_OneBody,
    Model,
    Motion_Joint,
    Post_Request,
    Reference_Array,
    Reference_Marker,
    Reference_Spline,
    Reference_Variable,
)
from plant.names import slug, unique_names
from tests.helpers.plants import Alone, deck
from tests.helpers.trees import marker, random_rotation

UNIT = {"mass": 1, "inertia_xx": 1, "inertia_yy": 1, "inertia_zz": 1}


def model(*elements: Element) -> Model:
    return Model.build([Body_Rigid(id=1, isground=True), Reference_Marker(id=10, body_id=1), *elements])


def axle(*elements: Element, **body: float) -> Model:
    """One body on a revolute joint about global z, with markers 20 and 10."""
    return model(
        Body_Rigid(id=2, label="Wheel", cg_id=20, **{**UNIT, **body}),
        Reference_Marker(id=20, body_id=2),
        Constraint_Joint(id=1, label="axle", type="REVOLUTE", i_marker_id=20, j_marker_id=10),
        *elements,
    )


def variables(*texts: str, first: int = 1) -> list[Element]:
    """Variables from expressions, and an output port ``y`` of all of them."""
    found = [Reference_Variable(id=k, expr=text) for k, text in enumerate(texts, start=first)]
    return [*found, Control_PlantOutput(id=90, label="y", variable_id_list=tuple(v.id for v in found))]


@pytest.fixture(scope="module")
def pendulum() -> Plant:
    return Plant.read(deck("inverted_pendulum_ic01.xml"))


# --- names -----------------------------------------------------------------------------------------------
def test_slugs():
    assert slug("control force") == "control_force"
    assert slug("  Joint #3 (left) ") == "joint_3_left"
    assert slug("Ölpumpe") == "lpumpe"
    assert slug(None) == slug("") == slug("--") == ""


def test_equal_labels_take_their_ids():
    entries = [("force", "input", 1), ("Force", "output", 2), (None, "output", 3), ("other", "output", 4)]
    assert unique_names(entries) == ["force_1", "force_2", "output_3", "other"]
    assert (
        len(set(unique_names([("force", "input", 1), ("force", "output", 1), ("force 1", "input", 7)]))) == 3
    )


# --- ports -----------------------------------------------------------------------------------------------
def test_ports_of_the_file(pendulum):
    assert list(pendulum.inputs) == ["control_force", "disturbance_force"]
    assert list(pendulum.outputs) == ["pendulum", "slider"]
    assert list(pendulum.requests) == ["request_hinge"]
    force, output = pendulum.inputs["control_force"], pendulum.outputs["pendulum"]
    assert (force.id, force.size, force.variables, force.labels) == (303010, 1, (11,), ("Fc [N]",))
    assert (force.hold_order, force.sampling_period, force.origin) == (0, 0.0, "file")
    assert (output.id, output.variables, output.hold_order) == (303001, (12, 13), 1)
    assert pendulum.requests["request_hinge"].labels == ("expr2", "expr3", "expr4")


def test_sampled_port_of_the_file():
    port = Plant.read(deck("inverted_pendulum_ic01_20hz.xml")).inputs["control_force"]
    assert port.hold.sampling_period == Fraction(1, 20) and port.hold.offset_time == Fraction(1, 100)
    assert str(port.ticks) == "20 Hz, offset 0.01 s"


def test_with_port_changes_one_port_of_a_copy(pendulum):
    other = pendulum.with_port("control_force", sampling_period="1/60", hold_order=1)
    port = other.inputs["control_force"]
    assert (
        port.hold.sampling_period == Fraction(1, 60) and port.hold_order == 1 and port.origin == "with_port"
    )
    assert pendulum.inputs["control_force"].hold_order == 0
    assert other.with_port("slider", hold_order=2).outputs["slider"].hold_order == 2
    assert trace(other, {}).declared.inputs[0].hold == port.hold


def test_input_replaces_the_variables_own_expression(pendulum):
    alone = Alone(pendulum)
    pushed = alone.derivative(0.0, alone.x0, {"control_force": 2.0}) - alone.derivative(0.0, alone.x0)
    assert pushed[2] > 1.0
    assert alone.output("request_hinge", u={"control_force": 2.0})[2] == 2.0


def test_sampled_output_is_held():
    elements = [
        *variables("AZ(20,10)")[:1],
        Control_PlantOutput(id=9, label="y", variable_id_list=(1,), sampling_period=0.1),
    ]
    declared = trace(Plant.from_model(axle(*elements)), {}).declared
    kinds = [ContinuousState, ContinuousState, SampledMemory, DiscreteState]
    assert [type(m) for m in declared.memories] == kinds
    assert str(declared.ticks[0]) == "10 Hz"


def test_direct_feedthrough_is_derived(pendulum):
    traced = trace(pendulum, {})
    by_name = {o.name: traced.depends(o.name, o.expression)[0] for o in traced.declared.outputs}
    assert not by_name["pendulum"].any() and not by_name["slider"].any()
    assert by_name["request_hinge"].tolist() == [[False, False], [False, False], [True, False]]


# --- states and parameters -------------------------------------------------------------------------------
def test_state_names_and_initial_values(pendulum):
    assert list(pendulum.initial) == ["slider_on_ground.q", "hinge.q", "slider_on_ground.qd", "hinge.qd"]
    assert pendulum.initial["hinge.q"] == pytest.approx([-0.1])
    declared = trace(pendulum, {}).declared
    states = declared.memories_of(ContinuousState)
    assert [m.name for m in states] == list(pendulum.initial)
    assert [m.static for m in states] == ["solve", "solve", "zero", "zero"]
    assert states[1].labels == ("angle",)
    for m in states:
        assert m.initial == pytest.approx(pendulum.initial[m.name])


def test_joints_without_labels_and_free_bodies_have_names():
    plant = Plant.from_model(
        model(
            Body_Rigid(id=2, cg_id=20, **UNIT),
            Reference_Marker(id=20, body_id=2),
            Constraint_Joint(id=7, type="REVOLUTE", i_marker_id=20, j_marker_id=10),
            Body_Rigid(id=3, cg_id=30, **UNIT),
            Reference_Marker(id=30, body_id=3),
            Body_Point(id=4, label="the bead", cg_id=40, mass=1),
            Reference_Marker(id=40, body_id=4, body_type="POINTBODY"),
        )
    )
    assert [link.name for link in plant.mechanism.links] == ["joint_7", "body_3", "the_bead"]
    assert [i.numel() for i in trace(plant, {}).declared.invariants] == [1]  # one quaternion


def test_parameters_have_names_and_aliases(pendulum):
    declared = trace(pendulum, {}).declared
    by_name = {q.name: q for q in declared.parameters}
    assert by_name["Body_Rigid/30102.mass"].aliases == ("slider.mass",)
    assert by_name["Force_SpringDamper/1.stiffness"].aliases == ("slider_spring.stiffness",)
    assert by_name["Force_Gravity.grav_z"].value == -9.81
    assert "Force_SpringDamper/1.preload" not in by_name and "Force_Gravity.grav_x" not in by_name


def test_parameters_are_run_time_numbers(pendulum):
    heavy = Alone(pendulum, {"Body_Rigid/30102.mass": 2.0, "Force_Gravity.grav_z": 0.0})
    assert heavy.derivative(0.0, heavy.x0) == pytest.approx([0, 0, 0, 0])
    pushed = heavy.derivative(0.0, heavy.x0, {"control_force": 1.0})
    assert 0.3 < pushed[2] < 0.5


def test_numbers_know_their_element_by_the_parameters_name(pendulum):
    """Every parameter of the plant, its gravity too, and nothing is read out of the names."""
    known = pendulum.numbers
    declared = trace(pendulum, {}).declared.parameters
    assert {q.name for q in declared} <= set(known)
    element, attribute = known["Force_Gravity.grav_z"]
    assert (element, attribute) == (pendulum.model.gravity, "grav_z")
    with pytest.raises(PlantloopError, match="grav_z=nan is not finite"):
        pendulum.check_parameters({"Force_Gravity.grav_z": np.nan, "somebody.else": -1.0})


def test_zeros_and_marker_positions_become_tunable_by_name():
    force = Force_Scalar_TwoBody(id=1, label="push", type="TORQUE", i_marker_id=20, j_marker_id=10, val=0.0)
    tip = Reference_Marker(id=21, body_id=2, pos_x=1.0)
    names = ("Force_Scalar_TwoBody/1.val", "Reference_Marker/21.pos_y")
    plant = Plant.from_model(axle(force, tip, *variables("DX(21)", "DY(21)", "VX(21)")), tunable=names)
    alone = Alone(plant, {"Force_Scalar_TwoBody/1.val": 3.0, "Reference_Marker/21.pos_y": 0.5})
    assert alone.derivative(0.0, [0.0, 2.0])[1] == pytest.approx(3.0)
    assert alone.output("y", x=[np.pi / 2, 2.0]) == pytest.approx([-0.5, 1.0, -2.0])


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_tunable_marker_that_nothing_reads_is_warned_of(coordinates):
    """It was taken in silence, and a run with a value for it said that there was no such parameter."""
    tips = [Reference_Marker(id=k, body_id=2, pos_x=1.0) for k in (21, 22)]
    names = ("Reference_Marker/21.pos_y", "Reference_Marker/22.pos_y")
    parts = axle(*tips, *variables("DX(21)"))
    with pytest.warns(PlantWarning, match=r"names 'Reference_Marker/22\.pos_y', and no equation") as caught:
        plant = Plant.from_model(parts, tunable=names, coordinates=coordinates)
    assert len(caught) == len(plant.warnings) == 1
    assert {q.name for q in trace(plant, {}).declared.parameters} & set(names) == {names[0]}
    with pytest.warns(PlantWarning, match=r"names 'Reference_Marker/22\.pos_z'") as caught:
        plant.with_fields(tunable=["Reference_Marker/22.pos_z", "Reference_Marker/21.pos_x"])
    assert len(caught) == 1


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_tunable_marker_beside_a_motion_that_needs_a_filter(coordinates):
    """The plant could not be read at all: its equations have to wait for `with_port(filter=)`."""
    driven = [
        *(Reference_Marker(id=k, body_id=2, pos_x=1.0) for k in (21, 22)),
        Reference_Variable(id=9, expr="0"),
        Control_PlantInput(id=5, variable_id_list=(9,)),
        Motion_Joint(id=1, joint_id=1, val_type="D", expr="VARVAL(9)"),
    ]
    names = ("Reference_Marker/21.pos_y", "Reference_Marker/22.pos_y")
    parts = axle(*driven, *variables("DX(21)"))
    with pytest.warns(PlantWarning) as caught:
        plant = Plant.from_model(parts, tunable=names, coordinates=coordinates)
    for warning, part in zip(caught, ("names 'Reference_Marker/22.pos_y'", "Motion_Joint id=1"), strict=True):
        assert part in str(warning.message)
    read = {q.name for q in trace(plant.with_port("input_5", filter=0.01), {}).declared.parameters}
    assert read & set(names) == {names[0]}


def test_initial_velocities_become_joint_rates():
    """w of the wheel about its axle; v of a free body, whose axes are turned."""
    A = random_rotation(np.random.default_rng(1))
    plant = Plant.from_model(
        axle(
            Body_Rigid(id=3, label="box", cg_id=30, **UNIT, v_ic_x=1.0, w_ic_y=2.0, w_ic_x=0.0, w_ic_z=0.0),
            marker(30, 3, np.ones(3), A),
            w_ic_z=3.0,
        )
    )
    assert plant.initial["axle.qd"] == pytest.approx([3.0])
    assert plant.initial["box.qd"] == pytest.approx([*(A.T @ [0, 2, 0]), 1, 0, 0])


def test_initial_velocity_along_a_markers_axes():
    turned = Reference_Marker(
        id=31, body_id=3, a00=0, a10=1, a20=0, a01=-1, a11=0, a21=0, a02=0, a12=0, a22=1
    )
    body = Body_Rigid(id=3, label="box", cg_id=30, **UNIT, v_ic_x=1.0, vm_id=31, w_ic_x=2.0, wm_id=31)
    plant = Plant.from_model(model(body, Reference_Marker(id=30, body_id=3), turned))
    assert plant.initial["box.qd"] == pytest.approx([0, 2, 0, 0, 1, 0])


def test_velocity_not_given_is_least():
    """Of two hinged rods the second is given: the first stays where it is as far as it can."""
    plant = Plant.from_model(
        axle(
            Body_Rigid(id=3, label="second", cg_id=30, **UNIT, w_ic_z=1.0),
            Reference_Marker(id=30, body_id=3),
            Reference_Marker(id=21, body_id=2),
            Constraint_Joint(id=2, label="coaxial", type="REVOLUTE", i_marker_id=30, j_marker_id=21),
        )
    )
    assert plant.initial["axle.qd"] == pytest.approx([0.0], abs=1e-12)
    assert plant.initial["coaxial.qd"] == pytest.approx([1.0])


def test_an_initial_velocity_that_is_slow_is_kept():
    """A turn in 200 years; rates that are rounding beside the largest one are what is taken for 0."""
    assert Plant.from_model(axle(w_ic_z=1e-9)).initial["axle.qd"] == pytest.approx([1e-9], rel=1e-12)


def test_impossible_initial_velocity_is_mentioned():
    with pytest.warns(PlantWarning, match=r'Body_Rigid id=2 "Wheel": w_ic_x=1 is not possible'):
        plant = Plant.from_model(axle(w_ic_x=1.0, w_ic_z=2.0))
    assert plant.initial["axle.qd"] == pytest.approx([2.0])
    assert any("w_ic_x" in text for text in plant.warnings)


def test_initial_velocity_of_a_body_that_cannot_move():
    held = model(
        Body_Rigid(id=2, cg_id=20, w_ic_z=2.0, **UNIT),
        Reference_Marker(id=20, body_id=2),
        Constraint_Joint(id=1, type="FIXED", i_marker_id=20, j_marker_id=10),
    )
    with pytest.warns(PlantWarning, match="w_ic_z=2 is not possible"):
        plant = Plant.from_model(held)
    assert plant.info()["dof"] == 0


# --- values of expressions -------------------------------------------------------------------------------
def test_angles_between_bodies_of_one_axis_are_coordinates():
    """Turns count by themselves, also over several joints, reversed markers and a slider in between."""
    plant = Plant.from_model(
        axle(
            Body_Rigid(id=3, cg_id=30, **UNIT),
            Reference_Marker(id=30, body_id=3),
            Reference_Marker(id=21, body_id=2),
            Constraint_Joint(id=2, label="slide", type="CYLINDRICAL", i_marker_id=21, j_marker_id=30),
            *variables("AZ(30,10)", "AZ(20,30)", "AZ(10,20)", "AX(20,10)"),
        )
    )
    alone = Alone(plant)
    memories = {m.name for m in alone.declared.memories_of(AcceptedMemory)}
    assert memories == {"AX(20,10)", "AX(20,10) rate", "time of turns"}
    x = alone.x0.copy()
    x[alone.slice("axle.q")] = 20.0
    x[alone.slice("slide.q")] = [-7.0, 0.5]
    assert alone.output("y", x=x)[:3] == pytest.approx([27.0, -7.0, -20.0])


def test_other_angles_follow_the_nearest_branch():
    alone = Alone(
        Plant.from_model(
            model(
                Body_Rigid(id=2, label="top", cg_id=20, **UNIT),
                Reference_Marker(id=20, body_id=2),
                *variables("AZ(20,10)"),
            )
        )
    )
    memory = next(m for m in alone.declared.memories_of(AcceptedMemory) if m.name == "AZ(20,10)")
    assert memory.initial == pytest.approx([0.0])
    position = alone.traced.slices[memory.name]
    x = alone.x0.copy()
    for angle in np.arange(0.0, 20.0, 0.5):
        x[:4] = [np.cos(angle / 2), 0, 0, np.sin(angle / 2)]
        assert alone.output("y", x=x) == pytest.approx([angle])
        accepted = alone.traced.function("accepted", memory.expression)
        own = alone.own.copy()
        own[alone.at] = x
        alone.own[position] = np.array(accepted(0, own, alone.p, alone.ticks)).ravel()
        assert alone.own[position] == pytest.approx([angle])


def test_accelerations_in_outputs():
    """A wheel of 2 kg m^2 under a torque of 3 N m; its rim point at 0.5 m has both accelerations."""
    torque = Force_Vector_OneBody(id=1, type="TORQUEONLY", marker_id=20, ref_marker_id=0, tz_expression="3")
    rim = Reference_Marker(id=21, body_id=2, pos_x=0.5)
    texts = ["ACCX(21)", "ACCY(21)", "ACCZ(21)", "WDTZ(21)", "ACCM(20)"]
    plant = Plant.from_model(axle(torque, rim, Force_Gravity(grav_z=-9.81), *variables(*texts), inertia_zz=2))
    alone = Alone(plant)
    assert alone.output("y", x=[0.0, 4.0]) == pytest.approx([-0.5 * 16, 0.5 * 1.5, 0.0, 1.5, 0.0], abs=1e-12)


def test_free_fall_has_the_acceleration_of_gravity():
    alone = Alone(
        Plant.from_model(
            model(
                Body_Rigid(id=2, label="box", cg_id=20, **UNIT),
                Reference_Marker(id=20, body_id=2),
                Force_Gravity(grav_z=-9.81),
                *variables("ACCZ(20)", "ACCM(20)"),
            )
        )
    )
    assert alone.output("y") == pytest.approx([-9.81, 9.81])


def test_variables_integrals_arrays_and_ports_in_expressions():
    plant = Plant.from_model(
        axle(
            Reference_Variable(id=1, label="u", expr="5"),
            Reference_Variable(id=2, label="sum of u", expr="VARVAL(1) - VARVAL(2)", dot_form=True, ic=0.5),
            Reference_Variable(id=3, expr="2*ARYVAL(1,2) + ARYVAL(2,1) + PINVAL(1,1) + POUVAL(91,1)"),
            Reference_Array(id=1, type="IC", values=(10.0, 20.0)),
            Reference_Array(id=2, type="U", variable_id=(2,)),
            Control_PlantInput(id=1, label="u", variable_id_list=(1,)),
            Control_PlantOutput(id=91, label="a", variable_id_list=(2,)),
            Control_PlantOutput(id=92, label="b", variable_id_list=(3,)),
        )
    )
    assert plant.initial["sum_of_u"] == pytest.approx([0.5])
    alone = Alone(plant)
    assert alone.derivative(0.0, alone.x0, {"u": 3.0})[alone.slice("sum_of_u")] == pytest.approx([2.5])
    assert alone.output("b", u={"u": 3.0}) == pytest.approx([40 + 0.5 + 3.0 + 0.5])


def test_splines_and_instants_in_forces():
    spline = Reference_Spline(id=4, x=(0.0, 1.0, 2.0, 3.0), y=(0.0, 1.0, 4.0, 9.0))
    force = Force_Scalar_TwoBody(
        id=1,
        type="TORQUE",
        i_marker_id=20,
        j_marker_id=10,
        val_expression="CUBSPL(TIME, 0, 4) + STEP(TIME, 1, 0, 2, 5) + IF(TIME - 0.5: 0, 1, 1)",
    )
    alone = Alone(Plant.from_model(axle(spline, force)))
    instants = {m.times for m in alone.declared.memories_of(CountedInstants)}
    assert instants == {(Fraction(1, 2),), (Fraction(1), Fraction(2))}
    assert alone.derivative(2.0, alone.x0)[1] == pytest.approx(
        4.0 + 5.0
    )  # the counted instant is a memory, 0 here


def test_requests_skip_empty_channels():
    request = Post_Request(id=3, type="EXPRESSION", expr2="AZ(20,10)", expr8="2*WZ(20)")
    plant = Plant.from_model(axle(request))
    assert plant.requests["request_3"].labels == ("expr2", "expr8")
    assert Alone(plant).output("request_3", x=[0.3, 0.4]) == pytest.approx([0.3, 0.8])


def test_parts_of_expressions_are_named_for_diagnosis():
    force = Force_Vector_OneBody(
        id=1, type="TORQUEONLY", marker_id=20, ref_marker_id=0, tz_expression="1 + SQRT(-1 - AZ(20,10))"
    )
    alone = Alone(Plant.from_model(axle(force)))
    assert np.isnan(alone.derivative(0.0, alone.x0)[1])
    values = [
        (t.text, alone.call(alone.traced.function(t.text, t.expression), 0.0, alone.x0, {}).item())
        for t in alone.declared.terms
    ]
    first = next(text for text, value in values if not np.isfinite(value))
    assert "Force_Vector_OneBody id=1" in first and "SQRT(-1 - AZ(20,10)) in tz_expression, column 5" in first


# --- the whole -------------------------------------------------------------------------------------------
def test_outputs_at_the_initial_state(pendulum):
    alone = Alone(pendulum)
    assert alone.output("pendulum") == pytest.approx([0.1, 0.0])
    assert alone.output("slider") == pytest.approx([0.0, 0.0])


def test_same_equations_every_time(pendulum):
    first, again = (Alone(pendulum).derivative_function for _ in range(2))
    assert ca.Function.serialize(first) == ca.Function.serialize(again) or str(first) == str(again)
    a = Alone(pendulum)
    assert (a.derivative(0.0, a.x0) == a.derivative(0.0, a.x0)).all()


def test_plants_can_be_pickled_and_copied(pendulum):
    for other in (pickle.loads(pickle.dumps(pendulum)), copy.deepcopy(pendulum)):
        assert other.inputs == pendulum.inputs and list(other.initial) == list(pendulum.initial)
        one, two = Alone(pendulum), Alone(other)
        assert (two.derivative(0.0, two.x0) == one.derivative(0.0, one.x0)).all()


def test_info_tells_what_the_model_is_made_of(pendulum):
    info = pendulum.info()
    assert info["dof"] == 2 and info["model"] == "inverted_pendulum_ic01"
    assert [joint["type"] for joint in info["joints"]] == ["TRANSLATIONAL", "REVOLUTE"]
    assert info["joints"][0]["parent"] == "ground" and "Slider" in info["joints"][1]["parent"]
    assert [port.name for port in info["inputs"]] == ["control_force", "disturbance_force"]
    printed = str(info)
    for line in (
        "2: slider_on_ground (TRANSLATIONAL), hinge (REVOLUTE)",
        "2: control_force (Fc [N]), disturbance_force (Fd [N])",
        "2: pendulum (theta [rad], omega [rad/s]), ...",
    ):
        assert f"  {line}\n" in printed


def test_a_port_prints_with_what_its_signals_are(pendulum):
    assert str(pendulum.with_port("slider", sampling_period=0.01).outputs["slider"]).endswith(" every 0.01 s")
    (request,) = pendulum.requests.values()
    assert str(request) == "request_hinge (expr2 [m], expr3 [rad], expr4 [N])"


@pytest.mark.slow
def test_import_is_light():
    """Neither the XML reader nor plotting or control packages come with the package."""
    code = (
        "import sys, plant\n"
        "assert 'casadi' not in sys.modules\n"
        "from plant import Plant, Port, Body_Rigid\n"
        "heavy = {'lxml', 'lark', 'control', 'matplotlib', 'pandas', 'xarray', 'fmpy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=deck("cartpole.xml").parents[3])
