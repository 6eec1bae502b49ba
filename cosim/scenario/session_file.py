"""Replay of a saved session of a diagram written in Python: ``replay(d, "session.toml")``."""

# ruff: noqa: RUF009 (a field is made by `key`, which is dataclasses.field with a check)

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blocks.contract.block import Block
from cosim.block_alone import around
from cosim.diagram import Diagram
from cosim.result.result import Result
from cosim.scenario.handles import with_handles
from cosim.scenario.keys import FilePlace, key, quantities, record
from cosim.scenario.replay import played
from cosim.scenario.schema import Outputs, ReplayTable, Run
from cosim.scenario.source import read_source
from cosim.settings import RunSettings
from cosim.simulation import Simulation


@dataclass(frozen=True, kw_only=True)
class SessionTables:
    """The tables of a session's file."""

    run: Run = key(record(Run))
    replay: ReplayTable = key(record(ReplayTable))
    parameters: Mapping[str, Any] = key(quantities, default_factory=dict)
    initial: Mapping[str, Any] = key(quantities, default_factory=dict)
    outputs: Outputs = key(record(Outputs), default=Outputs())


def replay(drawn: Diagram | Block, path: str | os.PathLike[str]) -> Result:
    """Repeat the run that a live view of a diagram saved, bit for bit.

    drawn : the diagram of the session; path : the file that `LiveView.save` wrote

    Raises
    ------
    ScenarioError       the file is wrong
    PlantloopError      the diagram has no such parameter or input
    """
    place = FilePlace(read_source(Path(path)))
    tables: SessionTables = place.read(place.source.tables, record(SessionTables))
    place.raise_problems()
    d = around(drawn) if isinstance(drawn, Block) else drawn
    settings = RunSettings.of(origin=f"{Path(path).name} [run]", **tables.run.settings)
    system = with_handles(d.netlist()).system(settings.solve_loops, settings.driven, d.prefix)
    sim = Simulation(
        system, settings=settings, parameters=tables.parameters, initial=tables.initial,
        signals=list(tables.outputs.signals) or None,
    )  # fmt: skip
    run = tables.run
    return played(sim, tables.replay.recording(), run.until, (run.log_every, run.log_at))
