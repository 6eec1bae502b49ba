"""Structural numbers of cases, which decide how a model is built: one build for every combination of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from blocks.errors import PlantloopError
from cosim.diagram_facts import builds
from cosim.study.bases import Base
from cosim.study.cases import Cases

MOST = 200  # most builds of a model, each with its equations and its engine


def built_for_cases(
    bases: Sequence[Base], names: Sequence[str], cases: Cases
) -> tuple[tuple[Base, ...], tuple[str, ...], Cases]:
    """Bases built with every combination of structural numbers that occurs, and cases that refer to them.

    names : of the variants, one per base; those given back repeat where a variant is built several times

    Raises
    ------
    PlantloopError      more combinations than can be held, or a model that cannot be built with one
    """
    found: list[Base] = []
    labels: list[str] = []
    number = np.empty_like(cases.variant)
    for k, (base, label) in enumerate(zip(bases, names, strict=True)):
        mine = np.flatnonzero(cases.variant == k)
        system = base.system()
        own = [name for name in cases.columns if builds(system, name)]
        if not own or not len(mine):
            number[mine] = len(found)
            found.append(base)
            labels.append(label)
            continue
        first, which = _combinations([cases.columns[name][mine] for name in own])
        _check_count(len(first), own)
        number[mine] = len(found) + which
        for case in mine[first]:
            found.append(_built(base, {name: _plain(cases.columns[name][case]) for name in own}))
            labels.append(label)
    return tuple(found), tuple(labels), replace(cases, variant=number)


def _combinations(columns: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The first row of each combination, in their order, and the combination of every row."""
    _, first, which = np.unique(np.hstack(columns), axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[np.ravel(which)]


def _check_count(count: int, names: Sequence[str]) -> None:
    if count > MOST:
        which = " and ".join(f"'{name}'" for name in names)
        raise PlantloopError(
            f"{which} decide{'s' if len(names) == 1 else ''} how the model is built: it would be built "
            f"{count} times, {MOST} at most.",
            path=names[0],
            value=count,
            hint="Sweep fewer values, or draw whole numbers or from a list.",
        )


def _built(base: Base, values: Mapping[str, Any]) -> Base:
    try:
        found = replace(base, made=base.diagram().with_parameters(**values), built=values)
        found.system()
    except PlantloopError as error:
        told = " and ".join(f"{name} = {value}" for name, value in values.items())
        raise PlantloopError(
            f"the model cannot be built with {told}: {error}", path=next(iter(values)), value=values
        ) from error
    return found


def _plain(values: np.ndarray) -> Any:
    """A value as a field takes it: a number, an int if it is whole; or several numbers."""
    if len(values) > 1:
        return values.copy()
    value = float(values[0])
    return int(value) if value.is_integer() else value
