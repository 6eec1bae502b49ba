"""What a run makes of a block that is not looked into, and keeps until it ends."""

from __future__ import annotations

from collections.abc import Callable
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
