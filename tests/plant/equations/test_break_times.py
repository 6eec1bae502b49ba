"""Steps end where functions of TIME in a model break off: what is integrated between is smooth."""

import numpy as np
import pytest

from cosim import Diagram, simulate
from plant.elements import Force_Vector_TwoBody, Reference_Variable
from tests.helpers.slider import OUT, slider


def test_a_force_that_rises_in_a_cubic_is_integrated_exactly():
    """A STEP of 6 N from 0.37 to 0.53 s on 2 kg: Simpson's rule, which rk4 is here, is exact for cubics."""
    force = Force_Vector_TwoBody(
        id=1, type="FORCEONLY", i_marker_id=20, j_floating_marker_id=10, ref_marker_id=10,
        fz_expression="STEP(TIME, 0.37, 0, 0.53, 6)",
    )  # fmt: skip
    speed = Reference_Variable(id=1, expr="VZ(20, 10, 10)")
    plant = slider("", force, speed, OUT)
    times = np.array([0.3, 0.53, 1.0])
    d = Diagram("pushed")
    d.add("plant", plant)
    found = simulate(d, 1.0, solver="rk4", step=0.25, log_at=times, engine="reference")["plant.y"][:, 0]
    assert found == pytest.approx([0.0, 6.0 * 0.08 / 2.0, 6.0 * (0.08 + 0.47) / 2.0], abs=1e-12)
