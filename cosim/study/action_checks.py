"""Checks by blocks of the values that actions give to their parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from blocks.errors import PlantloopError
from cosim.run.parameter_checks import Ends, RunChecks
from cosim.study.study_schema import ActionTable
from cosim.system import System


def check_moves(system: System, p: np.ndarray, ends: Ends, actions: Sequence[ActionTable]) -> None:
    """Refuse values that `set` and `ramp` give to a parameter if its block refuses them in all cases.

    p : (np,) numbers that all cases share; ends : by places in p, the least and largest of all cases

    The others are tried as they are at the start, in the cases at their ends, and as actions leave them.

    Raises
    ------
    PlantloopError      with the name of the parameter
    """
    starts = [
        p,
        _with(p, {k: min(e) for k, e in ends.items()}),
        _with(p, {k: max(e) for k, e in ends.items()}),
    ]
    tables = [moved for action in actions for moved in (action.set, action.ramp) if moved]
    everything = {name: value for table in tables for name, value in table.items()}
    for table in tables:
        for name, value in table.items():
            checks = RunChecks.of(system, [name])
            tried = [{**others, name: value} for others in ({}, table, everything)]
            rows = np.array([_moved(system, start, one) for start in starts for one in tried])
            refused = checks.refused(rows)
            if len(refused) == len(rows):
                raise PlantloopError(
                    f"an action makes '{name}' {value}: {refused[0]}", path=name, value=value
                ) from refused[0]


def _moved(system: System, p: np.ndarray, values: Mapping[str, Any]) -> np.ndarray:
    """Parameters, with some values replaced by name."""
    found = p.copy()
    for name, value in values.items():
        full = system.names("parameter").find(name)
        assert full is not None  # actions are compiled in by now
        slot = system.parameters[full[0]]
        given = np.asarray(value, dtype=float)
        whole = given.reshape(slot.shape) if given.size == math.prod(slot.shape) else given
        found[slot.index] = np.broadcast_to(whole, slot.shape)[slot.mask]
    return found


def _with(p: np.ndarray, values: Mapping[int, float]) -> np.ndarray:
    found = p.copy()
    found[list(values)] = list(values.values())
    return found
