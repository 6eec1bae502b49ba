"""Handles for someone who watches a run: parameters, open inputs, and pushes on bodies.

Inputs that were left open on purpose, and the pushes of plants, are driven by a `Constant` each, whose value
is a parameter like any other. While inputs have the values they have when left open, and pushes are zero, the
system computes the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from blocks.contract.block import Block
from blocks.contract.recipes import recipe_of
from blocks.contract.trace import trace
from blocks.errors import PlantloopError
from blocks.library.sources import Constant
from cosim.compile.flatten import flatten
from cosim.compile.netlist import Driven, Netlist, Port
from cosim.system import System
from plant import Plant
from plant.equations.pushes import PUSH, push_ports


@dataclass(frozen=True)
class PushHandle:
    """A body that can be pushed.

    plant : path of its block; link : number of the link of the body
    parameter : sets the force along global axes and its point along the axes of the link, (6,)
    """

    plant: str
    link: int
    parameter: str

    @property
    def signal(self) -> str:
        """The signal with the value of the push."""
        return f"{self.parameter.rpartition('.')[0]}.y"


@dataclass(frozen=True)
class Opened:
    """A diagram with handles.

    opened : parameter -> the port it drives, for the inputs that were open
    pushes : one for each link of the plants that can be pushed
    """

    netlist: Netlist
    opened: dict[str, str]
    pushes: tuple[PushHandle, ...]

    def system(self, solve_loops: bool = False, driven: Driven = False, prefix: str = "") -> System:
        """The flat system; see `Diagram.system`."""
        return replace(flatten(self.netlist, solve_loops, driven=driven), prefix=prefix)


def with_handles(netlist: Netlist) -> Opened:
    """A diagram with all the handles it can have."""
    opened: dict[str, str] = {}
    pushes: list[PushHandle] = []
    return Opened(_level(netlist, "", opened, pushes), opened, tuple(pushes))


def _level(drawn: Netlist, prefix: str, opened: dict[str, str], pushes: list[PushHandle]) -> Netlist:
    if drawn.variants:
        return drawn
    nodes, wires = dict(drawn.nodes), list(drawn.connections)
    grounded = set(drawn.grounded)

    def drive(port: Port, value: np.ndarray) -> str:
        name = _unused(f"{port[0]}_{port[1]}", nodes)
        nodes[name] = Constant(value if value.size > 1 else float(value[0]))
        wires.append(((name, "y"), port))
        return f"{prefix}{name}.value"

    for port in sorted(drawn.grounded):
        block = drawn.nodes.get(port[0])
        if isinstance(block, Block) and (value := _open_value(block, port[1])) is not None:
            grounded.discard(port)
            opened[drive(port, value)] = f"{prefix}{port[0]}.{port[1]}"
    for name, node in drawn.nodes.items():
        if isinstance(node, Netlist):
            nodes[name] = _level(node, f"{prefix}{name}/", opened, pushes)
        elif isinstance(node, Plant) and not node.audit and recipe_of(node) is None:
            nodes[name] = node.pushed(in_plane=True)  # states keep their names and bits
            for link, port_name in enumerate(push_ports(node.mechanism)):
                pushes.append(PushHandle(prefix + name, link, drive((name, port_name), np.zeros(len(PUSH)))))
    return replace(drawn, nodes=nodes, connections=tuple(wires), grounded=frozenset(grounded))


def _open_value(block: Block, port: str) -> np.ndarray | None:
    """Value (size,) of an input that is left open; None if there is no such input or its value is unknown.

    An input that takes the size of its signal gets one component; an input of an FMU keeps its start value.
    """
    if isinstance(block, Plant):
        return np.zeros(block.inputs[port].size) if port in block.inputs else None
    try:
        declared: Any = trace(block, {}, guess=1).declared
    except PlantloopError:
        return None
    found = next((i for i in declared.inputs if i.name == port), None)
    if found is None:
        return None
    if found.unconnected is not None:
        return np.array(found.unconnected, dtype=float)
    return np.zeros(1 if found.inherits else int(found.size))


def _unused(name: str, taken: dict[str, Any]) -> str:
    found, k = name, 1
    while found in taken:
        k += 1
        found = f"{name}_{k}"
    return found
