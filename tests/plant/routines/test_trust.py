"""Without `trust=True` no code that a deck names is run: every kind of routine, every way in."""

from __future__ import annotations

import pytest

from blocks.errors import ModelError
from cosim.deck import run_deck
from plant import Plant
from plant.formats.motionsolve.reader import read_model
from plant.routines.subroutines import ARGUMENTS
from tests.helpers import decks

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")

HERE = 'script_name="s.py"'
SUB = f'type="USERSUB" {HERE}'
PAIR = 'i_marker_id="20" j_marker_id="10"'
ELEMENTS = {
    "VARSUB": f'<Reference_Variable id="1" {SUB}/><Control_PlantOutput id="1" variable_id_list="1"/>',
    "SFOSUB": f'<Force_Scalar_TwoBody id="1" type="FORCE" {PAIR} {HERE}/>',
    "VFOSUB": f'<Force_Vector_OneBody id="1" type="FORCEONLY" marker_id="20" {HERE}/>',
    "VTOSUB": f'<Force_Vector_OneBody id="1" type="TORQUEONLY" marker_id="20" {HERE}/>',
    "GFOSUB": f'<Force_Vector_OneBody id="1" type="FORCEANDTORQUE" marker_id="20" {HERE}/>',
    "PFOSUB": f'<Force_Penalty id="1" penalty="1" {SUB}/>',
    "FIESUB": f'<Force_Field id="1" {PAIR} {HERE}/>',
    "GCOSUB": f'<Constraint_General id="1" {SUB}/>',
    "COUSUB": f'<Constraint_Coupler id="1" joint1_id="1" joint2_id="2" {HERE}/>',
    "MOTSUB": f'<Motion_Joint id="1" joint_id="1" joint_type="R" {SUB}/>',
    "DIFSUB": f'<Control_Diff id="1" {SUB}/>',
    "ARYSUB": f'<Reference_Array id="1" type="U" num_element="2" {HERE}/>',
    "REQSUB": f'<Post_Request id="1" {SUB}/>',
    "SENSUB": f'<Sensor_Event id="1" halt="TRUE" value="9" {SUB}/>',
    "SEVSUB": (
        f'<Sensor_Event id="1" expr="TIME" value="9" evaluate_id="1"/><Sensor_Evaluate id="1" {SUB}/>'
    ),
    "GSESUB": (
        '<Reference_Array id="1" type="X" num_element="1"/><Reference_Array id="2" type="U" num_element="1" '
        'variable_id_list="1"/><Reference_Variable id="1" expr="TIME"/>'
        '<Reference_Array id="3" type="Y" num_element="1"/><Control_StateEqn id="1" x_array_id="1" '
        f'u_array_id="2" y_array_id="3" num_state="1" num_output="1" {SUB}/>'
    ),
    "SPLINE_READ": f'<Reference_Spline id="1" file_name="points.txt" {HERE}/>',
    "MARKER_READ": f'<Reference_Marker id="99" body_id="1" {HERE}/>',
}
BODIES = (
    decks.marker(10, 1) + decks.body(2, 1.0, 1.0, 0.0, 0.0, 0.0) + decks.body(3, 1.0, 1.0, 1.0, 0.0, 0.0)
    + decks.joint(1, "REVOLUTE", 20, 10) + decks.marker(11, 1, x=1.0) + decks.joint(2, "REVOLUTE", 30, 11)
)  # fmt: skip
SIMULATE = '<Simulate analysis_type="Transient" end_time="0.1"/>'
LIBRARY = 'usrsub_dll_name="s"'
MATLAB = 'script_name="s.m" interpreter="MATLAB"'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Scripts that leave a file behind as soon as they are loaded."""
    text = f"open({str(tmp_path / 'ran')!r}, 'w').close()\n"
    names = "".join(f"def {name}(*a): return 0.0\n" for name in ARGUMENTS)
    (tmp_path / "s.py").write_text(text + names)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder, model: str, commands: str = SIMULATE) -> str:
    path = folder / "deck.xml"
    path.write_bytes(decks.deck(model, commands))
    return str(path)


def test_no_kind_of_routine_is_left_out():
    assert set(ELEMENTS) == set(ARGUMENTS)


WAYS = {"script": HERE, "library": LIBRARY, "MATLAB": MATLAB}
CASES = [
    (r, w) for r in ELEMENTS for w in WAYS if w == "script" or r != "MARKER_READ"
]  # that one is Python only


@pytest.mark.parametrize(("routine", "way"), CASES)
def test_a_deck_is_refused(folder, routine, way):
    """Reading a file runs nothing; a plant of it is not made, and the message names element and cure."""
    deck = written(folder, BODIES + ELEMENTS[routine].replace(HERE, WAYS[way]))
    read_model(deck)
    for use in (Plant.read, run_deck):
        with pytest.raises(
            ModelError, match=rf"deck\.xml:\d+: .*would run {routine} of the (script|library)"
        ) as told:
            use(deck)
        assert "trust=True" in str(told.value) and "--trust" in str(told.value)
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("routine", ["VARSUB", "MARKER_READ"])
def test_the_same_deck_runs_when_it_is_trusted(folder, routine):
    """So that the test above cannot pass for another reason."""
    text = (folder / "s.py").read_text() + (
        "def MARKER_READ(id, par, npar):\n    return py_put_marker(id, [1.0, 0.0, 0.0], 1, [0.0, 0.0, 0.0])\n"
    )
    (folder / "s.py").write_text(text)
    run_deck(written(folder, BODIES + ELEMENTS[routine]), trust=True, engine="reference")
    assert (folder / "ran").exists()


LATER = '<Reference_Variable id="1" expr="TIME"/><Control_PlantOutput id="1" variable_id_list="1"/>'
CHANGED = f'<Reference_Variable id="1" {SUB}/>'
SWITCHED = f'<Force_Scalar_TwoBody id="1" type="FORCE" {PAIR} {HERE} is_active="FALSE"/>'


def test_elements_that_commands_change_or_switch_on(folder):
    (folder / "more.xml").write_text(f"<Deck><Command>{CHANGED}{SIMULATE}</Command></Deck>")
    (folder / "other.xml").write_bytes(decks.deck(BODIES + ELEMENTS["SFOSUB"]))
    on = '<Activate element_type="SFORCE" element_id="1"/>'
    cases = [
        (LATER, CHANGED + SIMULATE),
        (SWITCHED, SIMULATE.replace("0.1", "0.05") + on + SIMULATE),
        (LATER, '<Load_Command command_file="more.xml"/>'),
        (LATER, f'<Load_Model model_file="other.xml"/>{SIMULATE}'),
    ]
    for model, commands in cases:
        with pytest.raises(ModelError, match=r"would run (VARSUB|SFOSUB) of the script"):
            run_deck(written(folder, BODIES + model, commands), engine="reference")
    assert not (folder / "ran").exists()
