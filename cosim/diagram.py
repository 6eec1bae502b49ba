"""How blocks are wired: a diagram is a networkx graph of blocks, and a block in a larger diagram.

::

    d = Diagram("loop")
    plant = d.add("plant", plant_block)
    control = d.add("controller", StateFeedback(K, sample=0.01))
    d.connect(plant["state"], control["x"])
    control["u"] >> plant["force"]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
import numpy as np

from blocks.arguments import flag
from blocks.contract.block import Block
from blocks.contract.trace import trace
from blocks.errors import WiringError, near_miss, shown
from cosim.compile.flatten import flatten
from cosim.compile.netlist import Inport, Netlist
from cosim.names import no_block
from cosim.system import System

ALONE = "plant"  # what a block is called when it is looked at alone
FORBIDDEN = set("./[] \t\n")  # they separate the parts of a path: sub/block.port[component]


@dataclass(frozen=True)
class PortRef:
    """One port of one node, as ``handle["port"]`` gives it. ``source >> target`` connects two."""

    diagram: Diagram
    node: str
    port: str

    def __rshift__(self, target: PortRef) -> PortRef:
        self.diagram.connect(self, target)
        return target

    def __str__(self) -> str:
        return f"{self.node}.{self.port}"


@dataclass(frozen=True)
class Node:
    """Handle of a block in a diagram; ``node["port"]`` names one of its ports."""

    diagram: Diagram
    name: str

    def __getitem__(self, port: str) -> PortRef:
        if not isinstance(port, str):
            hint = f"Write {self.name}['y']."
            raise WiringError([f"{shown(port)} is no port of '{self.name}'. {hint}"], value=port)
        block = self.diagram._graph.nodes[self.name]["block"]
        return PortRef(self.diagram, self.name, block.port_name(port) if isinstance(block, Block) else port)


class Diagram:
    """Blocks and diagrams by name, and the connections between their ports.

    Parameters
    ----------
    name : str     shown in results and messages

    Names of blocks must not contain ``. / [ ]`` or blanks. Mistakes in the wiring are all reported
    together when the diagram is flattened.
    """

    def __init__(self, name: str = "diagram") -> None:
        if not isinstance(name, str):
            raise WiringError([f"the name of a diagram is {shown(name)}, expected a text."], value=name)
        self.name = name
        self._graph: nx.MultiDiGraph = nx.MultiDiGraph(name=name)
        self._outports: dict[str, PortRef] = {}
        self._grounded: set[tuple[str, str]] = set()
        self._version = 0
        self._flat: dict[tuple[Any, ...], System] = {}
        self._kept: dict[str, Any] = {}
        self._prefix = ""  # what names in its system may leave out

    def add(self, name: str, block: Block | Diagram) -> Node:
        """Put a block, or a diagram as a subsystem, into this one; returns its handle.

        Raises
        ------
        WiringError    name taken or malformed, or `block` is no block
        """
        if isinstance(block, type):
            raise WiringError(
                [f"'{name}' is the class {block.__name__}, not a block; write {block.__name__}(...)."]
            )
        if not isinstance(block, (Block, Diagram)):
            raise WiringError(
                [f"'{name}' is a {type(block).__name__}, expected a Block or a Diagram."], path=name
            )
        if isinstance(block, Diagram) and (block is self or block._contains(self)):
            raise WiringError([f"diagram '{block.name}' cannot contain itself."], path=name)
        return self._node(name, block)

    def inport(self, name: str, size: int = 1) -> PortRef:
        """A signal that enters the diagram, to be connected inside like an output.

        In a subsystem its size is that of what is connected outside; at the top level `size` holds and
        the value is set with ``Simulation.set_input``.
        """
        if not isinstance(size, (int, np.integer)) or isinstance(size, bool) or size < 1:
            raise WiringError(
                [f"the size of inport {shown(name)} is {shown(size)}, expected a whole number, 1 or more."],
                value=size,
            )
        return self._node(name, Inport(int(size)))["out"]

    def outport(self, name: str, source: PortRef | str) -> None:
        """Show a signal of the inside as an output of the diagram."""
        if not isinstance(name, str) or not name or FORBIDDEN & set(name):
            expected = "a text without '.', '/', '[', ']' or blanks"
            raise WiringError([f"an outport's name is {shown(name)}, expected {expected}."], value=name)
        if name in self._outports:
            raise WiringError([f"'{self.name}' has an output '{name}' already."], path=name)
        self._outports[name] = self._own(source)
        self._changed()

    def connect(self, source: PortRef | str, target: PortRef | str) -> None:
        """Connect an output to an input. Port names are checked when the diagram is flattened."""
        out, into = self._own(source), self._own(target)
        self._graph.add_edge(out.node, into.node, source=out.port, target=into.port)
        self._changed()

    def ground(self, target: PortRef | str) -> None:
        """Leave an input unconnected on purpose; it is zero."""
        ref = self._own(target)
        self._grounded.add((ref.node, ref.port))
        self._changed()

    def __getitem__(self, name: str) -> Node:
        if not isinstance(name, str) or name not in self._graph:
            raise WiringError(
                [f"no block '{name}' in diagram '{self.name}'; {near_miss(name, self._graph.nodes)}"]
            )
        return Node(self, name)

    @property
    def graph(self) -> nx.MultiDiGraph:
        """The wiring: nodes carry ``block``, edges carry the port names ``source`` and ``target``."""
        return self._graph.copy(as_view=True)

    @property
    def inports(self) -> dict[str, Inport]:
        """Inputs of the diagram by name."""
        blocks = self._graph.nodes(data="block")
        return {name: block for name, block in blocks if isinstance(block, Inport)}

    @property
    def outports(self) -> dict[str, PortRef]:
        """Outputs of the diagram by name."""
        return dict(self._outports)

    @property
    def grounded(self) -> frozenset[tuple[str, str]]:
        """Inputs left open on purpose, as (node, port)."""
        return frozenset(self._grounded)

    @property
    def prefix(self) -> str:
        """What names in the flat system may leave out: "plant." around a block that is looked at alone."""
        return self._prefix

    def netlist(self) -> Netlist:
        """What is drawn here and in the diagrams inside, as data."""
        nodes = self._graph.nodes(data="block")
        edges = self._graph.edges(data=True)
        return Netlist(
            self.name,
            {name: node.netlist() if isinstance(node, Diagram) else node for name, node in nodes},
            tuple(((out, ports["source"]), (into, ports["target"])) for out, into, ports in edges),
            {name: (ref.node, ref.port) for name, ref in self._outports.items()},
            frozenset(self._grounded),
        )

    def system(self, solve_loops: bool = False, perturb: tuple[str, ...] = ()) -> System:
        """The flat system of this diagram; kept until the diagram changes.

        Each signal in `perturb` gets an input of the system of its own name, added to its value.
        """
        key = (solve_loops, perturb, self._versions())
        if key not in self._flat:
            self._flat = {k: s for k, s in self._flat.items() if k[-1] == key[-1]}
            self._flat[key] = replace(flatten(self.netlist(), solve_loops, perturb), prefix=self._prefix)
        return self._flat[key]

    def __getstate__(self) -> dict[str, Any]:
        """What is drawn; what was derived from it is made again where it is needed."""
        return {**self.__dict__, "_flat": {}, "_kept": {}}

    def kept(self, what: str) -> dict[Any, Any]:
        """A place for what others derive from this diagram; emptied when it changes."""
        versions = self._versions()
        if self._kept.get("versions") != versions:
            self._kept = {"versions": versions}
        found: dict[Any, Any] = self._kept.setdefault(what, {})
        return found

    def _node(self, name: str, content: Block | Diagram | Inport) -> Node:
        if not isinstance(name, str):
            call = "inport('name')" if isinstance(content, Inport) else "add('name', block)"
            raise WiringError([f"the name {name!r} is no text; write {call}."])
        if not name or FORBIDDEN & set(name):
            raise WiringError(
                [f"block name {name!r} must not be empty or contain '.', '/', '[', ']' or blanks."], path=name
            )
        if name in self._graph:
            raise WiringError(
                [f"diagram '{self.name}' has a block '{name}' already; give this one another name."],
                path=name,
            )
        self._graph.add_node(name, block=content)
        self._changed()
        return Node(self, name)

    def _own(self, ref: PortRef | str) -> PortRef:
        if isinstance(ref, str):
            node, dot, port = ref.partition(".")
            if not dot:
                raise WiringError([f"'{ref}' names no port; write 'block.port'."], path=ref)
            return self[node][port]
        if not isinstance(ref, PortRef):  # callers without types may pass anything
            text = "" if isinstance(ref, Node) else " or 'block.port'"
            raise WiringError([f"{shown(ref)} is no port. Write handle['port']{text}."], value=ref)
        if ref.diagram is not self:
            other = ref.diagram.name
            whose = f"diagram '{other}', not to '{self.name}'"
            if other == self.name:
                whose = f"another diagram that is called '{other}' too"
            raise WiringError(
                [f"port '{ref}' belongs to {whose}. Connect through inport and outport of the subsystem."],
                path=str(ref),
            )
        return self[ref.node][ref.port]  # a reference made by hand may name a block that is not there

    def _contains(self, other: Diagram) -> bool:
        inside = [b for _, b in self._graph.nodes(data="block") if isinstance(b, Diagram)]
        return any(b is other or b._contains(other) for b in inside)

    def _changed(self) -> None:
        self._version += 1
        self._flat.clear()

    def _versions(self) -> tuple[int, ...]:
        """Change counters of this diagram and all in it."""
        inside = [b for _, b in self._graph.nodes(data="block") if isinstance(b, Diagram)]
        return (self._version, *(v for b in inside for v in b._versions()))

    def __repr__(self) -> str:
        return f"Diagram('{self.name}', {self._graph.number_of_nodes()} blocks)"


def around(block: Block, name: str = "block") -> Diagram:
    """Diagram of one block called `ALONE`, its inputs and outputs as those of the diagram.

    Names in its system may leave out "plant.".
    """
    d = Diagram(name)
    d._prefix = f"{ALONE}."
    node = d.add(ALONE, block)
    probe = trace(block, {}, guess=1).declared
    for i in probe.inputs:
        d.connect(d.inport(i.name, i.size), node[i.name])
    for o in probe.outputs:
        if not o.auxiliary:
            d.outport(o.name, node[o.name])
    return d


def system_alone(block: Block, solve_loops: bool = False, name: str = "block") -> System:
    """Flat system of one block: its inputs are those of the system, and names may leave out "plant."."""
    return around(block, name).system(solve_loops)


def system_of(diagram: Diagram | Block | System, solve_loops: bool = False) -> System:
    """The flat system of a diagram, or of one block with its inputs as inputs of the system.

    Raises
    ------
    WiringError, AlgebraicLoopError     as `Diagram.system`
    PlantloopError                      something else was given
    """
    flag(solve_loops, "solve_loops")
    if isinstance(diagram, Diagram):
        return diagram.system(solve_loops)
    if isinstance(diagram, Block):
        return system_alone(diagram, solve_loops)
    if isinstance(diagram, System):
        return diagram
    raise no_block(diagram, "a Diagram or a Block to simulate")
