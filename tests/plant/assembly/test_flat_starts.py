"""Joints drawn where no small turn brings them nearer: cross bars that are parallel."""

from __future__ import annotations

import numpy as np
import pytest

from plant import Plant
from plant.reporting import PlantWarning
from tests.helpers.plants import Alone

ALONG = {1: "", -1: 'theta="3.141592653589793"'}  # z of I along, and against, z of J


def deck(type: str, sense: int, beside: str = "") -> bytes:
    """A body hung by its marker 21 from the ground's marker 10."""
    return f"""<M><Model><Body_Rigid id="1" isground="TRUE"/><Reference_Marker id="10" body_id="1"/>
    <Body_Rigid id="2" cg_id="20" mass="2" inertia_xx=".1" inertia_yy=".2" inertia_zz=".3"/>
    <Reference_Marker id="20" body_id="2" pos_x="0.1" pos_z="-0.5"/>
    <Reference_Marker id="21" body_id="2" {ALONG[sense]}/>
    <Constraint_Joint id="1" type="{type}" i_marker_id="21" j_marker_id="10"/>{beside}
    <Reference_Variable id="1" expr="DM(21,10)"/><Reference_Variable id="2" expr="THETA(21,10)"/>
    <Control_PlantOutput id="1" label="y" variable_id_list="1 2"/></Model></M>""".encode()


@pytest.mark.parametrize("sense", [1, -1])
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("type", ["UNIVERSAL", "PERPENDICULAR"])
def test_parallel_bars_are_brought_to_a_right_angle(type, coordinates, sense):
    with pytest.warns(PlantWarning, match="moved"):
        y = Alone(Plant.read(deck(type, sense), coordinates=coordinates)).output("y")
    assert y[1] == pytest.approx(np.pi / 2, abs=1e-9)
    if type == "UNIVERSAL":
        assert y[0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.filterwarnings("ignore::plant.PlantWarning")
def test_the_shortest_turn_leaves_x_of_parallel_bars_where_it_is():
    alone = Alone(Plant.read(deck("UNIVERSAL", 1).replace(b"DM(21,10)", b"AX(21,10)"), coordinates="joint"))
    assert alone.output("y") == pytest.approx([np.pi / 2, np.pi / 2], abs=1e-12)


def test_an_expression_that_is_flat_and_open_is_refused():
    """x^2 - 0.1 at x = 0 has two roots, x^2 + 0.1 none: which is meant is not known."""
    from blocks.errors import ModelError

    general = '<Constraint_General id="1" expr="DX(21)**2 - 0.1"/>'
    with pytest.raises(ModelError, match="Constraint_General id=1"):
        Alone(Plant.read(deck("INPLANE", 1, general)))
