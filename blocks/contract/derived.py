"""What was worked out from something that never changes, kept beside it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Derived:
    """Values made once each, by key; any thread may ask. Copies and pickles of it are empty."""

    def __init__(self) -> None:
        self._found: dict[Hashable, Any] = {}
        self._lock = threading.RLock()  # making one value may ask for another

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of a key, made where it is not there yet."""
        try:
            found: T = self._found[key]
        except KeyError:
            with self._lock:
                if key not in self._found:
                    self._found[key] = make()
                found = self._found[key]
        return found

    def __reduce__(self) -> tuple[type[Derived], tuple[()]]:
        """Empty: what is in here is made again where it is needed."""
        return Derived, ()
