"""Values of FMUs that compiled code exchanges: pointers to functions, buffers, places of numbers."""

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
    make = partial(batch_plan, component.dialect, verb, some, every, first)
    plan: BatchPlan | None = component.description.derived.get(key, make)
    return None if plan is None else plan.of(component.call, kept)


def batch_plan(
    dialect: Dialect, verb: str, some: Sequence[Variable], every: Sequence[Variable], first: int
) -> BatchPlan | None:
    """Batches of some variables, see `batches`; None for a type compiled code cannot pass."""
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


def entry(call: Caller, name: str) -> Any:
    """A function of the FMU by its name, for a field of the runtime's."""
    return call.library.derived.get(name, lambda: bindings.ffi().cast("void *", call.address(name)))


def void(pointer: Any) -> Any:
    """A pointer or function of the FMU, cast to the types of the runtime."""
    return bindings.ffi().cast("void *", int(ffi().cast("uintptr_t", pointer)))
