"""Connections of single components of arrays (SSP 2.0): blocks that extract one, or join some."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from blocks.contract.block import Block
from cosim.fmi.description import FMUDescription
from cosim.fmi.ssp.connection_ends import ConnectionEnds, Ends
from cosim.fmi.ssp.ssp_errors import fault
from cosim.fmi.ssp.structure import ConnectorLink
from cosim.fmi.ssp.wires import ArrayComponent, GatheredArray


class ArrayParts:
    """The array parts of one system.

    file : for messages; given : values of inputs of what is in the system, in their units
    """

    def __init__(
        self,
        file: str,
        descriptions: Mapping[str, FMUDescription],
        ends: ConnectionEnds,
        given: Mapping[Ends, Any],
    ) -> None:
        self._file, self._descriptions, self._there, self._given = file, descriptions, ends, given
        self._ends: dict[Ends, dict[int, Any]] = {}

    def component(self, c: ConnectorLink) -> Block:
        """The block that extracts the component of an array at which a connection starts."""
        shape = self._there.shape(c.start)
        return ArrayComponent(self._place(c, c.start, c.start_index, shape), math.prod(shape))

    def gather(self, c: ConnectorLink, source: Any) -> None:
        """Note a connection that ends at a component of an array.

        Raises
        ------
        SSPError      no such component, or another connection ends there
        """
        place = self._place(c, c.end, c.end_index, self._there.shape(c.end))
        found = self._ends.setdefault(c.end, {})
        if place in found:
            where = f"component {c.end_index} of '{_name(c.end)}'"
            raise fault(self._file, f"two connections end at {where}", c.line)
        found[place] = source

    def gathered(self) -> Iterator[tuple[Ends, Block, list[Any]]]:
        """Arrays that are joined: their targets, the block that joins, and its sources."""
        for end, parts in self._ends.items():
            places = sorted(parts)
            block = GatheredArray(self._start(end), tuple(places))
            yield end, block, [parts[k] for k in places]

    def _place(self, c: ConnectorLink, end: Ends, index: tuple[int, ...], shape: tuple[int, ...]) -> int:
        """The row-major index from 0 of a component counted from 1 along each dimension."""
        if len(index) != len(shape) or any(i > n for i, n in zip(index, shape, strict=True)):
            said = " ".join(map(str, index))
            raise fault(
                self._file,
                f"a connection names component '{said}' of '{_name(end)}', which is of shape {shape}",
                c.line,
                "Components are counted from 1, one number for each dimension.",
            )
        return int(np.ravel_multi_index([i - 1 for i in index], shape))

    def _start(self, end: Ends) -> tuple[float, ...]:
        """The values of an array where nothing is connected."""
        element, port = end
        given = self._given.get(end)
        if given is None and element in self._descriptions:
            given = self._descriptions[element].variable(port).start
        value = np.asarray(0.0 if given is None else given, dtype=float)
        return tuple(np.broadcast_to(value, math.prod(self._there.shape(end))).tolist())


def _name(end: Ends) -> str:
    return ".".join(filter(None, end))
