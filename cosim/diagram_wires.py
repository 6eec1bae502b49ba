"""The nodes of a diagram and the wires between their ports: a networkx graph, written step by step."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import networkx as nx

from blocks.arguments import flag
from blocks.contract.block import Block
from blocks.contract.units import Units
from blocks.errors import WiringError, near_miss
from cosim.block_names import checked_block_name, one_component, split_port, written_connections
from cosim.compile.netlist import Inport
from cosim.node_ports import NodePorts, ports_of
from cosim.port_handles import Node, PortRef, port_of

NOTHING: Mapping[str, Any] = MappingProxyType({})


class DiagramWires(abc.ABC):
    """What a `Diagram` is as a graph: nodes with what is in them, wires with the names of their ports."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._graph: nx.MultiDiGraph = nx.MultiDiGraph(name=name)
        self._grounded: set[tuple[str, str]] = set()
        self._version = 0
        self._kept: dict[Any, Any] = {}

    @abc.abstractmethod
    def add(self, name: str, block: Any) -> Node:
        """Put a block in."""

    @abc.abstractmethod
    def content(self, name: str) -> Any:
        """What is in a node."""

    def connect(
        self, source: PortRef | Node | str, *targets: PortRef | Node | str, convert: bool = False
    ) -> None:
        """Connect an output to inputs.

        ::

            d.connect(a["y"], b["u"])              # or "a.y", "b.u"; several inputs fan out
            d.connect("a.y -> b.u, c.u", "b.y -> plant.force")      # several connections
            d.connect("a.y[1] -> b.u")             # one component; a["y"][0:2] too, which makes a Selector
            a >> b >> c                            # through the only ports they have, or "a -> b -> c.u"
            d.connect("a.y -> b.u", convert=True)  # a.y in mm, b.u in m: the numbers are converted

        Raises
        ------
        WiringError    no such block, with the near miss; nor such a port, or an output in the place of an
                       input, where it is given as ``a["y"]`` or with "->". Ports in "a.y", "b.u" are looked
                       for when the diagram runs or is checked, and what is wrong with all of them is reported
                       together
        """
        flag(convert, "convert")
        if (isinstance(source, str) and "->" in source) or not targets:
            for text in (source, *targets):
                for out, port in written_connections(text):
                    ends = (
                        self._end(out, "output", checked_now=True),
                        self._end(port, "input", checked_now=True),
                    )
                    self._wire(*ends, convert)
            return
        for target in targets:
            self._wire(self._end(source, "output"), self._end(target, "input"), convert)

    def _wire(self, out: PortRef, into: PortRef, convert: bool) -> None:
        more = {"convert": True} if convert else {}
        self._graph.add_edge(out.node, into.node, source=out.port, target=into.port, **more)
        self._changed()

    def disconnect(self, target: PortRef | str) -> None:
        """Take away what is connected to an input, or leads from an output; "a.y -> b.u" is that wire alone.

        Raises
        ------
        WiringError    nothing is
        """
        if isinstance(target, str) and "->" in target:
            for out, port in written_connections(target):
                self._unwire(self._end(out, "output"), self._end(port, "input"))
            return
        ref = self._own(target)
        ends = ((ref.node, "target", self._graph.in_edges), (ref.node, "source", self._graph.out_edges))
        gone = [
            (a, b, key)
            for node, end, edges in ends
            for a, b, key, data in edges(node, keys=True, data=True)
            if data[end] == ref.port
        ]
        if not gone:
            raise WiringError([f"nothing is connected to '{ref}'."], path=str(ref))
        self._graph.remove_edges_from(gone)
        self._changed()

    def _unwire(self, out: PortRef, into: PortRef) -> None:
        wires = self._graph.get_edge_data(out.node, into.node, default={}).items()
        gone = [key for key, data in wires if (data["source"], data["target"]) == (out.port, into.port)]
        if not gone:
            raise WiringError([f"'{out}' is not connected to '{into}'."], path=str(into))
        self._graph.remove_edges_from([(out.node, into.node, key) for key in gone])
        self._changed()

    def drivers(self, name: str) -> dict[str, tuple[str, str]]:
        """Which node and port drive the inputs of a node, by input."""
        self._data(name)
        wires = self._graph.in_edges(name, data=True)
        return {data["target"]: (source, data["source"]) for source, _, data in wires}

    def ground(self, *targets: PortRef | str) -> None:
        """Leave inputs unconnected on purpose: they are zero, one of an FMU keeps its start value."""
        for ref in [self._own(target) for target in targets]:
            self._grounded.add((ref.node, ref.port))
        self._changed()

    def __getitem__(self, name: str) -> Node:
        self._data(name)
        return Node(self, name)

    def _data(self, name: str) -> dict[str, Any]:
        """What is kept of a node.

        Raises
        ------
        WiringError    no such block
        """
        if not isinstance(name, str) or name not in self._graph:
            near = near_miss(name, self._graph.nodes)
            node, dot, port = str(name).partition(".")
            if dot and node in self._graph:
                near = f"a port is diagram['{node}']['{port}']."
            raise WiringError([f"no block '{name}' in diagram '{self.name}'; {near}"])
        found: dict[str, Any] = self._graph.nodes[name]
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._graph

    def given(self, name: str) -> dict[str, Any]:
        """Parameters a subsystem was given where it was added."""
        return dict(self._data(name)["given"])

    def ports_at(self, name: str) -> NodePorts:
        """The ports of a node, by name; see `Node.ports`."""
        found = self._data(name)
        inside = found["block"]
        if not isinstance(inside, (Block, Inport, DiagramWires)):  # it may still be written
            return ports_of(inside)
        version = inside._version if isinstance(inside, DiagramWires) else 0  # so may a diagram
        if found.get("ports", (None,))[0] != version:
            found["ports"] = version, ports_of(inside)
        ports: NodePorts = found["ports"][1]
        return ports

    def _know(self, name: str, ports: NodePorts) -> None:
        """Ports of a block that need not be looked for."""
        self._data(name)["ports"] = 0, ports

    @property
    def graph(self) -> nx.MultiDiGraph:
        """The wiring: nodes carry ``block``, edges carry the port names ``source`` and ``target``.

        A frozen copy: what is written into its attributes does not change the diagram.
        """
        return nx.freeze(self._graph.copy())

    @property
    def grounded(self) -> frozenset[tuple[str, str]]:
        """Inputs left open on purpose, as (node, port)."""
        return frozenset(self._grounded)

    def _node(
        self,
        name: str,
        content: Any,
        given: Mapping[str, Any] = NOTHING,
        units: Mapping[str, Units] = NOTHING,
        of_port: bool = False,
    ) -> Node:
        """A new node; `of_port`: it is called what a port of a block alone is, such as "motor.u"."""
        if not of_port:
            call = "inport('name')" if isinstance(content, Inport) else "add('name', block)"
            checked_block_name(name, call)
        if name in self._graph:
            taken = f"diagram '{self.name}' has a block '{name}' already; give this one another name."
            raise WiringError([taken], path=name)
        self._graph.add_node(name, block=content, given=dict(given), units=dict(units))
        self._changed()
        return Node(self, name)

    def _end(self, ref: PortRef | Node | str, what: str, checked_now: bool = False) -> PortRef:
        """One end of a wire: a port, or the only "input" or "output" of a block."""
        if isinstance(ref, str) and "." not in ref:
            ref = self[ref.strip()]
        if isinstance(ref, Node) and ref.diagram is self:
            return self[ref.name].the(what)
        if isinstance(ref, str) and what == "output" and (component := one_component(ref)) is not None:
            whole, k = component
            node, port = split_port(ref)
            if port not in self[node].ports.outputs:  # those of FMUs may have brackets in their names
                return self._own(whole, checked_now)[k]
        found = self._own(ref, checked_now)
        if checked_now or not isinstance(ref, str):
            self.ports_at(found.node).directed(found.node, found.port, what)
        return found

    def _own(self, ref: PortRef | Node | str, checked_now: bool = False) -> PortRef:
        if isinstance(ref, str):
            node, port = split_port(ref)
            return self[node][port] if checked_now else self[node].unchecked(port)
        found = port_of(self, ref)  # a reference made by hand may name a block that is not there
        return self[found.node].unchecked(found.port)

    def _changed(self) -> None:
        self._version += 1
        self._kept = {}
