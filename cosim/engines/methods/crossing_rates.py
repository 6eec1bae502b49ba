"""How zero crossings move: along the right-hand side, with time alone; what counts as on the threshold."""

from __future__ import annotations

import casadi as ca
import numpy as np

from blocks.contract.event_equations import THRESHOLD
from cosim.columns import pick, stack
from cosim.compile.slopes import along
from cosim.system import System


def crossings_of(s: System) -> ca.SX:
    """Every crossing of a system, (ne,)."""
    return stack(e.crossing for e in s.events)


def moving(s: System) -> list[bool]:
    """Which crossings change inside a step, (ne,): others depend on what is held between instants only."""
    if not s.events:
        return []
    inside = ca.vertcat(s.t, s.x, s.w)
    return [bool(m) for m in ca.which_depends(ca.densify(crossings_of(s)), inside, 1, True)]


def depend_on_time(s: System) -> bool:
    """True where a crossing depends on t other than through states, so that step control cannot see it."""
    return s.derived.get("crossings in time", lambda: _depend_on_time(s))


def _depend_on_time(s: System) -> bool:
    return bool(s.events) and bool(np.any(ca.which_depends(crossings_of(s), ca.vertcat(s.t, s.w), 1, False)))


def thresholds(s: System) -> np.ndarray:
    """How close to zero a crossing counts as on the threshold, where its rate of change decides, (ne,).

    Zero for those of delayed signals and slopes: how they move is not known.
    """
    places = np.concatenate([np.zeros(0, int), *[d.places for d in s.delays]])
    found = np.full(len(s.events), THRESHOLD)
    for k, event in enumerate(s.events):
        if event.by_value or (
            len(places) and any(ca.which_depends(event.crossing, pick(s.w, places), 1, False))
        ):
            found[k] = 0.0
    return found


def taken_anew(s: System) -> list[list[int]]:
    """For each event those for which nothing that its resets do is a crossing: their signs are taken anew."""
    places = {e.name: k for k, e in enumerate(s.events)}
    own = own_jumps(s)
    return [
        [k] * own[k] + [places[name] for name in e.anew if name in places] for k, e in enumerate(s.events)
    ]


def own_jumps(s: System) -> list[bool]:
    """Is what an event's own reset makes of its crossing no crossing? (ne,).

    So it is for events of both directions that reset a continuous state: a ball that bounces goes away from
    the floor. A mode stands for the side that the crossing is on, and changes when the motion turns back.
    """
    return [e.direction == 0 and any(vector == "x" for vector, _, _ in e.resets) for e in s.events]


def crossing_rates(s: System) -> ca.SX:
    """How fast every crossing moves along the right-hand side, (ne,); 0 where its value alone decides."""
    g = [ca.SX(0.0) if e.by_value else e.crossing for e in s.events]
    return rate_along(stack(g), s)


def rate_along(g: ca.SX, s: System) -> ca.SX:
    """dg/dt along the right-hand side, algebraic unknowns moving with it; delayed signals are at rest."""
    return along(g, s.t, s.x, s.derivative, s.w, s.residual)
