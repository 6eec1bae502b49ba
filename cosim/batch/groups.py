"""Runs that need the diagram built again: runs with the same structural parameters share one build."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from blocks.contract.shape import frozen
from blocks.errors import PlantloopError
from cosim.batch.runs import Runs
from cosim.built_for import built_for, structural
from cosim.compile.netlist import Driven
from cosim.diagram import Diagram
from cosim.names import mapped


@dataclass(frozen=True)
class BuiltRuns:
    """The runs of one build of a diagram.

    parameters : for all of them; runs : by their numbers, without what it was built with
    """

    diagram: Any
    parameters: Mapping[str, Any]
    runs: Mapping[int, Mapping[str, Any]]


def groups_of(
    diagram: Any,
    parameters: Mapping[str, Any] | None,
    runs: Sequence[Mapping[str, Any]],
    solve_loops: bool,
    driven: Driven,
) -> list[BuiltRuns]:
    """Group runs by their structural parameters; a single group if no parameter is structural.

    Raises
    ------
    PlantloopError      as `built_for`
    """
    common = mapped(parameters, "parameters")
    if not isinstance(diagram, Diagram) or not runs:
        return [BuiltRuns(diagram, common, dict(enumerate(runs)))]
    names = {**common, **{name: None for run in runs for name in mapped(run.get("parameters"), "parameters")}}
    own = structural(diagram, names, solve_loops, driven)
    found: dict[Any, dict[int, Mapping[str, Any]]] = {}
    built: dict[Any, dict[str, Any]] = {}
    for k, run in enumerate(runs):
        numbers = {**common, **(run.get("parameters") or {})} if own else {}
        new = {name: numbers[name] for name in own if name in numbers}
        key = tuple((name, frozen(value)) for name, value in new.items())
        built[key] = new
        left = {n: v for n, v in (run.get("parameters") or {}).items() if n not in own}
        found.setdefault(key, {})[k] = {**run, "parameters": left} if own else run
    common = {name: value for name, value in common.items() if name not in own}
    made = [built_for(diagram, new, solve_loops, driven)[0] for new in built.values()]
    return [BuiltRuns(d, common, group) for d, group in zip(made, found.values(), strict=True)]


def joined(parts: Sequence[Runs], groups: Sequence[BuiltRuns]) -> Runs:
    """The runs of all groups together, in the order of their numbers.

    Raises
    ------
    PlantloopError      they log signals of other names or sizes
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    for part, group in zip(parts, groups, strict=True):
        if part.tree.width != first.tree.width or list(part.tree) != list(first.tree):
            raise PlantloopError(
                f"run {next(iter(group.runs))} logs other signals, or of other sizes, than run 0.",
                hint="Choose signals= that all have.",
            )
    order = np.argsort([k for group in groups for k in group.runs])
    whole = lambda parts: np.concatenate(parts)[order]
    messages = [message for part in parts for message in part.message]
    errors = {
        list(group.runs)[k]: error
        for part, group in zip(parts, groups, strict=True)
        for k, error in part.errors.items()
    }
    return Runs(
        first.time,
        whole([part.table for part in parts]),
        first.tree,
        errors,
        first.how,
        whole([part.stopped for part in parts]),
        whole([part.time_of_stop for part in parts]),
        tuple(messages[k] for k in order),
    )
