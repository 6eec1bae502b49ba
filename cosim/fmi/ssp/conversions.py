"""Units of connectors and values: the conversion after which both ends mean the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cosim.fmi.description import FMUDescription, Variable
from cosim.fmi.ssp.ssp_errors import SSPError, fault
from cosim.fmi.ssp.structure import BaseUnit, ConnectorLink, Transformation

ROUNDED = 1e-6  # of the factor and offset of a unit, written with a few digits


def unit_of_variable(
    v: Variable, described: FMUDescription, units: Mapping[str, BaseUnit]
) -> BaseUnit | None:
    """The unit of a variable as its FMU defines it, else as the system structure does (`units`)."""
    return _of(v, _in_base(v.unit, described) or units.get(v.unit))


def unit_of_connector(
    name: str,
    units: Mapping[str, BaseUnit],
    described: FMUDescription | None = None,
    v: Variable | None = None,
) -> BaseUnit | None:
    """The unit of this name as the system structure defines it, else as the FMU of the component does.

    v : the variable of the FMU that the connector stands for
    """
    return _of(v, units.get(name) or (None if described is None else _in_base(name, described)))


def _of(v: Variable | None, unit: BaseUnit | None) -> BaseUnit | None:
    """A unit as a variable has it."""
    return replace(unit, relative=True) if unit and v and v.relative_quantity else unit


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

    Definitions count, not names; but units of one name are one if they differ by rounding of their digits
    only, or in what they measure, which some tools leave out.

    Raises
    ------
    SSPError      the units do not measure the same
    """
    if not connection.convert_units or start is None or end is None:
        return None
    alike = start.name == end.name
    if dict(start.exponents) != dict(end.exponents):
        if alike:
            return None
        raise units_differ(connection, start.name, end.name, file)
    factor = start.factor / end.factor
    offset = 0.0 if start.relative or end.relative else (start.offset - end.offset) / end.factor
    near = ROUNDED * max(1.0, abs(end.offset / end.factor))
    if alike and abs(factor - 1.0) <= ROUNDED and abs(offset) <= near:
        return None
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
