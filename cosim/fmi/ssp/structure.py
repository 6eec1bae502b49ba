"""A system structure as plain data: systems, components, connectors, connections, values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

INPUTS, OUTPUTS = ("input", "inout"), ("output", "calculatedParameter", "constant", "local")


@dataclass(frozen=True)
class Connector:
    """A port of a component or of a system; type as in FMI 3.0, unit by its name, shape of an array."""

    name: str
    kind: str
    type: str = ""
    unit: str = ""
    enumeration: str = ""
    line: int | None = None
    shape: tuple[int, ...] = ()


@dataclass(frozen=True)
class Transformation:
    """target = factor * source + offset, or by a table of values.

    table : source -> target; names of an enumeration's items as texts
    """

    factor: float = 1.0
    offset: float = 0.0
    table: Mapping[Any, Any] = field(default_factory=dict)

    @property
    def names_items(self) -> bool:
        """Whether it is a table of items of enumerations."""
        return any(isinstance(source, str) for source in self.table)

    def of(self, value: Any) -> Any:
        """The transformed value, or each of several."""
        if isinstance(value, tuple):
            return tuple(self.of(v) for v in value)
        return self.table.get(value, value) if self.table else self.factor * value + self.offset

    def then(self, other: Transformation) -> Transformation:
        """This transformation followed by another; both linear."""
        return Transformation(other.factor * self.factor, other.factor * self.offset + other.offset)


@dataclass(frozen=True)
class ConnectorLink:
    """A connection from one connector to another; an element "" is the system itself.

    start_index, end_index : one component of an array, counted from 1 along each dimension; (): all of it
    """

    start: tuple[str, str]
    end: tuple[str, str]
    transformation: Transformation | None = None
    convert_units: bool = True
    line: int | None = None
    start_index: tuple[int, ...] = ()
    end_index: tuple[int, ...] = ()


@dataclass(frozen=True)
class BaseUnit:
    """base value = factor * value + offset; exponents of the SI base units.

    relative : it is of differences (relativeQuantity of FMI), for which no offset counts
    """

    name: str
    exponents: Mapping[str, int]
    factor: float = 1.0
    offset: float = 0.0
    relative: bool = False


@dataclass(frozen=True)
class ParameterValue:
    """The value of a parameter: a number, a truth value, a text, bytes, or a tuple of numbers.

    change : what a mapping does to it, after the conversion of its unit if there is to be one
    unit : as it is defined where the value is written; None: it has none, or it is not defined there
    items : of the enumeration that is named with a value by its item; {}: none is
    file, line : where it is given
    """

    name: str
    value: Any
    type: str
    unit: BaseUnit | None = None
    line: int | None = None
    file: str = ""
    change: Transformation | None = None
    convert_units: bool = True
    items: Mapping[str, int] = field(default_factory=dict)

    def changed(self, converted: Any = None) -> Any:
        """The transformed value; `converted` is the value in the reader's unit, None: as it is written."""
        value = self.value if converted is None else converted
        return value if self.change is None else self.change.of(value)


@dataclass(frozen=True)
class FMUComponent:
    """An FMU: `content` is its file; kind "cs", "me" or None."""

    name: str
    source: str
    content: bytes
    kind: str | None
    connectors: tuple[Connector, ...]
    values: tuple[ParameterValue, ...] = ()
    sample: str | None = None
    offset: str = "0"
    line: int | None = None


@dataclass(frozen=True)
class StructuredSystem:
    """A system with what is in it. Values are of its own connectors and of those below, "element.name"."""

    name: str
    connectors: tuple[Connector, ...]
    components: tuple[FMUComponent, ...]
    systems: tuple[StructuredSystem, ...]
    connections: tuple[ConnectorLink, ...]
    dictionaries: Mapping[str, str] = field(default_factory=dict)  # element -> signal dictionary
    values: tuple[ParameterValue, ...] = ()
    line: int | None = None


@dataclass(frozen=True)
class DefaultExperiment:
    """The intended run [s]."""

    start: float | None = None
    stop: float | None = None


@dataclass(frozen=True)
class SystemStructure:
    """A whole package.

    file : for messages; version : "1.0" or "2.0"; enumerations : name -> item -> value
    """

    file: str
    version: str
    name: str
    system: StructuredSystem
    units: Mapping[str, BaseUnit] = field(default_factory=dict)
    enumerations: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    experiment: DefaultExperiment = DefaultExperiment()
