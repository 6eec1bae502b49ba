"""What user subroutines may not return, complex numbers, nothing, texts, is said with what they gave."""

from __future__ import annotations

import re
import warnings

import pytest

from blocks.errors import PlantloopError
from plant import PlantWarning
from plant.elements import (
    Constraint_General,
    Control_Diff,
    Force_Field,
    Force_Penalty,
    Force_Scalar_TwoBody,
    Force_Vector_OneBody,
    Motion_Joint,
)
from tests.helpers.slider import OUT, SUB, run, slider, variable, written

SCALAR = {"type": "FORCE", "i_marker_id": 20, "j_marker_id": 10, "is_action_only": True}
MARKERS = {"i_marker_id": 20, "j_marker_id": 10}
CONTEXTS = {
    "VARSUB": lambda s: [variable(s), OUT],
    "SFOSUB": lambda s: [Force_Scalar_TwoBody(id=1, script_name=s, **SCALAR)],
    "VFOSUB": lambda s: [
        Force_Vector_OneBody(id=1, type="FORCEONLY", marker_id=20, ref_marker_id=0, script_name=s)
    ],
    "PFOSUB": lambda s: [Force_Penalty(id=1, penalty=10.0, script_name=s, **SUB)],
    "FIESUB": lambda s: [Force_Field(id=1, script_name=s, **MARKERS, **SUB)],
    "DIFSUB": lambda s: [Control_Diff(id=1, script_name=s, **SUB)],
    "GCOSUB": lambda s: [Constraint_General(id=1, script_name=s, **SUB)],
    "MOTSUB": lambda s: [Motion_Joint(id=1, joint_id=1, joint_type="T", val_type="D", script_name=s, **SUB)],
}
ASKS = "    x = 0.0 if '{0}' in ('FIESUB', 'MOTSUB') else py_sysfnc('DX', [20])[0]\n"
SIZES = {"VFOSUB": 3, "FIESUB": 6}


@pytest.mark.slow
@pytest.mark.parametrize("routine", CONTEXTS)
@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ("np.complex128(1 + 2j * 0.5)", r"returned np\.complex128\(1\+1j\), expected numbers"),
        ("np.array([1 + 2j] * {size})", r"returned \(1\+2j\), expected numbers"),
        ("None", "returned nothing"),
        ("'3.0'", "returned '3.0', expected numbers"),
    ],
)
def test_what_is_no_number_is_said_with_the_element_and_what_came(routine, returned, said, tmp_path):
    """A complex number of NumPy lost its imaginary part; constraints spoke of a division by zero."""
    text = f"import numpy as np\ndef {routine}(*given):\n{ASKS.format(routine)}"
    script = written(tmp_path, text + f"    return {returned.format(size=SIZES.get(routine, 1))}\n")
    with warnings.catch_warnings(), pytest.raises(PlantloopError, match=said) as found:
        warnings.simplefilter("ignore", PlantWarning)
        run(slider(script, *CONTEXTS[routine](script)), [0.0, 0.1])
    assert re.search(rf"id=1, {routine}(: returned nothing| raised ValueError)", str(found.value))


@pytest.mark.parametrize("fault", ["raise ArithmeticError('ice ahead')", "return None"])
def test_what_fails_late_is_said_though_derivatives_fail_first(fault, tmp_path):
    """A penalty's gradient looks ahead: it met the fault before the value did, which forgot it."""
    asks = "x = py_sysfnc('DX', [20])[0]"
    text = f"def PFOSUB(*given):\n    {asks}\n    if x > 0.8:\n        {fault}\n    return x\n"
    force = CONTEXTS["PFOSUB"](written(tmp_path, text))
    with (
        warnings.catch_warnings(),
        pytest.raises(PlantloopError, match="ice ahead|returned nothing") as found,
    ):
        warnings.simplefilter("ignore", PlantWarning)
        run(slider("", *force, v=2.0), [0.0, 2.0])
    assert "Force_Penalty id=1, PFOSUB raised" in str(found.value)
