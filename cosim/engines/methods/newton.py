"""Algebraic unknowns: Newton with the exact Jacobian, started from accepted values only."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from blocks.errors import SimulationError
from cosim.engines.methods.dense import solve
from cosim.slots import Sought

ROUNDS = 50
TOLERANCE = 1e-12  # relative to the size of the unknowns
ACCEPTABLE = 1e-9  # residual left where steps cannot get smaller, relative to its terms


def newton(
    residual: Callable[[], tuple[np.ndarray, np.ndarray]],
    target: np.ndarray,
    places: np.ndarray,
    names: Sequence[Sought],
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
    SimulationError         no convergence, or a singular Jacobian; the equation or the loop is named
    """
    value, jacobian = residual()
    size = float(np.abs(value).max())
    for _ in range(ROUNDS):
        if size == 0.0:
            return
        if not size < np.inf or not np.isfinite(jacobian).all():
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
    raise _no_solution(names, value, size, t)


def _no_solution(names: Sequence[Sought], value: np.ndarray, size: float, t: float) -> SimulationError:
    """The error that names the implicit equation that is missed most, or else the loop."""
    worst = names[int(np.argmax(np.where(np.isnan(value), np.inf, np.abs(value))))]
    reached = f"at t={t:.9g} s (residual {size:.3g} after Newton's method)."
    if worst.equation:
        return SimulationError(
            f"the implicit equation of {worst.equation} has no root found for '{worst.name}' {reached}",
            path=worst.name,
            time=t,
            value=size,
            hint="It may have none there: look for values it cannot reach, or start nearer (guess=, ic).",
        )
    through = ", ".join(dict.fromkeys(sought.name for sought in names if not sought.equation))
    return SimulationError(
        f"the algebraic loop through {through} has no solution found {reached}",
        path=worst.name,
        time=t,
        value=size,
        hint="It may have none there: break it with a delay, or give a better guess.",
    )
