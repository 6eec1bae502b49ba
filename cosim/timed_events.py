"""Events of a flat system at times that modes hold: which they are, and where they stand in its schedule."""

from __future__ import annotations

import numpy as np

from cosim.segments import EventSegment, Segment
from cosim.system import System


def timed_events(system: System) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the events at times that memories hold, and places of these in h, (n,) each."""
    found = [(k, e.timed) for k, e in enumerate(system.events) if e.timed >= 0]
    events, places = np.array(found, dtype=int).reshape(-1, 2).T
    return events, places


def timed_segments(system: System) -> np.ndarray:
    """(ne,) the segment of the schedule in which each event fires at its time or follows; -1: none."""
    found = {s.path: k for k, s in enumerate(system.schedule) if isinstance(s, EventSegment)}
    there = [found.get(e.path, -1) if e.timed >= 0 or e.follow_time else -1 for e in system.events]
    return np.array(there, dtype=int)


def following(system: System, segment: Segment) -> list[int]:
    """Numbers of the events whose crossings a segment of events gives, in order; none of another segment."""
    if not isinstance(segment, EventSegment):
        return []
    follow = [k for k, e in enumerate(system.events) if e.path == segment.path and e.follow_time]
    return [follow[place] for place in segment.following]
