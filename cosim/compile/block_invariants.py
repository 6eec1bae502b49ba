"""What the blocks of a diagram keep constant, and what brings states back that have left it."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np

from blocks.contract.memories import ContinuousState
from cosim.columns import stack
from cosim.compile.expressions import Expressions
from cosim.compile.placed_block import PlacedBlock

Placed = Mapping[str, PlacedBlock]


def tolerances(placed: Placed) -> np.ndarray:
    """Of each component of the invariants."""
    found = [np.zeros(0)]
    for inst in placed.values():
        d = inst.traced.declared
        found += [np.full(g.numel(), tol) for g, tol in zip(d.invariants, d.tolerances, strict=True)]
    return np.concatenate(found)


def invariant_names(placed: Placed) -> tuple[tuple[str, str], ...]:
    """The block and the name of each component."""
    return tuple(
        (inst.path, name)
        for inst in placed.values()
        for names in inst.traced.declared.invariant_names
        for name in names
    )


def rounding(placed: Placed) -> np.ndarray:
    """Of each continuous state: times what a last digit changes back on the invariants, is no error."""
    parts = [
        np.full(m.size, inst.traced.declared.rounding)
        for inst in placed.values()
        for m in inst.memories(ContinuousState)
    ]
    return np.concatenate([np.zeros(0), *parts])


def correction(placed: Placed, between: Expressions) -> ca.SX:
    """What to add to the continuous states."""
    found = []
    for inst in placed.values():
        states = inst.memories(ContinuousState)
        parts = [ca.SX.zeros(m.size) if m.correction is None else m.correction for m in states]
        if all(m.correction is None for m in states):
            found += parts
        else:
            found.append(between.of(inst.path, "correction", ca.vertcat(*parts)))
    return stack(found)
