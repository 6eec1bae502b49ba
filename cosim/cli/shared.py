"""Parts that several commands share: errors as messages, checks of files, options."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from blocks.contract.user_lines import each_warning_once
from blocks.errors import PlantloopError
from blocks.files import is_file
from cosim.cli.terminal import print_error

Trust = Annotated[
    bool,
    typer.Option("--trust", help="Allow the file to run code it names and to leave its folder."),
]


@contextmanager
def errors_as_messages() -> Iterator[None]:
    """Turn a user's mistake into one message on standard error and exit code 1, a warning into a line."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        print_error(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        try:
            with each_warning_once():
                yield
        except PlantloopError as error:
            print_error(str(error))
            raise typer.Exit(1) from None


def checked_path(path: Path, command: str, suffixes: tuple[str, ...]) -> Path:
    """The path of a file that exists and whose kind the command takes."""
    from cosim.scenario.source import no_such_file

    suffix = path.suffix.lower()
    if suffix not in suffixes:
        hint = f"For a model: cosim info {path}." if suffix == ".xml" else None
        wanted = " or ".join(suffixes)
        raise PlantloopError(
            f"cosim {command} takes a {wanted} file, got '{path}'.", path=str(path), hint=hint
        )
    if not is_file(path):
        raise PlantloopError(no_such_file(path, "file"), path=str(path))
    return path
