import copy
import dataclasses
import math
import pickle

import numpy as np
import pytest

from blocks.errors import ModelError
from plant.elements import (
    ELEMENTS,
    Body_Point,
    Body_Rigid,
    Constraint_Coupler,
    Constraint_Joint,
    Control_PlantInput,
    Control_PlantOutput,
    Element,
    Force_Gravity,
    Force_Scalar_TwoBody,
    Force_Vector_OneBody,
    Model,
    Modification,
    Param_Unit,
    Post_Request,
    Reference_Marker,
    Reference_Spline,
    Reference_Variable,
    Simulate,
    Source,
)
from plant.elements.bodies import shifted_too_far, to_centre
from plant.elements.element import attributes_of
from plant.elements.kinds import ExpressionText, Flag, IdOf, IdsOf, Integer, Keyword, Number, Numbers
from plant.reporting import ModelProblems, PlantWarning


def pendulum() -> list[Element]:
    return [
        Force_Gravity(grav_z=-9.81),
        Body_Rigid(id=1, isground=True),
        Reference_Marker(id=10, body_id=1, theta=math.pi / 2),
        Body_Rigid(id=2, label="Rod", cg_id=20, mass=1, inertia_xx=0.1, inertia_yy=0.1, inertia_zz=0.01),
        Reference_Marker(id=20, body_id=2, pos_z=-0.5),
        Reference_Marker(id=21, body_id=2, rm_id=10),
        Constraint_Joint(id=1, type="revolute", i_marker_id=21, j_marker_id=10),
        Reference_Variable(id=1, expr="AZ(21,10)"),
        Control_PlantOutput(id=1, variable_id_list=[1]),
    ]


# --- every element in the table -------------------------------------------------------------------------


@pytest.mark.parametrize("tag", ELEMENTS)
def test_every_element_type_keeps_the_contract(tag: str) -> None:
    element = ELEMENTS[tag]
    assert element.tag == element.__name__ == tag
    assert element.block in ("model", "command", "either")
    assert element.__doc__ and not element.__doc__.startswith(tag + "("), "a docstring of its own"
    assert dataclasses.fields(element)
    assert element.__dataclass_params__.frozen  # type: ignore[attr-defined]
    attributes = attributes_of(element)
    plain = {field.name for field in dataclasses.fields(element)} - set(attributes)
    assert plain <= {"source", "attributes"}, "every attribute names its kind"
    for old, name in element.synonyms.items():
        assert name in attributes and old not in attributes
    for name, attribute in attributes.items():
        assert name.rstrip("_") == name.rstrip("_").lower()
        assert set(attribute.kind.tags) <= set(ELEMENTS)
        if not attribute.required and attribute.default is not None:
            assert attribute.kind.check(attribute.default) == attribute.default


# --- values ---------------------------------------------------------------------------------------------


def test_values_are_typed_and_keywords_folded() -> None:
    joint = Constraint_Joint(id=np.int64(1), type="atPoint", i_marker_id=1, j_marker_id=2)
    assert (type(joint.id), joint.type) == (int, "SPHERICAL")
    body = Body_Rigid(id=1, cg_id=1, mass=1)
    assert (body.mass, type(body.mass)) == (1.0, float)
    assert Control_PlantInput(id=1, variable_id_list=[3, 1]).variable_id_list == (3, 1)
    assert Simulate(analysis_type="frequency  response").analysis_type == "FREQUENCY RESPONSE"
    assert Post_Request(id=1, type="Displacement", i_marker_id=1).type == "MARKER_DISPLACEMENT"


def test_defaults() -> None:
    port = Control_PlantInput(id=1, variable_id_list=(1,))
    assert (port.hold_order, port.sampling_period, port.offset_time) == (1, 0.0, 0.0)
    variable = Reference_Variable(id=1, expr="0")
    assert (variable.autobalance, variable.is_implicit, variable.ic) == ("DEFAULT", False, 0.0)
    assert variable.is_active


def test_elements_are_frozen_equal_by_content_and_hashable() -> None:
    one = Reference_Variable(id=1, expr="0", source=Source("a.xml", 3))
    other = Reference_Variable(id=1, expr="0")
    assert one == other and hash(one) == hash(other)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.expr = "1"  # type: ignore[misc]


def test_where() -> None:
    source = Source("inverted_pendulum.xml", 42)
    assert str(source) == "inverted_pendulum.xml:42"
    body = Body_Rigid(id=30102, label="Slider", cg_id=1, source=source)
    assert body.where == 'inverted_pendulum.xml:42: Body_Rigid id=30102 "Slider"'
    assert Force_Gravity().where == "Force_Gravity"


def test_problems_of_an_element_come_together() -> None:
    with pytest.raises(ModelProblems) as caught:
        Body_Rigid(id=2, label="Cart", mass="1", inertia_xx=math.nan, isground=1)  # type: ignore[arg-type]
    assert [problem.partition(": ")[2] for problem in caught.value.problems] == [
        "isground=1 is neither true nor false; give True or False.",
        "mass='1' is not a number; give an int or a float.",
        "inertia_xx=nan is not finite; write an ordinary number.",
    ]
    assert caught.value.path == 'Body_Rigid id=2 "Cart"'
    twin = pickle.loads(pickle.dumps(caught.value))
    assert (str(twin), twin.problems, twin.path) == (
        str(caught.value),
        caught.value.problems,
        caught.value.path,
    )


def test_subroutine() -> None:
    variable = Reference_Variable(
        id=1, type="USERSUB", script_name="ke.py", usrsub_param_string="user (1011, 4 , -2E-3)"
    )
    assert variable.parameters == (1011.0, 4.0, -2e-3)
    assert variable.subroutine == "VARSUB"
    force = Force_Vector_OneBody(id=1, type="ForceAndTorque", marker_id=1, script_name="f.py")
    assert (force.subroutine, force.parameters) == ("GFOSUB", ())


def test_spline_points() -> None:
    spline = Reference_Spline(id=1, x=[0, 1, 2], y=[0, 1, 4])
    assert (spline.x, spline.y) == ((0.0, 1.0, 2.0), (0.0, 1.0, 4.0))
    with pytest.raises(ModelProblems, match=r"3 x and 2 y values; give as many of each"):
        Reference_Spline(id=1, x=[0, 1, 2], y=[0, 1])


# --- bodies ---------------------------------------------------------------------------------------------


def test_inertia_tensor_has_negative_products() -> None:
    body = Body_Rigid(
        id=1,
        cg_id=1,
        mass=1,
        inertia_xx=4,
        inertia_yy=5,
        inertia_zz=6,
        inertia_xy=1,
        inertia_yz=2,
        inertia_xz=3,
    )
    np.testing.assert_array_equal(body.inertia, [[4, -1, -3], [-1, 5, -2], [-3, -2, 6]])
    assert Body_Rigid(id=1, cg_id=1, mass=1).inertia is None


@pytest.mark.parametrize("given", [(), ("inertia_xx",), ("inertia_xx", "inertia_zz")])
def test_no_inertia_tensor_without_three_moments(given: tuple[str, ...]) -> None:
    body = Body_Rigid(id=2, cg_id=20, mass=1.0, inertia_xx=1.0, inertia_yy=1.0, inertia_zz=1.0)
    for name in {"inertia_xx", "inertia_yy", "inertia_zz"} - {*given}:
        object.__setattr__(body, name, None)
    assert body.inertia is None
    assert any("missing; give all three moments" in text for text in body.faults()) == bool(given)


@pytest.mark.parametrize(
    ("moments", "product", "told"),
    [
        ((-1.0, 1.0, 1.0), 0.0, ["inertia_xx=-1 is negative"]),
        ((1.0, -0.25, -1.0), 0.0, ["inertia_yy=-0.25 is negative", "inertia_zz=-1 is negative"]),
        ((0.0, 1.0, 1.0), 0.0, []),
        (
            (0.0, 1.0, 1.0),
            0.5,
            ["inertia is not positive definite: its smallest principal moment is -0.20710"],
        ),
        ((0.0, 0.0, 1.0), 0.0, ["inertia_xx=0 is not positive, and only one principal moment may be zero"]),
        ((0.0, 0.0, 0.0), 0.0, []),
    ],
)
def test_which_moments_of_inertia_there_are(
    moments: tuple[float, ...], product: float, told: list[str]
) -> None:
    """What is negative is told by itself; the others by their principal moments."""
    body = Body_Rigid(id=2, cg_id=20, mass=1.0, inertia_xx=2.0, inertia_yy=2.0, inertia_zz=2.0)
    given = dict(zip(("inertia_xx", "inertia_yy", "inertia_zz"), moments, strict=True))
    for name, value in (given | {"inertia_xy": product}).items():
        object.__setattr__(body, name, value)
    faults = list(body.faults())
    assert len(faults) == len(told)
    assert all(text.startswith(head) for text, head in zip(faults, told, strict=True))


def test_which_coefficient_of_a_coupler_is_0() -> None:
    coupler = Constraint_Coupler(id=1, joint1_id=4, joint2_id=5, joint3_id=6, coefficients=(1.0, 0.0, 2.0))
    (remark,) = coupler.remarks()
    assert remark.startswith("coefficient 2 is 0, so joint 5 takes no part")


def test_initial_velocities_are_imposed_where_given_and_not_switched_off() -> None:
    body = Body_Rigid(id=1, cg_id=1, v_ic_x=1, v_ic_y=2, v_ic_y_flag=False, w_ic_z=3, w_ic_z_flag=True)
    assert body.v_ic == (1.0, None, None)
    assert body.w_ic == (None, None, 3.0)
    assert Body_Point(id=1, cg_id=1, mass=1, v_ic_z=0.5).v_ic == (None, None, 0.5)


def test_a_flat_body_satisfies_the_triangle_inequality(recwarn: pytest.WarningsRecorder) -> None:
    """Izz = Ixx + Iyy, written with six digits."""
    parts = [*pendulum(), Reference_Marker(id=40, body_id=4)]
    Model.build(
        [*parts, Body_Rigid(id=4, cg_id=40, mass=1, inertia_xx=1 / 3, inertia_yy=0.5, inertia_zz=0.833333)]
    )
    assert not recwarn.list


def test_what_the_mass_takes_from_moments_about_another_marker() -> None:
    """4 kg at 0.5 m take 1 kg m^2 about the two axes across; digits of a file do not count."""
    frames = {20: (np.array([0.5, 0.0, 0.0]), np.eye(3)), 21: (np.zeros(3), np.eye(3))}
    numbers = {"id": 2, "cg_id": 20, "im_id": 21, "mass": 4.0, "inertia_xx": 0.1, "inertia_yy": 1.2}
    assert shifted_too_far(Body_Rigid(**numbers, inertia_zz=1.000001), frames) == ""
    assert shifted_too_far(Body_Rigid(**numbers, inertia_zz=0.9999995), frames) == ""
    assert "leaves -0.1 of them" in shifted_too_far(Body_Rigid(**numbers, inertia_zz=0.9), frames)
    assert shifted_too_far(Body_Rigid(**numbers, inertia_zz=0.9, isground=True), frames) == ""
    assert to_centre(Body_Rigid(**numbers, inertia_zz=1.2), frames).tolist() == [0.5, 0.0, 0.0]
    assert to_centre(Body_Point(id=3, cg_id=20, mass=1.0), frames).tolist() == [0.0, 0.0, 0.0]


# --- markers --------------------------------------------------------------------------------------------


def rotation(axis: str, angle: float) -> np.ndarray:
    """Elementary rotation written out, as in any textbook."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array(
        {"x": [[1, 0, 0], [0, c, -s], [0, s, c]], "z": [[c, -s, 0], [s, c, 0], [0, 0, 1]]}[axis], dtype=float
    )


def cosines(A: np.ndarray) -> dict[str, float]:
    return {f"a{row}{column}": float(A[row, column]) for row in range(3) for column in range(3)}


def test_euler_angles_are_3_1_3() -> None:
    psi, theta, phi = 0.3, 0.7, -1.1
    marker = Reference_Marker(id=1, body_id=1, psi=psi, theta=theta, phi=phi)
    np.testing.assert_allclose(
        marker.rotation, rotation("z", psi) @ rotation("x", theta) @ rotation("z", phi), atol=1e-16
    )
    # PSI, THETA, PHI of the expression language read the same angles back
    x, y, z = marker.rotation.T
    assert math.atan2(z[0], -z[1]) == pytest.approx(psi)
    assert math.acos(z[2]) == pytest.approx(theta)
    assert math.atan2(x[2], y[2]) == pytest.approx(phi)


def test_direction_cosines_are_columns() -> None:
    A = rotation("z", 0.4) @ rotation("x", 0.2)
    marker = Reference_Marker(id=1, body_id=1, **cosines(A))
    np.testing.assert_array_equal(marker.rotation, A)
    np.testing.assert_array_equal(marker.rotation[:, 0], [marker.a00, marker.a10, marker.a20])


def test_rounded_cosines_are_made_orthonormal_and_zeros_stay() -> None:
    A = rotation("z", 0.4)
    rounded = np.round(A, 5)
    marker = Reference_Marker(id=1, body_id=1, **cosines(rounded))
    np.testing.assert_allclose(marker.rotation.T @ marker.rotation, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(marker.rotation, A, atol=1e-5)
    np.testing.assert_array_equal(marker.rotation == 0, A == 0)


def test_no_orientation_is_exactly_identity() -> None:
    np.testing.assert_array_equal(Reference_Marker(id=1, body_id=1).rotation, np.eye(3))


def test_frames_follow_rm_id_whatever_the_order() -> None:
    rng = np.random.default_rng(5)
    angles, places = rng.uniform(-1, 1, (4, 3)), rng.uniform(-1, 1, (4, 3))
    markers = [
        Reference_Marker(
            id=id, body_id=1, rm_id=rm_id, pos_x=p[0], pos_y=p[1], pos_z=p[2], psi=a[0], theta=a[1], phi=a[2]
        )
        for id, rm_id, a, p in zip((4, 3, 2, 1), (3, 2, 1, None), angles, places, strict=True)
    ]
    model = Model.build([Body_Rigid(id=1, isground=True), *markers])
    T = np.eye(4)  # homogeneous transforms, multiplied from the ground outwards
    for marker in reversed(markers):
        step = np.eye(4)
        step[:3, :3], step[:3, 3] = marker.rotation, marker.position
        T = T @ step
        r, A = model.frames[marker.id]
        np.testing.assert_allclose(r, T[:3, 3], atol=1e-15)
        np.testing.assert_allclose(A, T[:3, :3], atol=1e-15)
        assert not r.flags.writeable and not A.flags.writeable
    assert model.frames is model.frames
    np.testing.assert_array_equal(model.frames[0][1], np.eye(3))


def test_a_long_chain_of_markers_is_fast() -> None:
    chain = [Reference_Marker(id=1, body_id=1, pos_x=1)]
    chain += [Reference_Marker(id=id, body_id=1, rm_id=id - 1, pos_x=1) for id in range(2, 401)]
    model = Model.build([Body_Rigid(id=1, isground=True), *reversed(chain)])
    np.testing.assert_array_equal(model.frames[400][0], [400, 0, 0])


# --- models ---------------------------------------------------------------------------------------------


def test_build() -> None:
    for made in (lambda: Model(pendulum()), lambda: Model("name")):
        with pytest.raises(ModelProblems, match=r"Model\.build\(elements\)"):
            made()
    model = Model.build([*pendulum(), Simulate(analysis_type="TRANSIENT", duration=1)], name="pendulum")
    assert [body.id for body in model.all(Body_Rigid)] == [1, 2]
    assert model.ground_body.id == 1
    assert model.gravity.vector == (0.0, 0.0, -9.81)
    assert model.units == Param_Unit()
    assert model.find(Reference_Marker, 21).rm_id == 10
    assert model.body_of(model.find(Reference_Marker, 20)).label == "Rod"
    assert [command.tag for command in model.commands] == ["Simulate"]
    np.testing.assert_allclose(model.frames[21][1][:, 2], [0, -1, 0], atol=1e-15)


def test_a_model_cannot_be_changed() -> None:
    model = Model.build(pendulum())
    with pytest.raises(TypeError):
        model.elements["Body_Rigid"][7] = model.ground_body  # type: ignore[index]
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.name = "other"  # type: ignore[misc]


def test_models_compare_pickle_and_copy() -> None:
    model = Model.build(pendulum())
    assert model == Model.build(pendulum())
    assert hash(model) == hash(Model.build(pendulum()))
    assert model != Model.build(pendulum()[1:])
    _ = model.frames  # cached values must not be in the way
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert twin == model and list(twin.elements) == list(model.elements)
        np.testing.assert_array_equal(twin.frames[21][0], model.frames[21][0])


def test_problems_of_a_model_come_together() -> None:
    parts = [part for part in pendulum() if part.id != 10]
    with pytest.raises(ModelProblems, match="4 problems in model 'pendulum'") as caught:
        Model.build([*parts, Reference_Marker(id=20, body_id=2), Force_Scalar_TwoBody(
            id=7, type="FORCE", i_marker_id=20, j_marker_id=21, val=1)], name="pendulum")  # fmt: skip
    assert caught.value.problems == [
        "Reference_Marker id=20: id=20 is used twice, given before; give it a new id.",
        "Reference_Marker id=21: rm_id=10 names no Reference_Marker; did you mean 20?",
        "Constraint_Joint id=1: j_marker_id=10 names no Reference_Marker; did you mean 20?",
        "Force_Scalar_TwoBody id=7: markers 20 and 21 are both on Body_Rigid 2, so nothing can move between "
        "them; give markers of two different bodies.",
    ]


def test_find_names_who_asks_and_what_is_near() -> None:
    model = Model.build(pendulum())
    joint = model.find(Constraint_Joint, 1)
    with pytest.raises(ModelError) as caught:
        model.find(Reference_Marker, 12, joint, "k_marker_id")
    assert str(caught.value) == (
        "Constraint_Joint id=1: k_marker_id=12 names no Reference_Marker; did you mean 10 or 21?"
    )
    with pytest.raises(ModelError, match=r"VARVAL=3 names no Reference_Variable; did you mean 1\?"):
        model.find(Reference_Variable, 3, joint, "VARVAL")
    with pytest.raises(
        ModelError, match="model 'model': id=1 names a Reference_Spline, and the model has none"
    ):
        model.find(Reference_Spline, 1)


def test_inactive_elements_are_kept_but_not_listed() -> None:
    switched_off = Constraint_Joint(id=5, type="FIXED", i_marker_id=99, j_marker_id=98, is_active=False)
    model = Model.build([*pendulum(), switched_off])
    assert [joint.id for joint in model.all(Constraint_Joint)] == [1]
    assert model.find(Constraint_Joint, 5) is switched_off


def test_modification() -> None:
    model = Model.build([*pendulum(), Modification(element="Body_Rigid", id=2, changes=(("mass", 3.0),))])
    (change,) = model.commands
    assert isinstance(change, Modification)
    heavier = change.apply(model)
    assert isinstance(heavier, Body_Rigid)
    assert (heavier.mass, model.find(Body_Rigid, 2).mass) == (3.0, 1.0)


def test_warnings_point_at_the_caller() -> None:
    with pytest.warns(PlantWarning, match="time_unit not given") as caught:
        Model.build([*pendulum(), Param_Unit(mass_unit="GRAM", length_unit="METER", force_unit="NEWTON")])
    assert caught[0].filename == __file__


# --- kinds ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Number(), " +1.5e-3 ", 1.5e-3),
        (Number(), ".5", 0.5),
        (Number(), "10E-5", 1e-4),
        (Integer(), " 012 ", 12),
        (Flag(), " Yes", True),
        (Flag(), "false", False),
        (Keyword(("A B", "C")), "a  b ", "A B"),
        (IdsOf(("X",)), "1, 2,3 4\n5", (1, 2, 3, 4, 5)),
        (Numbers(), "1 2.5,\t-3", (1.0, 2.5, -3.0)),
        (ExpressionText(), "  NULL ", None),
        (ExpressionText(), "", None),
        (ExpressionText(), " varval(1) ", "varval(1)"),
        (IdOf(("X",), zero=True), "0", 0),
    ],
)
def test_reading(kind: Number, text: str, value: object) -> None:
    read = kind.read(text)
    assert read == value and type(read) is type(value)


@pytest.mark.parametrize("text", ["", " ", "1,5", "0x10", "1_0", "1d3", "infinity", "NaN", "1 2", "٣٫٥"])
def test_not_numbers(text: str) -> None:
    with pytest.raises(ValueError, match=r"^is .*; "):
        Number().read(text)


def test_an_id_of_what_a_model_has_once_counts_for_nothing() -> None:
    ground = Body_Rigid(id=1, isground=True)
    assert Model.build([ground, Force_Gravity(id=3, grav_y=-2.0)]).gravity.grav_y == -2.0
    with pytest.raises(ModelProblems, match="Force_Gravity: stands twice"):
        Model.build([ground, Force_Gravity(id=3, grav_y=-2.0), Force_Gravity(id=4, grav_y=-9.0)])


HUGE = 10**400  # a whole number, which no float can be


@pytest.mark.parametrize(
    "value",
    [
        np.array([]), np.array([1.0, 2.0]), np.array(["a"]), int, HUGE, np.datetime64("2020"), b"1.5",
        np.timedelta64(3, "s"), np.complex128(1 + 1j), np.bool_(True), [], object(), (v for v in [1.0]),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_is_no_number_is_refused_by_attribute(value):
    """float() and operator.index() raised their own errors; of a complex number the real part was taken."""
    with pytest.raises(ModelError, match=r"Body_Rigid id=2: mass=.* is not a number; give an int"):
        Body_Rigid(id=2, cg_id=1, mass=value)
    with pytest.raises(ModelError, match=r"body_id=.* is not an integer; give a whole number"):
        Reference_Marker(id=2, body_id=1.5 if value is HUGE else value)
    assert Body_Rigid(id=2, cg_id=1, mass=np.float32(1.5)).mass == 1.5
    assert Reference_Marker(id=np.int64(2), body_id=1).id == 2
