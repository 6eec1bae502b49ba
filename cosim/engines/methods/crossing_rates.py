"""How zero crossings move: along the right-hand side, with time alone; what counts as on the threshold."""

from __future__ import annotations

import casadi as ca
import numpy as np

from blocks.contract.block import THRESHOLD
from cosim.system import System, pick


def crossings_of(s: System) -> ca.SX:
    """Every crossing of a system, (ne,)."""
    return ca.vertcat(ca.SX(0, 1), *[e.crossing for e in s.events])


def depend_on_time(s: System) -> bool:
    """True where a crossing depends on t other than through states, so that step control cannot see it."""
    return bool(s.events) and bool(np.any(ca.which_depends(crossings_of(s), ca.vertcat(s.t, s.w), 1, False)))


def thresholds(s: System) -> np.ndarray:
    """How close to zero a crossing counts as on the threshold, where its rate of change decides, (ne,).

    Zero for those of delayed signals: how they move is not known.
    """
    places = np.concatenate([np.zeros(0, int), *[d.places for d in s.delays]])
    found = np.full(len(s.events), THRESHOLD)
    for k, event in enumerate(s.events):
        if len(places) and any(ca.which_depends(event.crossing, pick(s.w, places), 1, False)):
            found[k] = 0.0
    return found


def rate_along(g: ca.SX, s: System) -> ca.SX:
    """dg/dt along the right-hand side, algebraic unknowns moving with it; delayed signals are at rest."""
    rate = ca.jtimes(g, s.x, s.derivative) + ca.jtimes(g, s.t, ca.SX(1))
    n = s.residual.numel()
    if n == 0:
        return rate
    z = s.w[:n]
    r = s.residual
    drift = ca.jtimes(r, s.x, s.derivative) + ca.jtimes(r, s.t, ca.SX(1))
    return rate - ca.mtimes(ca.jacobian(g, z), ca.solve(ca.jacobian(r, z), drift))
