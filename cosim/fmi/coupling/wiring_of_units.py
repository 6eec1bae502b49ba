"""The exchange between units and our own blocks: inputs read off the system, outputs written into it."""

from __future__ import annotations

import numpy as np

from cosim.engines.counters import Counters
from cosim.engines.reference.unknowns import Unknowns
from cosim.engines.reference.workspace import Workspace
from cosim.fmi.coupling.coupled_system import CoupledSystem
from cosim.fmi.coupling.curves import Curve
from cosim.fmi.coupling.unit_run import UnitRun
from cosim.run.context import Context
from cosim.settings import RunSettings


class Exchange:
    """The wires between units, in one run."""

    def __init__(self, coupled: CoupledSystem, settings: RunSettings, context: Context) -> None:
        self.coupled, self.context = coupled, context
        self._instances = context.begin(coupled.system)
        self._workspace = Workspace(coupled.system, settings, context, Counters())
        self._unknowns = Unknowns(self._workspace)
        self._inputs = self._workspace.bind("inputs of units", lambda: [coupled.inputs])

    @property
    def runs(self) -> list[UnitRun]:
        """The units of the run, in the order of the system."""
        return [self._instances.made(u.path) for u in self.coupled.units]

    def inputs(self, t: float) -> np.ndarray:
        """Inputs of all units at t [s] in the present context, (n,)."""
        now = self.context.t
        self._workspace.put(t)
        with self._instances.answering():
            self._unknowns.refresh()
            found: np.ndarray = self._inputs().copy()
            self._workspace.look_for_interrupt()
        self.context.t = now
        if not np.isfinite(found).all():
            raise self._workspace.non_finite(t)
        return found

    def write(self, k: int, outputs: Curve) -> None:
        """Set the outputs of a unit to a curve."""
        unit, h = self.coupled.units[k], self.context.h
        h[unit.y] = outputs.value
        if unit.since >= 0:
            h[unit.slope], h[unit.curvature], h[unit.since] = outputs.slope, outputs.curvature, outputs.t0

    def parameters(self, k: int) -> np.ndarray:
        """Present parameters of a unit, (np,)."""
        found: np.ndarray = self.context.p[self.coupled.units[k].parameters]
        return found
