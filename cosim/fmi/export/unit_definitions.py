"""Units in descriptions: a name, and where it is known what it is in base units of the SI."""

from __future__ import annotations

from lxml import etree

BASE = {"kilogram": "kg", "meter": "m", "second": "s", "ampere": "A", "kelvin": "K", "mole": "mol",
        "candela": "cd", "radian": "rad"}  # fmt: skip

COMMON = {
    "s": {"s": 1}, "m": {"m": 1}, "kg": {"kg": 1}, "A": {"A": 1}, "K": {"K": 1}, "rad": {"rad": 1},
    "m/s": {"m": 1, "s": -1}, "m/s^2": {"m": 1, "s": -2}, "rad/s": {"rad": 1, "s": -1},
    "rad/s^2": {"rad": 1, "s": -2}, "1/s": {"s": -1}, "Hz": {"s": -1}, "N": {"kg": 1, "m": 1, "s": -2},
    "N*m": {"kg": 1, "m": 2, "s": -2}, "Nm": {"kg": 1, "m": 2, "s": -2}, "N.m": {"kg": 1, "m": 2, "s": -2},
    "J": {"kg": 1, "m": 2, "s": -2},
    "W": {"kg": 1, "m": 2, "s": -3}, "V": {"kg": 1, "m": 2, "s": -3, "A": -1},
    "kg*m^2": {"kg": 1, "m": 2}, "N/m": {"kg": 1, "s": -2}, "N*s/m": {"kg": 1, "s": -1},
}  # fmt: skip
"""Units that are used every day, by exponents; the library that knows all others takes 2 s to load."""


def unit_definition(name: str) -> etree._Element:
    """The element `Unit`; of what pint does not know, or with broken exponents, its name alone."""
    element = etree.Element("Unit", name=name)
    found = (COMMON[name], 1.0, 0.0) if name in COMMON else _in_base_units(name)
    if found is not None:
        exponents, factor, offset = found
        attributes = {base: str(n) for base, n in exponents.items()}
        if factor != 1.0:
            attributes["factor"] = repr(factor)
        if offset != 0.0:
            attributes["offset"] = repr(offset)
        etree.SubElement(element, "BaseUnit", attributes)
    return element


def _in_base_units(name: str) -> tuple[dict[str, int], float, float] | None:
    """Exponents, factor and offset: base = factor * value + offset."""
    import pint

    try:
        registry = pint.get_application_registry()
        unit = registry.Unit(name)
        zero = registry.Quantity(0.0, unit).to_base_units()
        one = registry.Quantity(1.0, unit).to_base_units()
        exponents = {BASE[word]: power for word, power in one.unit_items()}
    except Exception:  # pint raises errors of many kinds about texts that are no units
        return None
    if any(power != int(power) for power in exponents.values()):
        return None
    offset = float(zero.magnitude)
    factor = float(round(one.magnitude - zero.magnitude, 12) if offset else one.magnitude)
    return {base: int(power) for base, power in exponents.items()}, factor, offset
