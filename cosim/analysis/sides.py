"""Which side of its switches a system stands on at a point: the modes of a run that begins there.

A dead zone is left or not, friction holds or slides. An equilibrium found with the modes of another point,
as of a first guess, need not be one.
"""

from __future__ import annotations

import contextlib

import numpy as np

from blocks.contract.memories import Branch, ModeMemory
from blocks.errors import SimulationError
from cosim.analysis.operating import SystemAtPoint
from cosim.engines.reference.reference import ReferenceEngine
from cosim.settings import RunSettings
from cosim.slots import MemorySlot

MODES = (ModeMemory, Branch)


class Sides:
    """The modes of a system at the point where it stands.

    Of systems with delays, whose past is not that of a run that begins, or with units that step themselves
    they stay what they are.
    """

    def __init__(self, model: SystemAtPoint) -> None:
        s = model.system
        slots = [o for o in s.held.values() if isinstance(o, MemorySlot) and isinstance(o.memory, MODES)]
        if s.delays or s.units or not s.events:
            slots = []
        self._model = model
        self._places = np.concatenate([np.zeros(0, int), *[slot.index for slot in slots]])
        self._first = model.context.h[self._places].copy()

    @property
    def several(self) -> bool:
        """Are there modes at all?"""
        return bool(len(self._places))

    def find(self) -> bool:
        """Take those of a run that begins here; did one change? False too where no run can begin."""
        model, places = self._model, self._places
        if not len(places):
            return False
        c = model.context.copy()
        c.h[places] = c.next[places] = self._first
        c.signs[:] = 0.0
        c.started, c.stopped = False, ""
        with contextlib.suppress(SimulationError):
            engine = ReferenceEngine(model.system, RunSettings(), c)
            try:
                engine.advance(c.t)
            finally:
                engine.instances.close()
            if np.isfinite(c.w).all() and not np.array_equal(c.h[places], model.context.h[places]):
                model.context.h[places], model.context.w[:] = c.h[places], c.w
                return True
        return False
