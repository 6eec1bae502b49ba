"""Unit names of Param_Unit and the factor that makes Newton's law hold in them.

Model numbers are never rescaled, because expressions contain raw constants; only inertial terms (mass and
inertia) are multiplied by ``inertia_factor``. Factors are exact fractions, so that a consistent set of
units gives exactly 1.0.

Source: MotionSolve reference guide, Param_Unit; international yard and pound agreement of 1959.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from blocks.errors import near_miss

_INCH = Fraction("0.0254")  # m
_POUND = Fraction("0.45359237")  # kg
_G = Fraction("9.80665")  # m/s^2, standard gravity
_POUND_FORCE = _POUND * _G  # N

# One entry per name the format lists, in SI. "Angstorm" is how the format spells it.
UNITS: Mapping[str, Mapping[str, Fraction]] = {
    "mass": {  # kg
        "KILOGRAM": Fraction(1),
        "GRAM": Fraction("1e-3"),
        "MILLIGRAM": Fraction("1e-6"),
        "MICROGRAM": Fraction("1e-9"),
        "NANOGRAM": Fraction("1e-12"),
        "MEGAGRAM": Fraction(1000),
        "TONNE": Fraction(1000),
        "POUND_MASS": _POUND,
        "KPOUND_MASS": 1000 * _POUND,
        "OUNCE_MASS": _POUND / 16,
        "US_TON": 2000 * _POUND,
        "SLUG": _POUND_FORCE / (12 * _INCH),
        "SLINCH": _POUND_FORCE / _INCH,
    },
    "length": {  # m
        "METER": Fraction(1),
        "KILOMETER": Fraction(1000),
        "CENTIMETER": Fraction("1e-2"),
        "MILLIMETER": Fraction("1e-3"),
        "MICROMETER": Fraction("1e-6"),
        "NANOMETER": Fraction("1e-9"),
        "ANGSTORM": Fraction("1e-10"),
        "ANGSTROM": Fraction("1e-10"),
        "INCH": _INCH,
        "MILLIINCH": _INCH / 1000,
        "MILS": _INCH / 1000,
        "MICROINCH": _INCH / 1_000_000,
        "FOOT": 12 * _INCH,
        "YARD": 36 * _INCH,
        "MILE": 5280 * 12 * _INCH,
    },
    "time": {  # s
        "SECOND": Fraction(1),
        "MILLISECOND": Fraction("1e-3"),
        "MICROSECOND": Fraction("1e-6"),
        "NANOSECOND": Fraction("1e-9"),
        "MINUTE": Fraction(60),
        "HOUR": Fraction(3600),
        "DAY": Fraction(86400),
    },
    "force": {  # N
        "NEWTON": Fraction(1),
        "KNEWTON": Fraction(1000),
        "MEGANEWTON": Fraction(1_000_000),
        "CENTINEWTON": Fraction("1e-2"),
        "MILLINEWTON": Fraction("1e-3"),
        "MICRONEWTON": Fraction("1e-6"),
        "NANONEWTON": Fraction("1e-9"),
        "DYNE": Fraction("1e-5"),
        "KILOGRAM_FORCE": _G,
        "POUND_FORCE": _POUND_FORCE,
        "KPOUND_FORCE": 1000 * _POUND_FORCE,
        "OUNCE_FORCE": _POUND_FORCE / 16,
        "POUNDAL": _POUND * 12 * _INCH,
    },
}


def unit_name(quantity: str, name: str) -> str:
    """The name as the table spells it; letter case, blanks and underscores do not matter.

    Raises
    ------
    ValueError    when the format has no such unit; offers the near miss
    """
    folded = re.sub(r"[\s_]+", "", name).upper()
    for known in UNITS[quantity]:
        if known.replace("_", "") == folded:
            return known
    raise ValueError(f"is not a {quantity} unit; {near_miss(name.strip().upper(), UNITS[quantity])}")


def inertia_factor(mass: str, length: str, time: str, force: str) -> float:
    """Factor on mass and inertia that makes F = factor m a hold in these units.

    factor = (mass length / time^2 in SI) / (force in SI); mm, kg, s, N give 1e-3.
    """
    one_mass_acceleration = UNITS["mass"][mass] * UNITS["length"][length] / UNITS["time"][time] ** 2
    return float(one_mass_acceleration / UNITS["force"][force])
