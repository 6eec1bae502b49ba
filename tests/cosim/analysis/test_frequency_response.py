"""Frequency responses: linear ones against python-control, measured ones against linear ones."""

import control
import numpy as np
import pytest

from blocks import Function, Gain, PlantloopError, StateSpace, Sum, TransferFunction, TransportDelay
from cosim import Diagram, frequency_response
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
