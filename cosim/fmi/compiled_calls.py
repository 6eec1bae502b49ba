"""An FMU for model exchange called by compiled code: pointers to functions, buffers, places of numbers."""

from __future__ import annotations

from collections.abc import Sequence
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

    def __init__(self, unit: ModelExchangeUnit) -> None:
        ports, component = unit.ports, unit.component
        assert isinstance(component, Component)  # see `compiled_unit`
        plan: UnitPlan = ports.derived.get("unit", partial(_unit_plan, component, ports))
        self.unit, self._component, call = unit, component, component.call
        self.table = t = bindings.ffi().new("pl_fmu *", plan.table[0])
        t.component, t.clock = void(call.component), unit.clock.start
        for field, name in plan.functions:
            setattr(t, field, entry(call, name))
        self._x, self._p = plan.unknown.copy(), np.zeros(ports.np + 1)
        t.x, t.p = bindings.pointer(self._x), bindings.pointer(self._p)
        self._kept: list[Any] = []
        self._functions: dict[tuple[str, int], Any] = {}
        self._theirs = False  # is it compiled code's turn?
        self._newest: list[np.ndarray] = []  # of every function: argument and results of its newest event

    def pause(self) -> None:
        """Prepare for calls of the FMU from Python."""
        t = self.table
        if self._theirs:
            self.unit.remain(bool(t.stays), self._x[: self.unit.ports.nx])
        self._theirs = False
        t.t, t.set_by, t.ready, t.stays = np.nan, bindings.ffi().NULL, 0, 0
        self.unit.in_event, t.in_event = self.unit.in_event or bool(t.in_event), 0
        self.unit.steps_asked = max(self.unit.steps_asked, int(t.asked))
        self.unit.terminated = self.unit.terminated or bool(t.terminated)
        self.unit.stands_from, self.unit.next = float(t.stands_from), float(t.next)

    def resume(self) -> None:
        """Resume after calls of the FMU from Python."""
        t, unit = self.table, self.unit
        t.begun = unit.begun
        t.ready = (unit.begun or unit.stands_as_found) and not unit.terminated
        t.asked, t.terminated = unit.steps_asked, unit.terminated
        t.stands_from, t.next = unit.stands_from, unit.next
        self._p[: unit.ports.np] = unit.given
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
        for event in self._newest:
            event[:] = np.nan

    def function(self, what: str, group: int = 0) -> Any:
        """The structure `pl_fmu_call` of one function; None for a type that compiled code cannot pass.

        what : "DERIVATIVES", "INDICATORS", "OUTPUTS" of a group, "EVENT" or "COMPLETED"
        """
        key = what, group
        if key not in self._functions:
            self._functions[key] = self._function(what, group)
        return self._functions[key]

    def _function(self, what: str, group: int) -> Any:
        ports, call = self.unit.ports, self._component.call
        make = partial(_call_plan, self._component.dialect, ports, what, group)
        plan: CallPlan | None = ports.derived.get((what, group), make)
        if plan is None:
            return None
        made, numbers = bindings.ffi().new("pl_fmu_call *", plan.table[0]), plan.numbers.copy()
        made.fmu, made.event = self.table, bindings.pointer(numbers)
        made.inputs_set = made.event + plan.row
        for name, batches in plan.batches:
            setattr(made, name, batches.of(call, self._kept))
        self._newest.append(numbers[: plan.row])
        self._kept += [made, numbers]
        return made


@dataclass(frozen=True)
class UnitPlan:
    """What `CompiledUnit` needs of an FMU as far as all its instances have it in common.

    table : `pl_fmu` without pointers; functions : its fields that are some, with their names in the standard
    unknown : states that nobody has set, nan
    """

    table: Any
    functions: tuple[tuple[str, str], ...]
    unknown: np.ndarray


def _unit_plan(component: Component, ports: Ports) -> UnitPlan:
    table, dialect = bindings.new("pl_fmu"), component.dialect
    table.version, table.t = component.description.major, np.nan
    table.nx, table.np, table.nz = ports.nx, ports.np, ports.n_indicators
    names = FUNCTIONS | {"derivatives": dialect.derivatives, "update": dialect.update}
    unused = set() if ports.nx else {"set_states", "get_states", "derivatives"}
    unused |= set() if ports.n_indicators else {"indicators"}
    unused |= set() if component.interface.needs_completed_step else {"completed"}
    functions = tuple((field, name) for field, name in names.items() if field not in unused)
    return UnitPlan(table, functions, np.full(ports.nx + 1, np.nan))


@dataclass(frozen=True)
class CallPlan:
    """A function of an FMU for model exchange as far as all its instances have it in common.

    table : `pl_fmu_call` without pointers; batches : what is exchanged, by names of its fields
    numbers : the row of its newest event, of this length, nan as there was none; behind it the inputs
    """

    table: Any
    batches: tuple[tuple[str, BatchPlan], ...]
    numbers: np.ndarray
    row: int


def _call_plan(dialect: Dialect, ports: Ports, what: str, group: int) -> CallPlan | None:
    of_group = ports.groups[group] if what == "OUTPUTS" else OutputGroup((), tuple(range(len(ports.inputs))))
    inputs, outputs = tuple(ports.inputs[k] for k in of_group.inputs), of_group.variables
    table, width = bindings.new("pl_fmu_call"), sum(v.size for v in inputs)
    table.width, table.what = width, bindings.constant(f"PL_FMU_{what}")
    table.parameters = 1 + ports.nx + width
    table.request = table.parameters + ports.np + 1
    table.results = table.request + 1 if what == "EVENT" else table.request - 1
    first = 1 + ports.nx
    groups = (
        ("inputs", "Set", [v for v in ports.set_ones(inputs) if v.continuous], inputs, first),
        ("all", "Set", ports.set_ones(inputs) if what == "EVENT" else (), inputs, first),
        ("outputs", "Get", outputs, outputs, 0),
    )
    found = []
    for name, verb, some, every, start in groups:
        if not some:
            continue
        batches = _batch_plan(dialect, verb, some, every, start)
        if batches is None:
            return None
        setattr(table, f"n_{name}", len(batches.calls))
        found.append((name, batches))
    row = table.results + ports.nx + 2
    numbers = np.concatenate([np.full(row, np.nan), np.zeros(width + 1)])
    return CallPlan(table, tuple(found), numbers, row)


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


def compiled_unit(unit: ModelExchangeUnit) -> CompiledUnit | None:
    """The compiled calls of a unit; None if it is called through another tool."""
    if not isinstance(unit.component, Component):
        return None
    if unit.compiled is None:
        unit.compiled = CompiledUnit(unit)
        unit.compiled.resume()
    found: CompiledUnit = unit.compiled
    return found


def entry(call: Caller, name: str) -> Any:
    """A function of the FMU by its name, for a field of the runtime's."""
    return bindings.ffi().cast("void *", call.address(name))


def void(pointer: Any) -> Any:
    """A pointer or function of the FMU, cast to the types of the runtime."""
    return bindings.ffi().cast("void *", int(ffi().cast("uintptr_t", pointer)))
