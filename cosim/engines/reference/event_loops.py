"""Loops of events at one instant: gone through again until nothing that is read in them changes.

Which segments are in a loop, and which of them are called again where what they read has changed, is said by
the segment at its end (`SettleSegment`). Memories of a loop that depend on what they were see in every round
what they were before the first one.
"""

from __future__ import annotations

import numpy as np

from cosim.engines.reference.bound import Bound
from cosim.engines.reference.unknowns import Unknowns
from cosim.run.context import Context
from cosim.segments import EventSegment, Segment, SettleSegment

ROUNDED = 2.0**-50  # relative change of a number that is none


class EventLoops:
    """The loops of a schedule at one instant.

    segments : with the functions that give their numbers
    """

    def __init__(self, context: Context, unknowns: Unknowns, segments: list[tuple[Segment, Bound]]) -> None:
        self._context, self._unknowns, self._segments = context, unknowns, segments
        self.ends = {k: s for k, (s, _) in enumerate(segments) if isinstance(s, SettleSegment)}
        self._end_of = {member: k for k, end in self.ends.items() for member in end.members}
        self._readers = {reader for end in self.ends.values() for reader in end.readers}
        self.begin()

    def begin(self) -> None:
        """An instant begins."""
        self._back = -1  # the end of the loop that is gone through again
        self._rounds = 0
        self._called: set[int] = set()
        self._read: dict[int, np.ndarray] = {}
        self._held: dict[int, np.ndarray] = {}

    def skips(self, k: int) -> bool:
        """Is a segment outside of the loop that is gone through again?"""
        return self._back not in (-1, k, self._end_of.get(k))

    def prepare(self, k: int) -> None:
        """A segment comes next: in a loop what it writes is what it was before the first round."""
        segment, h = self._segments[k][0], self._context.h
        if k not in self._end_of or not len(segment.writes) or segment.external is not None:
            return
        if self._back < 0:
            self._held[k] = h[segment.writes]
        elif k in self._held:
            h[segment.writes] = self._held[k]

    def reads_anew(self, k: int) -> bool:
        """Has what a segment reads in its loop changed since it was called at this instant?

        What it reads is noted.
        """
        if k not in self._readers:
            return False
        now = self._reads(k)
        changed = k in self._called and _differ(now, self._read[k])
        self._read[k] = now
        return changed

    def stands(self, k: int) -> bool:
        """Has a segment of a loop been called at this instant, with what it reads now? It is, if not."""
        if k not in self._readers:
            return False
        anew = self.reads_anew(k)
        if k in self._called and not anew:
            return True
        self._called.add(k)
        return False

    def count_again(self, k: int) -> None:
        """Events of a segment are to be repeated."""
        self._context.h[self._segments[k][0].called_again] += 1.0

    def was_called(self, k: int) -> None:
        """A segment was called, or events of it have fired, with what was noted."""
        self._called.add(k)

    def waiting(self, k: int) -> list[int]:
        """Events at the end of a loop that came first in it, but have not fired: they may now."""
        readers = [(r, self._segments[r][0]) for r in self.ends[k].readers if r not in self._called]
        return [r for r, segment in readers if isinstance(segment, EventSegment) and segment.early]

    def next_round(self, k: int, moved: bool) -> int | None:
        """At the end of a loop: the segment to go back to, None where all stands; -1 after too many rounds.

        moved : has an event fired at the end itself?
        """
        end = self.ends[k]
        changed = (r in self._called and _differ(self._reads(r), self._read[r]) for r in end.readers)
        if not moved and not any(changed):
            self._back, self._rounds = -1, 0
            return None
        self._back, self._rounds = k, self._rounds + 1
        return end.members[0] if self._rounds < end.limit else -1

    def _reads(self, k: int) -> np.ndarray:
        segment, function = self._segments[k]
        self._unknowns.refresh()
        return function()[segment.read_again].copy()


def _differ(a: np.ndarray, b: np.ndarray) -> bool:
    same = (a == b) | (np.abs(a - b) <= ROUNDED * np.maximum(np.abs(a), np.abs(b)))
    return not same.all()
