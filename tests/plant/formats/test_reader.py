import io
import json
import time
from pathlib import Path

import numpy as np
import pytest

from plant.elements import (
    Body_Point,
    Body_Rigid,
    Constraint_Joint,
    Control_PlantInput,
    Control_PlantOutput,
    Control_StateEqn,
    Deactivate,
    Force_Field,
    Force_Penalty,
    Force_SpringDamper,
    Force_Vector_OneBody,
    Model,
    Modification,
    Motion_Joint,
    Param_Transient,
    Post_Request,
    Reference_Array,
    Reference_Marker,
    Reference_Spline,
    Reference_Variable,
    Sensor_Event,
    Simulate,
    Source,
    Stop,
)
from plant.formats.motionsolve.reader import read_model

MODELS = Path(__file__).parents[2] / "data" / "models"
DECKS = sorted(MODELS.glob("*.xml"))


def deck(model: str = "", command: str = "") -> bytes:
    """A deck with a ground, a cart 2 and a point mass 3, and what is given."""
    return f"""<Deck><Model>
        <Body_Rigid id="1" isground="TRUE"/><Reference_Marker id="10" body_id="1"/>
        <Body_Rigid id="2" cg_id="20" mass="1"/><Reference_Marker id="20" body_id="2"/>
        {model}</Model><Command>{command}</Command></Deck>""".encode()


# --- the reference decks --------------------------------------------------------------------------------


def test_there_are_decks() -> None:
    assert len(DECKS) == 11


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("path", DECKS, ids=lambda path: path.stem)
def test_every_deck_reads_without_warning(path: Path) -> None:
    model = read_model(path)
    assert (model.name, model.file) == (path.stem, str(path))
    assert model.units.factor == 1.0
    assert [command.tag for command in model.commands] == ["Param_Transient", "Simulate"]
    assert model.ground_body.isground
    text = path.read_text()
    for tag, elements in model.elements.items():
        assert len(elements) == text.count(f"<{tag} ")
        for element in elements.values():
            line = text.splitlines()[element.source.line - 1]
            assert element.source.file == path.name
            assert f"<{tag} " in line and (not element.id or f'id="{element.id}"' in line)


@pytest.mark.parametrize("path", sorted(MODELS.glob("*.expected.json")), ids=lambda path: path.stem)
def test_ports_carry_the_signals_of_the_expected_answers(path: Path) -> None:
    expected = json.loads(path.read_text())
    model = read_model(MODELS / f"{expected['model']}.xml")
    for signal in expected["signals"].values():
        if "plant_output_id" in signal:
            port = model.find(Control_PlantOutput, signal["plant_output_id"])
            assert port.variable_id_list[signal["index"] - 1] == signal["variable_id"]
    for signal in expected.get("input_signals", {}).values():
        port = model.find(Control_PlantInput, signal["plant_input_id"])
        assert port.variable_id_list[signal["index"] - 1] == signal["variable_id"]


def test_inverted_pendulum() -> None:
    model = read_model(MODELS / "inverted_pendulum.xml")
    assert model.gravity.vector == (0.0, 0.0, -9.81)
    slider = model.find(Body_Rigid, 30102)
    assert (slider.label, slider.mass, slider.cg_id) == ("Slider", 1.0, 2001)
    assert slider.source == Source("inverted_pendulum.xml", 25)
    np.testing.assert_array_equal(slider.inertia, 0.01 * np.eye(3))
    assert [joint.type for joint in model.all(Constraint_Joint)] == ["TRANSLATIONAL", "REVOLUTE"]
    r, A = model.frames[1021]
    np.testing.assert_array_equal(r, [0, 0, 0])
    np.testing.assert_array_equal(A[:, 2], [0, 1, 0])  # the hinge is along global y
    np.testing.assert_array_equal(model.frames[1001][0], [0, 0, 0.5])
    spring = model.find(Force_SpringDamper, 1)
    assert (spring.stiffness, spring.damping, spring.length, spring.preload) == (10.0, 1.0, 2.0, 0.0)
    assert model.find(Force_Vector_OneBody, 2).fx_expression == "VARVAL(16)"
    assert list(model.elements["Control_PlantInput"]) == [303010, 303011]
    assert model.find(Control_PlantOutput, 303001).variable_id_list == (12, 13)
    assert model.find(Post_Request, 1).expressions[:3] == (None, "VARVAL(14)", "VARVAL(12)")
    transient, simulate = model.commands
    assert isinstance(transient, Param_Transient) and isinstance(simulate, Simulate)
    assert (transient.integr_tol, transient.h_max) == (1e-8, 0.01)
    assert (simulate.analysis_type, simulate.end_time) == ("TRANSIENT", 10.0)


def test_variants_of_the_inverted_pendulum() -> None:
    port = read_model(MODELS / "inverted_pendulum_ic01_20hz.xml").find(Control_PlantInput, 303010)
    assert (port.hold_order, port.sampling_period, port.offset_time) == (0, 0.05, 0.01)
    assert (
        read_model(MODELS / "inverted_pendulum_ic01_foh.xml").find(Control_PlantInput, 303010).hold_order == 1
    )
    leaning = read_model(MODELS / "inverted_pendulum_ic01.xml").frames[1001][1]
    np.testing.assert_allclose(leaning[:, 2], [-np.sin(0.1), 0, np.cos(0.1)], atol=1e-15)


def test_other_decks() -> None:
    point = read_model(MODELS / "bead_on_catenary_point.xml")
    assert point.body_of(point.find(Reference_Marker, 9)) == point.find(Body_Point, 2)
    assert point.find(Body_Point, 2).v_ic == (0.0, 0.0, 0.0)
    assert point.find(Force_Penalty, 1).penalty1 == 100.0
    robot = read_model(MODELS / "robot_2d.xml")
    variable = robot.find(Reference_Variable, 1)
    assert (variable.is_implicit, variable.autobalance) == (True, "DISABLED")
    spline = robot.find(Reference_Spline, 1)
    assert (len(spline.x), spline.x[3], spline.y[3]) == (13, 0.75, 0.8067264596047451)
    energy = read_model(MODELS / "kinetic_energy.xml").find(Reference_Variable, 3081)
    assert (energy.script_name, energy.subroutine) == ("ke.py", "Kinetic_Energy_Body")
    assert energy.parameters == (1011.0, 4.0, 0.006, 0.005, 0.004)


# --- sources and shapes of documents --------------------------------------------------------------------


def test_path_text_bytes_and_open_files_give_one_model() -> None:
    path = MODELS / "four_bar.xml"
    model = read_model(path)
    with path.open("rb") as binary, path.open() as text:
        others = [read_model(str(path)), read_model(binary), read_model(text)]
    assert all(other == model and other.file == str(path) for other in others)
    nameless = read_model(io.BytesIO(path.read_bytes()))
    assert (nameless.name, nameless.elements) == ("<stream>", model.elements)
    assert read_model(path.read_bytes()).elements == model.elements


@pytest.mark.parametrize(
    "text",
    [
        '<Model><Body_Rigid id="1" isground="TRUE"/></Model>',
        '<a><b><MODEL><body_rigid ID="1" IsGround="yes"/></MODEL></b></a>',
        '<x:a xmlns:x="urn:y"><x:Model><x:Body_Rigid id="1" isground="True"/></x:Model></x:a>',
        '<!-- <Model> --><a>\n<Model><?pi <Model>?><Body_Rigid id="1" isground="TRUE" ></Body_Rigid>'
        "</Model></a>",
    ],
)
def test_any_root(text: str) -> None:
    assert read_model(text.encode()).ground_body.id == 1


def test_names_and_keywords_fold_but_labels_and_file_names_do_not() -> None:
    model = read_model(
        deck(
            '<CONSTRAINT_joint Id="1" TYPE="ReVolute" I_marker_ID="20" j_marker_id="10" label="Ab"/>'
            '<reference_variable id="1" type="usersub" script_name="Ke.py" USRSUB_FNC_NAME="Ek"/>'
        )
    )
    joint, variable = model.find(Constraint_Joint, 1), model.find(Reference_Variable, 1)
    assert (joint.type, joint.label, joint.tag) == ("REVOLUTE", "Ab", "Constraint_Joint")
    assert (variable.script_name, variable.usrsub_fnc_name) == ("Ke.py", "Ek")


def test_line_breaks_in_an_expression_are_blanks() -> None:
    model = read_model(deck('<Reference_Variable id="1" expr="DX(20)\n + &#10;1"/>'))
    assert model.find(Reference_Variable, 1).expr == "DX(20)  + \n1"


@pytest.mark.filterwarnings("error")
def test_old_attributes() -> None:
    model = read_model(
        deck(
            '<Constraint_Joint id="1" type="TRANSLATIONAL" body1_id="2" body2_id="1" i_marker_id="20"'
            ' j_marker_id="10" full_label="a/b"/>'
            '<Motion_Joint id="1" joint_id="1" motion_type="t" joint_type="T" expr="TIME"/>'
            '<Reference_Variable id="1" expr="0" auto_balance="Conditional"/>'
            '<Control_PlantInput id="1" num_variable="1" num_element="1" variable_id_list=" 1 "/>'
            '<Force_Vector_OneBody id="1" type="FORCEONLY" marker_id="20" is_active="FALSE"/>'
            '<Force_Field id="1" i_marker_id="20" j_marker_id="10" k_matrix="1 1 1 1 1 1" full_label="a/b"/>',
            '<Simulate analysis_type="TRANSIENT" duration="2" num_step="10"/>'
            '<Simulate analysis_type="TRANSIENT" duration="2" num_steps="10"/>',
        )
    )
    assert model.find(Motion_Joint, 1).joint_type == "T"
    assert model.find(Reference_Variable, 1).autobalance == "CONDITIONAL"
    assert model.find(Control_PlantInput, 1).num_element == 1
    assert model.all(Force_Vector_OneBody) == []
    assert model.find(Force_Field, 1).attributes == (("k_matrix", "1 1 1 1 1 1"),)
    assert model.commands[0] == model.commands[1]


def test_gravity_may_be_an_expression() -> None:
    model = read_model(deck('<Force_Gravity grav_y="-9810." grav_z=" STEP(TIME,0,0,1,-9.81) "/>'))
    assert model.gravity.vector == (0.0, -9810.0, "STEP(TIME,0,0,1,-9.81)")


def test_element_text() -> None:
    model = read_model(
        deck(
            '<Reference_Variable id="1" expr="0"/><Reference_Variable id="2" expr="0"/>'
            '<Reference_Array id="1" type="U" num_element="2">\n 2\n <!-- then --> 1 </Reference_Array>'
            '<Reference_Array id="2" type="IC">1.0000000E+00, 2</Reference_Array>'
            '<Reference_Array id="3" type="X" num_element="3"/>'
        )
    )
    arrays = model.all(Reference_Array)
    assert (arrays[0].variable_id, arrays[1].values, arrays[2].num_element) == ((2, 1), (1.0, 2.0), 3)


def test_attributes_of_undocumented_elements_are_kept() -> None:
    model = read_model(
        deck(
            '<Reference_Array id="1" type="X" num_element="1"/>'
            '<Reference_Array id="2" type="Y" num_element="1"/>'
            '<Constraint_Joint id="1" type="TRANSLATIONAL" i_marker_id="20" j_marker_id="10"/>'
            '<Control_StateEqn id="1" type="LINEAR" x_array_id="1" y_array_id="2" u_solver_array_id="1"'
            ' num_state="1" num_output="1" A_matrix="4"/>'
            '<Sensor_Event id="1" expr="DX(20)" value="1" compare="ge" return="TRUE"/>',
            '<Deactivate element_type="joint" element_id="1"/><Stop why="enough"/>',
        )
    )
    equation = model.find(Control_StateEqn, 1)
    assert (equation.u_array_id, equation.attributes) == (1, (("A_matrix", "4"),))
    assert model.find(Sensor_Event, 1).return_ is True
    deactivate, stop = model.commands
    assert deactivate == Deactivate(element_type="JOINT", element_id=1)
    assert stop == Stop(attributes=(("why", "enough"),))


def test_commands_that_change_the_model() -> None:
    model = read_model(
        deck("", '<Body_Rigid id="2" mass="3"/><Force_Gravity grav_z="-1"/>').replace(
            b"<Model>", b"<Model><Force_Gravity/>"
        )
    )
    heavier, lighter = model.commands
    assert isinstance(heavier, Modification) and isinstance(lighter, Modification)
    assert heavier.where == "<bytes>:4: Body_Rigid id=2"
    assert heavier.changes == (("mass", 3.0),)
    assert (heavier.apply(model).id, model.find(Body_Rigid, 2).mass) == (2, 1.0)
    assert getattr(lighter.apply(model), "grav_z", None) == -1.0


def test_arrays_among_the_commands_can_be_named_there() -> None:
    times = '<Reference_Array id="9" type="PRINT">0.1 0.2</Reference_Array>'
    model = read_model(
        deck("", times + '<Simulate analysis_type="TRANSIENT" end_time="1" print_array_id="9"/>')
    )
    array, simulate = model.commands
    assert isinstance(array, Reference_Array) and isinstance(simulate, Simulate)
    assert (array.values, simulate.print_array_id) == ((0.1, 0.2), 9)


@pytest.mark.slow
def test_a_thousand_bodies() -> None:
    """One megabyte; the bound on processor time is far above the 0.3 s it takes."""
    link = (
        '<Body_Rigid id="{b}" label="link {b}" cg_id="{b}0" mass="1.5" inertia_xx="0.1" inertia_yy="0.1"\n'
        ' inertia_zz="0.1" inertia_xy="0.0" inertia_yz="0.0" inertia_xz="0.0"/>\n'
    )
    for end in "012":
        link += (
            f'<Reference_Marker id="{{b}}{end}" body_id="{{b}}" body_type="RIGIDBODY" pos_x="1" pos_y="0.0"\n'
            ' pos_z="0.0" a00="0.342020143325669" a10="0.939692620785908" a20="0" a01="-0.939692620785908"\n'
            ' a11="0.342020143325669" a21="0" a02="0" a12="0" a22="1"/>\n'
        )
    data = deck("".join(link.format(b=b) for b in range(100, 1100)))
    start = time.process_time()
    model: Model = read_model(data)
    assert time.process_time() - start < 3.0
    assert len(model.frames) == 3003
