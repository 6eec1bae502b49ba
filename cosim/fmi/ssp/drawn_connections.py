"""Connections of a diagram as an SSP has them: blocks that convert or pick components are part of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from blocks.contract.block import Block
from cosim.compile.netlist import Inport, Netlist, Port
from cosim.fmi.fmu import FMU
from cosim.fmi.ssp.ssp_errors import SSPError
from cosim.fmi.ssp.wires import (
    ArrayComponent,
    GatheredArray,
    LinearConnection,
    MappedConnection,
    OpenInput,
)

PARTS_OF_CONNECTIONS = (LinearConnection, MappedConnection, ArrayComponent, GatheredArray)


@dataclass(frozen=True)
class DrawnConnection:
    """A connection from one port to another; an element "" is the system itself.

    source : the block it starts at; indices : of components of arrays, by the attribute's name
    linear : (factor, offset) on the way; table : ((source, target), ...) on the way
    """

    source: Block | Netlist | Inport
    start: Port
    end: Port = ("", "")
    indices: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    linear: tuple[float, float] | None = None
    table: tuple[tuple[float, float], ...] = ()


def connections_of(netlist: Netlist) -> Iterator[DrawnConnection]:
    """All connections of one level of a diagram.

    Raises
    ------
    SSPError      one that SSP has no words for
    """
    drivers = {end: start for start, end in netlist.connections}
    ends = [*netlist.connections, *((start, ("", name)) for name, start in netlist.outports.items())]
    for start, end in ends:
        node = netlist.nodes.get(end[0])
        if isinstance(node, PARTS_OF_CONNECTIONS):
            continue
        gathered = netlist.nodes[start[0]]
        if not isinstance(gathered, GatheredArray):
            yield replace(_from(netlist, drivers, start), end=end)
            continue
        kept = OpenInput(gathered.start)  # components that nothing is connected to
        yield DrawnConnection(kept, start, end)
        shape = shape_at(netlist, end[1], "output") if not end[0] else _shape_of(netlist, end, into=True)
        for k, place in enumerate(gathered.places):
            found = _from(netlist, drivers, drivers[start[0], f"u{k}"])
            index = _counted(place, shape or (np.size(gathered.start),))
            yield replace(found, end=end, indices={**found.indices, "endIndices": index})


def _from(netlist: Netlist, drivers: Mapping[Port, Port], port: Port) -> DrawnConnection:
    """The source of a port inside, with all changes of the signal on the way."""
    block = netlist.nodes[port[0]]
    if isinstance(block, Inport):
        return DrawnConnection(block, ("", port[0]))
    if not isinstance(block, PARTS_OF_CONNECTIONS):
        return DrawnConnection(block, port)
    if isinstance(block, GatheredArray):
        raise SSPError(
            f"export_ssp: the array that '{port[0]}' puts together goes to another block that converts, "
            "which no connection of SSP does.",
            path=port[0],
        )
    source = drivers[port[0], "u"]
    found = _from(netlist, drivers, source)
    if isinstance(block, ArrayComponent):
        shape = _shape_of(netlist, source) or (block.size,)
        return replace(found, indices={"startIndices": _counted(block.place, shape)})
    if isinstance(block, LinearConnection):
        factor, offset = found.linear or (1.0, 0.0)
        found = replace(found, linear=(block.factor * factor, block.factor * offset + block.offset))
    else:
        found = replace(found, table=(*found.table, *block.table))
    if found.table and (found.linear or len(found.table) > len(getattr(block, "table", ()))):
        raise SSPError(
            f"export_ssp: the connection that ends behind '{port[0]}' has two transformations one after "
            "the other, a table among them; connections of SSP have one.",
            path=port[0],
        )
    return found


def _counted(place: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A component counted from 1 along each dimension."""
    return tuple(int(k) + 1 for k in np.unravel_index(place, shape))


def shape_at(netlist: Netlist, port: str, kind: str) -> tuple[int, ...]:
    """The shape of an inport or outport of a diagram, () for a scalar."""
    if kind == "input":
        return _shape_of(netlist, (port, "out"))
    return _shape_of(netlist, netlist.outports[port])


def _shape_of(netlist: Netlist, port: Port, into: bool = False) -> tuple[int, ...]:
    """The shape of a signal at a port inside; into: of an input of what is there."""
    block: Any = netlist.nodes[port[0]]
    if isinstance(block, FMU):
        return block.description.variable(port[1]).shape
    if isinstance(block, Netlist):
        return shape_at(block, port[1], "input" if into else "output")
    if isinstance(block, (LinearConnection, MappedConnection)):
        drivers = {end: start for start, end in netlist.connections}
        return _shape_of(netlist, drivers[port[0], "u"])
    size = np.size(block.start) if isinstance(block, GatheredArray) else 1
    size = block.size if isinstance(block, Inport) else size
    return (int(size),) if size != 1 else ()


def has_arrays(netlist: Netlist) -> bool:
    """Whether there are ports or start values that are arrays."""
    for block in netlist.nodes.values():
        if isinstance(block, Netlist):
            found = has_arrays(block)
        elif isinstance(block, FMU):
            d = block.description
            given = (d.variables[name] for name in block.start_values)
            found = any(v.shape for v in (*d.inputs, *block.output_variables, *given))
        else:
            found = isinstance(block, Inport) and block.size > 1
        if found:
            return True
    return False
