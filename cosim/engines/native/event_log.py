"""Events of a run as the native engine writes them down: rows of numbers, and what they mean."""

from __future__ import annotations

import numpy as np

from cosim.engines.native import bindings as b
from cosim.result.record import Event
from cosim.system import System
from cosim.system_parts import SystemEvent

ROOM = 1024  # numbers; grows


class EventLog:
    """Room for events, and their translation; see `pl_event_log`."""

    def __init__(self, system: System, log: b.Structure) -> None:
        self._events = system.events
        self._sizes = [sum(len(places) for _, places, _ in e.resets) for e in system.events]
        self._values = np.zeros(ROOM if system.events else 0)
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
        more = sum(2 + 2 * size for size in self._sizes)
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

    def events(self) -> tuple[Event, ...]:
        """All events so far."""
        found, at = [], 0
        while at < self._log.used:
            time, k = float(self._values[at]), int(self._values[at + 1])
            event, size = self._events[k], self._sizes[k]
            before, after = (self._values[at + 2 + i * size : at + 2 + (i + 1) * size] for i in (0, 1))
            old, new = _by_name(event, before), _by_name(event, after)
            found.append(Event(time, event.name, event.before(old), new))
            at += 2 + 2 * size
        return tuple(found)


def _by_name(event: SystemEvent, values: np.ndarray) -> dict[str, tuple[float, ...]]:
    found, at = {}, 0
    for name, (_, places, _) in zip(event.targets, event.resets, strict=True):
        found[name] = tuple(values[at : at + len(places)].tolist())
        at += len(places)
    return found
