"""Splines and markers that a script gives when a model is read."""

from __future__ import annotations

import numpy as np
import pytest

from blocks.errors import ModelError
from plant.elements import (
    Reference_Marker,
    Reference_Spline,
    Reference_Variable,
)
from tests.helpers.plants import Alone
from tests.helpers.slider import OUT, slider, variable, written

READ = """
import math
def SPLINE_READ(id, file_name, block_name):
    x = [0.1 * k for k in range(20)]
    return py_put_spline(id, x, [float(block_name) * math.sin(v) for v in x], 0.0)

def MARKER_READ(id, par, npar):
    kind = int(par[0])
    angle = {0: [0, 1, 0, 0, 0, 1], 1: [math.pi / 2, 0, 0], 2: [math.pi / 2, 0, 0],
             3: [math.sqrt(0.5), 0, 0, math.sqrt(0.5)]}[kind]
    return py_put_marker(id, [1.0, 2.0, 3.0], kind, angle)
"""


@pytest.mark.parametrize("kind", [0, 1, 2, 3])
def test_splines_and_markers_by_script(tmp_path, kind):
    """All four kinds of angles mean a quarter turn about z."""
    script = written(tmp_path, READ)
    elements = [
        Reference_Spline(id=1, script_name=script, file_name="points.txt", block_name="2.0"),
        Reference_Marker(id=30, body_id=1, script_name=script, usrsub_param_string=f"USER({kind})"),
        Reference_Variable(id=1, expr="CUBSPL(0.5, 0, 1) + AZ(30) + DZ(30)"),
    ]
    alone = Alone(slider(script, *elements, OUT))
    assert alone.output("y") == pytest.approx([2 * np.sin(0.5) + np.pi / 2 + 3.0], abs=1e-4)


def test_scripts_that_give_no_data(tmp_path):
    marker = {"id": 30, "body_id": 1, "usrsub_param_string": "USER(9)"}
    script = written(tmp_path, READ.replace("return py_put_spline(id", "return py_put_spline(7"))
    with pytest.raises(ModelError, match="Reference_Spline id=1: SPLINE_READ put nothing for id 1"):
        slider(script, Reference_Spline(id=1, script_name=script, block_name="1"))
    with pytest.raises(ModelError, match=r"Reference_Marker id=30, MARKER_READ, in .*s\.py:9: .*KeyError: 9"):
        slider(script, Reference_Marker(**marker, script_name=script))
    with pytest.raises(ModelError, match="Reference_Marker id=30: would run MARKER_READ of the script"):
        slider(script, Reference_Marker(**marker, script_name=script), trust=False)
    text = "def MARKER_READ(id, par, npar):\n    return py_put_marker(id, [0, 0, 0], 5, [0, 0, 0])\n"
    with pytest.raises(ModelError, match="angle_type 5 with 3 numbers; the types and their numbers are 0"):
        slider(script, Reference_Marker(**marker, script_name=written(tmp_path, text)))


def test_splines_without_their_prefix(tmp_path):
    """Scripts of the guide call CUBSPL like py_cubspl."""
    script = written(
        tmp_path,
        "def VARSUB(id, time, par, npar, dflag, iflag):\n    return CUBSPL(time, 0, 1, 0)[0][0]\n",
    )
    spline = Reference_Spline(id=1, x=tuple(np.linspace(0, 2, 9)), y=tuple(np.linspace(0, 2, 9) * 3))
    alone = Alone(slider(script, variable(script), spline, OUT))
    assert alone.output("y", 0.7) == pytest.approx([2.1])
