"""The point that controllers are designed about: at rest, or refused."""

import numpy as np
import pytest

from blocks import PlantloopError
from cosim import Diagram
from cosim.analysis.design_point import design_point
from tests.helpers.made import Made


def lag(push: float) -> Diagram:
    """x' = push - x^2 + u, y = 3 x, at x = 2 where x^2 is 4."""

    def equations(b):
        u, x = b.input("u", 1), b.continuous("x", 2.0)
        b.derivative(x, push - x * x + u)
        b.output("y", 3.0 * x)

    d = Diagram("lag")
    d.connect(d.inport("u"), d.add("it", Made(equations))["u"])
    return d


def test_the_linear_model_and_where_it_holds():
    point = design_point(lag(4.0), outputs=["it.y"])
    A, B, C, D = point.matrices
    np.testing.assert_allclose(np.ravel([A, B, C, D]), [-4.0, 1.0, 3.0, 0.0], atol=1e-12)
    assert [point.x0, point.u0, point.y0] == [pytest.approx([v]) for v in (2.0, 0.0, 6.0)]
    assert point.states == ("it.x",) and point.outputs == ("it.y",)


@pytest.mark.parametrize("off", [1e-3, -1e-3])
def test_a_point_that_drifts_slowly_is_refused_too(off):
    with pytest.raises(PlantloopError, match=r"the derivative of 'it.x' is -?0.001, .*") as caught:
        design_point(lag(4.0 + off), outputs=["it.y"])
    assert caught.value.value == pytest.approx(off) and "trim" in caught.value.hint
    assert design_point(lag(4.0 + 1e-3 * off), outputs=["it.y"]).states == ("it.x",)
