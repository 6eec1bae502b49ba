"""Events of a run as the native engine writes them down: rows of numbers, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass

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
        self.clear()

    def clear(self) -> None:
        """Forget all events."""
        self._log.used = 0
        self._lend()

    def _lend(self) -> None:
        self._log.values, self._log.capacity = b.pointer(self._values), len(self._values)

    def grow(self) -> None:
        """Have room for one more instant at which all events happen."""
        more = sum(2 + 2 * layout.size for layout in self._layouts)
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

    def events(self) -> EventList:
        """All events so far."""
        values, found, at = tuple(self._values[: self._log.used].tolist()), [], 0
        while at < len(values):
            layout = self._layouts[int(values[at + 1])]
            event, middle = layout.event, at + 2 + layout.size
            before, after = values[at + 2 : middle], values[middle : middle + layout.size]
            old = event.before({name: before[place] for name, place in layout.parts})
            new = {name: after[place] for name, place in layout.parts}
            found.append(Event(values[at], event.name, old, new))
            at = middle + layout.size
        return EventList(found)


@dataclass(frozen=True)
class _Layout:
    """An event, how many values its resets have, and where those of each target are among them."""

    event: SystemEvent
    size: int
    parts: tuple[tuple[str, slice], ...]


def _layouts(system: System) -> list[_Layout]:
    found = []
    for event in system.events:
        ends = np.cumsum([0, *(len(places) for _, places, _ in event.resets)]).tolist()
        parts = tuple(zip(event.targets, map(slice, ends[:-1], ends[1:]), strict=True))
        found.append(_Layout(event, ends[-1], parts))
    return found
