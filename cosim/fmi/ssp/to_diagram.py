"""A system structure as a diagram of FMU blocks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from blocks.contract.block import Block
from blocks.errors import near_miss
from cosim.block_names import FORBIDDEN
from cosim.compile.netlist import Inport
from cosim.diagram import Diagram
from cosim.fmi.description import FMUDescription
from cosim.fmi.fmi_errors import FMUError
from cosim.fmi.fmu import FMU
from cosim.fmi.ssp.array_parts import ArrayParts
from cosim.fmi.ssp.connection_ends import ENTERING, ConnectionEnds, Ends
from cosim.fmi.ssp.conversions import conversion, unit_of_connector, unit_of_variable
from cosim.fmi.ssp.ssp_errors import SSPError, fault
from cosim.fmi.ssp.structure import (
    BaseUnit,
    Connector,
    ConnectorLink,
    FMUComponent,
    ParameterValue,
    StructuredSystem,
    SystemStructure,
    Transformation,
)
from cosim.fmi.ssp.temporary_folder import TemporaryFolder
from cosim.fmi.ssp.wires import LinearConnection, MappedConnection, OpenInput

Shares = Mapping[str, tuple[ParameterValue, ...]]


class Drawing:
    """Draws one structure.

    folder : where the FMUs are put; sample : communication step [s] of those that say none
    start_time : of the FMUs [s]
    """

    def __init__(self, structure: SystemStructure, folder: Path, sample: Any, start_time: float) -> None:
        self.structure, self.folder, self.sample = structure, folder, sample
        self.start_time = start_time
        self._numbers = count(len(list(folder.iterdir())))  # which FMU of the folder it is

    def diagram(self) -> Diagram:
        """The whole system."""
        return self._system(self.structure.system, ())

    def _fault(self, what: str, line: int | None, hint: str | None = None) -> Exception:
        return fault(self.structure.file, what, line, hint)

    # --- one system -------------------------------------------------------------------------------
    def _system(
        self, system: StructuredSystem, outer: tuple[ParameterValue, ...], unset: Collection[str] = ()
    ) -> Diagram:
        """A system with the values given by the systems around it; they replace its own.

        unset : inputs of it that nothing drives and nobody gives a value: what they lead to keeps its start
        """
        values = _over(system.values, outer)
        shares = _shares(values, [*(e.name for e in system.components), *(s.name for s in system.systems)])
        self._warn_of_lost(system, values, shares)
        d = Diagram(_clean(system.name))
        names = _names(system)
        descriptions: dict[str, FMUDescription] = {}
        inner: dict[str, StructuredSystem] = {s.name: s for s in system.systems}
        ports = {name: _names(s) for name, s in inner.items()}  # their connectors are called so inside
        every = _joined(system, self.structure.file)
        joined = [c for c in every if c.start[0] or c.start[1] not in unset or not c.end[0]]
        driven = {connection.end for connection in joined}
        given: dict[Ends, Any] = {("", n): x for n, x in self._of_connectors(system, values).items()}
        for c in system.connectors:
            if c.kind in ENTERING:
                size = math.prod(c.shape)
                whole = _whole(given["", c.name], size) if ("", c.name) in given else None
                d._node(names[c.name], Inport(size, start=whole))
        for component in system.components:
            fmu, left = self._fmu(component, shares[component.name])
            descriptions[component.name] = fmu.description
            given |= {(component.name, n): x for n, x in left.items()}
            d.add(names[component.name], fmu)
            self._open_inputs(d, names[component.name], component, fmu, driven, left)
        for s in system.systems:
            starts = self._of_connectors(s, (*s.values, *shares[s.name]))
            given |= {(s.name, n): x for n, x in starts.items()}
            inputs = [c for c in s.connectors if c.kind in ENTERING]
            free = {c.name: math.prod(c.shape) for c in inputs if (s.name, c.name) not in driven}
            d.add(names[s.name], self._system(s, shares[s.name], free.keys() - starts.keys()))
            for connector, size in free.items():
                port = ports[s.name][connector]
                start = OpenInput(_whole(starts.get(connector, 0.0), size))
                d.add(f"{names[s.name]}_{port}_open", start)
                d.connect(f"{names[s.name]}_{port}_open.y", f"{names[s.name]}.{port}")
        structure = self.structure
        ends = ConnectionEnds(
            structure.file, system, descriptions, inner, structure.units, structure.enumerations
        )
        parts = ArrayParts(self.structure.file, descriptions, ends, given)
        for number, connection in enumerate(joined):
            self._connect(d, connection, number, names, ports, ends, parts)
        for number, (end, block, sources) in enumerate(parts.gathered()):
            name = f"array_{number}"
            d.add(name, block)
            for k, source in enumerate(sources):
                d.connect(source, d[name][f"u{k}"])
            self._deliver(d, d[name]["y"], end, names, ports)
        return d

    def _warn_of_lost(
        self, system: StructuredSystem, values: tuple[ParameterValue, ...], shares: Shares
    ) -> None:
        """Warn of values that no element or connector of a system takes."""
        connectors = {c.name: c.kind for c in system.connectors}
        taken = {f"{element}.{v.name}" for element, share in shares.items() for v in share}
        for v in values:
            kind = connectors.get(v.name, "")
            if kind not in ENTERING and v.name not in taken:
                where = f"{v.file or self.structure.file}:{v.line}"
                known = near_miss(v.name.partition(".")[0], [*shares, *connectors])
                why = f"nothing in '{system.name}' is called that; {known}"
                if kind:
                    why = f"it is a connector of kind {kind} of '{system.name}', which leads nowhere"
                warnings.warn(f"{where}: the value of '{v.name}' has no effect: {why}", stacklevel=6)

    def _fmu(self, component: FMUComponent, values: tuple[ParameterValue, ...]) -> tuple[FMU, dict[str, Any]]:
        """The block of a component, and values of its inputs."""
        every = _over(component.values, values)
        file = self.folder / f"{next(self._numbers)}_{Path(component.source).name}"
        file.write_bytes(component.content)
        try:
            described = FMU(file, kind=component.kind).description
        except FMUError as error:
            raise self._of_fmu(component, file, error, every) from error
        self._warn_of_connectors(component, described)
        start: dict[str, Any] = {}
        inputs: dict[str, Any] = {}
        for v in every:
            variable = described.variables.get(v.name)
            if variable is None:
                raise fault(
                    v.file or self.structure.file,
                    f"a value is given for '{component.name}.{v.name}', but the FMU has no such variable; "
                    f"{near_miss(v.name, described.variables)}", v.line,
                )  # fmt: skip
            unit = unit_of_variable(variable, described, self.structure.units)
            of_kind = inputs if variable.causality == "input" else start
            items = {name: number for number, name in variable.items.items()}
            of_kind[v.name] = self._taken(v, unit, items, component.name)
        try:
            return self._block(component, file, described, {**start, **inputs}), inputs
        except FMUError as error:
            raise self._of_fmu(component, file, error, every) from error

    def _of_fmu(
        self, component: FMUComponent, file: Path, error: FMUError, values: tuple[ParameterValue, ...]
    ) -> Exception:
        """The error about the FMU of a component, with its place in the package if that has one."""
        given = next((v for v in values if v.name == error.port), None)
        where = (given.file, given.line) if given else (self.structure.file, component.line)
        said = str(error).replace(str(file), component.source)
        return fault(where[0], f"component '{component.name}': {said}", where[1])

    def _warn_of_connectors(self, component: FMUComponent, described: FMUDescription) -> None:
        """Warn of connectors that the FMU does not have, or has in the other direction."""
        for c in component.connectors:
            v = described.variables.get(c.name)
            if v is None:
                what = f"no variable of its FMU; {near_miss(c.name, described.variables)}"
            elif {c.kind, v.causality} == {"input", "output"}:
                what = f"of kind {c.kind}, but an {v.causality} of its FMU, which counts"
            else:
                continue
            where = f"{self.structure.file}:{c.line}"
            warnings.warn(f"{where}: connector '{component.name}.{c.name}' is {what}", stacklevel=7)

    def _block(
        self, component: FMUComponent, file: Path, described: FMUDescription, start: Mapping[str, Any]
    ) -> FMU:
        kind = described.interface(component.kind).kind
        if kind == "me":
            return FMU(file, kind="me", start=start, start_time=self.start_time)
        sample = (
            component.sample or described.interface(kind).fixed_internal_step or described.experiment.step
        )
        sample = sample if component.sample else (self.sample or sample)
        if sample is None:
            raise self._fault(
                f"component '{component.name}' says no communication step, nor does its FMU", component.line,
                "Give one: import_ssp(..., sample=0.001).",
            )  # fmt: skip
        begin, offset = self.start_time, component.offset
        return FMU(file, kind="cs", sample=sample, offset=offset, start=start, start_time=begin)

    def _of_connectors(self, system: StructuredSystem, values: Iterable[ParameterValue]) -> dict[str, Any]:
        """Values of a system's connectors, each in the unit of its connector; a later one counts."""
        connectors: dict[str, Connector] = {c.name: c for c in system.connectors}
        found: dict[str, Any] = {}
        for v in values:
            if v.name in connectors:
                unit = unit_of_connector(connectors[v.name].unit, self.structure.units)
                items = self.structure.enumerations.get(connectors[v.name].enumeration, {})
                found[v.name] = self._taken(v, unit, items, system.name)
        return found

    def _taken(self, v: ParameterValue, unit: BaseUnit | None, items: Mapping[str, int], element: str) -> Any:
        """A value for the variable or connector of an element, in its unit, or one of its items."""
        if v.type == "Enumeration":
            number = lambda name: self._item(name, v.items or items, v.file, v.line)
            return v.changed(tuple(map(number, v.value)) if isinstance(v.value, tuple) else number(v.value))
        link = ConnectorLink(("", v.name), (element, v.name), None, v.convert_units, v.line)
        change = conversion(link, v.unit, unit, v.file or self.structure.file)
        return v.changed(None if change is None else change.of(v.value))

    @staticmethod
    def _open_inputs(
        d: Diagram, name: str, component: FMUComponent, fmu: FMU, driven: set[Ends], values: Mapping[str, Any]
    ) -> None:
        for v in fmu.description.inputs:
            if (component.name, v.name) not in driven:
                start = values.get(v.name, fmu.start_of(v))
                start = np.asarray(0.0 if start is None else start, dtype=float)
                value = np.broadcast_to(start.ravel() if start.ndim else start, v.size)
                block = f"{name}_{_clean(v.name)}_open"
                d.add(block, OpenInput(tuple(value.tolist())))
                d.connect(d[block]["y"], d[name][v.name])

    def _item(self, name: str, items: Mapping[str, int], file: str, line: int | None) -> int:
        """The number of an item of an enumeration; of any in the structure if it is none of `items`."""
        if name in items:
            return items[name]
        found = {e: known[name] for e, known in self.structure.enumerations.items() if name in known}
        if len(set(found.values())) == 1:
            return next(iter(found.values()))
        what = f"'{name}', which is an item of no enumeration"
        if found:
            listed = ", ".join(f"{number} in '{e}'" for e, number in found.items())
            what = f"the item '{name}', which is {listed}"
        raise fault(file or self.structure.file, f"it names {what}", line)

    # --- connections ------------------------------------------------------------------------------
    def _connect(
        self,
        d: Diagram,
        c: ConnectorLink,
        number: int,
        names: Mapping[str, str],
        ports: Mapping[str, Mapping[str, str]],
        ends: ConnectionEnds,
        parts: ArrayParts,
    ) -> None:
        ends.check(c)
        element, port = c.start
        if element:
            source: Any = d[names[element]][ports[element][port] if element in ports else port]
        else:
            source = d[names[port]]["out"]
        if c.start_index:
            d.add(f"component_{number}", parts.component(c))
            d.connect(source, d[f"component_{number}"]["u"])
            source = d[f"component_{number}"]["y"]
        change = self._change(c, ends.unit(c.start), ends.unit(c.end))
        if change is None and ends.differ(c):
            change = Transformation()  # numbers as they are, through a block that has no units
        if change is not None:
            name = f"connection_{number}"
            d.add(name, self._changing(change, c, ends.items(c.start), ends.items(c.end)))
            d.connect(source, d[name]["u"])
            source = d[name]["y"]
        if c.end_index:
            parts.gather(c, source)
        else:
            self._deliver(d, source, c.end, names, ports)

    def _change(
        self, c: ConnectorLink, first: BaseUnit | None, second: BaseUnit | None
    ) -> Transformation | None:
        """The changes of a signal on a connection: first the conversion of its unit, then the transformation.

        Where units measure different things, the transformation makes one from the other.

        Source: the schema of SSP 1.0, LinearTransformation and suppressUnitConversion.
        """
        given = c.transformation
        if given is not None and given.table:
            return given
        try:
            found = conversion(c, first, second, self.structure.file)
        except SSPError:
            if given is None:
                raise
            return given
        if found is None or given is None:
            return given if found is None else found
        return found.then(given)

    @staticmethod
    def _deliver(
        d: Diagram,
        source: Any,
        end: Ends,
        names: Mapping[str, str],
        ports: Mapping[str, Mapping[str, str]],
    ) -> None:
        element, port = end
        if element:
            d.connect(source, d[names[element]][ports[element][port] if element in ports else port])
        else:
            d.outport(names[port], source)

    def _changing(
        self, t: Transformation, c: ConnectorLink, sources: Mapping[str, int], targets: Mapping[str, int]
    ) -> Block:
        """The block of a transformation between ends with these items."""
        if not t.table:
            return LinearConnection(t.factor, t.offset)
        rows = []
        for pair in t.table.items():
            numbers = []
            for value, items in zip(pair, (sources, targets), strict=True):
                named = isinstance(value, str)
                numbers.append(float(self._item(value, items, "", c.line) if named else value))
            rows.append((numbers[0], numbers[1]))
        return MappedConnection(tuple(rows))


def _joined(system: StructuredSystem, file: str) -> list[ConnectorLink]:
    """Connections; what goes through a signal dictionary is one from its source to its targets."""
    if not system.dictionaries:
        return list(system.connections)
    writers: dict[Ends, ConnectorLink] = {}
    for c in system.connections:
        if c.end[0] in system.dictionaries:
            entry = (system.dictionaries[c.end[0]], c.end[1])
            if entry in writers:
                raise fault(file, f"two connections end at '{entry[1]}' of dictionary '{entry[0]}'", c.line)
            writers[entry] = c
    found = []
    for c in system.connections:
        if c.end[0] in system.dictionaries:
            continue
        if c.start[0] in system.dictionaries:
            source = writers.get((system.dictionaries[c.start[0]], c.start[1]))
            if source is None:
                end = ".".join(filter(None, c.end))
                what = f"'{c.start[1]}' of dictionary '{c.start[0]}', to which nothing is connected here"
                hint = "A dictionary is read within one system only."
                raise fault(file, f"a connection to '{end}' comes from {what}", c.line, hint)
            both = _in_a_row(source.transformation, c.transformation, c, file)
            convert = c.convert_units and source.convert_units
            c = ConnectorLink(source.start, c.end, both, convert, c.line, source.start_index, c.end_index)
        found.append(c)
    return found


def _in_a_row(
    first: Transformation | None, second: Transformation | None, c: ConnectorLink, file: str
) -> Transformation | None:
    """Combine a connection into a signal dictionary and one out of it."""
    if first is None or second is None:
        return first or second
    if first.table or second.table:
        what = f"'{c.start[1]}' is transformed into a dictionary and out of it, once by a table"
        raise fault(file, what, c.line, "Transform it once.")
    return first.then(second)


def _over(own: tuple[ParameterValue, ...], outer: tuple[ParameterValue, ...]) -> tuple[ParameterValue, ...]:
    """Values of an element; values given from outside replace its own."""
    return tuple({v.name: v for v in (*own, *outer)}.values())


def _shares(values: tuple[ParameterValue, ...], elements: list[str]) -> Shares:
    """By element the values whose names begin with its name, without this prefix.

    Names of elements may have dots: those of as many dots as a beginning of a value's name are looked up.
    """
    found: dict[str, list[ParameterValue]] = {element: [] for element in elements}
    counts = sorted({element.count(".") for element in elements})
    for v in values:
        pieces = v.name.split(".")
        for dots in counts:
            element = ".".join(pieces[: dots + 1])
            if dots + 1 < len(pieces) and element in found:
                found[element].append(replace(v, name=v.name[len(element) + 1 :]))
    return {element: tuple(share) for element, share in found.items()}


def _whole(value: Any, size: int) -> tuple[float, ...]:
    """The numbers of a signal of which one, or all, are given."""
    return tuple(np.broadcast_to(np.ravel(np.asarray(value, dtype=float)), size).tolist())


def _clean(name: str) -> str:
    """A name that diagrams accept."""
    return "".join("_" if ch in FORBIDDEN else ch for ch in name) or "_"


def _names(system: StructuredSystem) -> dict[str, str]:
    """The connectors and elements of a system by names that diagrams accept, all different."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    tried: dict[str, int] = {}  # many may differ in what diagrams do not accept
    elements = [*(e.name for e in system.components), *(s.name for s in system.systems)]
    for name in dict.fromkeys([*(c.name for c in system.connectors), *elements]):
        plain = clean = _clean(name)
        while clean in taken:
            tried[plain] = tried.get(plain, 0) + 1
            clean = f"{plain}_" if tried[plain] == 1 else f"{plain}_{tried[plain]}"
        found[name] = clean
        taken.add(clean)
    return found


def drawn(
    structure: SystemStructure, sample: Any = None, folder: Path | None = None, start_time: float = 0.0
) -> Diagram:
    """The diagram of a structure; its FMUs lie in a folder that goes with the diagram and all made from it.

    folder : where they are put instead, and stay
    """
    temporary = TemporaryFolder() if folder is None else None
    where = temporary.path if temporary else Path(folder or "")
    where.mkdir(parents=True, exist_ok=True)
    d = Drawing(structure, where, sample, start_time).diagram()
    d.holds = temporary
    return d


__all__ = ["drawn"]
