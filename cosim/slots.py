"""Named places in the vectors of a system."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from blocks.contract.declared import Memory


@dataclass(frozen=True)
class Slot:
    """A named piece of one of the vectors; `index` are its places there."""

    name: str
    kind: str
    index: np.ndarray
    initial: np.ndarray
    labels: tuple[str, ...] = ()
    memory: Memory | None = None
    path: str = ""  # the block it belongs to
    rate: int | None = None
    times: tuple[Fraction, ...] = ()
    shape: tuple[int, ...] = ()
    mask: np.ndarray | None = None  # parameters: which entries of the array are run-time numbers

    @property
    def size(self) -> int:
        """Number of components."""
        return len(self.index)

    @property
    def shown(self) -> str:
        """What messages call it."""
        return f"{self.path}.{self.memory.output}" if self.memory and self.memory.output else self.name


@dataclass(frozen=True)
class Place:
    """What a message is about: a number of a block, `name` with `component` if it is one of several."""

    name: str
    path: str
    component: int | None = None

    def __str__(self) -> str:
        return self.name if self.component is None else f"{self.name}[{self.component}]"
