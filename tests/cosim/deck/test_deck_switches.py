"""Elements of a deck that are switched off and on between simulations, against closed forms."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tests.helpers.decks import (
    ALONG_X,
    OMEGA,
    TIGHT,
    body,
    joint,
    marker,
    mass,
    off,
    pendulum,
    ran,
    simulate,
    slider,
)

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")


def on(kind, id):
    return f'<Activate element_type="{kind}" element_id="{id}"/>'


def test_without_its_spring_the_mass_falls(how):
    commands = TIGHT + simulate("Transient", end_time=0.2) + off("SPDP", 1)
    run = ran(slider(), commands + simulate("Transient", end_time=0.5), **how)
    z, v, force = mass(run)
    t = run.result.time
    at = int(np.flatnonzero(t == 0.2)[0])
    s = t[at:] - 0.2
    assert z[at:] == pytest.approx(z[at] + v[at] * s - 9.81 / 2 * s**2, abs=1e-8)
    assert np.all(force[at:] == 0.0)  # what is off exerts nothing


def test_a_spring_switched_on_again_pulls(coordinates):
    commands = TIGHT + off("FORCE", 1) + simulate("Transient", end_time=0.2) + on("Force_SpringDamper", 1)
    run = ran(slider(), commands + simulate("Transient", end_time=0.6), coordinates=coordinates)
    t = run.result.time
    late = t >= 0.2
    rest, s = -1.0 - 2 * 9.81 / 50, t[late] - 0.2
    z0, v0 = -1 - 9.81 / 2 * 0.04, -9.81 * 0.2
    expected = rest + (z0 - rest) * np.cos(OMEGA * s) + v0 / OMEGA * np.sin(OMEGA * s)
    assert mass(run)[0][late] == pytest.approx(expected, abs=1e-8)


def test_without_its_hinge_a_rod_flies(how):
    """The centre of mass on a parabola, the spin constant."""
    commands = TIGHT + simulate("Transient", end_time=0.3) + off("JOINT", 1)
    run = ran(pendulum(1.2), commands + simulate("Transient", end_time=0.8), **how)
    x, z, w = run.result["plant.request_rod"].T
    t = run.result.time
    at = int(np.flatnonzero(t == 0.3)[0])
    s = t[at:] - 0.3
    vx, vz = -z[at] * -w[at], x[at] * -w[at]  # w is about +Y
    assert x[at:] == pytest.approx(x[at] + vx * s, abs=1e-8)
    assert z[at:] == pytest.approx(z[at] + vz * s - 9.81 / 2 * s**2, abs=1e-8)
    assert w[at:] == pytest.approx(np.full(len(s), w[at]), abs=1e-8)


def test_a_lock_takes_the_motion_out(how):
    """A FIXED joint that is switched on while the rod swings by; here it swings on at once."""
    lock = (
        marker(12, 1, axes=ALONG_X)
        + '<Motion_Joint id="1" joint_id="1" joint_type="R" val_type="V" expr="0" is_active="FALSE"/>'
    )
    commands = TIGHT + simulate("Transient", end_time=0.3) + on("MOTION", 1)
    commands += simulate("Transient", end_time=0.5) + off("MOTION", 1) + simulate("Transient", end_time=0.8)
    run = ran(pendulum(1.2) + lock, commands, **how)
    x, z, w = run.result["plant.request_rod"].T
    t = run.result.time
    held = (t >= 0.3) & (t < 0.5)
    assert w[held] == pytest.approx(np.zeros(held.sum()), abs=1e-10)
    assert np.ptp(x[held]) < 1e-10 and np.ptp(z[held]) < 1e-10
    energy = 9.81 * 2 * z + 0.5 * (0.1 + 2 * 0.25) * w**2  # anew from rest
    after = t >= 0.5
    assert np.ptp(energy[after]) < 1e-7 and abs(w[-1]) > 0.5


def two_sliders():
    """Masses 3 and 1 on one line along X, the first moving at 2; a lock between them that is off."""
    model = marker(11, 1, axes=ALONG_X) + marker(12, 1, x=1.0, axes=ALONG_X)
    model += body(2, 3.0, 0.1, 0.0, 0.0, 0.0, "first", v_ic_x=2.0) + marker(21, 2, axes=ALONG_X)
    model += body(3, 1.0, 0.1, 1.0, 0.0, 0.0, "second") + marker(31, 3, x=1.0, axes=ALONG_X)
    model += joint(1, "TRANSLATIONAL", 21, 11) + joint(2, "TRANSLATIONAL", 31, 12)
    model += marker(22, 2, x=0.5) + marker(32, 3, x=1.0)
    model += joint(3, "FIXED", 32, 22, "latch").replace("/>", ' is_active="FALSE"/>')
    return (
        model + '<Post_Request id="1" label="both" type="EXPRESSION" expr1="DX(20)" expr2="DX(30)" '
        'expr3="VX(20)" expr4="VX(30)"/>'
    )


def test_bodies_that_latch_share_their_momentum(how):
    """Plastic impact: 3 * 2 = (3 + 1) v."""
    commands = simulate("Transient", end_time=0.25) + on("JOINT", 3) + simulate("Transient", end_time=1)
    run = ran(two_sliders(), commands, gravity=0.0, **how)
    first, second, v1, v2 = run.result["plant.request_both"].T
    t = run.result.time
    assert v1[t >= 0.25] == pytest.approx(np.full((t >= 0.25).sum(), 1.5), abs=1e-10)
    assert v2[-1] == pytest.approx(1.5, abs=1e-10)
    assert first[-1] == pytest.approx(0.5 + 1.5 * 0.75, abs=1e-9)
    assert second[-1] - first[-1] == pytest.approx(0.5, abs=1e-9)
    assert run.steps[1].moved == {}


@pytest.mark.parametrize(("at", "open_"), [(0.35, True), (0.25, False)])
def test_a_latch_that_closes_far_in_a_run_is_warned_of(at, open_):
    """After 0.35 s they are 0.2 apart; where they meet nothing is said."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ran(two_sliders(), simulate("Transient", end_time=at) + on("JOINT", 3), gravity=0.0)
    said = [str(w.message) for w in caught if "constraints were open" in str(w.message)]
    assert ["at t=0.35 s" in text and "Bring the markers" in text for text in said] == [True] * open_


def test_a_latch_that_is_apart_is_closed_and_told(coordinates):
    """The 0.5 between them is closed in the ratio of the masses, or by the child alone in the tree."""
    commands = on("JOINT", 3) + simulate("Assembly")
    run = ran(two_sliders(), commands, gravity=0.0, coordinates=coordinates)
    moved = run.steps[0].moved
    assert sum(moved.values()) == pytest.approx(0.5, abs=1e-6)
    assert "constraints moved" in run.steps[0].text
    assert run.steps[1].text == "assembled at t=0 s, 1 degrees of freedom; 1 constraints repeat others"


def test_turns_are_counted_over_a_switch(engine):
    """A wheel driven two turns; AZ goes on after a force elsewhere was switched."""
    wheel = (
        marker(11, 1) + body(2, 1.0, 0.1, 0.0, 0.0, 0.0, "wheel", w_ic_z=10.0) + joint(1, "REVOLUTE", 20, 11)
    )
    wheel += '<Force_Vector_OneBody id="1" type="TORQUEONLY" marker_id="20" tz_expression="0"/>'
    wheel += '<Post_Request id="1" label="angle" type="EXPRESSION" expr1="AZ(20,11)" expr2="AZ(20)"/>'
    commands = simulate("Transient", end_time=1.3) + off("VTORQUE", 1) + simulate("Transient", end_time=2)
    run = ran(wheel, commands, engine=engine)
    t = run.result.time
    assert run.result["plant.request_angle[0]"] == pytest.approx(10 * t, abs=1e-8)
    assert run.result["plant.request_angle[1]"] == pytest.approx(10 * t, abs=1e-8)


@pytest.mark.parametrize("ends", [(20, 11), (11, 20)])
def test_turns_go_on_where_a_hinge_is_switched_off_and_on(coordinates, ends):
    """Free of its hinge, the wheel unwound by two turns at once: its spring at 9.3 rad pulled as at -3.2 rad.

    x'' = -x from 10 rad/s; with and without the hinge the spring turns the wheel about its centre.
    """
    i, j = ends
    wheel = (
        marker(11, 1) + body(2, 1.0, 1.0, 0.0, 0.0, 0.0, "wheel", w_ic_z=10.0) + joint(1, "REVOLUTE", i, j)
        + f'<Force_SpringDamper id="1" type="ROTATIONAL" i_marker_id="{i}" j_marker_id="{j}" stiffness="1"/>'
        + '<Post_Request id="1" label="turned" type="EXPRESSION" expr1="AZ(20,11)" expr2="SPDP(1,0,8)"/>'
    )  # fmt: skip
    hinge = '<Activate element_type="JOINT" element_id="1"/>'
    simulated = [simulate("Transient", end_time=t, num_steps=1) for t in (1.2, 1.7, 2.4)]
    commands = TIGHT + simulated[0] + off("JOINT", 1) + simulated[1] + hinge + simulated[2]
    found = ran(wheel, commands, gravity=0.0, coordinates=coordinates).result
    turned, torque = found["plant.request_turned"].T[:2]
    known = 10 * np.sin(found.time)
    assert turned == pytest.approx(known, abs=1e-7)
    assert torque == pytest.approx(-known if i == 20 else known, abs=1e-7)


def test_a_motion_with_a_corner_goes_on_where_it_is(coordinates):
    """Switching off a force closes the constraints anew: after the corner at 0.1 s, not as before it."""
    model = pendulum(0.0) + (
        '<Motion_Joint id="1" joint_id="1" joint_type="R" expr="IF(TIME-0.1: 0, 0, 0.3*(TIME-0.1))"/>'
        '<Force_Vector_OneBody id="1" type="FORCEONLY" marker_id="20" ref_marker_id="0" fx_expression="3"/>'
    )
    commands = TIGHT + simulate("Transient", end_time=0.2) + off("Force_Vector_OneBody", 1)
    run = ran(model, commands + simulate("Transient", end_time=0.5), coordinates=coordinates)
    t = run.result.time
    x, _, w = run.result["plant.request_rod"].T
    late = t > 0.2
    assert np.abs(x[t == 0.2]) == pytest.approx(0.5 * np.sin(0.03), abs=1e-9)
    assert np.abs(x[late]) == pytest.approx(0.5 * np.sin(0.3 * (t[late] - 0.1)), abs=1e-9)
    assert np.abs(w[late]) == pytest.approx(0.3, abs=1e-9)
