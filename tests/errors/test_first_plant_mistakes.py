"""What a new user of plants would meet: messages raised on purpose; each names the culprit and the cure."""

from __future__ import annotations

import warnings

import pytest

from blocks.errors import BlockError, ModelError
from plant import Plant, PlantWarning
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantInput,
    Control_PlantOutput,
    Reference_Marker,
    Reference_Spline,
    Reference_Variable,
)
from tests.helpers.refused_plants import axle, refused

SPLINE = {"x": (0.0, 1.0, 2.0), "y": (0.0, 1.0, 4.0)}


@pytest.mark.parametrize(
    ("text", "caret", "parts"),
    [
        ("1 + VARVAL(77)", 11, ("77 names no Reference_Variable", "Did you mean 7?")),
        ("DX(20, 11)", 7, ("11 names no Reference_Marker", "Did you mean 10?")),
        ("VX(20,10,10, 99)", 13, ("99 names no Reference_Marker", "nearest ids are 10, 20")),
        ("AKISPL( TIME, 0, 4)", 17, ("at least 5 points", "has 3", "LINSPL")),
        ("LINSPL(TIME,0,41)", 14, ("41 names no Reference_Spline", "Did you mean 4?")),
        ("JOINT(2,0,3)", 6, ("2 names no Constraint_Joint", "Did you mean 1?")),
        ("VFORCE(1,0,2)", 7, ("names a Force_Vector_OneBody or Force_Vector_TwoBody", "has none")),
        ("BEAM(1,0,2)", 5, ("it reads a Force_Beam", "not supported")),
        ("POUVAL(1,2)", 9, ("Control_PlantOutput 1 has 1 signals, not 2",)),
        ("STEP(TIME, 0, 0, DX(20,10,12), 1)", 26, ("12 names no Reference_Marker",)),
    ],
)
def test_unknown_ids_are_pointed_at(text, caret, parts):
    elements = [
        Reference_Spline(id=4, **SPLINE),
        Reference_Variable(id=7, expr=text),
        Control_PlantOutput(id=1, variable_id_list=(7,)),
    ]
    message = refused(axle(*elements), "Reference_Variable id=7, expr, column", *parts)
    shown = message.splitlines()
    assert shown[-2] == f"    {text}" and shown[-1] == " " * (4 + caret) + "^"


def test_file_with_an_unknown_id_names_its_line():
    text = b"""<Deck><Model>
    <Body_Rigid id="1" isground="TRUE"/>
    <Reference_Spline id="4">0 0 1 1 2 4</Reference_Spline>
    <Reference_Variable id="7" expr="CUBSPL(TIME, 0, 4)"/>
    </Model></Deck>"""
    with pytest.raises(
        ModelError, match=r"4 points \(spline 4 of <bytes>:3 has 3\) in <bytes>:4: Reference_V"
    ):
        Plant.read(text)


def test_ports_with_one_label():
    elements = [
        Reference_Variable(id=1, expr="0"),
        Reference_Variable(id=2, expr="0"),
        Control_PlantInput(id=5, label="Force", variable_id_list=(1,)),
        Control_PlantOutput(id=6, label="force", variable_id_list=(2,)),
    ]
    with pytest.warns(
        PlantWarning, match="Control_PlantInput id=5.*Control_PlantOutput id=6.*'force_5', 'forc"
    ):
        plant = Plant.from_model(axle(*elements))
    assert [*plant.inputs, *plant.outputs] == ["force_5", "force_6"]


def test_hooks_of_ports_are_not_called():
    elements = [
        Reference_Variable(id=1, expr="0"),
        Control_PlantInput(id=5, label="u", variable_id_list=(1,), usrsub_dll_name="a.dll"),
    ]
    with pytest.warns(PlantWarning, match="Control_PlantInput id=5 .*PINSUB is not called"):
        Plant.from_model(axle(*elements))


def test_angles_that_look_like_degrees():
    with pytest.warns(PlantWarning, match=r"id=21: theta=90 is more than a full turn.*write theta=1\.5708"):
        axle(Reference_Marker(id=21, body_id=2, psi=0.0, theta=90.0))


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_body_that_moves_without_a_mass(coordinates):
    part = [
        Body_Rigid(id=3, label="Cover", cg_id=30),
        Reference_Marker(id=30, body_id=3),
        Constraint_Joint(id=2, type="FIXED", i_marker_id=30, j_marker_id=20),
    ]
    with pytest.warns(
        PlantWarning, match='Body_Rigid id=3 "Cover": can move, but has no mass and no moments'
    ):
        Plant.from_model(axle(*part), coordinates=coordinates)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_body_that_cannot_move_needs_no_mass(recwarn, coordinates):
    part = [
        Body_Rigid(id=3, cg_id=30),
        Reference_Marker(id=30, body_id=3),
        Constraint_Joint(id=2, type="FIXED", i_marker_id=30, j_marker_id=10),
    ]
    Plant.from_model(axle(*part), coordinates=coordinates)
    assert not recwarn.list


def test_filters_of_ports():
    elements = [
        Reference_Variable(id=1, expr="0"),
        Reference_Variable(id=2, expr="0"),
        Control_PlantInput(id=5, label="u", variable_id_list=(1,)),
        Control_PlantOutput(id=6, label="y", variable_id_list=(2,)),
    ]
    plant = Plant.from_model(axle(*elements))
    with pytest.raises(BlockError, match="port 'y' is an output"):
        plant.with_port("y", filter=0.1)
    for value in (-0.1, float("nan"), "fast", True):
        with pytest.raises(BlockError, match="filter of port 'u' is .*expected its time constant"):
            plant.with_port("u", filter=value)


def test_moments_about_a_marker_too_far_away():
    body = [
        Body_Rigid(id=3, cg_id=30, im_id=31, mass=2, inertia_xx=1, inertia_yy=1, inertia_zz=1),
        Reference_Marker(id=30, body_id=3),
        Reference_Marker(id=31, body_id=3, pos_x=3.0),
    ]
    refused(axle(*body), "Body_Rigid id=3: its moments of inertia are about im_id=31, 3 away", "leaves -17")


def test_spline_of_time_that_ends_too_early():
    text = b"""<Deck><Model>
    <Body_Rigid id="1" isground="TRUE"/>
    <Reference_Spline id="4">0 0 1 1 2 4</Reference_Spline>
    <Reference_Variable id="7" expr="LINSPL(0.5*TIME, 0, 4)"/>
    </Model><Command><Simulate analysis_type="Transient" end_time="3"/>
    <Simulate analysis_type="Transient" duration="2"/></Command></Deck>"""
    with pytest.warns(
        PlantWarning, match="until TIME = 5 the argument of LINSPL goes from 0 to 2.5, .*0 to 2;"
    ):
        Plant.read(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Plant.read(text.replace(b'end_time="3"', b'end_time="2"'))
