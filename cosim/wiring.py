"""From nested diagrams to one flat list of blocks and who drives each of their inputs.

All mistakes are collected and reported together, with near misses.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from blocks.block import Block, Equations
from blocks.errors import PlantloopError, WiringError, near_miss
from blocks.trace import TraceCache, Traced
from cosim.diagram import Diagram, Inport

Port = tuple[str, str]  # (path of a block, port name)


@dataclass(frozen=True)
class ExternalInput(Block):
    """Input of the whole system: a value that only ``Simulation.set_input`` changes."""

    size: int = 1

    def define(self, b: Equations) -> None:
        b.output("out", b.mode("value", 0.0, size=self.size))


@dataclass
class Wiring:
    """Every block by its path, and the output that drives each connected input (None: grounded)."""

    name: str
    blocks: dict[str, Block]
    drivers: dict[Port, Port | None]
    outports: dict[str, Port]


class _Expander:
    """Walks the tree of diagrams once, noting nodes by path and edges by (path, port)."""

    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram
        self.nodes: dict[str, Block | Diagram | Inport] = {}
        self.edges: dict[Port, Port] = {}
        self.grounded: set[Port] = set()
        self.problems: list[str] = []
        self._walk(diagram, "")

    def _walk(self, diagram: Diagram, prefix: str) -> None:
        graph = diagram.graph
        for name, block in graph.nodes(data="block"):
            self.nodes[prefix + name] = block
            if isinstance(block, Diagram):
                self._walk(block, f"{prefix}{name}/")
        for source, target, ports in graph.edges(data=True):
            into, out = (prefix + target, ports["target"]), (prefix + source, ports["source"])
            if into in self.edges:
                first = ".".join(self.edges[into])
                self.problems.append(
                    f"input '{'.'.join(into)}' is driven twice, by '{first}' and by '{'.'.join(out)}'; "
                    "keep one, or add them with a Sum."
                )
            self.edges[into] = out
        self.grounded.update((prefix + node, port) for node, port in diagram.grounded)

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
                outer, _, own = path.rpartition("/")
                if not outer:
                    return path, "out"
                if (outer, own) in self.edges:
                    port = self.edges[outer, own]
                    continue
                if (outer, own) not in self.grounded:
                    self.problems.append(
                        f"input '{own}' of subsystem '{outer}' is not connected; connect it, or leave it "
                        f"open on purpose with ground('{outer}.{own}')."
                    )
                return None
            if name not in node.outports:
                kind = "an input" if name in node.inports else "no output"
                self.problems.append(
                    f"subsystem '{path}' has {kind} '{name}'; {near_miss(name, node.outports)}"
                )
                return None
            inner = node.outports[name]
            port = (f"{path}/{inner.node}", inner.port)
        self.problems.append(f"'{'.'.join(port)}' is connected to itself through subsystem borders.")
        return None


def expand(diagram: Diagram, cache: TraceCache) -> Wiring:
    """Flat wiring of a diagram; checks names, directions, double drivers and open inputs.

    Raises
    ------
    WiringError     listing every problem
    """
    expander = _Expander(diagram)
    problems = expander.problems
    blocks: dict[str, Block] = {}
    for path, node in expander.nodes.items():
        if isinstance(node, Block):
            blocks[path] = node
        elif isinstance(node, Inport) and "/" not in path:
            blocks[path] = ExternalInput(node.size)
    ports = {path: _ports(path, block, cache, problems) for path, block in blocks.items()}
    drivers: dict[Port, Port | None] = {}
    for into, out in expander.edges.items():
        if not _check_target(into, expander, ports, problems):
            continue
        source = expander.source(out)
        if source is not None and _check_source(source, ports, problems) and into[0] in blocks:
            drivers[into] = source
        elif source is None and into[0] in blocks:
            drivers[into] = None
    for port in expander.grounded:
        if _check_target(port, expander, ports, problems, "ground: "):
            drivers.setdefault(port, None)
    for path, declared in ports.items():
        for name in declared[0] if declared else ():
            if (path, name) not in drivers and (path, name) not in expander.edges:
                problems.append(
                    f"input '{path}.{name}' is not connected; connect it, or leave it open on purpose "
                    f"with ground('{path}.{name}')."
                )
    outports = {}
    for name, ref in diagram.outports.items():
        source = expander.source((ref.node, ref.port))
        if source is not None and _check_source(source, ports, problems):
            outports[name] = source
    if problems:
        raise WiringError(dict.fromkeys(problems), path=diagram.name)
    return Wiring(diagram.name, blocks, drivers, outports)


def _ports(path: str, block: Block, cache: TraceCache, problems: list[str]) -> tuple[list[str], list[str]]:
    """Input and output names of a block, as far as they are known before its sizes are."""
    try:
        probe: Traced = cache.get(block, {}, guess=1)
    except PlantloopError as error:
        problems.append(f"block '{path}': {error}")
        return [], []
    d = probe.declared
    return [i.name for i in d.inputs], [o.name for o in d.outputs]


def _check_target(
    port: Port,
    expander: _Expander,
    ports: dict[str, tuple[list[str], list[str]]],
    problems: list[str],
    prefix: str = "",
) -> bool:
    path, name = port
    node = expander.nodes.get(path)
    if node is None:
        problems.append(f"{prefix}there is no block '{path}'; {near_miss(path, expander.nodes)}")
        return False
    if isinstance(node, Inport):
        problems.append(
            f"{prefix}'{path}' is an inport: it drives blocks inside its diagram and cannot be driven here."
        )
        return False
    if isinstance(node, Diagram):
        inputs, outputs = list(node.inports), list(node.outports)
    else:
        inputs, outputs = ports[path]
    return _known(f"{prefix}'{path}'", name, "input", inputs, outputs, problems)


def _check_source(port: Port, ports: dict[str, tuple[list[str], list[str]]], problems: list[str]) -> bool:
    inputs, outputs = ports[port[0]]
    if not outputs and port[1] not in inputs:
        return True  # its outputs are known once its sizes are; `resolve_sizes` checks then
    return _known(f"'{port[0]}'", port[1], "output", outputs, inputs, problems)


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
    elif right or wrong:
        problems.append(f"{where} has no {kind} '{name}'; {near_miss(name, right)}")
    return False
