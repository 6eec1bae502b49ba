"""Where a deck stands: its design until the first analysis, and what motions start from once only.

A mass of 3 kg on a rail along X, at x = 0.2 with 0.7 m/s; closed forms.
"""

from __future__ import annotations

import pytest

from cosim.deck import run_deck
from plant import PlantWarning
from tests.helpers.decks import ALONG_X, body, deck, joint, marker, simulate

X0, V0 = 0.2, 0.7
ONE = simulate("Transient", end_time=0.5, print_interval=0.25)
TWO = simulate("Transient", end_time=1.0, print_interval=0.25)


def switch(command: str, kind: str, id: int = 1) -> str:
    return f'<{command} element_type="{kind}" element_id="{id}"/>'


def motion(expr: str, val_type: str, id: int = 1, **more: float) -> str:
    given = " ".join(f'{name}="{value}"' for name, value in more.items())
    return (
        f'<Motion_Joint id="{id}" joint_id="1" joint_type="T" expr="{expr}" val_type="{val_type}" {given}/>'
    )


def ran(elements: str, commands: str, coordinates: str, speed: float = V0):
    """Times, x, x'; a force without effect that may be switched off."""
    model = (
        marker(11, 1, axes=ALONG_X) + body(2, 3.0, 1.0, X0, 0.0, 0.0, "bead", v_ic_x=speed)
        + marker(21, 2, X0, axes=ALONG_X) + joint(1, "TRANSLATIONAL", 21, 11, "rail")
        + '<Force_Vector_OneBody id="1" type="FORCEONLY" marker_id="20" ref_marker_id="0" fx_expression="0"/>'
        + '<Post_Request id="1" label="bead" type="EXPRESSION" expr1="DX(20)" expr2="VX(20)"/>' + elements
    )  # fmt: skip
    found = run_deck(
        deck(model, commands, gravity=0.0), coordinates=coordinates, engine="reference", rtol=1e-10
    ).result
    return found.time, *found["plant.request_bead"].T[:2]


pytestmark = pytest.mark.parametrize("coordinates", ["joint", "absolute"])


def test_what_is_switched_off_before_the_first_simulation_has_left_no_speed(coordinates):
    """It moved on at the 2 m/s of the motion that is off."""
    commands = switch("Deactivate", "Motion_Joint") + ONE + switch("Activate", "Motion_Joint") + TWO
    t, x, v = ran(motion("2", "V"), commands, coordinates)
    assert x[t < 0.5] == pytest.approx(X0 + V0 * t[t < 0.5], abs=1e-9)
    assert x[-1] == pytest.approx(X0 + V0 * 0.5 + 2 * 0.5, abs=1e-9) and v[-1] == pytest.approx(2)


def test_elements_that_exclude_each_other_may_stand_in_a_deck_that_switches_one_off(coordinates):
    """The deck was refused: no start obeys both."""
    two = motion("2", "V") + motion("0.2+TIME", "D", id=2)
    t, x, _ = ran(two, switch("Deactivate", "Motion_Joint") + ONE, coordinates, speed=1.0)
    assert x == pytest.approx(X0 + t, abs=1e-9)


def test_a_start_that_is_changed_before_the_first_simulation_counts(coordinates):
    """The new velocity changed nothing."""
    t, x, _ = ran("", '<Body_Rigid id="2" v_ic_x="2"/>' + ONE, coordinates)
    assert x == pytest.approx(X0 + 2 * t, abs=1e-9)


def test_a_start_that_is_changed_later_is_told(coordinates):
    with pytest.warns(
        PlantWarning, match="Body_Rigid id=2.*v_ic_x changes nothing.*before the first Simulate"
    ):
        t, x, _ = ran("", ONE + '<Body_Rigid id="2" v_ic_x="2"/>' + TWO, coordinates)
    assert x == pytest.approx(X0 + V0 * t, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("driven", "speed", "expected"),
    [
        (motion("2+TIME", "V", ic_disp=0.3), 2.0, lambda t: 0.3 + 2 * t + t**2 / 2),
        (motion("3", "A", ic_disp=0.3, ic_vel=1.0), 1.0, lambda t: 0.3 + t + 1.5 * t**2),
    ],
)
@pytest.mark.parametrize(
    "between", [switch("Deactivate", "Force_Vector_OneBody"), '<Simulate analysis_type="Assembly"/>']
)
@pytest.mark.filterwarnings("ignore:assembly moved the start")
def test_what_a_motion_starts_from_is_over_when_something_else_is_switched(
    driven, speed, expected, between, coordinates
):
    """The mass went back to 0.3 m, and to 1 m/s."""
    t, x, _ = ran(driven, ONE + between + TWO, coordinates, speed)
    assert x == pytest.approx(expected(t), abs=1e-8)


@pytest.mark.filterwarnings("ignore:assembly moved the start")
def test_a_saved_motion_goes_on_from_where_it_stands(coordinates):
    """It went back to 0.3 m."""
    saved = '<Save model_file="now.xml"/><Load_Model model_file="now.xml"/>'
    _, x, _ = ran(motion("2", "V", ic_disp=0.3), ONE + saved + ONE, coordinates, 2.0)
    assert x[-1] == pytest.approx(0.3 + 2 * 1.0, abs=1e-9)


ARM_AND_ROD = (  # the arm turns as TIME says and is drawn as it is at 0.5 s; the rod swings at its end
    marker(11, 1) + body(2, 1.0, 0.1, 0.5, 0.0, 0.0, "arm", v_ic_y=1.0, w_ic_z=2.0) + marker(21, 2)
    + joint(1, "REVOLUTE", 21, 11) + '<Motion_Joint id="1" joint_id="1" val_type="D" expr="2*TIME-1"/>'
    + marker(22, 2, 1.0) + body(3, 1.0, 0.1, 1.0, 0.6, 0.0, "rod", v_ic_x=-1.8, v_ic_y=2.0, w_ic_z=3.0)
    + marker(31, 3, 1.0) + joint(2, "REVOLUTE", 31, 22)
    + '<Post_Request id="1" label="rod" type="EXPRESSION" expr1="DX(30)" expr2="DY(30)" expr3="WZ(30)"/>'
)  # fmt: skip


def rod(run, row: int):
    """Place of the rod's centre and its angular velocity at the start or end of the last simulation."""
    return run.steps[-1].result["plant.request_rod"][row]


def test_a_design_is_that_of_its_first_start_time(coordinates, recwarn):
    """It was closed at TIME 0, with the arm back by 1 rad, and again at 0.5 s: the rod stood elsewhere."""
    first = simulate("Transient", start_time=0.5, end_time=0.6, num_steps=1)
    run = run_deck(deck(ARM_AND_ROD, first, gravity=0.0), coordinates=coordinates, engine="reference")
    assert rod(run, 0) == pytest.approx([1.0, 0.6, 3.0], abs=1e-9)
    assert not [told for told in recwarn.list if "moved the start" in str(told.message)]


def test_a_saved_motion_of_time_goes_on_where_its_start_time_says(coordinates):
    """The loaded model was closed at TIME 0 first, where the arm is 0.5 rad elsewhere."""
    model = ARM_AND_ROD.replace("2*TIME-1", "2*TIME")
    saved = '<Save model_file="now.xml"/><Load_Model model_file="now.xml"/>'
    cut = simulate("Transient", end_time=0.25) + saved + simulate("Transient", start_time=0.25, end_time=0.5)
    once, twice = (
        run_deck(deck(model, c, gravity=0.0), coordinates=coordinates, engine="reference", rtol=1e-10)
        for c in (simulate("Transient", end_time=0.5), cut)
    )
    assert twice.time == once.time == 0.5
    assert rod(twice, -1) == pytest.approx(rod(once, -1), abs=1e-8)
