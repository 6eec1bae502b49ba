"""From a file to what a page shows of it: a result, a scenario that is run, a model."""

from __future__ import annotations

from pathlib import Path

from blocks.errors import PlantloopError, SimulationError
from cosim.result.result import Result
from cosim.simulation import simulate
from cosim.viewer.page_data import PageData, of_diagram, of_result

SUFFIXES = (".nc", ".npz", ".toml", ".xml")


def contents_of(path: Path, trust: bool = False, until: float | None = None) -> PageData:
    """What a page shows of a file.

    Parameters
    ----------
    path : Path         a result (.nc, .npz), a scenario (.toml), which is run, or a model or deck (.xml)
    trust : bool        may the Python code it names be run?
    until : s           how long a model is run by itself, its inputs zero; None: as its commands say

    Raises
    ------
    PlantloopError      what reading or running the file raises
    """
    suffix = path.suffix.lower()
    if suffix in (".nc", ".npz"):
        return of_result(Result.load(path))
    if suffix == ".toml":
        return _scenario(path, trust)
    if suffix == ".xml":
        return _model(path, trust, until)
    raise PlantloopError(f"'{path}' is none of {', '.join(SUFFIXES)}.", path=str(path))


def _scenario(path: Path, trust: bool) -> PageData:
    from cosim.scenario import load_scenario

    scenario = load_scenario(path, trust)
    diagram, system = scenario.diagram(), scenario.system()
    try:
        result = scenario.run(system=system)
    except SimulationError as error:
        if error.result is None:
            raise
        result = error.result
    page = of_diagram(diagram, system, result)
    page.title = scenario.name
    return page


def _model(path: Path, trust: bool, until: float | None) -> PageData:
    from plant import Plant
    from plant.elements import Simulate

    plant = Plant.read(path, trust=trust)
    if until is None:
        ends = [command.end_time for command in plant.model.all(Simulate) if command.end_time]
        until = max(ends, default=0.0)
    result = simulate(plant, until) if until > 0 else None
    page = of_diagram(plant, None if result is None else result.origin[1], result)
    page.title = plant.model.name
    return page
