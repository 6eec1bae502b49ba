"""What connections of a system can begin and end at: ports of its elements and its own connectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from blocks.errors import near_miss
from cosim.fmi.description import FMUDescription
from cosim.fmi.ssp.conversions import unit_of_connector, unit_of_variable
from cosim.fmi.ssp.ssp_errors import fault
from cosim.fmi.ssp.structure import BaseUnit, Connector, ConnectorLink, StructuredSystem

Ends = tuple[str, str]
"""An element and a port of it; the connector of the system itself where the element is empty."""
LEAVING, ENTERING = ("output", "inout", "calculatedParameter"), ("input", "inout")


@dataclass(frozen=True)
class Connectors:
    """The connectors of one element by name, each looked up at once: there may be thousands.

    sources, targets : names at which connections may begin, and end
    """

    sources: dict[str, None]
    targets: dict[str, None]
    shapes: dict[str, tuple[int, ...]]
    units: dict[str, str]
    enumerations: dict[str, str]

    @staticmethod
    def of(connectors: Iterable[Connector], inside: bool = False) -> Connectors:
        """Those of an element, seen from the system around it, or from ``inside``."""
        every = list(connectors)
        leave, enter = ({c.name: None for c in every if c.kind in kinds} for kinds in (LEAVING, ENTERING))
        shapes = {c.name: c.shape for c in reversed(every)}
        units = {c.name: c.unit for c in reversed(every) if c.unit}
        enumerations = {c.name: c.enumeration for c in reversed(every) if c.enumeration}
        return Connectors(enter if inside else leave, leave if inside else enter, shapes, units, enumerations)


class ConnectionEnds:
    """The ends there are in one system.

    file : for messages; descriptions : of the FMUs of its components; inner : the systems in it
    units, enumerations : that the structure defines
    """

    def __init__(
        self,
        file: str,
        system: StructuredSystem,
        descriptions: Mapping[str, FMUDescription],
        inner: Mapping[str, StructuredSystem],
        units: Mapping[str, BaseUnit],
        enumerations: Mapping[str, Mapping[str, int]],
    ) -> None:
        self._file, self._system, self._descriptions = file, system, descriptions
        self._units, self._enumerations = units, enumerations
        self._found = {name: Connectors.of(s.connectors) for name, s in inner.items()}
        for component in system.components:
            said = Connectors.of(component.connectors)
            described = descriptions[component.name]
            self._found[component.name] = Connectors(
                {v.name: None for v in described.output_variables},
                {v.name: None for v in described.inputs},
                said.shapes,
                said.units,
                said.enumerations,
            )
        self._found[""] = Connectors.of(system.connectors, inside=True)

    def check(self, c: ConnectorLink) -> None:
        """Whether there are such ends, with these directions.

        Raises
        ------
        SSPError      there are not
        """
        for (element, port), outgoing in ((c.start, True), (c.end, False)):
            if element not in self._found:
                elements = [name for name in self._found if name]
                raise fault(
                    self._file,
                    f"a connection names the element '{element}', which is not in '{self._system.name}'; "
                    f"{near_miss(element, elements)}", c.line,
                )  # fmt: skip
            there = self._found[element]
            ports = there.sources if outgoing else there.targets
            if port not in ports:
                way = "comes from" if outgoing else "goes to"
                what = (
                    f"'{element}.{port}'" if element else f"the connector '{port}' of '{self._system.name}'"
                )
                raise fault(
                    self._file,
                    f"a connection {way} {what}, which is none that can; {near_miss(port, ports)}",
                    c.line,
                )

    def unit_name(self, end: Ends) -> str:
        """The unit of an end: that of its connector, else that of the FMU."""
        element, port = end
        said = self._found[element].units.get(port, "")
        if said or element not in self._descriptions:
            return said
        return self._descriptions[element].variable(port).unit

    def unit(self, end: Ends) -> BaseUnit | None:
        """The unit of an end as it is defined; None: it is not."""
        element, port = end
        described = self._descriptions.get(element)
        if described is None:
            return unit_of_connector(self.unit_name(end), self._units)
        variable = described.variable(port)
        if port in self._found[element].units:
            return unit_of_connector(self.unit_name(end), self._units, described, variable)
        return unit_of_variable(variable, described, self._units)

    def differ(self, c: ConnectorLink) -> bool:
        """Whether the ends have units that no numbers may pass between, but for what the connection says."""
        first, second = self.unit(c.start), self.unit(c.end)
        if not c.convert_units and self.unit_name(c.start) != self.unit_name(c.end):
            return True
        return first is not None and second is not None and replace(first, name=second.name) != second

    def items(self, end: Ends) -> Mapping[str, int]:
        """The items of an end's enumeration by name: those of its connector, else those of the FMU."""
        element, port = end
        said = self._enumerations.get(self._found[element].enumerations.get(port, ""), {})
        if said or element not in self._descriptions:
            return said
        return {name: number for number, name in self._descriptions[element].variable(port).items.items()}

    def shape(self, end: Ends) -> tuple[int, ...]:
        """The dimensions of an end."""
        element, port = end
        if element in self._descriptions:
            return self._descriptions[element].variable(port).shape
        return self._found[element].shapes[port]
