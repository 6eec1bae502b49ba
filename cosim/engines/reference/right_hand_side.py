"""x' = f(t, x) as integrators take it: everything held between instants as it stands, unknowns found anew."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from cosim.engines.methods.corners import corners_of
from cosim.engines.reference.bound import Bound
from cosim.engines.reference.jacobian import Jacobian
from cosim.engines.reference.unknowns import Unknowns
from cosim.engines.reference.workspace import Workspace


class RightHandSide:
    """The derivative of a system at the states a step tries."""

    def __init__(self, workspace: Workspace, unknowns: Unknowns) -> None:
        self.workspace, self.unknowns = workspace, unknowns
        s = workspace.system
        self._derivative = workspace.bind_trial("derivative", lambda: [s.derivative])
        self.bends = corners_of(s).numel() > 0

    def derivative(self, t: float, x: np.ndarray) -> np.ndarray:
        """x' at (t, x); a new array."""
        self.workspace.put_trial(t, x)
        self.unknowns.find(t, at_trial=True)
        return self._derivative().copy()

    def corners(self, t: float, x: np.ndarray) -> np.ndarray:
        """Expressions that are zero at corners of the derivative, at (t, x); a new array."""
        self.workspace.put_trial(t, x)
        return self._corners().copy()

    def linearise(self, t: float, x: np.ndarray) -> tuple[Any, np.ndarray]:
        """Exact Jacobian (nx, nx) of the derivative, unknowns included, and its derivative in time (nx,)."""
        self.workspace.put_trial(t, x)
        self.unknowns.find(t, at_trial=True)
        return self._jacobian()

    @cached_property
    def _corners(self) -> Bound:
        system = self.workspace.system
        return self.workspace.bind_trial("corners", lambda: [corners_of(system)])

    @cached_property
    def _jacobian(self) -> Jacobian:
        return Jacobian(self.workspace)
