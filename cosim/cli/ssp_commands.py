"""The command line for .ssp files: describe one, run it over its default experiment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from blocks.errors import PlantloopError
from cosim.cli.package_runs import ExperimentSpan, PackageRun
from cosim.fmi.ssp.ssd_reader import read_ssp
from cosim.fmi.ssp.structure import Connector, ConnectorLink, StructuredSystem

if TYPE_CHECKING:
    from cosim.cli.run_changes import RunChanges
    from cosim.compile.netlist import Netlist


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


def prepared(path: Path, engine: str | None, trust: bool, changes: RunChanges) -> PackageRun:
    """The run of a package over its default experiment, or another span, with inputs at start values.

    Values may be fields of its FMUs (``motor.sample``). Time counts from the start of the experiment, or from
    the `start_time` that all FMUs were given instead.

    Raises
    ------
    PlantloopError       nobody said that its native code may run; FMUs that begin at different times
    SSPError, FMUError   as for `import_ssp`
    """
    from cosim.built_for import built_for
    from cosim.fmi.ssp.importing import import_ssp
    from cosim.simulation import simulate

    if not trust:
        raise PlantloopError(
            f"running '{path}' would run the native code of the FMUs in it.",
            path=str(path),
            hint="If you trust it, allow that with --trust.",
        )
    e = read_ssp(path).experiment
    own = ExperimentSpan.of(e.start, e.stop)
    d, parameters = built_for(import_ssp(path, start_time=own.start), changes.values)
    begin = _begin(d.netlist(), own.start)
    span = changes.span(own if begin == own.start else ExperimentSpan.of(begin, e.stop))
    return PackageRun(
        span, lambda: simulate(d, span.length, engine=engine or "auto", parameters=parameters)
    )  # fmt: skip


def _begin(netlist: Netlist, usual: float) -> float:
    """Where the clock of all FMUs begins [s]; `usual` without any."""
    from cosim.fmi.ssp.ssd_writer import start_times

    found = {time: name for name, time in start_times(netlist)} or {usual: ""}
    if len(found) > 1:
        listed = ", ".join(f"'{name}' at {time:g} s" for time, name in found.items())
        raise PlantloopError(
            f"the FMUs begin at different times: {listed}. The result of a package has one clock.",
            path="start_time",
            hint="Give all of them the same start_time.",
        )
    return next(iter(found))
