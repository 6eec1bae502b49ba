"""Units of connectors: the conversion that a connection needs so that both ends mean the same."""

from __future__ import annotations

from collections.abc import Mapping

from cosim.fmi.ssp.ssp_errors import SSPError, fault
from cosim.fmi.ssp.structure import BaseUnit, ConnectorLink, Transformation


def conversion(
    connection: ConnectorLink, start: str, end: str, units: Mapping[str, BaseUnit], file: str
) -> Transformation | None:
    """The conversion from the unit of the start to that of the end; None if the numbers do not change.

    Raises
    ------
    SSPError      the units do not measure the same
    """
    if not connection.convert_units or not start or not end or start == end:
        return None
    first, second = units.get(start), units.get(end)
    if first is None or second is None:
        return None
    if dict(first.exponents) != dict(second.exponents):
        raise units_differ(connection, start, end, file)
    factor = first.factor / second.factor
    offset = (first.offset - second.offset) / second.factor
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
