"""An FMU for model exchange called by compiled code: pointers to functions, buffers, places of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cosim.engines.native import bindings
from cosim.fmi.description import Variable
from cosim.fmi.interface.binding import ffi
from cosim.fmi.interface.component import Component
from cosim.fmi.interface.exchange import ValueBatch, grouped
from cosim.fmi.model_exchange import ModelExchangeUnit

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
    elsewhere than compiled code remembers; `resume` gives compiled code what it needs.
    """

    def __init__(self, unit: ModelExchangeUnit) -> None:
        self.unit, self.table = unit, bindings.new("pl_fmu")
        ports, component = unit.ports, unit.component
        assert isinstance(component, Component)  # see `compiled_unit`
        self._component = component
        dialect, call = component.dialect, component.call
        t = self.table
        t.version = component.description.major
        t.component = void(call.component)
        t.clock = unit.clock.start
        t.nx, t.np, t.nz = ports.nx, ports.np, ports.n_indicators
        names = FUNCTIONS | {"derivatives": dialect.derivatives, "update": dialect.update}
        unused = set() if ports.nx else {"set_states", "get_states", "derivatives"}
        unused |= set() if ports.n_indicators else {"indicators"}
        unused |= set() if component.interface.needs_completed_step else {"completed"}
        for field, name in names.items():
            if field not in unused:
                setattr(t, field, void(call.function(name)))
        self._x, self._p = np.full(ports.nx + 1, np.nan), np.zeros(ports.np + 1)
        t.x, t.p, t.t = bindings.pointer(self._x), bindings.pointer(self._p), np.nan
        self._kept: list[Any] = []
        self._functions: dict[tuple[str, ...], Any] = {}
        self._newest: list[np.ndarray] = []  # of every function: argument and results of its newest event

    def pause(self) -> None:
        """Prepare for calls of the FMU from Python."""
        t = self.table
        t.t, t.set_by, t.ready = np.nan, bindings.ffi().NULL, 0
        self.unit.in_event, t.in_event = self.unit.in_event or bool(t.in_event), 0
        self.unit.steps_asked = max(self.unit.steps_asked, int(t.asked))
        self.unit.terminated = self.unit.terminated or bool(t.terminated)
        self.unit.stands_from, self.unit.next = float(t.stands_from), float(t.next)

    def resume(self) -> None:
        """Resume after calls of the FMU from Python."""
        t, unit = self.table, self.unit
        t.ready = unit.begun and not unit.terminated
        t.asked, t.terminated = unit.steps_asked, unit.terminated
        t.stands_from, t.next = unit.stands_from, unit.next
        self._p[: unit.ports.np] = unit.given

    def forget(self) -> None:
        """Forget the newest event: the FMU went back, and may have it again with the same argument."""
        for event in self._newest:
            event[:] = np.nan

    def function(self, what: str, inputs: Sequence[Variable], outputs: Sequence[Variable] = ()) -> Any:
        """The structure `pl_fmu_call` of one function; None for a type that compiled code cannot pass.

        what : "DERIVATIVES", "INDICATORS", "OUTPUTS", "EVENT" or "COMPLETED"
        """
        key = (what, *(v.name for v in outputs))
        if key not in self._functions:
            self._functions[key] = self._function(what, inputs, outputs)
        return self._functions[key]

    def _function(self, what: str, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> Any:
        ports = self.unit.ports
        width = sum(v.size for v in inputs)
        made = bindings.new("pl_fmu_call")
        made.fmu, made.width = self.table, width
        made.what = bindings.constant(f"PL_FMU_{what}")
        made.parameters = 1 + ports.nx + width
        made.request = made.parameters + ports.np + 1
        made.results = made.request + 1 if what == "EVENT" else made.request - 1
        asked = np.full(made.results + ports.nx + 2, np.nan)
        made.event = bindings.pointer(asked)
        self._newest.append(asked)
        newest = np.zeros(width + 1)
        made.inputs_set = bindings.pointer(newest)
        first = 1 + ports.nx
        groups = (
            ("inputs", "Set", [v for v in inputs if v.continuous], inputs, first),
            ("all", "Set", inputs if what == "EVENT" else (), inputs, first),
            ("outputs", "Get", outputs, outputs, 0),
        )
        for name, verb, some, every, start in groups:
            if not some:
                continue
            batches = self._batches(verb, some, every, start)
            if batches is None:
                return None
            setattr(made, name, batches)
            setattr(made, f"n_{name}", len(batches))
        self._kept += [made, newest, asked]
        return made

    def _batches(self, verb: str, some: Sequence[Variable], every: Sequence[Variable], first: int = 0) -> Any:
        return batches(self._component, verb, some, every, first, self._kept)


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
    starts = dict(zip([v.name for v in every], np.cumsum([0, *(v.size for v in every)]), strict=False))
    groups = [members for members, _ in grouped([v for v in some if v.size])]
    found = bindings.new("pl_fmu_batch", len(groups))
    for k, members in enumerate(groups):
        batch = ValueBatch(component.call, component.dialect, members, verb)
        ctype = component.dialect.types[members[0].type][1]
        kind = KINDS.get(ctype)
        if kind is None:
            return None
        if members[0].type == "Boolean" and ctype == "int":
            kind = "INT_BOOL"
        places = np.concatenate([first + starts[v.name] + np.arange(v.size) for v in members])
        references = np.array([v.reference for v in members], dtype=np.uint32)
        places = places.astype(np.int32)
        row = found[k]
        row.function, row.values = void(batch.function), void(batch.pointer)
        row.n, row.total, row.kind = len(members), batch.size, bindings.constant(f"PL_FMU_{kind}")
        row.references = bindings.ffi().from_buffer("uint32_t[]", references)
        row.places = bindings.pointer(places)
        kept += [batch, references, places, *_items(row, members)]
    kept.append(found)
    return found


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


def void(pointer: Any) -> Any:
    """A pointer or function of the FMU, cast to the types of the runtime."""
    f = ffi()
    address = int(f.cast("uintptr_t", pointer))
    return bindings.ffi().cast("void *", address)
