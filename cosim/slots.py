"""Named places in the vectors of a system.

One class per thing that has a place: a memory of a block, a parameter, the counters of a rate, the unknown of
a loop, what is added to a signal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from blocks.contract.exact_instants import NO_INSTANTS, ListedInstants
from blocks.contract.memories import Memory

M = TypeVar("M", bound=Memory)


@dataclass(frozen=True)
class Place:
    """What a message is about: a number of a block, `name` with `component` if it is one of several."""

    name: str
    path: str
    component: int | None = None

    def __str__(self) -> str:
        return self.name if self.component is None else f"{self.name}[{self.component}]"


@dataclass(frozen=True)
class Sought:
    """What one unknown that is solved for stands for, by the name of its signal or memory.

    equation : whose implicit equation it solves; "" where it is the cut of an algebraic loop
    """

    name: str
    equation: str = ""


@dataclass(frozen=True)
class Slot:
    """A named piece of one of the vectors; what it holds is a subclass.

    index : (size,) its places there; initial : (size,) float
    """

    name: str
    index: np.ndarray
    initial: np.ndarray

    @property
    def size(self) -> int:
        """Number of components."""
        return len(self.index)

    @property
    def labels(self) -> tuple[str, ...]:
        """A label for each component, may be empty."""
        return ()

    @property
    def components(self) -> list[str]:
        """What each component is called behind the name, in brackets; "" where there is one only."""
        return [str(k) for k in range(self.size)] if self.size > 1 else [""] * self.size

    def place(self, index: int) -> Place:
        """The number at a place of the vector, for messages."""
        return Place(self.name, "", self._component(index))

    def _component(self, index: int) -> int | None:
        return int(index - self.index[0]) if self.size > 1 else None


@dataclass(frozen=True)
class MemorySlot(Slot, Generic[M]):
    """A memory of the block `path`.

    rate : number of the rate at whose ticks alone it changes, None if there is none
    times : instants [s] it counts
    units : one per component, "" where none is known; empty where nothing is
    """

    memory: M
    path: str
    rate: int | None = None
    times: ListedInstants = NO_INSTANTS
    units: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """See `Slot.labels`."""
        return self.memory.component_labels

    def place(self, index: int) -> Place:
        """See `Slot.place`; a sampled output is called as its signal is."""
        m = self.memory
        name = self.name if m.shown == m.name else f"{self.path}.{m.shown}"
        return Place(name, self.path, self._component(index))


@dataclass(frozen=True)
class ParameterSlot(Slot):
    """The run-time numbers of a parameter: where `mask` is True in an array of its `shape`; their unit."""

    shape: tuple[int, ...]
    mask: np.ndarray
    unit: str = ""

    @property
    def components(self) -> list[str]:
        """See `Slot.components`: indices into the array."""
        if not self.shape:
            return super().components
        return [",".join(map(str, entry)) for entry in np.argwhere(self.mask)]


@dataclass(frozen=True)
class TickSlot(Slot):
    """Of one rate: the time of the last tick, the number of ticks, and those since holds restarted."""


@dataclass(frozen=True)
class LoopSlot(Slot):
    """An output that is an unknown of an algebraic loop between ticks."""


@dataclass(frozen=True)
class AddedSlot(Slot):
    """What is added to a signal from outside."""
