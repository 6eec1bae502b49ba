"""The command line for .ssp files: describe one, run it over its default experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blocks.errors import PlantloopError
from cosim.cli.package_runs import ExperimentSpan
from cosim.fmi.ssp.ssd_reader import read_ssp
from cosim.fmi.ssp.structure import Connector, ConnectorLink, StructuredSystem

if TYPE_CHECKING:
    from cosim.result.result import Result


def sections(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Headings and lines about an SSP package; no FMU in it is loaded.

    Raises
    ------
    SSPError      no package, an unsafe one, XML that is wrong (with its line)
    """
    found = read_ssp(path)
    yield "system", [f"{found.name}, SSP {found.version}"]
    yield "connectors", list(map(_connector, found.system.connectors))
    levels = list(_levels(found.system))
    yield (
        "components",
        [
            f"{prefix}{c.name}: {c.source}"
            + (f", {c.kind}" if c.kind else "")
            + (f", step {c.sample} s" if c.sample else "")
            + f"; {', '.join(map(_connector, c.connectors))}"
            for prefix, system in levels
            for c in system.components
        ],
    )
    yield "connections", [_link(prefix, link) for prefix, s in levels for link in s.connections]
    values = [(f"{prefix}{c.name}.", c.values) for prefix, s in levels for c in s.components]
    values += [(prefix, s.values) for prefix, s in levels]
    yield (
        "values",
        [
            f"{prefix}{v.name} = {v.value}{f' {v.unit}' if v.unit else ''}"
            for prefix, vs in values
            for v in vs
        ],
    )
    e = found.experiment
    given = {"start": e.start, "stop": e.stop}
    yield "default experiment", [", ".join(f"{n} {x:g}" for n, x in given.items() if x is not None) or "none"]


def _levels(system: StructuredSystem, prefix: str = "") -> Iterator[tuple[str, StructuredSystem]]:
    """A system and the systems inside, each with the prefix of its names."""
    yield prefix, system
    for inner in system.systems:
        yield from _levels(inner, f"{prefix}{inner.name}/")


def _connector(c: Connector) -> str:
    return f"{c.name} ({c.kind}{f', {c.unit}' if c.unit else ''})"


def _link(prefix: str, link: ConnectorLink) -> str:
    ends = ((link.start, link.start_index), (link.end, link.end_index))
    start, end = (prefix + ".".join(part for part in port if part) + _index(index) for port, index in ends)
    t = link.transformation
    scaled = f", times {t.factor:g} plus {t.offset:g}" if t is not None and not t.table else ""
    return f"{start} -> {end}{scaled}{', by a table' if t is not None and t.table else ''}"


def _index(index: tuple[int, ...]) -> str:
    """The one component of an array, counted from 1."""
    return f"[{','.join(map(str, index))}]" if index else ""


def span_of(path: Path) -> ExperimentSpan:
    """The span of the default experiment of a package."""
    e = read_ssp(path).experiment
    return ExperimentSpan.of(e.start, e.stop)


def run(
    path: Path,
    engine: str | None,
    trust: bool,
    span: ExperimentSpan | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Result:
    """Run a package over its default experiment, or another span, its own inputs at their start values.

    parameters : values by name, as in `simulate`

    Time counts from the start of the experiment.

    Raises
    ------
    PlantloopError       nobody said that its native code may run
    SSPError, FMUError   as for `import_ssp`
    SimulationError      it fails on the way
    """
    from cosim.fmi.ssp.importing import import_ssp
    from cosim.simulation import simulate

    if not trust:
        raise PlantloopError(
            f"running '{path}' would run the native code of the FMUs in it.",
            path=str(path),
            hint="If you trust it, allow that with --trust.",
        )
    span = span or span_of(path)
    d = import_ssp(path, start_time=span.start)
    return simulate(d, span.length, engine=engine or "auto", parameters=parameters)
