"""Parts of constraints and motions are named where they are not finite, as those of forces are."""

from __future__ import annotations

import re

import pytest

from blocks.errors import SimulationError
from cosim import Diagram, simulate
from plant import Plant
from plant.elements import (
    Constraint_General,
    Element,
    Motion_Joint,
    Reference_Variable,
)
from tests.helpers.slider import SUB, on_rail

ROUTINES = """
def MOTSUB(id, time, par, npar, order, iflag):
    return float("nan") if time > 0.1 else 1.0
def VARSUB(id, time, par, npar, dflag, iflag):
    return float("nan")
"""


def failure(*elements: Element) -> str:
    """What is said of a mass on a rail along X whose run fails on the way."""
    d = Diagram("fails")
    d.add("plant", Plant.from_model(on_rail(*elements, v=None), trust=True))
    with pytest.raises(SimulationError) as caught:
        simulate(d, 0.3, engine="reference")
    return str(caught.value)


def accelerated(**more) -> Motion_Joint:
    return Motion_Joint(id=1, joint_id=1, joint_type="T", val_type="A", **more)


@pytest.mark.parametrize(
    ("element", "named"),
    [
        (
            accelerated(type="EXPRESSION", expr="1+LOG(0.1-TIME)"),
            "Motion_Joint id=1, LOG(0.1-TIME) in expr, column 3",
        ),
        (
            Constraint_General(id=1, expr="VX(20)-SQRT(0.1-TIME)**3"),
            "Constraint_General id=1, SQRT(0.1-TIME) in expr, column 8",
        ),
    ],
)
def test_expressions(element, named):
    """It said only which rate was not finite."""
    assert f"First non-finite term: plant: {named} = nan" in failure(element)


def test_routines_of_motions(tmp_path):
    (tmp_path / "s.py").write_text(ROUTINES)
    script = SUB | {"script_name": str(tmp_path / "s.py"), "usrsub_fnc_name": "MOTSUB"}
    with pytest.warns(match="MOTSUB of a constraint is called at run time"):
        found = failure(accelerated(**script))
    assert re.search("First non-finite term: plant: Motion_Joint id=1, MOTSUB = nan", found)


def test_a_routine_that_always_gives_nan(tmp_path):
    (tmp_path / "s.py").write_text(ROUTINES)
    script = SUB | {"script_name": str(tmp_path / "s.py"), "usrsub_fnc_name": "VARSUB"}
    found = failure(
        Reference_Variable(id=1, **script), Reference_Variable(id=2, expr="VARVAL(1)", dot_form=True)
    )
    assert re.search("First non-finite term: plant: Reference_Variable id=1, VARSUB = nan", found)
