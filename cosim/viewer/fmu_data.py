"""The page of an FMU: its ports, variables and structure. Its binary is neither loaded nor run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cosim.fmi.description import FMUDescription, Interface, Variable
from cosim.fmi.fmu_picture import fmu_picture
from cosim.fmi.package import Package
from cosim.fmi.reading import read
from cosim.viewer.diagram_data import picture_data
from cosim.viewer.page_data import PageData

KINDS = {"cs": "co-simulation", "me": "model exchange", "se": "scheduled execution"}
VARIABLE = (
    "name",
    "causality",
    "variability",
    "type",
    "size",
    "start",
    "unit",
    "minimum",
    "maximum",
    "initial",
)
LONGEST = 120  # most letters of a start value


def of_fmu(path: Path) -> PageData:
    """The page of an .fmu file.

    Raises
    ------
    FMUError      it is none, or damaged
    """
    package = Package(path)
    d = read(package.xml, str(path))
    page = PageData(d.name)
    page.content["diagram"] = {"name": d.name, "problems": "", "rates": [], "root": _alone(d)}
    columns = (*VARIABLE, "description")
    page.add_table("variables", columns, (_variable(v) for v in d.variables.values()))
    page.add_table("structure", ("unknown", "is", "depends on"), _structure(d))
    page.add_table("about", ("what", "value"), _about(d, package.platforms))
    return page


def _alone(d: FMUDescription) -> dict[str, Any]:
    """The FMU as a diagram of one block."""
    ports = [{"name": v.name, "signal": "", "size": _count(v), "unit": v.unit} for v in d.output_variables]
    node = {
        "name": d.name,
        "path": d.name,
        "type": f"FMI {d.version}",
        "kind": "fmu",
        "picture": picture_data(fmu_picture(d.version, d.kinds[0] if len(d.kinds) == 1 else "")),
        "inputs": [{"name": v.name} for v in d.inputs],
        "outputs": ports,
        "doc": d.text,
        "fields": [[name, value] for name, value in _about(d, ())],
        "states": [v.name for v in d.states],
        "parameters": [f"{v.name} = {v.start} {v.unit}".rstrip() for v in d.parameters],
    }
    return {"nodes": [node], "edges": [], "outputs": {}}


def _count(v: Variable) -> int:
    count = 1
    for k in v.shape:
        count *= k
    return count


def _variable(v: Variable) -> list[Any]:
    start = "" if v.start is None else str(v.start)
    start = start if len(start) <= LONGEST else start[: LONGEST - 1] + "…"
    size = " x ".join(map(str, v.shape))
    return [
        v.name, v.causality, v.variability, v.type, size, start, v.unit, v.minimum, v.maximum, v.initial,
        v.description,
    ]  # fmt: skip


def _structure(d: FMUDescription) -> Iterable[list[str]]:
    """Outputs, derivatives and indicators with their dependencies, "anything" where the file has none."""
    for what, unknowns in (("output", d.outputs), ("derivative", d.derivatives), ("indicator", d.indicators)):
        for unknown in unknowns:
            listed = unknown.dependencies
            text = "anything" if listed is None else ", ".join(listed) or "nothing"
            yield [unknown.name, what, text]


def _about(d: FMUDescription, platforms: Iterable[str]) -> list[list[str]]:
    e = d.experiment
    found = [["FMI", d.version], ["made by", d.tool or "unknown"]]
    for kind in d.kinds:
        interface: Interface = getattr(d, kind)
        words = [
            name.replace("_", " ") if value is True else f"{name.replace('_', ' ')} {value}"
            for name, value in interface.capabilities().items()
        ]
        found.append([KINDS[kind], ", ".join(words) or "no capabilities"])
    if names := ", ".join(platforms):
        found.append(["platforms", names])
    for name, value in (("start", e.start), ("stop", e.stop), ("step", e.step)):
        if value is not None:
            found.append([f"default {name} [s]", f"{value:g}"])
    if e.tolerance is not None:
        found.append(["default tolerance", f"{e.tolerance:g}"])
    return [*found, ["event indicators", str(d.n_indicators)], ["continuous states", str(len(d.states))]]
