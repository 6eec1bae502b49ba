"""Units in the description of an exported FMU: exponents, factor and offset are those of tables of units."""

import math

import pytest

from cosim.fmi.export.unit_definitions import unit_definition

# exponents of base units, factor, offset: value in base units = factor * value + offset
UNITS = {
    "km/h": ({"m": 1, "s": -1}, 1 / 3.6, 0.0),
    "N*m": ({"kg": 1, "m": 2, "s": -2}, 1.0, 0.0),
    "degC": ({"K": 1}, 1.0, 273.15),
    "degF": ({"K": 1}, 5 / 9, 273.15 - 32 * 5 / 9),
    "rpm": ({"rad": 1, "s": -1}, 2 * math.pi / 60, 0.0),
    "deg": ({"rad": 1}, math.pi / 180, 0.0),
    "V": ({"kg": 1, "m": 2, "s": -3, "A": -1}, 1.0, 0.0),
    "g": ({"kg": 1}, 1e-3, 0.0),
    "Hz": ({"s": -1}, 1.0, 0.0),
    "1/s": ({"s": -1}, 1.0, 0.0),
}


@pytest.mark.parametrize("name", UNITS)
def test_base_units(name):
    exponents, factor, offset = UNITS[name]
    element = unit_definition(name)
    assert (element.tag, element.get("name")) == ("Unit", name)
    (base,) = element
    told = dict(base.attrib)
    assert float(told.pop("factor", "1")) == pytest.approx(factor, rel=1e-12)
    assert float(told.pop("offset", "0")) == pytest.approx(offset, rel=1e-12)
    assert {unit: int(power) for unit, power in told.items()} == exponents
    assert ("factor" in base.attrib, "offset" in base.attrib) == (factor != 1.0, offset != 0.0)


@pytest.mark.parametrize("name", ["m^0.5", "sheep per furrow", "dB"])
def test_of_what_fmi_cannot_say_there_is_the_name(name):
    element = unit_definition(name)
    assert element.get("name") == name and len(element) == 0
