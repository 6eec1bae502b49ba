"""Numbers a user gives by name, put into a context: inputs, parameters, initial values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from blocks.arguments import real_numbers
from blocks.contract.memories import Memory
from blocks.errors import PlantloopError, shown
from cosim.names import text
from cosim.run.context import Context
from cosim.run.parameter_checks import refuse_booleans
from cosim.run.unchangeable import structural_error
from cosim.slots import MemorySlot
from cosim.system import System


def set_all(system: System, context: Context, kind: str, values: Mapping[str, Any]) -> None:
    """Set several by name, in this order. kind : "parameter", "state" (initial values) or "input"

    Raises
    ------
    PlantloopError    as the setters of one; two names of one thing, of which the first would have no effect
    """
    how = {"parameter": set_parameter, "state": set_initial, "input": set_input}[kind]
    names, given = system.names(kind), dict[str, dict[int | None, str]]()
    for name, value in values.items():
        how(system, context, name, value)
        full, component = names.locate(name)
        before = given.setdefault(full, {})
        same = next(iter(before.values()), None) if component is None else before.get(component)
        if same is not None:
            raise PlantloopError(
                f"'{same}' and '{name}' are the same {kind} of '{system.name}', and both are given.",
                path=full,
                value=value,
                hint="Give one of them.",
            )
        before[component] = name


def set_input(system: System, context: Context, name: str, value: Any) -> None:
    """Set an input of the whole system, or one component of it."""
    inputs = system.names("input")
    if inputs.find(text(name, "input")) is None and (driver := system.driver(name)) is not None:
        raise PlantloopError(
            f"'{system.name}' has no input '{name}': it is that of a block, and '{driver}' drives it.",
            path=name,
            hint="Inputs of a run are the diagram's own: connect d.inport('u') in its place.",
        )
    full, component = inputs.locate(name)
    slot = system.inputs[full]
    places = slot.index if component is None else slot.index[component : component + 1]
    context.h[places] = numbers(value, len(places), full)


def set_initial(system: System, context: Context, name: str, value: Any) -> None:
    """Set a continuous or discrete state, a mode or a sampled memory, or one component of it."""
    states = system.names("state")
    found = states.find(text(name, "state"))
    if found is None:
        raise _no_state(system, name)
    full, component = found
    slot: MemorySlot[Memory] = states.known[full]
    places = slot.index if component is None else slot.index[component : component + 1]
    target = context.x if full in system.states else context.h
    target[places] = numbers(value, len(places), name)
    if slot.memory.has_next:
        context.next[places] = target[places]


def _no_state(system: System, name: str) -> PlantloopError:
    if (parameter := system.names("parameter").find(name)) is not None:
        cure = f"It is a parameter: write parameters={{'{parameter[0]}': ...}}."
    elif (field := system.names("field").find(name)) is not None and (state := system.fields[field[0]]):
        cure = f"It is the field that tells where a state begins: write initial={{'{state}': ...}}."
    else:
        return system.names("state").unknown(name)
    return PlantloopError(f"'{system.name}' has no state '{name}'.", path=name, hint=cure)


def set_parameter(system: System, context: Context, name: str, value: Any) -> None:
    """Set a parameter, whole; what of it is structural must stay as it is."""
    found = system.names("parameter").find(text(name, "parameter"))
    if found is None:
        if (unsettable := system.names("unsettable").find(name)) is not None:
            raise structural_error(system, unsettable[0])
        if (field := system.names("field").find(name)) is not None:
            raise structural_error(system, field[0])
        if (state := system.names("state").find(name)) is not None:
            cure = f"It is a state: write initial={{'{state[0]}': ...}}."
            raise PlantloopError(f"'{system.name}' has no parameter '{name}'.", path=name, hint=cure)
        raise system.names("parameter").unknown(name)
    slot = system.parameters[found[0]]
    try:
        array = real_numbers(value)
    except (TypeError, ValueError, OverflowError):
        raise PlantloopError(f"parameter '{name}' is {shown(value)}, expected numbers.", path=name) from None
    refuse_booleans(system, found[0], value)
    if array.size != math.prod(slot.shape):
        shape = slot.shape or "a number"
        raise PlantloopError(
            f"parameter '{name}' got {array.size} numbers, expected {shape}.", path=name, value=value
        )
    if np.isnan(array).any():
        raise PlantloopError(f"parameter '{name}' is not a number.", path=name, value=value)
    array = array.reshape(slot.shape)
    if array[~slot.mask].any():
        raise structural_error(system, name)
    context.p[slot.index] = array[slot.mask]
    if system.starts and not context.started:
        follow_parameters(system, context)


def follow_parameters(system: System, context: Context) -> None:
    """Initial values that follow from parameters."""
    function = system.function("starts", lambda: [s.expression for s in system.starts])
    values = function(context.t, context.x, context.h, context.w, context.p)
    for start, value in zip(system.starts, values if len(system.starts) > 1 else [values], strict=True):
        target = context.x if start.vector == "x" else context.h
        target[start.places] = np.array(value).ravel()
        if start.both:
            context.next[start.places] = target[start.places]


def numbers(value: Any, size: int, name: str) -> np.ndarray:
    """Finite numbers, (size,); one alone stands for all."""
    try:
        array = np.ravel(real_numbers(value))
    except (TypeError, ValueError, OverflowError):
        raise PlantloopError(
            f"'{name}' is {shown(value)}, expected numbers.", path=name, value=value
        ) from None
    if array.size not in (1, size):
        raise PlantloopError(f"'{name}' got {array.size} numbers, expected {size}.", path=name, value=value)
    if not np.isfinite(array).all():
        raise PlantloopError(f"'{name}' is not finite: {shown(value)}.", path=name, value=value)
    return np.broadcast_to(array, size)
