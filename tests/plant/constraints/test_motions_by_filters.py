"""Motions by states that depend on themselves, on each other, and through variables: filters, oscillators."""

from __future__ import annotations

import numpy as np
import pytest

from blocks.errors import ModelError
from cosim import Diagram, simulate
from plant import Plant
from plant.elements import Control_PlantOutput, Element, Motion_Joint, Reference_Variable
from tests.helpers.slider import on_rail

TIMES = np.array([0.0, 0.37, 1.0])
LAG = 1.0 - np.exp(-TIMES)


def integral(id: int, expr: str, ic: float = 0.0) -> Reference_Variable:
    return Reference_Variable(id=id, expr=expr, dot_form=True, ic=ic)


def value(id: int, expr: str) -> Reference_Variable:
    return Reference_Variable(id=id, expr=expr)


def driven(coordinates: str, by: str, *elements: Element) -> Plant:
    return Plant.from_model(
        on_rail(
            *elements,
            Motion_Joint(id=1, joint_id=1, val_type="D", type="EXPRESSION", expr=by),
            *[value(90 + k, f"{name}(20)") for k, name in enumerate(["DX", "VX", "ACCX"])],
            Control_PlantOutput(id=1, label="y", variable_id_list=(90, 91, 92)),
            x=0.0,
            v=None,
        ),
        coordinates=coordinates,
    )


# what drives the rail, and x, x', x'' of it
FILTERS = {
    "lag": (("VARVAL(1)", integral(1, "1 - VARVAL(1)")), (LAG, 1 - LAG, LAG - 1)),
    "oscillator": (
        ("VARVAL(1)", integral(1, "VARVAL(2)"), integral(2, "-VARVAL(1)", 1.0)),
        (np.sin(TIMES), np.cos(TIMES), -np.sin(TIMES)),
    ),
    "through a variable": (
        ("VARVAL(2)", value(2, "2*VARVAL(1)"), integral(1, "1 - VARVAL(2)/2")),
        (2 * LAG, 2 - 2 * LAG, 2 * LAG - 2),
    ),
    "through two": (
        ("VARVAL(3)", value(3, "VARVAL(2)"), value(2, "VARVAL(1)"), integral(1, "1 - VARVAL(3)")),
        (LAG, 1 - LAG, LAG - 1),
    ),
}


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("case", FILTERS)
def test_motion_by_a_filter(case, coordinates):
    given, expected = FILTERS[case]
    d = Diagram("filter")
    d.add("plant", driven(coordinates, *given))
    found = simulate(d, TIMES[-1], log_at=TIMES, engine="reference", rtol=1e-10, atol=1e-12)["plant.y"]
    assert found == pytest.approx(np.array(expected).T, abs=1e-9)


def test_what_still_is_recursive():
    with pytest.raises(ModelError, match="recursive definition: Reference_Variable 2 -> 3 -> 2"):
        driven("joint", "VARVAL(2)", value(2, "2*VARVAL(3)"), value(3, "VARVAL(2)"))


def test_integral_of_a_velocity_still_is_none():
    with pytest.raises(ModelError, match="Reference_Variable 1 integrates velocities"):
        driven("joint", "VARVAL(2)", value(2, "2*VARVAL(1)"), integral(1, "VX(20) + VARVAL(2)"))
