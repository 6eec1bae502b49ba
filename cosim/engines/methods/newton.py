"""Algebraic unknowns: Newton with the exact Jacobian, started from accepted values only."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from blocks.errors import SimulationError
from cosim.engines.methods.dense import solve

ROUNDS = 50
TOLERANCE = 1e-12  # relative to the size of the unknowns
ACCEPTABLE = 1e-9  # residual left where steps cannot get smaller, relative to its terms


def newton(
    residual: Callable[[], tuple[np.ndarray, np.ndarray]],
    target: np.ndarray,
    places: np.ndarray,
    names: Sequence[str],
    t: float,
) -> None:
    """Find target[places] so that the residual is zero.

    Parameters
    ----------
    residual : callable     residual (n,) and its Jacobian (n, n) with respect to target[places]
    target : array          changed in place; its values are the starting guess

    A step that does not reduce the residual is halved, at most ten times. An affine residual takes one step.

    Raises
    ------
    SimulationError         no convergence, or a singular Jacobian; the loop is named
    """
    value, jacobian = residual()
    size = float(np.abs(value).max())
    for _ in range(ROUNDS):
        if size == 0.0:
            return
        if not np.isfinite(jacobian).all() or not np.isfinite(value).all():
            break
        try:
            step = solve(jacobian, value)
        except np.linalg.LinAlgError:
            break
        start = target[places].copy()
        scale = 1.0
        for _ in range(10):
            target[places] = start - scale * step
            value, jacobian = residual()
            fresh = float(np.abs(value).max())
            if fresh < size or fresh == 0.0:
                break
            scale /= 2
        small = np.abs(scale * step).max() <= TOLERANCE * (1.0 + np.abs(start).max())
        if small and (fresh <= size or fresh <= ACCEPTABLE):
            return
        size = fresh
    raise SimulationError(
        f"the algebraic loop through {', '.join(dict.fromkeys(names))} has no solution found at t={t:.9g} s "
        f"(residual {size:.3g} after Newton's method).",
        path=names[0],
        time=t,
        hint="It may have none there: break it with a delay, or give a better guess.",
    )
