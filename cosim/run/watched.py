"""Warnings of blocks that watch a signal, given at the end of a run."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import numpy as np

from cosim.result.record import Event
from cosim.segments import EventSegment
from cosim.system import System


class WatchedSignalWarning(UserWarning):
    """A block that watches a signal, such as `CheckRange`, found a violation."""


def watches(system: System) -> bool:
    """Whether the events of a run of it may be warned of."""
    found: bool = system.derived.get(
        "watches", lambda: any(e.warning or e.unmet for e in system.events) or bool(_early(system))
    )
    return found


def warn_of_watched(system: System, events: Iterable[Event]) -> None:
    """Warn, block by block, of events that fired and have a warning: the first time, and how often."""
    texts: dict[str, tuple[str, str]] = system.derived.get(
        "warnings of events", lambda: {e.name: (e.path, e.warning) for e in system.events if e.warning}
    )
    if not texts:
        return
    times: dict[tuple[str, str], list[float]] = {}
    for event in events:
        if event.name in texts:
            times.setdefault(texts[event.name], []).append(event.time)
    for (path, text), found in times.items():
        often = "once" if len(found) == 1 else f"{len(found)} times"
        warnings.warn(
            f"'{path}': {text} ({often}, first at t={found[0]:.6g} s).", WatchedSignalWarning, stacklevel=3
        )


def warn_of_early(system: System, events: Iterable[Event]) -> None:
    """Warn of blocks whose timed events read, in a loop at one instant, what was there before it.

    At the start they come after all that they read.
    """
    early: dict[str, tuple[str, ...]] = system.derived.get("early events", lambda: _early(system))
    if not early:
        return
    owners = {e.name: e.path for e in system.events if e.timed >= 0 and e.path in early}
    times: dict[str, list[float]] = {}
    for event in events:
        if event.name in owners and event.time > 0.0:
            times.setdefault(owners[event.name], []).append(event.time)
    for path, found in times.items():
        read = " and ".join(map(repr, early[path]))
        often = "one instant" if len(found) == 1 else f"{len(found)} instants"
        warnings.warn(
            f"'{path}' is in a loop at one instant, and comes first in it: its events at {often}, first at "
            f"t={found[0]:.6g} s, read {read} as before that instant. If they depend on what changes there, "
            "they were one sample late: give samples of the loop an offset, or draw the unit as blocks.",
            WatchedSignalWarning,
            stacklevel=3,
        )


def _early(system: System) -> dict[str, tuple[str, ...]]:
    """What blocks read as before an instant, by path, where their loop is not gone through again."""
    segments = [s for s in system.schedule if isinstance(s, EventSegment)]
    return {s.path: s.early for s in segments if s.early and s.repeated_by < 0}


def warn_of_unmet(system: System, events: Iterable[Event], signs: np.ndarray) -> None:
    """Warn of events that could not fire in a run from its start on, because it was beyond them all the time.

    signs : (ne,) of the crossings at the end; one that did not fire has kept that of the start
    """
    if not system.derived.get("any unmet", lambda: any(event.unmet for event in system.events)):
        return
    fired = {event.name for event in events}
    for event, sign in zip(system.events, signs, strict=True):
        if event.unmet and event.name not in fired and sign * event.direction > 0:
            warnings.warn(f"'{event.path}': {event.unmet}.", WatchedSignalWarning, stacklevel=3)
