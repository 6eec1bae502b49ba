"""From a file to the page about it: a result, a scenario that is run, a model, an FMU, a study.

What only some files need is imported there: most of the time until the first picture is imports.
"""

from __future__ import annotations

from pathlib import Path

from blocks.errors import PlantloopError, SimulationError
from blocks.files import is_folder
from cosim.block_alone import system_of
from cosim.result.result import Result
from cosim.simulation import simulate
from cosim.viewer.early_page import SUFFIXES
from cosim.viewer.page_data import PageData, of_diagram
from cosim.viewer.stored_drawings import of_result


def contents_of(
    path: Path, trust: bool = False, until: float | None = None, forces: bool = False, linear: bool = False
) -> PageData:
    """The page for a file.

    Parameters
    ----------
    path : Path         a result (.nc, .npz), a scenario (.toml), which is run, a model or deck (.xml), an
                        FMU, which is not run, or the folder of a study
    trust : bool        may the Python code it names be run?
    until : s           how long a model is run by itself, its inputs zero; None: as its commands say
    forces : bool       forces and reactions of plants as arrows too; a model's energy as well
    linear : bool       responses and margins of the linear model, at the time cursor

    Raises
    ------
    PlantloopError      what reading or running the file raises
    """
    if is_folder(path):
        from cosim.study.opening import open_study
        from cosim.viewer.study_data import of_study

        return of_study(open_study(path))
    suffix = path.suffix.lower()
    if suffix == ".fmu":
        from cosim.viewer.fmu_data import of_fmu

        return of_fmu(path)
    if suffix in (".nc", ".npz"):
        return of_result(Result.load(path), forces, linear)
    if suffix == ".toml":
        return _scenario(path, trust, forces, linear)
    if suffix == ".xml":
        return _model(path, trust, until, forces, linear)
    raise PlantloopError(f"'{path}' is none of {', '.join(SUFFIXES)}.", path=str(path))


def of_two_files(first: Path, second: Path) -> PageData:
    """The page of two results: that of the first by `contents_of`, with the curves of the second.

    Raises
    ------
    PlantloopError      one of them is no result
    """
    from cosim.viewer.compare_data import of_two

    labels = (first.stem, second.stem) if first.stem != second.stem else (str(first), str(second))
    return of_two(Result.load(first), Result.load(second), labels)


def _scenario(path: Path, trust: bool, forces: bool, linear: bool) -> PageData:
    from cosim.scenario import load_scenario

    scenario = load_scenario(path, trust)
    system = scenario.system()
    try:
        result = scenario.run(system=system)
    except SimulationError as error:
        if error.result is None:
            raise
        result = error.result
    page = of_diagram(system.drawn, system, result, forces=system_of if forces else None)
    if linear:
        from cosim.viewer.linear_data import add_linear

        add_linear(
            page, scenario.diagram(), system, None if result.origin is None else result.origin[2], result
        )
    page.title = scenario.name
    return page


def _model(path: Path, trust: bool, until: float | None, forces: bool, linear: bool) -> PageData:
    from plant import Plant
    from plant.elements import Simulate

    plant = Plant.read(path, trust=trust)
    if until is None:
        ends = [command.end_time for command in plant.model.all(Simulate) if command.end_time]
        until = max(ends, default=0.0)
    if forces:
        plant = plant.observed().audited()
    result = simulate(plant, until) if until > 0 else None
    page = of_diagram(plant, None if result is None else result.origin[1], result)
    if linear:
        from cosim.viewer.linear_data import add_linear

        add_linear(page, plant, system_of(plant), None if result is None else result.origin[2], result)
    page.title = plant.model.name
    return page
