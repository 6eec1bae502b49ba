"""The command ``cosim``: run scenarios, describe a model or a scenario, check it, run benchmarks.

Answers go to standard output, errors, warnings and progress to standard error. A mistake of the user is one
message and exit code 1; a traceback is a bug.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from blocks.errors import PlantloopError
from cosim.cli import failures, model_info, run_command, study_commands
from cosim.cli.compare_command import compare
from cosim.cli.shared import Trust
from cosim.cli.shared import checked_path as _checked_path
from cosim.cli.shared import errors_as_messages as _errors_as_messages
from cosim.cli.terminal import Row, print_rows, print_sections
from cosim.version import __version__

if TYPE_CHECKING:
    from cosim.cli.view_command import ViewOptions
    from cosim.engines.native.cache import Content

app = typer.Typer(
    help="Put a mechanical plant in a control loop: run scenarios, look into models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

File = Annotated[Path, typer.Argument(metavar="FILE", show_default=False)]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"plantloop {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options before the command."""


# --- cosim run ------------------------------------------------------------------------------------------
@app.command(short_help="Run a scenario, deck, study case, FMU or package.")
def run(
    file: Annotated[
        Path, typer.Argument(metavar="SCENARIO.toml | DECK.xml | X.fmu | .ssp", show_default=False)
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder to write to.", show_default="results/<name>")
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="auto, native or reference.", show_default="the scenario's, or auto")
    ] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw pictures as well.")] = False,
    trust: Trust = False,
    coordinates: Annotated[
        str | None, typer.Option(help="Of a deck: joint or absolute.", show_default="joint")
    ] = None,
    case: Annotated[
        int | None,
        typer.Option(help="Of a study: the one case to run.", show_default="the file as a scenario"),
    ] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="With --case: step by step from shortly before it failed.")
    ] = False,
    pace: Annotated[
        float | None, typer.Option(help="Simulated seconds per second.", show_default="as fast as it can")
    ] = None,
    check_step: Annotated[
        bool, typer.Option("--check-step", help="Run again with every step halved, and compare.")
    ] = False,
    until: Annotated[
        float | None, typer.Option(help="End of the run [s].", show_default="the file's")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A parameter, or a start value of an FMU; several times."
        ),
    ] = None,
) -> None:
    """Run a scenario, a deck's commands, a case of a study, an FMU or an SSP package; write the result."""
    with _errors_as_messages():
        from cosim.cli.run_changes import RunChanges

        path = _checked_path(file, "run", (".toml", ".xml", ".fmu", ".ssp"))
        changes = RunChanges.of(until, settings or [])
        one_case = {"--case": case is not None, "--replay": replay, "--pace": pace is not None}
        if path.suffix.lower() in (".fmu", ".ssp"):
            what = f"'{path}' is {'an FMU' if path.suffix.lower() == '.fmu' else 'a package'}"
            _refuse(one_case | {"--check-step": check_step}, f"scenarios and studies; {what}")
            _refuse({"--plot": plot}, f"scenarios and decks; {what}")
            _refuse({"--coordinates": coordinates is not None}, f"decks; {what}")
            run_command.run_package_file(path, out, engine, trust, changes)
            return
        if changes and (path.suffix.lower() == ".xml" or any(one_case.values())):
            deck = path.suffix.lower() == ".xml"
            what = f"'{path}' is a deck" if deck else "they do not go with --case, --replay or --pace"
            raise PlantloopError(f"--until and --set belong to scenarios, FMUs and packages; {what}.")
        if path.suffix.lower() == ".xml":
            _refuse(one_case | {"--check-step": check_step}, f"scenarios and studies; '{path}' is a deck")
            run_command.run_deck_file(path, out, engine or "auto", plot, trust, coordinates or "joint")
            return
        if coordinates is not None:
            raise PlantloopError(
                "--coordinates belongs to decks; a scenario says coordinates in its table [model].",
                path=str(path),
            )
        if any(one_case.values()):
            from cosim.cli import studies

            extra = {"--plot": plot, "--check-step": check_step}
            _refuse(extra, "runs of a whole scenario; here is --case or --pace")

            one = studies.OneRun(case, replay, pace, engine, out)
            if code := studies.run_one(path, trust, one):
                raise typer.Exit(code)
            return
        run_command.run_scenario(path, out, engine, plot, trust, check_step, changes)


def _refuse(options: Mapping[str, bool], belong_to: str) -> None:
    """Refuse options that are given where they have no effect."""
    for name, given in options.items():
        if given:
            raise PlantloopError(f"{name} belongs to {belong_to}.")


# --- cosim info -----------------------------------------------------------------------------------------
@app.command(short_help="Say what is in a model, scenario, FMU or package.")
def info(
    file: Annotated[
        Path, typer.Argument(metavar="MODEL.xml | SCENARIO.toml | X.fmu | .ssp", show_default=False)
    ],
    trust: Trust = False,
    draw: Annotated[
        Path | None, typer.Option(help="Draw the diagram of a scenario to this .svg, .png or .pdf.")
    ] = None,
) -> None:
    """Say what is in a model, a scenario, an FMU or an SSP package: elements, ports, order, warnings."""
    with _errors_as_messages():
        path = _checked_path(file, "info", (".toml", ".xml", ".fmu", ".ssp"))
        if draw is not None:
            model_info.draw(path, draw, trust)
        if path.suffix.lower() == ".fmu":
            from cosim.cli import fmu_commands

            print_sections(fmu_commands.sections(path))
        elif path.suffix.lower() == ".ssp":
            from cosim.cli import ssp_commands

            print_sections(ssp_commands.sections(path))
        elif path.suffix.lower() == ".xml":
            model_info.model(path, trust)
        else:
            model_info.scenario(path, trust)


# --- cosim validate -------------------------------------------------------------------------------------
@app.command(short_help="Validate an FMU by the rules of the standard.")
def validate(file: Annotated[Path, typer.Argument(metavar="X.fmu", show_default=False)]) -> None:
    """Validate an FMU by the schemas and rules of the standard; exit code 1 if anything is found."""
    with _errors_as_messages():
        from cosim.cli import fmu_commands

        path = _checked_path(file, "validate", (".fmu",))
        found = fmu_commands.findings(path)
        print_sections([("findings", found or ["none"])])
    if found:
        raise typer.Exit(1)


# --- cosim check ----------------------------------------------------------------------------------------
@app.command(short_help="List jumps, unit faults, open outputs.")
def check(
    file: Annotated[Path, typer.Argument(metavar="MODEL.xml | SCENARIO.toml", show_default=False)],
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 1 for notes, too.")] = False,
    trust: Trust = False,
) -> None:
    """List jumps, unit faults, open outputs, odd rates, unheard events; exit code 1 for the first two."""
    from cosim.analysis.findings import KINDS, findings
    from cosim.block_alone import around

    with _errors_as_messages():
        path = _checked_path(file, "check", (".toml", ".xml"))
        if path.suffix.lower() == ".xml":
            from plant import Plant

            found = findings(around(Plant.read(path, trust=trust)).netlist())
        else:
            from cosim.scenario import load_scenario
            from cosim.scenario.loader import OF_STUDIES

            scenario = load_scenario(path, trust)
            if any(name in scenario.source.tables for name in OF_STUDIES):
                from cosim.study.study import Study

                Study(path, trust=trust)  # its tables fit the model
            with scenario.wiring_located():
                found = findings(scenario.diagram().netlist(), scenario.settings().solve_loops)
    listed = {kind: [f for f in found if f.kind == kind] for kind in KINDS}
    lines = {kind: list(dict.fromkeys(_lines(listed[kind]))) or ["none found"] for kind in KINDS}
    print_sections(list(lines.items()))
    if any(f.fault or strict for f in found):
        raise typer.Exit(1)


def _lines(found: Sequence[Any]) -> Iterator[str]:
    """The places of findings, and after them their cures, each once."""
    yield from (f.text for f in found)
    yield from (f.cure for f in found if f.cure)


# --- cosim export ---------------------------------------------------------------------------------------
@app.command(short_help="Write a scenario or model as an FMU.")
def export(
    file: Annotated[Path, typer.Argument(metavar="SCENARIO.toml | MODEL.xml", show_default=False)],
    fmi: Annotated[str, typer.Option(help="Version of FMI: 2 or 3.")] = "3",
    out: Annotated[
        Path | None, typer.Option(help="File to write.", show_default="the name of FILE, with .fmu")
    ] = None,
    kinds: Annotated[str, typer.Option(help="cs (co-simulation), me (model exchange), or cs,me.")] = "cs,me",
    platforms: Annotated[
        str | None, typer.Option(help="As linux64,win64,darwin64.", show_default="this machine's")
    ] = None,
    coordinates: Annotated[
        str | None, typer.Option(help="Of a model: joint or absolute.", show_default="joint")
    ] = None,
    trust: Trust = False,
) -> None:
    """Write a scenario's diagram, or a model alone, as an FMU that runs anywhere without Python."""
    import zipfile

    with _errors_as_messages():
        from cosim.fmi.export.fmu_file import VERSIONS

        path = _checked_path(file, "export", (".toml", ".xml"))
        versions = {version[0]: version for version in VERSIONS}
        options: dict[str, Any] = {
            "version": versions.get(fmi, fmi),
            "kinds": kinds.split(","),
            "platforms": None if platforms is None else platforms.split(","),
        }
        written = _exported(path, out or Path(f"{path.stem}.fmu"), options, coordinates, trust)
        with zipfile.ZipFile(written) as archive:
            names = [i.filename for i in archive.infolist() if i.filename.startswith("binaries/")]
        print_rows([
            Row("written", f"{written} ({written.stat().st_size / 1024:.0f} kB)"),
            *(Row("binary" if k == 0 else "", name) for k, name in enumerate(names)),
        ])  # fmt: skip


def _exported(path: Path, out: Path, options: dict[str, Any], coordinates: str | None, trust: bool) -> Path:
    """Export what a file describes: the diagram of a scenario with its numbers and settings, or a model."""
    from cosim.fmi.export.fmu_file import export_fmu

    if path.suffix.lower() == ".xml":
        from plant import Plant

        return export_fmu(Plant.read(path, trust=trust, coordinates=coordinates or "joint"), out, **options)
    if coordinates is not None:
        raise PlantloopError(
            "--coordinates belongs to models; a scenario says coordinates in its table [model].",
            path=str(path),
        )
    from cosim.scenario import load_scenario

    return load_scenario(path, trust).export(out, **options)


study_commands.add_to(app)
failures.add_to(app)
app.command(short_help="Compare studies, results, or ways to run a scenario.")(compare)


# --- cosim cache ----------------------------------------------------------------------------------------
cache_app = typer.Typer(help="Compiled models kept on disk.", no_args_is_help=True)
app.add_typer(cache_app, name="cache")


@cache_app.command("info", short_help="Say where they are, how many and how large.")
def cache_info() -> None:
    """Say where compiled models are kept, how many there are and how large they are."""
    with _errors_as_messages():
        from cosim.engines.native import cache

        print_sections([("folder", [str(cache.folder())]), ("content", [_content(cache.info())])])


@cache_app.command("clear", short_help="Remove all of them.")
def cache_clear() -> None:
    """Remove all compiled models; they are compiled anew when they are needed."""
    with _errors_as_messages():
        from cosim.engines.native import cache

        print_sections([("folder", [str(cache.folder())]), ("removed", [_content(cache.clear())])])


def _content(found: Content) -> str:
    return f"{found.entries} compiled libraries, {found.size / 2**20:.1f} MB"


# --- cosim view -----------------------------------------------------------------------------------------
@app.command(short_help="Show a result, scenario, model or study as a page.")
def view(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="RESULT.nc [OTHER.nc] | SCENARIO.toml | MODEL.xml | X.fmu | STUDY_DIR",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Write the page to this file.", show_default="a browser shows it")
    ] = None,
    until: Annotated[
        float | None,
        typer.Option(help="Run a model by itself for so long [s].", show_default="as its commands say"),
    ] = None,
    forces: Annotated[
        bool, typer.Option("--forces", help="Arrows of forces and reactions in plants.")
    ] = False,
    linear: Annotated[
        bool, typer.Option("--linear", help="Responses and margins of the linear model at the time cursor.")
    ] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Steer the run in the page; --out is its result then.")
    ] = False,
    edit: Annotated[
        bool, typer.Option("--edit", help="Edit a scenario in the page: blocks, wires, fields.")
    ] = False,
    host: Annotated[
        str | None, typer.Option(help="Where a live page is served.", show_default="127.0.0.1")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Of a live page.", show_default="a free one")] = None,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
    trust: Trust = False,
) -> None:
    """Show a result, two beside each other, a scenario, model, FMU or study as one page in the browser."""
    with _errors_as_messages():
        served = live or edit or host is not None or port is not None
        early = None
        if browser and out is None and not served:
            from cosim.viewer.early_page import early_page

            early = early_page(files[0])  # before the slow imports
        from cosim.cli.view_command import ViewOptions, page_of_files

        wanted = ViewOptions(until, forces, linear, trust)
        if early is not None:
            with early.failing():
                typer.echo(str(early.arrive(page_of_files(files, wanted))))
        elif served:
            _serve(files, out, wanted, live, edit, (host, port), browser)
        else:
            from cosim.viewer.page import view as page_of

            page = page_of(page_of_files(files, wanted), out, show=False)
            typer.echo(str(out if out is not None else page.open(browser)))


def _serve(
    files: list[Path],
    out: Path | None,
    wanted: ViewOptions,
    live: bool,
    edit: bool,
    place: tuple[str | None, int | None],
    browser: bool,
) -> None:
    """Serve a page that controls a run, or edits a scenario, until it is closed; place : host, port."""
    if live and edit:
        raise PlantloopError("--live and --edit exclude each other; leave one of them out.")
    if not live and not edit:
        raise PlantloopError(
            "--host and --port belong to --live and --edit: a page that is a file has no server."
        )
    from cosim.cli.live import run_edit, run_live

    host, port = place
    serve = run_live if live else run_edit
    serve(files, out, wanted, (host or "127.0.0.1", port or 0), browser)


@app.command(short_help="Run benchmarks of a source checkout.")
def bench(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", show_default=False)] = None,
    smoke: Annotated[bool, typer.Option("--smoke", help="Only show that every script runs.")] = False,
) -> None:
    """Run benchmarks of a source checkout, all or those named; peers that are installed run beside."""
    with _errors_as_messages():
        from cosim.cli.bench import run_scripts

        run_scripts(Path.cwd(), names or [], smoke)
