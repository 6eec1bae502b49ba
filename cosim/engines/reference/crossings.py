"""Zero crossings: their signs, and where inside a step one changes (ARCHITECTURE.md, "Events")."""

from __future__ import annotations

import enum
from collections.abc import Sequence

import numpy as np

from blocks.contract.event_equations import SAME_INSTANT
from cosim.engines.methods.crossing_rates import (
    crossing_rates,
    crossings_of,
    depend_on_time,
    taken_anew,
    thresholds,
)
from cosim.engines.methods.event_order import event_order
from cosim.engines.methods.steppers import AcceptedStep
from cosim.engines.reference.invariants import Invariants
from cosim.engines.reference.unknowns import Unknowns
from cosim.engines.reference.workspace import Workspace
from cosim.run.history import CHECKS, NODES, at_checks, interpolate
from cosim.segments import EventSegment
from cosim.timed_events import following, timed_events, timed_segments

ANEW = 2.0  # stored sign of a crossing whose own reset may have changed it
LAST_BITS = 2.0**-50  # relative change of a state that counts as its rounding
TINY = 1e-6  # of its size in a piece; a crossing that goes less far beyond zero and comes back does not count
JUMP = 1e-6  # of the largest value of a crossing: what moves it more is a jump and no rounding


class Part(enum.Enum):
    """Parts of an instant in which events fire."""

    BEFORE = enum.auto()  # all but timed ones, before anything is counted
    TIMED = enum.auto()  # timed ones of one segment and what follows them
    AFTER = enum.auto()  # all, after the segments


class Crossings:
    """The crossings of a system; the sign stored of each is part of the context."""

    def __init__(self, workspace: Workspace, unknowns: Unknowns, invariants: Invariants) -> None:
        self.workspace, self.unknowns, self.invariants = workspace, unknowns, invariants
        s = workspace.system
        self.events = s.events
        self._g = workspace.bind("crossings", lambda: [crossings_of(s)])
        self._rate = workspace.bind("crossing rates", lambda: [crossing_rates(s)])
        self.in_time = depend_on_time(s)
        self.threshold = thresholds(s)
        self._anew = taken_anew(s)
        self._order = event_order(s)
        self._now = np.zeros(len(s.events))
        self._largest = np.zeros(len(s.events))
        self._missed = np.zeros(len(s.events))  # |g| of those located at this instant: rounding left it
        self.farthest = np.zeros(len(s.events))  # largest |g| of each since it fired last
        k = np.arange(len(workspace.context.x))
        self._shaken = 1.0 + LAST_BITS * np.where(k % 2, -1.0, 1.0) * (1.0 + (k % 7) / 7.0)
        self._rest = np.array([float(e.rest) for e in self.events])
        self._timed_events, self._event_times = timed_events(s)
        self._timed = np.isin(np.arange(len(s.events)), self._timed_events)
        self._timed_segment = timed_segments(s)
        self._early = np.array(
            [isinstance(g, EventSegment) and bool(g.early) for g in s.schedule], dtype=bool
        )
        self._following = {
            k: (workspace.bind(f"following{k}", lambda g=g: [g.expression]), following(s, g))  # type: ignore[misc]
            for k, g in enumerate(s.schedule)
            if isinstance(g, EventSegment) and g.following
        }
        self._segment = -1  # whose timed events come next

    def signs(self) -> tuple[np.ndarray, np.ndarray]:
        """Sign of every crossing, -1 or 1, and which are on the threshold and moving.

        By its value; on the threshold by where it moves, and at rest there as its event says.
        """
        self.unknowns.refresh()
        self._now = g = self._g().copy()
        signs = np.sign(g)
        moving = on = np.abs(g) <= self._near()
        if on.any():  # all that are 0 among them
            signs[on] = np.sign(self._rate()[on])
            moving = on & (signs != 0.0)
            signs = np.where(signs == 0.0, self._rest, signs)
        bad = np.isnan(signs)  # where the crossing is, too
        if bad.any():
            raise self.workspace.non_finite(self.workspace.context.t, self.events[int(bad.argmax())].place)
        return signs, moving

    def _near(self) -> np.ndarray:
        """How near to zero a crossing is on its threshold, (ne,)."""
        return np.fmax(self.threshold, self._missed)

    def begin(self) -> None:
        """Begin to record afresh how far crossings go."""
        self.farthest[:] = self._largest[:] = 0.0

    def located(self, due: list[int]) -> None:
        """Events were located here: they are on their thresholds, however far rounding left them from it."""
        self.unknowns.refresh()
        g = np.abs(self._g())
        near = [k for k in due if 0.0 < self.threshold[k] < g[k]]
        if near:
            self._missed[near] = np.where(g <= self._rounding(), g, 0.0)[near]

    def left(self) -> None:
        """The instant is over: values alone say again who is on a threshold."""
        self._missed[:] = 0.0

    def idle(self, due: list[int]) -> np.ndarray:
        """Which have not left their thresholds since they fired last, but for what rounding makes of them.

        How far they have gone is counted anew.
        """
        near = self.farthest[due] <= np.fmax(self.threshold, self._rounding())[due]
        self.farthest[due] = 0.0
        return near

    def _rounding(self) -> np.ndarray:
        """How far each crossing may be from zero by the last bits of the states alone, (ne,)."""
        x, g = self.workspace.context.x, self._g().copy()
        kept = x.copy()
        x *= self._shaken
        moved = np.abs(self._g() - g)
        x[:] = kept
        return np.fmin(4.0 * moved, JUMP * self._largest)

    def reset_by(self, due: list[int]) -> None:
        """Events were applied: what their resets did is no crossing of the events `taken_anew` lists."""
        for k in due:
            self.workspace.context.signs[self._anew[k]] = ANEW

    def event_times(self) -> np.ndarray:
        """Times of events to come [s]."""
        return self.workspace.context.h[self._event_times]

    def moved(self, before: np.ndarray) -> None:
        """Events whose times have changed may be due at once, whether or not they were before."""
        self.workspace.context.signs[self._timed_events[self.event_times() != before]] = -1.0

    def _due_times(self) -> np.ndarray:
        """Which times of events are not to come here, (n,)."""
        times = self.event_times()
        due: np.ndarray = times <= self.workspace.context.t + SAME_INSTANT * np.fmax(1.0, np.abs(times))
        return due

    def begin_segment(self, segment: int) -> bool:
        """The timed events of a segment come next: may one be due, or one that follows them or inputs?"""
        self._segment = segment
        if (self._due_times() & (self._timed_segment[self._timed_events] == segment)).any():
            return True
        if segment not in self._following:
            return False
        crossings, events = self._following[segment]
        self.unknowns.refresh()
        now = crossings()[: len(events)]
        return not (now * self.workspace.context.signs[events] > self.threshold[events]).all()

    def _note_farthest(self, which: np.ndarray | slice = slice(None)) -> None:
        self.farthest[which] = np.fmax(self.farthest, np.abs(self._now))[which]
        self._largest[which] = np.fmax(self._largest, self.farthest)[which]

    def waiting(self, part: Part) -> np.ndarray:
        """Which wait for another part of an instant, with their signs as they were, (ne,)."""
        armed = self.workspace.context.signs != 0.0
        if part is Part.BEFORE:  # one event of a block that has a timed one here
            due = self._timed_segment[self._timed_events[self._due_times()]]
            return armed & (self._timed | np.isin(self._timed_segment, due))
        if part is Part.TIMED:
            others = self._timed_segment != self._segment
            return others | ~armed if self._early[self._segment] else others  # at a start after all they read
        return np.zeros(len(self.events), dtype=bool)

    def fired(self, part: Part) -> list[int]:
        """Events due in this part of an instant; their new signs are stored.

        Crossings that depend on what others due reset wait for them, with their signs as they were.
        """
        stored = self.workspace.context.signs
        signs, moving = self.signs()
        self._note_farthest()
        changed = np.flatnonzero((signs != stored) & ~self.waiting(part)).tolist()
        due = [k for k in changed if self._fires(k, signs[k], moving[k])]
        if due and len(changed) > 1 and not self._order.trivial:
            # of those without a sign yet, one that does not fire takes the sign it has before the others
            waits = self._order.behind(due) & ((np.abs(stored) == 1.0) | np.isin(np.arange(len(stored)), due))
            changed, due = ([k for k in some if not waits[k]] for some in (changed, due))
        stored[changed] = signs[changed]
        return due

    def _fires(self, k: int, sign: float, moving: bool) -> bool:
        """Is an event due whose crossing has this sign now?"""
        event, stored = self.events[k], self.workspace.context.signs[k]
        # 0: the start of a run, where only a crossing counts
        armed = stored != 0.0 or moving or event.eager
        return bool(armed and stored != ANEW and event.direction in (0, sign))

    def locate(self, step: AcceptedStep) -> tuple[float, int] | None:
        """First crossing inside a step: its time and its event, None if there is none.

        Signs are looked at in quarters of a step, and, where crossings depend on time other than through
        states, in pieces that a quartic follows: two that are close to each other are not overlooked.
        """
        return self._search(step, step.t0, step.t1, 0)

    def _search(self, step: AcceptedStep, t0: float, t1: float, depth: int) -> tuple[float, int] | None:
        if self.in_time:
            known = self._known(step, t0, t1)
            if depth < 10 and not self._resolved(step, t0, t1, known):
                middle = 0.5 * (t0 + t1)
                return self._search(step, t0, middle, depth + 1) or self._search(step, middle, t1, depth + 1)
            if self._keep_signs(known[1:]):
                return None
        elif not self.unknowns.count and self._keep_signs(self._known(step, t0, t1, NODES[1:])):
            return None  # with unknowns in turn, as they may have no solution behind a crossing
        stored = self.workspace.context.signs
        low = t0
        for s in NODES[1:]:
            high = t1 if s == 1.0 else t0 + float(s) * (t1 - t0)
            self._put(step, high)
            signs, _ = self.signs()
            changed = np.flatnonzero(signs != stored)
            due = [int(k) for k in changed if self.events[k].direction in (0, signs[k])]
            if due:
                first = min((self._root(step, k, signs[k], low, high), k) for k in due)
                self._put(step, 0.5 * (low + first[0]))  # a whole flight may lie in this quarter
                self.unknowns.refresh()
                self._now = self._g().copy()
                self._note_farthest(changed)
                return first
            self._note_farthest()
            stored[changed] = signs[changed]
            low = high
        return None

    def _put(self, step: AcceptedStep, t: float) -> None:
        self.workspace.put(t, step.x1 if t == step.t1 else step.inside(t))

    def _values(self, step: AcceptedStep, t: float) -> np.ndarray:
        """Of every crossing at a time inside a step, until the next call."""
        self._put(step, t)
        self.unknowns.refresh()
        return self._g()

    def _known(self, step: AcceptedStep, t0: float, t1: float, nodes: Sequence[float] = NODES) -> np.ndarray:
        """Every crossing at nodes of a piece of a step, (n, ne)."""
        known = np.empty((len(nodes), len(self.events)))
        for k, s in enumerate(nodes):
            known[k] = self._values(step, t1 if s == 1.0 else t0 + s * (t1 - t0))
        return known

    def _resolved(self, step: AcceptedStep, t0: float, t1: float, known: np.ndarray) -> bool:
        """Does a quartic through `known` follow every crossing, and do these show each change of sign?"""
        far = np.abs(known)
        size = far.max(axis=0)
        for s, quartic in zip(CHECKS, at_checks(known), strict=True):
            if (np.abs(quartic - self._values(step, t0 + s * (t1 - t0))) > 0.05 * size).any():
                return False
        return not _there_and_back(known, far, TINY * size)

    def _keep_signs(self, known: np.ndarray) -> bool:
        """Have all crossings, (n, ne), the signs stored of them? Then how far they go is noted."""
        far = np.abs(known)
        if not ((np.sign(known) == self.workspace.context.signs) & (far > self._near())).all():
            return False
        np.fmax(self.farthest, far.max(axis=0), out=self.farthest)
        np.fmax(self._largest, self.farthest, out=self._largest)
        return True

    def _root(self, step: AcceptedStep, k: int, sign: float, low: float, high: float) -> float:
        """A root to the last bit that matters; returns the end that has crossed to `sign`.

        Secants, of which two in a row that leave more than half of the bracket are followed by its middle; an
        end that stays has its value halved (Dahlquist & Björck, Numerical Methods in Scientific Computing I,
        sec. 6.2.2, Illinois method). A secant ends no nearer to an end than the last bit. The crossing is
        looked at where the invariants hold, as they do after the event: else it might fire again there.
        """

        def beyond(t: float) -> float:
            self.workspace.put(t, self.invariants.restored(t, step.inside(t)))
            self.unknowns.refresh()
            return float(self._g()[k] * sign)

        begin, end = low, high
        below, above, before, slow, last = beyond(low), beyond(high), np.inf, 0, 0
        # a jump before the step has put it there, where it rests; what moves there has a root
        if below == above and abs(above) <= self.threshold[k]:
            return self._turn(step, k, sign, begin, end)
        beyond_at_all = below > 0.0
        for _ in range(200):
            middle, width = 0.5 * (low + high), high - low
            bit = 1e-15 * max(1.0, abs(high))
            if not low < middle < high or width <= bit:
                break
            t = middle
            slow = slow + 1 if width > 0.5 * before else 0
            if slow < 2 and below <= 0.0 < above:
                t = low + width * (below / (below - above))
                t = high - bit if t > high - bit else low + bit if t < low + bit else t
                if not low < t < high:
                    t = middle
            else:
                slow = 0
            before = width
            value = beyond(t)
            if value > 0.0:
                high, above = t, value
                below *= 0.5 if last > 0 else 1.0
                last = 1
            else:
                low, below, beyond_at_all = t, value, False
                above *= 0.5 if last < 0 else 1.0
                last = -1
        return self._turn(step, k, sign, begin, end) if beyond_at_all else high

    def _turn(self, step: AcceptedStep, k: int, sign: float, low: float, high: float) -> float:
        """Where the sign of a crossing changes that is on its threshold all the way: it moves, or rests."""
        while low < (middle := 0.5 * (low + high)) < high and high - low > 1e-15 * max(1.0, abs(high)):
            self._put(step, middle)
            if self.signs()[0][k] == sign:
                high = middle
            else:
                low = middle
        return high


def _there_and_back(known: np.ndarray, size: np.ndarray, far: np.ndarray) -> bool:
    """Does the quartic of any crossing pass zero between two nodes at which it has one sign?

    Looked for where the nodes, of this size, are nearer to zero than a parabola bends between them, twice
    over.
    """
    bend = np.abs(known[:-2] - 2.0 * known[1:-1] + known[2:]).max(axis=0)
    near = np.fmin(size[:-1], size[1:]) <= 0.25 * bend
    if not near.any():
        return False
    near &= known[:-1] * known[1:] > 0.0
    for q in np.flatnonzero(near.any(axis=1)):
        for m in (1, 2, 3):
            v = interpolate(known, float(0.25 * (q + 0.25 * m)))
            if (near[q] & (np.abs(v) > far) & ((v > 0.0) != (known[q] > 0.0))).any():
                return True
    return False
