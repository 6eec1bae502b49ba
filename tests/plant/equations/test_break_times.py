"""Steps end where functions of TIME in a model break off: what is integrated between is smooth."""

import numpy as np
import pytest
from scipy.special import sici

from cosim import Diagram, simulate
from plant.elements import Control_PlantOutput, Force_Vector_TwoBody, Reference_Variable
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


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("at", ["TIME", "TIME-1", "1-TIME", "2*TIME-2"])
def test_a_value_for_the_instant_at_which_the_formula_has_none(at, engine):
    """A force sin(x)/x, given as 1 at x = 0: the speed it causes is a difference of sine integrals."""
    force = Force_Vector_TwoBody(
        id=1, type="FORCEONLY", i_marker_id=20, j_floating_marker_id=10, ref_marker_id=10,
        fz_expression="VARVAL(1)",
    )  # fmt: skip
    shape = Reference_Variable(id=1, expr=f"IF({at}: SIN({at})/({at}), 1, SIN({at})/({at}))")
    speed = Reference_Variable(id=2, expr="2*VZ(20, 10, 10)")
    out = Control_PlantOutput(id=1, label="y", variable_id_list=(1, 2))
    d = Diagram("pushed")
    d.add("plant", slider("", force, shape, speed, out))
    times = np.array([0.0, 0.4, 1.0, 1.7])
    y = simulate(d, 1.7, log_at=times, rtol=1e-10, atol=1e-12, engine=engine)["plant.y"]
    x = {"TIME": times, "TIME-1": times - 1, "1-TIME": 1 - times, "2*TIME-2": 2 * times - 2}[at]
    slope = {"TIME": 1, "TIME-1": 1, "1-TIME": -1, "2*TIME-2": 2}[at]
    assert y[:, 0] == pytest.approx(np.sinc(x / np.pi), abs=1e-12)
    assert y[:, 1] == pytest.approx((sici(x)[0] - sici(x)[0][0]) / slope, abs=1e-8)
