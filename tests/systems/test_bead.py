"""Bead on a catenary, held by a penalty force, against independently computed paths."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from plant import Plant
from plant.elements import Body_Point, Body_Rigid, Model, Reference_Marker
from tests.helpers.cases import MODELS, case_ids, worst_ratio
from tests.helpers.plants import Alone, reference


@pytest.mark.parametrize(("case", "deck"), case_ids("bead_on_catenary"))
def test_decks(case, deck):
    worst, where = worst_ratio("bead_on_catenary", case, deck)
    assert worst < 1e-2, where


@pytest.mark.parametrize("case", ["a", "b_initial_violation"])
@pytest.mark.parametrize("deck", ["bead_on_catenary.xml", "bead_on_catenary_point.xml"])
def test_reference_problem(case, deck):
    """x, y, vx, vy and g of the reference table, from its own initial state."""
    known = reference("bead_catenary")["cases"][case]
    start = known["initial_state"]
    plant = Plant.from_model(_moved(Plant.read(MODELS / deck).model, start["x"], start["y"]))
    alone = Alone(plant)  # at rest, as all cases start
    table = np.array(known["rows"])
    columns = known["columns"]
    states = alone.solve(table[:, 0], rtol=1e-10, atol=1e-11)
    bead = np.array([alone.output("bead", t, x) for t, x in zip(table[:, 0], states.T, strict=True)])
    accept = reference("bead_catenary")["accept"]["position_m"] / 10
    for k, name in enumerate(("x", "y", "vx", "vy", "g")):
        assert bead[:, k] == pytest.approx(table[:, columns.index(name)], abs=accept), name


def _moved(model: Model, x: float, y: float) -> Model:
    """The model with its bead elsewhere."""
    elements = []
    for same_type in model.elements.values():
        for element in same_type.values():
            if isinstance(element, Reference_Marker) and element.id == 9:
                element = dataclasses.replace(element, pos_x=x, pos_y=y)
            if isinstance(element, (Body_Rigid, Body_Point)) and element.cg_id == 9:
                element = dataclasses.replace(element, v_ic_x=None, v_ic_y=None)
            elements.append(element)
    return Model.build(elements)
