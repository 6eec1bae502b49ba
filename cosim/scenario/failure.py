"""Files about a scenario that failed: a snapshot from shortly before, and the facts to replay it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from blocks.errors import PlantloopError, SimulationError
from blocks.files import is_file, read_whole, replacing
from cosim.last_steps import Replay, replay
from cosim.run import snapshot as snapshot_file
from cosim.scenario.loader import load_scenario
from cosim.scenario.scenario import Scenario
from cosim.settings import RunSettings
from cosim.simulation import Simulation
from cosim.system import System

FORMAT = "plantloop failure 1"
FACTS, SNAPSHOT = "failure.json", "failure.npz"
MOST_BYTES = 1_000_000  # largest size of failure.json


def write_failure(
    scenario: Scenario, system: System, error: SimulationError, folder: Path, engine: str | None
) -> Path | None:
    """Write failure.json and failure.npz into a folder; None if there is no snapshot.

    engine : the engine of the run, if it was not the scenario's
    """
    if error.before is None or error.time is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    snapshot_file.save(folder / SNAPSHOT, error.before, system)
    facts = {
        "format": FORMAT,
        "scenario": os.path.relpath(scenario.source.path.resolve(), folder.resolve()),
        "engine": engine,
        "time": error.time,
        "message": str(error),
    }
    path = folder / FACTS
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return path


def replay_failure(path: Path, trust: bool = False, steps: int | None = None) -> Replay:
    """Replay the last steps before the failure that `write_failure` recorded, see `cosim.replay`.

    Raises
    ------
    PlantloopError      no such file, a damaged one, or the scenario has changed since
    """
    facts = _facts(path)
    source = path.parent / facts["scenario"]
    if not is_file(source):
        raise PlantloopError(
            f"the scenario '{source}' that '{path}' is about is not there any more.", path=str(path)
        )
    scenario = load_scenario(source, trust)
    settings = RunSettings.of(scenario.settings(), engine=facts["engine"] or scenario.settings().engine)
    system = scenario.system()
    with Simulation(system, settings=settings) as sim:
        sim.load(path.parent / SNAPSHOT)
        before = sim.snapshot_of_start()
    more = {} if steps is None else {"steps": steps}
    return replay(system, before, facts["time"], settings=settings, **more)


def _facts(path: Path) -> dict[str, Any]:
    try:
        facts = json.loads(read_whole(path, MOST_BYTES))
        kinds: dict[str, Any] = {
            "format": str,
            "scenario": str,
            "engine": (str, type(None)),
            "time": (int, float),
            "message": str,
        }
        if facts["format"] != FORMAT or not all(isinstance(facts[k], kind) for k, kind in kinds.items()):
            raise KeyError("format")
    except FileNotFoundError:
        raise PlantloopError(f"no failure '{path}'.", path=str(path)) from None
    except (KeyError, TypeError, ValueError, RecursionError, OSError) as error:
        raise PlantloopError(
            f"'{path}' is no failure that cosim run wrote.", path=str(path), hint=f"Give its {FACTS}."
        ) from error
    found: dict[str, Any] = facts
    return found
