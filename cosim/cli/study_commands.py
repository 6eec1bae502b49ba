"""The commands about studies: sweep, falsify, optimise, report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cosim.cli.shared import Trust, checked_path, errors_as_messages

StudyFile = Annotated[Path, typer.Argument(metavar="STUDY.toml", show_default=False)]
Folder = Annotated[
    str | None, typer.Option("--out", help="Folder, or URL, of the results.", show_default="results/<name>")
]
SearchFolder = Annotated[
    str | None,
    typer.Option("--out", help="Folder, or URL, of the results.", show_default="results/<name>_search"),
]
Executor = Annotated[
    str | None, typer.Option(help="threads, processes or dask.", show_default="threads; processes for Python")
]
Scheduler = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler.", show_default="a cluster on this machine")
]
Workers = Annotated[
    int | None, typer.Option(help="How many runs at once.", show_default="as many as processors")
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with what is in the folder.")]
Runs = Annotated[int | None, typer.Option(help="How many cases.", show_default="that of [search], or 200")]
Seed = Annotated[int | None, typer.Option(help="Of what is drawn.", show_default="that of [search], or 0")]


def sweep(
    file: StudyFile,
    out: Folder = None,
    executor: Executor = None,
    scheduler: Scheduler = None,
    workers: Workers = None,
    resume: Resume = False,
    only: Annotated[
        str | None, typer.Option(help="failed, missing, or numbers such as 17,42.", show_default="all")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Run so many cases at most.", show_default="all")] = None,
    reuse: Annotated[
        str | None,
        typer.Option(help="An earlier study: copy what is the same case.", show_default="run all"),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the cases, their cost and their storage; write nothing.")
    ] = False,
    trust: Trust = False,
) -> None:
    """Run the cases of a study; exit code 1 if one fails or does not meet a requirement."""
    with errors_as_messages():
        from cosim.cli import studies

        path = checked_path(file, "sweep", (".toml",))
        options = studies.SweepOptions(executor, scheduler, workers, resume, only, limit, reuse)
        if dry_run:
            studies.show_estimate(path, out, trust, options)
            return
        code = studies.sweep(path, out, trust, options)
        if code:
            raise typer.Exit(code)


def falsify(
    file: StudyFile,
    requirement: Annotated[
        str | None, typer.Option(help="Which to break.", show_default="that of [search], or the only one")
    ] = None,
    out: SearchFolder = None,
    runs: Runs = None,
    seed: Seed = None,
    executor: Executor = None,
    scheduler: Scheduler = None,
    workers: Workers = None,
    resume: Resume = False,
    trust: Trust = False,
) -> None:
    """Look for the parameters that break a requirement, or come nearest; exit code 1 if they are found."""
    with errors_as_messages():
        from cosim.cli import searches

        path = checked_path(file, "falsify", (".toml",))
        options = searches.SearchOptions(runs, seed, executor, scheduler, workers, resume)
        if code := searches.falsify(path, requirement, out, trust, options):
            raise typer.Exit(code)


def optimise(
    file: StudyFile,
    metrics: Annotated[
        str | None,
        typer.Option(help="Which to make small: a,b.", show_default="those of [search], or the only one"),
    ] = None,
    out: SearchFolder = None,
    runs: Runs = None,
    seed: Seed = None,
    executor: Executor = None,
    scheduler: Scheduler = None,
    workers: Workers = None,
    resume: Resume = False,
    trust: Trust = False,
) -> None:
    """Look for the parameters that make metrics small and meet all requirements; exit code 1 if none do."""
    with errors_as_messages():
        from cosim.cli import searches

        path = checked_path(file, "optimise", (".toml",))
        options = searches.SearchOptions(runs, seed, executor, scheduler, workers, resume)
        names = None if metrics is None else [name.strip() for name in metrics.split(",")]
        if code := searches.optimise(path, names, out, trust, options):
            raise typer.Exit(code)


def report(
    folder: Annotated[str, typer.Argument(metavar="DIR", show_default=False)],
    out: Annotated[
        Path | None, typer.Option(help="The page to write.", show_default="DIR/report.html")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(help="The JUnit file to write.", show_default="DIR/junit.xml")
    ] = None,
) -> None:
    """Write a study as one HTML page, and its verdicts as JUnit XML; exit code 1 if one is not met."""
    with errors_as_messages():
        from cosim.cli import studies

        if code := studies.report(folder, out, junit):
            raise typer.Exit(code)


SHORT = {
    "sweep": "Run the cases of a study.",
    "falsify": "Search for parameters that break a requirement.",
    "optimise": "Search for parameters that make metrics small.",
    "report": "Write a study as an HTML page and JUnit XML.",
}


def add_to(app: typer.Typer) -> None:
    """Add these commands to an application."""
    for command in (sweep, falsify, optimise, report):
        app.command(short_help=SHORT[command.__name__])(command)
