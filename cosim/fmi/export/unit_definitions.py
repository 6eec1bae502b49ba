"""Units in descriptions: a name and, if known, the conversion to base units of the SI."""

from __future__ import annotations

from lxml import etree

from blocks.contract.units import BASE, PhysicalUnit
from blocks.errors import BlockError


def unit_definition(name: str) -> etree._Element:
    """The element `Unit`; only the name for units unknown to pint, logarithmic ones and broken powers."""
    element = etree.Element("Unit", name=name)
    found = _in_base_units(name)
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
    try:
        unit = PhysicalUnit.of(name)
    except BlockError:
        return None
    if unit.powers is None:
        return None
    powers = dict(zip(BASE, unit.powers, strict=True))
    del powers["cycle"]  # FMI has none
    if any(power.denominator != 1 for power in powers.values()):
        return None
    return {base: int(power) for base, power in powers.items() if power}, unit.factor, unit.offset
