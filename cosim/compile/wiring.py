"""From nested diagrams to one flat list of blocks and who drives each of their inputs.

All mistakes are collected and reported together, with near misses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from blocks.contract.block import Block, Equations
from blocks.contract.trace import TraceCache, Traced
from blocks.contract.units import Found, Units, units_of
from blocks.errors import PlantloopError, SimulationError, WiringError, naming_block, near_miss
from cosim.compile.masks import MaskPlace, Masks, MaskScope, of_parameters
from cosim.compile.netlist import EnclosingBlock, Inport, Netlist, PartCondition, Port
from cosim.compile.tags import connect_tags


@dataclass(frozen=True)
class ExternalInput(Block):
    """Input of the whole system: a value that only ``Simulation.set_input`` changes.

    start : (size,) its value before it is set; None: zeros
    """

    size: int = 1
    unit: Units = ""
    start: tuple[float, ...] | None = None

    def define(self, b: Equations) -> None:
        value = b.mode("value", 0.0 if self.start is None else np.array(self.start), size=self.size)
        b.output("out", value, unit=self.unit)


@dataclass
class Wiring:
    """Every block by its path, and the output that drives each connected input (None: grounded).

    borders : of each port of a subsystem, what is behind it inside: for an output the output of a block, for
              an input the inputs of blocks that it drives
    route : of the input of a block, the ports its signal comes through, from its source on, the input last;
            is the wire that ends there to be converted?
    units : said of ports and parameters of blocks and subsystems; border_units : of inputs of subsystems
    """

    name: str
    blocks: dict[str, Block]
    drivers: dict[Port, Port | None]
    outports: dict[str, Port]
    borders: dict[Port, tuple[Port, ...]]
    probes: dict[str, Traced]  # every block traced as far as that goes without sizes
    parts: dict[str, PartCondition] = field(default_factory=dict)  # conditional parts by their paths
    masks: Masks = field(default_factory=Masks)  # parameters of diagrams, and which blocks are made of them
    units: dict[str, Mapping[str, Units]] = field(default_factory=dict)
    converted: set[Port] = field(default_factory=set)
    border_units: dict[Port, Found] = field(default_factory=dict)
    route: Callable[[Port], list[tuple[Port, bool]]] = lambda into: []
    border_ports: Callable[[str], list[str]] = lambda path: []


class _Expander:
    """Walks the tree of diagrams once, noting nodes by path and edges by (path, port)."""

    def __init__(self, diagram: Netlist, masks: Masks) -> None:
        self.diagram = diagram
        self.nodes: dict[str, Block | Netlist | Inport] = {}
        self.edges: dict[Port, Port] = {}
        self.grounded: set[Port] = set()
        self.problems: list[str] = []
        self.masks = masks
        self.units: dict[str, Mapping[str, Units]] = {}
        self.border_units: dict[Port, Found] = {}
        self.converted: set[Port] = set()
        place = masks.place
        self._walk(diagram, "", {} if place is None else place.given, None if place is None else place.outer)
        connect_tags(self.nodes, self.edges, self.problems)

    def _walk(self, diagram: Netlist, prefix: str, given: Mapping[str, Any], outer: MaskScope | None) -> None:
        own, inside = diagram.routed(given)
        scope = self.masks.enter(diagram, prefix.removesuffix("/"), own, outer)
        for name, drawn in diagram.nodes.items():
            node = self._variant(drawn, prefix + name, scope)
            self.nodes[prefix + name] = node
            if isinstance(node, Netlist):
                of_node = {**diagram.given.get(name, {}), **inside.get(name, {})}
                self._walk(node, f"{prefix}{name}/", of_node, scope)
            elif isinstance(node, Block):
                try:
                    if isinstance(node, EnclosingBlock) and of_parameters(node.enclosed()):
                        path = self.masks.at(prefix.removesuffix("/"))
                        place = MaskPlace(path, inside.get(name, {}), scope, dict(self.masks.values))
                        node = node.placed(place)
                    self.nodes[prefix + name] = self.masks.block(prefix + name, node, scope)
                except PlantloopError as error:
                    self.problems.append(f"block '{prefix}{name}': {error}")
        for (source, output), (target, entry) in diagram.connections:
            into, out = (prefix + target, entry), (prefix + source, output)
            if into in self.edges:
                first = ".".join(self.edges[into])
                self.problems.append(
                    f"input '{'.'.join(into)}' is driven twice, by '{first}' and by '{'.'.join(out)}'; "
                    "keep one, or add them with a Sum."
                )
            self.edges[into] = out
        self.grounded.update((prefix + node, port) for node, port in diagram.grounded)
        self.converted.update((prefix + node, port) for node, port in diagram.converted)
        self.units |= {prefix + node: units for node, units in diagram.units.items()}
        if prefix:
            for name, node in diagram.inports.items():
                if node.unit:
                    path = prefix.removesuffix("/")
                    self.border_units[path, name] = units_of(node.unit, f"inport '{prefix}{name}'")

    def _variant(
        self, node: Block | Netlist | Inport, path: str, scope: MaskScope
    ) -> Block | Netlist | Inport:
        """The diagram a variant stands for here; other nodes as they are."""
        if not isinstance(node, Netlist) or not node.variants:
            return node
        try:
            chosen = self.masks.choice(path, node.chosen, scope)
        except PlantloopError as error:
            self.problems.append(f"variant '{path}': {error}")
            return next(iter(node.variants.values()))
        if chosen not in node.variants:
            near = near_miss(str(chosen), map(str, node.variants))
            self.problems.append(f"variant '{path}' has no choice {chosen!r}; {near}")
            return next(iter(node.variants.values()))
        return self._variant(node.variants[chosen], path, scope)

    def _place(self, path: str) -> tuple[str, str]:
        """The subsystem a node is in, "" on top, and its name: an inport of an FMU alone may be "in/u"."""
        if path in self.diagram.nodes:
            return "", path
        outer, _, own = path.rpartition("/")
        return outer, own

    def source(self, port: Port) -> Port | None:
        """The block output (or top-level inport) behind `port`, through subsystem borders."""
        seen = set()
        while port not in seen:
            seen.add(port)
            path, name = port
            node = self.nodes[path]
            if isinstance(node, Block):
                return port
            if isinstance(node, Inport):
                outer, own = self._place(path)
                if name != "out":
                    self.problems.append(f"inport '{path}' has no port '{name}'; connect '{own}.out'.")
                    return None
                if not outer:
                    return port
                if (outer, own) not in self.edges:
                    return None  # grounded, or reported as open
                port = self.edges[outer, own]
                continue
            if not _known(f"'{path}'", name, "output", node.outports, node.inports, self.problems):
                return None
            inner, name = node.outports[name]
            port = (f"{path}/{inner}", name)
        self.problems.append(f"'{'.'.join(min(seen))}' is connected to itself through subsystem borders.")
        return None

    def entered(self, into: Port) -> Iterator[Port]:
        """Inputs of subsystems that the signal of an input of a block comes in through."""
        port = self.edges.get(into)
        while port is not None and not isinstance(node := self.nodes[port[0]], Block):
            if isinstance(node, Netlist):
                inner, name = node.outports[port[1]]
                port = (f"{port[0]}/{inner}", name)
                continue
            outer, own = self._place(port[0])
            if not outer:
                return
            yield outer, own
            port = self.edges.get((outer, own))

    def route(self, into: Port) -> list[tuple[Port, bool]]:
        """See `Wiring.route`."""
        found: list[tuple[Port, bool]] = []
        hop, out = into, self.edges.get(into)
        while out is not None:
            found.append((hop, hop in self.converted))
            while isinstance(node := self.nodes[out[0]], Netlist):
                found.append((out, False))
                inner, name = node.outports[out[1]]
                out = (f"{out[0]}/{inner}", name)
            outer, own = self._place(out[0])
            if isinstance(node, Block) or not outer:
                break
            hop = (outer, own)
            out = self.edges.get(hop)
        return found[::-1]

    def border_ports(self, path: str) -> list[str]:
        """Names of the ports of a subsystem."""
        node = self.nodes.get(path)
        return [*node.inports, *node.outports] if isinstance(node, Netlist) else []


def expand(diagram: Netlist, cache: TraceCache, masks: Masks | None = None) -> Wiring:
    """Flat wiring of a diagram; checks names, directions, double drivers and open inputs.

    masks : what is known of parameters around it; takes up those of the diagram

    Raises
    ------
    WiringError     listing every problem
    """
    expander = _Expander(diagram, Masks() if masks is None else masks)
    problems = expander.problems
    blocks: dict[str, Block] = {}
    for path, node in expander.nodes.items():
        if isinstance(node, Block):
            blocks[path] = node
        elif isinstance(node, Inport) and path in diagram.nodes:
            blocks[path] = ExternalInput(node.size, node.unit, node.start)
    ports = {path: _ports(path, block, cache, problems) for path, block in blocks.items()}
    for path, node in expander.nodes.items():
        if isinstance(node, Netlist):
            _check_borders(path, node, expander, ports, problems)
    drivers = _drivers(expander, blocks, ports)
    _ground(expander, ports, drivers)
    for path, known in ports.items():
        for name in known.inputs:
            if (path, name) not in drivers and (path, name) not in expander.edges:
                problems.append(open_input(path, name))
    outports = _outports(diagram, expander, ports)
    if problems:
        raise WiringError(dict.fromkeys(problems), path=diagram.name)
    probes = {path: known.probe for path, known in ports.items() if known.probe}
    inside = {"": diagram, **expander.nodes}
    parts = {p: n.condition for p, n in inside.items() if isinstance(n, Netlist) and n.condition}
    borders = _borders(expander, drivers)
    return Wiring(
        diagram.name, blocks, drivers, outports, borders, probes, parts, expander.masks, expander.units,
        expander.converted, expander.border_units, expander.route, expander.border_ports,
    )  # fmt: skip


def _drivers(
    expander: _Expander, blocks: dict[str, Block], ports: dict[str, _Ports]
) -> dict[Port, Port | None]:
    """What drives each connected input of a block; None for an outer input that is left open."""
    drivers: dict[Port, Port | None] = {}
    for into, out in expander.edges.items():
        fits = _check_target(into, expander, ports, expander.problems)
        if not fits and _is_output(into, expander, ports):
            continue  # the wrong way round: reported once
        source = expander.source(out)
        right = source is None or _check_source(source, ports, expander.problems)
        if fits and right and into[0] in blocks:
            drivers[into] = source
    return drivers


def _ground(expander: _Expander, ports: dict[str, _Ports], drivers: dict[Port, Port | None]) -> None:
    """Inputs that are left open on purpose get None as their driver."""
    for port in expander.grounded:
        if _check_target(port, expander, ports, expander.problems, "ground: "):
            if port in expander.edges:
                first = ".".join(expander.edges[port])
                expander.problems.append(
                    f"input '{'.'.join(port)}' is grounded and connected to '{first}'; keep one of the two."
                )
            drivers.setdefault(port, None)


def _outports(diagram: Netlist, expander: _Expander, ports: dict[str, _Ports]) -> dict[str, Port]:
    """The output of a block that each output of the diagram shows."""
    problems = expander.problems
    outports = {}
    for name, shown in diagram.outports.items():
        found = len(problems)
        source = expander.source(shown)
        if source is not None and _check_source(source, ports, problems):
            outports[name] = source
        elif len(problems) == found:
            problems.append(f"output '{name}' of '{diagram.name}' shows an input that is left open.")
    return outports


def _borders(expander: _Expander, drivers: dict[Port, Port | None]) -> dict[Port, tuple[Port, ...]]:
    """The ports of blocks that ports of subsystems lead to."""
    found: dict[Port, tuple[Port, ...]] = {}
    for path, node in expander.nodes.items():
        if isinstance(node, Netlist):
            for name in node.outports:
                source = expander.source((path, name))
                found |= {(path, name): (source,)} if source is not None else {}
    outputs = set(found)
    for into in drivers:
        for border in expander.entered(into):
            if border not in outputs:
                found[border] = (*found.get(border, ()), into)
    return found


def open_input(path: str, name: str) -> str:
    """The problem of an input that nothing is connected to."""
    inside, _, own = path.rpartition("/")
    where = f" in diagram '{inside}'" if inside else ""
    return (
        f"input '{path}.{name}' is not connected; connect it, or leave it open on purpose with "
        f"ground('{own}.{name}'){where}."
    )


@dataclass(frozen=True)
class _Ports:
    """Names of a block's ports; `whole` when there can be no others once its sizes are known."""

    inputs: list[str]
    outputs: list[str]
    whole: bool
    probe: Traced | None = None


def _ports(path: str, block: Block, cache: TraceCache, problems: list[str]) -> _Ports:
    try:
        with naming_block(path):
            probe: Traced = cache.get(block, {}, guess=1)
    except SimulationError:  # what it stands for failed when it was asked: no fault of the wiring
        raise
    except PlantloopError as error:
        named = str(error).startswith(f"block '{path}': ")
        problems.append(str(error) if named else f"block '{path}': {error}")
        return _Ports([], [], whole=False)
    d = probe.declared
    return _Ports([i.name for i in d.inputs], [o.name for o in d.outputs], not probe.partial, probe)


def _check_borders(
    path: str, diagram: Netlist, expander: _Expander, ports: dict[str, _Ports], problems: list[str]
) -> None:
    """Every input of a subsystem is connected or grounded, every output shows something that exists."""
    for name in diagram.inports:
        if (path, name) not in expander.edges and (path, name) not in expander.grounded:
            problems.append(open_input(path, name))
    for inner, name in diagram.outports.values():
        source = expander.source((f"{path}/{inner}", name))
        if source is not None:
            _check_source(source, ports, problems)


def _check_target(
    port: Port, expander: _Expander, ports: dict[str, _Ports], problems: list[str], prefix: str = ""
) -> bool:
    path, name = port
    node = expander.nodes[path]
    if isinstance(node, Inport):
        problems.append(
            f"{prefix}'{path}' is an inport: it drives blocks inside its diagram and cannot be driven here."
        )
        return False
    where = f"{prefix}'{path}'"
    inputs: Iterable[str]
    outputs: Iterable[str]
    if isinstance(node, Netlist):
        inputs, outputs = node.inports, node.outports
    else:
        known = ports[path]
        inputs, outputs = known.inputs, known.outputs
        if not known.whole and name not in outputs:
            return True  # its inputs are known once its sizes are; `resolve_sizes` checks then
    if prefix and name in outputs and name not in inputs:
        problems.append(f"{where} has no input '{name}': that is an output, which may stay unconnected.")
        return False
    return _known(where, name, "input", inputs, outputs, problems)


def _is_output(port: Port, expander: _Expander, ports: dict[str, _Ports]) -> bool:
    path, name = port
    node = expander.nodes[path]
    if isinstance(node, Inport):
        return True
    return name in (node.outports if isinstance(node, Netlist) else ports[path].outputs)


def _check_source(port: Port, ports: dict[str, _Ports], problems: list[str]) -> bool:
    path, name = port
    known = ports[path]
    if not known.whole and name not in known.inputs:
        return True
    return _known(f"'{path}'", name, "output", known.outputs, known.inputs, problems)


def _known(
    where: str, name: str, kind: str, right: Iterable[str], wrong: Iterable[str], problems: list[str]
) -> bool:
    """Is `name` a port of this kind? If not, say what it is or what it may have meant."""
    if name in right:
        return True
    if name in wrong:
        problems.append(
            f"{where} has no {kind} '{name}': that is an {'output' if kind == 'input' else 'input'}. "
            "connect(output, input) goes from an output to an input."
        )
    else:
        problems.append(f"{where} has no {kind} '{name}'; {near_miss(name, right, len(problems))}")
    return False


def leave_open(wiring: Wiring, acted_on: frozenset[str]) -> None:
    """Tell blocks which of their inputs nothing is connected to, and nothing acts on."""
    found: dict[str, set[str]] = {}
    for (path, name), source in wiring.drivers.items():
        if source is None and path in wiring.blocks and f"{path}.{name}" not in acted_on:
            found.setdefault(path, set()).add(name)
    for path, names in found.items():
        block = wiring.blocks[path]
        wiring.blocks[path] = block.opened(frozenset(names))
        if wiring.blocks[path] is not block:  # what was found of it is a guess from now on
            wiring.probes[path] = replace(wiring.probes[path], guessed=True)
