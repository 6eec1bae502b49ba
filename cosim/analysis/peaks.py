"""The largest value of a function of frequency: resonances are narrow, a grid passes beside their tops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

LOOKED_AT = 3  # of the highest points of a grid that are above their neighbours
SHARE = 0.5  # of the largest value: lower points are not looked at
ROUNDS = 20  # of golden sections: what is left of a bracket is 1e-4 of it, of the value its square
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


def highest(function: Callable[[float], float], w: np.ndarray, values: np.ndarray) -> float:
    """Largest value of a function (rad/s) that is known at frequencies w (n,), found between them too.

    Source: Kiefer, Proc. American Mathematical Society 4 (1953) 502-506, for golden sections.
    """
    top = float(np.max(values, initial=-np.inf))
    if not np.isfinite(top):
        return top
    beside = np.concatenate([[-np.inf], values, [-np.inf]])
    peaks = np.flatnonzero((values >= beside[:-2]) & (values >= beside[2:]) & (values >= SHARE * top))
    last = len(w) - 1
    for k in peaks[np.argsort(-values[peaks])][:LOOKED_AT]:
        top = max(top, _top(function, float(w[max(k - 1, 0)]), float(w[min(k + 1, last)])))
    return top


def _top(function: Callable[[float], float], a: float, b: float) -> float:
    """Where a function with one hill between a and b is highest: its value there."""
    x, y = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
    left, right = function(x), function(y)
    best = max(left, right)
    for _ in range(ROUNDS):
        if left > right:
            b, y, right = y, x, left
            x = b - GOLDEN * (b - a)
            left = function(x)
        else:
            a, x, left = x, y, right
            y = a + GOLDEN * (b - a)
            right = function(y)
        best = max(best, left, right)
    return best
