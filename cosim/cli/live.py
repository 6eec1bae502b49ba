"""``cosim view --live`` and ``--edit``: a page that controls a run, until Ctrl-C."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from blocks.errors import PlantloopError
from blocks.files import is_folder
from cosim.cli.signals import uninterrupted
from cosim.cli.view_command import ViewOptions

if TYPE_CHECKING:
    from cosim.viewer.server.edit_view import EditView
    from cosim.viewer.server.live_view import LiveView
    from cosim.viewer.server.study_live import StudyLive


def run_live(
    files: Sequence[Path], out: Path | None, wanted: ViewOptions, address: tuple[str, int], show: bool
) -> None:
    """Serve a scenario or a model until Ctrl-C; then write the result to `out`, if that is given.

    Raises
    ------
    PlantloopError      it cannot run, or the page cannot be served
    """
    if len(files) != 1 or wanted.linear:
        raise PlantloopError("--live takes one file, and no --linear.", value=list(files))
    path = files[0]
    if is_folder(path):
        _run_study(path, out, wanted, address, show)
        return
    if out is not None and out.suffix.lower() not in (".nc", ".npz", ".csv"):
        raise PlantloopError(
            f"--out is '{out}', expected a .nc, .npz or .csv file for the result of the live run.",
            path=str(out),
        )
    live = _live(path, wanted, address, show)
    _until_ctrl_c(live)
    if out is not None:
        with uninterrupted():
            live.result().save(out)
        typer.echo(f"written: {out}")


def _run_study(
    path: Path, out: Path | None, wanted: ViewOptions, address: tuple[str, int], show: bool
) -> None:
    """Serve the page of a study, which refreshes itself, until Ctrl-C."""
    from cosim.study.opening import open_study
    from cosim.viewer.server.study_live import view_study

    if out is not None or wanted.until is not None or wanted.forces:
        raise PlantloopError("--live of a study takes no other option but --host and --port.")
    _until_ctrl_c(view_study(open_study(path, trust=wanted.trust), *address, show))


def _until_ctrl_c(view: LiveView | EditView | StudyLive) -> None:
    """Print the address of the page, and wait; a reader of the address may interrupt at once."""
    try:
        typer.echo(view.address)
        view.wait()
    except KeyboardInterrupt:
        view.close()


def run_edit(
    files: Sequence[Path], out: Path | None, wanted: ViewOptions, address: tuple[str, int], show: bool
) -> None:
    """Serve a page that edits a scenario until Ctrl-C.

    Raises
    ------
    PlantloopError      it is no scenario, or the page cannot be served
    """
    from cosim.viewer.server.edit_view import edit_scenario

    path = files[0]
    if len(files) != 1 or path.suffix.lower() != ".toml":
        raise PlantloopError(f"'{path}' cannot be edited: --edit takes one .toml scenario.", path=str(path))
    if out is not None or wanted.until is not None or wanted.forces or wanted.linear:
        raise PlantloopError("--edit saves the scenario itself, and takes no other option but --trust.")
    view = edit_scenario(path, wanted.trust, *address, show)
    _until_ctrl_c(view)


def _live(path: Path, wanted: ViewOptions, address: tuple[str, int], show: bool) -> LiveView:
    from cosim.viewer.server.live_view import view_diagram, view_scenario

    host, port = address
    if path.suffix.lower() == ".toml":
        if wanted.until is not None:
            raise PlantloopError("--until belongs to models; a scenario says until in its table [run].")
        from cosim.scenario import load_scenario

        return view_scenario(load_scenario(path, wanted.trust), host, port, show, wanted.forces)
    if path.suffix.lower() == ".xml":
        from plant import Plant

        plant = Plant.read(path, trust=wanted.trust)
        return view_diagram(
            plant, until=wanted.until, host=host, port=port, show=show, folder=path.parent,
            forces=wanted.forces,
        )  # fmt: skip
    if path.suffix.lower() == ".fmu":
        if not wanted.trust:
            raise PlantloopError(
                f"'{path}' is native code, which --live would run with your rights.",
                path=str(path),
                hint="Add --trust if you know where it comes from.",
            )
        from cosim.fmi.fmu import FMU

        fmu = FMU(path)
        return view_diagram(fmu, until=wanted.until, host=host, port=port, show=show, folder=path.parent)
    raise PlantloopError(
        f"'{path}' cannot be run: --live takes a .toml, .xml or .fmu file, or the folder of a study.",
        path=str(path),
    )
