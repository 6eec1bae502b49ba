"""Which side of its switches a system stands on at a point: the modes of a run that begins there.

A dead zone is left or not, friction holds or slides. An equilibrium found with the modes of another point,
as of a first guess, need not be one.
"""

from __future__ import annotations

import contextlib

import casadi as ca
import numpy as np

from blocks.contract.event_equations import THRESHOLD
from blocks.contract.event_memories import Branch, ModeMemory
from blocks.errors import SimulationError
from cosim.analysis.tangent import Delays, Tangent
from cosim.engines.methods.crossing_rates import crossings_of
from cosim.engines.reference.reference import ReferenceEngine
from cosim.run.context import Context
from cosim.run.history import History
from cosim.settings import RunSettings
from cosim.slots import MemorySlot
from cosim.system import System

MODES = (ModeMemory, Branch)


class Sides:
    """The modes of a system where its context stands; what is delayed was always what it is there.

    Of systems with opaque blocks or units that step themselves, which a look must not call, they stay what
    they are.
    """

    def __init__(self, system: System, context: Context) -> None:
        slots = [slot for slot in system.held.values() if isinstance(slot, MemorySlot)]
        given = {int(k) for slot in (*system.inputs.values(), *system.perturbed.values()) for k in slot.index}
        slots = [s for s in slots if isinstance(s.memory, MODES) and given.isdisjoint(s.index.tolist())]
        if system.units or not system.events or any(segment.external for segment in system.schedule):
            slots = []
        self.several = bool(slots)  # are there modes at all?
        self._system, self._context = system, context
        self._places = np.concatenate([np.zeros(0, int), *[slot.index for slot in slots]])
        self.begin_with_these()

    def begin_with_these(self) -> None:
        """The modes that a run begins with are those of the context now."""
        self._first = self._context.h[self._places].copy()

    @property
    def open(self) -> bool:
        """May they differ from what the signs of their conditions alone say?"""
        s, c = self._system, self._context
        if not self.several:
            return False
        if s.delays or s.rates or s.residual.numel() or any(e.eager for e in s.events):
            return True
        crossings = s.function("crossings at a point", lambda: [crossings_of(s)])
        at = np.array(crossings(*[ca.DM(v) for v in (c.t, c.x, c.h, c.w, c.p)]))
        return not bool((np.abs(at) > THRESHOLD).all())

    def find(self) -> bool:
        """Take those of a run that begins here; did one change? False too where no run can begin."""
        own, places = self._context, self._places
        if not self.several:
            return False
        c = own.copy()
        c.h[places] = c.next[places] = self._first
        c.signs[:] = 0.0
        c.started, c.stopped = False, ""
        with contextlib.suppress(SimulationError):
            self._give_past(c)
            engine = ReferenceEngine(self._system, RunSettings(), c)
            try:
                engine.advance(c.t)
            finally:
                engine.instances.close()
            if np.isfinite(c.w).all() and not np.array_equal(c.h[places], own.h[places]):
                own.h[places], own.w[:] = c.h[places], c.w
                return True
        return False

    def _give_past(self, c: Context) -> None:
        """What delays show was always what goes in now."""
        s = self._system
        if s.delays:
            Tangent(s, c, Delays(s, c, 0, sampled=False)).bring_to_rest()
            c.histories = {d.name: History(c.w[d.places].copy()) for d in s.delays}
