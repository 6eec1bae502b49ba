"""What starts anew: everything before the first instant, steps and holds after the resets of an event."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from cosim.engines.reference.acceptance import Acceptance
from cosim.engines.reference.invariants import Invariants
from cosim.engines.reference.unknowns import Unknowns
from cosim.engines.reference.workspace import Workspace


class Restart:
    """Makes a context whose states were set from outside one that can be integrated from."""

    def __init__(
        self, workspace: Workspace, unknowns: Unknowns, invariants: Invariants, acceptance: Acceptance
    ) -> None:
        self.workspace, self.unknowns = workspace, unknowns
        self.invariants, self.acceptance = invariants, acceptance

    def first(self) -> None:
        """Before the first instant: invariants hold; modes that depend on where the run starts."""
        c, (expression, places) = self.workspace.context, self.workspace.system.starting
        c.x[:] = self.invariants.restored(c.t, c.x.copy())
        if not len(places):
            return
        modes = self.workspace.bind("starting", lambda: [expression])
        for _ in range(len(places) + 1):  # one may depend on another
            self.unknowns.refresh()
            before = c.h[places]
            c.h[places] = modes()
            if np.array_equal(before, c.h[places]):
                break

    def after_events(self, counts: Iterable[int], counted: Collection[int] = ()) -> None:
        """Resets were applied: step size control and holds start anew, invariants and loops hold again.

        counts : places in h of the counts of samples of those holds
        counted : of counts that include the sample of this instant already; it is not from before the events
        """
        c = self.workspace.context
        for place in counts:
            c.h[place] = min(c.h[place], 2.0 if place in counted else 1.0)
        c.step, c.error = 0.0, 1e-4
        self.workspace.put(c.t, c.x)
        c.x[:] = self.invariants.restored(c.t, c.x.copy())
        self.acceptance.take()
