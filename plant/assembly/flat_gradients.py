"""Conditions whose gradients are zero, or lack a coordinate, where the assembly begins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plant.constraints.closure import Closure
from plant.constraints.conditions import Condition

OPEN, FLAT = 1e-7, 1e-6  # of a condition's natural size: gaps from there on count, gradients below it do not


def add_written(closure: Closure, kept: np.ndarray, pattern: np.ndarray) -> None:
    """Mark in a pattern (m, n) of gradients all rates that a model's own expressions contain.

    An expression may depend on a coordinate only where a STEP begins, or later: what its gradient is at
    some poses does not tell. kept : (k,) int   conditions that count
    """
    uneven = [k for k in kept if closure.conditions[k].uneven]
    rows, columns = (np.array(places, dtype=int) for places in closure.J.sparsity().get_triplet())
    written = np.isin(rows, uneven)
    pattern[rows[written], columns[written]] = True


def starts_flat(
    conditions: Sequence[Condition], residual: np.ndarray, squares: np.ndarray, natural: np.ndarray
) -> bool:
    """Whether a joint is open that no small turn closes: a UNIVERSAL whose bars are parallel.

    All directions are as good there. An expression that is open and flat may have no root at all.

    residual, squares, natural : (m,) float   of the conditions, and perhaps of others behind them: what is
                                              open, squared length of the gradient, natural size
    """
    of_joints = np.array([not (c.written or c.driven) for c in conditions], dtype=bool)
    found = (np.abs(residual) > OPEN * natural) & (squares <= FLAT * natural**2)
    return bool(np.any(found[: len(of_joints)] & of_joints))


def step_aside(rates: np.ndarray, far: float) -> np.ndarray:
    """(n,) step to a place beside, in no direction that an axis of a model has.

    rates : (n,) size of the mechanism for rates that travel, 1 for turns; far : rad or size of the mechanism
    """
    return far * np.cos(np.arange(len(rates))) * rates
