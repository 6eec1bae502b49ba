"""Signals as conditions: what counts as true, and what a signal that is not a number does to an answer."""

from __future__ import annotations

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


def compared(b: Equations, operator: str, first: Array, second: Array) -> Array:
    """1 where ``first operator second`` holds, else 0, held between its crossings; scalars, shape ()."""
    g = first - second
    if operator in (">=", "<="):
        return b.where_event(g if operator == ">=" else -g, 1.0, 0.0)
    if operator in (">", "<"):
        return b.where_event(-g if operator == ">" else g, 0.0, 1.0)
    equal = b.where_event(g, 1.0, 0.0) * b.where_event(-g, 1.0, 0.0)
    return equal if operator == "==" else 1.0 - equal
