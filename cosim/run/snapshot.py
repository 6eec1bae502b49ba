"""Snapshots on disk: a context as arrays and JSON in one .npz file, bit for bit, without pickle."""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from blocks.arguments import file_path
from blocks.errors import PlantloopError
from cosim.run.context import Context
from cosim.run.history import History
from cosim.system import System

FORMAT = "plantloop snapshot 1"
VECTORS = ("x", "h", "w", "p", "next", "signs", "solution")
NUMBERS = ("t", "step", "error")


def save(path: str | os.PathLike[str], context: Context, system: System) -> None:
    """Write a context; the file appears under its name when it is complete."""
    target = file_path(path, "the file of a snapshot")
    if target.is_dir() or not target.parent.is_dir():
        why = "it is a folder" if target.is_dir() else "no such folder"
        raise PlantloopError(f"cannot save a snapshot as '{target}': {why}.", path=str(target))
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **_arrays(context, system))  # type: ignore[arg-type]  # no name is allow_pickle
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike[str], system: System) -> Context:
    """Read what `save` wrote.

    Raises
    ------
    PlantloopError      no snapshot, a damaged one, or one of another diagram
    """
    path = file_path(path, "the file of a snapshot")
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        facts = json.loads(arrays.pop("facts").tobytes())
        if facts["format"] != FORMAT:
            raise KeyError("format")
    except FileNotFoundError:
        raise PlantloopError(f"no snapshot '{os.fspath(path)}'.", path=os.fspath(path)) from None
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise PlantloopError(
            f"'{os.fspath(path)}' is no snapshot of plantloop, or a damaged one: {error}.",
            path=os.fspath(path),
            hint="Write it with Simulation.save.",
        ) from error
    if facts["system"] != system.hash:
        raise PlantloopError(
            f"'{os.fspath(path)}' is a snapshot of '{facts['name']}' ({facts['system']}), which is not this "
            f"'{system.name}' ({system.hash}).",
            path=os.fspath(path),
            hint="Restore it in the same diagram: same blocks, names, connections and structure.",
        )
    return _context(arrays, facts)


def _arrays(context: Context, system: System) -> dict[str, np.ndarray]:
    """Everything by name; floats only ever as arrays, so that every bit survives."""
    c = context
    facts = {
        "format": FORMAT,
        "system": system.hash,
        "name": system.name,
        "ticks": [int(n) for n in c.ticks],
        "instants": {name: int(n) for name, n in c.instants.items()},
        "started": bool(c.started),
        "stopped": c.stopped,
        "histories": list(c.histories),
        "opaque": list(c.opaque),
    }
    found = {name: getattr(c, name) for name in VECTORS}
    found |= {"numbers": np.array([getattr(c, name) for name in NUMBERS]), "stops": np.array(c.stops)}
    for k, history in enumerate(c.histories.values()):
        found[f"history{k} initial"] = history.initial
        found[f"history{k} times"] = np.array([history.starts, history.ends])
        found[f"history{k} values"] = history.values
    for k, saved in enumerate(c.opaque.values()):
        found[f"opaque{k}"] = np.frombuffer(saved, dtype=np.uint8)
    found["facts"] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
    return found


def _context(arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> Context:
    histories: dict[str, History] = {}
    for k, name in enumerate(facts["histories"]):
        starts, ends = arrays[f"history{k} times"]
        histories[name] = History.of(
            arrays[f"history{k} initial"], starts, ends, arrays[f"history{k} values"]
        )
    t, step, error = (float(v) for v in arrays["numbers"])
    return Context(
        t=t,
        x=arrays["x"],
        h=arrays["h"],
        w=arrays["w"],
        p=arrays["p"],
        next=arrays["next"],
        ticks=list(facts["ticks"]),
        instants=dict(facts["instants"]),
        signs=arrays["signs"],
        solution=arrays["solution"],
        histories=histories,
        stops=arrays["stops"].tolist(),
        started=bool(facts["started"]),
        step=step,
        error=error,
        opaque={name: arrays[f"opaque{k}"].tobytes() for k, name in enumerate(facts["opaque"])},
        stopped=str(facts["stopped"]),
    )
