"""What is wrong with single elements and between them: at the very bound, with the right numbers in it."""

from __future__ import annotations

import pytest

from blocks.errors import ModelError
from plant.elements import (
    Activate,
    Body_Point,
    Body_Rigid,
    Constraint_Coupler,
    Constraint_Joint,
    Control_PlantInput,
    Control_SISO,
    Force_Bushing,
    Force_Field,
    Force_SpringDamper,
    Force_Vector_OneBody,
    Inertia_Wheel,
    Model,
    Modification,
    Post_Graphic,
    Reference_Marker,
    Reference_Spline,
)
from plant.elements.draft import Draft
from plant.elements.element import Source, attributes_of, shown
from plant.elements.outputs import RESULTS
from plant.reporting import ModelProblems, PlantWarning

GROUND = Body_Rigid(id=1, isground=True)
ZERO = {"type": "LINEAR", "attributes": (("k_matrix", "0 " * 36),)}


def faults(*elements) -> str:
    """Problems of a model beside the ground, one line each."""
    with pytest.raises(ModelProblems) as caught:
        Model.build([GROUND, *elements])
    return str(caught.value)


@pytest.mark.parametrize("large", [1e-4, 1.0, 1e6])
def test_one_principal_moment_alone_may_vanish_in_any_unit(large):
    """Rounding of a tensor in these units is none; a part of 1e-9 of it is a moment."""
    rod = {"inertia_xx": large, "inertia_yy": large, "inertia_zz": 0.0}
    body = lambda **moments: Body_Rigid(id=2, cg_id=3, mass=1.0, **rod | moments)
    for moments in ({}, {"inertia_yy": 1e-9 * large}, {"inertia_xx": 0.0, "inertia_yy": 0.0}):
        body(**moments)
    for nothing in (0.0, 1e-16 * large):
        with pytest.raises(ModelError, match="only one principal moment may be zero"):
            body(inertia_yy=nothing)


@pytest.mark.parametrize("axis", "xyz")
def test_a_velocity_counts_unless_its_flag_is_false(axis):
    place = "xyz".index(axis)
    for flag, expected in ((None, 3.0), (True, 3.0), (False, None)):
        body = Body_Point(id=2, cg_id=3, mass=1.0, **{f"v_ic_{axis}": 3.0, f"v_ic_{axis}_flag": flag})
        assert body.v_ic[place] == expected
        assert body.v_ic.count(None) == 2 + (expected is None)
        assert [str(i) for i in body.idle() if "FALSE" in str(i)] == [str(i) for i in body.idle()]
        assert len(list(body.idle())) == (flag is False)


def test_axes_of_velocities_that_are_not_given():
    base = {"id": 2, "cg_id": 3, "mass": 1.0, "vm_id": 4}
    assert len([i for i in Body_Rigid(**base).idle() if "no v_ic_x" in str(i)]) == 1
    assert not [i for i in Body_Rigid(**base, v_ic_y=0.0).idle() if "no v_ic_x" in str(i)]
    assert [i for i in Body_Rigid(**base, v_ic_y=0.0, v_ic_y_flag=False).idle() if "no v_ic_x" in str(i)]


def hinge(id):
    return [
        Body_Rigid(id=10 * id, cg_id=10 * id, mass=1.0, inertia_xx=1, inertia_yy=1, inertia_zz=1),
        Reference_Marker(id=10 * id, body_id=10 * id),
        Reference_Marker(id=10 * id + 1, body_id=1),
        Constraint_Joint(id=id, type="REVOLUTE", i_marker_id=10 * id, j_marker_id=10 * id + 1),
    ]


def test_a_coordinate_that_is_coupled_to_itself_is_named_by_its_attribute():
    joints = hinge(2) + hinge(3)
    coupler = lambda *ids: Constraint_Coupler(
        id=1, coefficients=(1.0,) * len(ids), **{f"joint{k}_id": id for k, id in enumerate(ids, 1)}
    )
    assert "joint2_id=2 is the coordinate of joint1_id, which" in faults(*joints, coupler(2, 2))
    assert "joint3_id=3 is the coordinate of joint2_id, which" in faults(*joints, coupler(2, 3, 3))


def test_the_last_coefficient_of_a_denominator_counts():
    arrays = {"id": 1, "x_array_id": 1, "y_array_id": 2, "u_array_id": 3}
    siso = lambda num, den: Control_SISO(**arrays, numerator_coef=num, denominator_coef=den)
    for num, den in (((1.0,), (0.0, 1.0)), ((1.0, 2.0), (0.0, 1.0)), ((1.0,), (1.0,))):
        siso(num, den)
    with pytest.raises(ModelError, match="denominator_coef ends in 0"):
        siso((1.0,), (1.0, 0.0))
    with pytest.raises(ModelError, match="order 2 exceeds the denominator's 1"):
        siso((1.0, 0.0, 1.0), (0.0, 1.0))


def test_colours_end_at_255():
    graphic = lambda color: Post_Graphic(id=1, type="SPHERE", center_marker_id=1, radius=1.0, color=color)
    assert graphic("0:128:255").rgb == (0, 128, 255)
    for color in ("0:128:256", "0:128", "0:-1:0", "red"):
        with pytest.raises(ModelError, match="is no colour"):
            graphic(color)


def test_graphics_that_are_not_drawn_say_why():
    (line,) = Post_Graphic(id=1, type="PARAMETRICCURVE").remarks()
    assert "only BOX" in line and line.endswith(" are; the motion is unaffected")
    (line,) = Post_Graphic(id=1, type="SPHERE", center_marker_id=1).remarks()
    assert "radius is not given" in line


def test_lists_name_the_entry_that_is_wrong():
    with pytest.raises(ModelError, match=r"variable_id_list.* entry 2: 'x'"):
        Control_PlantInput(id=1, variable_id_list=(1, "x"))
    with pytest.raises(ModelError, match="lists 7 twice"):
        Control_PlantInput(id=1, variable_id_list=(3, 7, 5, 7))


@pytest.mark.parametrize("length", [60, 61])
def test_long_values_are_cut(length):
    text = shown("a" * (length - 2))
    assert len(text) == 60 and text.endswith("'") and ("..." in text) == (length > 60)


def test_markers_of_a_body_of_the_other_kind():
    point = [Body_Point(id=5, cg_id=50, mass=1.0), Reference_Marker(id=50, body_id=5, body_type="POINTBODY")]
    text = faults(*point, Reference_Marker(id=51, body_id=5))
    assert 'body_id=5 is a Body_Point, not a Body_Rigid; write body_type="POINTBODY"' in text
    assert "body_id=6 names no Body_Rigid" in faults(*point, Reference_Marker(id=51, body_id=6))


def test_orientations_cannot_be_changed_in_place():
    for marker in (Reference_Marker(id=1, body_id=1), Reference_Marker(id=1, body_id=1, psi=0.3)):
        with pytest.raises(ValueError, match="read-only"):
            marker.rotation[0, 0] = 2.0


def test_without_a_ground_the_file_or_the_model_is_named():
    body = Body_Point(id=2, cg_id=3, mass=1.0)
    for file, words in (("a.xml", r"a\.xml: "), ("", r"model '\w+': ")):
        draft = Draft("crane", file)
        draft.add(body)
        draft.check()
        (line,) = [p for p in draft.problems if "there is no ground body" in p]
        assert line.startswith("a.xml: " if file else "model 'crane': "), words


def test_ids_of_elements_that_are_not_read():
    draft = Draft("crane", "a.xml")
    draft.add(GROUND)
    draft.ignore("Body_Flexible", 7, Source("a.xml", 12))
    assert "is the Body_Flexible of a.xml:12, an element type that is not supported" in str(
        draft.missing(("Body_Rigid",), 7)
    )
    assert "not supported" not in str(draft.missing(("Body_Rigid",), 8))
    assert "not supported" not in str(draft.missing(("Reference_Marker",), 7))
    assert draft.missing(("Body_Rigid",), 1) is None


def test_commands_that_switch_find_their_element():
    pair = {"i_marker_id": 20, "j_marker_id": 21}
    forces = [Force_Field(id=5, **pair, **ZERO), Force_Bushing(id=5, **pair), Force_Bushing(id=6, **pair)]
    draft = Draft("crane", "a.xml")
    for element in (GROUND, *forces):
        draft.add(element)
    assert not list(Activate(element_type="BUSH", element_id=6).faults_in(draft))
    (fault,) = Activate(element_type="BUSH", element_id=7).faults_in(draft)
    assert fault.startswith("element_id=7 names no Force_Bushing")


def test_a_modification_keeps_what_it_does_not_write():
    """Attributes without a field of their own: by their names, in capitals or not."""
    elements = [
        GROUND,
        *hinge(2),
        Force_Field(
            id=5, i_marker_id=20, j_marker_id=21, type="USERSUB", usrsub_dll_name="a", usrsub_fnc_name="F",
            usrsub_param_string="USER()", attributes=(("Extra", "1"), ("other", "2")),
        ),
    ]  # fmt: skip
    with pytest.warns(PlantWarning, match="Extra, other change nothing"):
        model = Model.build(elements)
    change = Modification(element="Force_Field", id=5, changes=(("attributes", (("EXTRA", "3"),)),))
    assert change.apply(model).attributes == (("other", "2"), ("EXTRA", "3"))
    assert model.elements["Force_Field"][5].attributes == (("Extra", "1"), ("other", "2"))


def test_vectors_without_components_exert_nothing():
    force = lambda **more: list(Force_Vector_OneBody(id=1, marker_id=1, ref_marker_id=1, **more).remarks())
    assert not force(type="FORCEONLY", fy_expression="1")
    assert "exerts nothing" in force(type="FORCEONLY")[0]


def test_what_turns_only_and_what_does_not():
    pair = {"id": 1, "i_marker_id": 1, "j_marker_id": 2}
    assert Force_SpringDamper(**pair, type="ROTATIONAL").only_turns
    assert not Force_SpringDamper(**pair, type="TRANSLATIONAL").only_turns
    assert not Force_Field(**pair, **ZERO).only_turns and not Force_Bushing(**pair).only_turns


def test_start_rates_are_no_numbers_of_the_equations():
    kinds = {name: a.kind for name, a in attributes_of(Body_Point).items()}
    assert kinds["v_ic_x"].start and not kinds["mass"].start


def test_points_of_a_spline_come_in_pairs():
    assert Reference_Spline.read_text("0 1 2 5", {}) == {"x": (0.0, 2.0), "y": (1.0, 5.0)}
    assert Reference_Spline.read_text("0 1 2 5", {"num_xy_pair": 2})["y"] == (1.0, 5.0)
    for text, given, words in (
        ("0 1 2", {}, "has 3 numbers .* need an even number"),
        ("0 1 2 5", {"num_xy_pair": 3}, "has 4 numbers .* num_xy_pair=3 needs 6"),
    ):
        with pytest.raises(ValueError, match=words):
            Reference_Spline.read_text(text, given)


def test_a_wheel_is_on_a_body_that_turns():
    point = [Body_Point(id=5, cg_id=50, mass=1.0), Reference_Marker(id=50, body_id=5, body_type="POINTBODY")]
    assert "marker_id=50 is on Body_Point 5, which cannot turn" in faults(
        *point, Inertia_Wheel(id=1, marker_id=50, inertia=1.0)
    )
    assert "marker_id=51 names no Reference_Marker" in faults(
        *point, Inertia_Wheel(id=1, marker_id=51, inertia=1.0)
    )


def test_counts_begin_with_one():
    graphic = lambda n: Post_Graphic(id=1, type="SPHERE", center_marker_id=1, radius=1.0, refinement_level=n)
    assert graphic(1).refinement_level == 1
    with pytest.raises(ModelError, match="refinement_level=0"):
        graphic(0)


def test_bodies_that_markers_repeat_are_those_of_the_markers():
    pair = {"id": 1, "type": "ROTATIONAL", "i_marker_id": 20, "j_marker_id": 21, "stiffness": 1.0}
    draft = Draft("crane", "a.xml")
    for element in (GROUND, *hinge(2)):
        draft.add(element)
    assert not list(Force_SpringDamper(**pair, body1_id=20, body2_id=1).faults_in(draft))
    assert not list(Force_SpringDamper(**pair, body1_id=20).faults_in(draft))
    (fault,) = Force_SpringDamper(**pair, body1_id=20, body2_id=20).faults_in(draft)
    assert fault.startswith("body2_id=20, but marker 21 is on body 1; ")
    (fault,) = Force_SpringDamper(**pair | {"i_marker_id": 10}, body1_id=20).faults_in(draft)
    assert "i_marker_id=10 names no Reference_Marker" in fault


def test_a_request_has_eight_channels():
    """REQSUB returns eight numbers, in the order of the attributes of the format."""
    assert len(RESULTS) == 8
    assert [name[-1] for name in RESULTS] == list("12345678")
