"""The point that controllers are designed about: at rest, or refused."""

from fractions import Fraction

import numpy as np
import pytest

from blocks import Hold, PlantloopError, TransportDelay
from cosim import Diagram
from cosim.analysis.design_point import design_point
from plant import Plant
from plant.elements import Control_PlantInput, Control_PlantOutput, Reference_Variable
from tests.helpers.made import Made
from tests.helpers.slider import PUSH, on_rail


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


def counter(sample="1/10") -> Diagram:
    """x+ = 0.5 x + u, y = 3 x, every 0.1 s."""

    def equations(b):
        u, x = b.input("u", 1), b.discrete("x", 0.0, sample)
        b.update(x, 0.5 * x + u)
        b.output("y", 3.0 * x)

    d = Diagram("counter")
    d.connect(d.inport("u"), d.add("it", Made(equations))["u"])
    return d


@pytest.mark.parametrize(("sample", "n"), [(None, 1), (0.1, 1), ("1/5", 2), (0.3, 3)])
def test_a_controller_may_hold_its_output_for_several_periods(sample, n):
    """x_k+n = 0.5^n x_k + (1 + 0.5 + ...) u, and y is that at the first tick."""
    point = design_point(counter(), outputs=["it.y"], sample=sample)
    A, B, C, D = point.matrices
    np.testing.assert_allclose(
        np.ravel([A, B, C, D]), [0.5**n, sum(0.5**k for k in range(n)), 3.0, 0.0], atol=1e-12
    )
    assert (point.dt, point.period, point.offset) == (pytest.approx(n / 10), Fraction(1, 10), 0)
    assert point.model[-1] == point.dt and point.states == ("it.x",)


@pytest.mark.parametrize("sample", [0.04, 0.1 / 3, 0.15, "1/7"])
def test_other_times_than_multiples_of_the_period_are_refused(sample):
    with pytest.raises(
        PlantloopError, match="expected a multiple of the common period of 'counter', 0.1 s"
    ) as caught:
        design_point(counter(), outputs=["it.y"], sample=sample)
    assert caught.value.value == sample


def test_the_sample_time_of_a_continuous_model_is_that_of_who_holds():
    assert (
        design_point(lag(4.0), outputs=["it.y"], sample=0.2).model
        == design_point(lag(4.0), outputs=["it.y"]).model
    )


def test_a_sampled_point_that_drifts_and_one_with_a_delay_are_refused():
    def drifting(b):
        u, x = b.input("u", 1), b.discrete("x", 1.0, "1/10")
        b.update(x, x + 1e-3 + u)
        b.output("y", x)

    d = Diagram("drifts")
    d.connect(d.inport("u"), d.add("it", Made(drifting))["u"])
    with pytest.raises(PlantloopError, match="'it.x' changes by 0.001 from tick to tick") as caught:
        design_point(d, outputs=["it.y"])
    assert caught.value.value == pytest.approx(1e-3) and caught.value.path == "it.x"
    d = counter()
    d.connect(d["it"]["y"], d.add("late", TransportDelay(0.25))["u"])
    with pytest.raises(PlantloopError, match="'counter' has a delay, 'late"):
        design_point(d, outputs=["late.y"])


def test_tied_states_of_a_sampled_plant_are_left_out():
    """2 kg on a rail in absolute coordinates, pushed by what is held for 0.1 s: x+ = x + T v + T^2 u / 4."""
    values = Reference_Variable(id=1, expr="0"), Reference_Variable(id=2, expr="DX(20,10)")
    ports = (
        Control_PlantInput(id=1, label="F", variable_id_list=(1,), hold_order=0),
        Control_PlantOutput(id=1, label="x", variable_id_list=(2,)),
    )
    d = Diagram("d")
    rail = d.add("rail", Plant.from_model(on_rail(*values, PUSH, *ports), coordinates="absolute"))
    d.connect(d.inport("u"), d.add("hold", Hold(sample=0.1))["u"])
    d.connect(d["hold"]["y"], rail["F"])
    point = design_point(d, inputs=["u"], outputs=["rail.x"])
    A, B, C, _ = point.matrices
    assert len(point.states) == 2 and point.y0 == pytest.approx([0.5])
    s = np.array([C[0], (C @ A - C)[0] / 0.1])  # the place, and by how much it changes in a period
    np.testing.assert_allclose(s @ A @ np.linalg.inv(s), [[1.0, 0.1], [0.0, 1.0]], atol=1e-9)
    np.testing.assert_allclose((s @ B).ravel(), [0.1**2 / 4, 0.1 / 2], atol=1e-9)
