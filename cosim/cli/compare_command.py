"""The command `cosim compare`: two studies, two results, or one scenario run in several ways."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cosim.cli import run_command
from cosim.cli.shared import Trust, checked_path, errors_as_messages
from cosim.cli.terminal import Row, print_heading, print_rows

RESULTS = (".nc", ".npz")


def compare(
    first: Annotated[str, typer.Argument(metavar="DIR_A | RESULT_A.nc | SCENARIO.toml", show_default=False)],
    second: Annotated[str | None, typer.Argument(metavar="DIR_B | RESULT_B.nc", show_default=False)] = None,
    ways: Annotated[
        str, typer.Option(help="Of a scenario: monolithic, cosim, fmu; the first is compared with.")
    ] = "monolithic,cosim,fmu",
    step: Annotated[
        float | None,
        typer.Option(help="[s] Of a scenario: communication step.", show_default="that of the fastest block"),
    ] = None,
    trust: Trust = False,
) -> None:
    """Compare two studies case by case (exit code 1 if a requirement that was met no longer is).

    Or two results, signal by signal. Or one scenario run whole, with its blocks as co-simulated units, and as
    an FMU.
    """
    with errors_as_messages():
        if second is None:
            _compare_ways(Path(first), ways, step, trust)
            return
        if Path(first).suffix.lower() in RESULTS:
            _compare_results(*(checked_path(Path(one), "compare", RESULTS) for one in (first, second)))
            return
        from cosim.cli import studies

        if code := studies.compare(first, second):
            raise typer.Exit(code)


def _compare_results(first: Path, second: Path) -> None:
    """Show how far the signals of two results are apart."""
    from cosim.result.differences import differences, pairs
    from cosim.result.result import Result

    a, b = Result.load(first), Result.load(second)
    rows = [Row("first", f"{first}: {a!r}"), Row("second", f"{second}: {b!r}")]
    found = pairs(a, b)
    for one in differences(a, b):
        unit = f" {one.unit}" if one.unit else ""
        if one.largest is None:
            text = "not in the second" if not one.instants else "nothing finite to compare"
        elif one.largest == 0:
            text = f"the same at {one.instants} instants"
        else:
            text = f"apart by up to {one.largest:.6g}{unit} ({one.share:.2g} of its size) at t={one.at:.6g} s"
        rows.append(Row("signal", f"{one.name}: {text}"))
    rows += [Row("signal", f"{name}: not in the first") for name in b if name not in found.values()]
    print_rows(rows)


def _compare_ways(file: Path, ways: str, step: float | None, trust: bool) -> None:
    """Run one scenario in several ways and show the differences."""
    from cosim.scenario import load_scenario
    from cosim.scenario.comparison import compared

    loaded = load_scenario(checked_path(file, "compare", (".toml",)), trust)
    print_heading(loaded.name, loaded.tables.scenario.description)
    run_command.show_differences(compared(loaded, tuple(w.strip() for w in ways.split(",")), step))
