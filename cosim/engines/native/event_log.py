"""Events of a run as the native engine writes them down: rows of numbers, and what they mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from cosim.engines.native import bindings as b
from cosim.result.record import Event, EventList
from cosim.system import System
from cosim.system_parts import SystemEvent

ROOM = 1024  # numbers; grows


class EventLog:
    """Room for events, and their translation; see `pl_event_log`."""

    def __init__(self, system: System, log: b.Structure) -> None:
        self._layouts: list[_Layout] = system.derived.get("event layouts", lambda: _layouts(system))
        self._values = np.zeros(ROOM if self._layouts else 0)
        self._log = log
        self._lend()

    def clear(self) -> None:
        """Forget all events."""
        self._log.used = 0
        if self._log.values == b.ffi().NULL:  # they were discarded
            self._lend()

    def _lend(self) -> None:
        self._log.values, self._log.capacity = b.pointer(self._values), len(self._values)

    def grow(self) -> None:
        """Have room for one more instant at which all events happen."""
        more = sum(layout.length for layout in self._layouts)
        grown = np.zeros(max(2 * len(self._values), self._log.used + more))
        grown[: self._log.used] = self._values[: self._log.used]
        self._values = grown
        self._lend()

    @property
    def used(self) -> int:
        """Numbers written so far."""
        return int(self._log.used)

    def back(self, used: int) -> None:
        """Forget what was written since so many were."""
        self._log.used = used

    def discard(self) -> None:
        """Events are no longer written down."""
        self._log.values, self._log.used = b.ffi().NULL, 0

    def kept(self) -> Callable[[], EventList]:
        """A function that gives all events so far, whatever happens later."""
        return partial(_events, self._layouts, self._values[: self._log.used].copy())


@dataclass(frozen=True)
class _Layout:
    """An event, how many numbers are written of it, and where those of its targets are: before and after."""

    event: SystemEvent
    length: int
    parts: tuple[tuple[str, slice, slice], ...]


def _events(layouts: Sequence[_Layout], written: np.ndarray) -> EventList:
    values, found, at = tuple(written.tolist()), [], 0
    while at < len(values):
        layout = layouts[int(values[at + 1])]
        row, event = values[at : at + layout.length], layout.event
        old, new = {}, {}
        for name, before, after in layout.parts:
            old[name], new[name] = row[before], row[after]
        found.append(Event(row[0], event.name, event.before(old), new))
        at += layout.length
    return EventList(found)


def _layouts(system: System) -> list[_Layout]:
    found = []
    for event in system.events:
        ends = np.cumsum([2, *(len(places) for _, places, _ in event.resets)])  # behind its time and number
        size = int(ends[-1]) - 2
        before, after = (map(slice, e[:-1].tolist(), e[1:].tolist()) for e in (ends, ends + size))
        found.append(_Layout(event, 2 + 2 * size, tuple(zip(event.targets, before, after, strict=True))))
    return found
