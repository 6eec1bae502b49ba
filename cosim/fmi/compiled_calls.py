"""An FMU for model exchange called by compiled code: pointers to functions, buffers, places of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from cosim.engines.native import bindings
from cosim.fmi.description import Variable
from cosim.fmi.interface.binding import ffi
from cosim.fmi.interface.caller import Caller
from cosim.fmi.interface.component import Component
from cosim.fmi.interface.dialect import Dialect
from cosim.fmi.interface.exchange import grouped
from cosim.fmi.model_exchange import ModelExchangeUnit
from cosim.fmi.model_exchange_ports import OutputGroup, Ports

KINDS = {
    "double": "DOUBLE",
    "float": "FLOAT",
    "int": "INT",
    "int32_t": "INT",
    "bool": "BOOL",
    "int8_t": "INT8",
    "uint8_t": "UINT8",
    "int16_t": "INT16",
    "uint16_t": "UINT16",
    "uint32_t": "UINT32",
    "int64_t": "INT64",
    "uint64_t": "UINT64",
}
FUNCTIONS = {
    "set_time": "SetTime",
    "set_states": "SetContinuousStates",
    "get_states": "GetContinuousStates",
    "indicators": "GetEventIndicators",
    "completed": "CompletedIntegratorStep",
    "enter_event_mode": "EnterEventMode",
    "enter_continuous": "EnterContinuousTimeMode",
}


class CompiledUnit:
    """A unit as the structure `pl_fmu`; it lives as long as the unit.

    Python and compiled code take turns: before Python does something, `pause` says that the FMU may stand
    elsewhere than compiled code remembers; `resume` gives compiled code what it needs. As a context it does
    both.
    """

    def __init__(self, unit: ModelExchangeUnit, interrupt: Callable[[BaseException], None]) -> None:
        ports, component = unit.ports, unit.component
        assert isinstance(component, Component)  # see `compiled_unit`
        self.unit, call, self._log, self._interrupt = unit, component.call, component.log, interrupt
        table = call.library.derived.get(ports.sizes, partial(_unit_table, component, ports))
        self.table = t = bindings.ffi().new("pl_fmu *", table[0])
        t.component, t.clock = void(call.component), unit.clock.start
        self._x, self._p = np.full(ports.nx + 1, np.nan), np.zeros(ports.np + 1)
        t.x, t.p = bindings.pointer(self._x), bindings.pointer(self._p)
        self._inputs = np.zeros(ports.nu + 1)
        t.start, t.inputs_given = bindings.pointer(unit.start_states), bindings.pointer(self._inputs)
        self._kept: list[Any] = []
        self._plan: CallsPlan = ports.derived.get("calls", partial(_calls_plan, component, ports))
        self._numbers, self._calls = self._plan.numbers.copy(), self._plan.of(call, self._kept)
        numbers = bindings.pointer(self._numbers)
        for made, (event, inputs) in zip(self._calls, self._plan.rows, strict=True):
            made.fmu, made.event, made.inputs_set = t, numbers + event, numbers + inputs
        self._theirs = False  # is it compiled code's turn?

    def pause(self) -> None:
        """Prepare for calls of the FMU from Python."""
        t, unit, self._log.interrupt = self.table, self.unit, None
        if self._theirs:
            unit.remain(bool(t.stays), self._x[: unit.ports.nx])
        self._theirs = False
        t.t, t.set_by, t.ready, t.stays = np.nan, bindings.ffi().NULL, 0, 0
        unit.in_event, t.in_event = unit.in_event or bool(t.in_event), 0
        unit.begun = unit.begun or bool(t.begun)
        unit.steps_asked = max(unit.steps_asked, t.asked)
        unit.terminated = unit.terminated or bool(t.terminated)
        unit.stands_from, unit.next = t.stands_from, t.next

    def resume(self) -> None:
        """Resume after calls of the FMU from Python."""
        t, unit, self._log.interrupt = self.table, self.unit, self._interrupt
        t.begun = unit.begun
        t.ready = (unit.begun or unit.stands_as_found) and not unit.terminated
        t.asked, t.terminated = unit.steps_asked, unit.terminated
        t.stands_from, t.next = unit.stands_from, unit.next
        self._p[: unit.ports.np] = unit.given
        self._inputs[: unit.ports.nu] = unit.inputs_given
        self._theirs = True
        if unit.stays:
            t.stays, t.t = 2 if unit.starting else 1, unit.stands_from
            self._x[: unit.ports.nx] = unit.states

    def __enter__(self) -> None:
        """Python's turn."""
        self.pause()

    def __exit__(self, *problem: object) -> None:
        self.resume()

    def forget(self) -> None:
        """Forget the newest event: the FMU went back, and may have it again with the same argument."""
        for event, inputs in self._plan.rows:
            self._numbers[event:inputs] = np.nan

    def function(self, what: str, group: int = 0) -> Any:
        """The structure `pl_fmu_call` of one function; None for a type that compiled code cannot pass.

        what : "DERIVATIVES", "INDICATORS", "OUTPUTS" of a group, "EVENT" or "COMPLETED"
        """
        place = self._plan.places.get((what, group))
        return None if place is None else self._calls + place


def _unit_table(component: Component, ports: Ports) -> Any:
    """`pl_fmu` as far as all instances of a binary have it in common."""
    table, dialect = bindings.new("pl_fmu"), component.dialect
    table.version, table.t = component.description.major, np.nan
    table.nx, table.np, table.nz = ports.sizes
    names = FUNCTIONS | {"derivatives": dialect.derivatives, "update": dialect.update}
    unused = set() if ports.nx else {"set_states", "get_states", "derivatives"}
    unused |= set() if ports.n_indicators else {"indicators"}
    unused |= set() if component.interface.needs_completed_step else {"completed"}
    for field, name in names.items():
        if field not in unused:
            setattr(table, field, entry(component.call, name))
    return table


@dataclass(frozen=True)
class CallsPlan:
    """The functions of an FMU for model exchange as far as all its instances have them in common.

    tables : array of `pl_fmu_call` without pointers; places : of functions in it, by what they are and group
    batches : what is exchanged, by places of functions and names of fields
    numbers : the row of the newest event of each, nan as there was none; behind it its inputs
    rows : where these two begin
    """

    tables: Any
    places: Mapping[tuple[str, int], int]
    batches: tuple[tuple[int, str, BatchPlan], ...]
    numbers: np.ndarray
    rows: tuple[tuple[int, int], ...]

    def of(self, call: Caller, kept: list[Any]) -> Any:
        """The functions of an instance; `kept` takes what must live as long as they."""
        n = len(self.rows)
        found = bindings.new("pl_fmu_call", n)
        bindings.ffi().memmove(found, self.tables, n * bindings.size("pl_fmu_call"))
        for place, name, batches in self.batches:
            setattr(found[place], name, batches.of(call, kept))
        return found


def _calls_plan(component: Component, ports: Ports) -> CallsPlan:
    whole = OutputGroup((), tuple(range(len(ports.inputs))))
    named = {(what, 0): whole for what in ("DERIVATIVES", "INDICATORS", "EVENT", "COMPLETED")}
    named |= {("OUTPUTS", k): group for k, group in enumerate(ports.groups)}
    tables = bindings.new("pl_fmu_call", len(named))
    places: dict[tuple[str, int], int] = {}
    batches: list[tuple[int, str, BatchPlan]] = []
    numbers, rows, at = [np.zeros(0)], [], 0
    for key, group in named.items():
        table, place = bindings.new("pl_fmu_call"), len(places)
        found = _batches_of(component.dialect, ports, key[0], group, table)
        if found is None:
            continue
        places[key], tables[place] = place, table[0]
        batches += [(place, name, plan) for name, plan in found]
        row, width = table.results + ports.nx + 2, table.width + 1
        numbers += [np.full(row, np.nan), np.zeros(width)]
        rows.append((at, at + row))
        at += row + width
    return CallsPlan(tables, places, tuple(batches), np.concatenate(numbers), tuple(rows))


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
        plan = _batch_plan(dialect, verb, some, every, start)
        if plan is None:
            return None
        setattr(table, f"n_{name}", len(plan.calls))
        found.append((name, plan))
    return found


@dataclass(frozen=True)
class BatchPlan:
    """Batches of some variables of an FMU as far as all its instances have them in common.

    rows : array of `pl_fmu_batch` without the function and the room of values
    calls : of each batch the name of its function, and its room as a number of doubles
    kept : what must live as long as the rows
    """

    rows: Any
    calls: tuple[tuple[str, int], ...]
    kept: tuple[Any, ...]

    def of(self, call: Caller, kept: list[Any]) -> Any:
        """The batches of an instance; `kept` takes what must live as long as they."""
        f, n = bindings.ffi(), len(self.calls)
        found = bindings.new("pl_fmu_batch", n)
        f.memmove(found, self.rows, n * bindings.size("pl_fmu_batch"))
        for row, (name, room) in zip(found, self.calls, strict=True):
            values = f.new("double[]", room)
            row.function, row.values = entry(call, name), values
            kept.append(values)
        kept.append(found)
        return found


def batches(
    component: Component,
    verb: str,
    some: Sequence[Variable],
    every: Sequence[Variable],
    first: int,
    kept: list[Any],
) -> Any:
    """An array of `pl_fmu_batch` that sets or gets some variables; None for a type compiled code cannot pass.

    every : variables whose scalars are one after the other in a row from `first` on, the some among them
    kept : takes what must live as long as the array
    """
    key = verb, first, tuple(v.name for v in some), tuple(v.name for v in every)
    make = partial(_batch_plan, component.dialect, verb, some, every, first)
    plan: BatchPlan | None = component.description.derived.get(key, make)
    return None if plan is None else plan.of(component.call, kept)


def _batch_plan(
    dialect: Dialect, verb: str, some: Sequence[Variable], every: Sequence[Variable], first: int
) -> BatchPlan | None:
    starts = dict(zip([v.name for v in every], np.cumsum([0, *(v.size for v in every)]), strict=False))
    groups = [members for members, _ in grouped([v for v in some if v.size])]
    rows = bindings.new("pl_fmu_batch", len(groups))
    calls, kept = [], []
    for row, members in zip(rows, groups, strict=True):
        word, ctype, dtype = dialect.types[members[0].type]
        kind = KINDS.get(ctype)
        if kind is None:
            return None
        if members[0].type == "Boolean" and ctype == "int":
            kind = "INT_BOOL"
        places = np.concatenate([first + starts[v.name] + np.arange(v.size) for v in members])
        references = np.array([v.reference for v in members], dtype=np.uint32)
        places = places.astype(np.int32)
        row.n, row.total, row.kind = len(members), len(places), bindings.constant(f"PL_FMU_{kind}")
        row.references = bindings.ffi().from_buffer("uint32_t[]", references)
        row.places = bindings.pointer(places)
        kept += [references, places, *_items(row, members)]
        calls.append((verb + word, 1 + len(places) * np.dtype(dtype).itemsize // 8))
    return BatchPlan(rows, tuple(calls), tuple(kept))


def _items(row: Any, members: Sequence[Variable]) -> list[np.ndarray]:
    """The allowed values in a batch with enumerations; returns arrays that must outlive it."""
    if not any(v.items for v in members):
        return []
    of_each = [list(v.items) for v in members for _ in range(v.size)]
    items = np.array([number for numbers in of_each for number in numbers], dtype=float)
    begins = np.cumsum([0, *map(len, of_each)]).astype(np.int32)
    row.items, row.items_from = bindings.pointer(items), bindings.pointer(begins)
    return [items, begins]


def compiled_unit(unit: ModelExchangeUnit, interrupt: Callable[[BaseException], None]) -> CompiledUnit | None:
    """The compiled calls of a unit; None if it is called through another tool; see `PythonCall`."""
    if not isinstance(unit.component, Component):
        return None
    if unit.compiled is None:
        unit.compiled = CompiledUnit(unit, interrupt)
        unit.compiled.resume()
    found: CompiledUnit = unit.compiled
    return found


def entry(call: Caller, name: str) -> Any:
    """A function of the FMU by its name, for a field of the runtime's."""
    return call.library.derived.get(name, lambda: bindings.ffi().cast("void *", call.address(name)))


def void(pointer: Any) -> Any:
    """A pointer or function of the FMU, cast to the types of the runtime."""
    return bindings.ffi().cast("void *", int(ffi().cast("uintptr_t", pointer)))
