"""The command line for .fmu files: describe one, run it by itself, validate it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blocks.errors import PlantloopError
from cosim.cli.package_runs import DEFAULT_END, ExperimentSpan, PackageRun
from cosim.fmi.clock_schedule import common_interval
from cosim.fmi.description import FMUDescription, Interface, Variable
from cosim.fmi.fmu import FMU
from cosim.fmi.package import Package
from cosim.fmi.reading import parsed, read
from cosim.fmi.repairs import repaired, repaired_copy
from cosim.result.result import Result

if TYPE_CHECKING:
    from cosim.cli.run_changes import RunChanges

KINDS = {"cs": "co-simulation", "me": "model exchange", "se": "scheduled execution"}
MOST = 40  # most variables of one causality in a list


def sections(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Headings and lines about an FMU; its binary is not loaded.

    Raises
    ------
    FMUError      as for `FMU`
    """
    package = Package(path)
    d = read(package.xml, str(path))
    yield "model", [f"{d.name}, FMI {d.version}" + (f", {d.text}" if d.text else "")]
    yield "made by", [d.tool or "unknown"]
    yield "kinds", [_kind(getattr(d, kind)) for kind in d.kinds]
    yield "platforms", package.platforms or ["none"]
    if any(getattr(d, kind).needs_execution_tool for kind in d.kinds):
        yield "needs", [f"{d.tool or 'the tool that made it'}, installed (needsExecutionTool)"]
    for heading, causality in (
        ("inputs", "input"),
        ("outputs", "output"),
        ("parameters", "parameter"),
        ("structural parameters", "structuralParameter"),
    ):
        found = [v for v in d.variables.values() if v.causality == causality]
        more = [f"and {len(found) - MOST} more"] if len(found) > MOST else []
        yield heading, [_line(d, v) for v in found[:MOST] if v.clock is None] + more
    if d.clocks:
        yield "clocks", [_clock(v) for v in d.clocks]
    yield "states", [v.name + _size(v) for v in d.states[:MOST]]
    yield "event indicators", [str(d.n_indicators)]
    e = d.experiment
    given = {"start": e.start, "stop": e.stop, "step": e.step, "tolerance": e.tolerance}
    yield "default experiment", [", ".join(f"{n} {x:g}" for n, x in given.items() if x is not None) or "none"]


def _kind(interface: Interface) -> str:
    words = [
        name.replace("_", " ") if value is True else f"{name.replace('_', ' ')} {value}"
        for name, value in interface.capabilities().items()
    ]
    return f"{KINDS[interface.kind]}: {', '.join(words) or 'no capabilities'}"


def _line(d: FMUDescription, v: Variable) -> str:
    unit = f" {v.unit}" if v.unit else ""
    start = "" if v.start is None else f" = {v.start}"
    depends = ""
    if v.causality == "output" and (listed := d.dependencies(v.name)) is not None:
        depends = f"; depends on {', '.join(listed)}" if listed else "; depends on nothing"
    text = f"; {v.description}" if v.description else ""
    return f"{v.name}{_size(v)}{start}{unit} ({v.type}, {v.variability}){depends}{text}"


def _clock(v: Variable) -> str:
    timing = v.clock
    assert timing is not None  # the variable is a clock
    words = [v.causality, timing.kind]
    if timing.interval is not None:
        words.append(f"every {float(timing.interval):g} s")
    if timing.shift:
        words.append(f"first after {float(timing.shift):g} s")
    if timing.priority is not None:
        words.append(f"priority {timing.priority}")
    return f"{v.name}: {', '.join(words)}" + (f"; {v.description}" if v.description else "")


def _size(v: Variable) -> str:
    return f"[{', '.join(map(str, v.shape))}]" if v.shape else ""


def span_of(path: Path) -> ExperimentSpan:
    """The span of the default experiment of an FMU."""
    e = read(Package(path).xml, str(path)).experiment
    return ExperimentSpan.of(e.start, e.stop)


def prepared(path: Path, engine: str | None, changes: RunChanges) -> PackageRun:
    """The run of an FMU by itself with some changes; see `run`."""
    span = changes.span(span_of(path))
    return PackageRun(span, lambda: run(path, engine, None, span, changes.values))


def run(
    path: Path,
    engine: str | None,
    progress: Callable[[float], None] | None = None,
    span: ExperimentSpan | None = None,
    start: Mapping[str, Any] | None = None,
) -> Result:
    """Run an FMU by itself over its default experiment, or another span, inputs at their start values.

    start : start values by name, as in `FMU`

    Time counts from the start of the experiment.

    Raises
    ------
    FMUError             as for `FMU`
    SimulationError      it fails on the way
    """
    from cosim.simulation import simulate

    span = span or span_of(path)
    sample = None if _has_step(path) else (span.length or DEFAULT_END) / 500
    stop = span.start + span.length if span.length else None
    fmu = FMU(path, sample=sample, start_time=span.start, stop_time=stop, start=start or None)
    every = fmu.description.experiment.step
    return simulate(fmu, until=span.length, engine=engine or "auto", progress=progress, log_every=every)


def _has_step(path: Path) -> bool:
    d = read(Package(path).xml, str(path))
    cs = d.cs
    if d.kinds == ("se",):
        return common_interval(d, {}) is not None or d.experiment.step is not None
    return cs is None or d.experiment.step is not None or cs.fixed_internal_step is not None


def _of_fmpy(path: Path) -> list[str]:
    """The findings of FMPy, but for those that take aliases for variables that the structure should list."""
    from fmpy import read_model_description
    from fmpy.validation import validate_fmu, validate_model_description

    found = [str(problem) for problem in validate_fmu(str(path))]
    if not found:
        return []
    try:
        description = read_model_description(str(path), validate=False)
    except Exception:  # FMPy raises various exceptions, all of which it has named above
        return found
    with_aliases = list(map(str, validate_model_description(description, validate_model_structure=True)))
    description.modelVariables = [v for v in description.modelVariables if v.alias is None]
    without = list(map(str, validate_model_description(description, validate_model_structure=True)))
    kept = [problem for problem in found if problem not in with_aliases or problem in without]
    return kept + [problem for problem in without if problem not in found]


def _of_fmpy_repaired(path: Path, package: Package) -> list[str]:
    """The same, where FMPy's reader does not take what the standard allows."""
    root = parsed(package.xml, str(path))
    if not repaired(root):
        return _of_fmpy(path)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        repaired_copy(path, root, copy)
        return _of_fmpy(copy)


def _without_grammar(problem: str) -> str:
    """A finding about a name, without what the parser of names would have taken, which nobody can read."""
    said, convention, grammar = problem.partition('naming convention "structured".')
    if not convention:
        return problem
    column = re.search(r"at line 1,? col(?:umn)? (\d+)", grammar)
    where = f" It goes wrong at character {column[1]}." if column else ""
    return f"{said}{convention}{where}"


def findings(path: Path) -> list[str]:
    """All findings of a validation: those of FMPy, of the schemas and rules, and ours.

    Raises
    ------
    PlantloopError      no FMU, or one that cannot be used
    """
    import warnings

    package = Package(path)
    found = [_without_grammar(problem) for problem in _of_fmpy_repaired(path, package)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        d = read(package.xml, str(path))
    for kind in d.kinds:
        interface: Any = getattr(d, kind)
        try:
            package.library(interface.identifier)
        except PlantloopError as error:
            found.append(str(error))
    return found
