"""What a command that changes an element leaves of it, and what it takes away."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from blocks.errors import PlantloopError
from tests.helpers.decks import TIGHT, body, joint, marker, mass, ran, simulate, slider

G = 9.81
pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")
HALF, ONE = simulate("Transient", end_time=0.5), simulate("Transient", end_time=1)
FALLING = (
    marker(11, 1) + body(2, 2.0, 0.1, 0.0, 0.0, 0.0, "mass") + joint(1, "TRANSLATIONAL", 20, 11, "guide")
    + '<Post_Request id="1" label="mass" type="EXPRESSION" expr1="DZ(20)" expr2="VZ(20)" expr3="ACCZ(20)"/>'
)  # fmt: skip


@pytest.mark.parametrize("nothing", ["NULL", "", " null "])
def test_null_takes_an_expression_away(nothing):
    """The force that carries the mass: what is left is free fall for half a second."""
    force = '<Force_Vector_OneBody id="1" type="FORCEONLY" marker_id="20" fz_expression="19.62"/>'
    change = f'<Force_Vector_OneBody id="1" fz_expression="{nothing}"/>'
    z, v, a = mass(ran(FALLING + force, HALF + change + ONE))
    assert [z[-1], v[-1], a[-1]] == pytest.approx([-G / 8, -G / 2, -G], abs=1e-9)


def test_an_expression_that_is_needed_cannot_be_taken_away():
    variable = '<Reference_Variable id="5" type="EXPRESSION" expr="TIME"/>'
    with pytest.raises(PlantloopError, match="Reference_Variable id=5.*expr is missing"):
        ran(FALLING + variable, HALF + '<Reference_Variable id="5" expr="NULL"/>' + ONE)


def test_what_is_not_named_of_a_field_stays():
    """2 z'' = 4 - 19.62 - 3 z' without the spring: z' tends to (4 - 19.62) / 3."""
    field = (
        '<Force_Field id="1" type="LINEAR" i_marker_id="20" j_marker_id="11" k_matrix="0 0 50 0 0 0" '
        'c_matrix="0 0 3 0 0 0" preload="0 0 4 0 0 0"/>'
    )
    run = ran(FALLING + field, TIGHT + HALF + '<Force_Field id="1" K_matrix="0 0 0 0 0 0"/>' + ONE)
    t, (_, v, a) = run.result.time, mass(run)
    at = int(np.argmin(np.abs(t - 0.5)))
    last = (4 - 2 * G) / 3
    assert v[-1] == pytest.approx(last + (v[at] - last) * np.exp(-1.5 * 0.5), abs=1e-8)
    assert a[-1] == pytest.approx((4 - 2 * G - 3 * v[-1]) / 2, abs=1e-8)


def test_a_setting_can_be_taken_back():
    """2 s^2 + 3 s + 50, then without damping, then with it again."""
    linear = simulate("Linear")
    switch = [f'<Param_Linear disable_damping="{value}"/>' for value in ("TRUE", "FALSE")]
    run = ran(slider(damping=3.0), linear + switch[0] + linear + switch[1] + linear)
    found = [step.linear.modes.modes[0].eigenvalue for step in run.steps if step.linear is not None]
    damped = complex(-0.75, np.sqrt(25 - 0.75**2))
    conjugate = [complex(s.real, abs(s.imag)) for s in found]
    assert conjugate == pytest.approx([damped, 5j, damped], abs=1e-9)


def test_the_text_of_an_array_holds_what_its_type_says():
    """y' = u - y with u = 1 for half a second, then 2."""
    lag = (
        '<Reference_Variable id="1" expr="1"/><Reference_Variable id="2" expr="2"/>'
        '<Reference_Array id="1" type="U">1</Reference_Array>'
        '<Reference_Array id="2" type="X" num_element="1"/><Reference_Array id="3" type="Y" num_element="1"/>'
        '<Control_SISO id="1" x_array_id="2" y_array_id="3" u_array_id="1" numerator_coef="1" '
        'denominator_coef="1 1"/><Post_Request id="2" label="y" type="EXPRESSION" expr1="ARYVAL(3,1)"/>'
    )
    run = ran(FALLING + lag, TIGHT + HALF + '<Reference_Array id="1">2</Reference_Array>' + ONE)
    e = np.exp(-0.5)
    assert run.result["plant.request_y"][-1] == pytest.approx([(1 - e) * e + 2 * (1 - e)], abs=1e-8)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('<Reference_Variable id="1" penalty="3"/>', "Reference_Variable id=1: penalty changes nothing"),
        ('<Reference_Marker id="20" is_active="FALSE"/>', "id=20: is_active changes nothing"),
        ('<Reference_Variable id="1" expr="2"/>', ""),
    ],
)
def test_what_changes_nothing_is_said(change, said):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ran(FALLING + '<Reference_Variable id="1" expr="1"/>', HALF + change + ONE)
    idle = [str(w.message) for w in caught if "changes nothing" in str(w.message)]
    assert [said in text for text in idle] == [True] * bool(said)
