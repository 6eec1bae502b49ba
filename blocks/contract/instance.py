"""What a run makes of a block that is not looked into, and keeps until it ends."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np


@runtime_checkable
class Instance(Protocol):
    """One run's own copy of an opaque block: what it keeps from call to call belongs to that run alone."""

    def call(self, t: float, u: np.ndarray) -> Any:
        """Outputs at time t [s] from the inputs u (n,)."""

    def save(self) -> bytes:
        """All that changes from call to call; a BlockError says what cannot be saved and the cure."""

    def load(self, state: bytes) -> None:
        """Put back what `save` returned, perhaps in another process."""

    def close(self) -> None:
        """Free its resources; it is not called again."""


Make = Callable[[], Instance]
"""Makes an instance as it is at a start; called once per run."""


@dataclass(frozen=True)
class MakeAnew:
    """Makes an instance that starts anew where the part of a diagram that it is in does."""

    make: Make

    def __call__(self) -> Instance:
        """See `Make`."""
        return _Anew(self.make)


class _Anew:
    """An instance whose last input counts restarts: where it has changed since the call before, a new one."""

    def __init__(self, make: Make) -> None:
        self._make, self._inner = make, make()
        self._restarts = -1.0  # none was called yet

    def call(self, t: float, u: np.ndarray) -> Any:
        restarts = float(u[-1])
        if self._restarts not in (-1.0, restarts):
            self._inner.close()
            self._inner = self._make()
        self._restarts = restarts
        return self._inner.call(t, u[:-1])

    def save(self) -> bytes:
        return struct.pack("<d", self._restarts) + self._inner.save()

    def load(self, state: bytes) -> None:
        (self._restarts,) = struct.unpack_from("<d", state)
        self._inner.load(state[8:])

    def close(self) -> None:
        self._inner.close()
