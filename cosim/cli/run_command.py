"""``cosim run``: a scenario, a deck's commands, or a package by itself; what it writes and shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from blocks.errors import PlantloopError, SimulationError
from cosim.cli import failures
from cosim.cli.output_folder import output_folder
from cosim.cli.signals import uninterrupted
from cosim.cli.terminal import Row, numbers, print_error, print_heading, print_rows
from cosim.progress import progress_bar

if TYPE_CHECKING:
    from cosim.cli.run_changes import RunChanges
    from cosim.result.result import Result
    from cosim.scenario import Scenario
    from cosim.scenario.comparison import Differences
    from cosim.system import System

INTERRUPTED = 130  # exit code after Ctrl-C, as in shells


def run_scenario(
    path: Path,
    out: Path | None,
    engine: str | None,
    plot: bool,
    trust: bool,
    check_step: bool,
    changes: RunChanges,
) -> None:
    """Run a scenario; a run that fails or is cancelled leaves the results it has.

    One with changes leaves no files for `cosim replay`, which takes the scenario as it is.
    """
    from cosim.scenario.loader import scenario_from
    from cosim.scenario.report import check_files
    from cosim.scenario.source import read_source

    loaded = scenario_from(changes.scenario(read_source(path)), trust)
    folder = output_folder(out, loaded.name, trust)
    check_files(loaded, folder)
    print_heading(loaded.name, loaded.tables.scenario.description)
    system = loaded.system()
    try:
        with progress_bar(loaded.tables.run.until) as progress:
            result = loaded.run(engine=engine, progress=progress, system=system)
    except SimulationError as error:
        if error.result is None:
            raise
        print_error(str(error))
        _write_partial_result(loaded, error.result, folder, plot)
        if not changes:
            failures.keep(loaded, system, error, folder, engine)
        raise typer.Exit(1) from None
    if not result.complete:
        print_error(result.message)
        _write_partial_result(loaded, result, folder, plot)
        raise typer.Exit(INTERRUPTED)
    _write_and_show(loaded, system, result, folder, plot)
    if check_step:
        from cosim.scenario.comparison import halved_steps

        show_differences(halved_steps(loaded, result, engine))


def run_package_file(
    path: Path, out: Path | None, engine: str | None, trust: bool, changes: RunChanges
) -> None:
    """Run an FMU or an SSP package by itself over its default experiment, or to another end."""
    from cosim.cli import fmu_commands, ssp_commands
    from cosim.cli.package_runs import run_package

    folder = output_folder(out, path.stem, trust)
    if path.suffix.lower() == ".ssp":
        run_package(path, folder, lambda: ssp_commands.prepared(path, engine, trust, changes))
    else:
        run_package(path, folder, lambda: fmu_commands.prepared(path, engine, changes))


def run_deck_file(
    path: Path, out: Path | None, engine: str, plot: bool, trust: bool, coordinates: str
) -> None:
    """Run a deck's Command block."""
    from cosim.deck import run_deck
    from cosim.deck.report import rows, write

    folder = output_folder(out, path.stem, trust)
    print_heading(path.stem, f"{path} ({coordinates} coordinates)")
    try:
        run = run_deck(path, engine=engine, coordinates=coordinates, trust=trust, out=folder)
    except PlantloopError as error:
        if error.result is not None:
            with uninterrupted():
                files = write(error.result, path.stem, folder, plot)
            for file in files:
                print_error(f"partial result written: {file}")
        raise
    with uninterrupted():
        files = write(run.result, run.name, folder, plot)
    shown = [*rows(run), *(("written" if k == 0 else "", str(file)) for k, file in enumerate(files))]
    print_rows(Row(name, text) for name, text in shown)
    if not run.complete:
        raise typer.Exit(INTERRUPTED)


def _write_partial_result(scenario: Scenario, result: Result, folder: Path, plot: bool) -> None:
    """Write the results of a run that did not reach its end."""
    from cosim.scenario.report import write

    with uninterrupted():
        files = write(scenario, result, folder, plot)
    for file in files:
        print_error(f"partial result written: {file}")


def _write_and_show(scenario: Scenario, system: System, result: Result, folder: Path, plot: bool) -> None:
    """Write the files and show the table; a failed check makes the command fail."""
    from cosim.scenario.report import findings, write

    with uninterrupted():
        files = write(scenario, result, folder, plot)
    found = findings(scenario, result)
    rows = [Row(name, text) for name, text in _run_rows(scenario, system, result)]
    for k, finding in enumerate(found):
        mark = {None: "", True: "  ok", False: "  FAILED"}[finding.passed]
        style = "red" if finding.passed is False else ""
        rows.append(Row("checks" if k == 0 else "", f"{finding.what} = {finding.text}{mark}", style))
    rows += [Row("written" if k == 0 else "", str(file)) for k, file in enumerate(files)]
    print_rows(rows)
    failed = [finding.what for finding in found if finding.passed is False]
    if failed:
        raise PlantloopError(f"{len(failed)} of {len(found)} checks failed: {', '.join(failed)}.")


def _run_rows(scenario: Scenario, system: System, result: Result) -> Iterator[tuple[str, str]]:
    """Rows about the model, the engine and the run."""
    model, settings, statistics = scenario.tables.model, result.settings, result.statistics
    if model is not None:
        yield "model", f"{scenario.source.path.parent / model.file} ({model.coordinates} coordinates)"
    yield from _port_rows(system)
    yield "rates", ", ".join(map(str, system.rates)) or "continuous"
    ran = statistics.get("engine", settings["engine"].value)  # with the share of Python, if any
    yield "engine", f"{ran} ({settings['engine'].origin})"
    given = ("step", "rtol", "atol", "max_step")
    used = [
        f"{n} {settings[n].value:g}" for n in given if n in settings and settings[n].value != float("inf")
    ]
    yield "solver", ", ".join([settings["solver"].value, *used])
    wall = f"{statistics['wall time [s]']:.3g} s of wall time"
    yield "run", f"{statistics['simulated time [s]']:g} s in {wall}, {statistics['steps']} steps"
    if result.message:
        yield "end", f"{_stopped_by(system, result)}{result.message}"
    if not scenario.tables.checks.final and len(result.time):
        for k, name in enumerate(list(result)[:6]):
            yield ("final" if k == 0 else ""), f"{name} = {numbers(result[name][-1])}"


def _stopped_by(system: System, result: Result) -> str:
    """The block whose stop event ended a run, where it is known: ``'tank.level': ``."""
    fired = {event.name for event in result.events}
    found = {e.path for e in system.events if e.stop == result.message and e.name in fired}
    return f"'{found.pop()}': " if len(found) == 1 else ""


def _port_rows(system: System) -> Iterator[tuple[str, str]]:
    for k, (port, rate) in enumerate(system.port_rates.items()):
        yield ("ports" if k == 0 else ""), f"{port}: {rate}"


def show_differences(found: Differences) -> None:
    """One row per signal and way."""
    print_rows(Row(name, text) for name, text in found.rows())
