"""Controls inside a plant: differential equations, transfer functions, arrays, sensors, fields, requests."""

from __future__ import annotations

import numpy as np
import pytest

from blocks import Sine
from blocks.contract.trace import trace
from blocks.errors import ModelError
from cosim import Diagram, simulate
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Control_Diff,
    Control_PlantInput,
    Control_PlantOutput,
    Control_SISO,
    Control_StateEqn,
    Element,
    Force_Field,
    Force_Gravity,
    Force_Scalar_TwoBody,
    Model,
    Post_Request,
    Reference_Array,
    Reference_Marker,
    Reference_Matrix,
    Reference_Variable,
)
from plant.equations.controls import realisation
from plant.reporting import PlantWarning
from tests.helpers.plants import Alone
from tests.helpers.slider import ALONG, on_rail
from tests.helpers.trees import body, marker, random_rotation


def slider(*elements: Element, v: float = 0.0) -> Plant:
    """A mass of 2 kg on a rail along x, at x = 0."""
    return Plant.from_model(on_rail(*elements, x=0.0, v=v))


def outputs(*ids: int) -> Control_PlantOutput:
    return Control_PlantOutput(id=1, label="y", variable_id_list=ids)


def run(plant: Plant, times, **options):
    d = Diagram("controls")
    p = d.add("plant", plant)
    if plant.inputs:
        d.connect(d.add("source", Sine(amplitude=1.0, frequency=0.5))["y"], p["u"])
    return simulate(d, until=times[-1], log_at=times, engine="reference", rtol=1e-10, atol=1e-12, **options)


TIMES = np.linspace(0.0, 2.0, 9)


@pytest.mark.parametrize(
    ("numerator", "denominator"),
    [((1.0, 2.0, 3.0), (2.0, 4.0, 5.0)), ((7.0,), (2.0, 4.0, 5.0, 0.5)), ((3.0,), (4.0,))],
)
def test_a_transfer_function_is_what_its_coefficients_say(numerator, denominator):
    """C (s I - A)^-1 B + D at a complex s, the highest coefficient of the denominator not 1."""
    arrays = {"x_array_id": 1, "y_array_id": 2, "u_array_id": 3}
    siso = Control_SISO(id=1, numerator_coef=numerator, denominator_coef=denominator, **arrays)
    linear = realisation(siso)
    s = 0.3 + 0.7j
    n = len(denominator) - 1
    found = linear.C @ np.linalg.solve(s * np.eye(n) - linear.A, linear.B) + linear.D
    assert found == pytest.approx(np.polyval(numerator[::-1], s) / np.polyval(denominator[::-1], s))


# --- Control_Diff ---------------------------------------------------------------------------------------
def test_explicit_equation_of_first_order():
    elements = [
        Control_Diff(id=3, label="lag", expr="2*(1 - DIF(3))", ic=0.25),
        Reference_Variable(id=1, expr="DIF(3)"),
        Reference_Variable(id=2, expr="DIF1(3)"),
    ]
    plant = slider(*elements, outputs(1, 2))
    assert plant.initial["lag"] == pytest.approx([0.25])
    y = run(plant, TIMES)["plant.y"]
    assert y[:, 0] == pytest.approx(1 - 0.75 * np.exp(-2 * TIMES), abs=1e-9)
    assert y[:, 1] == pytest.approx(1.5 * np.exp(-2 * TIMES), abs=1e-9)


def test_implicit_equation_of_first_order():
    """x' + x'^3 = 10 - x: x' is found by Newton's method."""
    elements = [
        Control_Diff(id=3, expr="DIF1(3) + DIF1(3)**3 - 10 + DIF(3)", is_implicit=True, ic=0.0, ic_dot=2.0),
        Reference_Variable(id=1, expr="DIF(3)"),
        Reference_Variable(id=2, expr="DIF1(3)"),
    ]
    y = run(slider(*elements, outputs(1, 2)), TIMES)["plant.y"]
    assert y[:, 1] + y[:, 1] ** 3 == pytest.approx(10 - y[:, 0], abs=1e-10)
    assert y[0, 1] == pytest.approx(2.0)


def test_algebraic_equation_and_the_derivative_block():
    """x3 - u = 0 and x3' - x2 = 0, as the guide builds a derivative; u depends on place and velocity."""
    elements = [
        Control_Diff(id=3, expr="DIF(3) - SIN(DX(20))*VX(20) - TIME**2", is_implicit=True),
        Control_Diff(id=2, expr="DIF1(3) - DIF(2)", is_implicit=True),
        Force_Scalar_TwoBody(
            id=1, type="FORCE", i_marker_id=20, j_marker_id=10, is_action_only=True, val_expression="4"
        ),
        Reference_Variable(id=1, expr="DIF(3)"),
        Reference_Variable(id=2, expr="DIF(2)"),
    ]
    y = run(slider(*elements, outputs(1, 2), v=0.5), TIMES)["plant.y"]
    x, v = 0.5 * TIMES + TIMES**2, 0.5 + 2 * TIMES
    assert y[:, 0] == pytest.approx(np.sin(x) * v + TIMES**2, abs=1e-8)
    assert y[:, 1] == pytest.approx(np.cos(x) * v**2 + 2 * np.sin(x) + 2 * TIMES, abs=1e-8)


@pytest.mark.parametrize("hold", [True, False])
def test_static_hold(hold):
    (state,) = [
        m
        for m in trace(
            slider(Control_Diff(id=3, label="x", expr="1", is_static_hold=hold)), {}
        ).declared.memories
        if m.name == "x"
    ]
    assert state.static == ("hold" if hold else "solve")


# --- Control_SISO and Control_StateEqn ------------------------------------------------------------------
def arrays(*u: int) -> list[Element]:
    return [
        Reference_Array(id=1, type="U", variable_id=u),
        Reference_Array(id=2, type="X", num_element=2),
        Reference_Array(id=3, type="Y", num_element=1),
    ]


def test_transfer_function_against_its_state_space_twin():
    """H = (1 + 3 s + 2 s^2)/(4 + 2 s + s^2): m = n, so y depends on u at once."""
    siso = Control_SISO(
        id=1,
        label="filter",
        x_array_id=2,
        y_array_id=3,
        u_array_id=1,
        numerator_coef=(1.0, 3.0, 2.0),
        denominator_coef=(4.0, 2.0, 1.0),
    )
    elements = [
        Reference_Variable(id=1, expr="0"),
        Control_PlantInput(id=1, label="u", variable_id_list=(1,)),
        *arrays(1),
        siso,
        Reference_Variable(id=2, expr="ARYVAL(3,1)"),
        Reference_Variable(id=3, expr="ARYVAL(2,2)"),
        outputs(2, 3),
    ]
    alone = Alone(slider(*elements))
    alone.x0[alone.slice("filter")] = 0.0
    assert alone.output("y", u={"u": [1.0]})[0] == pytest.approx(2.0)  # b2/a2
    w = 0.7
    A, B, C, D = _linear(alone)
    H = C @ np.linalg.solve(1j * w * np.eye(len(A)) - A, B) + D
    s = 1j * w
    assert pytest.approx((1 + 3 * s + 2 * s * s) / (4 + 2 * s + s * s)) == H


def test_coefficients_of_a_transfer_function_are_built_in():
    """They are numbers of the model, and were said to be none."""
    siso = Control_SISO(
        id=1, x_array_id=2, y_array_id=3, u_array_id=1, numerator_coef=(1.0,), denominator_coef=(1.0, 1.0)
    )
    elements = on_rail(Reference_Variable(id=1, expr="1"), *arrays(1), siso, x=0.0)
    with pytest.raises(
        ModelError, match=r"'Control_SISO/1.numerator_coef', which is built into the equations"
    ):
        Plant.from_model(elements, tunable=["Control_SISO/1.numerator_coef"])
    with pytest.raises(ModelError, match=r"'Control_SISO/1.numeratr', which is no number of the model"):
        Plant.from_model(elements, tunable=["Control_SISO/1.numeratr"])


def _linear(alone: Alone):
    """A, B, C, D of the filter alone, by differences (everything is linear)."""
    at = alone.slice("filter")

    def both(x, u):
        whole = alone.x0.copy()
        whole[at] = x
        f = alone.derivative(0.0, whole, {"u": [u]})[at]
        return f, alone.output("y", 0.0, whole, {"u": [u]})[0]

    f0, _ = both([0, 0], 0.0)
    columns = [both(e, 0.0) for e in np.eye(2)]
    by_input = both([0, 0], 1.0)
    A = np.array([f - f0 for f, _ in columns]).T
    return A, by_input[0], np.array([y for _, y in columns]), by_input[1]


def state_equation(**attributes: str) -> list[Element]:
    """A double integrator with feedthrough to its second output."""
    return [
        Reference_Variable(id=1, expr="1 + TIME"),
        *arrays(1)[:2],
        Reference_Array(id=3, type="Y", num_element=2),
        Reference_Array(id=4, type="IC", values=(0.5, -1.0)),
        Reference_Array(id=5, type="IC", values=(0.0, 1.0, 0.0, 0.0)),
        Reference_Matrix(id=6, num_row=2, num_col=2, values=(0.0, 1.0, 0.0, 0.0)),
        Reference_Matrix(id=7, num_row=1, num_col=4, values=(0.0, 1.0, 0.0, 0.0)),
        Control_StateEqn(
            id=1,
            label="double integrator",
            type="LINEAR",
            x_array_id=2,
            y_array_id=3,
            u_array_id=1,
            ic_array_id=4,
            num_state=2,
            num_output=2,
            attributes=tuple(attributes.items()),
        ),
        Reference_Variable(id=2, expr="ARYVAL(3,1)"),
        Reference_Variable(id=3, expr="ARYVAL(3,2)"),
        outputs(2, 3),
    ]


@pytest.mark.parametrize(
    "A", [{"a_matrix": "0 1 0 0"}, {"A_matrix_id": "5"}, {"a_matrix_id": "6"}, {"a_id": "6"}]
)
def test_linear_state_equation(A):
    matrices = {**A, "b_matrix": "0, 1", "c_matrix": "1 0 0 0", "d_matrix": "0 10"}
    plant = slider(*state_equation(**matrices))
    assert plant.initial["double_integrator"] == pytest.approx([0.5, -1.0])
    y = run(plant, TIMES)["plant.y"]
    assert y[:, 0] == pytest.approx(0.5 - TIMES + TIMES**2 / 2 + TIMES**3 / 6, abs=1e-9)
    assert y[:, 1] == pytest.approx(10 * (1 + TIMES))


def test_linear_state_equation_of_several_inputs():
    """x' = A x + B u and y = C x + D u, with every matrix of another shape, at random numbers."""
    rng = np.random.default_rng(7)
    A, B, C, D = (rng.normal(size=shape) for shape in ((3, 3), (3, 2), (4, 3), (4, 2)))
    written = {
        f"{name}_matrix": " ".join(map(repr, m.ravel().tolist()))
        for name, m in zip("abcd", (A, B, C, D), strict=True)
    }
    elements = [
        Reference_Variable(id=1, expr="2 - TIME"),
        Reference_Variable(id=2, expr="3 + TIME"),
        Reference_Array(id=1, type="U", variable_id=(1, 2)),
        Reference_Array(id=2, type="X", num_element=3),
        Reference_Array(id=3, type="Y", num_element=4),
        Control_StateEqn(
            id=1, label="eqn", type="LINEAR", x_array_id=2, y_array_id=3, u_array_id=1,
            num_state=3, num_output=4, attributes=tuple(written.items()),
        ),
        *(Reference_Variable(id=10 + k, expr=f"ARYVAL(3,{k})") for k in range(1, 5)),
        outputs(11, 12, 13, 14),
    ]  # fmt: skip
    alone = Alone(slider(*elements))
    x, u, state = np.array([0.3, -0.4, 0.5]), np.array([1.5, 3.5]), alone.x0.copy()
    state[alone.slice("eqn")] = x
    assert alone.derivative(0.5, state)[alone.slice("eqn")] == pytest.approx(A @ x + B @ u, rel=1e-12)
    assert alone.output("y", 0.5, state) == pytest.approx(C @ x + D @ u, rel=1e-12)


def test_wrong_matrices_are_told():
    with pytest.raises(ModelError, match=r"Control_StateEqn id=1.*a_matrix has 3 entries, expected 2 x 2"):
        trace(slider(*state_equation(a_matrix="0 1 0")), {})
    with pytest.raises(ModelError, match="a_matrix='0 1 x 0'"):
        slider(*state_equation(a_matrix="0 1 x 0"))
    with pytest.raises(ModelError, match=r"a_matrix_id has 4 entries \(1 x 4\), expected 2 x 2"):
        slider(*state_equation(a_matrix_id="7"))
    with pytest.raises(ModelError, match="Control_StateEqn id=1.*a_matrix_id=8 names no Reference_Matrix"):
        slider(*state_equation(a_matrix_id="8"))
    with pytest.warns(
        PlantWarning, match="Control_StateEqn id=1.*attribute a_matrx_id is not known.*a_matrix_id"
    ):
        slider(*state_equation(a_matrx_id="6"))
    with pytest.raises(ModelError, match="Reference_Matrix id=1: has 3 numbers for 2 x 2 entries"):
        Reference_Matrix(id=1, num_row=2, num_col=2, values=(1, 2, 3))


def test_loop_through_a_transfer_function_with_feedthrough():
    elements = [
        Reference_Variable(id=1, expr="ARYVAL(3,1)"),
        *arrays(1),
        Control_SISO(
            id=1, x_array_id=2, y_array_id=3, u_array_id=1, numerator_coef=(1, 1), denominator_coef=(1, 1)
        ),
        outputs(1),
    ]
    with pytest.raises(ModelError, match="recursive definition"):
        trace(slider(*elements), {})


def test_arrays_have_one_owner():
    siso = {
        "x_array_id": 2,
        "y_array_id": 3,
        "u_array_id": 1,
        "numerator_coef": (1,),
        "denominator_coef": (1, 1),
    }
    elements = [
        Reference_Variable(id=1, expr="1"),
        *arrays(1),
        Control_SISO(id=1, **siso),
        Control_SISO(id=2, **siso),
    ]
    with pytest.raises(ModelError, match=r"Control_SISO id=2: x_array_id=2 is filled by Control_SISO id=1"):
        trace(slider(*elements), {})


# --- forces ---------------------------------------------------------------------------------------------
def test_action_only_force_acts_on_one_body():
    """No reaction: the other body of the pair stays at rest."""
    other = [
        Body_Rigid(id=3, label="other", cg_id=30, mass=1, inertia_xx=1, inertia_yy=1, inertia_zz=1),
        Reference_Marker(id=30, body_id=3, **ALONG),
        Force_Scalar_TwoBody(
            id=1, type="FORCE", i_marker_id=20, j_marker_id=30, is_action_only=True, val_expression="6"
        ),
    ]
    alone = Alone(slider(*other))
    change = alone.derivative(0.0, alone.x0)
    assert change[alone.slice("rail.qd")] == pytest.approx([3.0])
    assert change[alone.slice("other.qd")] == pytest.approx(np.zeros(6))


def test_gravity_as_a_function_of_time():
    alone = Alone(slider(Force_Gravity(grav_x="3*SIN(TIME)")))
    assert alone.derivative(0.5, alone.x0)[alone.slice("rail.qd")] == pytest.approx([3 * np.sin(0.5)])


@pytest.mark.parametrize("full", [True, False])
def test_linear_field(full):
    """F = F0 - K (d - d0) - C d' on two free bodies; compared with the bushing's independent formulas."""
    rng = np.random.default_rng(5)
    elements: list[Element] = [Body_Rigid(id=1, isground=True)]
    frames = {}
    for id in (2, 3):
        frames[10 * id] = (rng.normal(size=3), random_rotation(rng))
        elements += body(id, *frames[10 * id], rng)
        elements.append(marker(10 * id + 1, id, rng.normal(size=3), frames[10 * id][1]))
    K, C = np.diag([3.0, 4, 5, 6, 7, 8]), np.diag([0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    if full:
        K[0, 1] = K[1, 0] = 1.5
    text = {"k_matrix": " ".join(map(str, K.ravel())), "c_matrix": " ".join(map(str, np.diag(C)))}
    field = Force_Field(
        id=1, i_marker_id=21, j_marker_id=31, attributes=(*text.items(), ("length", "0 0 0.2 0 0 0"))
    )
    request = Post_Request(
        id=1, label="f", type="ELEMENTAL_FORCE", elem_type="FIELD", elem_id=1, ref_marker_id=31
    )
    more = Post_Request(
        id=2,
        label="d",
        expr1="DX(21,31,31)",
        expr2="DY(21,31,31)",
        expr3="DZ(21,31,31)",
        expr4="VX(21,31,31,31)",
        expr5="VY(21,31,31,31)",
        expr6="VZ(21,31,31,31)",
    )
    alone = Alone(Plant.from_model(Model.build([*elements, field, request, more])))
    for link in alone.plant.mechanism.links:
        alone.x0[alone.slice(f"{link.name}.qd")] = rng.normal(size=6)
    d = alone.output("request_d")
    F = -K[:3, :3] @ (d[:3] - [0, 0, 0.2]) - C[:3, :3] @ d[3:]
    assert alone.output("request_f")[1:4] == pytest.approx(F, abs=1e-12)


# --- requests -------------------------------------------------------------------------------------------
def test_marker_requests():
    requests = [
        Post_Request(id=1, label="d", type="MARKER_DISPLACEMENT", i_marker_id=20, j_marker_id=10),
        Post_Request(id=2, label="v", type="MARKER_VELOCITY", i_marker_id=20, ref_marker_id=10),
        Post_Request(id=3, label="a", type="ACCELERATION", i_marker_id=20),
        Force_Gravity(grav_x=3.0),
    ]
    alone = Alone(slider(*requests, v=-0.5))
    alone.x0[alone.slice("rail.q")] = 2.0
    assert alone.plant.requests["request_d"].labels == ("DM", "DX", "DY", "DZ", "PSI", "THETA", "PHI")
    assert alone.output("request_d") == pytest.approx([2, 2, 0, 0, 0, 0, 0])
    assert alone.output("request_v") == pytest.approx([0.5, 0, 0, -0.5, 0, 0, 0, 0])  # z of marker 10 is x
    assert alone.output("request_a") == pytest.approx([3, 3, 0, 0, 0, 0, 0, 0])


def test_force_requests_show_reactions():
    """The rail carries the weight, 2 * 9.81 N; marker 10's z-axis is global x, its x-axis -z."""
    requests = [
        Post_Request(id=1, label="j", type="ELEMENTAL_FORCE", elem_type="JOINT", elem_id=1),
        Post_Request(
            id=2, label="other", type="ELEMENTAL_FORCE", elem_type="Constraint_Joint", elem_id=1, jflag=1
        ),
        Post_Request(id=3, label="m", type="MARKER_FORCE", i_marker_id=20, j_marker_id=10, ref_marker_id=10),
        Force_Gravity(grav_z=-9.81),
    ]
    alone = Alone(slider(*requests))
    W = 2 * 9.81
    assert alone.output("request_j") == pytest.approx([W, 0, 0, W, 0, 0, 0, 0], abs=1e-12)
    assert alone.output("request_other") == pytest.approx([W, 0, 0, -W, 0, 0, 0, 0], abs=1e-12)
    assert alone.output("request_m") == pytest.approx([W, -W, 0, 0, 0, 0, 0, 0], abs=1e-12)


def test_requests_are_logged_and_no_part_of_linear_models():
    plant = slider(
        Reference_Variable(id=1, expr="DX(20)"),
        Post_Request(id=3, type="EXPRESSION", expr1="TIME"),
        outputs(1),
    )
    found = {o.name: o.auxiliary for o in Alone(plant).declared.outputs}
    assert found == {"y": False, "request_3": True}


def test_states_of_one_name_are_told_apart_by_name_and_number():
    """A differential equation that is labelled as an integral, or as a joint, is called by its number."""
    integral = Reference_Variable(id=1, label="s", expr="1", dot_form=True)
    same = [Control_Diff(id=3, label="s", expr="1"), Control_Diff(id=4, label="rail", expr="1")]
    found = set(slider(integral, *same, Control_Diff(id=5, label="own", expr="1")).initial)
    assert found == {"rail.q", "rail.qd", "s", "diff_3", "diff_4", "own"}


@pytest.mark.parametrize(("active", "force"), [(True, 6.0), (False, 0.0)])
def test_a_force_that_is_off_exerts_nothing(active, force):
    push = Force_Scalar_TwoBody(
        id=1, type="FORCE", i_marker_id=20, j_marker_id=10, is_action_only=True, val=6.0, is_active=active
    )
    alone = Alone(slider(push, Reference_Variable(id=1, expr="SFORCE(1,0,1,0)"), outputs(1)))
    assert alone.output("y") == pytest.approx([force])


@pytest.mark.parametrize(
    ("states", "outputs", "told"), [(2, 1, "1 state;"), (1, 3, "1 output;"), (1, 1, None)]
)
def test_size_of_an_array_that_its_element_does_not_fill_is_told(states, outputs, told, recwarn):
    slider(
        Reference_Variable(id=7, expr="DX(20)"),
        Reference_Array(id=1, type="U", num_element=1, variable_id=(7,)),
        Reference_Array(id=2, type="X", num_element=states),
        Reference_Array(id=3, type="Y", num_element=outputs),
        Control_SISO(
            id=1, x_array_id=2, y_array_id=3, u_array_id=1, numerator_coef=(1.0,), denominator_coef=(2.0, 1.0)
        ),
    )
    texts = [str(w.message) for w in recwarn if "num_element" in str(w.message)]
    assert len(texts) == bool(told)
    assert told is None or f"changes nothing, because Control_SISO id=1 fills it with {told}" in texts[0]
