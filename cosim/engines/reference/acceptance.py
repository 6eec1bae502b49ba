"""Where a step was accepted: unknowns to start from, and memories that follow accepted steps only."""

from __future__ import annotations

import numpy as np

from cosim.engines.reference.unknowns import Unknowns
from cosim.engines.reference.workspace import Workspace


class Acceptance:
    """Makes the point at which the context stands an accepted one."""

    def __init__(self, workspace: Workspace, unknowns: Unknowns) -> None:
        self.workspace, self.unknowns = workspace, unknowns
        expression, self._places = workspace.system.accepted
        self._memories = workspace.bind("accepted", lambda: [expression])

    def take(self) -> None:
        """Unknowns found here are those to start from; accepted memories are given their values."""
        self.unknowns.refresh()
        self.unknowns.accept()
        if not len(self._places):
            return
        context, value = self.workspace.context, self._memories()
        if not np.isfinite(value).all():
            raise self.workspace.non_finite(context.t)
        context.h[self._places] = value
