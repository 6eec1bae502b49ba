"""Assembly at the start: positions and velocities closed, what was moved told."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

from cosim import Diagram, simulate
from plant import Plant, PlantWarning
from plant.assembly.assemble import _mention_moves
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantOutput,
    Model,
    Motion_Joint,
    Reference_Marker,
    Reference_Variable,
)
from tests.helpers.loops import at, bar, n_four_bar
from tests.helpers.plants import Alone, deck


def triangle_gap(gap, *elements):
    """A four-bar whose rocker is drawn `gap` away from the coupler's end."""
    bars = [
        Body_Rigid(id=1, isground=True),
        Body_Rigid(**bar(2, 1.0, 1.0)),
        at(20, 2, 0.0, 0.5, np.pi / 2),
        at(21, 2, 0.0, 0.0),
        at(22, 2, 0.0, 1.0),
        Body_Rigid(**bar(3, 1.0, 2.0)),
        at(30, 3, 1.0, 1.0),
        at(31, 3, 0.0, 1.0),
        at(32, 3, 2.0, 1.0),
        Body_Rigid(**bar(4, 1.0, 1.2)),
        at(40, 4, 2.0, 0.5 + gap, np.pi / 2),
        at(41, 4, 2.0, 0.0),
        at(42, 4, 2.0, 1.0 + gap),
        at(11, 1, 0.0, 0.0),
        at(12, 1, 2.0, 0.0),
    ]
    joints = [
        Constraint_Joint(id=k, label=f"j{k}", type="REVOLUTE", i_marker_id=i, j_marker_id=j)
        for k, (i, j) in enumerate(((21, 11), (31, 22), (32, 42), (41, 12)), start=1)
    ]
    found = [Reference_Variable(id=1, expr="DM(32,42)"), Reference_Variable(id=2, expr="VM(32,42)")]
    port = Control_PlantOutput(id=1, label="gap", variable_id_list=(1, 2))
    return Model.build([*bars, *joints, *elements, *found, port])


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_open_loop_is_closed_and_told(coordinates):
    with pytest.warns(PlantWarning, match="assembly moved the start to close all constraints.* by "):
        plant = Plant.from_model(triangle_gap(0.05), coordinates=coordinates)
    assert max(map(abs, plant.assembly.moved.values())) > 1e-3
    assert any("assembly moved" in text for text in plant.warnings)
    assert plant.info()["assembly"] == plant.assembly.moved
    assert Alone(plant).output("gap") == pytest.approx([0.0, 0.0], abs=1e-12)


def test_a_body_that_is_moved_to_zero_is_told_with_the_way():
    """Its centre is drawn 0.2 from where a weld holds it, at the origin."""
    model = [
        Body_Rigid(id=1, isground=True),
        Reference_Marker(id=10, body_id=1),
        Body_Rigid(id=2, label="block", cg_id=20, mass=2, inertia_xx=1, inertia_yy=1, inertia_zz=1),
        Reference_Marker(id=20, body_id=2, pos_x=0.2),
        Constraint_Joint(id=1, type="FIXED", i_marker_id=20, j_marker_id=10),
    ]
    with pytest.warns(PlantWarning, match=r"assembly moved the start to close all constraints: .* by -0\.2"):
        Plant.from_model(Model.build(model), coordinates="absolute")


def test_closed_loop_is_left_alone():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plant = Plant.from_model(triangle_gap(0.0))
    assert not any("assembly" in str(w.message) for w in caught)
    assert max(map(abs, plant.assembly.moved.values()), default=0.0) < 1e-12


@pytest.mark.filterwarnings("ignore::plant.PlantWarning")
def test_velocities_follow_a_motion():
    drive = Motion_Joint(id=1, joint_id=1, joint_type="R", expr="0.1*TIME - 0.02")
    plant = Plant.from_model(triangle_gap(0.05, drive))
    assert plant.start[0] == pytest.approx([-0.02]) and plant.rates[0] == pytest.approx([0.1])
    assert Alone(plant).output("gap") == pytest.approx([0.0, 0.0], abs=1e-12)


@pytest.mark.filterwarnings("ignore::plant.PlantWarning")
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_velocity_of_one_body_moves_the_others(coordinates):
    plant = Plant.from_model(n_four_bar(3), coordinates=coordinates)
    assert Alone(plant).output("tip") == pytest.approx([0.0, 1.0, 1.0, 0.0], abs=1e-12)


@pytest.mark.filterwarnings("ignore::plant.PlantWarning")
def test_bodies_apart_are_put_together():
    """A marker of a tree joint drawn 0.3 away: the body moves, its other markers with it."""
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Body_Rigid(**bar(2, 1.0, 1.0)),
            at(20, 2, 0.8, 0.0),
            at(21, 2, 0.3, 0.0, 0.2),
            at(10, 1, 0.0, 0.0),
            Constraint_Joint(id=1, type="REVOLUTE", i_marker_id=21, j_marker_id=10),
            Reference_Variable(id=1, expr="DX(20)"),
            Reference_Variable(id=2, expr="AZ(20,10)"),
            Control_PlantOutput(id=1, label="y", variable_id_list=(1, 2)),
            Reference_Marker(id=99, body_id=1),
        ]
    )
    assert Alone(Plant.from_model(model)).output("y") == pytest.approx([0.5, 0.0], abs=1e-12)


@pytest.mark.filterwarnings("ignore::plant.PlantWarning")
def test_initial_values_of_a_run_are_start_guesses():
    d = Diagram("four-bar")
    d.add("plant", Plant.read(deck("four_bar.xml")))
    d.ground("plant.crank_torque")
    r = simulate(d, until=0.0, log_at=[0.0], initial={"plant.joint_1.q": 1.3}, engine="reference")
    phi1, phi2, phi3 = r["plant.angles_and_rates"][0, :3]
    tip = 10 * np.exp(1j * phi1) + 26 * np.exp(1j * phi2) + 18 * np.exp(1j * phi3)
    assert tip == pytest.approx(20.0, abs=1e-9)
    assert phi1 == pytest.approx(1.3, abs=0.08) and phi1 != pytest.approx(1.2217, abs=1e-3)


@pytest.mark.parametrize("count", [1, 6, 7, 9])
def test_the_six_largest_moves_are_told_and_how_many_more_there_are(count):
    far = {f"j{k}": (-1) ** k * 0.25 * k for k in range(1, count + 1)}
    with pytest.warns(PlantWarning) as told:
        _mention_moves(far)
    (text,) = [str(w.message) for w in told]
    named = re.findall(r"(j\d) by (-?\d+(?:\.\d+)?)", text)
    largest = sorted(far, key=lambda name: -abs(far[name]))[:6]
    assert named == [(name, f"{far[name]:g}") for name in largest]
    assert ("and 1 more." in text, "and 3 more." in text) == (count == 7, count == 9)
    assert ("more" in text) == (count > 6)


def test_nothing_is_told_of_no_moves():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _mention_moves({})
