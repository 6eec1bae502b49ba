"""What is put in order when a system is computed: outputs, sampled memories, implicit unknowns."""

from __future__ import annotations

import abc
from typing import ClassVar, NamedTuple

import casadi as ca
import numpy as np

from blocks.contract.memories import AlgebraicUnknown, ExternalOutput
from cosim.compile.placed_block import PlacedBlock

Masks = tuple[np.ndarray, np.ndarray]  # (components, inputs), (components, memories): what uses what


class SignalKind(abc.ABC):
    """A kind of node, as a class of which nothing is made.

    rank : where nodes of this kind stand among those of one cycle; higher ones come first
    """

    rank: ClassVar[int]

    @staticmethod
    @abc.abstractmethod
    def uses(inst: PlacedBlock, name: str) -> Masks:
        """Which components of inputs and memories a node of a block uses, for each of its components."""


class SampledSignal(SignalKind):
    """A memory that signals pass at a tick."""

    rank = 0

    @staticmethod
    def uses(inst: PlacedBlock, name: str) -> Masks:
        memory = inst.refreshed(name)
        inputs, own, _, _ = inst.traced.depends(f"m:{name}", memory.reads)
        if memory.external:  # an opaque function may use all it is given
            own = _for_all(own, memory.size)
            if isinstance(memory, ExternalOutput) and memory.asked:  # also where it is given nothing
                own[:, inst.traced.slices[memory.asked]] = True
            return _for_all(inputs, memory.size), own
        return inputs, own


class OutputSignal(SignalKind):
    """An output."""

    rank = 1

    @staticmethod
    def uses(inst: PlacedBlock, name: str) -> Masks:
        inputs, own, _, _ = inst.traced.depends(f"y:{name}", inst.output(name).expression)
        return inputs, own


class UnknownSignals(SignalKind):
    """All implicit unknowns of a block together."""

    rank = 2

    @staticmethod
    def uses(inst: PlacedBlock, name: str) -> Masks:
        residual = ca.vertcat(*[m.equation for m in inst.memories(AlgebraicUnknown)])
        inputs, own, _, _ = inst.traced.depends("z:", residual)
        return inputs, own


class TimedEvents(SignalKind):
    """All events of a block at times that modes hold, and those that follow them at once."""

    rank = 3

    @staticmethod
    def uses(inst: PlacedBlock, name: str) -> Masks:
        events = inst.traced.declared.timed_events
        parts = [part for e in events for part in (e.crossing, *(value for _, value in e.resets))]
        inputs, own, _, _ = inst.traced.depends("timed events:", ca.vertcat(*parts))
        return _for_all(inputs, 1), _for_all(own, 1)


class SignalNode(NamedTuple):
    """An output, a sampled memory, all unknowns or timed events of a block; whole, or one component of it."""

    path: str
    kind: type[SignalKind]
    name: str
    component: int | None = None
    shown: str = ""  # what messages call it, where that is not its name

    def __str__(self) -> str:
        suffix = "" if self.component is None else f"[{self.component}]"
        return f"{self.path}.{self.shown or self.name}{suffix}"


WholeSignal = tuple[str, type[SignalKind], str]  # path, kind and name of a node that is not split


def _for_all(mask: np.ndarray, rows: int) -> np.ndarray:
    """The dependencies of all components together, for each of `rows` components."""
    return np.tile(np.any(mask, axis=0), (rows, 1))
