"""Conversions of units against the constants that SciPy lists (CODATA and definitions)."""

import numpy as np
import pytest
from numpy.testing import assert_allclose as close
from scipy import constants

from blocks import BlockError, UnitConversion
from tests.helpers.solo import Solo


def converted(block, *u):
    return Solo(block, {"u": len(u)}).outputs([np.array(u)])["y"]


@pytest.mark.parametrize(
    ("source", "target", "factor"),
    [
        ("rad", "deg", 180 / np.pi),
        ("deg", "rad", constants.degree),
        ("inch", "m", constants.inch),
        ("mile/hour", "m/s", constants.mph),
        ("lbf", "N", constants.lbf),
        ("bar", "Pa", constants.bar),
        ("rpm", "rad/s", np.pi / 30),
        ("mm", "m", 1e-3),
    ],
)
def test_factors(source, target, factor):
    close(converted(UnitConversion(source, target), 2.0, -3.0), [2 * factor, -3 * factor], rtol=1e-12)


def test_temperatures_have_a_bias():
    for old, name in (("degC", "Celsius"), ("degF", "Fahrenheit")):
        wanted = constants.convert_temperature([20.0, -5.0], name, "Kelvin")
        close(converted(UnitConversion(old, "K"), 20.0, -5.0), wanted, rtol=1e-12)


def test_units_of_components():
    """One for all, or one each; None is passed as it is."""
    found = converted(UnitConversion(["m", "degC", None], ["mm", "K", "s"]), 2.0, 20.0, 7.0)
    close(found, [2000.0, 293.15, 7.0], rtol=1e-12)
    close(converted(UnitConversion(["m", "inch"], "mm"), 2.0, 3.0), [2000.0, 76.2], rtol=1e-12)
    close(converted(UnitConversion("m", ["mm", "km"]), 2.0, 3.0), [2000.0, 0.003], rtol=1e-12)


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ("m", "s", "measures something else"),
        (["m", "s"], ["m", "s", "s"], "2 units of u for 3 of y"),
        ("dB", "m", "logarithmic"),
        ("rad", [], "two units"),
    ],
)
def test_what_is_no_conversion_is_refused(source, target, words):
    with pytest.raises(BlockError, match=words):
        UnitConversion(source, target)


def test_a_logarithmic_unit_stays_itself():
    assert converted(UnitConversion("dB", "dB"), 3.0) == 3.0
