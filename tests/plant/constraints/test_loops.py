"""Closed loops in joint coordinates: which joint is cut, and what is known about it."""

from __future__ import annotations

import numpy as np
import pytest

from plant import Plant
from plant.elements import Body_Rigid, Constraint_Joint, Model, Reference_Marker
from tests.helpers.loops import n_four_bar

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")
UNIT = {"mass": 1, "inertia_xx": 1, "inertia_yy": 1, "inertia_zz": 1}


def ring(*types):
    """Bodies in a closed ring from ground to ground; all joints parallel to global z."""
    elements = [Body_Rigid(id=1, isground=True)]
    corners = [
        np.array([np.cos(a), np.sin(a)]) for a in np.linspace(0, 2 * np.pi, len(types), endpoint=False)
    ]
    for k in range(len(types) - 1):
        elements += [Body_Rigid(id=2 + k, cg_id=20 + k, **UNIT), Reference_Marker(id=20 + k, body_id=2 + k)]
    for k, (type, corner) in enumerate(zip(types, corners, strict=True)):
        before, after = 1 + k, (2 + k if k < len(types) - 1 else 1)
        for id, body in ((100 + k, before), (200 + k, after)):
            elements.append(
                Reference_Marker(id=id, body_id=body, pos_x=float(corner[0]), pos_y=float(corner[1]))
            )
        elements.append(Constraint_Joint(id=k + 1, type=type, i_marker_id=200 + k, j_marker_id=100 + k))
    return Model.build(elements)


def test_loops_are_cut_half_way():
    plant = Plant.from_model(ring("REVOLUTE", "REVOLUTE", "REVOLUTE", "REVOLUTE"))
    assert [j.key for j in plant.mechanism.cut] == [3]
    assert [link.parent for link in plant.mechanism.links] == [-1, -1, 0]


@pytest.mark.parametrize("place", range(4))
def test_joints_with_many_freedoms_are_cut(place):
    types = ["REVOLUTE"] * 4
    types[place] = "SPHERICAL"
    plant = Plant.from_model(ring(*types))
    assert [j.key for j in plant.mechanism.cut] == [place + 1]
    assert plant.info()["dof"] == 1


def test_each_window_of_a_row_is_one_loop():
    plant = Plant.from_model(n_four_bar(5))
    assert len(plant.mechanism.cut) == 5 and plant.info()["dof"] == 1
    assert all(len(plant.mechanism.path(i)) <= 2 for i in range(11))


def test_redundancy_is_told_once_per_joint():
    plant = Plant.from_model(ring("REVOLUTE", "REVOLUTE", "REVOLUTE", "REVOLUTE"))
    assert len(plant.assembly.redundant) == 1
    (line,) = plant.assembly.redundant
    assert line in plant.warnings and plant.info()["redundant constraints"] == [line]


def test_equations_are_the_same_when_traced_again():
    from blocks.contract.trace import trace

    plant = Plant.from_model(n_four_bar(2))
    first, second = (trace(plant, {}).declared for _ in range(2))
    assert [m.name for m in first.memories] == [m.name for m in second.memories]
    assert str(first.invariants) == str(second.invariants)
