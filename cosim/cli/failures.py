"""The files that `cosim run` keeps of a failed run, and the command `cosim replay` for its last steps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from blocks.errors import SimulationError
from cosim.cli.shared import Trust, checked_path, errors_as_messages
from cosim.cli.signals import uninterrupted
from cosim.cli.terminal import Row, print_error, print_heading, print_rows

if TYPE_CHECKING:
    from cosim.scenario import Scenario
    from cosim.system import System


def keep(
    scenario: Scenario, system: System, error: SimulationError, folder: Path, engine: str | None
) -> None:
    """Write the snapshot from before the failure, and tell how to replay it."""
    from cosim.scenario.failure import write_failure

    with uninterrupted():
        path = write_failure(scenario, system, error, folder, engine)
    if path is not None:
        print_error(f"look at the last steps: cosim replay {path}")


def replay(
    failure: Annotated[Path, typer.Argument(metavar="FAILURE.json", show_default=False)],
    steps: Annotated[int, typer.Option(help="How many steps before the failure.")] = 20,
    trust: Trust = False,
) -> None:
    """Run the last steps of a failed run again, in the reference engine, and print each."""
    with errors_as_messages():
        from cosim.scenario.failure import replay_failure

        found = replay_failure(checked_path(failure, "replay", (".json",)), trust, steps)
        print_heading("replay", f"failed at t = {found.failure:.9g} s")
        print_rows(Row(name, text) for name, text in found.rows())
        if found.message:
            print_error(found.message)
            raise typer.Exit(1)


def add_to(app: typer.Typer) -> None:
    """Add the command `replay` to the application."""
    app.command(short_help="Print the last steps of a failed run.")(replay)
