"""Plant inputs that change nothing are named; those with an effect, however far away, are not."""

import warnings

import pytest

from plant import Plant
from plant.elements import (
    Control_Diff,
    Control_PlantInput,
    Control_PlantOutput,
    Control_SISO,
    Force_Vector_OneBody,
    Motion_Joint,
    Post_Request,
    Reference_Array,
    Reference_Variable,
    Sensor_Event,
)
from plant.reporting import PlantWarning
from tests.helpers.slider import on_rail

INPUT = [
    *(Reference_Variable(id=id, expr="0") for id in (1, 2, 3)),
    Control_PlantInput(id=7, label="push", variable_id_list=(1, 2, 3)),
]


def said(*elements):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Plant.from_model(on_rail(*INPUT, *elements, x=0.0, v=None))
    return [str(w.message) for w in caught if "has an effect" in str(w.message)]


def push(expr):
    return Force_Vector_OneBody(id=1, type="FORCEONLY", marker_id=20, ref_marker_id=0, fx_expression=expr)


def variable(id, expr, **more):
    return Reference_Variable(id=id, expr=expr, **more)


@pytest.mark.parametrize(
    "elements",
    [
        [push("VARVAL(1) + VARVAL(2) + VARVAL(3)")],
        [push("PINVAL(7,1) - PINVAL(7,2)*PINVAL(7,3)")],
        [push("VARVAL(4)"), variable(4, "VARVAL(5)*VARVAL(1)"), variable(5, "PINVAL(7,2) + VARVAL(3)")],
        [Control_PlantOutput(id=1, variable_id_list=(1, 2, 3))],
        [
            push("POUVAL(1,1)"),
            Control_PlantOutput(id=1, variable_id_list=(4,)),
            variable(4, "VARVAL(1)"),
            variable(8, "VARVAL(2) + VARVAL(3)", dot_form=True),
        ],
        [
            push("ARYVAL(5,1) + ARYVAL(5,2) + ARYVAL(5,3)"),
            Reference_Array(id=5, type="U", variable_id=(3, 1, 2)),
        ],
        [Post_Request(id=1, type="EXPRESSION", expr1="VARVAL(1)", expr2="VARVAL(2)", expr3="VARVAL(3)")],
        [
            Sensor_Event(id=1, expr="VARVAL(1) + VARVAL(2)", value=1.0, halt=True),
            Control_Diff(id=1, expr="VARVAL(3)"),
        ],
        [Motion_Joint(id=1, joint_id=1, joint_type="T", val_type="A", expr="VARVAL(1)*VARVAL(2)*VARVAL(3)")],
        [variable(4, "DX(20) - VARVAL(4)*VARVAL(1)*VARVAL(2) - VARVAL(3)", is_implicit=True)],
        [
            Reference_Array(id=1, type="X", num_element=1),
            Reference_Array(id=2, type="Y", num_element=1),
            Reference_Array(id=3, type="U", variable_id=(4,)),
            variable(4, "VARVAL(1) + VARVAL(2) + VARVAL(3)"),
            Control_SISO(
                id=1,
                x_array_id=1,
                y_array_id=2,
                u_array_id=3,
                numerator_coef=(1.0,),
                denominator_coef=(1.0, 1.0),
            ),
        ],
    ],
)
def test_inputs_with_an_effect(elements):
    assert said(*elements) == []


@pytest.mark.parametrize(
    ("elements", "which", "cure"),
    [
        ([], "variables 1, 2, 3", "VARVAL(1) or PINVAL(7,1)"),
        ([push("VARVAL(1)*VARVAL(3)")], "variable 2", "VARVAL(2) or PINVAL(7,2)"),
        (
            [push("VARVAL(4)"), variable(4, "VARVAL(1) + VARVAL(2)"), variable(5, "VARVAL(3)")],
            "variable 3",
            "PINVAL(7,3)",
        ),
        (
            [push("ARYVAL(5,2)"), Reference_Array(id=5, type="U", variable_id=(3, 1, 2))],
            "variables 2, 3",
            "VARVAL(2)",
        ),
    ],
)
def test_inputs_without_one(elements, which, cure):
    (text,) = said(*elements)
    assert text.startswith('Control_PlantInput id=7 "push": nothing') and f"reads its {which}, so" in text
    assert cure in text


def test_what_a_subroutine_reads_is_not_known(tmp_path):
    (tmp_path / "routines.py").write_text("def VARSUB(id, time, par, npar, dflag, iflag):\n    return 1.0\n")
    asks = {
        "script_name": str(tmp_path / "routines.py"),
        "interpreter": "PYTHON",
        "usrsub_param_string": "USER()",
    }
    elements = [*INPUT, Reference_Variable(id=4, type="USERSUB", **asks)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", PlantWarning)
        Plant.from_model(on_rail(*elements, push("VARVAL(4)"), x=0.0, v=None), trust=True)
    asked = Reference_Variable(id=4, type="USERSUB", is_active=False, **asks)
    with pytest.warns(
        PlantWarning, match='id=7 "push": nothing that has an effect reads its variables 1, 2, 3'
    ):
        Plant.from_model(on_rail(*INPUT, asked, x=0.0, v=None), trust=True)
