import pint
import pytest

from plant.elements import Param_Unit
from plant.elements.units import UNITS, inertia_factor, unit_name
from plant.reporting import ModelProblems


@pytest.mark.parametrize(
    ("mass", "length", "time", "force", "factor"),
    [
        ("KILOGRAM", "METER", "SECOND", "NEWTON", 1.0),
        ("KILOGRAM", "MILLIMETER", "SECOND", "NEWTON", 1e-3),
        ("TONNE", "MILLIMETER", "SECOND", "NEWTON", 1.0),
        ("GRAM", "CENTIMETER", "SECOND", "DYNE", 1.0),
        ("SLUG", "FOOT", "SECOND", "POUND_FORCE", 1.0),
        ("SLINCH", "INCH", "SECOND", "POUND_FORCE", 1.0),
        ("POUND_MASS", "FOOT", "SECOND", "POUNDAL", 1.0),
        ("KILOGRAM", "METER", "MILLISECOND", "MEGANEWTON", 1.0),
        # 1 lbm in/s^2 in lbf is 1/386.0886: the g_c of the inch-pound system
        ("POUND_MASS", "INCH", "SECOND", "POUND_FORCE", 0.0254 / 9.80665),
    ],
)
def test_inertia_factor_is_exact(mass: str, length: str, time: str, force: str, factor: float) -> None:
    assert inertia_factor(mass, length, time, force) == factor


def test_every_listed_name_is_found_in_any_spelling() -> None:
    for quantity, names in UNITS.items():
        for name in names:
            assert unit_name(quantity, name.title().replace("_", " ")) == name


def test_gravity_of_a_pound() -> None:
    """A pound mass weighs a pound force under standard gravity, 9.80665 m/s^2 in feet."""
    assert inertia_factor("POUND_MASS", "FOOT", "SECOND", "POUND_FORCE") * 9.80665 / 0.3048 == pytest.approx(
        1
    )


def test_param_unit() -> None:
    mmks = Param_Unit(length_unit="Millimeter", mass_unit="kilogram", time_unit="SECOND", force_unit="newton")
    assert mmks.length_unit == "MILLIMETER"
    assert mmks.factor == 1e-3
    assert Param_Unit().factor == 1.0
    assert Param_Unit(mass_mult_factor=2).factor == 2.0


def test_unknown_unit() -> None:
    with pytest.raises(
        ModelProblems, match=r"force_unit='Newtons' is not a force unit; did you mean 'NEWTON'\?"
    ):
        Param_Unit(force_unit="Newtons")


PINT = {
    "mass": {"KILOGRAM": "kg", "GRAM": "g", "MILLIGRAM": "mg", "MICROGRAM": "ug", "NANOGRAM": "ng",
             "MEGAGRAM": "Mg", "TONNE": "t", "POUND_MASS": "lb", "KPOUND_MASS": "kilolb", "OUNCE_MASS": "oz",
             "US_TON": "short_ton", "SLUG": "slug", "SLINCH": "slinch"},
    "length": {"METER": "m", "KILOMETER": "km", "CENTIMETER": "cm", "MILLIMETER": "mm", "MICROMETER": "um",
               "NANOMETER": "nm", "ANGSTORM": "angstrom", "ANGSTROM": "angstrom", "INCH": "inch",
               "MILLIINCH": "milliinch", "MILS": "thou", "MICROINCH": "microinch", "FOOT": "foot",
               "YARD": "yard", "MILE": "mile"},
    "time": {"SECOND": "s", "MILLISECOND": "ms", "MICROSECOND": "us", "NANOSECOND": "ns", "MINUTE": "min",
             "HOUR": "h", "DAY": "day"},
    "force": {"NEWTON": "N", "KNEWTON": "kN", "MEGANEWTON": "MN", "CENTINEWTON": "cN", "MILLINEWTON": "mN",
              "MICRONEWTON": "uN", "NANONEWTON": "nN", "DYNE": "dyn", "KILOGRAM_FORCE": "kgf",
              "POUND_FORCE": "lbf", "KPOUND_FORCE": "kip", "OUNCE_FORCE": "ounce_force",
              "POUNDAL": "poundal"},
}  # fmt: skip


def test_every_unit_is_that_of_pint() -> None:
    registry = pint.UnitRegistry()
    for quantity, base in (("mass", "kg"), ("length", "m"), ("time", "s"), ("force", "N")):
        assert PINT[quantity].keys() == UNITS[quantity].keys()
        for name, known in PINT[quantity].items():
            expected = registry.Quantity(1.0, known).to(base).magnitude
            assert float(UNITS[quantity][name]) == pytest.approx(expected, rel=1e-12), name
