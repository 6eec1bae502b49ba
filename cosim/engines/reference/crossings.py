"""Zero crossings: their signs, and where inside a step one changes (semantics, section 5)."""

from __future__ import annotations

import numpy as np

from cosim.engines.methods.crossing_rates import crossing_rates, crossings_of, depend_on_time, thresholds
from cosim.engines.methods.steppers import AcceptedStep
from cosim.engines.reference.unknowns import Unknowns
from cosim.engines.reference.workspace import Workspace
from cosim.run.history import CHECKS, NODES, interpolate


class Crossings:
    """The crossings of a system; the sign stored of each is part of the context."""

    def __init__(self, workspace: Workspace, unknowns: Unknowns) -> None:
        self.workspace, self.unknowns = workspace, unknowns
        s = workspace.system
        self.events = s.events
        g = crossings_of(s)
        self._g = workspace.bind("crossings", lambda: [g])
        self._rate = workspace.bind("crossing rates", lambda: [crossing_rates(s)])
        self.in_time = depend_on_time(s)
        self._threshold = thresholds(s)
        self._rest = np.array([float(e.rest) for e in self.events])

    def signs(self) -> tuple[np.ndarray, np.ndarray]:
        """Sign of every crossing, -1 or 1, and which are on the threshold and moving.

        By its value; on the threshold by where it moves, and at rest there as its event says.
        """
        self.unknowns.refresh()
        g = self._g().copy()
        signs = np.sign(g)
        on = np.abs(g) <= self._threshold
        if on.any():
            signs[on] = np.sign(self._rate()[on])
        moving = on & (signs != 0.0)
        signs = np.where(signs == 0.0, self._rest, signs)
        bad = np.flatnonzero(np.isnan(g) | np.isnan(signs))
        if len(bad):
            raise self.workspace.non_finite(self.workspace.context.t, self.events[bad[0]].place)
        return signs, moving

    def fired(self) -> list[int]:
        """Events due at this instant; their new signs are stored."""
        stored = self.workspace.context.signs
        due = []
        signs, moving = self.signs()
        for k, (event, sign) in enumerate(zip(self.events, signs, strict=True)):
            if sign == stored[k]:
                continue
            armed = stored[k] != 0.0 or moving[k]  # 0: the start of a run, where only a crossing counts
            stored[k] = sign
            if armed and event.direction in (0, sign):
                due.append(k)
        return due

    def locate(self, step: AcceptedStep) -> tuple[float, int] | None:
        """First crossing inside a step: its time and its event, None if there is none.

        Signs are looked at in quarters of a step, and, where crossings depend on time other than through
        states, in pieces that a quartic follows: two that are close to each other are not overlooked.
        """
        return self._search(step, step.t0, step.t1, 0)

    def _search(self, step: AcceptedStep, t0: float, t1: float, depth: int) -> tuple[float, int] | None:
        if self.in_time and depth < 10 and not self._resolved(step, t0, t1):
            middle = 0.5 * (t0 + t1)
            return self._search(step, t0, middle, depth + 1) or self._search(step, middle, t1, depth + 1)
        stored = self.workspace.context.signs
        low = t0
        for s in NODES[1:]:
            high = t1 if s == 1.0 else t0 + float(s) * (t1 - t0)
            self._put(step, high)
            signs, _ = self.signs()
            changed = np.flatnonzero(signs != stored)
            due = [int(k) for k in changed if self.events[k].direction in (0, signs[k])]
            if due:
                return min((self._root(step, k, signs[k], low, high), k) for k in due)
            stored[changed] = signs[changed]
            low = high
        return None

    def _put(self, step: AcceptedStep, t: float) -> None:
        self.workspace.put(t, step.x1 if t == step.t1 else step.inside(t))

    def _resolved(self, step: AcceptedStep, t0: float, t1: float) -> bool:
        """Does a quartic through five points of a piece follow every crossing?"""

        def values(s: float) -> np.ndarray:
            self._put(step, t1 if s == 1.0 else t0 + s * (t1 - t0))
            self.unknowns.refresh()
            return self._g().copy()

        known = np.array([values(float(s)) for s in NODES])
        size = np.abs(known).max(axis=0)
        return not any((np.abs(interpolate(known, s) - values(s)) > 0.05 * size).any() for s in CHECKS)

    def _root(self, step: AcceptedStep, k: int, sign: float, low: float, high: float) -> float:
        """Bisection to the last bit that matters; the end that has crossed, to `sign`, is returned."""
        for _ in range(80):
            middle = 0.5 * (low + high)
            if not low < middle < high or high - low <= 1e-15 * max(1.0, abs(high)):
                break
            self.workspace.put(middle, step.inside(middle))
            self.unknowns.refresh()
            if self._g()[k] * sign > 0.0:
                high = middle
            else:
                low = middle
        return high
