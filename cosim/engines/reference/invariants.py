"""Invariants of a system, such as closed loops of a mechanism: states are corrected until they hold."""

from __future__ import annotations

import math

import numpy as np

from cosim.engines.reference.unknowns import Unknowns
from cosim.engines.reference.workspace import Workspace

EPSILON = float(np.finfo(float).eps)
ROUNDS = 8


class Invariants:
    """g(x) = 0 and the correction of x that a block declares for it."""

    def __init__(self, workspace: Workspace, unknowns: Unknowns) -> None:
        s = workspace.system
        self.workspace, self.unknowns, self.tolerances = workspace, unknowns, s.tolerances
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
        for k in range(ROUNDS):
            self._look(t, x)
            worst = float((np.abs(self._residual()) / self.tolerances).max())
            if not worst > (1.0 if k else 0.1) or worst >= before:  # held, not finite, or no better
                break
            before = worst if k and worst < 1e4 else math.inf
            x = x + self._correction()
        return x

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
