"""What was drawn, as data: the blocks of one diagram and how its ports are connected.

A netlist is all the compiler knows of a diagram. The class with which users draw makes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from blocks.contract.block import Block

Port = tuple[str, str]  # (name or path of a node, name of one of its ports)


@dataclass(frozen=True)
class Inport:
    """Where a signal enters a diagram: an input of the subsystem, or of the whole system.

    `size` is only needed at the top level, where nothing is connected to it.
    """

    size: int = 1


@dataclass(frozen=True)
class Netlist:
    """Nodes by name and connections between their ports, as drawn: nothing is checked yet.

    connections : (output, input) for each connection; a signal of an `Inport` is its port "out"
    outports    : outputs of the diagram by name, and the port inside that each shows
    grounded    : inputs left open on purpose
    """

    name: str
    nodes: dict[str, Block | Netlist | Inport]
    connections: tuple[tuple[Port, Port], ...]
    outports: dict[str, Port]
    grounded: frozenset[Port]

    @property
    def inports(self) -> dict[str, Inport]:
        """Inputs of the diagram by name."""
        return {name: node for name, node in self.nodes.items() if isinstance(node, Inport)}
