"""How exact each state is to be."""

from __future__ import annotations

import numpy as np

from cosim.system import System


def absolute_tolerances(system: System, atol: float) -> np.ndarray:
    """The setting times the nominal size of every state, (nx,)."""
    nominal = [np.full(slot.size, slot.memory.nominal) for slot in system.states.values()]
    scaled: np.ndarray = atol * np.concatenate([np.zeros(0), *nominal])
    return scaled
