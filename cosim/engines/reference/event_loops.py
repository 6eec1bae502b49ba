"""Events in loops at one instant: repeated where what they have read there has changed since."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from blocks.errors import SimulationError
from cosim.engines.reference.unknowns import Unknowns
from cosim.engines.reference.workspace import Workspace
from cosim.segments import EventSegment
from cosim.timed_events import timed_segments

ROUNDED = 2.0**-50  # relative change of a number that is none
ROUNDS = 100


class EventLoops:
    """What blocks whose events are in a loop have read at an instant, by the segments of their events."""

    def __init__(self, workspace: Workspace, unknowns: Unknowns) -> None:
        self._context, self._unknowns, system = workspace.context, unknowns, workspace.system
        looped = {
            k: s for k, s in enumerate(system.schedule) if isinstance(s, EventSegment) and s.repeated_by >= 0
        }
        self._looped = {
            k: (s, workspace.bind(f"segment{k}", lambda s=s: [s.expression]))  # type: ignore[misc]
            for k, s in looped.items()
        }
        self._segment_of = timed_segments(system)
        self.begin()

    def begin(self) -> None:
        """An instant begins."""
        self._rounds = 0
        self._fired: set[int] = set()
        self._read: dict[int, np.ndarray] = {}

    def note(self, segment: int) -> None:
        """Events of a segment come next: note what they read."""
        if segment in self._looped:
            self._read[segment] = self._reads(segment)

    def fired(self, events: Iterable[int]) -> None:
        """Events, by their numbers, have fired."""
        if self._looped:
            self._fired.update(self._segment_of[list(events)].tolist())

    def repeat(self, t: float) -> bool:
        """Let events be repeated that have read something else at t [s] than is there now; are there any?

        Raises
        ------
        SimulationError     after too many rounds
        """
        again = []
        for k, (segment, _) in self._looped.items():
            now = self._reads(k)
            if k in self._fired and _differ(now, self._read[k]):
                self._context.h[segment.repeated_by] += 1.0
                again.append(k)
            self._read[k] = now
        self._rounds += bool(again)
        if self._rounds > ROUNDS:
            raise self.unsettled(again, t)
        return bool(again)

    def unsettled(self, segments: Iterable[int], t: float) -> SimulationError:
        """The error about a loop through events of these segments that goes on changing."""
        paths = [self._looped[k][0].path for k in segments]
        names = " and ".join(f"'{path}'" for path in paths)
        return SimulationError(
            f"events in the loop at one instant through {names} do not settle at t={t:.9g} s: what they read "
            f"there still changes after {ROUNDS} rounds.",
            path=paths[0],
            time=t,
            hint="An output in the loop follows an input of its unit at once, with a gain of 1 or more "
            "around the loop: put a UnitDelay into it, or give the samples of a unit an offset.",
        )

    def _reads(self, k: int) -> np.ndarray:
        segment, function = self._looped[k]
        self._unknowns.refresh()
        return function()[len(segment.following) :].copy()


def _differ(a: np.ndarray, b: np.ndarray) -> bool:
    with np.errstate(invalid="ignore"):  # of infinite numbers
        same = (a == b) | (np.abs(a - b) <= ROUNDED * np.maximum(np.abs(a), np.abs(b)))
    return not same.all()
