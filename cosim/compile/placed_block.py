"""One block at its place in the flat diagram: its traced shape, numbers, symbols and drivers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

import casadi as ca

from blocks.contract.block import Block
from blocks.contract.declared import Output
from blocks.contract.memories import Memory, Refreshed
from blocks.contract.trace import NOTHING, BlockNumbers, Traced
from cosim.compile.netlist import Port

M = TypeVar("M", bound=Memory)


@dataclass
class PlacedBlock:
    """A block of the flat diagram.

    drivers : for each input, in order, the output that drives it (None: grounded)
    before : the block at one of whose ports the framework put this one; "" for a block of the diagram
    symbols : for each memory, its symbols in the global system
    own, p, ticks : those symbols stacked the way the functions of `traced` take them
    obeys : is it in a part that may stand still, or does it say when one does?
    """

    path: str
    block: Block
    traced: Traced
    values: BlockNumbers
    drivers: list[Port | None]
    before: str = ""
    symbols: dict[str, ca.SX] = field(default_factory=dict)
    own: ca.SX = NOTHING
    p: ca.SX = NOTHING
    ticks: ca.SX = NOTHING
    obeys: bool = False

    @property
    def owner(self) -> str:
        """Path of the block of the diagram that this one is, or belongs to."""
        return self.before or self.path

    def memories(self, kind: type[M]) -> list[M]:
        """Memories of a kind, in order of declaration."""
        return self.traced.declared.memories_of(kind)

    def output(self, name: str) -> Output:
        """Output by name."""
        return next(o for o in self.traced.declared.outputs if o.name == name)

    def memory(self, name: str) -> Memory:
        """Memory by name."""
        return next(m for m in self.traced.declared.memories if m.name == name)

    def refreshed(self, name: str) -> Refreshed:
        """Memory by name, of those that signals pass at a tick."""
        return next(m for m in self.memories(Refreshed) if m.name == name)
