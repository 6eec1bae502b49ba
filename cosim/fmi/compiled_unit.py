"""An FMU for model exchange called by compiled code: its functions, in turns with Python, and their memory.

What all instances of a block have in common is laid out once and copied for each: structures of the runtime
with pointers to each other, rows of numbers, and the functions of the binary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from cosim.engines.native import bindings
from cosim.fmi.compiled_calls import BatchPlan, batch_plan, entry, void
from cosim.fmi.interface.binding import Library
from cosim.fmi.interface.component import Component
from cosim.fmi.interface.dialect import Dialect, of_stop_time
from cosim.fmi.interface.working_folder import same_folder
from cosim.fmi.model_exchange import ModelExchangeUnit
from cosim.fmi.model_exchange_ports import OutputGroup, Ports

FUNCTIONS = {
    "enter_initialization": "EnterInitializationMode",
    "exit_initialization": "ExitInitializationMode",
    "set_time": "SetTime",
    "set_states": "SetContinuousStates",
    "get_states": "GetContinuousStates",
    "indicators": "GetEventIndicators",
    "completed": "CompletedIntegratorStep",
    "enter_event_mode": "EnterEventMode",
    "enter_continuous": "EnterContinuousTimeMode",
}
REFUSED = (
    "SetupExperiment",
    "EnterInitializationMode",
    "ExitInitializationMode",
    "",
    "EnterContinuousTimeMode",
)
"""What an FMU may refuse while it is initialised, in the order of numbers from 1 on (PL_REFUSED_SETUP)."""
BY_HOST, MAY, DONE, OTHERWISE = 0, 1, 2, 3  # PL_FMU_BY_HOST and so on: who initialises it


class CompiledUnit:
    """A unit as the structure `pl_fmu`; it lives as long as the unit.

    Python and compiled code take turns: before Python does something, `pause` says that the FMU may stand
    elsewhere than compiled code remembers; `resume` gives compiled code what it needs. As a context it does
    both.
    """

    def __init__(
        self, unit: ModelExchangeUnit, runtime: bindings.Library, interrupt: Callable[[BaseException], None]
    ) -> None:
        component = unit.component
        assert isinstance(component, Component)  # see `compiled_unit`
        self.unit, self._component = unit, component
        self._log = component.log
        self._interrupt: Callable[[BaseException], None] | None = interrupt
        self._block = block = _block_of(unit, component)
        self._memory, self.table, self._calls = block.copied(runtime)
        self.table.component = void(component.call.component)
        self._theirs = False  # is it compiled code's turn?
        self._initialise = runtime.pl_initialise_fmu
        self._left: Callable[[], None] | None = None  # what compiled code has left to Python of that

    def _row(self, name: str) -> np.ndarray:
        return self._block.row(self._memory, name)

    def initialise(self, call: bindings.Structure, row: Any) -> bool:
        """Initialise the FMU where a run begins with what it has by itself; False where Python goes on.

        call : that asks; row : of numbers, see `pl_fmu_call`
        """
        if self.table.initialised != MAY:
            return False
        with same_folder():
            return not self._initialise(call, self.function("EVENT"), row)

    def pause(self) -> None:
        """Prepare for calls of the FMU from Python."""
        t, unit, self._log.interrupt = self.table, self.unit, None
        if self._theirs:
            unit.remain(bool(t.stays), self._row("x"))
        self._theirs = False
        unit.in_event, t.in_event = unit.in_event or bool(t.in_event), 0
        unit.begun = unit.begun or bool(t.begun)
        unit.steps_asked = max(unit.steps_asked, t.asked)
        unit.terminated = unit.terminated or bool(t.terminated)
        unit.stands_from, unit.next, unit.reached = t.stands_from, t.next, t.reached
        if t.initialised > MAY:
            self._take_over()
        t.t, t.set_by, t.ready, t.stays = np.nan, bindings.ffi().NULL, 0, 0

    def _take_over(self) -> None:
        """What compiled code has done to initialise the FMU."""
        t, unit = self.table, self.unit
        how, t.initialised = t.initialised, BY_HOST
        if how in (DONE, OTHERWISE):
            states = unit.start_states if how == DONE else self._row("x")
            unit.was_initialised(states.copy(), self._row("inputs").copy())
            self._left = None if how == DONE else unit.check_states
        else:
            self._left = partial(self._refusal, t.refused, t.status) if t.refused else self._component.reset

    def _refusal(self, number: int, status: int) -> None:
        """Raise the error about a call that the FMU has refused while it was initialised."""
        component, unit = self._component, self.unit
        component.call.time = unit.stands_from
        name = REFUSED[number - 1] or component.dialect.update
        hint = of_stop_time(unit.stop_time) if name == component.dialect.told_stop else None
        raise component.call.failed(name, status, hint=hint)

    def resume(self) -> None:
        """Resume after calls of the FMU from Python."""
        t, unit, self._log.interrupt = self.table, self.unit, self._interrupt
        t.begun = unit.begun
        t.ready = (unit.begun or unit.stands_as_found) and not unit.terminated
        t.asked, t.terminated = unit.steps_asked, unit.terminated
        t.stands_from, t.next, t.reached = unit.stands_from, unit.next, unit.reached
        if unit.initialised:
            t.initialised = BY_HOST
            self._row("p")[:] = unit.given
            self._row("inputs")[:] = unit.inputs_given
        self._theirs = True
        if unit.stays:
            t.stays, t.t = 2 if unit.starting else 1, unit.stands_from
            self._row("x")[:] = unit.states

    def close(self) -> None:
        """The last turn is Python's."""
        self.pause()
        self._interrupt = None  # of a run, which keeps this

    def __enter__(self) -> None:
        """Python's turn."""
        self.pause()
        if self._left is not None:
            left, self._left = self._left, None
            left()

    def __exit__(self, *problem: object) -> None:
        self.resume()

    def forget(self) -> None:
        """Forget the newest event: the FMU went back, and may have it again with the same argument."""
        numbers = self._row("numbers")
        for event, inputs in self._block.rows:
            numbers[event:inputs] = np.nan

    def function(self, what: str, group: int = 0) -> Any:
        """The structure `pl_fmu_call` of one function; None for a type that compiled code cannot pass.

        what : "DERIVATIVES", "INDICATORS", "OUTPUTS" of a group, "EVENT" or "COMPLETED"
        """
        at = self._block.calls.get((what, group))
        return None if at is None else self._calls + at


@dataclass(frozen=True)
class UnitBlock:
    """A `pl_fmu` and all that is of its instance, in one piece of memory that is copied for each.

    made : doubles; moved : (n,) places [bytes] of pointers into it
    first : where the functions are [bytes]; calls : their numbers, by what they are and group
    named : where rows of numbers are, their lengths
    rows : places in "numbers" of the newest event of each function, and of its inputs
    kept : what pointers out of it need
    """

    made: Any
    moved: np.ndarray
    first: int
    calls: Mapping[tuple[str, int], int]
    named: Mapping[str, tuple[int, int]]
    rows: tuple[tuple[int, int], ...]
    kept: tuple[Any, ...]

    def copied(self, runtime: bindings.Library) -> tuple[Any, bindings.Structure, bindings.Structure]:
        """The memory of an instance, its `pl_fmu`, and its array of `pl_fmu_call`."""
        size = len(self.made)
        memory = bindings.ffi().new("double[]", size)
        runtime.pl_copy_block(memory, self.made, size, bindings.pointer(self.moved), len(self.moved))
        return memory, bindings.at("pl_fmu", memory, 0), bindings.at("pl_fmu_call", memory, self.first)

    def row(self, memory: Any, name: str) -> np.ndarray:
        """Numbers of an instance."""
        at, length = self.named[name]
        return bindings.numbers(memory + at // 8, length)


class _Layout:
    """What a block consists of, one after the other, and which pointers lead from one to another."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, Any, int]] = []
        self._pointers: list[tuple[int, int]] = []
        self._size = 0

    def add(self, given: Any, size: int) -> int:
        """Some bytes of C, or so many zeros for None; returns where they are."""
        at = self._size
        self._parts.append((at, given, size))
        self._size += 8 * -(-size // 8)
        return at

    def put(self, at: int, given: Any, size: int) -> None:
        """Some bytes of C at a place that is there."""
        self._parts.append((at, given, size))

    def point(self, at: int, structure: str, field: str, to: int) -> None:
        """A field of a structure is a pointer to another place."""
        self._pointers.append((at + bindings.offset(structure, field), to))

    def made(self) -> tuple[Any, np.ndarray]:
        """The whole in doubles, and the places of pointers in it."""
        f = bindings.ffi()
        found = f.new("double[]", self._size // 8)
        base = f.cast("char *", found)
        for at, given, size in self._parts:
            if given is not None:
                f.memmove(base + at, given, size)
        for at, to in self._pointers:
            f.cast("char **", base + at)[0] = base + to
        return found, np.array([at for at, _ in self._pointers], dtype=np.int32)


def _block_of(unit: ModelExchangeUnit, component: Component) -> UnitBlock:
    """The block of a unit, for all instances of one binary; another block of a diagram has other ports."""
    library, ports = component.call.library, unit.ports
    made: tuple[Ports, UnitBlock] = library.derived.get(
        ("block", id(ports)), lambda: (ports, _laid_out(unit, component, library))
    )
    return made[1]  # the ports with it: no others have their id


def _laid_out(unit: ModelExchangeUnit, component: Component, library: Library) -> UnitBlock:
    ports, layout, plan = unit.ports, _Layout(), _calls_plan(component.dialect, unit.ports)
    whole = layout.add(_table(unit, component), bindings.size("pl_fmu"))
    at, kept = dict[tuple[str, int], int](), list[Any]([unit.start_states])
    rows = {"x": np.full(ports.nx, np.nan), "p": unit.given, "inputs": unit.inputs_given}
    fields = {"x": "x", "p": "p", "inputs": "inputs_given"}
    named = {}
    for name, row in (rows | {"numbers": plan.numbers}).items():
        place = layout.add(bindings.pointer(np.append(row, 0.0)), 8 * len(row) + 8)
        named[name] = place, len(row)
        if name in fields:
            layout.point(whole, "pl_fmu", fields[name], place)
    size = bindings.size("pl_fmu_call")
    first = layout.add(None, size * len(plan.tables))
    for (key, table), (event, inputs) in zip(plan.tables.items(), plan.rows, strict=True):
        place = first + size * len(at)
        at[key] = len(at)
        layout.put(place, table, size)
        layout.point(place, "pl_fmu_call", "fmu", whole)
        layout.point(place, "pl_fmu_call", "event", named["numbers"][0] + 8 * event)
        layout.point(place, "pl_fmu_call", "inputs_set", named["numbers"][0] + 8 * inputs)
        for name, batches in plan.batches[key]:
            layout.point(place, "pl_fmu_call", name, _add_batches(layout, component, batches))
            kept.append(batches)
    made, moved = layout.made()
    return UnitBlock(made, moved, first, at, named, plan.rows, tuple(kept))


def _add_batches(layout: _Layout, component: Component, plan: BatchPlan) -> int:
    """Batches with the functions of the binary, and rooms for their values; returns where they are."""
    one, kept = bindings.size("pl_fmu_batch"), list[Any]()
    rows = plan.of(component.call, kept)
    at = layout.add(rows, one * len(plan.calls))
    for k, (_, room) in enumerate(plan.calls):
        layout.point(at + one * k, "pl_fmu_batch", "values", layout.add(None, 8 * room))
    return at


def _table(unit: ModelExchangeUnit, component: Component) -> Any:
    """`pl_fmu` as far as all instances have it in common."""
    table, dialect, ports = bindings.new("pl_fmu"), component.dialect, unit.ports
    table.version, table.t = component.description.major, np.nan
    table.nx, table.np, table.nz = ports.sizes
    table.nu, table.clock = ports.nu, unit.clock.start
    table.stop = np.nan if unit.stop_time is None else unit.stop_time
    table.start = bindings.pointer(unit.start_states)
    table.initialised = MAY if unit.begins_plainly else BY_HOST
    names = FUNCTIONS | {"derivatives": dialect.derivatives, "update": dialect.update}
    unused = set() if ports.nx else {"set_states", "get_states", "derivatives"}
    unused |= set() if ports.n_indicators else {"indicators"}
    unused |= set() if component.interface.needs_completed_step else {"completed"}
    if dialect.told_stop not in names.values():
        names["setup"] = dialect.told_stop
    for field, name in names.items():
        if field not in unused:
            setattr(table, field, entry(component.call, name))
    return table


@dataclass(frozen=True)
class CallsPlan:
    """The functions of an FMU for model exchange, by what they are and group.

    tables : `pl_fmu_call` without pointers; batches : what each exchanges, by names of fields
    numbers : the row of the newest event of each, nan as there was none; behind it its inputs
    rows : where these two begin
    """

    tables: Mapping[tuple[str, int], Any]
    batches: Mapping[tuple[str, int], list[tuple[str, BatchPlan]]]
    numbers: np.ndarray
    rows: tuple[tuple[int, int], ...]


def _calls_plan(dialect: Dialect, ports: Ports) -> CallsPlan:
    whole = OutputGroup((), tuple(range(len(ports.inputs))))
    named = {(what, 0): whole for what in ("DERIVATIVES", "INDICATORS", "EVENT", "COMPLETED")}
    named |= {("OUTPUTS", k): group for k, group in enumerate(ports.groups)}
    tables: dict[tuple[str, int], Any] = {}
    batches: dict[tuple[str, int], list[tuple[str, BatchPlan]]] = {}
    numbers, rows, at = [np.zeros(0)], [], 0
    for key, group in named.items():
        table = bindings.new("pl_fmu_call")
        found = _batches_of(dialect, ports, key[0], group, table)
        if found is None:
            continue
        tables[key], batches[key] = table, found
        row, width = table.results + ports.nx + 2, table.width + 1
        numbers += [np.full(row, np.nan), np.zeros(width)]
        rows.append((at, at + row))
        at += row + width
    return CallsPlan(tables, batches, np.concatenate(numbers), tuple(rows))


def _batches_of(
    dialect: Dialect, ports: Ports, what: str, group: OutputGroup, table: Any
) -> list[tuple[str, BatchPlan]] | None:
    """What a function exchanges, by names of fields, with its `pl_fmu_call`; None for other types."""
    inputs, outputs = tuple(ports.inputs[k] for k in group.inputs), group.variables
    width = sum(v.size for v in inputs)
    table.width, table.what = width, bindings.constant(f"PL_FMU_{what}")
    table.parameters = 1 + ports.nx + width
    table.request = table.parameters + ports.np + 1
    table.results = table.request + 1 if what == "EVENT" else table.request - 1
    first = 1 + ports.nx
    exchanged = (
        ("inputs", "Set", [v for v in ports.set_ones(inputs) if v.continuous], inputs, first),
        ("all", "Set", ports.set_ones(inputs) if what == "EVENT" else (), inputs, first),
        ("outputs", "Get", outputs, outputs, 0),
    )
    found = []
    for name, verb, some, every, start in exchanged:
        if not some:
            continue
        plan = batch_plan(dialect, verb, some, every, start)
        if plan is None:
            return None
        setattr(table, f"n_{name}", len(plan.calls))
        found.append((name, plan))
    return found


def compiled_unit(
    unit: ModelExchangeUnit, runtime: bindings.Library, interrupt: Callable[[BaseException], None]
) -> CompiledUnit | None:
    """The compiled calls of a unit; None if it is called through another tool; see `PythonCall`."""
    if not isinstance(unit.component, Component):
        return None
    if unit.compiled is None:
        unit.compiled = CompiledUnit(unit, runtime, interrupt)
        unit.compiled.resume()
    found: CompiledUnit = unit.compiled
    return found
