"""Numbers scaled so that their squares are doubles."""

from __future__ import annotations

import numpy as np


def scaled(values: np.ndarray, axis: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Finite values times a power of 2, the largest below 1, and the exponents that undo it.

    No digit is lost; squares of values beyond 1e154 are inf, those below 1e-162 are 0.
    axis : along which values share a power; None: all do
    """
    _, exponent = np.frexp(np.abs(values).max(axis=axis, initial=0.0, keepdims=True))
    return np.ldexp(values, -exponent), np.squeeze(exponent, axis)
