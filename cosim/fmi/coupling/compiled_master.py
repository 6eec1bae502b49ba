"""The exchange between units in compiled code (runtime/coupling.c), if no unit needs Python.

Compiled code walks the steps of the coupling; it asks for what only Python can say of a unit: why a call
failed, whether it ends the run. Of a step that is repeated (iterated, or by error control) and that meets
anything out of the ordinary nothing is left, and Python makes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import casadi as ca
import numpy as np

from blocks.contract.driven import CalledUnit
from blocks.errors import naming_block
from cosim.columns import pick
from cosim.engines.native import bindings as b
from cosim.engines.native.build import compiled
from cosim.engines.native.native import NativeEngine
from cosim.fmi.coupling.coupled_system import OURS, CoupledSystem, UnitPlaces
from cosim.fmi.coupling.error_control import ErrorControl
from cosim.fmi.coupling.macro_step import MacroStep
from cosim.fmi.coupling.quality import PackedRows
from cosim.fmi.coupling.unit_run import KEPT, UnitRun, UnitStanding
from cosim.system import System

ROWS = 1024  # rows for the quality of a unit's inputs, at first
LEVELS = 2  # PL_LEVELS of the runtime
MOST = 2**20  # numbers: large enough for NumPy to ask for large pages of memory
REASONS = (
    "PL_UNITS_HOST", "PL_UNITS_FULL", "PL_UNIT_STEP", "PL_UNIT_STEPPED", "PL_UNIT_GET", "PL_UNITS_ENDED",
    "PL_UNITS_NOT_FINITE", "PL_UNIT_VISIT", "PL_UNITS_LEFT",
)  # fmt: skip
"""What compiled code asks for, in the order of their numbers."""


class UnitTable:
    """One unit of a run as the structure `pl_fmu_unit` `table`."""

    def __init__(
        self, places: UnitPlaces, table: Any, samples: int, goes_back: bool, first: int, period: int
    ) -> None:
        self.places, self.table = places, table
        block, t = places.block, table
        n, m = block.n_inputs, block.n_outputs
        t.first, t.period, t.start, t.since = first, period, places.inputs.start, places.since
        t.u.n, t.out.n = n, m
        t.u.most = t.out.most = samples
        t.goes_back = goes_back
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
        self._width = 1 + 2 * n
        self._make_room(ROWS)
        self._kept: list[Any] = []
        self._levels = [np.zeros(KEPT * (n + m) + n + 1) for _ in range(LEVELS)]
        for there, values in zip(t.kept, self._levels, strict=True):
            there.values = b.pointer(values)

    def enter(self, run: UnitRun) -> None:
        """Copy the time and past of the unit into the table."""
        s, t = run.standing, self.table
        t.points, t.time, t.next, t.ended = s.points, s.time, math.nan, 0
        for samples, found, values in ((s.u, t.u, self._u), (s.y, t.out, self._y)):
            found.count = min(len(samples), found.most)
            for k, (time, numbers) in enumerate(samples[: found.most]):
                found.time[k] = time
                values[k] = numbers
        cast("CalledUnit", run.unit).resume()
        if t.events:
            t.events.jumped = run.jumped

    def leave(self, run: UnitRun) -> None:
        """Copy the time and past in the table back to the unit."""
        t, called = self.table, cast("CalledUnit", run.unit)
        u, y = (
            tuple((float(found.time[k]), values[k].copy()) for k in range(found.count))
            for found, values in ((t.u, self._u), (t.out, self._y))
        )
        if t.points > run.standing.points:
            called.came_to(t.time)
        ended = called.pause()
        run.standing = UnitStanding(int(t.points), float(t.time), u, y, run.standing.ended or ended)
        if t.events:
            run.jumped = bool(t.events.jumped)

    def calls(self, run: UnitRun) -> bool:
        """Call this instance from now on; returns False if compiled code cannot."""
        found, t = self.places.block.calls(run.unit, self.table), self.table
        if found is not None:
            for batches, count, row in ((t.set, t.n_set, t.value), (t.get, t.n_get, t.fresh)):
                _put_in_place(batches, count, row)
        self._kept = found or []
        return found is not None

    def take_rows(self) -> PackedRows:
        """Take the rows logged for its inputs since the last call."""
        t = self.table
        if t.count > len(self._kinds) // 4:  # copying would touch as many pages again
            return self._handed_over(len(self._kinds))
        found = self._packed(self._rows[: t.used].copy(), self._kinds[: t.count].copy())
        t.count = t.used = 0
        return found

    def renew_rows(self) -> PackedRows:
        """Take all rows, as the memory is full; make more room for further ones, up to a limit."""
        return self._handed_over((4 if 4 * self._rows.size <= MOST else 1) * len(self._kinds))

    def _handed_over(self, room: int) -> PackedRows:
        """The present rows, without a copy; new ones are written to a new array with `room` rows."""
        found = self._packed(self._rows[: self.table.used], self._kinds[: self.table.count])
        self._make_room(room)
        return found

    def _packed(self, numbers: np.ndarray, kinds: np.ndarray) -> PackedRows:
        return PackedRows(numbers, kinds, self._width, self.places.block.ticks)

    def _make_room(self, rows: int) -> None:
        t = self.table
        self._rows, self._kinds = np.empty(rows * self._width), np.empty(rows, dtype=np.uint8)
        t.rows, t.kind = b.pointer(self._rows), b.ffi().from_buffer("uint8_t[]", self._kinds)
        t.capacity, t.count, t.used = rows, 0, 0


class CompiledMaster:
    """Advances a coupled run with compiled code.

    by_hand : makes one step of the coupling, at most to a time [s]; returns a message if that ends the run
    control : chooses the macro steps, if anything does
    """

    def __init__(
        self,
        macro: MacroStep,
        engine: NativeEngine,
        by_hand: Callable[[float], str],
        control: ErrorControl | None = None,
    ) -> None:
        self.macro, self.engine, self.by_hand, self._control = macro, engine, by_hand, control
        coupled, coupling = macro.coupled, macro.coupling
        grid = math.lcm(*(t.denominator for u in coupled.units for t in _times(u)))
        self._goes_back = _can_go_back(macro) and (coupling.rolls_back or macro.begins_iterated)
        samples = KEPT if self._goes_back else macro.order + 1
        self._table = m = b.new("pl_coupling")
        self._units = b.new("pl_fmu_unit", len(coupled.units))
        self.units = [
            UnitTable(u, self._units + k, samples, self._goes_back, *(int(t * grid) for t in _times(u)))
            for k, u in enumerate(coupled.units)
        ]
        self._arrays = self._room()
        for name, array in self._arrays.items():
            setattr(m, name, b.pointer(array))
        self._levels = [self._room_of_level(level) for level in m.kept]
        m.run, m.units, m.n_units, m.grid = engine.run, self._units, len(self.units), grid
        m.n_inputs, m.n_outputs = coupled.n_inputs, _outputs(coupled)
        m.order, m.newest = macro.order, coupling.order == "gauss-seidel"
        m.n_sequence = len(self._arrays["sequence"])
        m.idle, m.goes_back = _is_idle(engine.system), self._goes_back
        self._wires = coupled.derived.get("wires", lambda: _wires(coupled))
        if self._wires is not None:
            m.wires, m.wire_adds = map(b.pointer, self._wires)
            self._wired = b.new("double *", coupled.n_inputs)
            m.wired = self._wired
        m.only_counts = m.idle and coupled.derived.get("only counts", lambda: _only_counts(coupled))
        m.iterate, m.single = {False: 0, True: 1, "newton": 2}[coupling.iterate], coupled.single
        if control is not None:
            m.controlled, m.rtol, m.atol = True, control.rtol, control.atol
            self._adds_up = np.append(control.adds_up, False).astype(np.int32)
            self._watched = np.append(control.watched, False).astype(np.int32)
            m.adds_up, m.watched = map(b.pointer, (self._adds_up, self._watched))
            self._direct = self._repeats(control)
        self._visited = self._visits()
        m.visits = self._visited
        self._instances: list[Any] = []
        self._message, self._callable = "", True

    def _repeats(self, control: ErrorControl) -> list[np.ndarray]:
        """Say which units follow curves in pieces, and which step again; returns what must live as long."""
        for unit in self.units:
            unit.table.in_pieces, unit.table.inner = True, unit.places.block.inner_step
        found = control.repeated
        if found is None:
            return []
        inputs = [np.append(direct, False).astype(np.int32) for direct in found.inputs]
        for unit, direct in zip(self.units, inputs, strict=True):
            unit.table.direct = b.pointer(direct)
        numbers = np.array(found.order, dtype=np.int32)
        self._table.n_direct, self._table.direct = len(numbers), b.pointer(numbers)
        return [*inputs, numbers]

    def _room(self) -> dict[str, np.ndarray]:
        """Memory for the pointers of the structure."""
        macro, coupled = self.macro, self.macro.coupled
        newest = coupled.coupling.order == "gauss-seidel"
        jacobi = [*range(len(coupled.units)), OURS]
        widest, n = max(u.block.n_outputs for u in coupled.units), _outputs(coupled)
        found = {
            "sequence": np.array(macro.sequence if newest else jacobi, dtype=np.int32),
            "inputs": np.zeros(coupled.n_inputs + 3 * widest + 1),
        }
        if self._goes_back:
            matrices = 2 * n * n if coupled.coupling.iterate == "newton" else 0
            found |= {"iterated": np.zeros(8 * n + matrices + 1)}
            found |= {"tried": np.zeros(6 * (n + coupled.n_inputs) + 1)}
        return found

    def _room_of_level(self, level: Any) -> tuple[np.ndarray, np.ndarray]:
        """Memory for the pointers of a `pl_kept`."""
        system, engine = self.engine.system, self.engine
        size = len(system.x0) + 2 * len(system.h0) + len(system.w0) + len(system.events)
        size += system.residual.numel() + len(system.rates) + len(engine.context.instants)
        values, logged = np.zeros(size + 1), np.zeros(1 + len(system.rates), dtype=np.int64)
        level.values, level.logged = b.pointer(values), b.pointer(logged)
        return values, logged

    # --- running ----------------------------------------------------------------------------------
    def advance(self, until: float, progress: Callable[[float], None] | None) -> None:
        """Advance to `until` [s], or until a unit or an event ends the run."""
        m = self._table
        m.phase, m.begins_iterated = 0, self.macro.begins_iterated
        m.horizon, self._message = until, ""
        if m.only_counts:
            self._read_held_samples()
        self._enter()
        try:
            couple = lambda runtime: int(runtime.pl_couple(m, until))
            self.engine.walk(couple, lambda reason: self._serve(reason, until), until, progress)
        finally:
            self._leave()
        if self._message:
            self.engine.context.stopped = self._message

    def _read_held_samples(self) -> None:
        """Let compiled code read samples at ticks in h, of rates where all of them are held there."""
        system = self.macro.coupled.system
        for rows, names in self.engine.samples:
            if rows.held is None:
                rows.stand_at(system.derived.get(("held", *names), partial(_held, system, names)))

    @property
    def can_run(self) -> bool:
        """Whether compiled code can call the units as they are now."""
        runs = self.macro.runs
        if self._instances != [run.unit for run in runs]:
            self._instances = [run.unit for run in runs]
            found = [u.calls(run) for u, run in zip(self.units, runs, strict=True)]
            self._callable = all(found)
            self._table.with_events = any(u.table.events for u in self.units)
            for u in self.units:
                if u.table.events:
                    u.table.events.now = b.ffi().addressof(self.engine.run.context, "t")
        exchange = self.macro.exchange
        tuned = any((exchange.parameters(k) != run.parameters).any() for k, run in enumerate(runs))
        return self._callable and not tuned

    def _enter(self) -> None:
        for unit, run in zip(self.units, self.macro.runs, strict=True):
            unit.enter(run)
        if self._control is not None:
            self._table.size = self._control.size

    def _leave(self) -> None:
        for k, (unit, run) in enumerate(zip(self.units, self.macro.runs, strict=True)):
            unit.leave(run)
            self.macro.log.add_rows(k, unit.take_rows())
        m, log = self._table, self.macro.log
        log.macro_steps += int(m.macro_steps)
        log.rounds += int(m.rounds)
        log.rejected += int(m.rejected)
        m.macro_steps = m.rounds = m.rejected = 0
        if self._control is not None:
            self._control.size = float(m.size)

    @staticmethod
    def possible(macro: MacroStep) -> bool:
        """Whether compiled code can return to the start of a step of our blocks, if that is needed."""
        needed = macro.coupling.order != "jacobi" or macro.coupling.rolls_back
        return not needed or _can_go_back(macro)

    def _visits(self) -> Any:
        """What answers external segments: units that are visited."""
        system, numbers = self.engine.system, {u.places.path: k for k, u in enumerate(self.units)}
        found = b.new("pl_foreign", max(1, len(system.schedule)))
        for row, segment in zip(found, system.schedule, strict=False):
            if segment.external is not None and segment.external.make is None:
                row.call = b.ffi().addressof(compiled(system).runtime, "pl_visit")
                row.self = self._units + numbers[segment.path]
        return found

    # --- what compiled code asks for --------------------------------------------------------------
    def _serve(self, reason: int, until: float) -> bool:
        """See `NativeEngine.walk`; `until` : where the run is to go [s]."""
        m, name = self._table, REASONS[reason - b.constant("PL_UNITS_HOST")]
        k = int(m.unit)
        unit, run = self.units[k], self.macro.runs[k]
        if name == "PL_UNITS_HOST":
            self._leave()
            ended = self._ends(self.by_hand(until))
            self._enter()
            return ended
        if name == "PL_UNITS_FULL":
            self.macro.log.add_rows(k, unit.renew_rows())
        elif name == "PL_UNITS_NOT_FINITE":
            self.macro.exchange.inputs(m.t1)  # says so
        elif name == "PL_UNITS_ENDED":
            return self._ended_by_unit()
        elif name == "PL_UNIT_VISIT":
            self._visit(unit, run)
        elif name == "PL_UNITS_LEFT":
            self._leave()
            why = next(r.standing.ended for r in self.macro.runs if r.standing.ended)
            return self._ends(self.macro.end(why))
        elif name == "PL_UNIT_GET":
            with naming_block(run.path):
                unit.arrays["fresh"][: unit.places.block.n_outputs] = run.unit.outputs()
            unit.table.has_fresh = 1
        else:
            with naming_block(run.path):
                self._step(unit, run, name == "PL_UNIT_STEPPED")
        return False

    def _step(self, unit: UnitTable, run: UnitRun, stepped: bool) -> None:
        """Finish a step that compiled code has begun, or make one that it requests."""
        t, a, n = unit.table, unit.arrays, unit.places.block.n_inputs
        called = cast("CalledUnit", run.unit)
        called.came_to(t.time)
        called.pause()
        if stepped:
            bent = bool(a["bend"][:n].any() or a["curve"][:n].any())
            reached = called.stepped(t.end, t.status, bent)
        else:
            h = t.end - t.time
            inputs = (a[name][:n].copy() for name in ("value", "bend", "curve"))
            reached = called.step(t.time, h, *inputs)
        t.reached = reached.time
        called.resume()
        if t.events:
            t.events.jumped = reached.jumped
        if reached.ended:
            t.ended = 1
            run.standing = replace(run.standing, ended=reached.ended)

    def _visit(self, unit: UnitTable, run: UnitRun) -> None:
        """Visit a unit in a tick of our own blocks."""
        following = unit.table.next
        unit.leave(run)
        self.engine.call(int(self.engine.run.index))
        unit.enter(run)
        unit.table.next = following

    def _ended_by_unit(self) -> bool:
        """A unit has ended the run: move our own blocks to its time, back if necessary."""
        m, macro = self._table, self.macro
        self._leave()
        ended = min((run.standing for run in macro.runs if run.standing.ended), key=lambda s: s.time)
        if m.newest and m.ours_done:
            there = m.kept[0]
            counts = self._levels[0][1].tolist()
            self.engine.back(m, (int(there.position), int(there.events), tuple(counts)))
        macro.approach(ended.time)
        return self._ends(macro.end(ended.ended))

    def _ends(self, message: str) -> bool:
        self._message = message
        return bool(message)


def _put_in_place(batches: Any, count: int, row: Any) -> None:
    """Avoid a copy of values that are the consecutive doubles of a row."""
    if count == 1 and batches[0].kind == b.constant("PL_FMU_DOUBLE"):
        batch = batches[0]
        if all(batch.places[k] == k for k in range(batch.total)):
            batch.kind, batch.values = b.constant("PL_FMU_IN_PLACE"), row


def _can_go_back(macro: MacroStep) -> bool:
    """Whether compiled code can restore all of our own blocks."""
    system, instances = macro.engine.system, macro.engine.instances
    units = {u.path for u in macro.coupled.units}
    others = set(instances.names) - units
    called = {s.path for s in system.schedule if s.external is not None}
    return not (system.delays or others or called - units)


def _outputs(coupled: CoupledSystem) -> int:
    return sum(u.block.n_outputs for u in coupled.units)


def _is_idle(system: System) -> bool:
    """Whether our own blocks are idle except at their ticks."""
    work = [len(system.x0), len(system.w0), len(system.events), len(system.delays), len(system.accepted[1])]
    return not any(work) and all(s.activation.number >= 0 for s in system.schedule)


def _wires(coupled: CoupledSystem) -> tuple[np.ndarray, np.ndarray] | None:
    """Where in h, or behind it in p, the inputs of all units are, and what is added; None if one is computed.

    Held outputs are curves without slope: y + 0 s. That is y, but for y = -0, which 0 is added to; adding -0
    changes nothing. A constant is at no place (-1), and all that is added.
    """
    system = coupled.system
    if coupled.coupling.extrapolation or system.w.numel():
        return None
    slopes = [np.concatenate([u.slope, u.curvature]) for u in coupled.units]
    zero = pick(system.h, np.concatenate([np.zeros(0, int), *slopes]))
    straight = ca.substitute(coupled.inputs, zero, ca.SX.zeros(zero.numel()))
    places = _places(ca.vertcat(system.h, system.p))
    found, adds = [], []
    for s, drawn in zip(ca.vertsplit(straight), ca.vertsplit(coupled.inputs), strict=True):
        place = places.get(s.element_hash(), -1)
        if place < 0 and not s.is_constant():
            return None
        found.append(place)
        adds.append(float(s) if place < 0 else -0.0 if drawn.element_hash() in places else 0.0)
    return (np.array(found, dtype=np.int32), np.array(adds)) if found else None


def _places(symbols: ca.SX) -> dict[int, int]:
    """The place of each scalar by its hash."""
    return {s.element_hash(): k for k, s in enumerate(ca.vertsplit(symbols))}


def _held(system: System, names: Sequence[str]) -> list[int]:
    """Where the numbers of some signals are in h, -1 for those that are not there."""
    places = system.derived.get("places in h", lambda: _places(system.h))
    scalars = [s for n in names for s in ca.vertsplit(system.signal(n).expression)]
    return [places.get(s.element_hash(), -1) for s in scalars]


def _only_counts(coupled: CoupledSystem) -> bool:
    """Whether idle blocks of ours only count ticks at the points of all units, read by no unit."""
    system, units = coupled.system, [u.block.ticks for u in coupled.units]
    rates = {(rate.offset, rate.period) for rate in [*system.rates, *units]}
    places = [(place.time, place.count, *place.since) for place in system.tick_slots]
    counts = [np.array(place, int) for place in places]
    return len(rates) == 1 and not (system.schedule or system.draws or coupled.follows(counts).any())


def _times(unit: UnitPlaces) -> tuple[Any, Any]:
    ticks = unit.block.ticks
    return ticks.offset, ticks.period
