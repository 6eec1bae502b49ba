"""Units as texts: against pint, whose names they are; what may be converted into what."""

import math
import pickle
import subprocess
import sys

import pint
import pytest

from blocks import BlockError, UnitConversion
from blocks.contract.units import BASE, EVERYDAY, ONE, PhysicalUnit, units_of

REGISTRY = pint.UnitRegistry()
OURS = ("Nm", "%", "Ω")  # no names of pint
WORDS = {"kg": "kilogram", "m": "meter", "s": "second", "A": "ampere", "K": "kelvin", "mol": "mole",
         "cd": "candela", "rad": "radian"}  # fmt: skip


def of_pint(text):
    """Factor and powers of the base by pint; differences of temperatures for degrees Celsius."""
    one = REGISTRY.Quantity(1.0, text.replace("degC", "delta_degC")).to_base_units()
    return one.magnitude, {str(w): float(p) for w, p in one.unit_items()}


def powers(unit):
    found = zip(BASE, unit.powers, strict=True)
    return {WORDS[w]: float(p) for w, p in found if p and w != "cycle"}


def test_words_of_every_day_mean_what_they_mean_to_pint():
    words = sorted(set(EVERYDAY) - set(OURS))
    assert len(words) > 400
    for word in words:
        factor, expected = of_pint(word)
        unit = PhysicalUnit.of(word)
        assert math.isclose(unit.factor, factor, rel_tol=1e-12), word
        assert powers(unit) == expected, word


TEXTS = ["N*m", "m/s^2", "m s**-2", "kg*m**2/s", "V/Hz^(1/2)", "J/(kg*K)", "kN/mm", "m/s/s", "A*h", "1/s",
         "m^-1.5", "g*cm^2", "rad/s", "deg/min", "km/h", "lbf*inch",
         "furlong/fortnight", "psi"]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_products_quotients_and_powers_are_those_of_pint(text):
    factor, expected = of_pint(text)
    unit = PhysicalUnit.of(text)
    assert math.isclose(unit.factor, factor, rel_tol=1e-11)
    assert powers(unit) == pytest.approx(expected)


@pytest.mark.parametrize("text, same", [("kg.m2", "kg*m^2"), ("N m", "N*m"), ("m/s2", "m/s^2"), ("Nm", "J")])
def test_the_ways_of_modelica_and_of_papers_are_understood(text, same):
    assert PhysicalUnit.of(text).is_same(PhysicalUnit.of(same))


def test_temperatures_have_an_offset_and_no_products():
    gain, bias = PhysicalUnit.of("degC").conversion(PhysicalUnit.of("degF"))
    assert gain * 100 + bias == pytest.approx(212, rel=1e-9)
    assert PhysicalUnit.of("degC").times(PhysicalUnit.of("m")) is None


def test_cycles_are_no_radians_and_other_numbers_are_numbers():
    of = PhysicalUnit.of
    assert not of("Hz").is_kind_of(of("rad/s")) and not of("rad/s").is_kind_of(of("Hz"))
    assert of("Hz").is_same(of("1/s")) and of("rad/s").is_same(of("1/s"))
    assert of("rpm").is_kind_of(of("rad/s")) and not of("rpm").is_same(of("rad/s"))
    assert not of("deg").is_same(of("rad")) and of("rad").is_same(ONE)
    assert not of("N*m").is_kind_of(of("N"))


@pytest.mark.parametrize("a, b, power, expected", [
    ("mm/s", "s", 1, "mm"), ("N/V", "V", 1, "N"), ("rad", "s", -1, "rad/s"), ("m/s", "m/s", -1, "1"),
])  # fmt: skip
def test_products_are_written_as_their_factors_were(a, b, power, expected):
    found = PhysicalUnit.of(a).times(PhysicalUnit.of(b), power)
    assert found.name == expected
    assert found.is_same(PhysicalUnit.of(expected))


def test_a_unit_written_by_us_is_read_again():
    for text in TEXTS:
        made = PhysicalUnit.of(text).times(PhysicalUnit.of("s"), -1)
        assert made.is_same(PhysicalUnit.of(made.name)), text


@pytest.mark.parametrize(
    "text",
    ["zork", "m^", "m/0", "()", "", "  ", "m**", "newtn", "m^1e9", "9**9**9 * m", 3, None, ["m"], "(m"],
)
def test_what_is_no_unit_is_refused(text):
    with pytest.raises(BlockError, match="unit"):
        PhysicalUnit.of(text)


def test_a_near_miss_is_offered():
    with pytest.raises(BlockError, match="did you mean 'newton'"):
        PhysicalUnit.of("newtn")


@pytest.mark.parametrize("name", ["dB", "Np", "dBm", "octave"])
def test_logarithmic_scales_are_known_by_name_alone(name):
    """20 dB are a factor of 100, 10 dB one of 10: no factor and offset convert them; pint's line did."""
    unit = PhysicalUnit.of(name)
    assert unit.powers is None and unit == PhysicalUnit.of(name)
    for pair in ((name, "1"), ("1", name)):
        with pytest.raises(BlockError, match=f"{name} is of a logarithmic scale; use a Function"):
            UnitConversion(*pair)
    UnitConversion(name, name)


def test_units_of_files_have_their_own_definitions():
    """A file may call anything by any name; where that is ours, ours knows more."""
    own = PhysicalUnit.of_file("U/min", {"s": -1, "rad": 1}, 2 * math.pi / 60, 0.0)
    assert own.is_same(PhysicalUnit.of("rpm"))
    assert not PhysicalUnit.of_file("Hz", {"s": -1}, 1.0, 0.0).is_kind_of(PhysicalUnit.of("rad/s"))
    odd = PhysicalUnit.of_file("m", {"m": 1}, 1e-3, 0.0)  # metres by name, millimetres by definition
    assert odd.is_same(PhysicalUnit.of("mm"))
    unknown = PhysicalUnit.of_file("zork", None, 1.0, 0.0)
    assert unknown.is_same(PhysicalUnit.of("m")) and unknown.times(ONE) is None


def test_units_travel():
    unit = PhysicalUnit.of("N*m/rad")
    assert pickle.loads(pickle.dumps(unit)) == unit


def test_several_units_and_none():
    assert units_of("", "u") == ()
    assert [None if u is None else u.name for u in units_of(["m", ""], "u")] == ["m", None]
    with pytest.raises(BlockError, match="unit of u"):
        units_of(3, "u")


@pytest.mark.parametrize("a, b", [("m", "s"), ("rad/s", "Hz"), ("", "m"), (["m", "m"], ["mm", "mm", "mm"])])
def test_conversions_that_mean_nothing_are_refused(a, b):
    with pytest.raises(BlockError, match="UnitConversion"):
        UnitConversion(a, b)


def test_everyday_units_do_not_load_pint():
    """It takes seconds."""
    code = (
        "import sys, blocks; from blocks.contract.units import PhysicalUnit as U; U.of('kg*m^2/s');"
        "blocks.UnitConversion('rad', 'deg'); assert 'pint' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_unit_of_a_file_keeps_its_name_in_products():
    rope = PhysicalUnit.of_file("rope", {"m": 1}, 6.0, 0.0)
    speed, area = rope.times(PhysicalUnit.of("s"), -1), rope.power(2)
    assert (speed.name, speed.factor, area.name, area.factor) == ("rope/s", 6.0, "rope^2", 36.0)
    assert area.times(rope, -1).is_same(rope) and rope.times(rope, -1).name == "1"
