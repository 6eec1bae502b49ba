"""Signals as conditions: what counts as true, and what a signal that is not a number does to an answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from blocks.contract.block import Equations
from blocks.contract.symbols import Array

OPERATORS = ("==", "!=", "<", "<=", ">", ">=")
LEVEL = 0.5  # a signal above it is on: what triggers, sets and resets


def true(u: Array) -> Array:
    """1 where u is not 0, else 0; nan stays nan, so that a run that has gone wrong stops."""
    return np.where(np.isnan(u), u, np.where(u != 0, 1.0, 0.0))


def answer(condition: Array, *signals: Array) -> Array:
    """A condition as 1 or 0, nan where one of the signals it looks at is nan."""
    y = np.where(condition, 1.0, 0.0)
    for u in signals:
        y = np.where(np.isnan(u), u, y)
    return y


SMALL = 1e-3  # limits below it are the unit that signals are compared with them in


def unit_of(*limits: Array) -> Array:
    """Unit in which a signal is compared with limits: 1, or the largest of limits near 0, elementwise.

    What is within 1e-10 of this unit counts as on a limit.
    """
    size: Any = 0.0
    for limit in limits:
        size = np.maximum(size, np.abs(limit))
    return np.where(np.logical_and(size > 0.0, size < SMALL), size, 1.0)


def compared(b: Equations, operator: str, first: Array, second: Array, unit: Array = 1.0) -> Array:
    """1 where ``first operator second`` holds, else 0, held between its crossings; scalars, shape ().

    unit : see `unit_of`
    """
    g = (first - second) / unit
    if operator in (">=", "<="):
        return b.where_event(g if operator == ">=" else -g, 1.0, 0.0)
    if operator in (">", "<"):
        return b.where_event(-g if operator == ">" else g, 0.0, 1.0)
    equal = b.where_event(g, 1.0, 0.0) * b.where_event(-g, 1.0, 0.0)
    return equal if operator == "==" else 1.0 - equal
