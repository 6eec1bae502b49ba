"""`export_fmu`: a diagram, a plant or a block as an FMU, from the native engine's own C."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from blocks.arguments import flag, is_number
from blocks.contract.block import Block
from blocks.contract.user_lines import warn_user
from blocks.errors import PlantloopError, near_miss
from blocks.files import replacing
from cosim.block_alone import system_of
from cosim.built_for import built_for
from cosim.diagram import Diagram
from cosim.engines.native.native import obstacles
from cosim.fmi.export import binaries
from cosim.fmi.export.descriptions import Facts, build_description, description_2, description_3
from cosim.fmi.export.exported_model import ExportedModel
from cosim.fmi.export.exported_variables import Variables, variables_of
from cosim.fmi.export.model_structure import Structure
from cosim.fmi.export.sources import common, headers_of, of_version
from cosim.names import listed, mapped
from cosim.run.context import Context
from cosim.run.named_values import set_initial, set_parameter
from cosim.settings import Keywords, RunSettings, takes_settings
from cosim.system import System


@dataclass(frozen=True)
class Version:
    """What an exported file has of one version of FMI; its functions in C are in `unit/`, fmi2*.c or fmi3*.c.

    describe : makes modelDescription.xml; folder : of a platform, in binaries/
    describe_build : makes sources/buildDescription.xml, None where there is none
    """

    describe: Callable[[Facts, Variables, Structure], bytes]
    folder: Callable[[binaries.Platform], str]
    describe_build: Callable[[Facts], bytes] | None = None


VERSIONS = {
    "2.0": Version(description_2, lambda platform: platform.folder_2),
    "3.0": Version(description_3, lambda platform: platform.folder_3, build_description),
}
KINDS = ("cs", "me")


@takes_settings
def export_fmu(
    diagram: Diagram | Block | System,
    path: str | os.PathLike[str],
    *,
    version: str = "3.0",
    kinds: Sequence[str] = KINDS,
    platforms: Sequence[str] | None = None,
    parameters: Mapping[str, Any] | None = None,
    initial: Mapping[str, Any] | None = None,
    locals: Sequence[str] = (),
    outputs: Sequence[str] | None = None,
    sources: bool = True,
    stop: float | None = None,
    interval: float | None = None,
    settings: RunSettings | None = None,
    **keywords: Unpack[Keywords],
) -> Path:
    """Write a diagram, a plant or a block as an FMU that runs anywhere without Python; returns its path.

    Inputs and outputs are those of the diagram, or the ports of a single block; parameters are tunable,
    states are local variables. For co-simulation the FMU contains the solver: with fixed steps it gives the
    numbers of the native engine, bit for bit, and a communication step that ends on a tick executes the
    tick, as `Simulation.advance` does. In model exchange ticks are time events and crossings are event
    indicators. In both the time is the importer's, and ticks are counted from its start time.

    Parameters
    ----------
    path : where to write it, "loop.fmu"
    version : "2.0" or "3.0"
    kinds : "cs" (co-simulation), "me" (model exchange), or both
    platforms : of "linux64", "win64", "darwin64", "aarch64-linux", "aarch64-darwin"; default this machine's
    parameters, initial : numbers by name, as for `Simulation`: the start values
    locals : names of signals to show besides the outputs
    outputs : names of signals that are outputs; default those of the diagram, all signals where it has none
    sources : include the C files, for other platforms
    stop, interval : end of the default experiment, and its communication step [s]; by default the shortest
        period of a rate, or the step of the solver
    settings : RunSettings  several of the following at once; each may also be given by itself. Where no
        solver is given it is "rk4", with steps of at most 1 ms
    **settings

    Raises
    ------
    PlantloopError                  Python or an FMU inside, unknown names, or something without sense
    CompilerError, CacheError       no compiler for a platform, it failed, or no room for what it made

    >>> export_fmu(d, "loop.fmu", version="3.0", step=1e-3)
    """
    if not isinstance(version, str) or version not in VERSIONS:
        raise PlantloopError(
            f"version is {version!r}, expected {' or '.join(VERSIONS)}, as a text.", value=version
        )
    found_kinds = _kinds(kinds)
    chosen = binaries.chosen(platforms)
    flag(sources, "sources")
    for name, value in (("stop", stop), ("interval", interval)):
        if value is not None and not (is_number(value) and 0 < value < float("inf")):
            raise PlantloopError(f"{name} is {value!r}, expected a time above 0 [s], or None.", value=value)
    target = _target(path)
    if settings is None and not any(
        keywords.get(k) is not None for k in ("solver", "rtol", "atol", "max_step")
    ):
        keywords["solver"] = "rk4"
    run = RunSettings.of(settings, **keywords)
    if run.engine == "reference":
        raise PlantloopError("engine='reference' has no code to export; leave it out.", value=run.engine)
    diagram, tunable = built_for(diagram, parameters, run.solve_loops)
    system = system_of(diagram, run.solve_loops)
    refuse_python(system, run)
    _warn_of_slopes(system)
    context = Context.initial(system)
    for name, value in tunable.items():
        set_parameter(system, context, name, value)
    for name, value in mapped(initial, "initial").items():
        set_initial(system, context, name, value)
    shown = None if outputs is None else listed(outputs, "outputs")
    variables = variables_of(system, context, listed(locals, "locals"), shown)
    model = ExportedModel(system, run, context, variables, target.stem, found_kinds, stop, interval)
    _write(target, model, version, chosen, sources)
    return target


def _warn_of_slopes(system: System) -> None:
    """Of equations that follow the slope of an input, of which an importer gives values only."""
    if names := [name for name, in_equations in system.input_slopes.items() if in_equations]:
        warn_user(
            f"equations of diagram '{system.name}' follow how fast these inputs change, which FMI does not "
            f"tell: {', '.join(map(repr, names))}. They count as held, their slopes as 0. Put what drives "
            "them into the FMU."
        )


def _kinds(kinds: Sequence[str]) -> tuple[str, ...]:
    found = listed(kinds, "kinds")
    for kind in found:
        if kind not in KINDS:
            raise PlantloopError(f"no kind {kind!r}; {near_miss(kind, KINDS)}", value=kind)
    if not found:
        raise PlantloopError('kinds is empty, expected "cs", "me" or both.', value=kinds)
    return tuple(k for k in KINDS if k in found)


def _target(path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, (str, os.PathLike)) or not str(path):
        raise PlantloopError(f"path is {path!r}, expected where to write the FMU.", value=path)
    target = Path(path)
    if target.suffix.lower() != ".fmu":
        raise PlantloopError(
            f"'{target}' does not end in .fmu.", path=str(target), hint="Give it that suffix."
        )
    if not target.parent.is_dir():
        raise PlantloopError(
            f"the folder '{target.parent}' of '{target.name}' is not there.", path=str(target)
        )
    return target


def refuse_python(system: System, settings: RunSettings) -> None:
    """Refuse models that need Python, which an exported model does not have; the error names the blocks.

    Raises
    ------
    PlantloopError      it has blocks in Python, or FMUs
    """
    found = obstacles(system, settings)
    ticked = [s.path for s in system.schedule if s.external is not None]
    paths = [*dict.fromkeys([*system.opaque, *ticked, *(unit.path for unit in system.units)])]
    found += [f"block '{path}' runs in Python, or in a library of its own" for path in paths]
    if found:
        raise PlantloopError(
            f"'{system.name}' cannot be exported: {'; '.join(found)}.",
            path=paths[0] if paths else system.name,
            hint="Write such blocks as equations, or leave them out and connect them to the exported rest.",
        )


def _write(target: Path, model: ExportedModel, version: str, platforms: Sequence[str], sources: bool) -> None:
    """Write the zip, completely or not at all."""
    facts = model.facts(version, sources)
    own = VERSIONS[version]
    groups = [[model.data], model.equations, common(), of_version(version)]
    entries: dict[str, bytes] = {
        "modelDescription.xml": own.describe(facts, model.variables, model.structure)
    }
    for name in platforms:
        p = binaries.PLATFORMS[name]
        entries[f"binaries/{own.folder(p)}/{model.identifier}{p.suffix}"] = binaries.binary(
            name, groups, model.identifier
        )
    if sources:
        entries |= {f"sources/{f.name}": f.text.encode() for f in model.files(version)}
        entries |= {f"sources/{name}": text.encode() for name, text in headers_of(version).items()}
        if own.describe_build is not None:
            entries["sources/buildDescription.xml"] = own.describe_build(facts)
    with replacing(target) as made, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
