"""Snapshots on disk: a context as arrays and JSON in one .npz file, bit for bit, without pickle."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from blocks.arguments import file_path
from blocks.errors import PlantloopError, shown
from blocks.files import DAMAGE, is_no_file, read_arrays, read_whole
from cosim.run.context import Context
from cosim.run.history import History
from cosim.run.snapshot_check import VECTORS, faults
from cosim.system import System

FORMAT = "plantloop snapshot 1"
MOST_BYTES = 4 * 2**30  # of a snapshot file
NUMBERS = ("t", "step", "error")


class SnapshotError(PlantloopError, OSError):
    """A snapshot cannot be written; also an OSError, as of any file."""


def save(path: str | os.PathLike[str], context: Context, system: System) -> None:
    """Write a context; the file appears under its name when it is complete."""
    target = file_path(path, "the file of a snapshot")
    if is_no_file(target) or not target.parent.is_dir():
        why = "it is a folder or a device" if is_no_file(target) else "no such folder"
        raise PlantloopError(f"cannot save a snapshot as '{target}': {why}.", path=str(target))
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name[:200]}.", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **_arrays(context, system))  # type: ignore[arg-type]  # no name is allow_pickle
        os.replace(temporary, target)
    except OSError as error:
        _remove(temporary)
        raise SnapshotError(
            f"cannot save a snapshot as '{target}': {error.strerror or error}.",
            path=str(target),
            hint="Check that there is space and that the folder may be written. Nothing was changed.",
        ) from error
    except BaseException:
        _remove(temporary)
        raise


def _remove(temporary: str) -> None:
    if temporary:
        Path(temporary).unlink(missing_ok=True)


def load(path: str | os.PathLike[str], system: System, opaque: Collection[str] = ()) -> Context:
    """Read what `save` wrote; everything in it is compared with the system, see `snapshot_check.py`.

    opaque : names of the opaque blocks that save something

    Raises
    ------
    PlantloopError      no snapshot, a damaged one, or one of another diagram
    """
    path = file_path(path, "the file of a snapshot")
    name = os.fspath(path)
    try:
        arrays = read_arrays(read_whole(path, MOST_BYTES))
        facts = json.loads(arrays.pop("facts").tobytes())
        if facts["format"] != FORMAT:
            raise KeyError("format")
        found = _context(arrays, facts) if facts["system"] == system.hash else None
    except FileNotFoundError:
        raise PlantloopError(f"no snapshot '{name}'.", path=name) from None
    except DAMAGE as error:
        raise _damaged(name, f"{getattr(error, 'strerror', None) or error}") from error
    if found is None:
        raise PlantloopError(
            f"'{name}' is a snapshot of {shown(facts.get('name'))} ({shown(facts['system'])}), which is not "
            f"this '{system.name}' ({system.hash}).",
            path=name,
            hint="Restore it in the same diagram: same blocks, names, connections and structure.",
        )
    wrong = list(faults(found, system, opaque))
    if wrong:
        raise _damaged(name, "; ".join(wrong[:3]))
    return found


def _damaged(name: str, why: str) -> PlantloopError:
    return PlantloopError(
        f"'{name}' is no snapshot of plantloop, or a damaged one: {why}.",
        path=name,
        hint="Write it with Simulation.save.",
    )


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
    """The context of a file as it is, to be compared with a system."""
    histories: dict[str, History] = {}
    for k, name in enumerate(facts["histories"]):
        starts, ends = arrays[f"history{k} times"]
        histories[name] = History.of(
            arrays[f"history{k} initial"], starts, ends, arrays[f"history{k} values"]
        )
    t, step, error = (float(v) for v in arrays["numbers"])
    stops = arrays["stops"]
    if stops.ndim != 1 or stops.dtype != np.float64 or not isinstance(facts["started"], bool):
        raise ValueError("stops or facts of another type")
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
        stops=stops.tolist(),
        started=facts["started"],
        step=step,
        error=error,
        opaque={name: arrays[f"opaque{k}"].tobytes() for k, name in enumerate(facts["opaque"])},
        stopped=str(facts["stopped"]),
    )
