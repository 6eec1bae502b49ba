"""What several threads want at once is made by the first, while the others wait."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from cosim.engines.native.compiler_jobs import LOOK


class OneMaker:
    """Keys under way in this process; a child that is forked meanwhile has none: threads are not copied."""

    def __init__(self) -> None:
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._busy: set[str] = set()
        self._changed = threading.Condition()

    @contextmanager
    def alone(self, key: str) -> Iterator[None]:
        """Nobody else is inside with this key; Ctrl-C ends the wait."""
        with self._changed:
            while key in self._busy:
                self._changed.wait(LOOK)
            self._busy.add(key)
        try:
            yield
        finally:
            with self._changed:
                self._busy.discard(key)
                self._changed.notify_all()
