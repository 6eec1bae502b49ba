"""What a saved model does not hold is said when it is saved, and only where it matters."""

from __future__ import annotations

import warnings

import pytest

from tests.helpers.decks import body, joint, marker, off, ran, simulate

ROTOR = (
    marker(11, 1) + body(2, 2.0, 0.5, 0.0, 0.0, 0.0, "rotor", w_ic_z=9.0) + marker(21, 2)
    + joint(1, "REVOLUTE", 21, 11, "axle")
    + '<Post_Request id="1" label="angle" type="EXPRESSION" expr1="AZ(21,11)" expr2="WZ(21)" expr3="TIME"/>'
)  # fmt: skip
TORQUE = (
    '<Force_Vector_OneBody id="3" type="TORQUEONLY" marker_id="20" ref_marker_id="11" tx_expression="0" '
    'ty_expression="0" tz_expression="SENVAL(1)+0.4*SIN(3*TIME)"/>'
)
SENSOR = (
    '<Sensor_Event id="1" type="EXPRESSION" expr="AZ(21,11)" value="0.9" compare="GE" evaluate_id="1"/>'
    '<Sensor_Evaluate id="1" type="EXPRESSION" expr="-0.25"/>'
)
SAVED = '<Save model_file="later.xml"/>'


def said(model: str, end: float, more: str = "", **options: object) -> tuple[list[str], list]:
    """Warnings about Save, and the results of the simulations."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = ran(model, SAVED + simulate("Transient", end_time=end) + SAVED + more, gravity=0.0, **options)
    about = [str(w.message) for w in caught if "Save: " in str(w.message)]
    return about, [step.result for step in run.steps if step.result]


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_time_turns_and_stored_values(coordinates):
    time, turns, values = said(ROTOR + TORQUE + SENSOR, 0.5, coordinates=coordinates)[0]
    assert 'Force_Vector_OneBody 3 tz_expression depends on. Write start_time="0.5" at the first' in time
    name = "axle.q" if coordinates == "joint" else "rotor.q"  # it moves in a plane
    assert f"full turns are not in the file: {name} = 4.50466 rad" in turns
    assert "SENVAL(1) = -0.25 becomes 0" in values


def test_what_start_time_mends():
    """The clock goes on, and with it what depends on it."""
    onward = simulate("Transient", end_time=0.9, print_interval=0.4)
    again = '<Load_Model model_file="later.xml"/>'
    again += simulate("Transient", start_time=0.3, end_time=0.9, print_interval=0.4)
    driven = ROTOR + TORQUE.replace("SENVAL(1)+", "")
    (line,), (_, direct, loaded) = said(driven, 0.3, onward + again)
    assert 'start_time="0.3"' in line
    angles = loaded["plant.request_angle"], direct["plant.request_angle"]
    assert angles[0] == pytest.approx(angles[1], abs=1e-9)


def test_nothing_where_nothing_is_lost():
    assert said(ROTOR, 0.3)[0] == []


ENDING = '<Sensor_Event id="1" type="EXPRESSION" expr="{}" value="0.9" compare="{}" return="TRUE"/>'


@pytest.mark.parametrize(
    ("expr", "compare"), [("AZ(21,11)", "GE"), ("1.8-AZ(21,11)", "LE"), ("AZ(21,11)", "EQ")]
)
def test_a_sensor_that_ended_the_simulation_before(expr, compare):
    """It fires at 0.1 s; what is loaded stands on its value, and ends there at once where nothing is done."""
    sensor = ENDING.format(expr, compare)
    load = '<Load_Model model_file="later.xml"/>'
    lines, results = said(ROTOR + sensor, 0.5, load + 2 * simulate("Transient", duration=0.2))
    assert "Sensor_Event 1 has fired where the plant stands" in lines[-1] and len(lines) == 1
    assert [r.time[-1] - r.time[0] for r in results] == pytest.approx([0.1, 0.0, 0.2])
    assert said(ROTOR + sensor, 0.05)[0] == []
    lines, results = said(
        ROTOR + sensor, 0.5, off("SENSOR", 1) + SAVED + load + simulate("Transient", duration=0.2)
    )
    assert len(lines) == 1 and results[-1].time[-1] == pytest.approx(0.2)


SCREWED = (
    ROTOR.replace("REVOLUTE", "CYLINDRICAL")
    + '<Constraint_Joint id="2" type="SCREW" i_marker_id="21" j_marker_id="11" pitch="0.5"/>'
)
TWO_SLIDERS = (
    marker(11, 1) + body(2, 2.0, 0.5, 0.0, 0.0, 0.0) + marker(21, 2) + joint(1, "TRANSLATIONAL", 21, 11)
    + body(3, 1.0, 0.5, 0.0, 0.0, 0.0, v_ic_z=1.0) + marker(31, 3) + joint(2, "TRANSLATIONAL", 31, 11)
    + '<Constraint_Coupler id="2" joint1_id="1" freedom_1="T" joint2_id="2" freedom_2="T" '
    'coefficients="1, -2"/>'
)  # fmt: skip


@pytest.mark.parametrize(
    ("model", "kind", "word"),
    [
        (SCREWED, "Constraint_Joint", "JOINT"),
        (TWO_SLIDERS, "Constraint_Joint", "JOINT"),
        (TWO_SLIDERS, "Constraint_Coupler", "COUPLER"),
    ],
)
def test_from_where_a_constraint_counts_that_is_off(model, kind, word):
    """What is on counts from a pose that has its value."""
    assert said(model, 0.3)[0] == []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ran(model, off(word, 2) + SAVED + simulate("Transient", end_time=0.3) + SAVED, gravity=0.0)
    (line,) = [str(w.message) for w in caught if "Save: " in str(w.message)]
    assert f"{kind} 2 begins anew where the bodies stand" in line
