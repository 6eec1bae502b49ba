"""modelDescription.xml of test FMUs, in both versions of FMI."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import quoteattr

from tests.helpers.fmu_units import FMI_2_TYPES, Build, Unit, Var


def _attributes(**values: object) -> str:
    shown = {
        k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in values.items() if v not in (None, "")
    }
    return "".join(f" {k}={quoteattr(v)}" for k, v in shown.items())


def _text_of(start: object) -> str:
    if isinstance(start, tuple):
        return " ".join(repr(float(x)) for x in start)
    return str(start).lower() if isinstance(start, bool) else str(start)


def _says(build: Build, v: Var) -> tuple[str, ...] | None:
    return dict(build.depends).get(v.name, v.depends)


def description(unit: Unit, build: Build) -> str:
    """The modelDescription of a test FMU."""
    return _description_2(unit, build) if build.version == "2.0" else _description_3(unit, build)


UNIT_LINES = {
    "m": '<BaseUnit m="1"/>',
    "m/s": '<BaseUnit m="1" s="-1"/>',
    "m/s2": '<BaseUnit m="1" s="-2"/>',
    "N": '<BaseUnit kg="1" m="1" s="-2"/>',
}


def _units(unit: Unit) -> str:
    used = sorted({v.unit for v in unit.variables if v.unit})
    lines = "".join(f"<Unit name={quoteattr(u)}>{UNIT_LINES[u]}</Unit>" for u in used)
    return f"<UnitDefinitions>{lines}</UnitDefinitions>\n" if used else ""


def initial_of(v: Var) -> str:
    if v.initial or v.causality in ("input", "parameter", "structuralParameter", "independent"):
        return v.initial
    return "exact" if v.start is not None else "calculated"


def _calculated(unit: Unit) -> list[Var]:
    """Initial unknowns."""
    states = {v.state for v in unit.variables if v.state}
    return [
        v for v in unit.variables
        if initial_of(v) == "calculated" and not v.clocks
        and (v.causality == "output" or v.state or v.name in states)
    ]  # fmt: skip


def _description_2(unit: Unit, build: Build) -> str:
    index = {v.name: k for k, v in enumerate(unit.variables, 1)}
    flags = {
        "canGetAndSetFMUstate": build.rollback, "canSerializeFMUstate": build.serializes,
        "providesDirectionalDerivative": build.directional,
    }  # fmt: skip
    kinds = ""
    if "me" in build.kinds:
        kinds += f"<ModelExchange{_attributes(modelIdentifier=build.identifier, **flags)}/>\n"
    if "cs" in build.kinds:
        cs = {
            "canHandleVariableCommunicationStepSize": build.variable_step,
            "canInterpolateInputs": build.interpolates,
        }
        kinds += f"<CoSimulation{_attributes(modelIdentifier=build.identifier, **cs, **flags)}/>\n"
    lines = []
    for v in unit.variables:
        kind = FMI_2_TYPES[v.type]
        initial = "" if v.causality in ("input", "independent") else initial_of(v)
        inner = {"derivative": index[v.state] if v.state else None, "unit": v.unit}
        if kind == "Enumeration":
            inner = {"declaredType": "Option"}
        needs_start = v.start is not None and initial != "calculated"
        start = {"start": _text_of(v.start)} if needs_start else {}
        varies = v.variability or ("continuous" if kind == "Real" else "discrete")
        outer = {"name": v.name, "valueReference": v.reference, "causality": v.causality}
        lines.append(
            f"<ScalarVariable{_attributes(**outer, variability=varies, initial=initial)}>"
            f"<{kind}{_attributes(**inner, **start)}/></ScalarVariable>"
        )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName={quoteattr(build.identifier)} guid={quoteattr(build.token)}
  numberOfEventIndicators="{len(unit.indicators)}" generationTool="tests of plantloop">
{kinds}{_units(unit)}{_options_2(unit)}{_experiment(unit)}
<ModelVariables>
{chr(10).join(lines)}
</ModelVariables>
<ModelStructure>
{_structure_2(unit, build, index)}
</ModelStructure>
</fmiModelDescription>
"""


def _experiment(unit: Unit) -> str:
    return f'<DefaultExperiment startTime="0" stopTime="{unit.stop}" stepSize="{unit.step}"/>'


def _options_2(unit: Unit) -> str:
    if not any(v.type == "Enumeration" for v in unit.variables):
        return ""
    items = '<Item name="one" value="1"/><Item name="two" value="2"/>'
    option = f'<SimpleType name="Option"><Enumeration>{items}</Enumeration></SimpleType>'
    return f"<TypeDefinitions>{option}</TypeDefinitions>\n"


def _structure_2(unit: Unit, build: Build, index: Mapping[str, int]) -> str:
    def unknown(v: Var) -> str:
        on = _says(build, v)
        listed = "" if on is None else f' dependencies="{" ".join(str(index[n]) for n in on)}"'
        return f'<Unknown index="{index[v.name]}"{listed}/>'

    parts = []
    for element, found in (
        ("Outputs", [v for v in unit.variables if v.causality == "output"]),
        ("Derivatives", [v for v in unit.variables if v.state]),
        ("InitialUnknowns", _calculated(unit)),
    ):
        if found:
            parts.append(f"<{element}>{''.join(map(unknown, found))}</{element}>")
    return "\n".join(parts)


def _description_3(unit: Unit, build: Build) -> str:
    reference = {v.name: v.reference for v in unit.variables}
    flags = {
        "canGetAndSetFMUState": build.rollback, "canSerializeFMUState": build.serializes,
        "providesDirectionalDerivatives": build.directional, "providesAdjointDerivatives": build.directional,
    }  # fmt: skip
    kinds = ""
    if "me" in build.kinds:
        kinds += f"<ModelExchange{_attributes(modelIdentifier=build.identifier, **flags)}/>\n"
    if "cs" in build.kinds:
        cs = {
            "canHandleVariableCommunicationStepSize": build.variable_step,
            "providesIntermediateUpdate": build.interpolates, "hasEventMode": build.event_mode,
            "mightReturnEarlyFromDoStep": build.event_mode,
        }  # fmt: skip
        if build.interpolates:
            cs["recommendedIntermediateInputSmoothness"] = 1
        kinds += f"<CoSimulation{_attributes(modelIdentifier=build.identifier, **cs, **flags)}/>\n"
    if "se" in build.kinds:
        kinds += f"<ScheduledExecution{_attributes(modelIdentifier=build.identifier, **flags)}/>\n"
    lines = [_variable_3(v, build, reference) for v in unit.variables]
    z = 10 + 3 * len(unit.variables)
    for k, name in enumerate(unit.indicators):
        lines.append(f'<Float64 name="z{k}_{name}" valueReference="{z + 3 * k}" initial="calculated"/>')
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName={quoteattr(build.identifier)}
  instantiationToken={quoteattr(build.token)} generationTool="tests of plantloop">
{kinds}{_units(unit)}{_options_3(unit)}{_experiment(unit)}
<ModelVariables>
{chr(10).join(lines)}
</ModelVariables>
<ModelStructure>
{_structure_3(unit, build, reference, z)}
</ModelStructure>
</fmiModelDescription>
"""


def _variable_3(v: Var, build: Build, reference: Mapping[str, int]) -> str:
    varies = v.variability or ("continuous" if v.type.startswith("Float") else "discrete")
    initial = "" if v.causality in ("input", "independent") or v.type == "Clock" else initial_of(v)
    shown = {
        "name": v.name,
        "valueReference": v.reference,
        "causality": v.causality,
        "variability": varies,
        "initial": initial,
    }
    if v.type == "Enumeration":
        shown["declaredType"] = "Option"
    shown |= {"clocks": " ".join(str(reference[n]) for n in v.clocks), **v.ticks}
    shown |= {"derivative": reference[v.state] if v.state else None, "unit": v.unit}
    if v.causality == "input" and v.type == "Float64" and build.interpolates:
        shown["intermediateUpdate"] = True
    inner = "".join(
        f'<Dimension start="{d}"/>' if isinstance(d, int) else f'<Dimension valueReference="{reference[d]}"/>'
        for d in v.dims
    )
    if v.start is not None and initial != "calculated":
        if v.type in ("String", "Binary"):
            value = v.start.hex() if isinstance(v.start, bytes) else str(v.start)
            inner += f"<Start value={quoteattr(value)}/>"
        else:
            shown["start"] = _text_of(v.start)
    return f"<{v.type}{_attributes(**shown)}>{inner}</{v.type}>"


def _options_3(unit: Unit) -> str:
    if not any(v.type == "Enumeration" for v in unit.variables):
        return ""
    items = '<Item name="one" value="1"/><Item name="two" value="2"/>'
    return f'<TypeDefinitions><EnumerationType name="Option">{items}</EnumerationType></TypeDefinitions>\n'


def _structure_3(unit: Unit, build: Build, reference: Mapping[str, int], z: int) -> str:
    def unknown(element: str, v: Var) -> str:
        on = _says(build, v)
        listed = "" if on is None else f' dependencies="{" ".join(str(reference[n]) for n in on)}"'
        return f'<{element} valueReference="{v.reference}"{listed}/>'

    lines = [unknown("Output", v) for v in unit.variables if v.causality == "output"]
    lines += [unknown("ContinuousStateDerivative", v) for v in unit.variables if v.state]
    lines += [unknown("InitialUnknown", v) for v in _calculated(unit)]
    lines += [f'<EventIndicator valueReference="{z + 3 * k}"/>' for k in range(len(unit.indicators))]
    return "\n".join(lines)
