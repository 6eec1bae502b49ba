"""Tests of a unit's capabilities on an instance made for them."""

from __future__ import annotations

import contextlib

import numpy as np

from blocks.errors import PlantloopError
from cosim.fmi.coupling.coupled_system import UnitPlaces
from cosim.fmi.coupling.unit_run import UnitRun

NUDGE = 1e-3  # change of inputs, relative


def why_no_way_back(unit: UnitPlaces, run: UnitRun) -> str:
    """How a unit that claims to roll back fails to make the same step twice; "" if it does.

    "" of one that does, that says it cannot, or that cannot be tried: one instance of it may be all there can
    be, and one that fails before it goes back fails in the run as well, which says so.
    """
    if not run.unit.rolls_back:
        return ""
    block, begin, rounds = unit.block, float(unit.block.ticks.offset), []
    zero, h = np.zeros(block.n_inputs), float(block.ticks.period)
    with contextlib.ExitStack() as stack:
        try:
            tried = block.make()
            stack.callback(tried.close)
            tried.begin(begin, block.start, run.parameters)
            start = tried.start().copy()
            there = tried.keep()
            tried.step(begin, h, block.start, zero, zero)
            rounds.append(tried.outputs().copy())
        except PlantloopError:
            return ""
        try:
            tried.restore(there)
            rounds.append(tried.outputs().copy())
            tried.step(begin, h, block.start, zero, zero)
            rounds.append(tried.outputs().copy())
            tried.restore(there)
            rounds.append(tried.outputs().copy())
        except PlantloopError as error:
            return f"after going back the same step fails: {error}"
    pairs = ((rounds[0], rounds[2]), (rounds[1], start), (rounds[3], start))
    same = all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)
    return "" if same else "after going back the same step gives other outputs"


def direct_feedthrough(unit: UnitPlaces, run: UnitRun) -> np.ndarray | None:
    """(m, n) bool: outputs that follow inputs at once, near the start; None if that cannot be tested."""
    block = unit.block
    found = np.zeros((block.n_outputs, block.n_inputs), bool)
    free = np.concatenate([np.zeros(0, bool), *(np.full(p.size, p.continuous) for p in block.inputs)])
    moved = block.start + free * NUDGE * (1.0 + np.abs(block.start)) * (1.0 + 0.37 * np.arange(len(free)))
    with contextlib.ExitStack() as stack:
        try:
            tried = block.make()
            stack.callback(tried.close)
            tried.begin(float(block.ticks.offset), block.start, run.parameters)
            there = tried.exchange(moved).copy()
            for i in np.flatnonzero(free):  # a product of inputs shows nothing where another one is 0
                found[:, i] = tried.exchange(np.where(np.arange(len(free)) == i, block.start, moved)) != there
        except PlantloopError:
            return None
    return found
