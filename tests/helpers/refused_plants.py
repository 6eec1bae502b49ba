"""One body on a joint, and plants of it that are refused."""

from __future__ import annotations

import pytest

from blocks.contract.trace import trace
from blocks.errors import ModelError
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Element,
    Model,
    Reference_Marker,
)

UNIT = {"mass": 1, "inertia_xx": 1, "inertia_yy": 1, "inertia_zz": 1}


def axle(*elements: Element, type: str = "REVOLUTE", x: float = 0.0, **axes: float) -> Model:
    """One body on a joint, its marker 20 at x."""
    return Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1),
            Body_Rigid(id=2, label="Wheel", cg_id=20, **UNIT),
            Reference_Marker(id=20, body_id=2, pos_x=x, **axes),
            Constraint_Joint(id=1, label="axle", type=type, i_marker_id=20, j_marker_id=10),
            *elements,
        ]
    )


def refused(model: Model, *parts: str, error: type[Exception] = ModelError) -> str:
    """Message of the refusal, which has to contain all parts."""
    with pytest.raises(error) as caught:
        Plant.from_model(model)
    for part in parts:
        assert part in str(caught.value)
    return str(caught.value)


def refused_equations(model: Model, *parts: str, error: type[Exception] = ModelError) -> None:
    plant = Plant.from_model(model)
    with pytest.raises(error) as caught:
        trace(plant, {})
    for part in parts:
        assert part in str(caught.value)
