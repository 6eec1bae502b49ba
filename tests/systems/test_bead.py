"""Bead on a catenary, held by a penalty force, against independently computed paths."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from cosim import Diagram, simulate
from plant import Plant
from plant.elements import Body_Point, Body_Rigid, Force_Penalty, Model, Reference_Marker, Reference_Variable
from tests.helpers.cases import MODELS, case_ids, worst_ratio
from tests.helpers.checked import closed_form, independent
from tests.helpers.plants import Alone, reference

OTHER = independent("other formulations of the model, DOP853 (its expected.json)")
PATH = independent("equations of the bead by hand, DOP853 and Radau of SciPy")


@pytest.mark.parametrize(("case", "deck"), case_ids("bead_on_catenary"))
def test_decks(checked, case, deck):
    worst, where = worst_ratio("bead_on_catenary", case, deck)
    assert worst < 1e-2, where
    what = f"{case}: worst signal in parts of its tolerance"
    checked(worst, 0.0, "model bead_on_catenary", what, OTHER, atol=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["a", "b_initial_violation"])
@pytest.mark.parametrize("deck", ["bead_on_catenary.xml", "bead_on_catenary_point.xml"])
def test_reference_problem(checked, case, deck):
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
        checked(
            bead[:, k],
            table[:, columns.index(name)],
            "bead on a catenary, penalty",
            f"{case}: {name}",
            PATH,
            atol=accept,
        )


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


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("engine", ["reference", "native"])
def test_limit_of_a_hard_constraint(checked, engine, coordinates):
    """x'' = -(sinh x cosh x x'^2 + g sinh x)/cosh^2 x: what the penalty tends to when it grows."""
    known = reference("bead_catenary")["cases"]["hard_constraint_limit"]
    table = np.array(known["rows"])
    model = Plant.read(MODELS / "bead_on_catenary.xml").model
    elements = [
        e for kind in model.elements.values() for e in kind.values() if not isinstance(e, Force_Penalty)
    ]
    elements.append(Reference_Variable(id=90, label="hard", expr="DY(9) - COSH(DX(9))", is_implicit=True))
    d = Diagram("bead")
    d.add("plant", Plant.from_model(Model.build(elements), coordinates=coordinates))
    d.ground("plant.push")
    options = {"rtol": 1e-10, "atol": 1e-12, "engine": engine}
    bead = simulate(d, until=table[-1, 0], log_at=table[:, 0], **options)["plant.bead"]
    subject, law = "bead on a catenary, hard constraint", closed_form("y = cosh x")
    checked(bead[:, [0, 1, 2]], table[:, 1:], subject, "x, y and vx", PATH, atol=1e-8)
    checked(bead[:, 1], np.cosh(bead[:, 0]), subject, "constraint", law, atol=1e-10)
    soft = np.array(reference("bead_catenary")["cases"]["a"]["rows"])
    apart = reference("bead_catenary")["accept"]["hard_vs_penalty_difference_order"]
    largest = np.abs(soft[:, 1:3] - bead[:, :2]).max()
    checked(largest, apart, subject, "distance from the penalty's path", PATH, rtol=1e-6)
