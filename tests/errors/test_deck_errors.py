"""What is wrong with a deck's commands: one message with the place, before anything runs where possible."""

from __future__ import annotations

import numpy as np
import pytest

from blocks.errors import PlantloopError, SimulationError
from cosim.deck import run_deck
from plant.formats.motionsolve.reader import read_model
from tests.helpers.decks import body, deck, marker, pendulum, simulate, slider

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")
SECOND = simulate("Transient", end_time=1)
MOTION = '<Motion_Joint id="1" joint_id="1" joint_type="R" expr="0"/>'
MARKED = '<Motion_Marker id="1" i_marker_id="20" j_marker_id="11" direction="X" expr="0" is_active="FALSE"/>'


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        ("", "model '<bytes>': there is no command to run; write for instance <Command><Simulate"),
        (
            "<Simulation/>" + SECOND,
            "<bytes>:1: Simulation: this command is not supported; take it out. There are Activate, ",
        ),
        (
            simulate("Frequency Response"),
            "<bytes>:1: Simulate: analysis_type=FREQUENCY RESPONSE is not supported; write LINEAR",
        ),
        (
            simulate("Transient", start_time=2, end_time=1),
            "<bytes>:1: Simulate: end_time=1 is before start_time=2; exchange them",
        ),
        (SECOND + SECOND, "<bytes>:1: Simulate: end_time=1 is not after 1 s, where the simulations before"),
        (
            simulate("Transient", duration=2) + simulate("Static", end_time=1),
            "<bytes>:1: Simulate: end_time=1 is not after 2 s",
        ),
        (
            '<Deactivate element_type="JOINT" element_id="9"/>',
            "<bytes>:1: Deactivate: element_id=9 names no Constraint_Joint; did you mean 1?",
        ),
        (
            '<Deactivate element_type="BODY" element_id="2"/>',
            "<bytes>:1: Deactivate: element_type='BODY' is not a known value; ",
        ),
        ('<Activate element_id="1"/>', "<bytes>:1: Activate: element_type is missing"),
        (
            '<Activate element_type="MOTION" element_id="1"/>',
            "<bytes>:1: Activate: element_id=1 is the id of a Motion_Joint and of a Motion_Marker; write one",
        ),
        (
            '<Body_Rigid id="12" mass="2"/>' + SECOND,
            "<bytes>:1: Body_Rigid id=12: id=12 names no Body_Rigid; did you mean 1 or 2?",
        ),
        (
            SECOND + '<Body_Rigid id="2" mass="-2"/>',
            "<bytes>:1: Body_Rigid id=2: <bytes>:1: Body_Rigid id=2 \"rod\": mass=-2 is not positive; write",
        ),
        (
            simulate("Transient", end_time=1, print_array_id=7),
            "<bytes>:1: Simulate: print_array_id=7 names a Reference_Array, and the model has none",
        ),
        (
            '<Load_Command command_file="none.xml"/>',
            "<bytes>:1: Load_Command: there is no file 'none.xml'",
        ),
    ],
)  # fmt: skip
def test_a_mistake_among_the_commands(commands, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = []
    with pytest.raises(PlantloopError) as error:
        run_deck(deck(pendulum(0.5) + MOTION + MARKED, commands), on_step=told.append)
    assert str(error.value).startswith(message) or message in str(error.value).splitlines()[0]
    assert not told  # nothing ran


def test_all_mistakes_are_told_together():
    commands = "<Nonsense/>" + SECOND + SECOND + '<Body_Rigid id="2" mass="-2"/>'
    with pytest.raises(PlantloopError) as error:
        run_deck(deck(pendulum(0.5), commands))
    assert len(error.value.problems) == 3


def test_commands_for_files_and_pictures_are_passed_over():
    commands = '<ResOutput plt_angle="EULER"/><H3DOutput switch_on="TRUE"/>' + SECOND
    assert run_deck(deck(pendulum(0.5), commands)).time == 1.0


def test_a_file_that_loads_itself(tmp_path):
    file = tmp_path / "loop.xml"
    file.write_bytes(deck(pendulum(0.5), '<Load_Command command_file="loop.xml"/>'))
    with pytest.raises(PlantloopError, match=r"loop.xml:1: Load_Command: .*loads itself"):
        run_deck(file)


def test_a_command_file_without_commands(tmp_path):
    file = tmp_path / "main.xml"
    file.write_bytes(deck(pendulum(0.5), '<Load_Command command_file="other.xml"/>'))
    (tmp_path / "other.xml").write_text("<Model/>")
    with pytest.raises(
        PlantloopError, match=r"main.xml:1: Load_Command: other.xml:1: Model: there is no <Command> block"
    ):
        run_deck(file)


def test_a_model_that_is_not_there(tmp_path):
    file = tmp_path / "main.xml"
    file.write_bytes(deck(pendulum(0.5), SECOND + '<Load_Model model_file="later.xml"/>'))
    with pytest.raises(
        PlantloopError, match=r"main.xml:1: Load_Model: there is no file .*later.xml"
    ) as error:
        run_deck(file)
    assert error.value.result.time[-1] == 1.0  # what ran is kept


def test_an_input_the_deck_does_not_have():
    with pytest.raises(PlantloopError, match="the deck has no plant input 'force'"):
        run_deck(deck(pendulum(0.5), SECOND), inputs={"force": 1.0})


def test_an_engine_there_is_not():
    with pytest.raises(PlantloopError, match="no engine 'fast'"):
        run_deck(deck(pendulum(0.5), SECOND), engine="fast")


def test_a_static_end_before_the_present_after_a_sensor():
    """A sensor may end simulations early, so the time is known only when the command's turn comes."""
    sensor = '<Sensor_Event id="1" expr="TIME" value="0.5" compare="GE" return="TRUE"/>'
    commands = SECOND + simulate("Transient", end_time=0.4)
    with pytest.raises(PlantloopError, match=r"end_time=0.4 is not after the present time, 0.5 s"):
        run_deck(deck(pendulum(0.5) + sensor, commands))


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_run_that_fails_keeps_all_that_was_computed(engine):
    """SQRT(1 - TIME) has no value after 1 s, in the second simulation."""
    force = '<Force_Vector_OneBody id="1" type="FORCEONLY" marker_id="20" fz_expression="SQRT(1-TIME)"/>'
    commands = simulate("Transient", end_time=0.5, print_interval=0.1)
    commands += simulate("Transient", end_time=2, print_interval=0.1)
    with pytest.raises(SimulationError) as error:
        run_deck(deck(slider() + force, commands), engine=engine)
    text = str(error.value)
    assert text.startswith("<bytes>:1: Simulate: ") and "SQRT" in text
    result = error.value.result
    assert not result.complete and result.time[0] == 0.0 and 0.9 <= result.time[-1] <= 1.0
    assert np.isfinite(result["plant.request_mass"]).all()


def test_a_joint_that_cannot_be_closed_is_named():
    """A rod of length 1 whose far end is to be held 5 away."""
    far = marker(12, 1, x=5.0) + marker(22, 2, z=-1.0)
    lock = (
        '<Constraint_Joint id="2" label="lock" type="SPHERICAL" i_marker_id="22" j_marker_id="12" '
        'is_active="FALSE"/>'
    )
    commands = SECOND + '<Activate element_type="JOINT" element_id="2"/>'
    with pytest.raises(PlantloopError, match=r'Activate.*Constraint_Joint id=2 "lock": cannot be closed'):
        run_deck(deck(pendulum(0.0) + far + lock, commands))


def test_a_body_that_loses_what_gives_it_inertia():
    massless = (
        body(3, 1.0, 0.1, 0.0, 0.0, -1.0, "light")
        .replace('mass="1.0"', "")
        .replace('inertia_xx="0.1" inertia_yy="0.1" inertia_zz="0.1"', "")
    )
    held = marker(22, 2, z=-1.0) + '<Constraint_Joint id="2" type="FIXED" i_marker_id="30" j_marker_id="22"/>'
    commands = SECOND + '<Deactivate element_type="JOINT" element_id="2"/>'
    with pytest.raises(PlantloopError, match=r"Deactivate.*moves nothing that has inertia"):
        run_deck(deck(pendulum(0.0) + massless + held, commands))


def test_reading_alone_still_only_warns():
    with pytest.warns(UserWarning, match="this element type is not supported and is ignored"):
        model = read_model(deck(pendulum(0.5), "<Nonsense/>"))
    assert len(model.commands) == 1


@pytest.mark.parametrize(
    ("commands", "told"),
    [
        (
            simulate("Transient", end_time=1, num_steps=5, print_interval=0.2),
            "Simulate: print_interval changes nothing: num_steps says when there is output; keep one of them",
        ),
        (
            '<Param_Transient integrator_type="RK45"/>' + SECOND,
            "RK45 is none of ABAM, DSTIFF, MSTIFF, VSTIFF",
        ),
    ],
)
def test_commands_that_change_nothing(commands, told):
    with pytest.warns(UserWarning, match=told):
        read_model(deck(slider(), commands))


@pytest.mark.filterwarnings("error")
def test_one_way_to_say_when_there_is_output():
    read_model(deck(slider(), simulate("Transient", end_time=1, num_steps=5)))
