"""Every mistake a deck can contain, made on purpose: the message names file, line, element, id and cure."""

import re
from pathlib import Path

import pytest

from blocks.errors import ModelError
from plant.formats.motionsolve.reader import read_model
from plant.reporting import ModelProblems, PlantWarning

DECK = """<?xml version="1.0" encoding="UTF-8"?>
<!-- a cart on a rail with a spring, a point mass and a controlled force; <Body_Rigid id="77"/> -->
<MotionSolve>
  <Model>
    <Param_Unit length_unit="METER" mass_unit="KILOGRAM" time_unit="SECOND" force_unit="NEWTON"/>
    <Force_Gravity grav_x="0" grav_y="0" grav_z="-9.81"/>
    <Body_Rigid id="1" label="Ground" cg_id="10" isground="TRUE"/>
    <Reference_Marker id="10" body_id="1" body_type="RIGIDBODY"/>
    <Reference_Marker id="11" body_id="1" pos_x="-1"/>
    <Body_Rigid id="2" label="Cart" cg_id="20" mass="1.5"
        inertia_xx="0.1" inertia_yy="0.2" inertia_zz="0.25"/>
    <Reference_Marker id="20" body_id="2" body_type="RIGIDBODY"
        pos_x="0.0" pos_y="0.0" pos_z="0.0"
        a00="1.0" a10="0.0" a20="0.0" a01="0.0" a11="1.0" a21="0.0" a02="0.0" a12="0.0" a22="1.0"/>
    <Reference_Marker id="21" body_id="2" psi="0.1"/>
    <Body_Point id="3" cg_id="30" mass="0.2"/>
    <Reference_Marker id="30" body_id="3" body_type="POINTBODY" rm_id="20" pos_z="1"/>
    <Constraint_Joint id="1" label="rail" type="TRANSLATIONAL" i_marker_id="20" j_marker_id="10"/>
    <Constraint_Joint id="2" type="CYLINDRICAL" i_marker_id="21" j_marker_id="10"/>
    <Constraint_Coupler id="1" joint1_id="1" joint2_id="2" freedom_2="R" coefficients="1, -2"/>
    <Motion_Joint id="1" joint_id="1" joint_type="T" expr="TIME"/>
    <Force_SpringDamper id="1" type="TRANSLATIONAL" i_marker_id="20" j_marker_id="11" stiffness="10"
        length="1"/>
    <Force_Vector_TwoBody id="4" type="ForceOnly" i_marker_id="20" j_floating_marker_id="11"
        ref_marker_id="0" fx_expression="VARVAL(12)"/>
    <Force_Scalar_TwoBody id="5" type="FORCE" i_marker_id="30" j_marker_id="10" val="1"/>
    <Force_Penalty id="6" expr="DX(30)" penalty="1E4"/>
    <Reference_Variable id="12" type="EXPRESSION" expr="0"/>
    <Reference_Variable id="13" expr="DX(20)" auto_balance="default"/>
    <Reference_Variable id="14" type="USERSUB" script_name="v.py" usrsub_param_string="USER (20, 1)"/>
    <Reference_Spline id="9" num_xy_pair="4">
      0 0
      1 1
      2 4
      3 9
    </Reference_Spline>
    <Reference_Array id="7" type="IC" num_element="2">1.0 2.0</Reference_Array>
    <Control_PlantInput id="303" label="force" num_element="1" variable_id_list="12"/>
    <Control_PlantOutput id="304" num_element="2" variable_id_list="13, 14" sampling_period="0.01"/>
    <Post_Request id="1" type="EXPRESSION" expr1="NULL" expr2="VARVAL(13)"/>
  </Model>
  <Command>
    <Param_Transient integr_tol="1e-6" h_max="0.01"/>
    <Simulate analysis_type="Transient" end_time="2.0" num_step="100"/>
  </Command>
</MotionSolve>
"""

# (element, id): {fault: (what the deck says, what is written instead, words of the problem, of the cure)}
FAULTS = {
    ("Body_Rigid", 2): {
        "not a number": ('mass="1.5"', 'mass="heavy"', "mass='heavy' is not a number", "write a"),
        "Fortran exponent": ('mass="1.5"', 'mass="1.5D0"', "not a number", "exponent with E"),
        "underscore": ('mass="1.5"', 'mass="1_5"', "not a number", "underscores"),
        "empty number": ('mass="1.5"', 'mass=""', "is empty", "write a number"),
        "nan": ('mass="1.5"', 'mass="nan"', "mass='nan' is not finite", "ordinary number"),
        "inf": ('mass="1.5"', 'mass="1e999"', "is not finite", "ordinary number"),
        "negative mass": ('mass="1.5"', 'mass="-1.5"', "mass=-1.5 is not positive", "above 0"),
        "negative inertia": ('inertia_zz="0.25"', 'inertia_zz="-1"', "inertia_zz=-1", "above 0"),
        "two inertias": (' inertia_zz="0.25"', "", "inertia_zz missing", "all three"),
        "indefinite inertia": (
            'inertia_zz="0.25"', 'inertia_zz="0.25" inertia_xy="0.2"',
            "not positive definite", "correct",
        ),
        "cg on another body": (
            'cg_id="20"', 'cg_id="11"',
            "cg_id=11 is a marker of Body_Rigid 1", "body_id=2",
        ),
        "cg that is not": ('cg_id="20"', 'cg_id="29"', "cg_id=29 names no", "did you mean 20 or 21?"),
    },
    ("Body_Point", 3): {
        "massless point": ('mass="0.2"', 'mass="0"', "mass='0' is too small", "above 0"),
        "no mass": ('cg_id="30" mass="0.2"', 'cg_id="30"', "mass is missing", 'write mass="..."'),
        "no mass but mas": ('mass="0.2"', 'mas="0.2"', "mass is missing", "did you mean mass by mas?"),
    },
    ("Force_Penalty", "six"): {
        "id word": ('Penalty id="6"', 'Penalty id="six"', "id='six' is not an integer", "12"),
    },
    ("Force_Penalty", 0): {
        "id zero": ('Penalty id="6"', 'Penalty id="0"', "id='0' is too small", "at least 1"),
    },
    ("Force_Penalty", ""): {
        "id missing": ('Penalty id="6"', "Penalty", "id is missing", 'write id="..."'),
    },
    ("Force_Penalty", 6): {
        "id twice": (
            "<Force_Penalty", '<Force_Penalty id="6" expr="1" penalty="1"/><Force_Penalty',
            "id=6 is used twice", "new id",
        ),
        "penalty zero": ('penalty="1E4"', 'penalty="0"', "too small", "above 0"),
    },
    ("Force_Gravity", ""): {
        "two gravities": ("<Force_Gravity", '<Force_Gravity grav_x="0"/><Force_Gravity', "twice", "keep one"),
        "text in an element": (
            'grav_z="-9.81"/>', '>grav_z="-9.81"</Force_Gravity>',
            "between its tags", "inside the tag",
        ),
    },
    ("Body_Rigid", 1): {
        "attribute in two cases": (
            'isground="TRUE"', 'isground="TRUE" IsGround="FALSE"',
            "written twice", "keep one",
        ),
        "boolean": ('isground="TRUE"', 'isground="1"', "neither true nor false", "TRUE or FALSE"),
    },
    ("Param_Unit", ""): {
        "unit": ('"METER"', '"METRE"', "is not a length unit", "did you mean 'METER'?"),
        "units and factor": ("<Param_Unit", '<Param_Unit mass_mult_factor="2"', "exclude", "keep"),
    },
    ("Reference_Marker", 20): {
        "body that is not": (
            'id="20" body_id="2"', 'id="20" body_id="5"',
            "body_id=5 names no Body_Rigid", "did you mean",
        ),
        "seven cosines": (' a02="0.0" a12="0.0"', "", "a02, a12 missing", "all nine"),
        "cosines and angles": ('a22="1.0"', 'a22="1.0" psi="1"', "and Euler angles", "keep one"),
        "skew cosines": ('a01="0.0"', 'a01="0.01"', "x . y = 0.01", "6 digits"),
        "long cosines": ('a22="1.0"', 'a22="2.0"', "the z-axis has length 2", "6 digits"),
        "left-handed": ('a22="1.0"', 'a22="-1.0"', "left-handed", "reverse a02"),
    },
    ("Reference_Marker", 30): {
        "body of the other type": (
            'body_id="3" body_type="POINTBODY"', 'body_id="3"',
            "is a Body_Point", 'body_type="POINTBODY"',
        ),
    },
    ("Reference_Marker", 21): {
        "marker subroutine": (
            'psi="0.1"', 'usrsub_dll_name="m"',
            "MARKER_READ", "write pos_*",
        ),
        "marker circle": (
            'psi="0.1"', 'rm_id="22"/><Reference_Marker id="22" body_id="2" rm_id="21"',
            "circle, 21 -> 22 -> 21", "global position",
        ),
        "loose text": ('psi="0.1"/>', 'psi="0.1"/>/>', "loose text, '/>'", "delete it"),
    },
    ("Constraint_Joint", 1): {
        "joint type": (
            'label="rail" type="TRANSLATIONAL"', 'label="rail" type="TRANSLATION"',
            "type='TRANSLATION' is not a known value", "did you mean 'TRANSLATIONAL'?",
        ),
        "joint marker": (
            'i_marker_id="20" j_marker_id="10"', 'i_marker_id="2" j_marker_id="10"',
            "i_marker_id=2 names no Reference_Marker", "did you mean 20 or 21?",
        ),
    },
    ("Constraint_Joint", 2): {
        "joint marker missing": (' i_marker_id="21"', "", "i_marker_id is missing", "write"),
        "one body": (
            'i_marker_id="21" j_marker_id="10"', 'i_marker_id="21" j_marker_id="20"',
            "both on Body_Rigid 2", "two different bodies",
        ),
        "old body id": (
            'i_marker_id="21"', 'body1_id="1" i_marker_id="21"',
            "marker 21 is on body 2", "leave body1_id out",
        ),
        "screw": ('"CYLINDRICAL"', '"SCREW"', "pitch is missing", "travel per revolution"),
    },
    ("Constraint_Coupler", 1): {
        "coupler freedom": (' freedom_2="R"', "", "freedom_2 is missing", 'freedom_2="T"'),
        "coupler coefficients": ('"1, -2"', '"1"', "1 coefficients for 2", "one coefficient"),
    },
    ("Motion_Joint", 1): {
        "motion freedom": ('joint_type="T"', 'motion_type="R"', "does not fit", '"T"'),
        "motion of no joint": (
            'joint_id="1" joint_type', 'joint_id="4" joint_type',
            "names no Constraint_Joint", "did you mean",
        ),
    },
    ("Force_SpringDamper", 1): {
        "negative stiffness": ('stiffness="10"', 'stiffness="-10"', "too small", "at least 0"),
        "no free length": (' length="1"', "", "length=0 is not positive", "preload"),
        "spring marker": ('j_marker_id="11" stiffness', 'j_marker_id="12" stiffness', "names no", "10"),
    },
    ("Force_Vector_TwoBody", 4): {
        "floating marker": (
            'j_floating_marker_id="11"', 'j_floating_marker_id="311"',
            "names no", "did you mean 11",
        ),
    },
    ("Force_Scalar_TwoBody", 5): {
        "scalar twice": ('val="1"', 'val="1" val_expression="2"', "more than once", "keep one"),
        "scalar never": (' val="1"', "", "no value", "val_expression"),
    },
    ("Reference_Variable", 12): {
        "no expression": (' expr="0"', "", "expr is missing", 'expr="..."'),
        "NULL expression": (' expr="0"', ' expr="NULL"', "expr is missing", 'expr="..."'),
    },
    ("Reference_Variable", 14): {
        "script but EXPRESSION": (' type="USERSUB"', "", "type is EXPRESSION", 'type="USERSUB"'),
        "USERSUB without script": (' script_name="v.py"', "", "without a routine", "script_name"),
        "parameters": ('"USER (20, 1)"', '"20, 1"', "not of the form USER", "USER(1011"),
        "parameter": ('"USER (20, 1)"', '"USER(a)"', "entry that is not a number", "commas"),
    },
    ("Reference_Variable", 13): {
        "autobalance": ('"default"', '"Disable"', "not a known value", "'DISABLED'?"),
        "dot_form and implicit": (
            'auto_balance="default"', 'dot_form="yes" is_implicit="yes"',
            "exclude", "keep one",
        ),
        "penalty without penalty": (
            'auto_balance="default"', 'autobalance="PENALTY" is_implicit="yes"',
            "penalty is missing", "above 0",
        ),
    },
    ("Reference_Spline", 9): {
        "odd spline": ("3 9", "3", "7 numbers between its tags", "one x and one y"),
        "short spline": ("3 9", "", "needs 8", "one x and one y"),
        "spline word": ("3 9", "3 nine", "entry 8: 'nine' is not a number", "write a decimal"),
        "spline x": ("2 4", "1 4", "does not increase at point 3", "sort"),
        "one-point spline": (
            'num_xy_pair="4">\n      0 0\n      1 1\n      2 4\n      3 9', ">0 0",
            "1 points, too few", "give 4 or more",
        ),
    },
    ("Reference_Array", 7): {
        "array count": ("1.0 2.0", "1.0", "1 are listed", "num_element=1"),
    },
    ("Control_PlantInput", 303): {
        "num_element": ('num_element="1"', 'num_element="2"', "has 1", "num_element=1"),
        "old num_variable": ('num_element="1"', 'num_variable="2"', "has 1", "num_element=1"),
    },
    ("Control_PlantOutput", 304): {
        "variable that is not": ('"13, 14"', '"13, 15"', "variable_id_list=15 names no", "did you mean"),
        "variable twice": ('"13, 14"', '"13 13"', "lists 13 twice", "every id once"),
        "variable word": ('"13, 14"', '"13; 14"', "entry 1: '13;' is not an integer", "digits"),
        "empty list": ('"13, 14"', '""', "is empty", "list the Reference_Variable ids"),
        "negative period": (
            'sampling_period="0.01"', 'sampling_period="-0.01"',
            "sampling_period='-0.01' is too small", "at least 0",
        ),
        "hold_order": (
            " sampling_period", ' hold_order="1.5" sampling_period',
            "hold_order='1.5' is not an integer", "digits",
        ),
        "negative hold_order": (
            " sampling_period", ' hold_order="-1" sampling_period',
            "too small", "at least 0",
        ),
    },
    ("Control_PlantInput", 5): {
        "two drivers": (
            "<Control_PlantOutput", '<Control_PlantInput id="5" variable_id_list="12"/><Control_PlantOutput',
            "variable 12 is an input of Control_PlantInput id=303", "one driver",
        ),
    },
    ("Post_Request", 1): {
        "request without expressions": (' expr2="VARVAL(13)"', "", "no expression", "expr1"),
    },
    ("Stop", ""): {
        "command in the model": ("<Post_Request", "<Stop/><Post_Request", "is a command", "Command block"),
    },
    ("Simulate", ""): {
        "no end": (' end_time="2.0"', "", "end_time is missing", "duration"),
        "end and duration": ('end_time="2.0"', 'end_time="2.0" duration="1"', "exclude", "keep one"),
        "end before start": ('end_time="2.0"', 'end_time="2.0" start_time="3"', "before", "exchange"),
        "analysis": ('"Transient"', '"Transitory"', "not a known value", "did you mean 'TRANSIENT'?"),
    },
    ("Body_Rigid", 4): {
        "change of nothing": (
            "<Simulate", '<Body_Rigid id="4" mass="2"/><Simulate',
            "names no Body_Rigid", "did you mean",
        ),
    },
    ("Model", ""): {
        "second model": ("  <Command>", "  <Model/><Command>", "a second Model block", "move its elements"),
    },
}  # fmt: skip
CASES = [(*key, fault) for key, faults in FAULTS.items() for fault in faults]


def broken(old: str, new: str) -> tuple[bytes, str]:
    """The deck with the first ``old`` replaced, and the ``file:line`` of the element it stands in."""
    assert old in DECK
    start = DECK.index(old)
    deck = DECK.replace(old, new, 1)
    tag = deck.rfind("\n    <", 0, start + len(new)) if "<" not in new else start + new.rfind("<") - 1
    return deck.encode(), f"<bytes>:{deck.count(chr(10), 0, tag + 1) + 1}:"


def test_the_deck_itself_is_right(recwarn: pytest.WarningsRecorder) -> None:
    model = read_model(DECK.encode())
    assert not recwarn.list
    assert sum(len(same_type) for same_type in model.elements.values()) == 26


@pytest.mark.filterwarnings("ignore::plant.reporting.PlantWarning")
@pytest.mark.parametrize(("tag", "id", "fault"), CASES)
def test_one_fault_one_line(tag: str, id: int | str, fault: str) -> None:
    old, new, problem, cure = FAULTS[tag, id][fault]
    deck, where = broken(old, new)
    with pytest.raises(ModelProblems) as caught:
        read_model(deck)
    assert len(caught.value.problems) == 1, caught.value.problems
    text = str(caught.value)
    place = f"{where} {tag}" + (f" id={id}" if id != "" else ":")
    assert place in text
    assert problem in text
    assert cure in text.partition(problem)[2], text
    assert text.endswith((".", "?"))


def test_all_problems_together() -> None:
    deck = DECK.replace('mass="1.5"', 'mass="x"').replace('j_marker_id="11"', 'j_marker_id="99"')
    deck = deck.replace('type="CYLINDRICAL"', 'type="REVOLUT"').replace('"METER"', '"PARSEC"')
    with pytest.raises(ModelProblems, match=r"4 problems in <bytes>") as caught:
        read_model(deck.encode())
    assert [re.search(r": (\w+)", problem)[1] for problem in caught.value.problems] == [
        "Param_Unit", "Body_Rigid", "Constraint_Joint", "Force_SpringDamper",
    ]  # fmt: skip
    assert isinstance(caught.value, ModelError)


def test_an_element_with_problems_is_still_there_for_the_others() -> None:
    """A wrong marker is one problem, not one more for every joint, force and body that uses it."""
    with pytest.raises(ModelProblems) as caught:
        read_model(DECK.replace('a22="1.0"', 'a22="one"').encode())
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize("replacement", ["", 'isground="FALSE" mass="1"'])
def test_no_ground(replacement: str) -> None:
    with pytest.raises(
        ModelProblems, match=r'<bytes>: Body_Rigid: there is no ground body; add one, .*isground="TRUE"'
    ):
        read_model(DECK.replace('isground="TRUE"', replacement).encode())


def test_two_grounds() -> None:
    deck = DECK.replace('cg_id="20" mass', 'cg_id="20" isground="TRUE" mass')
    with pytest.raises(
        ModelProblems, match=r'<bytes>:10: Body_Rigid id=2 "Cart": .* <bytes>:7: .* keep one ground'
    ):
        read_model(deck.encode())


def test_many_wrong_ids_stay_fast() -> None:
    markers = "".join(f'<Reference_Marker id="{id}" body_id="{id + 5}"/>' for id in range(1000, 3000))
    with pytest.raises(ModelProblems) as caught:
        read_model(DECK.replace("  </Model>", markers + "  </Model>").encode())
    assert len(caught.value.problems) == 2000


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_line_numbers_are_those_of_the_start_tag(tmp_path: Path, encoding: str) -> None:
    """A start tag over many lines, after a comment with a tag in it, with or without a byte order mark."""
    path = tmp_path / "deck.xml"
    path.write_text(DECK.replace('a22="1.0"', 'a22="7"').replace("UTF-8", encoding), encoding)
    line = DECK[: DECK.index('<Reference_Marker id="20"')].count("\n") + 1
    with pytest.raises(ModelProblems, match=rf"^deck\.xml:{line}: Reference_Marker id=20: "):
        read_model(path)


def warned(old: str, new: str) -> list[str]:
    with pytest.warns(PlantWarning) as caught:
        read_model(DECK.replace(old, new).encode())
    assert all(warning.filename == __file__ for warning in caught), "the warning should point at its caller"
    return [str(warning.message) for warning in caught]


def test_unknown_attribute_is_ignored_with_the_near_miss() -> None:
    (text,) = warned('mass="1.5"', 'mas="1.5"')
    assert text == (
        '<bytes>:10: Body_Rigid id=2 "Cart": attribute mas is not known and is ignored; '
        "did you mean 'mass'?"
    )


def test_unknown_attribute_is_told_once_per_type() -> None:
    (text,) = warned("<Reference_Marker ", '<Reference_Marker colour="red" ')
    assert text.startswith("<bytes>:8: Reference_Marker id=10: attribute colour is not known")
    assert text.endswith("(4 more Reference_Marker have it.)")


def test_unknown_element_is_told_once_per_type() -> None:
    (text,) = warned(
        "  </Model>", '<Force_Contact id="1"/>\n<force_contact id="2"><x id="7"/></force_contact></Model>'
    )
    assert "Force_Contact id=1: this element type is not supported" in text
    assert "2 of them, the first at line 41" in text


@pytest.mark.parametrize("comment", ["", "<!-- the model -->"])
def test_loose_text_that_no_element_goes_before(comment) -> None:
    """As a mark that a forgotten bracket leaves."""
    block = f"<Model>{comment} >\n"
    with pytest.raises(ModelProblems, match="Model: begins with loose text.*'>'; delete it"):
        read_model(DECK.replace("<Model>", block).encode())


def test_known_element_inside_another() -> None:
    inner = '<Reference_Marker id="77" body_id="1"/>'
    array = f'<Reference_Array id="9" type="IC">1 {inner}</Reference_Array>'
    (text,) = warned("  </Model>", f"{array}</Model>")
    assert "Reference_Marker id=77: stands inside another element and is ignored (1 of them" in text
    body = f'<Body_Rigid id="9" cg_id="77" mass="1">{inner}</Body_Rigid>'
    with (
        pytest.warns(PlantWarning, match="move it out"),
        pytest.raises(ModelProblems, match="inside another"),
    ):
        read_model(DECK.replace("  </Model>", f"{body}</Model>").encode())


def test_unknown_element_with_a_near_miss() -> None:
    texts = warned("  </Model>", '<Force_SpringDampr id="9"/></Model>')
    assert texts[0].endswith("did you mean 'Force_SpringDamper'?")


def test_reference_to_an_unsupported_element_is_an_error() -> None:
    deck = DECK.replace('id="21" body_id="2"', 'id="21" body_id="8"')
    deck = deck.replace("  </Model>", '<Body_Flexible id="8"/></Model>')
    with pytest.warns(PlantWarning, match="Body_Flexible"), pytest.raises(ModelProblems) as caught:
        read_model(deck.encode())
    assert caught.value.problems == [
        "<bytes>:15: Reference_Marker id=21: body_id=8 is the Body_Flexible of <bytes>:41, an element type "
        "that is not supported; replace it by a Body_Rigid."
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('inertia_zz="0.25"', 'inertia_zz="0.5"', "id=2 \"Cart\": no body has these moments of inertia"),
        (' ref_marker_id="0"', "", "id=4: ref_marker_id is missing and global axes are assumed"),
        ('VARVAL(12)"', 'VARVAL(12)" tz_expression="1"', "tz_expression is ignored because type is"),
        (' time_unit="SECOND"', "", "time_unit not given, so SI is assumed"),
        ('label="rail"', 'is_virtual="TRUE"', "is_virtual changes nothing"),
    ],
)  # fmt: skip
def test_doubtful_but_usable(old: str, new: str, said: str) -> None:
    (text,) = warned(old, new)
    assert said in text
