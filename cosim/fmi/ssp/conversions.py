"""Units of connectors and values: the conversion after which both ends mean the same."""

from __future__ import annotations

from collections.abc import Mapping

from cosim.fmi.description import FMUDescription, Variable
from cosim.fmi.ssp.ssp_errors import SSPError, fault
from cosim.fmi.ssp.structure import BaseUnit, ConnectorLink, Transformation


def unit_of_variable(
    v: Variable, described: FMUDescription, units: Mapping[str, BaseUnit]
) -> BaseUnit | None:
    """The unit of a variable as its FMU defines it, else as the system structure does (`units`)."""
    return _in_base(v.unit, described) or units.get(v.unit)


def unit_of_connector(
    name: str, described: FMUDescription | None, units: Mapping[str, BaseUnit]
) -> BaseUnit | None:
    """The unit of this name as the system structure defines it, else as the FMU of the component does."""
    return units.get(name) or (None if described is None else _in_base(name, described))


def _in_base(name: str, described: FMUDescription) -> BaseUnit | None:
    found = described.units.get(name)
    if found is None or found.exponents is None:
        return None
    exponents = {base: n for base, n in found.exponents.items() if n}
    return BaseUnit(name, exponents, found.factor, found.offset)


def conversion(
    connection: ConnectorLink, start: BaseUnit | None, end: BaseUnit | None, file: str
) -> Transformation | None:
    """The conversion from the unit of the start to that of the end; None if the numbers do not change.

    Raises
    ------
    SSPError      the units do not measure the same
    """
    if not connection.convert_units or start is None or end is None or start.name == end.name:
        return None
    if dict(start.exponents) != dict(end.exponents):
        raise units_differ(connection, start.name, end.name, file)
    factor = start.factor / end.factor
    offset = (start.offset - end.offset) / end.factor
    return None if factor == 1.0 and offset == 0.0 else Transformation(factor, offset)


def units_differ(connection: ConnectorLink, start: str, end: str, file: str) -> SSPError:
    """The error of a connection between different quantities."""
    names = [".".join(n for n in side if n) for side in (connection.start, connection.end)]
    return fault(
        file,
        f"'{names[0]}' is in {start}, but '{names[1]}' is in {end}: they do not measure the same",
        connection.line,
        "Correct a unit, or set suppressUnitConversion where it is meant.",
    )
