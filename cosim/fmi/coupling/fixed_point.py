"""A repeated step of the coupling as an equation: the assumed outputs are those that are delivered.

`runtime/iterated.c` does the same in the same order of operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from blocks.errors import SimulationError

ROUNDS = 100
AGREED = 1e-10  # relative to the outputs, and
AGREED_ABSOLUTE = 1e-12  # absolute: assumed and delivered agree
AGREED_SINGLE = 2.0**-21  # relative; of units whose rounding may take turns between two numbers, after
PATIENT = 20  # rounds
SINGULAR = 1e-14  # relative; a pivot up to this is none


@dataclass(frozen=True)
class FixedPoint:
    """y = F(y) of the outputs of all units at the end of a step.

    delivered : F; scale : (n,) their sizes; t1 : the end [s]; names : (n,)
    ended : does a unit end the run there? Then nothing more is looked for
    single : do units round to single precision?
    """

    delivered: Callable[[np.ndarray], np.ndarray]
    scale: np.ndarray
    t1: float
    names: Sequence[str]
    ended: Callable[[], bool]
    single: bool = False

    def _agree(self, y: np.ndarray, found: np.ndarray, rounds: int) -> bool:
        agreed = AGREED_SINGLE if self.single and rounds >= PATIENT else AGREED
        allowed = agreed * np.maximum(self.scale, np.abs(found)) + AGREED_ABSOLUTE
        return bool(np.all(np.abs(found - y) <= allowed)) or self.ended()

    def _check(self, found: np.ndarray) -> None:
        """Refuse values that are not finite, which cannot converge."""
        for name, value in zip(self.names, found.tolist(), strict=True):
            if not np.isfinite(value):
                raise SimulationError(
                    f"'{name}' is {value} at t={self.t1:.9g} s, in a step of the coupling that is iterated.",
                    path=name,
                    time=self.t1,
                    value=value,
                    hint="Look into this unit, or take a smaller step.",
                )

    def solve(self, y: np.ndarray, newton: bool) -> None:
        """Solve from a guess y (n,), by substitution or Newton's method with Broyden's updates.

        Raises
        ------
        SimulationError     there is none within some rounds; the worst output is named
        """
        found = self.delivered(y)
        inverse: np.ndarray | None = None
        for rounds in range(ROUNDS):
            if self._agree(y, found, rounds):
                return
            self._check(found)
            if newton:
                if inverse is None:
                    inverse = self._inverse(y, found)
                before, residual = y, found - y
                y = y + _times(inverse, residual)
                found = self.delivered(y)
                inverse = _broyden(inverse, y - before, residual - (found - y))
            else:
                y = found
                found = self.delivered(y)
        worst = int(np.argmax(np.abs(found - y) / (AGREED_ABSOLUTE + np.maximum(self.scale, np.abs(found)))))
        hint = "Take a smaller step." if newton else 'Take a smaller step, or iterate="newton".'
        raise SimulationError(
            f"the step of the coupling to t={self.t1:.9g} s does not settle in {ROUNDS} rounds: "
            f"'{self.names[worst]}' is assumed as {y[worst]:.9g} and delivered as {found[worst]:.9g}.",
            path=self.names[worst],
            time=self.t1,
            value=float(found[worst] - y[worst]),
            hint=hint,
        )

    def _inverse(self, y: np.ndarray, found: np.ndarray) -> np.ndarray:
        """The inverse of I - dF/dy, by differences."""
        n = len(y)
        matrix = np.eye(n)
        for i in range(n):
            moved = y.copy()
            moved[i] += 1e-6 * max(self.scale[i], abs(y[i]), 1e-6)
            matrix[:, i] -= (self.delivered(moved) - found) / (moved[i] - y[i])
        return inverted(matrix)


def inverted(matrix: np.ndarray) -> np.ndarray:
    """The inverse of a matrix (n, n), by Gauss-Jordan elimination with column pivoting.

    Of a singular one the pseudo-inverse. The order of operations is that of runtime/iterated.c.
    """
    n, a, inverse = len(matrix), matrix.copy(), np.eye(len(matrix))
    most = np.max(np.abs(matrix), initial=0.0)
    for i in range(n):
        p = i + int(np.argmax(np.abs(a[i:, i])))
        if not abs(a[p, i]) > SINGULAR * most:
            pseudo: np.ndarray = np.linalg.pinv(matrix)
            return pseudo
        for found in (a, inverse):
            found[[i, p]] = found[[p, i]]
        pivot = a[i, i]
        a[i], inverse[i] = a[i] / pivot, inverse[i] / pivot
        others = np.arange(n) != i
        factors = a[others, i]
        a[others] -= np.outer(factors, a[i])
        inverse[others] -= np.outer(factors, inverse[i])
    return inverse


def _times(matrix: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The product of a matrix and a vector, summed from the first column on."""
    found = np.zeros(len(v))
    for j in range(len(v)):
        found = found + matrix[:, j] * v[j]
    return found


def _broyden(inverse: np.ndarray, step: np.ndarray, change: np.ndarray) -> np.ndarray:
    """Broyden's good update of the inverse of (I - dF/dy), given what one step changed the residual by."""
    moved = _times(inverse, change)
    below = 0.0
    for a, b in zip(step.tolist(), moved.tolist(), strict=True):
        below = below + a * b
    if abs(below) <= 1e-30:
        return inverse
    updated: np.ndarray = inverse + np.outer(step - moved, _times(inverse.T, step)) / below
    return updated
