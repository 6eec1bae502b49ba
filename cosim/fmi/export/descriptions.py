"""The files modelDescription.xml of FMI 2.0 and FMI 3.0, and buildDescription.xml, of an exported model."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lxml import etree

from cosim.fmi.export.exported_variables import Exported, Variables
from cosim.fmi.export.model_structure import Structure, Unknown
from cosim.fmi.export.parameter_limits import Limits
from cosim.fmi.export.unit_definitions import unit_definition
from cosim.version import __version__

CATEGORIES = {
    "logEvents": "what happens in a run",
    "logStatusDiscard": "steps and values that cannot be computed",
    "logStatusError": "calls that are refused",
    "logStatusFatal": "no instance could be made",
}
SHOWN_IN_2 = ("UNIT_INDICATOR",)  # kinds that FMI 2 has no variables for


@dataclass(frozen=True)
class Facts:
    """Facts in a description besides its variables.

    steps : (step size or None, tolerance or None) of the default experiment; stop : its end [s] or None
    completed_steps : must the importer call completedIntegratorStep?
    directional, adjoint : are there derivatives of that kind?
    fixed_step : [s] of the solver inside, None where it chooses its steps
    """

    name: str
    identifier: str
    token: str
    kinds: tuple[str, ...]
    text: str
    step_size: float | None
    tolerance: float | None
    stop: float | None
    fixed_step: float | None
    completed_steps: bool
    directional: bool
    adjoint: bool
    sources: tuple[str, ...]


def _attributes(**values: object) -> dict[str, str]:
    """XML attributes: those that are None are dropped, truth values are spelled as in XML."""
    found = {}
    for name, value in values.items():
        if value is None:
            continue
        if isinstance(value, bool):
            value = str(value).lower()
        found[name] = repr(value) if isinstance(value, float) else str(value)
    return found


def _root(facts: Facts, version: str, **more: object) -> etree._Element:
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return etree.Element(
        "fmiModelDescription",
        _attributes(
            fmiVersion=version, modelName=facts.name, **more, description=facts.text or None,
            generationTool=f"plantloop {__version__}", generationDateAndTime=now,
            variableNamingConvention="structured",
        ),
    )  # fmt: skip


def _head(root: etree._Element, facts: Facts, units: Iterable[str]) -> None:
    """The elements between the kinds and the variables."""
    names = sorted(set(filter(None, units)))
    if names:
        parent = etree.SubElement(root, "UnitDefinitions")
        for name in names:
            parent.append(unit_definition(name))
    parent = etree.SubElement(root, "LogCategories")
    for name, text in CATEGORIES.items():
        etree.SubElement(parent, "Category", name=name, description=text)
    etree.SubElement(
        root,
        "DefaultExperiment",
        _attributes(
            startTime=0.0, stopTime=facts.stop, tolerance=facts.tolerance, stepSize=facts.step_size
        ),
    )  # fmt: skip


def _text(root: etree._Element) -> bytes:
    found: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)
    return found


def _limits(v: Exported, k: int | None = None) -> dict[str, object]:
    """Unit, nominal and range of a variable, or of one of its numbers; a whole one has the least nominal."""
    nominal = (min(v.nominal) if k is None else v.nominal[k]) if v.nominal else 1.0
    unit = v.unit if k is None else (v.units[k] if v.units else "")
    own = [v.limits.get(n) for n in (range(v.size) if k is None else [k])]
    low, high = _ends(own)
    return {"unit": unit or None, "nominal": None if nominal == 1.0 else nominal, "min": low, "max": high}


def _ends(limits: Sequence[Limits | None]) -> tuple[float | None, float | None]:
    """The least and the largest that all of some numbers may be."""
    lows = {limit.low.value if limit and limit.low else None for limit in limits}
    highs = {limit.high.value if limit and limit.high else None for limit in limits}
    return lows.pop() if len(lows) == 1 else None, highs.pop() if len(highs) == 1 else None


# --- FMI 2 ----------------------------------------------------------------------------------------------
def description_2(facts: Facts, variables: Variables, structure: Structure) -> bytes:
    """modelDescription.xml of FMI 2.0: every number is a variable of its own."""
    rows = [(v, k, name) for v in variables.every if v.kind not in SHOWN_IN_2 for name, k in v.scalars()]
    index = {v.reference + k: place for place, (v, k, _) in enumerate(rows, 1)}
    root = _root(facts, "2.0", guid=facts.token, numberOfEventIndicators=len(variables.of("UNIT_INDICATOR")))
    shared = {
        "modelIdentifier": facts.identifier, "canNotUseMemoryManagementFunctions": True,
        "canGetAndSetFMUstate": True, "canSerializeFMUstate": True,
        "providesDirectionalDerivative": facts.directional,
    }  # fmt: skip
    for kind, tag, more in (
        ("me", "ModelExchange", {"completedIntegratorStepNotNeeded": not facts.completed_steps}),
        ("cs", "CoSimulation", {"canHandleVariableCommunicationStepSize": True,
                                "maxOutputDerivativeOrder": int(facts.directional)}),
    ):  # fmt: skip
        if kind in facts.kinds:
            interface = etree.SubElement(root, tag, _attributes(**shared, **more))
            if facts.sources:
                files = etree.SubElement(interface, "SourceFiles")
                for name in facts.sources:
                    etree.SubElement(files, "File", name=name)
    _head(root, facts, (u for v, k, _ in rows for u in v.units[k : k + 1]))
    parent = etree.SubElement(root, "ModelVariables")
    for v, k, name in rows:
        initial = None if v.causality in ("input", "independent") else v.initial
        scalar = etree.SubElement(
            parent, "ScalarVariable",
            _attributes(name=name, valueReference=v.reference + k, description=v.text or None,
                        causality=v.causality, variability=v.variability, initial=initial),
        )  # fmt: skip
        state = None if v.derivative_of is None else index[v.derivative_of + k]
        start = None if v.start is None else float(v.start[k])
        etree.SubElement(scalar, "Real", _attributes(**_limits(v, k), derivative=state, start=start))
    parent = etree.SubElement(root, "ModelStructure")
    _list_unknowns(parent, "Outputs", _by_number(structure.outputs, index), index)
    _list_unknowns(parent, "Derivatives", _by_number(structure.derivatives, index), index)
    _list_unknowns(parent, "InitialUnknowns", sorted(_by_number(structure.initial, index)), index)
    return _text(root)


def _list_unknowns(
    parent: etree._Element,
    tag: str,
    unknowns: Sequence[tuple[int, tuple[int, ...]]],
    index: Mapping[int, int],
) -> None:
    """A list of unknowns in ModelStructure with the dependencies of each; nothing if there are none."""
    if unknowns:
        listed = etree.SubElement(parent, tag)
        for place, depends in unknowns:
            known = " ".join(str(d) for d in sorted(index[r] for r in depends))
            etree.SubElement(listed, "Unknown", index=str(place), dependencies=known)


def _by_number(unknowns: Sequence[Unknown], index: Mapping[int, int]) -> list[tuple[int, tuple[int, ...]]]:
    return [(index[u.variable.reference + k], row) for u in unknowns for k, row in enumerate(u.depends)]


# --- FMI 3 ----------------------------------------------------------------------------------------------
def description_3(facts: Facts, variables: Variables, structure: Structure) -> bytes:
    """modelDescription.xml of FMI 3.0: arrays are variables."""
    root = _root(facts, "3.0", instantiationToken=facts.token)
    shared = {
        "modelIdentifier": facts.identifier, "canGetAndSetFMUState": True, "canSerializeFMUState": True,
        "providesDirectionalDerivatives": facts.directional, "providesAdjointDerivatives": facts.adjoint,
        "providesPerElementDependencies": True,
    }  # fmt: skip
    for kind, tag, more in (
        ("me", "ModelExchange", {"needsCompletedIntegratorStep": facts.completed_steps,
                                 "providesEvaluateDiscreteStates": True}),
        ("cs", "CoSimulation", {"canHandleVariableCommunicationStepSize": True,
                                "fixedInternalStepSize": facts.fixed_step, "hasEventMode": True,
                                "mightReturnEarlyFromDoStep": True, "providesIntermediateUpdate": True,
                                "canReturnEarlyAfterIntermediateUpdate": True,
                                "maxOutputDerivativeOrder": int(facts.directional)}),
    ):  # fmt: skip
        if kind in facts.kinds:
            etree.SubElement(root, tag, _attributes(**shared, **more))
    _head(root, facts, (v.unit for v in variables.every))
    parent = etree.SubElement(root, "ModelVariables")
    for v in variables.every:
        initial = None if v.causality in ("input", "independent") else v.initial
        start = None if v.start is None else " ".join(map(repr, map(float, v.start)))
        element = etree.SubElement(
            parent, "Float64",
            _attributes(name=v.name, valueReference=v.reference, description=v.text or None,
                        causality=v.causality, variability=v.variability, initial=initial,
                        **_limits(v), derivative=v.derivative_of, start=start,
                        intermediateUpdate=True if "cs" in facts.kinds and v.causality == "output" else None),
        )  # fmt: skip
        for size in v.shape:
            etree.SubElement(element, "Dimension", start=str(size))
    parent = etree.SubElement(root, "ModelStructure")
    first = _firsts(variables)
    for tag, unknowns in (
        ("Output", structure.outputs), ("ContinuousStateDerivative", structure.derivatives),
        ("InitialUnknown", structure.initial), ("EventIndicator", structure.indicators),
    ):  # fmt: skip
        for u in unknowns:
            known = sorted({first[r] for r in u.together})
            etree.SubElement(
                parent, tag, valueReference=str(u.variable.reference), dependencies=" ".join(map(str, known))
            )
    return _text(root)


def _firsts(variables: Variables) -> dict[int, int]:
    """Reference of the variable that each number belongs to."""
    return {v.reference + k: v.reference for v in variables.every for k in range(v.size)}


def build_description(facts: Facts) -> bytes:
    """sources/buildDescription.xml of FMI 3.0."""
    root = etree.Element("fmiBuildDescription", fmiVersion="3.0")
    build = etree.SubElement(root, "BuildConfiguration", modelIdentifier=facts.identifier)
    files = etree.SubElement(build, "SourceFileSet", language="C99")
    for name in facts.sources:
        etree.SubElement(files, "SourceFile", name=name)
    etree.SubElement(files, "PreprocessorDefinition", name="PL_INSIDE")
    etree.SubElement(build, "Library", name="m")
    return _text(root)
