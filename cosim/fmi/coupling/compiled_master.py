"""The exchange between units in compiled code (runtime/coupling.c), where all can be called without Python.

Compiled code walks the steps of the coupling; it asks for a whole step where one is iterated, and for what
only Python can say of a unit: why a call failed, whether it ends the run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from blocks.contract.driven import CalledUnit
from blocks.errors import naming_block
from cosim.engines.native import bindings as b
from cosim.engines.native.native import NativeEngine
from cosim.fmi.coupling.coupled_system import OURS, UnitPlaces
from cosim.fmi.coupling.macro_step import MacroStep
from cosim.fmi.coupling.unit_run import KEPT, UnitRun, UnitStanding
from cosim.system import System

ROWS = 1024  # of the quality of a unit's inputs, at first
MOST = 2**20  # numbers of them: large enough for NumPy to ask for large pages of memory
REASONS = (
    "PL_UNITS_HOST", "PL_UNITS_FULL", "PL_UNIT_STEP", "PL_UNIT_STEPPED", "PL_UNIT_GET", "PL_UNITS_ENDED",
    "PL_UNITS_NOT_FINITE",
)  # fmt: skip
"""What compiled code asks for, in the order of their numbers."""


class UnitTable:
    """One unit of a run as the structure `pl_fmu_unit` `table`."""

    def __init__(self, places: UnitPlaces, table: Any, order: int, first: int, period: int) -> None:
        self.places, self.table = places, table
        block, t = places.block, table
        n, m = block.n_inputs, block.n_outputs
        t.first, t.period, t.start, t.since = first, period, places.inputs.start, places.since
        t.u.n, t.out.n = n, m
        t.u.most = t.out.most = order + 1
        integers = {
            "y": places.y,
            "smooth_inputs": places.smooth_inputs, "smooth_outputs": places.smooth_outputs,
            "late": places.late_inputs,
        }  # fmt: skip
        if places.since >= 0:
            integers |= {"slope": places.slope, "curvature": places.curvature}
        self._u, self._y = np.zeros((KEPT, n)), np.zeros((KEPT, m))
        numbers = {"assumed": n, "value": n, "bend": n, "curve": n, "fresh": m}
        self.arrays: dict[str, np.ndarray] = {
            name: np.append(a, 0).astype(np.int32) for name, a in integers.items()
        }
        self.arrays |= {name: np.zeros(size + 1) for name, size in numbers.items()}
        for name, array in self.arrays.items():
            setattr(t, name, b.pointer(array))
        t.u.values, t.out.values = b.pointer(self._u), b.pointer(self._y)
        self._rows = np.zeros((ROWS, 1 + 2 * n))
        t.rows, t.capacity = b.pointer(self._rows), len(self._rows)
        self._kept: list[Any] = []

    def enter(self, run: UnitRun) -> None:
        """Stand where the unit does."""
        s, t = run.standing, self.table
        t.points, t.time, t.next, t.ended = s.points, s.time, math.nan, 0
        for samples, found, values in ((s.u, t.u, self._u), (s.y, t.out, self._y)):
            found.count = min(len(samples), found.most)
            for k, (time, numbers) in enumerate(samples[: found.most]):
                found.time[k] = time
                values[k] = numbers

    def leave(self, run: UnitRun) -> None:
        """Let the unit stand here."""
        t, ended = self.table, run.standing.ended
        u, y = (
            tuple((float(found.time[k]), values[k].copy()) for k in range(found.count))
            for found, values in ((t.u, self._u), (t.out, self._y))
        )
        if t.points > run.standing.points:
            cast("CalledUnit", run.unit).came_to(t.time)
        run.standing = UnitStanding(int(t.points), float(t.time), u, y, ended)

    def calls(self, run: UnitRun) -> bool:
        """Call this instance from now on; False where compiled code cannot."""
        found, t = self.places.block.calls(run.unit, self.table), self.table
        if found is not None:
            for batches, count, row in ((t.set, t.n_set, t.value), (t.get, t.n_get, t.fresh)):
                _put_in_place(batches, count, row)
        self._kept = found or []
        return found is not None

    def take_rows(self) -> np.ndarray:
        """What was logged of its inputs since, (rows, 1 + 2 n)."""
        found = self._rows[: self.table.count].copy()
        self.table.count = 0
        return found

    def renew_rows(self) -> np.ndarray:
        """All rows, which are full; more room for those to come, as long as they are not many."""
        found = self._rows
        assert self.table.count == len(found)
        more = 4 if 4 * found.size <= MOST else 1
        self._rows = np.empty((more * len(found), found.shape[1]))
        self.table.rows, self.table.capacity, self.table.count = b.pointer(self._rows), len(self._rows), 0
        return found


class CompiledMaster:
    """Advances a coupled run with compiled code.

    by_hand : makes one step of the coupling, at most to a time [s]; returns a message if that ends the run
    """

    def __init__(self, macro: MacroStep, engine: NativeEngine, by_hand: Callable[[float], str]) -> None:
        self.macro, self.engine, self.by_hand = macro, engine, by_hand
        coupled, system = macro.coupled, engine.system
        grid = math.lcm(*(t.denominator for u in coupled.units for t in _times(u)))
        self._table = m = b.new("pl_coupling")
        self._units = b.new("pl_fmu_unit", len(coupled.units))
        self.units = [
            UnitTable(u, self._units + k, macro.order, *(int(t * grid) for t in _times(u)))
            for k, u in enumerate(coupled.units)
        ]
        jacobi = [*range(len(coupled.units)), OURS]
        newest = coupled.coupling.order == "gauss-seidel"
        widest = max(u.block.n_outputs for u in coupled.units)
        kept = len(system.x0) + 2 * len(system.h0) + len(system.w0) + len(system.events)
        kept += system.residual.numel() + len(system.rates) + len(engine.context.instants)
        self._arrays = {
            "sequence": np.array(macro.sequence if newest else jacobi, dtype=np.int32),
            "inputs": np.zeros(coupled.n_inputs + 3 * widest + 1),
            "kept": np.zeros(kept + 1),
            "kept_counts": np.zeros(1 + len(system.rates), dtype=np.int64),
        }
        for name, array in self._arrays.items():
            setattr(m, name, b.pointer(array))
        m.run, m.units, m.n_units, m.grid = engine.run, self._units, len(self.units), grid
        m.n_inputs = coupled.n_inputs
        m.order, m.newest, m.n_sequence = macro.order, newest, len(self._arrays["sequence"])
        m.idle = _is_idle(system)
        self._instances: list[Any] = []
        self._until, self._message, self._callable = 0.0, "", True

    # --- running ----------------------------------------------------------------------------------
    def advance(self, until: float, progress: Callable[[float], None] | None) -> None:
        """To `until` [s], or where a unit or an event ends the run."""
        m = self._table
        m.phase, m.first_by_host = 0, self.macro.begins_iterated
        self._until, self._message = until, ""
        self._enter()
        try:
            self.engine.walk(lambda runtime: int(runtime.pl_couple(m, until)), self._serve, until, progress)
        finally:
            self._leave()
        if self._message:
            self.engine.context.stopped = self._message

    @property
    def can_run(self) -> bool:
        """Can compiled code call the units as they are now?"""
        runs = self.macro.runs
        if self._instances != [run.unit for run in runs]:
            self._instances = [run.unit for run in runs]
            found = [u.calls(run) for u, run in zip(self.units, runs, strict=True)]
            self._callable = all(found)
        exchange = self.macro.exchange
        tuned = any((exchange.parameters(k) != run.parameters).any() for k, run in enumerate(runs))
        return self._callable and not tuned

    def _enter(self) -> None:
        for unit, run in zip(self.units, self.macro.runs, strict=True):
            unit.enter(run)

    def _leave(self) -> None:
        for k, (unit, run) in enumerate(zip(self.units, self.macro.runs, strict=True)):
            unit.leave(run)
            self.macro.log.add_rows(k, unit.take_rows())
        self.macro.log.macro_steps += int(self._table.macro_steps)
        self._table.macro_steps = 0

    @staticmethod
    def possible(macro: MacroStep) -> bool:
        """Can compiled code go back to where a step of our own blocks began, where that may be needed?"""
        system, instances = macro.engine.system, macro.engine.instances
        others = set(instances.names) - {u.path for u in macro.coupled.units}
        called = any(s.external is not None for s in system.schedule)
        return macro.coupling.order == "jacobi" or not (system.delays or others or called)

    # --- what compiled code asks for --------------------------------------------------------------
    def _serve(self, reason: int) -> bool:
        """See `NativeEngine.walk`."""
        m, name = self._table, REASONS[reason - b.constant("PL_UNITS_HOST")]
        k = int(m.unit)
        unit, run = self.units[k], self.macro.runs[k]
        if name == "PL_UNITS_HOST":
            self._leave()
            ended = self._ends(self.by_hand(self._until))
            self._enter()
            return ended
        if name == "PL_UNITS_FULL":
            self.macro.log.add_rows(k, unit.renew_rows())
        elif name == "PL_UNITS_NOT_FINITE":
            self.macro.exchange.inputs(m.t1)  # says so
        elif name == "PL_UNITS_ENDED":
            return self._ended_by_unit()
        elif name == "PL_UNIT_GET":
            with naming_block(run.path):
                unit.arrays["fresh"][: unit.places.block.n_outputs] = run.unit.outputs()
            unit.table.has_fresh = 1
        else:
            with naming_block(run.path):
                self._step(unit, run, name == "PL_UNIT_STEPPED")
        return False

    def _step(self, unit: UnitTable, run: UnitRun, stepped: bool) -> None:
        """A step that compiled code has begun, or asks for."""
        t, a, n = unit.table, unit.arrays, unit.places.block.n_inputs
        called = cast("CalledUnit", run.unit)
        called.came_to(t.time)
        if stepped:
            reached = called.stepped(t.end, t.status)
        else:
            h = t.end - t.time
            inputs = (a[name][:n].copy() for name in ("value", "bend", "curve"))
            reached = called.step(t.time, h, *inputs)
        t.reached = reached.time
        if reached.ended:
            t.ended = 1
            run.standing = replace(run.standing, ended=reached.ended)

    def _ended_by_unit(self) -> bool:
        """A unit has ended the run: our own blocks go to where it did, perhaps back."""
        m, macro = self._table, self.macro
        self._leave()
        ended = min((run.standing for run in macro.runs if run.standing.ended), key=lambda s: s.time)
        if m.newest and m.ours_done:
            counts = self._arrays["kept_counts"].tolist()
            self.engine.back(m, (int(m.kept_position), int(m.kept_events), tuple(counts)))
        macro.approach(ended.time)
        return self._ends(macro.end(ended.ended))

    def _ends(self, message: str) -> bool:
        self._message = message
        return bool(message)


def _put_in_place(batches: Any, count: int, row: Any) -> None:
    """Doubles that are a row as it is are not copied into values of their own."""
    if count == 1 and batches[0].kind == b.constant("PL_FMU_DOUBLE"):
        batch = batches[0]
        if all(batch.places[k] == k for k in range(batch.total)):
            batch.kind, batch.values = b.constant("PL_FMU_IN_PLACE"), row


def _is_idle(system: System) -> bool:
    """Have our own blocks nothing to do but at their ticks?"""
    work = [len(system.x0), len(system.w0), len(system.events), len(system.delays), len(system.accepted[1])]
    return not any(work) and all(s.activation.number >= 0 for s in system.schedule)


def _times(unit: UnitPlaces) -> tuple[Any, Any]:
    ticks = unit.block.ticks
    return ticks.offset, ticks.period
