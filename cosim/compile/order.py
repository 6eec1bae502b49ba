"""In which order signals can be computed, and the algebraic loops that have none.

Two graphs are ordered (ARCHITECTURE.md, "From diagram to system"): *between ticks* sampled values are
memory, *at a tick* they are passed through. Nodes are whole ports; a port inside a cycle is split into
components, so that a loop is only reported where the equations really have one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import networkx as nx
import numpy as np

from blocks.contract.memories import AlgebraicUnknown, ContinuousState, Refreshed
from blocks.contract.rate import Ticks
from blocks.errors import AlgebraicLoopError
from cosim.compile.placed_block import PlacedBlock
from cosim.compile.signal_nodes import (
    OutputSignal,
    SampledSignal,
    SignalKind,
    SignalNode,
    TimedEvents,
    UnknownSignals,
    WholeSignal,
)

# Inputs by number and memories by name that a node reads, each with its components; and which of the nodes
# that stand for many parts of its block: its unknowns, its timed events
_Reads = tuple[list[tuple[int, np.ndarray]], list[tuple[str, np.ndarray]], list[tuple[type[SignalKind], str]]]


class Dependencies:
    """The graph of outputs (and, at a tick, sampled memories) by what they need at one instant."""

    def __init__(
        self,
        placed: dict[str, PlacedBlock],
        at_tick: bool,
        solve: bool,
        cut: frozenset[SignalNode] = frozenset(),
    ) -> None:
        self.placed, self.at_tick, self.solve = placed, at_tick, solve
        self.cut = set(cut)  # outputs that are unknowns of a loop between ticks
        self.solved: list[list[SignalNode]] = []  # memories that depend on themselves at a tick, loop by loop
        self.split: set[WholeSignal] = set()
        self.held: set[WholeSignal] = set()  # branches of a cycle at a tick: they change after it
        # outputs of a cycle at a tick that show the old value of a memory: (path, output, memory)
        self.old: set[tuple[str, str, str]] = set()
        # memories of a cycle whose rates never meet: each its own segment
        self.alone: set[SignalNode] = set()
        # timed events of a cycle, by their blocks: what they read as it was before them
        self.early: dict[str, set[WholeSignal]] = {}
        # timed events of a cycle, by their blocks: what they read in it
        self.read_in_loop: dict[str, set[WholeSignal]] = {}
        self.whole = nx.DiGraph()  # edges go from what is needed to what needs it; made by `order`
        self._sorted: list[SignalNode] = []  # the nodes of a graph without cycles
        self.ordered = nx.DiGraph()  # what `order` obeyed: without what never happens at one instant
        self._sizes: dict[WholeSignal, int] = {}
        self._kept_whole: set[WholeSignal] = set()
        self._shown: dict[WholeSignal, str] = {}
        for inst in placed.values():
            for o in inst.traced.declared.outputs:
                self._sizes[inst.path, OutputSignal, o.name] = o.size
            if at_tick:
                for m in inst.memories(Refreshed):
                    self._sizes[inst.path, SampledSignal, m.name] = m.size
                    if m.repeats:
                        self._kept_whole.add((inst.path, SampledSignal, m.name))
                    self._shown[inst.path, SampledSignal, m.name] = m.shown
                if inst.memories(AlgebraicUnknown):
                    self._sizes[inst.path, UnknownSignals, "unknowns"] = 1
                if inst.traced.declared.timed_events:
                    self._sizes[inst.path, TimedEvents, "timed events"] = 1

    def order(self) -> list[SignalNode]:
        """All nodes, each after what it needs; members of a loop that is solved stand together.

        Raises
        ------
        AlgebraicLoopError     with every loop hop by hop
        """
        graph, cyclic = self._split_cycles()
        while True:
            if not self._put_first(graph, cyclic):
                held = {(n.path, n.kind, n.name) for c in cyclic for n in c if self._may_keep(n)}
                old = set() if held else self._may_show_old(graph, cyclic)
                if not held and not old:
                    break
                self.held |= held
                self.old |= old
            graph, cyclic = self._split_cycles()
        self.ordered = graph
        self._follow_loops(graph)
        if not cyclic:
            return self._sorted
        loops = [c for c in cyclic if not self._expected(c) and self._coincides(graph.subgraph(c))]
        if loops and not self.solve:
            raise AlgebraicLoopError(
                "\n".join(self._text(graph.subgraph(c)) for c in loops) + "\n",
                hint="Break it with a delay or a sampled block, or allow it with solve_loops=True.",
            )
        harmless = [c for c in cyclic if c not in loops and not self._expected(c)]
        self.ordered = self._relaxed(graph, harmless)
        for component in loops:
            self._cut(self.ordered, component)
        return self._grouped(self.ordered)

    def _split_cycles(self) -> tuple[nx.DiGraph, list[set[SignalNode]]]:
        """The graph, and its cycles once every port in them is split into components."""
        while True:
            self.whole = graph = self._graph()
            with contextlib.suppress(nx.NetworkXUnfeasible):  # there are cycles
                self._sorted = list(nx.topological_sort(graph))
                return graph, []
            cyclic = [c for c in nx.strongly_connected_components(graph) if len(c) > 1]
            cyclic += [{n} for n in nx.nodes_with_selfloops(graph)]
            whole = {(n.path, n.kind, n.name) for c in cyclic for n in c if n.component is None}
            wide = {key for key in whole if self._sizes[key] > 1 and key not in self._kept_whole}
            if not wide:
                return graph, cyclic
            self.split |= wide

    def _put_first(self, graph: nx.DiGraph, cyclic: list[set[SignalNode]]) -> bool:
        """Let timed events of one block of each cycle come before what they read in it; were there any?

        Best those of a block whose outputs in the cycle do not follow what its events read there, and follow
        continuous states: a plant before its controller.
        """
        found = False
        for cycle in cyclic:
            events = [n for n in sorted(cycle, key=str) if n.kind is TimedEvents]
            if not events:
                continue
            first = min(events, key=partial(self._follows, graph, cycle))
            late = {(n.path, n.kind, n.name) for n in graph.predecessors(first) if n in cycle}
            self.early.setdefault(first.path, set()).update(late)
            for node in events:
                read = {(n.path, n.kind, n.name) for n in graph.predecessors(node) if n in cycle}
                self.read_in_loop.setdefault(node.path, set()).update(read)
            found = True
        return found

    def _follow_loops(self, graph: nx.DiGraph) -> None:
        """Timed events behind those of cycles are repeated with them, where what they read has changed."""
        events = [n for n in graph if n.kind is TimedEvents and n.path in self.read_in_loop]
        behind = set().union(*(nx.descendants(graph, n) for n in events))
        for node in behind:
            if node.kind is TimedEvents and node.path not in self.read_in_loop:
                read = {(n.path, n.kind, n.name) for n in graph.predecessors(node) if n in behind}
                self.read_in_loop[node.path] = read

    def _follows(self, graph: nx.DiGraph, cycle: set[SignalNode], events: SignalNode) -> tuple[bool, bool]:
        """Do outputs in the cycle follow what events of their block read there? No continuous state?"""
        before, after = set(graph.predecessors(events)) & cycle, set(graph.successors(events)) & cycle
        inst = self.placed[events.path]
        states = [inst.traced.slices[m.name] for m in inst.memories(ContinuousState)]
        used = [n.kind.uses(inst, n.name)[1] for n in after]
        moves = any(own[:, place].any() for own in used for place in states)
        return any(graph.has_edge(n, m) for n in before for m in after), not moves

    def _expected(self, component: set[SignalNode]) -> bool:
        """A cycle through implicit unknowns and cut outputs only: they are solved at every evaluation."""
        implicit = any(n.kind is UnknownSignals or n in self.cut for n in component)
        return implicit and not any(n.kind is SampledSignal for n in component)

    def _cut(self, graph: nx.DiGraph, component: set[SignalNode]) -> None:
        """Choose the unknowns of a loop: its sampled memories, or as few outputs as a greedy choice finds."""
        memories = sorted((n for n in component if n.kind is SampledSignal), key=str)
        if memories:
            self.solved.append(memories)
            return
        rest = graph.subgraph(component).copy()
        while not nx.is_directed_acyclic_graph(rest):
            knot = max(rest, key=lambda n: (rest.in_degree(n) * rest.out_degree(n), str(n)))
            self.cut.add(knot)
            rest.remove_node(knot)
        graph.remove_edges_from([(n, k) for k in self.cut & component for n in list(graph.predecessors(k))])

    @staticmethod
    def _grouped(graph: nx.DiGraph) -> list[SignalNode]:
        """Topological order of the strongly connected components, members of one in a fixed order."""
        condensed = nx.condensation(graph)
        order: list[SignalNode] = []
        for k in nx.topological_sort(condensed):
            order += sorted(condensed.nodes[k]["members"], key=lambda n: (n.kind.rank, str(n)), reverse=True)
        return order

    def _graph(self) -> nx.DiGraph:
        """Edges go from what is needed to what needs it."""
        graph = nx.DiGraph()
        for key, size in self._sizes.items():
            if key in self.held:
                continue
            for component in range(size) if key in self.split else (None,):
                node = self._node(*key, component)
                graph.add_node(node)
                graph.add_edges_from((needed, node) for needed in self._needs(node))
        return graph

    def _needs(self, node: SignalNode) -> Iterator[SignalNode]:
        """The nodes that a node reads at the same instant."""
        inst = self.placed[node.path]
        key = ("reads", self.at_tick, node.kind, node.name, node.component)
        read: _Reads = inst.traced.derived.get(key, partial(self._reads, inst, node))  # alike in its shape
        inputs, memories, whole = read
        late = self.early.get(node.path, set()) if node.kind is TimedEvents else set()
        for k, mask in inputs:
            source = inst.drivers[k]
            if source is not None and (source[0], OutputSignal, source[1]) not in late:
                yield from self._components(source[0], OutputSignal, source[1], mask)
        for name, mask in memories:
            if (node.path, SampledSignal, name) in late:
                continue
            if node.kind is not OutputSignal or (node.path, node.name, name) not in self.old:
                yield from self._components(inst.path, SampledSignal, name, mask)
        for kind, name in whole:
            if (node.path, kind, name) not in late:
                yield self._node(inst.path, kind, name)

    def _reads(self, inst: PlacedBlock, node: SignalNode) -> _Reads:
        """Inputs and memories a node reads, with the components, and nodes that stand for its block.

        They depend on the shape of the block alone.
        """
        d = inst.traced.declared
        inputs, own = node.kind.uses(inst, node.name)
        rows = slice(None) if node.component is None else slice(node.component, node.component + 1)
        ends = np.cumsum([i.size for i in d.inputs])
        used_inputs = np.any(inputs[rows], axis=0)
        hit = np.unique(np.searchsorted(ends, np.flatnonzero(used_inputs), side="right"))
        ports = [(int(k), used_inputs[ends[k] - d.inputs[k].size : ends[k]]) for k in hit]
        if not self.at_tick:
            return ports, [], []
        used: np.ndarray = np.any(own[rows], axis=0)
        ticked = [
            (m.name, used[inst.traced.slices[m.name]])
            for m in inst.memories(Refreshed)
            if not (node.kind is SampledSignal and m.reads_itself and m.name == node.name)
        ]
        whole: list[tuple[type[SignalKind], str]] = []
        if any(used[inst.traced.slices[m.name]].any() for m in inst.memories(AlgebraicUnknown)):
            whole.append((UnknownSignals, "unknowns"))
        if node.kind is not TimedEvents and _follows_events(inst, node, used):
            whole.append((TimedEvents, "timed events"))
        return ports, [(name, mask) for name, mask in ticked if mask.any()], whole

    def _node(self, path: str, kind: type[SignalKind], name: str, component: int | None = None) -> SignalNode:
        return SignalNode(path, kind, name, component, self._shown.get((path, kind, name), ""))

    def _components(
        self, path: str, kind: type[SignalKind], name: str, mask: np.ndarray
    ) -> Iterator[SignalNode]:
        if (path, kind, name) in self.held:
            return
        if (path, kind, name) in self.split:
            for component in np.flatnonzero(mask):
                yield self._node(path, kind, name, int(component))
        else:
            yield self._node(path, kind, name)

    def _may_keep(self, node: SignalNode) -> bool:
        return node.kind is SampledSignal and self.placed[node.path].refreshed(node.name).may_keep

    def _may_show_old(self, graph: nx.DiGraph, cyclic: list[set[SignalNode]]) -> set[tuple[str, str, str]]:
        """Outputs of one block of each cycle that do without the new value of a memory."""
        found: set[tuple[str, str, str]] = set()
        for cycle in cyclic:
            able = [
                (level, n.path, n.name, m.name)
                for n in sorted(cycle, key=str)
                if n.kind is OutputSignal
                for m in self.placed[n.path].memories(Refreshed)
                for level, names in enumerate(m.old_in)
                if n.name in names and (n.path, n.name, m.name) not in self.old
            ]
            if able and self._coincides(graph.subgraph(cycle)):
                level, path, *_ = min(able)
                found.update((p, out, name) for least, p, out, name in able if (least, p) == (level, path))
        return found

    def late(self, path: str, memory: Refreshed) -> tuple[str, ...]:
        """Outputs of a block that lose something by showing the old value of a memory."""
        free = memory.old_in[:-1]  # a unit has handled its own events before
        found = sorted(output for one, output, name in self.old if (one, name) == (path, memory.name))
        return tuple(name for name in found if not any(name in some for some in free))

    # --- cycles through rates that never meet ----------------------------------------------------
    def _ticks(self, node: SignalNode) -> Ticks | None:
        if node.kind is not SampledSignal:
            return None
        return self.placed[node.path].refreshed(node.name).rate

    def _meeting(self, graph: nx.DiGraph) -> nx.DiGraph:
        """Sampled memories of a cycle, with an edge where one needs another at the same instant."""
        memories = [n for n in graph if n.kind is SampledSignal]
        found = nx.DiGraph()
        found.add_nodes_from(memories)
        for memory in memories:
            ticks = self._ticks(memory)
            for other in _up_to_memories(graph.successors, memory)[1]:
                theirs = self._ticks(other)
                if ticks is None or theirs is None or ticks.meets(theirs):
                    found.add_edge(memory, other)
        return found

    def _coincides(self, cycle: nx.DiGraph) -> bool:
        outputs = cycle.subgraph([n for n in cycle if n.kind is OutputSignal and n not in self.cut])
        if not nx.is_directed_acyclic_graph(outputs):
            return True
        return not nx.is_directed_acyclic_graph(self._meeting(cycle))

    def _relaxed(self, graph: nx.DiGraph, harmless: list[set[SignalNode]]) -> nx.DiGraph:
        """Order memories of a cycle of rates that never meet by who needs whom where both tick.

        A memory then no longer follows the outputs of the cycle that it reads, but what they need from
        outside the cycle.
        """
        relaxed = graph.copy()
        for component in harmless:
            cycle = graph.subgraph(component)
            meeting = self._meeting(cycle)
            for memory in meeting:
                relaxed.remove_edges_from([(n, memory) for n in cycle.predecessors(memory)])
                read, _ = _up_to_memories(cycle.predecessors, memory)
                outside = {n for r in read for n in graph.predecessors(r)} - component
                relaxed.add_edges_from((n, memory) for n in outside)
            relaxed.add_edges_from(meeting.edges)
            self.alone.update(meeting)
        return relaxed

    # --- messages --------------------------------------------------------------------------------
    def _text(self, cycle: nx.DiGraph) -> str:
        """One loop hop by hop, each block output and the input it reaches."""
        nodes = self._loop(cycle)
        when = "at a tick" if any(n.kind is SampledSignal for n in nodes) else "between ticks"
        first = next(k for k, n in enumerate(nodes) if n.kind is OutputSignal)
        nodes = nodes[first:] + nodes[: first + 1]
        hops, ports = [], set()
        source, port = nodes[0], ""
        for node in nodes[1:]:
            port = port or self._port(source, node)
            if node.kind is OutputSignal:  # a sampled value is seen where its block shows it
                hops += [f"  {source}  ->  {port}", f"  {port}  feeds through to  {node}"]
                ports |= {str(source), port}
                source, port = node, ""
        return f"Algebraic loop {when} through {len(ports)} ports:\n" + "\n".join(hops)

    def _loop(self, cycle: nx.DiGraph) -> list[SignalNode]:
        """One closed walk, among those that are loops at one instant."""
        outputs = cycle.subgraph([n for n in cycle if n.kind is not SampledSignal])
        if not nx.is_directed_acyclic_graph(outputs):
            return [source for source, _ in nx.find_cycle(outputs)]
        walk: list[SignalNode] = []
        for source, target in nx.find_cycle(self._meeting(cycle)):
            inner = cycle.subgraph([*outputs, source, target])
            after = [n for n in inner.successors(source) if nx.has_path(inner, n, target)]
            paths = [nx.shortest_path(inner, n, target) for n in after]
            walk += [source, *min(paths, key=len)[:-1]]
        return walk

    def _port(self, source: SignalNode, target: SignalNode) -> str:
        """Input of the target's block through which the source reaches it."""
        inst = self.placed[target.path]
        for port, driver in zip(inst.traced.declared.inputs, inst.drivers, strict=True):
            if driver == (source.path, source.name):
                suffix = "" if source.component is None else f"[{source.component}]"
                return f"{target.path}.{port.name}{suffix}"
        return target.path


def _follows_events(inst: PlacedBlock, node: SignalNode, used: np.ndarray) -> bool:
    """Does a node read what timed events of its block change, given the memories (n,) it uses?

    What a block calls may have changed with them, though it is asked for the same arguments.
    """
    d = inst.traced.declared
    if not d.timed_events:
        return False
    changed = {name for event in d.timed_events for name, _ in event.resets}
    return bool(d.calls) or any(used[inst.traced.slices[name]].any() for name in changed)


def _up_to_memories(
    neighbours: Callable[[SignalNode], Iterable[SignalNode]], start: SignalNode
) -> tuple[set[SignalNode], set[SignalNode]]:
    """The nodes between a node and the nearest sampled memories in one direction, and those memories."""
    between: set[SignalNode] = set()
    memories: set[SignalNode] = set()
    queue = [start]
    while queue:
        for node in neighbours(queue.pop()):
            if node.kind is SampledSignal:
                memories.add(node)
            elif node not in between:
                between.add(node)
                queue.append(node)
    return between, memories
