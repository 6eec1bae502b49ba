"""Invariants of a system, such as closed loops of a mechanism: states are corrected until they hold."""

from __future__ import annotations

import math

import numpy as np

from blocks.errors import SimulationError
from cosim.engines.reference.unknowns import Unknowns
from cosim.engines.reference.workspace import Workspace

EPSILON = float(np.finfo(float).eps)
ROUNDS = 8
APART = 1e8  # tolerances beyond which an invariant is not met: 1e-6 of a constraint's natural size


class Invariants:
    """g(x) = 0 and the correction of x that a block declares for it."""

    def __init__(self, workspace: Workspace, unknowns: Unknowns) -> None:
        s = workspace.system
        self.workspace, self.unknowns, self.tolerances = workspace, unknowns, s.tolerances
        self.names, self.unmet = s.invariant_names, -1  # the one that was farthest from met, or -1
        self.exist, self.rounding = bool(s.invariants.numel()), s.rounding
        if self.exist:
            self._residual = workspace.bind("invariants", lambda: [s.invariants])
            self._correction = workspace.bind("correction", lambda: [s.correction])

    def restored(self, t: float, x: np.ndarray) -> np.ndarray:
        """States at which the invariants hold: x itself where they do to a tenth of their tolerance.

        Corrections are repeated until they hold and as long as it helps, at most eight times. The first
        round, and those far from holding, may make some worse. The workspace is left at the result.
        """
        if not self.exist:
            return x
        before = math.inf
        for k in range(ROUNDS + 1):
            self._look(t, x)
            shares = np.abs(self._residual()) / self.tolerances
            worst = float(shares.max())
            if k == ROUNDS or not worst > (1.0 if k else 0.1) or worst >= before:
                break  # held, not finite, or no better
            before = worst if k and worst < 1e4 else math.inf
            x = x + self._correction()
        self.unmet = int(shares.argmax()) if worst > APART else -1
        return x

    def check(self, t: float) -> None:
        """End a run whose step ended at t [s] where corrections did not bring the invariants back."""
        if self.unmet >= 0:
            raise self.apart(t, self.unmet)

    def apart(self, t: float, k: int) -> SimulationError:
        """The error of invariant k, which cannot be met at t [s]."""
        path, what = self.names[k]
        return SimulationError(
            f"'{path}': {what or 'an invariant'} cannot be met any more at t={t:.9g} s.",
            path=path,
            time=t,
            hint="A mechanism locks there, or is driven beyond its reach, or the step is too long. Look at "
            "the motion before it.",
        )

    def _look(self, t: float, x: np.ndarray) -> None:
        """The next functions are evaluated at (t, x), with the unknowns that belong to it."""
        self.workspace.put(t, x)
        self.unknowns.refresh()

    def noise(self, t: float, x: np.ndarray) -> np.ndarray:
        """The change of the state by a last digit and the way back onto the invariants.

        Near singular poses that is far, and an error estimate below it means nothing.
        """
        digit = (np.arange(len(x), dtype=np.uint32) * np.uint32(2654435761)) >> np.uint32(31)
        beside = x * (1.0 + np.where(digit, EPSILON, -EPSILON))
        for _ in range(2):  # velocities follow the positions
            self._look(t, beside)
            beside = beside + self._correction()
        self.workspace.put(t, x)
        return self.rounding * np.abs(beside - x)
