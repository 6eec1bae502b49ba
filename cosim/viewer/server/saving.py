"""A session written as a scenario: the original file with its comments, and the actions on the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tomlkit

from blocks.errors import PlantloopError
from cosim.scenario.scenario import Scenario
from cosim.viewer.server.watched_run import WatchedRun

MOST_FILES = 10_000


def save_session(run: WatchedRun, folder: Path, source: Scenario | None) -> Path:
    """Write a session to a new file of a folder; returns its path.

    Of a scenario it is that scenario, up to the present time, with a table ``[replay]``. Of a diagram written
    in Python it has the numbers, settings and changes, and `cosim.scenario.replay` takes it with the diagram.

    Raises
    ------
    PlantloopError      it cannot be written, or the run did not move yet
    """
    if run.time <= 0.0:
        raise PlantloopError("nothing has run yet.", hint="Save after the first step.")
    document = tomlkit.parse(source.source.text) if source is not None else tomlkit.document()
    _describe(document, run)
    if source is None:
        _add_numbers(document, run)
    stem = "session" if source is None else source.source.path.stem
    return _written(folder, stem, tomlkit.dumps(document))


def _describe(document: Any, run: WatchedRun) -> None:
    """Put the actions on a run into a document."""
    table = document.setdefault("run", tomlkit.table())
    table["until"] = run.time
    log_every, log_at = run.log
    if log_at is not None:
        table["log_at"] = [t for t in log_at if t <= run.time]
    elif log_every is not None:
        table["log_every"] = log_every
    recording = run.recording.until(run.time)
    replay = tomlkit.table()
    replay["every"] = str(recording.every)
    if recording.stops:
        replay["stops"] = recording.stops
    if recording.changes:
        changes = tomlkit.aot()
        for change in recording.changes:
            entry = tomlkit.table()
            entry["at"], entry["name"], entry["value"] = change.at, change.name, change.value
            changes.append(entry)
        replay["changes"] = changes
    document.pop("replay", None)
    document["replay"] = replay


def _add_numbers(document: Any, run: WatchedRun) -> None:
    """Settings and numbers of a run that was begun in Python."""
    settings = run.sim.settings
    table = document["run"]
    for name in settings.origins:
        value = getattr(settings, name)
        if isinstance(value, (str, int, float)):
            table[name] = value
    for kind, values in run.sim.given.items():
        if values:
            document[kind] = {name: np.asarray(value, dtype=float).tolist() for name, value in values.items()}
    document["outputs"] = {"signals": run.sim.names}


def _written(folder: Path, stem: str, text: str) -> Path:
    """Write a text to the first name of a row that is free."""
    for k in range(1, MOST_FILES):
        file = folder / (f"{stem}.toml" if stem == "session" and k == 1 else f"{stem}_{k}.toml")
        try:
            with file.open("x", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
        except FileExistsError:
            continue
        except OSError as error:
            raise PlantloopError(
                f"the session cannot be written to '{file}': {error}.", path=str(file)
            ) from None
        return file
    raise PlantloopError(f"'{folder}' has {MOST_FILES} sessions already.")
