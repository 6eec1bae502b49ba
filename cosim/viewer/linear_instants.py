"""Points of a run for the linear models in the page, reconstructed from the log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from blocks.contract.event_memories import Branch
from blocks.contract.memories import CountedInstants, Refreshed, Ticked
from blocks.errors import PlantloopError
from cosim.analysis.common_period import common
from cosim.run.context import Context
from cosim.slots import MemorySlot
from cosim.system import System

MOST_INSTANTS = 20
NEAR = 1e-6  # of a common period: an instant that is this far from a tick is at the tick


def points_of(result: Any, system: System, start: Context, most: int = MOST_INSTANTS) -> list[Context]:
    """Points of a run (`cosim.Result`) after its start, evenly spread over its log, `most` at most.

    States are those logged, and so are parameters, else those of the start. What a tick samples and what
    branches are taken follows from them; in a sampled diagram the points are ticks of all rates.

    Raises
    ------
    PlantloopError      something that a point needs was not logged, or the run does not say all of it
    """
    _check_run(system, start)
    places = {name: (slot.index, "x") for name, slot in system.states.items()}
    counted: list[MemorySlot[Any]] = []
    for name, slot in system.held.items():
        if not isinstance(slot, MemorySlot):
            continue
        if isinstance(slot.memory, CountedInstants):
            counted.append(slot)
        elif not _follows(slot.memory):
            places[name] = (slot.index, "h")
    places |= {name: (slot.index, "h") for name, slot in system.inputs.items()}
    _check_logged(result.signals, list(places))
    points = []
    for row in _rows(result.time, system, most):
        c = start.copy()
        c.t = float(result.time[row])
        for name, (index, vector) in places.items():
            getattr(c, vector)[index] = result.signals[name][row]
            if vector == "h":
                c.next[index] = c.h[index]
        for slot in counted:
            c.h[slot.index] = c.next[slot.index] = np.count_nonzero(slot.times.nearest <= c.t)
        for name, given in system.parameters.items():
            if name in result.signals:
                c.p[given.index] = result.signals[name][row].reshape(given.shape)[given.mask]
        points.append(c)
    return points


def _follows(memory: Any) -> bool:
    """Whether a memory is computed anew at a point: samples at a tick, and branches."""
    return isinstance(memory, Branch) or (isinstance(memory, Refreshed) and isinstance(memory, Ticked))


def _check_run(system: System, start: Context) -> None:
    """Check that the log has everything that a point needs."""
    why = ""
    if system.delays or system.histories:
        why = "what is in its delays and buffers is not logged"
    elif start.started:
        why = "the run went on from a snapshot"
    if why:
        raise PlantloopError(f"about the start only: {why}.")


def _check_logged(signals: Mapping[str, np.ndarray], names: list[str]) -> None:
    absent = [name for name in names if name not in signals]
    if absent:
        more = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
        raise PlantloopError(
            f"about the start only: '{absent[0]}'{more} was not logged.", path=absent[0],
            hint='Log it: signals=["*"], in a scenario [outputs] signals = ["*"].',
        )  # fmt: skip


def _rows(time: np.ndarray, system: System, most: int) -> np.ndarray:
    """Numbers of logged instants after the start, evenly spread; of one that is there twice the last.

    Raises
    ------
    PlantloopError      none of them is a tick of all rates
    """
    last = np.append(np.diff(time) > 0, True)
    if system.rates:
        period = float(common(r.period for r in system.rates))
        phase = (time - float(max(system.rates, key=lambda r: r.period).offset)) / period
        last &= np.abs(phase - np.round(phase)) < NEAR
    rows = np.flatnonzero(last & (time > time[0]))
    if not len(rows):
        raise PlantloopError(
            "about the start only: no later tick of all rates was logged.",
            hint="Choose log_every= as a multiple of their common period.",
        )
    return rows[np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).round().astype(int))]
