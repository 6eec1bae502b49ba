"""Conditions that repeat others at the start, and not at later instants or in poses further away."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from blocks.errors import ModelError
from cosim import Diagram, simulate
from plant import Plant, PlantWarning

G, V0 = 9.81, 4.0
EVERY_WAY = [(c, e) for c in ("joint", "absolute") for e in ("reference", "native")]
NOT_REPEATED = "ignore:equations jump"


def plant(
    *constraints: str, fx: str = "0", fy: str = "0", vx: float | None = 0.0, coordinates: str = "joint"
):
    """A point of mass 2 under constraints and a force; it shows DX, DY, DZ, VX."""
    general = "".join(f'<Constraint_General id="{k}" expr="{c}"/>' for k, c in enumerate(constraints, 1))
    start = "" if vx is None else f'v_ic_x="{vx}"'
    deck = f"""<M><Model><Force_Gravity grav_y="-{G}"/><Body_Rigid id="1" isground="TRUE"/>
    <Reference_Marker id="10" body_id="1"/>
    <Body_Rigid id="2" cg_id="20" mass="2" inertia_xx="1" inertia_yy="1" inertia_zz="1" {start}/>
    <Reference_Marker id="20" body_id="2"/>{general}
    <Force_Vector_OneBody id="1" type="FORCEONLY" marker_id="20" ref_marker_id="10"
        fx_expression="{fx}" fy_expression="{fy}"/>
    <Reference_Variable id="1" expr="DX(20)"/><Reference_Variable id="2" expr="DY(20)"/>
    <Reference_Variable id="3" expr="DZ(20)"/><Reference_Variable id="4" expr="VX(20)"/>
    <Control_PlantOutput id="1" label="y" variable_id_list="1 2 3 4"/></Model></M>"""
    return Plant.read(deck.encode(), coordinates=coordinates)


def run(given: Plant, times, engine: str = "reference"):
    d = Diagram("late")
    d.add("plant", given)
    return simulate(d, times[-1], log_at=times, engine=engine, rtol=1e-9, atol=1e-11)["plant.y"].T


def alone(*constraints: str, **options) -> Plant:
    """The plant, about which nothing is to be said but that STEP jumps."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", PlantWarning)
        return plant(*constraints, **options)


@pytest.mark.slow
@pytest.mark.parametrize(("coordinates", "engine"), EVERY_WAY)
@pytest.mark.parametrize("turned", [False, True], ids=["last", "first"])
def test_a_slope_that_is_0_at_time_0_guides_the_mass_from_then_on(turned, coordinates, engine):
    """z = 0 and z = t (x - sin t): x = sin t whatever pushes, y falls."""
    both = ("DZ(20)", "DZ(20) - TIME*(DX(20) - SIN(TIME))")
    given = alone(*(both[::-1] if turned else both), fx="3", vx=1.0, coordinates=coordinates)
    assert given.info()["dof"] == 4
    t = np.array([0.0, 0.3, 1.0])
    x, y, z, vx = run(given, t, engine)
    assert x == pytest.approx(np.sin(t), abs=1e-8) and vx == pytest.approx(np.cos(t), abs=1e-7)
    assert y == pytest.approx(-G / 2 * t**2, abs=1e-8) and z == pytest.approx(0 * t, abs=1e-9)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_mass_at_rest_stays_where_it_is_held_from_the_first_instant_on(coordinates):
    t = np.array([0.0, 0.5, 1.0])
    x, y, *_ = run(alone("DZ(20)", "DZ(20) - TIME*DX(20)", fx="3", coordinates=coordinates), t)
    assert x == pytest.approx(0 * t, abs=1e-8) and y == pytest.approx(-G / 2 * t**2, abs=1e-8)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_rate_that_is_not_given_is_the_one_with_which_the_motion_goes_on(coordinates):
    given = alone("DZ(20)", "DZ(20) - TIME*(DX(20) - SIN(TIME))", vx=None, coordinates=coordinates)
    _, y, _, vx = run(given, np.array([0.0, 0.7]))
    assert vx == pytest.approx(np.cos([0.0, 0.7]), abs=1e-7)
    assert y == pytest.approx([0.0, -G / 2 * 0.49], abs=1e-8)  # no rate across it


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_rates_and_places_that_the_next_instant_forbids_are_refused(coordinates):
    with pytest.raises(ModelError, match=r"Constraint_General 2: no motion goes on.*at the start only"):
        plant("DZ(20)", "DZ(20) - TIME*DX(20)", vx=V0, coordinates=coordinates)
    with pytest.raises(ModelError, match="contradicts the other constraints"):
        plant("DZ(20)", "DZ(20) - TIME*(DX(20) - 1)", coordinates=coordinates)


@pytest.mark.slow
@pytest.mark.filterwarnings(NOT_REPEATED)
@pytest.mark.parametrize("begin", [1, 20])
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_step_of_time_that_begins_later(coordinates, begin):
    """x = v t by itself until the step begins, and against a force from then on."""
    t = np.array([0.0, 0.5, begin + 0.5, begin + 2.0])
    step, force = f"STEP(TIME,{begin},0,{begin + 1},1)", f"STEP(TIME,{begin}.2,0,{begin + 1},5)"
    guided = f"DZ(20) - {step}*(DX(20) - {V0}*TIME)"
    x, *_ = run(alone("DZ(20)", guided, fx=force, vx=V0, coordinates=coordinates), t)
    assert x == pytest.approx(V0 * t, abs=1e-7)


@pytest.mark.slow
@pytest.mark.filterwarnings(NOT_REPEATED)
@pytest.mark.parametrize("far", [1, 100])
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_step_of_place_that_begins_further_on(coordinates, far):
    """y = 0 by itself until there, and against a force from then on."""
    force = f"2*{G} + STEP(DX(20),{1.2 * far},0,{2 * far},5)"
    guided = f"DZ(20) - STEP(DX(20),{far},0,{2 * far},1)*DY(20)"
    given = alone("DZ(20)", guided, fy=force, vx=V0 * far, coordinates=coordinates)
    x, y, *_ = run(given, np.array([0.0, 0.2, 0.5, 1.0]))
    assert x[-1] == pytest.approx(V0 * far, rel=1e-8) and y == pytest.approx(np.zeros(4), abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(("coordinates", "engine"), EVERY_WAY)
def test_what_repeats_another_always_is_still_a_repetition(coordinates, engine):
    """A bead on a turning rod, written twice: r'' = w^2 r; the message says how far that was looked at."""
    w, t = 1.3, np.array([0.0, 0.5, 1.0])
    once = f"DY(20) - TAN({w}*TIME)*DX(20)"
    again = f"COS({w}*TIME)*DY(20) - SIN({w}*TIME)*DX(20)"
    with pytest.warns(PlantWarning, match="id=2: 1 of its 1 .*repeat.*motion unaffected.*instants and poses"):
        given = plant(once, again, fy=f"2*{G}", vx=V0, coordinates=coordinates)
    assert given.info()["dof"] == 5
    x, y, *_ = run(given, t, engine)
    r = V0 * np.sinh(w * t) / w
    assert x == pytest.approx(r * np.cos(w * t), abs=1e-7)
    assert y == pytest.approx(r * np.sin(w * t), abs=1e-7)


@pytest.mark.filterwarnings("ignore::plant.PlantWarning")
def test_the_note_about_jumps_says_step5_where_a_step_is_followed():
    ramp = plant("DY(20) - STEP(DX(20),1,0,2,0.5)").jump_cure
    assert "Constraint_General id=1: follows a STEP" in ramp and "write STEP5 there. In other " in ramp
    assert "STEP5" not in plant("DY(20) - STEP5(DX(20),1,0,2,0.5)").jump_cure


def test_the_refusal_of_integrals_says_what_a_constraint_may_depend_on():
    with pytest.raises(ModelError, match="may depend on displacements, velocities and TIME only"):
        Plant.read(
            b"""<M><Model><Body_Rigid id="1" isground="TRUE"/><Body_Rigid id="2" cg_id="20" mass="2"
            inertia_xx="1" inertia_yy="1" inertia_zz="1"/><Reference_Marker id="20" body_id="2"/>
            <Reference_Variable id="5" dot_form="TRUE" expr="DX(20)"/>
            <Constraint_General id="1" expr="DX(20) - VARVAL(5)"/></Model></M>"""
        )


SWINGING = """<M><Model><Body_Rigid id="1" isground="TRUE"/>
    <Reference_Marker id="10" body_id="1"/><Reference_Marker id="11" body_id="1" pos_x="2"/>
    <Body_Rigid id="2" cg_id="20" mass="1" inertia_xx="1" inertia_yy="1" inertia_zz="1"/>
    <Reference_Marker id="20" body_id="2"/><Reference_Marker id="21" body_id="2" pos_y="1"/>
    <Body_Rigid id="4" cg_id="40" mass="1" inertia_xx="1" inertia_yy="1" inertia_zz="1"/>
    <Reference_Marker id="40" body_id="4" pos_x="2"/>
    <Reference_Marker id="41" body_id="4" pos_x="2" pos_y="1"/>
    <Body_Rigid id="3" cg_id="30" mass="1" inertia_xx="1" inertia_yy="1" inertia_zz="1"/>
    <Reference_Marker id="30" body_id="3" pos_x="1" pos_y="1"/>
    <Reference_Marker id="31" body_id="3" pos_y="1"/>
    <Reference_Marker id="32" body_id="3" pos_x="2" pos_y="1"/>
    <Constraint_Joint id="1" type="REVOLUTE" i_marker_id="20" j_marker_id="10"/>
    <Constraint_Joint id="2" type="REVOLUTE" i_marker_id="31" j_marker_id="21"/>
    <Constraint_Joint id="3" type="REVOLUTE" i_marker_id="40" j_marker_id="11"/>
    <Constraint_Joint id="4" type="REVOLUTE" i_marker_id="32" j_marker_id="41"/>
    <Motion_Joint id="1" joint_id="1" joint_type="R" val_type="D" expr="0.6*SIN(TIME)"/>
    <Motion_Joint id="2" joint_id="3" joint_type="R" val_type="D" expr="0.6*SIN(TIME)"/>{}
    <Reference_Variable id="1" expr="DX(31)"/><Reference_Variable id="2" expr="DY(31)"/>
    <Reference_Variable id="3" expr="DX(50)"/><Reference_Variable id="4" expr="DZ(50)"/>
    <Body_Rigid id="5" cg_id="50" mass="2" inertia_xx="1" inertia_yy="1" inertia_zz="1"/>
    <Reference_Marker id="50" body_id="5"/>
    <Force_Vector_OneBody id="1" type="FORCEONLY" marker_id="50" ref_marker_id="10" fx_expression="3"/>
    <Control_PlantOutput id="1" label="y" variable_id_list="1 2 3 4"/></Model></M>"""
GUIDED = """<Constraint_General id="1" expr="DZ(50)"/>
    <Constraint_General id="2" expr="DZ(50) - TIME*(DX(50) - DX(31))"/>"""


@pytest.mark.slow
@pytest.mark.filterwarnings(NOT_REPEATED)
@pytest.mark.parametrize("guided", ["", GUIDED], ids=["motors", "and a guide"])
@pytest.mark.parametrize(("coordinates", "engine"), EVERY_WAY)
def test_beside_a_loop_with_joints_and_motors_to_spare(guided, coordinates, engine):
    """A parallelogram turned at both cranks alike stays overconstrained; a mass is held above its coupler."""
    with pytest.warns(PlantWarning, match="repeat.*motion unaffected") as told:
        given = Plant.read(SWINGING.format(guided).encode(), coordinates=coordinates)
    texts = [str(w.message) for w in told]
    assert any(
        " of its 1 conditions (driven coordinate)" in text and "not followed" in text for text in texts
    )
    assert not any("Constraint_General" in text or "singular" in text for text in texts)
    t = np.array([0.0, 0.4, 1.0])
    x, y, x5, z5 = run(given, t, engine)
    angle = 0.6 * np.sin(t)
    assert x == pytest.approx(-np.sin(angle), abs=1e-7) and y == pytest.approx(np.cos(angle), abs=1e-7)
    assert x5 == pytest.approx(x if guided else 0.75 * t**2, abs=1e-7) and z5 == pytest.approx(
        0 * t, abs=1e-9
    )
