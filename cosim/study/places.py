"""The places of a case's numbers: a name stands for a parameter or an initial value, or one component."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from blocks.contract.memories import Memory
from blocks.errors import PlantloopError, near_miss
from cosim.names import COMPONENT, text
from cosim.run.context import Context
from cosim.run.named_values import follow_parameters, set_initial
from cosim.run.unchangeable import structural_error
from cosim.slots import MemorySlot
from cosim.system import System


@dataclass(frozen=True)
class Target:
    """Places of a vector, "p", "x" or "h", that the numbers given for a name go to.

    take : which of the numbers given go there; the others are structural and must be 0
    """

    name: str
    vector: str
    places: np.ndarray
    take: np.ndarray
    size: int
    label: str  # the word for it in messages


def target(system: System, name: str) -> Target:
    """Find the target that a name stands for.

    Raises
    ------
    PlantloopError     neither a parameter nor a state, or a structural field
    """
    parameters, states = system.names("parameter"), system.names("state")
    if (found := parameters.find(text(name, "parameter"))) is not None:
        slot = system.parameters[found[0]]
        mask = np.ravel(slot.mask)
        return Target(name, "p", slot.index, np.flatnonzero(mask), mask.size, "parameter")
    if (component := _component_of_parameter(system, name)) is not None:
        return component
    if (found := states.find(name)) is not None:
        full, part = found
        state: MemorySlot[Memory] = states.known[full]
        places = state.index if part is None else state.index[part : part + 1]
        vector = "x" if full in system.states else "h"
        return Target(name, vector, places, np.arange(len(places)), len(places), "initial value")
    field = system.names("field").find(name)
    if field is not None and (initial := system.fields[field[0]]):
        raise PlantloopError(
            f"'{name}' in '{system.name}' is an initial value, and called '{initial}' here.", path=name
        )
    for kind in ("unsettable", "field"):
        if (unsettable := system.names(kind).find(name)) is not None:
            raise structural_error(system, unsettable[0])
    if (entry := ENTRY.fullmatch(name)) is not None and (found := parameters.find(entry[1])) is not None:
        raise _counted_otherwise(name, entry, system.parameters[found[0]].mask)
    known = [*parameters.known, *system.aliases, *states.known]
    raise PlantloopError(
        f"'{system.name}' has no parameter or initial value '{name}'; {near_miss(name, known)}",
        path=name,
        value=name,
    )


ENTRY = re.compile(r"(.+)\[\s*(\d+)\s*,\s*(\d+)\s*\]", re.DOTALL)  # "plant.A[1, 0]"


def _counted_otherwise(name: str, entry: re.Match[str], mask: np.ndarray) -> PlantloopError:
    """The error for an entry of a matrix that is named by its row and column."""
    row, column = int(entry[2]), int(entry[3])
    hint = None
    if mask.ndim == 2 and row < mask.shape[0] and column < mask.shape[1]:
        hint = f"That entry is '{entry[1]}[{row * mask.shape[1] + column}]'."
    return PlantloopError(
        f"'{name}': the components of '{entry[1]}', of shape {mask.shape}, are counted row by row from 0.",
        path=name,
        value=name,
        hint=hint,
    )


def _component_of_parameter(system: System, name: str) -> Target | None:
    """One number of a parameter: "controller.K[1]", counted through the whole array."""
    indexed = COMPONENT.fullmatch(name)
    if indexed is None or (found := system.names("parameter").find(indexed[1])) is None:
        return None
    slot = system.parameters[found[0]]
    mask, k = np.ravel(slot.mask), int(indexed[2])
    if k >= mask.size:
        raise PlantloopError(
            f"no component {k} in '{indexed[1]}': it has {mask.size}, counted from 0.", path=name, value=k
        )
    if not mask[k]:
        raise structural_error(system, indexed[1])
    place = slot.index[int(mask[:k].sum())]
    return Target(name, "p", np.array([place]), np.array([0]), 1, "parameter")


def checked(system: System, goal: Target, values: np.ndarray) -> None:
    """Check that the numbers of all cases, (cases, size), fit.

    Raises
    ------
    PlantloopError     another number of them, not finite, or not 0 where a parameter is structural
    """
    if values.shape[1] != goal.size:
        hint = (
            f"One of them is '{goal.name}[{goal.take[0]}]'."
            if values.shape[1] == 1 and goal.take.size
            else None
        )
        raise PlantloopError(
            f"{goal.label} '{goal.name}' got {values.shape[1]} numbers, expected {goal.size}.",
            path=goal.name,
            hint=hint,
        )
    if not np.isfinite(values).all():
        raise PlantloopError(f"{goal.label} '{goal.name}' got a number that is not finite.", path=goal.name)
    rest = np.delete(values, goal.take, axis=1)
    if rest.any():
        raise structural_error(system, goal.name)


def distinct(goals: Mapping[str, Target]) -> None:
    """Refuse two names that stand for the same number.

    Raises
    ------
    PlantloopError     a name and its component are both given, or two names of one thing
    """
    taken: dict[tuple[str, int], str] = {}
    for name, goal in goals.items():
        for place in map(int, goal.places):
            if (other := taken.setdefault((goal.vector, place), name)) != name:
                raise PlantloopError(
                    f"{goal.label} '{name}' and '{other}' are the same number: which counts is not said.",
                    path=name,
                    hint="Keep one of them.",
                )


def put_one(
    system: System,
    goals: Mapping[str, Target],
    values: Mapping[str, np.ndarray],
    initial: Mapping[str, Any],
    context: Context,
) -> None:
    """Put numbers of one case into a context: parameters, values that follow from them, initial values.

    initial : values that all cases share, which come before those of the case
    """
    some = [goal for goal in goals.values() if goal.vector == "p"]
    for goal in some:
        context.p[goal.places] = values[goal.name][goal.take]
    if some and system.starts:
        follow_parameters(system, context)
        for name, value in initial.items():
            set_initial(system, context, name, value)
    for goal in goals.values():
        if goal.vector != "p":
            getattr(context, goal.vector)[goal.places] = values[goal.name][goal.take]
            if goal.vector == "h":
                context.next[goal.places] = context.h[goal.places]


def put(
    system: System,
    goals: Mapping[str, Target],
    columns: Mapping[str, np.ndarray],
    initial: Mapping[str, Any],
    start: Context,
    into: Mapping[str, np.ndarray],
) -> None:
    """Put numbers of some cases, (cases, size), into the vectors of their starts, (cases, n)."""
    if not system.starts:
        for name, goal in goals.items():
            into[goal.vector][:, goal.places] = columns[name][:, goal.take]
        return
    for k in range(len(into["x"])):
        context = start.copy()
        put_one(system, goals, {name: values[k] for name, values in columns.items()}, initial, context)
        for name, rows in into.items():
            rows[k] = getattr(context, name)
