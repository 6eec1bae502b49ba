"""What is found out about a unit by trying it, on an instance of its own."""

from __future__ import annotations

import numpy as np

from blocks.errors import PlantloopError
from cosim.fmi.coupling.coupled_system import UnitPlaces
from cosim.fmi.coupling.unit_run import UnitRun

NUDGE = 1e-3  # of inputs, relative


def makes_steps_again(unit: UnitPlaces, run: UnitRun) -> bool:
    """After going back, does it make the same step twice? True of units that do not go back."""
    if not run.unit.rolls_back:
        return True
    tried, h = unit.block.make(), float(unit.block.ticks.period)
    zero, u = np.zeros(unit.block.n_inputs), unit.block.start
    try:
        tried.begin(float(unit.block.ticks.offset), u, run.parameters)
        start = tried.start().copy()
        there, found = tried.keep(), []
        for _ in range(2):
            tried.step(float(unit.block.ticks.offset), h, u, zero, zero)
            found.append(tried.outputs().copy())
            tried.restore(there)
            found.append(tried.outputs().copy())
    except PlantloopError:  # it stands elsewhere than it says
        return False
    finally:
        tried.close()
    pairs = ((found[0], found[2]), (found[1], start), (found[3], start))
    return all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)


def direct_outputs(unit: UnitPlaces, run: UnitRun) -> np.ndarray:
    """(m,) bool: which outputs follow inputs at once, at the start; none where that cannot be tried."""
    block = unit.block
    free = np.concatenate([np.zeros(0, bool), *(np.full(p.size, p.continuous) for p in block.inputs)])
    moved = block.start + free * NUDGE * (1.0 + np.abs(block.start)) * (1.0 + 0.37 * np.arange(len(free)))
    tried = block.make()
    try:
        tried.begin(float(block.ticks.offset), block.start, run.parameters)
        before = tried.exchange(block.start).copy()
        found: np.ndarray = tried.exchange(moved) != before
    except PlantloopError:
        return np.zeros(block.n_outputs, bool)
    finally:
        tried.close()
    return found
