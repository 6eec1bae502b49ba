"""An FMU for co-simulation called by compiled code: pointers to its functions, batches of its values."""

from __future__ import annotations

from typing import Any

import numpy as np

from cosim.engines.native import bindings
from cosim.fmi.compiled_calls import batches, void
from cosim.fmi.interface.component import Component
from cosim.fmi.unit_ports import UnitInputs, UnitOutputs


def compiled_calls_of(
    component: Component, given: UnitInputs, taken: UnitOutputs, table: Any
) -> list[Any] | None:
    """Fill in `pl_fmu_unit` with the functions of an instance; returns objects that must outlive it.

    None where a variable has a type without code.
    """
    inputs = given.ports
    call, version = component.call, component.description.major
    kept: list[Any] = []
    table.component, table.version = void(call.component), version
    for name, verb, some, every in (
        ("set", "Set", given.held, inputs), ("get", "Get", taken.direct, taken.variables),
    ):  # fmt: skip
        found = batches(component, verb, some, every, 0, kept)
        if found is None:
            return None
        setattr(table, name, found)
        setattr(table, f"n_{name}", len(found))
    table.do_step = void(call.step_function)
    if version > 2:
        event, terminate, early, last = call.step_room
        table.event, table.terminate, table.early = map(void, (event, terminate, early))
        table.last = bindings.ffi().cast("double *", void(last))
        return kept
    if not component.interface.interpolates_inputs:
        return kept
    table.set_derivatives = void(call.function("SetRealInputDerivatives"))
    starts = np.cumsum([0, *(v.size for v in inputs)])
    pairs = zip(inputs, starts, strict=False)
    bent = [
        (v.reference, start) for v, start in pairs if v.type == "Float64" and v.name not in given.untouched
    ]
    references = np.array([r for r, _ in bent] * 2, dtype=np.uint32)
    orders = np.repeat([1, 2], len(bent)).astype(np.int32)
    places = np.array([start for _, start in bent], dtype=np.int32)
    values = np.zeros(2 * len(bent) + 1)
    table.n_bent, table.bent = len(bent), bindings.ffi().from_buffer("uint32_t[]", references)
    table.bent_orders, table.bent_places = bindings.pointer(orders), bindings.pointer(places)
    table.bent_values = bindings.pointer(values)
    return [*kept, references, orders, places, values]
