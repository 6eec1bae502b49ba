"""modelDescription.xml to a `FMUDescription`: FMPy reads and validates, and errors are given line numbers."""

from __future__ import annotations

import io
import math
import warnings
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from cosim.fmi.contradictions import contradictions, no_states, odd_elements, wrong_indices
from cosim.fmi.description import (
    FLOATS,
    MOST_NUMBERS,
    ClockTiming,
    Dependent,
    Dimension,
    Experiment,
    FMUDescription,
    Interface,
    Unit,
    Variable,
)
from cosim.fmi.fmi_errors import FMUError
from cosim.fmi.repairs import repaired, written
from cosim.fmi.tolerated import tolerated

OLD_TYPES = {"Real": "Float64", "Integer": "Int32"}
VERSIONS = ("2.0", "3.0")
BASE = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")
FLAGS = {
    "needs_execution_tool": "needsExecutionTool",
    "only_once_per_process": "canBeInstantiatedOnlyOncePerProcess",
    "can_get_and_set_state": "canGetAndSetFMUstate",
    "can_serialize_state": "canSerializeFMUstate",
    "adjoint_derivatives": "providesAdjointDerivatives",
    "per_element_dependencies": "providesPerElementDependencies",
    "needs_completed_step": "needsCompletedIntegratorStep",
    "evaluates_discrete_states": "providesEvaluateDiscreteStates",
    "variable_step": "canHandleVariableCommunicationStepSize",
    "fixed_internal_step": "fixedInternalStepSize",
    "interpolates_inputs": "canInterpolateInputs",
    "output_derivative_order": "maxOutputDerivativeOrder",
    "intermediate_update": "providesIntermediateUpdate",
    "early_return": "mightReturnEarlyFromDoStep",
    "has_event_mode": "hasEventMode",
    "asynchronous": "canRunAsynchronuously",  # spelled so in the standard
}
"""Our capabilities, and what FMPy calls them."""


def read(xml: bytes, file: str) -> FMUDescription:
    """Read a model description.

    Parameters
    ----------
    xml : bytes     of modelDescription.xml
    file : str      the FMU, for messages

    Raises
    ------
    FMUError        not well-formed, against the schema, or not usable; with lines. What validation finds
                    beyond that and does not matter for running is a warning
    """
    root = parsed(xml, file)
    version = root.get("fmiVersion")
    if version is None or not version.startswith(VERSIONS):
        what = "no fmiVersion" if version is None else f"FMI version {version}"
        raise _fault(file, what, "Versions 2.0 and 3.0 can be read; export it anew for one of them.")
    old = version.startswith("2.0.")  # the standard writes 2.0 for all of them
    if old:
        root.set("fmiVersion", "2.0")
    if repaired(root) or old:
        xml = written(root)
    if problems := wrong_indices(root):
        raise _fault(file, "modelDescription.xml is not valid", _listed(problems))
    raw, root = _validated(xml, file, root)
    try:
        found = _described(raw, file, root)
    except FMUError:
        raise
    except (KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
        raise _fault(file, f"its description cannot be used: {type(error).__name__}: {error}") from error
    if problems := [*odd_elements(root), *contradictions(found)]:
        _warn(file, problems, 3)
    return found


GRAVE = ("not unique", "references")
MERE_INFORMATION = ("attribute 'generationDateAndTime'", "attribute 'license'", "attribute 'copyright'")
"""Nothing that runs depends on these: what is wrong with them is a warning."""


def _elements(root: Any) -> Iterable[tuple[str, Any]]:
    """Elements of variables by name."""
    found = root.find("ModelVariables")
    for element in found if found is not None else ():
        if isinstance(element.tag, str) and element.get("name") is not None:
            yield element.get("name"), element


def parsed(xml: bytes, file: str) -> Any:
    """The element of a whole description.

    Raises
    ------
    FMUError        not well-formed, another document, or one with a DOCTYPE
    """
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
    try:
        root = etree.fromstring(xml, parser)
    except etree.XMLSyntaxError as error:
        raise _fault(file, f"modelDescription.xml is not well-formed: {error.msg}") from error
    if getattr(root.getroottree().docinfo, "doctype", ""):
        raise _fault(file, "modelDescription.xml has a DOCTYPE, which no FMU needs", "Do not use it.")
    if root.tag != "fmiModelDescription":
        raise _fault(file, f"modelDescription.xml begins with <{root.tag}>, expected <fmiModelDescription>")
    return root


def _validated(xml: bytes, file: str, root: Any) -> tuple[Any, Any]:
    """FMPy's model description, and the element of the whole, without what may be left out of it."""
    from fmpy.model_description import ValidationError, read_model_description

    left_out: list[str] = []
    while True:
        memory = io.BytesIO()
        with zipfile.ZipFile(memory, "w") as archive:
            archive.writestr("modelDescription.xml", xml)
        try:
            found = read_model_description(memory, validate=True)
            problems: list[str] = []
            break
        except ValidationError as error:
            problems = [str(p) for p in error.problems]
        except Exception as error:  # FMPy raises various exceptions
            raise _fault(file, f"modelDescription.xml cannot be read: {_said(error)}") from error
        fatal = [p for p in problems if p.startswith(("ERROR", "FATAL")) or any(g in p for g in GRAVE)]
        fatal = [p for p in fatal if not any(m in p for m in MERE_INFORMATION)]
        if fatal and tolerated(root, fatal):
            left_out += fatal
            xml = written(root)
            root = parsed(xml, file)  # further problems are in its lines
            continue
        if fatal:
            raise _fault(file, "modelDescription.xml is not valid", _listed(fatal))
        try:
            found = read_model_description(memory, validate=False)
        except Exception as error:
            raise _fault(file, f"modelDescription.xml cannot be read: {_said(error)}") from error
        break
    if left_out or problems:
        _warn(file, [*left_out, *problems], 4)
    return found, root


def _listed(problems: Sequence[str]) -> str:
    return "\n- ".join(["Problems:", *problems[:10]])


def _warn(file: str, problems: Sequence[str], level: int) -> None:
    listed = "; ".join(problems[:3]) + (f"; and {len(problems) - 3} more" if len(problems) > 3 else "")
    warnings.warn(f"FMU '{file}' is not quite valid: {listed}", stacklevel=level + 1)


def _said(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"value reference {error} does not exist"
    return str(error) or type(error).__name__


def _described(raw: Any, file: str, root: Any) -> FMUDescription:
    elements = dict(_elements(root))
    by_raw: dict[int, str] = {id(v): v.name for v in raw.modelVariables}
    variables = {}
    for v in raw.modelVariables:
        variables[v.name] = _variable(v, file, by_raw, elements.get((v.alias or v).name))

    def structure(entries: Any) -> tuple[Dependent, ...]:
        return tuple(
            Dependent(
                u.variable.name,
                None if u.dependencies is None else tuple(d.name for d in u.dependencies),
                tuple(u.dependenciesKind or ()),
            )
            for u in entries
        )

    e = raw.defaultExperiment
    description = FMUDescription(
        file=file,
        version=raw.fmiVersion,
        name=raw.modelName or "",
        token=raw.instantiationToken or "",
        variables=variables,
        cs=_interface("cs", raw.coSimulation, root.find("CoSimulation")),
        me=_interface("me", raw.modelExchange, root.find("ModelExchange")),
        se=_interface("se", raw.scheduledExecution, root.find("ScheduledExecution")),
        units={u.name: _unit(u) for u in raw.unitDefinitions},
        experiment=Experiment()
        if e is None
        else Experiment(*(_number(x) for x in (e.startTime, e.stopTime, e.tolerance, e.stepSize))),
        outputs=structure(raw.outputs),
        derivatives=structure(raw.derivatives),
        indicators=structure(raw.eventIndicators),
        initial_unknowns=structure(raw.initialUnknowns),
        clocked_states=structure(raw.clockedStates),
        n_indicators=int(raw.numberOfEventIndicators),
        log_categories=tuple(c.name for c in raw.logCategories),
        tool=raw.generationTool or "",
        text=raw.description or "",
        structured_names=raw.variableNamingConvention == "structured",
    )
    _check(description)
    return description


def _variable(v: Any, file: str, names: Mapping[int, str], element: Any) -> Variable:
    kind = OLD_TYPES.get(v.type, v.type)
    declared = v.declaredType
    if kind == "Enumeration" and declared is None:
        raise _fault(file, f"variable '{v.name}' (line {v.sourceline}) is an enumeration without a type")

    def given(name: str) -> Any:
        own = _attribute(element, name)
        return own if own is not None or declared is None else getattr(declared, name, None)

    dimensions = tuple(
        Dimension(d.start, None) if d.start is not None else Dimension(int(d.variable.start), d.variable.name)
        for d in v.dimensions
    )
    start = _start(v, kind, file, element)
    return Variable(
        name=v.name,
        reference=int(v.valueReference),
        type=kind,
        causality=v.causality,
        variability=v.variability,
        initial=v.initial or "",
        start=start,
        shape=tuple(int(n) for n in v.shape or ()),
        dimensions=dimensions,
        unit=given("unit") or "",
        display_unit=(v.displayUnit if v.alias is not None else given("displayUnit")) or "",
        quantity=given("quantity") or "",
        relative_quantity=given("relativeQuantity") in (True, "true", "1"),
        minimum=_number(given("min")),
        maximum=_number(given("max")),
        nominal=_number(given("nominal")),
        declared_type=declared.name if declared is not None else "",
        items={int(i.value): i.name for i in declared.items} if kind == "Enumeration" else {},
        description=v.description or "",
        derivative_of=v.derivative.name if v.derivative is not None else None,
        reinit=_is_true(element, "reinit"),
        clocks=tuple(c.name for c in v.clocks or ()),
        clock=_clock(element) if kind == "Clock" else None,
        intermediate_update=_is_true(element, "intermediateUpdate"),
        multiple_sets=element is None or element.get("canHandleMultipleSetPerTimeInstant") != "false",
        alias_of=names[id(v.alias)] if v.alias is not None else None,
        max_size=_max_size(element) if kind == "Binary" else None,
        line=v.sourceline if element is None else element.sourceline,
    )


def _max_size(element: Any) -> int | None:
    said = None if element is None else element.get("maxSize")
    return None if said is None else int(said)


def _clock(element: Any) -> ClockTiming:
    resolution, priority = element.get("resolution"), element.get("priority")

    def seconds(what: str) -> Fraction | None:
        counter, decimal = element.get(f"{what}Counter"), element.get(f"{what}Decimal")
        if counter is not None and resolution is not None:
            return Fraction(int(counter), int(resolution))
        return None if decimal is None else Fraction(decimal)

    return ClockTiming(
        element.get("intervalVariability", ""),
        seconds("interval"),
        seconds("shift") or Fraction(0),
        None if priority is None else int(priority),
    )


def _attribute(element: Any, name: str) -> str | None:
    """An attribute of a variable's element, or of the element of its type inside."""
    nested = [] if element is None else [element, *(e for e in element if isinstance(e.tag, str))]
    return next((e.get(name) for e in nested if e.get(name) is not None), None)


def _is_true(element: Any, name: str) -> bool:
    if element is None:
        return False
    nested = [element, *element]
    return any(e.get(name) in ("true", "1") for e in nested if isinstance(e.tag, str))


def _start(v: Any, kind: str, file: str, element: Any) -> Any:
    """The start value as a Python value."""
    if kind in ("String", "Binary"):
        texts = [s.get("value") for s in element.findall("Start")] if element is not None else []
        texts = texts or ([v.start] if v.start is not None else [])
        try:
            values = [bytes.fromhex(t) if kind == "Binary" else t for t in texts]
        except ValueError:
            raise _not_a(v, file, "hexadecimal digits") from None
        if not values:
            return None
        return tuple(values) if v.dimensions else values[0]
    if v.start is None or kind == "Clock":
        return None
    words = v.start.split() if v.dimensions else [v.start.strip()]
    try:
        found = [_literal(w, kind) for w in words]
    except ValueError:
        raise _not_a(v, file, "numbers" if kind != "Boolean" else "true or false") from None
    if not v.dimensions:
        return found[0]
    size, where = math.prod(v.shape), f"variable '{v.name}' (line {v.sourceline})"
    if size > MOST_NUMBERS:
        raise _fault(file, f"{where} is an array of {size} numbers; at most {MOST_NUMBERS} are possible")
    if len(found) == 1:
        found = found * size
    if len(found) != size:
        raise _fault(file, f"{where} has {len(found)} start values for {size} elements")
    return tuple(found)


def _literal(word: str, kind: str) -> Any:
    if kind in FLOATS:
        return float(word.replace("INF", "inf"))
    if kind == "Boolean":
        if word not in ("true", "1", "false", "0"):
            raise ValueError(word)
        return word in ("true", "1")
    return int(word)


def _not_a(v: Any, file: str, expected: str) -> FMUError:
    where = f"variable '{v.name}' (line {v.sourceline})"
    return _fault(file, f'{where} has start="{v.start}", expected {expected}')


def _number(text: Any) -> float | None:
    return None if text is None else float(text)


def _unit(u: Any) -> Unit:
    if u.baseUnit is None:
        return Unit(u.name)
    b = u.baseUnit
    exponents = {name: int(getattr(b, name)) for name in BASE if getattr(b, name)}
    return Unit(u.name, exponents, float(b.factor), float(b.offset))


def _interface(kind: str, found: Any, element: Any) -> Interface | None:
    if found is None:
        return None
    flags = {ours: getattr(found, theirs) for ours, theirs in FLAGS.items() if hasattr(found, theirs)}
    if flags.get("fixed_internal_step") is not None:
        flags["fixed_internal_step"] = float(flags["fixed_internal_step"])
    flags["output_derivative_order"] = int(flags.get("output_derivative_order", 0))
    spelled = ("providesDirectionalDerivative", "providesDirectionalDerivatives")  # FMPy knows the first
    flags["directional_derivatives"] = any(element.get(name) in ("true", "1") for name in spelled)
    return Interface(kind, found.modelIdentifier or "", **flags)


def _check(d: FMUDescription) -> None:
    """Refuse what cannot be run although the schema allows it."""
    if not d.kinds:
        raise d.fault("neither <CoSimulation> nor <ModelExchange> in its description")
    for kind in d.kinds:
        if not getattr(d, kind).identifier:
            raise d.fault(f"no modelIdentifier of kind '{kind}'")
    for entry in d.derivatives:
        if d.variables[entry.name].derivative_of is None:
            line = d.variables[entry.name].line
            raise d.fault(
                f"'{entry.name}' (line {line}) stands among the derivatives of states but is the derivative "
                "of nothing",
                'It needs derivative="...".',
            )
    if problems := no_states(d):
        raise d.fault("modelDescription.xml is not valid", _listed(problems))
    for v in d.variables.values():
        for dimension in v.dimensions:
            if dimension.source is None:
                continue
            source = d.variables[dimension.source]
            if source.causality not in ("structuralParameter",) and source.variability != "constant":
                what = f"a size of '{v.name}' (line {v.line}) is '{source.name}', no structural parameter"
                raise d.fault(what)
        if v.clock is not None:
            _check_clock(d, v, v.clock)
        if v.causality == "structuralParameter" and v.numeric and v.start is None and v.alias_of is None:
            raise d.fault(f"structural parameter '{v.name}' (line {v.line}) has no start value")


def _check_clock(d: FMUDescription, v: Variable, clock: ClockTiming) -> None:
    name = f"clock '{v.name}' (line {v.line})"
    if clock.kind == "constant" and clock.interval is None:
        raise d.fault(f"{name} is constant but has no interval", "It needs intervalDecimal.", v.name)
    if clock.interval is not None and clock.interval <= 0:
        raise d.fault(f"{name} has an interval of {float(clock.interval):g} s", name=v.name)
    if clock.kind != "triggered" and v.causality != "input":
        what = f"{name} is of kind {clock.kind} and of causality {v.causality}"
        raise d.fault(what, "Only inputs are ticked from outside.", v.name)


def _fault(file: str, what: str, hint: str | None = None) -> FMUError:
    stop = "" if what.endswith((".", "?")) else "."
    return FMUError(f"FMU '{file}': {what}{stop}", path=file, hint=hint)
