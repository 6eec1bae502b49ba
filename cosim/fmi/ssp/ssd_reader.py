"""Read SystemStructure.ssd and the files it names (.ssv, .ssm) into a `SystemStructure`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from lxml import etree

from blocks.errors import near_miss
from cosim.fmi.ssp.archive import DESCRIPTION, SSPArchive
from cosim.fmi.ssp.parameter_texts import NEWER_TYPES, TYPES, check_size, read_value, truth
from cosim.fmi.ssp.ssp_errors import SSPError, fault
from cosim.fmi.ssp.structure import (
    BaseUnit,
    Connector,
    ConnectorLink,
    DefaultExperiment,
    FMUComponent,
    ParameterValue,
    StructuredSystem,
    SystemStructure,
    Transformation,
)

NAMESPACES = {
    kind: f"http://ssp-standard.org/SSP1/SystemStructure{name}"
    for kind, name in (
        ("ssd", "Description"), ("ssc", "Common"), ("ssv", "ParameterValues"), ("ssm", "ParameterMapping"),
        ("ssb", "SignalDictionary"),
    )
}  # fmt: skip
STEP = "org.plantloop.step"
"""Type of our annotation of a component: its communication step."""
FMU_TYPE = "application/x-fmu-sharedlibrary"
PACKAGE_TYPE, DEFINITION_TYPE = "application/x-ssp-package", "application/x-ssp-definition"
DEEPEST = 16  # levels of packages inside packages
KINDS = {"any": None, "ModelExchange": "me", "CoSimulation": "cs"}
CONNECTOR_KINDS = (
    "input", "output", "inout", "parameter", "calculatedParameter", "structuralParameter", "constant",
    "local", "unspecified",
)  # fmt: skip
EXPONENTS = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")
VERSIONS = ("1.0", "2.0")
T = TypeVar("T")


def read_ssp(path: str | os.PathLike[str], variant: str = DESCRIPTION) -> SystemStructure:
    """Read the structure in an SSP package.

    variant : which .ssd of it

    Raises
    ------
    SSPError      no package, an unsafe one, XML that is wrong (with its line), files that are missing
    """
    archive = SSPArchive(path)
    if variant not in archive.content:
        others = [n for n in archive.content if n.endswith(".ssd")]
        has = f"it has {', '.join(others)}" if others else "it has no .ssd at all"
        raise fault(
            archive.file, f"no {variant} in it; {has}", hint="Name one with variant=." if others else None
        )
    return Reader(archive, variant).structure()


def parsed(content: bytes, file: str, root: str) -> Any:
    """The root element of an XML file, hardened: no entities, no network.

    Raises
    ------
    SSPError      not well formed, with the line, or another root element
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        tree: Any = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise fault(file, f"no well-formed XML: {error.msg}", error.lineno) from error
    info: Any = tree.getroottree().docinfo
    if info.doctype:
        raise fault(file, "it has a document type, which no SSP file needs", 1, "Remove the <!DOCTYPE ...>.")
    if tree.tag != root:
        raise fault(file, f"the root element is {_short(tree.tag)}, expected {_short(root)}", tree.sourceline)
    return tree


def _short(tag: object) -> str:
    text = str(tag)
    for prefix, name in NAMESPACES.items():
        text = text.replace(f"{{{name}}}", f"{prefix}:")
    return text


def tag(prefix: str, name: str) -> str:
    """A qualified name."""
    return f"{{{NAMESPACES[prefix]}}}{name}"


class Reader:
    """Reads one .ssd of a package; depth: the number of packages around it."""

    def __init__(self, archive: SSPArchive, name: str, depth: int = 0) -> None:
        self.archive, self.file, self.depth = archive, f"{archive.file}!{name}", depth
        self.units: dict[str, BaseUnit] = {}
        self.enumerations: dict[str, dict[str, int]] = {}

    def structure(self) -> SystemStructure:
        """Read the whole structure."""
        root = parsed(
            self.archive.content[self.file.rpartition("!")[2]],
            self.file,
            tag("ssd", "SystemStructureDescription"),
        )
        version = self._needed(root, "version")
        if version not in VERSIONS:
            raise fault(self.file, f"version is '{version}', expected 1.0 or 2.0", root.sourceline)
        self._check(root, version)
        self.units, self.enumerations = self._common(root)
        for name in ("Units", "Enumerations"):  # those of parameter sets in it have theirs
            for own in root.findall(tag("ssd", name)):
                units, enumerations = self._common(own)
                self.units |= units
                self.enumerations |= enumerations
        system = root.find(tag("ssd", "System"))
        if system is None:
            raise fault(self.file, "no ssd:System in it", root.sourceline)
        return SystemStructure(
            self.archive.file, version, self._needed(root, "name"), self._system(system), self.units,
            self.enumerations, self._experiment(root),
        )  # fmt: skip

    def _check(self, root: Any, version: str) -> None:
        """Validate a file of version 1.0 against the schema; that of 2.0 is not included."""
        if version != "1.0":
            return
        import fmpy

        folder = Path(fmpy.__file__).parent / "ssp" / "schema"
        schema = etree.XMLSchema(etree.parse(str(folder / "SystemStructureDescription.xsd")))
        if not schema.validate(root):
            log: Any = schema.error_log
            first = log[0]
            raise fault(
                self.file, f"it does not follow the schema: {_short(first.message).rstrip('.')}", first.line
            )

    # --- pieces -----------------------------------------------------------------------------------
    def _needed(self, element: Any, name: str) -> str:
        value = element.get(name)
        if value is None:
            raise fault(self.file, f"{_short(element.tag)} has no {name}", element.sourceline)
        return str(value)

    def _number(self, element: Any, name: str, default: float) -> float:
        text = element.get(name)
        try:
            return default if text is None else float(text)
        except ValueError:
            raise fault(self.file, f"{name} is '{text}', expected a number", element.sourceline) from None

    def _whole(self, element: Any, name: str) -> int:
        found = self._number(element, name, 0.0)
        if not found.is_integer():
            raise fault(self.file, f"{name} is {found:g}, expected a whole number", element.sourceline)
        return int(found)

    def _children(self, element: Any, name: str, inner: str) -> Iterator[Any]:
        parent = element.find(tag("ssd", name))
        if parent is not None:
            yield from parent.findall(tag("ssd", inner))

    def _common(self, root: Any) -> tuple[dict[str, BaseUnit], dict[str, dict[str, int]]]:
        """Units and enumerations that are defined in an element: the description, a parameter set."""
        units: dict[str, BaseUnit] = {}
        enumerations: dict[str, dict[str, int]] = {}
        for unit in root.iter(tag("ssc", "Unit")):
            base = unit.find(tag("ssc", "BaseUnit"))
            if base is not None:
                exponents = {n: k for n in EXPONENTS if (k := self._whole(base, n))}
                name = self._needed(unit, "name")
                factor, offset = self._number(base, "factor", 1.0), self._number(base, "offset", 0.0)
                units[name] = BaseUnit(name, exponents, factor, offset)
        for enumeration in root.iter(tag("ssc", "Enumeration")):
            if enumeration.find(tag("ssc", "Item")) is not None:
                items = enumeration.findall(tag("ssc", "Item"))
                enumerations[self._needed(enumeration, "name")] = {
                    self._needed(i, "name"): self._whole(i, "value") for i in items
                }
        return units, enumerations

    def _experiment(self, root: Any) -> DefaultExperiment:
        found = root.find(tag("ssd", "DefaultExperiment"))
        if found is None:
            return DefaultExperiment()
        times = [
            None if found.get(n) is None else self._number(found, n, 0.0) for n in ("startTime", "stopTime")
        ]
        if times[1] is not None and times[1] < (times[0] or 0.0):
            raise fault(
                self.file,
                f"the default experiment stops at {times[1]:g} s, before it starts",
                found.sourceline,
            )
        return DefaultExperiment(*times)

    def _connectors(self, element: Any) -> tuple[Connector, ...]:
        found: dict[str, Connector] = {}
        for c in self._children(element, "Connectors", "Connector"):
            name, kind = self._needed(c, "name"), self._needed(c, "kind")
            if kind not in CONNECTOR_KINDS:
                raise fault(
                    self.file,
                    f"connector '{name}': no kind '{kind}'; {near_miss(kind, CONNECTOR_KINDS)}",
                    c.sourceline,
                )
            if name in found:
                raise fault(self.file, f"two connectors are called '{name}'", c.sourceline)
            types = [t for t in c if t.tag in [tag("ssc", n) for n in (*TYPES, *NEWER_TYPES)]]
            word = _short(types[0].tag).rpartition(":")[2] if types else ""
            unit, enumeration = (types[0].get(n, "") if types else "" for n in ("unit", "name"))
            lengths = [self._needed(x, "size") for x in c.findall(tag("ssc", "Dimension"))]
            shape = self._counts(" ".join(lengths), "size", c)
            found[name] = Connector(name, kind, word, unit, enumeration, c.sourceline, shape)
        return tuple(found.values())

    def _system(self, element: Any) -> StructuredSystem:
        elements = element.find(tag("ssd", "Elements"))
        inside = [] if elements is None else [e for e in elements if isinstance(e.tag, str)]
        names: set[str] = set()
        for e in inside:
            name = self._needed(e, "name")
            if name in names:
                raise fault(self.file, f"two elements are called '{name}'", e.sourceline)
            names.add(name)
        of = lambda kind: [e for e in inside if e.tag == tag("ssd", kind)]
        drawn = lambda e: e.get("type") in (PACKAGE_TYPE, DEFINITION_TYPE)
        references = {e.get("name"): self._needed(e, "dictionary") for e in of("SignalDictionaryReference")}
        return StructuredSystem(
            self._needed(element, "name"),
            self._connectors(element),
            tuple(self._component(e) for e in of("Component") if not drawn(e)),
            (
                *(self._system(e) for e in of("System")),
                *(self._structured(e) for e in of("Component") if drawn(e)),
            ),
            tuple(self._connection(c) for c in self._children(element, "Connections", "Connection")),
            references,
            self._values(element),
            element.sourceline,
        )

    def _structured(self, e: Any) -> StructuredSystem:
        """A component that is another system structure: a package, or a definition in this one."""
        name = self._needed(e, "name")
        what = f"component '{name}'"
        if self.depth >= DEEPEST:
            raise fault(
                self.file, f"{what} is a system structure inside {self.depth} others", e.sourceline,
                "Does one of them contain itself?",
            )  # fmt: skip
        source, content = self.archive.get(self._needed(e, "source"), self.file, what, e.sourceline)
        archive, entry = self.archive, source
        if e.get("type") == PACKAGE_TYPE:
            archive, entry = SSPArchive.inside(content, f"{self.archive.file}!{source}"), DESCRIPTION
            if entry not in archive.content:
                raise fault(archive.file, f"no {entry} in it")
        reader = Reader(archive, entry, self.depth + 1)
        inner = reader.structure().system
        self._take_over("unit", self.units, reader.units, what, e.sourceline)
        self._take_over("enumeration", self.enumerations, reader.enumerations, what, e.sourceline)
        inside = [c.name for c in inner.connectors]
        for c in self._connectors(e):
            if c.name not in inside:
                missing = f"{what} has the connector '{c.name}', but its system has none of that name"
                raise fault(self.file, f"{missing}; {near_miss(c.name, inside)}", c.line)
        values = {v.name: v for v in (*inner.values, *self._values(e))}
        return replace(inner, name=name, values=tuple(values.values()), line=e.sourceline)

    def _take_over(
        self, word: str, mine: dict[str, T], others: Mapping[str, T], what: str, line: int
    ) -> None:
        for key in sorted(set(mine) & set(others)):
            if mine[key] != others[key]:
                raise fault(self.file, f"{what}: its {word} '{key}' is another one than here", line)
        mine.update(others)

    def _component(self, e: Any) -> FMUComponent:
        name, kind = self._needed(e, "name"), e.get("type", FMU_TYPE)
        if kind != FMU_TYPE:
            raise fault(
                self.file,
                f"component '{name}' is of type '{kind}'; only FMUs and system structures are supported",
                e.sourceline,
            )
        wanted = e.get("implementation", "any")
        if wanted not in KINDS:
            raise fault(
                self.file, f"component '{name}': implementation '{wanted}' is not supported", e.sourceline
            )
        source, content = self.archive.get(
            self._needed(e, "source"), self.file, f"component '{name}'", e.sourceline
        )
        sample, offset = None, "0"
        for note in e.iter(tag("ssc", "Annotation")):
            if note.get("type") == STEP and len(note):
                sample, offset = note[0].get("sample"), note[0].get("offset", "0")
        return FMUComponent(
            name,
            source,
            content,
            KINDS[wanted],
            self._connectors(e),
            self._values(e),
            sample,
            offset,
            e.sourceline,
        )

    def _connection(self, c: Any) -> ConnectorLink:
        start = (c.get("startElement", ""), self._needed(c, "startConnector"))
        end = (c.get("endElement", ""), self._needed(c, "endConnector"))
        convert = _converts(c)
        places = [self._counts(c.get(n, ""), n, c) for n in ("startIndices", "endIndices")]
        return ConnectorLink(start, end, self._transformation(c), convert, c.sourceline, *places)

    def _counts(self, text: str, name: str, element: Any) -> tuple[int, ...]:
        """Whole numbers from 1 on, separated by blanks."""
        words = text.split()
        if not all(word.isascii() and word.isdigit() and int(word) for word in words):
            raise fault(
                self.file, f"{name} is '{text}', expected whole numbers from 1 on", element.sourceline
            )
        return tuple(map(int, words))

    def _transformation(self, parent: Any, file: str = "") -> Transformation | None:
        for e in parent:
            word = _short(e.tag).removeprefix("ssc:")
            if word == "LinearTransformation":
                return Transformation(self._number(e, "factor", 1.0), self._number(e, "offset", 0.0))
            if word.endswith("MappingTransformation"):
                kind = word.removesuffix("MappingTransformation")
                entries = e.findall(tag("ssc", "MapEntry"))
                ends = [
                    [self._entry(m, n, kind, file or self.file) for n in ("source", "target")]
                    for m in entries
                ]
                return Transformation(table=dict(ends))
        return None

    def _entry(self, entry: Any, name: str, kind: str, file: str) -> Any:
        """The source or the target in an entry of a table."""
        text = self._needed(entry, name)
        try:
            return _TABLES[kind](text)
        except ValueError:
            what = f"{name} of a mapping is '{text}', which is no {kind}"
            raise fault(file, what, entry.sourceline) from None

    # --- parameters -------------------------------------------------------------------------------
    def _values(self, element: Any) -> tuple[ParameterValue, ...]:
        """Values of all bindings of an element; a later one replaces an earlier one."""
        found: dict[str, ParameterValue] = {}
        for binding in self._children(element, "ParameterBindings", "ParameterBinding"):
            prefix = binding.get("prefix", "")
            for value in self._mapped(binding, self._set(binding, element)):
                found[prefix + value.name] = replace(value, name=prefix + value.name)
        return tuple(found.values())

    def _set(self, binding: Any, element: Any) -> list[ParameterValue]:
        source, inner = binding.get("source"), binding.find(tag("ssd", "ParameterValues"))
        if binding.get("type", "application/x-ssp-parameter-set") != "application/x-ssp-parameter-set":
            raise fault(
                self.file, f"parameters of type '{binding.get('type')}' are not supported", binding.sourceline
            )
        if source is not None:
            base = self.file
            if binding.get("sourceBase", "SSD") == "component":
                base = f"{self.archive.file}!{element.get('source', '')}"
            name, content = self.archive.get(source, base, "a parameter binding", binding.sourceline)
            file = f"{self.archive.file}!{name}"
            return list(self._parameters(parsed(content, file, tag("ssv", "ParameterSet")), file))
        sets = [] if inner is None else inner.findall(tag("ssv", "ParameterSet"))
        return [value for s in sets for value in self._parameters(s, self.file)]

    def _parameters(self, root: Any, file: str) -> Iterator[ParameterValue]:
        units, enumerations = self._common(root)
        self.units, self.enumerations = units | self.units, enumerations | self.enumerations
        for p in root.iter(tag("ssv", "Parameter")):
            name = p.get("name")
            kinds = [k for k in p if isinstance(k.tag, str) and not k.tag.endswith("Annotations")]
            if name is None or not kinds:
                raise fault(file, "a parameter has no name or no value", p.sourceline)
            word = _short(kinds[0].tag).rpartition(":")[2]
            if word not in (*TYPES, *NEWER_TYPES):
                raise fault(file, f"parameter '{name}' has no value of a known type", p.sourceline)
            value = self._value(name, kinds[0], word, file, p)
            known = (self.enumerations | enumerations).get(kinds[0].get("name", ""), {})
            if word == "Enumeration" and known:
                for item in value if isinstance(value, tuple) else (value,):
                    self._check_item(kinds[0].get("name"), item, known, file, p.sourceline)
            written = kinds[0].get("unit", "")
            unit = units.get(written) or self.units.get(written)
            items = known if word == "Enumeration" else {}
            yield ParameterValue(name, value, word, unit, p.sourceline, file, items=items)

    def _value(self, name: str, typed: Any, word: str, file: str, p: Any) -> Any:
        """The value of a parameter: a number, a text, bytes, or a tuple of them; items by their names."""
        try:
            value = read_value(typed, word)
            check_size(value, p.findall(tag("ssc", "Dimension")))
        except ValueError as error:
            raise fault(file, f"parameter '{name}' {error}", p.sourceline) from None
        return value

    @staticmethod
    def _check_item(enumeration: str, text: str, items: Mapping[str, int], file: str, line: int) -> None:
        if text not in items:
            raise fault(
                file, f"enumeration '{enumeration}' has no item '{text}'; {near_miss(text, items)}", line
            )

    def _mapped(self, binding: Any, values: list[ParameterValue]) -> Iterator[ParameterValue]:
        """Values renamed and converted by a mapping."""
        mapping = binding.find(tag("ssd", "ParameterMapping"))
        if mapping is None:
            yield from values
            return
        file, root = self.file, mapping.find(tag("ssm", "ParameterMapping"))
        if mapping.get("source") is not None:
            name, content = self.archive.get(
                mapping.get("source"), self.file, "a mapping", mapping.sourceline
            )
            file = f"{self.archive.file}!{name}"
            root = parsed(content, file, tag("ssm", "ParameterMapping"))
        if root is None:
            raise fault(file, "a parameter mapping has neither a source nor entries", mapping.sourceline)
        by_name = {v.name: v for v in values}
        mapped = set()
        for entry in root.findall(tag("ssm", "MappingEntry")):
            source, target = entry.get("source"), entry.get("target")
            if source is None or target is None or source not in by_name:
                known = near_miss(str(source), by_name)
                raise fault(
                    file,
                    f"a mapping takes '{source}', which is no parameter of the set; {known}",
                    entry.sourceline,
                )
            mapped.add(source)
            value, change = by_name[source], self._transformation(entry, file)
            if change is not None and value.type == "Enumeration" and change.names_items:
                # the target is an item of what takes it
                value, change = replace(value, value=change.of(value.value), items={}), None
            yield replace(value, name=target, change=change, convert_units=_converts(entry))
        yield from (v for v in values if v.name not in mapped)


def _converts(element: Any) -> bool:
    """Whether units are converted there."""
    return element.get("suppressUnitConversion", "false") not in ("true", "1")


_TABLES: Mapping[str, Callable[[str], Any]] = {"Boolean": truth, "Integer": int, "Enumeration": str}

__all__ = ["SSPError", "read_ssp"]
