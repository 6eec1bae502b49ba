"""Blocks for the changes of a signal on an SSP connection, and for open inputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blocks.contract.block import Block, Equations


@dataclass(frozen=True)
class LinearConnection(Block):
    """A connection that scales: y = factor u + offset, for a conversion of units or as the file says.

    Direct feedthrough: u to y.  No states.
    """

    factor: float = 1.0
    offset: float = 0.0

    def define(self, b: Equations) -> None:
        """Declare ports and the equation."""
        u = b.input("u")
        factor, offset = b.parameters(factor=self.factor, offset=self.offset)
        b.output("y", factor * u + offset)


@dataclass(frozen=True)
class MappedConnection(Block):
    """A connection with a table: y is the target of the source that u is, and u where there is none.

    Direct feedthrough: u to y.  No states. Its signals are whole numbers or truth values.

    table : ((source, target), ...)
    """

    table: tuple[tuple[float, float], ...]
    switches_by_design = True

    def define(self, b: Equations) -> None:
        """Declare ports and the equation."""
        u = b.input("u")
        y: Any = u
        for source, target in self.table:
            y = np.where(u == source, target, y)
        b.output("y", y)


@dataclass(frozen=True)
class OpenInput(Block):
    """The start value of an input without a connection.

    Output: y = value.  No inputs, no states.
    """

    value: Any = field(default=0.0)

    def define(self, b: Equations) -> None:
        """Declare the output."""
        (value,) = b.parameters(value=np.ravel(np.asarray(self.value, dtype=float)))
        b.output("y", value)


@dataclass(frozen=True)
class ArrayComponent(Block):
    """A connection that starts at one component of an array: y = u[place], counted from 0, row-major.

    Direct feedthrough: u to y.  No states.
    """

    place: int
    size: int

    def define(self, b: Equations) -> None:
        """Declare ports and the equation."""
        b.output("y", b.input("u", size=self.size)[self.place])


@dataclass(frozen=True)
class GatheredArray(Block):
    """Connections that end at single components of an array: y[places[k]] = uk, the others keep their start.

    Inputs: u0, u1, ...  Output: y.  Direct feedthrough: all inputs to y.  No states.

    start : (n,) the whole array; places : counted from 0, row-major
    """

    start: Any
    places: tuple[int, ...]

    def define(self, b: Equations) -> None:
        """Declare ports and the equation."""
        (start,) = b.parameters(start=np.ravel(np.asarray(self.start, dtype=float)))
        from_wires = {place: b.input(f"u{k}") for k, place in enumerate(self.places)}
        every = range(np.size(self.start))
        parts = [from_wires[k] if k in from_wires else start[k : k + 1] for k in every]
        b.output("y", np.concatenate(parts))
