"""Columns of symbols: put on top of each other, and parts of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import casadi as ca
import numpy as np


def stack(parts: Iterable[ca.SX]) -> ca.SX:
    """Columns on top of each other; one alone, as it mostly is, costs nothing."""
    several = list(parts)
    if not several:
        return ca.SX(0, 1)
    return several[0] if len(several) == 1 else ca.vertcat(*several)


def pick(vector: ca.SX, index: Sequence[int] | np.ndarray) -> ca.SX:
    """Components of an SX column; CasADi takes an empty list for everything."""
    places = [int(k) for k in index]
    return vector[places] if places else ca.SX(0, 1)
