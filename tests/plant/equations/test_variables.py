"""Every way to define a Reference_Variable, and the examples of its reference page."""

from __future__ import annotations

import numpy as np
import pytest

from blocks.contract.memories import AlgebraicUnknown
from blocks.contract.trace import trace
from blocks.errors import ModelError, SimulationError
from cosim import Diagram, simulate
from plant import Plant, PlantWarning
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantInput,
    Control_PlantOutput,
    Control_StateEqn,
    Element,
    Force_Gravity,
    Reference_Array,
    Reference_Marker,
    Reference_Variable,
)
from tests.helpers.plants import Alone, reference
from tests.helpers.slider import PUSH, on_rail

SOLID = {"mass": 4.0, "inertia_xx": 0.006, "inertia_yy": 0.005, "inertia_zz": 0.004}


def slider(*elements: Element, x: float = 0.5, v: float | None = None) -> Plant:
    """A mass of 4 kg on a rail along the global x-axis, DX(20) its place."""
    return Plant.from_model(on_rail(*elements, x=x, v=v, mass=4.0))


def outputs(*ids: int) -> Control_PlantOutput:
    return Control_PlantOutput(id=1, label="y", variable_id_list=ids)


def run(plant: Plant, times, **options):
    d = Diagram("variables")
    d.add("plant", plant)
    return simulate(d, until=times[-1], log_at=times, engine="reference", rtol=1e-10, atol=1e-12, **options)


# --- example 1 and 5: explicit --------------------------------------------------------------------------
def test_kinetic_energy_expression():
    known = reference("expressions")["kinetic_energy_example"]
    energy = Reference_Variable(
        id=3070,
        expr="0.5*(4*VM(1011)**2 + 0.006*WX(1011)**2 + 0.005*WY(1011)**2 + 0.004*WZ(1011)**2)",
    )
    free = Body_Rigid(
        id=3,
        cg_id=1011,
        v_ic_x=known["VM"],
        w_ic_x=known["w"][0],
        w_ic_y=known["w"][1],
        w_ic_z=known["w"][2],
        **SOLID,
    )
    plant = slider(free, Reference_Marker(id=1011, body_id=3), energy, outputs(3070))
    assert Alone(plant).output("y") == pytest.approx([known["KE"]], rel=1e-14)


@pytest.mark.parametrize(
    ("angle", "ratio"), reference("expressions")["steering_ratio_step_100_1000_150_1500"]
)
def test_steering_gear_ratio(angle, ratio):
    """One variable reads another; the angle is that of a revolute joint."""
    wheel = [
        Body_Rigid(id=3, cg_id=6565, **SOLID),
        Reference_Marker(id=6565, body_id=3),
        Reference_Marker(id=7676, body_id=1),
        Constraint_Joint(id=2, label="column", type="REVOLUTE", i_marker_id=6565, j_marker_id=7676),
        Reference_Variable(id=1, label="Steering angle in degrees", expr="RTOD * ABS(AZ(6565,7676))"),
        Reference_Variable(id=2, label="Steering gear ratio", expr="step(varval(1), 100, 1000, 150, 1500)"),
    ]
    alone = Alone(slider(*wheel, outputs(1, 2)))
    alone.x0[alone.slice("column.q")] = -np.radians(angle)
    assert alone.output("y") == pytest.approx([angle, ratio], rel=1e-12)


# --- implicit -------------------------------------------------------------------------------------------
def test_implicit_variable_is_the_root():
    """v + v^3 = x, where x moves."""
    cubic = Reference_Variable(id=1, expr="VARVAL(1) + VARVAL(1)**3 - DX(20)", is_implicit=True)
    r = run(slider(cubic, outputs(1), v=2.0), [0.0, 0.3, 1.0])
    v = r["plant.y"].ravel()
    assert v + v**3 == pytest.approx(0.5 + 2.0 * r.time, abs=1e-11)


def test_implicit_variable_in_a_force():
    """A force solved from an equation acts: v = -4 x, written implicitly, is a spring on 4 kg."""
    spring = [
        Reference_Variable(id=1, expr="VARVAL(1) + 4*DX(20)", is_implicit=True),
        PUSH,
        Reference_Variable(id=2, expr="DX(20)"),
    ]
    r = run(slider(*spring, outputs(2)), [0.0, 1.0, 2.5])
    assert r["plant.y"].ravel() == pytest.approx(0.5 * np.cos(r.time), abs=1e-9)


def test_implicit_variable_with_the_acceleration_it_causes():
    """A force that feeds back a tenth of the acceleration, f = 1 - 0.4 a: 4 a = f."""
    feedback = [
        Reference_Variable(id=1, expr="VARVAL(1) - 1 + 0.4*ACCX(20)", is_implicit=True),
        PUSH,
        Reference_Variable(id=2, expr="ACCX(20)"),
    ]
    r = run(slider(*feedback, outputs(2)), [0.0, 0.5])
    assert r["plant.y"].ravel() == pytest.approx(1 / 4.4, rel=1e-12)


def test_two_implicit_variables_are_solved_together():
    pair = [
        Reference_Variable(id=1, expr="VARVAL(1) - 2*VARVAL(2) - DX(20)", is_implicit=True),
        Reference_Variable(id=2, expr="VARVAL(2) + VARVAL(1) - 1", is_implicit=True),
    ]
    r = run(slider(*pair, outputs(1, 2)), [0.0])
    assert r["plant.y"][0] == pytest.approx(np.linalg.solve([[1, -2], [1, 1]], [0.5, 1.0]))


def test_dependence_on_itself_may_go_through_an_explicit_variable():
    pair = [
        Reference_Variable(id=1, expr="VARVAL(2) - DX(20)", is_implicit=True),
        Reference_Variable(id=2, expr="3*VARVAL(1)"),
    ]
    r = run(slider(*pair, outputs(1)), [0.0])
    assert r["plant.y"].ravel() == pytest.approx([0.5 / 3])


def test_newton_starts_from_ic():
    """v^2 = 4 has two roots; ic chooses."""
    square = Reference_Variable(id=1, expr="VARVAL(1)**2 - 4", is_implicit=True, ic=-1.0)
    assert run(slider(square, outputs(1)), [0.0])["plant.y"].ravel() == pytest.approx([-2.0])


def test_equation_without_a_root_names_the_variable():
    hopeless = Reference_Variable(id=7, expr="VARVAL(7)**2 + 1", is_implicit=True, ic=0.3)
    with pytest.raises(SimulationError, match="variable_7"):
        run(slider(hopeless, outputs(7)), [0.0])


# --- recursive ------------------------------------------------------------------------------------------
def test_self_recursive_variable_is_solved_with_a_warning():
    """v = cos(v) is the fixed point 0.739..."""
    plant = slider(Reference_Variable(id=1, expr="COS(VARVAL(1))"), outputs(1))
    with pytest.warns(PlantWarning, match="Reference_Variable id=1: is defined by itself"):
        r = run(plant, [0.0])
    assert r["plant.y"].ravel() == pytest.approx([0.7390851332151607], abs=1e-12)


def test_circle_of_variables_is_named():
    pair = [Reference_Variable(id=1, expr="VARVAL(2)"), Reference_Variable(id=2, expr="1 + VARVAL(1)")]
    with pytest.raises(ModelError, match="id=1: recursive definition: Reference_Variable 1 -> 2 -> 1"):
        slider(*pair, outputs(1))


# --- integrals ------------------------------------------------------------------------------------------
def test_integral_of_an_expression():
    """z' = x - z with x = 0.5 + 2 t, z(0) = 3."""
    lag = Reference_Variable(id=1, expr="DX(20) - VARVAL(1)", dot_form=True, ic=3.0)
    r = run(slider(lag, outputs(1), v=2.0), [0.0, 0.7, 2.0])
    exact = (3.0 + 1.5) * np.exp(-r.time) + 2 * r.time - 1.5
    assert r["plant.y"].ravel() == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("hold", [True, False])
def test_static_hold(hold):
    z = Reference_Variable(id=1, label="z", expr="1 - VARVAL(1)", dot_form=True, static_hold=hold)
    (state,) = [m for m in trace(slider(z), {}).declared.memories if m.name == "z"]
    assert state.static == ("hold" if hold else "solve")


# --- members of ports and arrays ------------------------------------------------------------------------
def test_members_of_inputs_outputs_and_arrays():
    """A solved variable, an integral and an input side by side in a port and in an array."""
    elements = [
        Reference_Variable(id=1, expr="2*VARVAL(1) - DX(20)", is_implicit=True),
        Reference_Variable(id=2, expr="1", dot_form=True, ic=7.0),
        Reference_Variable(id=3, expr="0"),
        Reference_Variable(id=4, expr="ARYVAL(5,1) + 10*ARYVAL(5,2) + 100*ARYVAL(5,3) + 1000*ARYVAL(6,2)"),
        Reference_Array(id=5, type="U", variable_id=(1, 2, 3)),
        Reference_Array(id=6, type="IC", values=(0.5, 0.25)),
        Control_PlantInput(id=1, label="u", variable_id_list=(3,)),
        outputs(1, 2, 3, 4),
    ]
    alone = Alone(slider(*elements))
    unknown = alone.declared.memories_of(AlgebraicUnknown)[0]
    alone.own[alone.traced.slices[unknown.name]] = 0.25
    expected = [0.25, 7.0, 2.0, 0.25 + 70 + 200 + 250]
    assert alone.output("y", u={"u": [2.0]}) == pytest.approx(expected)


def test_hold_of_a_marker_plant_output_example_4():
    """Angle and rate of the inverted pendulum, with the signs of the example."""
    cross = {"a00": 1, "a10": 0, "a20": 0, "a01": 0, "a11": 0, "a21": 1, "a02": 0, "a12": -1, "a22": 0}
    elements = [
        Force_Gravity(grav_z=-9.81),
        Body_Rigid(id=3, cg_id=30, **SOLID),
        Reference_Marker(id=30, body_id=3, pos_x=0.5, pos_z=1.0),
        Reference_Marker(id=1011, body_id=3, pos_x=0.5),
        Reference_Marker(id=2011, body_id=2, pos_x=0.5),
        Reference_Marker(id=1021, body_id=3, pos_x=0.5, **cross),
        Reference_Marker(id=2021, body_id=2, pos_x=0.5, **cross),
        Constraint_Joint(id=2, label="hinge", type="REVOLUTE", i_marker_id=1021, j_marker_id=2021),
        Reference_Variable(id=12, expr="-AY(1011,2011)"),
        Reference_Variable(id=13, expr="-WY(1011,2011)"),
        outputs(12, 13),
    ]
    alone = Alone(slider(*elements))
    alone.x0[alone.slice("hinge.q")], alone.x0[alone.slice("hinge.qd")] = 0.2, -0.7
    theta, omega = alone.output("y")
    assert abs(theta) == pytest.approx(0.2) and abs(omega) == pytest.approx(0.7)
    assert np.sign(theta) == -np.sign(omega)


def test_arrays_of_control_elements_are_checked():
    wide = Control_StateEqn(id=1, type="LINEAR", x_array_id=1, y_array_id=2, num_state=1, num_output=1)
    elements = [
        wide,
        Reference_Array(id=1, type="X", num_element=1),
        Reference_Array(id=2, type="Y", num_element=1),
        Reference_Variable(id=1, expr="ARYVAL(2,3)"),
        outputs(1),
    ]
    with pytest.raises(ModelError, match=r"Reference_Array 2 has 1 entries, not 3"):
        trace(slider(*elements), {})
