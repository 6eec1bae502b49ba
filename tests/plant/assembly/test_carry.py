"""A plant in the place of another: poses, turns and velocities carry over to another tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from plant import Plant
from plant.assembly.carry import _root, carried, motions_of, moved_bodies
from plant.elements import Constraint_Joint
from tests.helpers.decks import body, deck, joint, marker, pendulum

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")


def chain():
    """A rod on a hinge along Y and a second on a ball joint at its end, both moving."""
    model = pendulum(0.4) + marker(22, 2, x=0.5, z=-0.5)
    model += body(3, 1.5, 0.2, 0.5, 0.2, -0.9, "second", w_ic_x=0.3, w_ic_y=-0.7, w_ic_z=1.1)
    model += marker(31, 3, x=0.5, z=-0.5) + joint(2, "SPHERICAL", 31, 22, "ball")
    return model.replace('label="rod"', 'label="rod" w_ic_y="2"')


def plants(coordinates="joint", other="joint", switched=()):
    """The chain, and the chain with joints switched off, in these coordinates."""
    first = Plant.read(deck(chain()), coordinates=coordinates)
    joints = first.model.elements["Constraint_Joint"]
    off = [replace(joints[id], is_active=False) for id in switched]
    return first, Plant.from_model(first.model.changed(*off), coordinates=other)


def everywhere(plant, q, qd):
    """Pose of every body's centre and its velocity."""
    found = {}
    for key, motion in motions_of(plant, q, qd).items():
        cg = plant.model.elements[key[0]][key[1]].cg_id
        (r, A), twist = motion.at(plant.model.frames[cg])
        found[key] = np.concatenate([r, A.ravel(), twist])
    return found


@pytest.mark.parametrize("switched", [(), (1,), (2,), (1, 2)])
@pytest.mark.parametrize(("one", "other"), [("joint", "joint"), ("joint", "absolute"), ("absolute", "joint")])
def test_bodies_stand_and_move_as_before(one, other, switched):
    first, second = plants(one, other, switched)
    there = carried(second, first, first.start, first.rates, 0.0)
    before, after = (everywhere(p, p.start, p.rates) for p in (first, there))
    for key in before:
        assert after[key] == pytest.approx(before[key], abs=1e-9), key
    bodies = [motions_of(p, p.start, p.rates) for p in (first, there)]
    assert moved_bodies(there, *bodies).by == {}


def test_a_slider_beside_the_middle_of_what_carries_it_stands_where_it_stood():
    """Along the axis of the rod's end, 0.5 from its centre: the distance there is the one it had, 0.3."""
    model = pendulum(0.4) + marker(22, 2, x=0.5, z=-0.5)
    model += body(3, 1.5, 0.2, 0.5, 0.0, -0.2, "second") + marker(31, 3, x=0.5, z=-0.2)
    model += joint(2, "TRANSLATIONAL", 31, 22, "rail")
    first = Plant.read(deck(model), coordinates="absolute")
    second = Plant.from_model(first.model, coordinates="joint")
    there = carried(second, first, first.start, first.rates, 0.0)
    before, after = (everywhere(p, p.start, p.rates) for p in (first, there))
    for key in before:
        assert after[key] == pytest.approx(before[key], abs=1e-9), key


def test_the_same_tree_gets_the_same_numbers():
    first, second = plants()
    q = [q + 0.1 * (len(q) == 1) for q in first.start]
    there = carried(second, first, q, first.rates, 0.0)
    for old, new in zip(q, there.start, strict=True):
        assert np.array_equal(old, new)


def test_turns_and_signs_are_kept():
    first, second = plants()
    q = [q + 4 * np.pi if len(q) == 1 else -q for q in first.start]
    there = carried(second, first, q, first.rates, 0.0)
    for old, new in zip(q, there.start, strict=True):
        assert new == pytest.approx(old, abs=1e-12)


def test_a_constraint_on_time_is_closed_at_its_time():
    motion = '<Motion_Joint id="1" joint_id="1" joint_type="R" expr="0.5*TIME"/>'
    plant = Plant.read(deck(pendulum(0.0) + motion))
    there = carried(plant, plant, plant.start, plant.rates, 0.6)
    assert there.start[0] == pytest.approx([0.3]) and there.rates[0] == pytest.approx([0.5])


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize(("time", "angle", "rate"), [(0.5, 0.0, 0.0), (2.0, 0.3, 0.3)])
def test_a_constraint_with_a_corner_is_closed_as_it_is_at_its_time(coordinates, time, angle, rate):
    """At 2 s it was closed as before the corner at 1 s."""
    motion = '<Motion_Joint id="1" joint_id="1" joint_type="R" expr="IF(TIME-1: 0, 0, 0.3*(TIME-1))"/>'
    plant = Plant.read(deck(pendulum(0.0) + motion), coordinates=coordinates)
    there = carried(plant, plant, plant.start, plant.rates, time)
    found = everywhere(there, there.start, there.rates)["Body_Rigid", 2]
    assert np.abs(found[0]) == pytest.approx(0.5 * np.sin(angle), abs=1e-12)
    assert np.abs(found[13]) == pytest.approx(rate, abs=1e-12)  # about Y


def test_a_latch_leaves_the_common_velocity():
    """Perpendicular push on a rod that is switched to a hinge: momentum about the hinge stays."""
    free = pendulum(0.0).replace('label="hinge"', 'label="hinge" is_active="FALSE"')
    model = free.replace('label="rod"', 'label="rod" v_ic_x="3"')
    first = Plant.read(deck(model))
    hinge = Constraint_Joint(id=1, label="hinge", type="REVOLUTE", i_marker_id=21, j_marker_id=11)
    second = Plant.from_model(first.model.changed(hinge))
    there = carried(second, first, first.start, first.rates, 0.0)
    assert there.rates[0] == pytest.approx(
        [2 * 3 * 0.5 / (0.1 + 2 * 0.25)]
    )  # m v L = (J + m L^2) w, about -Y


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_what_was_moved_is_told(coordinates):
    """The rod's end is 0.2 from the hinge in the design, and the hinge comes later."""
    model = pendulum(0.0).replace('label="hinge"', 'label="hinge" is_active="FALSE"')
    model = model.replace(
        '<Reference_Marker id="21" body_id="2" pos_x="0.0"',
        '<Reference_Marker id="21" body_id="2" pos_x="0.2"',
    )
    first = Plant.read(deck(model), coordinates=coordinates)
    hinge = Constraint_Joint(id=1, label="hinge", type="REVOLUTE", i_marker_id=21, j_marker_id=11)
    second = Plant.from_model(first.model.changed(hinge), coordinates=coordinates)
    there = carried(second, first, first.start, first.rates, 0.0)
    moved = moved_bodies(there, *(motions_of(p, p.start, p.rates) for p in (first, there))).by
    assert "rod" in moved and 0.05 < moved["rod"] <= 0.2 + 1e-12
    end = motions_of(there, there.start, there.rates)["Body_Rigid", 2].at(there.model.frames[21])[0][0]
    assert end == pytest.approx(np.zeros(3), abs=1e-9)


@pytest.mark.parametrize("angle", [0.3, -1.2, np.pi])
def test_how_far_bodies_turned_and_travelled_is_told(angle):
    """The hinge alone is turned: both bodies by its angle, the rod's centre along a chord of 0.5."""
    plant = plants()[0]
    turned = [q + angle * (len(q) == 1) for q in plant.start]
    moved = moved_bodies(plant, *(motions_of(plant, q, plant.rates) for q in (plant.start, turned)))
    assert moved.by["rod (turned)"] == pytest.approx(abs(angle), rel=1e-6)
    assert moved.by["second (turned)"] == pytest.approx(abs(angle), rel=1e-6)
    assert moved.by["rod"] == pytest.approx(abs(2 * 0.5 * np.sin(angle / 2)))
    assert moved.far == moved.by


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_weights_of_velocities_are_roots_of_inertia_in_every_unit(unit):
    """A point of 2 kg has no inertia that resists a turn: next to nothing of the largest stands for it."""
    A = np.random.default_rng(5).normal(size=(6, 6))
    for inertia in (A @ A.T, np.diag([0.0, 0.0, 0.0, 2.0, 2.0, 2.0])):
        L = _root(unit * inertia)
        assert pytest.approx(unit * inertia, abs=1e-9 * unit) == L.T @ L
        assert np.linalg.matrix_rank(L) == 6
