"""Who advances a simulation: one thread at a time, and nobody else changes it or looks at it meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from blocks.errors import PlantloopError


class Advancing:
    """A lock that knows which thread holds it. name : of what is simulated, for messages"""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._thread: int | None = None

    @contextmanager
    def taken(self) -> Iterator[None]:
        """While it is advanced.

        Raises
        ------
        PlantloopError      it is being advanced already
        """
        if not self._lock.acquire(blocking=False):
            raise PlantloopError(
                f"advance: this simulation of '{self._name}' is being advanced already, in another "
                "thread or by a function that it calls.",
                hint="Make a Simulation for each thread; they may be of one diagram.",
            )
        self._thread = threading.get_ident()
        try:
            yield
        finally:
            self._thread = None
            self._lock.release()

    def refuse_changes(self, what: str) -> None:
        """Refuse to change what is being advanced: it would count from the middle of a step on."""
        if self._lock.locked():
            raise PlantloopError(
                f"{what}: this simulation of '{self._name}' is being advanced, in another thread or by a "
                "function that it calls.",
                hint="Advance it in pieces, advance(0.1), advance(0.2), ..., and change it between them.",
            )

    def refuse_looks(self, what: str) -> None:
        """Refuse to look from another thread: it would evaluate equations that a step evaluates."""
        if self._thread not in (None, threading.get_ident()):
            self.refuse_changes(what)
