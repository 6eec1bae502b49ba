"""The output of ``cosim info`` for models and scenarios."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blocks.errors import PlantloopError
from cosim.cli.terminal import numbers, print_heading, print_sections

if TYPE_CHECKING:
    from cosim.scenario import Scenario
    from plant import Plant, Port


def draw(path: Path, target: Path, trust: bool) -> None:
    """The diagram of a scenario as a picture."""
    from cosim.scenario import load_scenario

    if path.suffix.lower() != ".toml":
        raise PlantloopError(
            f"'{path}' is no scenario: there is no diagram to draw.",
            hint="For a model or an FMU there is `cosim view`.",
        )
    load_scenario(path, trust).diagram().draw(target)


def model(path: Path, trust: bool) -> None:
    """Print a description of a model."""
    from cosim.block_alone import system_alone
    from plant import Plant

    with _warnings_in_table():
        plant = Plant.read(path, trust=trust)
    tunable = [("parameters", [f"{len(system_alone(plant).p0)} tunable numbers"])]
    print_sections([*_plant_sections(plant), *tunable, *_warnings(plant)])


def _plant_sections(plant: Plant) -> Iterator[tuple[str, list[str]]]:
    """Headings and lines about a model."""
    facts = plant.info()
    counts = {tag: len(same) for tag, same in plant.model.elements.items()}
    listed = ", ".join(f"{count} {tag}" for tag, count in counts.items())
    yield "model", [f"{facts['model']} ({facts['formulation']})"]
    yield "elements", [f"{sum(counts.values())}: {listed}"]
    yield "bodies", [_line_first(where, facts["file"]) for where in facts["bodies"]]
    joints = [(j["name"], j["type"].lower(), ", ".join(j["coordinates"]) or "fixed") for j in facts["joints"]]
    yield "joints", [f"{name}: {kind}, {coordinates}" for name, kind, coordinates in joints]
    yield "degrees of freedom", [str(facts["dof"])]
    yield "inputs", [_port_line(port, "at the rate of what drives it") for port in facts["inputs"]]
    yield "outputs", [_port_line(port, "continuous") for port in facts["outputs"]]
    yield "states", [f"{name} = {numbers(value)}" for name, value in facts["states"].items()]
    yield from _assembly_sections(facts)


def _assembly_sections(facts: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """What assembly changed and chose where the model gives nothing; no headings if it did nothing."""
    if moved := [f"{name} by {change:.6g}" for name, change in facts["assembly"].items() if change]:
        yield "assembly moved", moved
    if chosen := facts["rates of least kinetic energy"]:
        head = "the model leaves these rates open; those of least kinetic energy were taken:"
        yield "assembly chose", [head, *(f"{name} = {value:.6g}" for name, value in chosen.items())]
    if facts["singular start"]:
        yield "singular start", [facts["singular start"]]


@contextmanager
def _warnings_in_table() -> Iterator[None]:
    """Silence the warnings about a model, which are listed at the end of the table."""
    from plant.reporting import PlantWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlantWarning)
        yield


def _warnings(plant: Plant) -> list[tuple[str, list[str]]]:
    return [("warnings", list(plant.warnings))]


def _line_first(where: str, file: str | None) -> str:
    """Reorder a place in the file that is being described: ``line 25: Body_Rigid ...``."""
    name = Path(file).name if file else ""
    return f"line {where.removeprefix(f'{name}:')}" if name and where.startswith(f"{name}:") else where


def _port_line(port: Port, unsampled: str) -> str:
    """One port of a plant: its name, size, components, and its behaviour between samples."""
    element = f"id {port.id}"
    if port.variables:
        element += f", variable{'s' * (port.size > 1)} {', '.join(map(str, port.variables))}"
    rate = f"every {port.sampling_period} s" if port.sampling_period else unsampled
    if port.offset_time:
        rate += f" from {port.offset_time} s"
    hold = f", hold order {port.hold_order} ({port.origin})"
    if not port.sampling_period and unsampled == "continuous":
        hold = ""
    behind = f", second-order filter of {port.filter:g} s" if port.filter else ""
    return f"{port.name} [{port.size}]: {', '.join(port.labels)}; {element}; {rate}{hold}{behind}"


def scenario(path: Path, trust: bool) -> None:
    """Print a description of a scenario."""
    from cosim.scenario import load_scenario

    read = load_scenario(path, trust)
    about = read.tables.scenario
    print_heading(read.name, about.description)
    with _warnings_in_table():
        plant = read.plant()
        system = read.system()
    sections = [*_system_sections(read, system.info())]
    if plant is not None:
        sections = [*_plant_sections(plant), *sections, *_warnings(plant)]
    print_sections(sections)


def _system_sections(scenario: Scenario, facts: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Headings and lines about a flat system, from `System.info`."""
    tables = scenario.tables
    if tables.blocks:
        yield "blocks", [f"{name}: {type(block).__name__}" for name, block in tables.blocks.items()]
    if tables.fmus:
        yield "FMUs", [f"{name}: {table.file}" for name, table in tables.fmus.items()]
    yield "signals", [f"{name} [{size}]" for name, size in facts["signals"].items()]
    yield "sizes", [f"{facts[n]} {n}" for n in ("continuous states", "held values", "parameters")]
    yield "rates", list(facts["rates"]) or ["continuous"]
    yield "port rates", [f"{port}: {text}" for port, text in facts["ports"].items()]
    yield "order of execution at a tick", list(facts["schedule"])
