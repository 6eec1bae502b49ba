"""From a file to a `Scenario`: read every table, then check what the tables say together."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path

from blocks.errors import near_miss
from blocks.files import is_file, is_inside
from cosim.block_names import ends_naming
from cosim.engines.methods.solvers import SOLVERS
from cosim.scenario.factory import module_file
from cosim.scenario.fmu_tables import check_fmus
from cosim.scenario.keys import FilePlace, check_known, keys_of, record
from cosim.scenario.scenario import Scenario
from cosim.scenario.schema import About, Outputs, Run, Tables, WiringTable
from cosim.scenario.source import ScenarioFile, no_such_file, read_source
from cosim.settings import RunSettings, misplaced

OF_STUDIES = (
    "sweep",
    "sampling",
    "variants",
    "actions",
    "metrics",
    "requirements",
    "stop",
    "store",
    "search",
)
HOMES = {"outputs": Outputs, "wiring": WiringTable, "run": Run, "scenario": About}


def load_scenario(path: str | os.PathLike[str], trust: bool = False) -> Scenario:
    """Read and check a scenario file; nothing is built or run yet.

    Parameters
    ----------
    path : path     a ``.toml`` file; the keys are in `cosim.scenario.schema`
    trust : bool    allow it to run the Python code it names: a diagram factory, user subroutines of a model

    Raises
    ------
    ScenarioError   all problems of the file together, each with file, line, table and key

    >>> result = load_scenario("examples/inverted_pendulum/scenario.toml").run()
    """
    return scenario_from(read_source(Path(path)), trust)


def scenario_from(source: ScenarioFile, trust: bool = False) -> Scenario:
    """Check what was read of a scenario file; tables of a study in it are left to `cosim.study`.

    Raises
    ------
    ScenarioError   all problems of the file together
    """
    place = FilePlace(source, trust=trust)
    known = [f.name for f in fields(Tables)]
    homes = {name: table for table, cls in HOMES.items() for name in keys_of(cls)}
    check_known(source.tables, [*known, *OF_STUDIES], place, homes)
    own = {name: table for name, table in source.tables.items() if name in known}
    tables: Tables = place.read(own, record(Tables))
    if not place.problems:
        _check_diagram(tables, place, trust)
        _check_wiring(tables, place)
        _check_run(tables.run, place.at("run"))
        _check_files(tables, place.at("outputs"))
    place.raise_problems()
    return Scenario(source, tables, trust)


def _check_diagram(tables: Tables, place: FilePlace, trust: bool) -> None:
    """Either a model and blocks or a factory, and what these need."""
    if tables.diagram is not None:
        for name in ("model", "blocks", "fmus", "wiring", "units"):
            if name in place.source.tables:
                place.at(name).add_problem(
                    "a [diagram] factory makes the whole diagram; leave this table out."
                )
        _check_factory(tables.diagram.factory, place.at("diagram", "factory"), trust)
    elif tables.model is None and not tables.blocks and not tables.fmus:
        place.add_problem("there is nothing to run: give [model], [blocks], [fmus], or a [diagram] factory.")
    check_fmus(tables.fmus, place.at("fmus"), trust)
    for name, block in tables.blocks.items():
        if block.reaches and not trust:
            place.at("blocks", name).add_problem(
                f"a {type(block).__name__} {block.reaches}. If you trust whoever wrote the scenario, allow "
                "that with --trust, or load_scenario(..., trust=True)."
            )
    for name in tables.fmus:
        if name in tables.blocks or (tables.model is not None and name == tables.model.block):
            place.at("fmus", name).add_problem(f"'{name}' is another block; give this one another name.")
    if tables.model is not None:
        file = place.source.path.parent / tables.model.file
        if not is_file(file):
            place.at("model", "file").add_problem(no_such_file(file, "model"))
        elif not trust and not is_inside(file, [place.source.path.parent]):
            place.at("model", "file").add_problem(
                f'"{tables.model.file}" leads out of the scenario\'s folder; put it there, or allow it with '
                "--trust, or load_scenario(..., trust=True), if you trust whoever wrote the scenario."
            )
        if tables.model.block in tables.blocks:
            place.at("blocks", tables.model.block).add_problem(
                f"'{tables.model.block}' is the model's block; give this one another name."
            )


def _check_factory(factory: str, place: FilePlace, trust: bool) -> None:
    file = module_file(place.source.path, factory)
    if not is_file(file):
        place.add_problem(no_such_file(file, "Python file"))
    elif not trust:
        place.add_problem(
            f"running this scenario would run the Python file '{file}'. If you trust it, allow that with "
            "--trust, or load_scenario(..., trust=True)."
        )


def _check_wiring(tables: Tables, place: FilePlace) -> None:
    """Blocks named by connections exist; ports are checked when the diagram is flattened."""
    known = {*tables.blocks, *tables.fmus, *([tables.model.block] if tables.model else [])}
    wiring = place.at("wiring")
    for k, entry in enumerate(tables.wiring.connect):
        for port in dict.fromkeys(end for pair in entry.pairs for end in pair):
            _check_block(port, known, wiring.at("connect", k), entry.written)
    for key, ports in (("ground", tables.wiring.ground), ("convert", tables.wiring.convert)):
        for k, port in enumerate(ports):
            _check_block(port, known, wiring.at(key, k), port)
    connected = {target.strip() for entry in tables.wiring.connect for _, target in entry.pairs}
    for k, port in enumerate(tables.wiring.convert):
        if not connected & ends_naming([port]):
            near = near_miss(port.strip(), connected, len(place.problems))
            wiring.at("convert", k).add_problem(f'nothing is connected to "{port.strip()}"; {near}', port)
    for name in tables.units if tables.diagram is None else ():
        _check_block(name, known, place.at("units"), name)


def _check_block(port: str, known: set[str], place: FilePlace, written: str) -> None:
    name = port.strip().partition(".")[0]
    if name not in known:
        near = near_miss(name, known, len(place.problems))
        place.add_problem(f"\"{written}\": no block '{name}'; {near}", written)


def _check_run(run: Run, place: FilePlace) -> None:
    solver, given = run.settings.get("solver", RunSettings().solver), dict(run.settings)
    while (wrong := misplaced(solver, given)) is not None:
        del given[wrong]
        kind = "adaptive" if SOLVERS[solver].adaptive else "fixed-step"
        right = 'rtol, atol or max_step, or solver = "rk4"' if SOLVERS[solver].adaptive else "step"
        place.at(wrong).add_problem(f'does not apply to solver "{solver}", which is {kind}; give {right}.')
    if run.log_every is not None and run.log_at is not None:
        place.at("log_at").add_problem("log_every and log_at exclude each other; keep one.")
    if run.log_at is not None and run.log_at[-1] > run.until * (1 + 1e-12):
        last, end = run.log_at[-1], run.until
        place.at("log_at").add_problem(f"the last time, {last:g} s, is after the end of the run, {end:g} s.")


def _check_files(tables: Tables, place: FilePlace) -> None:
    """Every file is written once."""
    taken = {tables.outputs.result}
    for k, plot in enumerate(tables.outputs.plots):
        if plot.file in taken:
            place.at("plots", k, "file").add_problem(f'"{plot.file}" is written twice; rename one.')
        taken.add(plot.file)
        if plot.labels and len(plot.labels) != len(plot.signals):
            count, expected = len(plot.labels), len(plot.signals)
            place.at("plots", k, "labels").add_problem(
                f"{count} labels for {expected} signals; give one for each."
            )
        if plot.time is not None and plot.time[0] >= tables.run.until:
            place.at("plots", k, "time").add_problem(f"begins at {plot.time[0]:g} s, when the run is over.")
