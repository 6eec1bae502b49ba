"""Frequency responses: linear ones against python-control, measured ones against linear ones."""

import control
import numpy as np
import pytest

from blocks import (
    Constant,
    FirstOrder,
    Function,
    Gain,
    Hold,
    PlantloopError,
    StateSpace,
    Sum,
    TransferFunction,
    TransportDelay,
)
from cosim import Diagram, frequency_response, linearize
from tests.cosim.analysis.test_lifted import A, B, C, cascade

W = np.geomspace(0.3, 20.0, 6)
FAST = {"engine": "native", "rtol": 1e-9, "atol": 1e-12}


def late_loop() -> Diagram:
    """1 / (s + 1) behind a delay of 0.3 s, fed back with gain 2."""
    d = Diagram("late")
    d.connect(d.inport("r"), d.add("e", Sum("+-"))["in1"])
    p = d.add("p", TransferFunction([1.0], [1.0, 1.0]))
    d["e"] >> d.add("k", Gain(2.0)) >> d.add("wire", TransportDelay(0.3)) >> p
    d.connect(p["y"], d["e"]["in2"])
    d.outport("y", p["y"])
    return d


def test_delays_are_exact():
    found = frequency_response(late_loop(), "r", "p.y", W)
    L = 2 * np.exp(-0.3j * W) / (1j * W + 1)
    np.testing.assert_allclose(found.response, L / (1 + L), rtol=1e-12)
    np.testing.assert_allclose(found.gain_db, 20 * np.log10(np.abs(L / (1 + L))), rtol=1e-9)


def test_a_system_without_delays_is_python_controls():
    plant = StateSpace(A, B, C)
    found = frequency_response(plant, "u", "y", W)
    np.testing.assert_allclose(found.response, control.ss(A, B, C, 0)(1j * W), rtol=1e-12)


@pytest.mark.parametrize("method", ["sine", "multisine"])
def test_measured_is_linear_for_a_linear_loop_with_a_delay(method):
    w = W[:4]
    measured = frequency_response(late_loop(), "k.y", "p.y", w, method=method, settle=30.0, **FAST)
    linear = frequency_response(late_loop(), "k.y", "p.y", measured.frequency)
    np.testing.assert_allclose(measured.response, linear.response, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", ["sine", "multisine"])
def test_measured_is_linear_in_a_sampled_loop_of_several_rates(method):
    w = np.array([2.0, 9.0, 50.0])
    d = cascade(offsets=("1/100", "1/200"))
    measured = frequency_response(d, "inner.u", "y.y", w, method=method, **FAST)
    np.testing.assert_allclose(measured.frequency, w, rtol=0.05)
    linear = frequency_response(d, "inner.u", "y.y", measured.frequency)
    np.testing.assert_allclose(measured.response, linear.response, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("periods", [1.0, 4.0, 4.9, 10.9])
def test_just_below_half_the_rate_a_sine_is_still_one(periods):
    """Held for T = 0.1 before 1 / (1 + s / 2), seen at the ticks: (1 - p) / (z - p) with p = e^(-2 T)."""
    d = Diagram("sampled")
    d.inport("f") >> d.add("hold", Hold(sample=0.1)) >> d.add("lag", FirstOrder(1.0, 0.5))
    asked = 0.985 * np.pi / 0.1  # 4.925 periods in ten ticks: five would be half the rate itself
    found = frequency_response(d, "f", "lag.y", [asked], method="sine", periods=periods, **FAST)
    assert found.frequency[0] < np.pi / 0.1
    pole = np.exp(-0.2)
    z = np.exp(0.1j * found.frequency)
    np.testing.assert_allclose(found.response, (1 - pole) / (z - pole), rtol=1e-6)


def three_holds():
    """1 / (1 + s / 2) behind holds that repeat after 0.3 s."""
    d = Diagram("three rates")
    last = d.inport("f")
    for name, sample in (("a", "1/50"), ("b", "3/100"), ("c", "1/20")):
        last = last >> d.add(name, Hold(sample=sample))
    last >> d.add("lag", FirstOrder(1.0, 0.5))
    return d


def test_sines_that_the_rates_mix_are_refused():
    step = 2 * np.pi / 0.3
    with pytest.raises(PlantloopError, match=r"cannot be told apart: the rates repeat after 3/10 s"):
        frequency_response(three_holds(), "f", "lag.y", [4.0, 4.0 + step], method="multisine")
    with pytest.raises(PlantloopError, match='method="sine"'):
        frequency_response(three_holds(), "f", "lag.y", [4.0, step - 4.0], method="multisine")


def test_frequencies_that_are_measured_are_near_those_asked_for():
    """Four periods of 9 rad/s take 2.8 s: in ten common periods of 0.3 s they would be 8.4 rad/s.

    In 21 of them 9 and 30 rad/s would be 9 and 30 turns, of which the rates make the same: 30 = 9 + 21.
    """
    d = three_holds()
    w = np.array([4.0, 9.0, 30.0])
    for method in ("sine", "multisine"):
        found = frequency_response(d, "f", "lag.y", w, method=method, **FAST)
        np.testing.assert_allclose(found.frequency, w, rtol=0.035)
        linear = frequency_response(d, "f", "lag.y", found.frequency)
        np.testing.assert_allclose(found.response, linear.response, rtol=1e-5)


def test_at_its_own_input_a_response_is_the_sensitivity():
    d = Diagram("loop")
    k, p = d.add("k", Gain(-2.0)), d.add("p", TransferFunction([4.0], [1.0, 3.0, 3.0]))
    k >> p >> k
    measured = frequency_response(d, "k.y", "k.y", [1.0, 3.0], method="sine", **FAST)
    s = 1j * measured.frequency
    np.testing.assert_allclose(measured.response, 1 / (1 + 8 / (s**2 + 3 * s + 3)), rtol=1e-6)


def test_the_amplitude_matters_where_equations_are_not_linear():
    """Describing function of the cube: 3/4 a^2."""
    cube = Function(lambda u: u**3)
    found = frequency_response(cube, "u", "y", [1.0], method="sine", amplitude=2.0, **FAST)
    assert found.response == pytest.approx([3.0], rel=1e-9)
    assert frequency_response(cube, "u", "y", [1.0]).response == pytest.approx([0.0])


def test_what_cannot_be_measured_says_why(tmp_path):
    loop = late_loop()
    with pytest.raises(PlantloopError, match="not stable"):
        frequency_response(StateSpace([[1.0]], [[1.0]], [[1.0]]), "u", "y", [1.0], method="sine")
    with pytest.raises(PlantloopError, match="expected positive finite numbers"):
        frequency_response(loop, "r", "y", [0.0])
    with pytest.raises(PlantloopError, match="not below half the rate of 'inner.u'"):
        frequency_response(cascade(), "inner.u", "y.y", [200.0])
    with pytest.raises(PlantloopError, match="expected one each"):
        frequency_response(cascade(), "inner.u", "p.y", [1.0])
    with pytest.raises(PlantloopError, match="no method 'sines'|method"):
        frequency_response(loop, "r", "y", [1.0], method="sines")
    frequency_response(loop, "r", "p.y", W).plot(path=tmp_path / "bode.png")
    assert (tmp_path / "bode.png").stat().st_size > 5000


def two_by_two():
    """y = [[1, 2], [3, 4]] u / (1 + s / 2)."""
    d = Diagram("two by two")
    (
        d.add("u", Constant([0.5, 0.2]))
        >> d.add("g", Gain([[1.0, 2.0], [3.0, 4.0]]))
        >> d.add("lag", FirstOrder(1.0, 0.5))
    )
    return d


@pytest.mark.parametrize("method", ["linear", "sine", "multisine"])
@pytest.mark.parametrize(
    ("a", "b", "gain"),
    [("u.y[0]", "lag.y[1]", 3.0), ("u.y[1]", "lag.y[0]", 2.0), ("g.y[0]", "lag.y[1]", 0.0)],
)
def test_one_component_of_an_input(method, a, b, gain):
    w = np.array([1.0, 2.0])
    found = frequency_response(two_by_two(), a, b, w, method=method, rtol=1e-9)
    assert np.abs(found.response - gain / (1 + 0.5j * w)).max() < 1e-6


def test_a_component_of_itself_and_one_that_is_not_there():
    found = frequency_response(two_by_two(), "g.y[1]", "g.y[1]", [1.0], method="sine")
    assert abs(found.response[0] - 1.0) < 1e-9
    with pytest.raises(PlantloopError, match=r"'u.y' has 2 components, and \[2\] is asked for"):
        frequency_response(two_by_two(), "u.y[2]", "lag.y[0]", [1.0])
    with pytest.raises(PlantloopError, match=r"Name one component of each, as 'plant.y\[0\]'"):
        frequency_response(two_by_two(), "u.y", "lag.y[0]", [1.0])


def test_a_component_of_an_inport_of_a_sampled_diagram():
    """Held for T = 0.1 before 1 / (1 + s / 2), seen at the ticks: (1 - p) / (z - p) with p = e^(-2 T)."""
    s = Diagram("sampled")
    s.inport("f", 3) >> s.add("hold", Hold(sample=0.1)) >> s.add("lag", FirstOrder(1.0, 0.5))
    z = np.exp(0.1j)
    pole = np.exp(-0.2)
    found = frequency_response(s, "f[2]", "lag.y[2]", [1.0]).response
    assert abs(found[0] - (1 - pole) / (z - pole)) < 1e-9
    assert abs(frequency_response(s, "f[2]", "lag.y[1]", [1.0]).response[0]) < 1e-12


def test_linear_models_of_single_components():
    m = linearize(two_by_two(), ["u.y[1]", "g.y[0]"], ["lag.y"])
    assert np.allclose(m.B, [[4.0, 2.0], [8.0, 0.0]])


def test_a_frequency_twice_is_one_sine_and_two_that_are_too_near_are_refused():
    """Two sines of one frequency added up with different phases, and half of the sum was given to each."""
    d = Diagram("lag")
    d.add("u", Constant(0.0))
    d.add("lag", TransferFunction([2.0, 1.0], [1.0, 0.8, 4.0]))
    d.connect("u.y", "lag.u")
    w = [2.0, 1.0, 2.0]
    found = frequency_response(d, "u.y", "lag.y", w, "multisine")
    s = 1j * np.array(w)
    assert found.frequency.tolist() == w
    assert np.allclose(found.response, (2 * s + 1) / (s**2 + 0.8 * s + 4), rtol=1e-6)
    near = [1.0, 1.0 + 1e-7]
    with pytest.raises(PlantloopError, match="cannot be told apart in the .* two are too near"):
        frequency_response(d, "u.y", "lag.y", near, "multisine")
    s = 1j * np.array(near)
    alone = frequency_response(d, "u.y", "lag.y", near, "sine").response
    assert np.allclose(alone, (2 * s + 1) / (s**2 + 0.8 * s + 4), rtol=1e-6)
