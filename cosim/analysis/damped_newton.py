"""Newton's method with damping that does not depend on how equations are scaled, between bounds.

A stiff penalty makes one equation a million times steeper than the others, along a curved valley. Seen by
the sum of squares every step along the valley is one up its wall; seen by how far Newton's method still has
to go, which no scaling of the equations changes, it is a good one.

Source: Deuflhard, Newton Methods for Nonlinear Problems, section 3.3 (natural monotonicity); 4.4 for more
equations than unknowns.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

ROUNDS = 200
HALVINGS = 24
RANK = 1e-13  # relative: smaller singular values of the scaled Jacobian are none
ARRIVED = 4.0  # roundings of the unknowns: a shorter step is none

Equations = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # v (n,) -> residual (m,), Jacobian (m, n)


def damped_newton(
    equations: Equations,
    start: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    fulfilled: float = 0.0,
    arrived: Callable[[], None] = lambda: None,
) -> np.ndarray:
    """Unknowns (n,) at which Newton's method comes to rest; the caller checks that the equations hold there.

    Parameters
    ----------
    start, low, high : (n,)     first guess, bounds
    fulfilled : residual that counts as none
    arrived : called where a step has ended at which the equations were asked last

    Each step solves the linearised equations by least squares, of least length; every equation counts by its
    own steepness, but one that unknowns change by less than `fulfilled` when they move by their whole size,
    such as what rounding leaves of the acceleration of a joint that is locked, by that. The step is halved
    until what is left to go by the same Jacobian has become shorter. An unknown on a bound that its step
    would leave stays there.
    """
    v = start.copy()
    residual, jacobian = equations(v)
    for _ in range(ROUNDS):
        if not (np.isfinite(residual).all() and np.isfinite(jacobian).all()):
            break
        step = ScaledStep(jacobian, v, low, high, fulfilled)
        move = step.of(residual)
        length = step.length(move)
        if length <= ARRIVED * np.finfo(float).eps:
            break
        factor = 1.0
        for _ in range(HALVINGS):
            trial = np.clip(v + factor * move, low, high)
            after, jacobian_there = equations(trial)
            good = np.isfinite(after).all()
            if good and step.length(step.of(after)) <= (1.0 - factor / 4) * length:
                break
            factor /= 2
        else:
            break  # rounding, or no way on
        arrived()
        v, residual, jacobian = trial, after, jacobian_there
    return v


class ScaledStep:
    """Steps by one Jacobian (m, n) at v (n,), with equations and unknowns scaled."""

    def __init__(
        self, jacobian: np.ndarray, v: np.ndarray, low: np.ndarray, high: np.ndarray, fulfilled: float
    ) -> None:
        self._jacobian, self._v, self._low, self._high = jacobian, v, low, high
        self._size = np.maximum(np.abs(v), 1e-3 * max(1.0, float(np.abs(v).max(initial=0.0))))
        scaled = jacobian * self._size
        steepness = np.maximum(np.linalg.norm(scaled, axis=1), fulfilled)
        self._weight = np.where(steepness > 0.0, 1.0 / np.where(steepness > 0.0, steepness, 1.0), 0.0)
        self._scaled = scaled * self._weight[:, None]
        self._free = np.ones(len(v), bool)
        self._inverse = self._inverted()

    def _inverted(self) -> np.ndarray:
        found = np.zeros(self._scaled.T.shape)
        found[self._free] = np.linalg.pinv(self._scaled[:, self._free], RANK)
        return found

    def of(self, residual: np.ndarray) -> np.ndarray:
        """(n,) the step that the equations ask for at this residual (m,)."""
        for _ in range(len(self._v) + 1):
            move: np.ndarray = -self._size * (self._inverse @ (self._weight * residual))
            out = ((self._v <= self._low) & (move < 0.0)) | ((self._v >= self._high) & (move > 0.0))
            if not (out & self._free).any():
                break
            self._free &= ~out
            self._inverse = self._inverted()
        return move

    def length(self, move: np.ndarray) -> float:
        """Length of a step in sizes of the unknowns."""
        return float(np.linalg.norm(move / self._size))
