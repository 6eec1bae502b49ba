"""A diagram of FMUs as an SSP package: SystemStructure.ssd, one parameter set, the FMUs."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from blocks.arguments import number
from blocks.contract.block import Block
from blocks.errors import shown
from cosim.compile.netlist import Inport, Netlist, Port
from cosim.diagram import Diagram
from cosim.fmi.description import FLOATS, FMUDescription, Variable
from cosim.fmi.fmi_errors import FMUError
from cosim.fmi.fmu import FMU
from cosim.fmi.ssp.drawn_connections import PARTS_OF_CONNECTIONS, connections_of, has_arrays, shape_at
from cosim.fmi.ssp.parameter_texts import NEWER_TYPES, write_value
from cosim.fmi.ssp.ssd_reader import FMU_TYPE, NAMESPACES, STEP, VERSIONS, tag
from cosim.fmi.ssp.ssp_errors import SSPError
from cosim.fmi.ssp.wires import OpenInput
from cosim.fmi.values import checked_value
from cosim.names import mapped

VALUES = "resources/parameters.ssv"
WORDS = {
    "Float64": "Real",
    "Float32": "Real",
    "Boolean": "Boolean",
    "String": "String",
    "Enumeration": "Enumeration",
}
KINDS = {"cs": "CoSimulation", "me": "ModelExchange"}


def export_ssp(
    diagram: Diagram,
    path: str | os.PathLike[str],
    *,
    parameters: Mapping[str, Any] | None = None,
    start: float | None = None,
    stop: float | None = None,
    version: str | None = None,
) -> Path:
    """Write a diagram of FMUs as an SSP package that other tools read.

    Parameters
    ----------
    parameters : dict       "motor.J" -> value, instead of what the blocks say
    start, stop : s         the default experiment; without a start it begins at the `start_time` of the FMUs
    version : str           of SSP, "1.0" or "2.0"; None: 1.0, but 2.0 where there are arrays

    Raises
    ------
    SSPError      a block is no FMU, with its name; a parameter that does not exist; arrays in version 1.0

    Communication steps are no part of the standard: they are in annotations, which `import_ssp` reads.
    Connections that convert (`LinearConnection`, `MappedConnection`) become transformations, those of single
    components of arrays have indices, `OpenInput` become values of the parameter set.
    """
    if not isinstance(diagram, Diagram):
        raise SSPError(f"export_ssp: the diagram is {shown(diagram)}, expected a Diagram of FMUs.")
    given = mapped(parameters, "parameters")
    times = [
        None if t is None else number(t, f"export_ssp: {n}", "a time [s]", error=SSPError)
        for n, t in (("start", start), ("stop", stop))
    ]
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise SSPError(f"export_ssp: the file is {shown(path)}, expected the name of an .ssp file.")
    if version is not None and (not isinstance(version, str) or version not in VERSIONS):
        raise SSPError(f"export_ssp: version is {shown(version)}, expected '1.0' or '2.0'.")
    netlist = diagram.netlist()
    arrays = any(np.ndim(v) for v in given.values()) or has_arrays(netlist)
    writer = Writer(dict(given), version or ("2.0" if arrays else "1.0"))
    times[0] = _begin(netlist, times[0])
    content = writer.description(netlist, *times)
    target = Path(os.fspath(path))
    temporary = target.with_name(f".{target.name}.part")
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("SystemStructure.ssd", content)
            if writer.values:
                archive.writestr(VALUES, writer.parameter_set())
            for name, file in writer.files.items():
                archive.write(file, name)
        os.replace(temporary, target)
    except OSError as error:
        raise SSPError(f"cannot write '{target}': {error}.", path=str(target)) from error
    finally:
        temporary.unlink(missing_ok=True)
    return target


def start_times(netlist: Netlist, path: str = "") -> Iterator[tuple[str, float]]:
    """Names of all FMUs, each with its time when a run begins [s]."""
    for name, block in netlist.nodes.items():
        if isinstance(block, Netlist):
            yield from start_times(block, f"{path}{name}.")
        elif isinstance(block, FMU):
            yield f"{path}{name}", block.start_time


def _begin(netlist: Netlist, given: float | None) -> float | None:
    """Begin of the default experiment [s], which all FMUs of a package have in common."""
    found = {time: name for name, time in start_times(netlist)}
    if len(found) > 1:
        listed = ", ".join(f"'{name}' at {time:g} s" for time, name in found.items())
        raise SSPError(
            f"export_ssp: the FMUs begin at different times: {listed}. A package has one default experiment.",
            hint="Give them the same start_time.",
        )
    own = next(iter(found), 0.0)
    if own and given is not None and given != own:
        raise SSPError(
            f"export_ssp: start={given:g}, but the FMUs begin at {own:g} s (start_time).",
            value=given,
            hint="Leave start away.",
        )
    return own if own else given


@dataclass
class Writer:
    """Collects what goes into a package.

    given : parameters by name, taken out as they are used; version : of SSP
    values : name in the parameter set -> (word of its type, value, its shape, unit)
    files : name in the package -> file
    """

    given: dict[str, Any]
    version: str
    values: dict[str, tuple[str, Any, tuple[int, ...], str]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    units: dict[str, Any] = field(default_factory=dict)

    def description(self, netlist: Netlist, start: float | None, stop: float | None) -> bytes:
        """SystemStructure.ssd."""
        spaces = {k: NAMESPACES[k] for k in ("ssd", "ssc", "ssv", "ssm")}
        root = etree.Element(
            tag("ssd", "SystemStructureDescription"), nsmap=spaces, version=self.version, name=netlist.name
        )
        self._system(root, netlist, "", top=True)
        if self.given:
            raise SSPError(
                f"export_ssp: no parameter '{next(iter(self.given))}' of an FMU in '{netlist.name}'."
            )
        if self.units:
            units = etree.SubElement(root, tag("ssd", "Units"))
            for name, unit in sorted(self.units.items()):
                one = etree.SubElement(units, tag("ssc", "Unit"), name=name)
                base = {k: str(v) for k, v in unit.exponents.items() if v}
                base |= {k: repr(v) for k, v in (("factor", unit.factor), ("offset", unit.offset))}
                etree.SubElement(one, tag("ssc", "BaseUnit"), base)
        times = {k: repr(float(v)) for k, v in (("startTime", start), ("stopTime", stop)) if v is not None}
        if times:
            etree.SubElement(root, tag("ssd", "DefaultExperiment"), times)
        return etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)

    def _system(self, parent: Any, netlist: Netlist, path: str, top: bool = False, name: str = "") -> None:
        """One system; `path` is what its values' names begin with."""
        system = etree.SubElement(parent, tag("ssd", "System"), name=name or netlist.name)
        ports = [(n, "input") for n in netlist.inports] + [(n, "output") for n in netlist.outports]
        if ports:
            connectors = etree.SubElement(system, tag("ssd", "Connectors"))
            for port, kind in ports:
                one = etree.SubElement(connectors, tag("ssd", "Connector"), name=port, kind=kind)
                etree.SubElement(one, tag("ssc", "Real"))
                self._dimensions(one, shape_at(netlist, port, kind), f"{path}{port}")
        bindings = etree.Element(tag("ssd", "ParameterBindings"))
        if top:
            for port, inport in netlist.inports.items():
                if inport.start is not None:
                    self._start(port, inport.start, shape_at(netlist, port, "input"))
            etree.SubElement(bindings, tag("ssd", "ParameterBinding"), source=VALUES)
            system.append(bindings)
        elements = etree.SubElement(system, tag("ssd", "Elements"))
        for node, block in netlist.nodes.items():
            if isinstance(block, Netlist):
                self._system(elements, block, f"{path}{node}.", name=node)
            elif isinstance(block, FMU):
                self._component(elements, node, block, path)
            elif not isinstance(block, (Inport, OpenInput, *PARTS_OF_CONNECTIONS)):
                raise self._no_fmu(f"{path}{node}", block)
        links = etree.SubElement(system, tag("ssd", "Connections"))
        self._connections(links, netlist, path)
        if not len(links):
            system.remove(links)
        if not len(elements):
            system.remove(elements)
        if top and not self.values:
            system.remove(bindings)

    @staticmethod
    def _no_fmu(name: str, block: Block) -> SSPError:
        return SSPError(
            f"export_ssp: block '{name}' is a {type(block).__name__}, no FMU: another tool could not run it.",
            path=name,
            hint="Make an FMU of it with export_fmu, and put that in its place.",
        )

    def _component(self, elements: Any, name: str, fmu: FMU, path: str) -> None:
        d = fmu.description
        source = f"resources/{Path(os.fspath(fmu.path)).name}"
        stem, k = source.removesuffix(".fmu"), 1
        while self.files.get(source, os.fspath(fmu.path)) != os.fspath(fmu.path):
            source, k = f"{stem}_{k}.fmu", k + 1
        self.files[source] = os.fspath(fmu.path)
        kind = fmu.interface.kind
        one = etree.SubElement(
            elements,
            tag("ssd", "Component"),
            name=name,
            type=FMU_TYPE,
            source=source,
            implementation=KINDS[kind],
        )
        connectors = etree.SubElement(one, tag("ssd", "Connectors"))
        for v, way in [(v, "input") for v in d.inputs] + [(v, "output") for v in fmu.output_variables]:
            self._connector(connectors, v, way, d, f"{path}{name}")
        if kind == "cs":
            notes = etree.SubElement(one, tag("ssd", "Annotations"))
            note = etree.SubElement(notes, tag("ssc", "Annotation"), type=STEP)
            etree.SubElement(note, "step", sample=str(fmu.sample), offset=str(fmu.offset))
        starts = dict(fmu.start_values)
        for full in [n for n in self.given if n.startswith(f"{path}{name}.")]:
            key = full.removeprefix(f"{path}{name}.")
            if key not in d.variables:
                raise SSPError(
                    f"export_ssp: parameter '{full}': {d.fault(f'no variable {key!r}')}", path=full
                )
            starts[key] = self._checked(full, d, d.variables[key])
        for key, value in starts.items():
            self._value(f"{path}{name}.{key}", value, d.variables[key])

    def _word(self, v: Variable) -> str:
        """The type of a variable, in the words of the version; items of enumerations are numbers."""
        old = WORDS.get(v.type, "Binary" if v.type == "Binary" else "Integer")
        old = "Integer" if old == "Enumeration" else old
        return v.type if self.version != "1.0" and v.type in NEWER_TYPES else old

    def _connector(self, parent: Any, v: Variable, way: str, d: FMUDescription, path: str) -> None:
        one = etree.SubElement(parent, tag("ssd", "Connector"), name=v.name, kind=way)
        typed = etree.SubElement(one, tag("ssc", self._word(v)))
        if v.unit and v.type in FLOATS:
            typed.set("unit", v.unit)
            self._use(v.unit, d)
        self._dimensions(one, v.shape, f"{path}.{v.name}")

    def _dimensions(self, parent: Any, shape: tuple[int, ...], name: str) -> None:
        if shape and self.version == "1.0":
            raise SSPError(
                f"export_ssp: '{name}' is an array, which SSP 1.0 has no place for.",
                path=name,
                hint='Leave version away, or give version="2.0".',
            )
        for size in shape:
            etree.SubElement(parent, tag("ssc", "Dimension"), size=str(size))

    def _use(self, unit: str, d: FMUDescription) -> None:
        found = d.units.get(unit)
        if found is not None and found.exponents is not None:
            self.units[unit] = found

    def _checked(self, name: str, d: FMUDescription, v: Variable) -> Any:
        try:
            return checked_value(d, v, self.given.pop(name))
        except FMUError as error:
            raise SSPError(f"export_ssp: parameter '{name}': {error}", path=name) from error

    def _value(self, name: str, value: Any, v: Variable) -> None:
        """Keep a value that was checked, for the parameter set."""
        if self.version == "1.0":
            self._dimensions(None, v.shape, name)
        self.values[name] = (self._word(v), value, v.shape, v.unit if v.type in FLOATS else "")

    def _connections(self, links: Any, netlist: Netlist, path: str) -> None:
        """Connections between FMUs and systems; blocks that convert are part of one."""
        for found in connections_of(netlist):
            if isinstance(found.source, OpenInput):
                self._open(netlist, found.source, found.end, path)
                continue
            (element, port), end = found.start, found.end
            given = {
                "startElement": element,
                "startConnector": port,
                "endElement": end[0],
                "endConnector": end[1],
            }
            given |= {n: " ".join(map(str, x)) for n, x in found.indices.items()}
            one = etree.SubElement(links, tag("ssd", "Connection"), {k: x for k, x in given.items() if x})
            if found.table or found.linear is not None:
                one.set("suppressUnitConversion", "true")  # the transformation is all that happens
            if found.table:
                inside = etree.SubElement(one, tag("ssc", "IntegerMappingTransformation"))
                for source, target in found.table:
                    etree.SubElement(
                        inside, tag("ssc", "MapEntry"), source=str(int(source)), target=str(int(target))
                    )
            elif found.linear is not None:
                factor, offset = map(repr, map(float, found.linear))
                etree.SubElement(one, tag("ssc", "LinearTransformation"), factor=factor, offset=offset)

    def _open(self, netlist: Netlist, block: OpenInput, end: Port, path: str) -> None:
        node = netlist.nodes.get(end[0])
        if isinstance(node, Netlist):
            self._start(f"{path}{end[0]}.{end[1]}", block.value, shape_at(node, end[1], "input"))
        if not isinstance(node, FMU):
            return
        v = node.description.variable(end[1])
        kind: Any = bool if v.type == "Boolean" else float if v.type in FLOATS else int
        values = [kind(x) for x in np.ravel(np.asarray(block.value, dtype=float)).tolist()]
        self._value(f"{path}{end[0]}.{end[1]}", values if v.shape else values[0], v)

    def _start(self, name: str, start: Any, shape: tuple[int, ...]) -> None:
        """The value of a connector of a system that nothing is connected to outside."""
        values = [float(x) for x in np.ravel(np.asarray(start, dtype=float))]
        self.values[name] = "Real", values if shape else values[0], shape, ""

    def parameter_set(self) -> bytes:
        """parameters.ssv."""
        spaces = {k: NAMESPACES[k] for k in ("ssv", "ssc")}
        root = etree.Element(
            tag("ssv", "ParameterSet"), nsmap=spaces, version=self.version, name="parameters"
        )
        parent = etree.SubElement(root, tag("ssv", "Parameters"))
        for name, (word, value, shape, unit) in self.values.items():
            one = etree.SubElement(parent, tag("ssv", "Parameter"), name=name)
            typed = etree.SubElement(one, tag("ssv", word))
            write_value(typed, value, tag("ssv", "Value"))
            if unit:
                typed.set("unit", unit)
            self._dimensions(one, shape, name)
        return etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)
