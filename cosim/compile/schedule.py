"""When does what run: the segments of a tick, in an order valid for every subset of rates.

Sampled memories are grouped into as few segments as their dependencies allow. Within a segment a memory
reads the *new* values of those before it, which is done by evaluating the blocks in between a second time
with the new expressions in place of the memories.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca
import networkx as nx
import numpy as np

from blocks.contract.declared import BlockEvent
from blocks.contract.event_memories import LoopRounds
from blocks.contract.memories import (
    Afterwards,
    CountedInstants,
    DelayedSignal,
    DiscreteState,
    Refreshed,
    Repeated,
)
from blocks.contract.rate import Ticks
from blocks.errors import AlgebraicLoopError
from cosim.compile.expressions import Expressions
from cosim.compile.order import Dependencies
from cosim.compile.placed_block import PlacedBlock
from cosim.compile.signal_nodes import (
    OutputSignal,
    SampledSignal,
    SignalNode,
    TimedEvents,
    UnknownSignals,
)
from cosim.segments import (
    Activation,
    AtEventTimes,
    AtRate,
    EventSegment,
    EveryInstant,
    EveryTick,
    ExternalSegment,
    LastSegment,
    OutputSegment,
    RepeatSegment,
    Segment,
    SolveSegment,
    UpdateSegment,
)


@dataclass(frozen=True)
class _Label:
    """Latest segment level a node depends on, and who writes memories at that level."""

    level: int
    writers: frozenset[object]

    def after(self, other: _Label) -> _Label:
        if self.level != other.level:
            return self if self.level > other.level else other
        return _Label(self.level, self.writers | other.writers)


NOTHING = _Label(-1, frozenset())


def build_schedule(
    placed: dict[str, PlacedBlock],
    rates: Sequence[Ticks],
    between: Expressions,
    place: Callable[[str], np.ndarray],
    solve: bool = False,
    cut: frozenset[SignalNode] = frozenset(),
) -> list[Segment]:
    """Output, solve, external and event segments in dependency order, then one update segment per rate.

    Parameters
    ----------
    between : Expressions     values of all outputs with every memory as a symbol
    place : callable          name of a memory -> its places in h
    solve : bool              solve loops through sampled memories instead of refusing them
    cut : set of nodes        outputs that are unknowns, solved at every evaluation
    """
    index = {ticks: k for k, ticks in enumerate(rates)}
    segments: list[Segment] = []
    updates = _updates(placed, rates, between, place)
    if not any(i.memories(Refreshed) or i.traced.declared.timed_events for i in placed.values()):
        return updates + _last(placed, index, between, place)
    dependencies = Dependencies(placed, at_tick=True, solve=solve, cut=cut)
    order = dependencies.order()
    labels = _Labels(placed, dependencies, dependencies.whole, order)
    for (level, _), nodes in sorted(labels.groups.items(), key=lambda item: item[0][0]):
        if nodes[0].kind is TimedEvents:
            segments.append(_event_segment(placed, between, place, nodes[0], dependencies))
        elif any(nodes[0] in loop for loop in dependencies.solved):
            segments.append(_solve_segment(placed, index, between, place, nodes))
        else:
            candidates = [n for n in labels.bucket[level] if n not in cut]
            segments.append(_segment(placed, index, between, place, nodes, candidates, dependencies))
    return segments + updates + _last(placed, index, between, place)


class _Labels:
    """Which segment every sampled memory belongs to: `groups` by (level, writer), all nodes by level."""

    def __init__(
        self,
        placed: dict[str, PlacedBlock],
        dependencies: Dependencies,
        graph: nx.DiGraph,
        order: list[SignalNode],
    ) -> None:
        self.placed, self.dependencies, self.graph = placed, dependencies, graph
        self.labels: dict[SignalNode, _Label] = {}
        self.groups: dict[tuple[int, object], list[SignalNode]] = defaultdict(list)
        self.bucket: dict[int, list[SignalNode]] = defaultdict(list)
        together = self._solved_together(order)
        for node in order:
            group = together.get(node, [node])
            if node == group[0]:
                label = self._before(group)
                for member in group:
                    self._put(member, label, group)

    def _solved_together(self, order: list[SignalNode]) -> dict[SignalNode, list[SignalNode]]:
        """Nodes of each set that is solved at once: implicit unknowns, cut outputs, loops at a tick."""
        d = self.dependencies
        if not (d.cut or d.solved or any(n.kind is UnknownSignals for n in self.graph)):
            return {}
        rank = {n: k for k, n in enumerate(order)}
        found: dict[SignalNode, list[SignalNode]] = {}
        for component in nx.strongly_connected_components(self.graph):
            if (len(component) > 1 and not component & d.alone) or any(
                n.kind is UnknownSignals for n in component
            ):
                members = sorted(component, key=rank.__getitem__)
                found.update(dict.fromkeys(members, members))
        return found

    def _before(self, group: list[SignalNode]) -> _Label:
        label = NOTHING
        for node in group:
            for needed in self.dependencies.ordered.predecessors(node):
                label = label.after(self.labels.get(needed, NOTHING))
        return label

    def _put(self, node: SignalNode, label: _Label, group: list[SignalNode]) -> None:
        solved = len(group) > 1 or node.kind is UnknownSignals
        if node.kind is SampledSignal:
            writer = ("loop", group[0]) if solved else _writer(self.placed, node, self.dependencies.alone)
            same = label.writers <= {writer}
            label = _Label(max(label.level, 0) if same else label.level + 1, frozenset([writer]))
            self.groups[label.level, writer].append(node)
        elif node.kind is TimedEvents:
            label = _Label(label.level + 1, frozenset([node]))
            self.groups[label.level, node].append(node)
        elif solved and label.level >= 0:  # found anew for every segment: what reads it comes later
            label = _Label(label.level, frozenset([("solved", group[0])]))
        self.labels[node] = label
        self.bucket[label.level].append(node)


def _solve_segment(
    placed: dict[str, PlacedBlock],
    index: dict[Ticks, int],
    between: Expressions,
    place: Callable[[str], np.ndarray],
    nodes: list[SignalNode],
) -> Segment:
    """Sampled memories of a loop: their places are to hold a fixed point of the expressions."""
    memories = [placed[n.path].refreshed(n.name) for n in nodes]
    rates = {m.rate for m in memories}
    opaque = [str(n) for n, m in zip(nodes, memories, strict=True) if m.external]
    if opaque or len(rates) > 1:
        why = f"{opaque[0]} is an opaque function" if opaque else "its blocks have different rates"
        raise AlgebraicLoopError(
            f"the loop at a tick through {', '.join(str(n) for n in nodes)} cannot be solved: {why}.",
            hint="Break it with a UnitDelay.",
        )
    values, places = [], []
    for node in nodes:
        value, where = between.memory(node.path, node.name), place(f"{node.path}.{node.name}")
        cut = slice(None) if node.component is None else slice(node.component, node.component + 1)
        values.append(value[cut])
        places.append(where[cut])
    names = tuple(dict.fromkeys(f"{n.path}.{n.name}" for n in nodes))
    when = _activation(memories[0].rate, index, EveryInstant() if memories[0].again else EveryTick())
    return SolveSegment(when, nodes[0].path, names, ca.vertcat(*values), np.concatenate(places))


def _event_segment(
    placed: dict[str, PlacedBlock],
    between: Expressions,
    place: Callable[[str], np.ndarray],
    node: SignalNode,
    dependencies: Dependencies,
) -> EventSegment:
    """The place of timed events of a block in the schedule."""
    inst = placed[node.path]
    events = inst.traced.declared.timed_events
    follow = [e for e in events if e.follow_time]
    some = [k for k in range(len(follow)) if _reads_inputs(inst, follow[k], k)]
    if not _jumps_matter(placed, dependencies.ordered, node):
        some = []
    crossings = ca.vertcat(ca.SX(0, 1), *[follow[k].crossing for k in some])
    counts = inst.memories(LoopRounds) if node.path in dependencies.read_in_loop else []
    read = ca.SX(0, 1)
    if counts:
        sources = {(path, name) for path, _, name in dependencies.read_in_loop[node.path]}
        read = ca.vertcat(read, *[between.input(inst, k) for k, s in enumerate(inst.drivers) if s in sources])
    return EventSegment(
        AtEventTimes(),
        node.path,
        tuple(dict.fromkeys(f"{node.path}.{e.name}" for e in events)),
        ca.densify(ca.vertcat(between.of(node.path, "following:", crossings) if some else crossings, read)),
        np.zeros(0, dtype=int),
        early=tuple(sorted(f"{path}.{name}" for path, _, name in dependencies.early.get(node.path, ()))),
        following=tuple(some),
        rounds=int(place(f"{node.path}.{counts[0].name}")[0]) if counts else -1,
    )


def _reads_inputs(inst: PlacedBlock, event: BlockEvent, number: int) -> bool:
    inputs, *_ = inst.traced.depends(f"following {number}:", event.crossing)
    return bool(inputs.any())


def _jumps_matter(placed: dict[str, PlacedBlock], graph: nx.DiGraph, node: SignalNode) -> bool:
    """May what events read jump at an instant before them, and is what they change read there?"""
    if not any(n.kind in (SampledSignal, TimedEvents) for n in nx.descendants(graph, node)):
        return False
    return any(n.kind is not OutputSignal or _jumps(placed[n.path]) for n in nx.ancestors(graph, node))


def _jumps(inst: PlacedBlock) -> bool:
    """May outputs jump at an instant: by ticks, at listed instants, or where a jump comes out of a delay?"""
    return bool(inst.traced.declared.ticks or inst.memories(CountedInstants) or inst.memories(DelayedSignal))


def _writer(placed: dict[str, PlacedBlock], node: SignalNode, alone: set[SignalNode]) -> object:
    """Memories with one writer may share a segment: those of one rate; opaque blocks stay apart."""
    memory = placed[node.path].refreshed(node.name)
    if memory.external or memory.repeats:
        return (node.path, node.name)
    return node if node in alone else (memory.rate, memory.again)


def _segment(
    placed: dict[str, PlacedBlock],
    index: dict[Ticks, int],
    between: Expressions,
    place: Callable[[str], np.ndarray],
    nodes: list[SignalNode],
    candidates: list[SignalNode],
    dependencies: Dependencies,
) -> Segment:
    """Expressions of the memories in `nodes`, each with the new values of those before it."""
    first = placed[nodes[0].path].refreshed(nodes[0].name)
    when = _activation(first.rate, index, EveryInstant() if first.again else EveryTick())
    names = tuple(dict.fromkeys(f"{n.path}.{n.name}" for n in nodes))
    if first.external is not None:
        argument = between.of(nodes[0].path, f"m:{first.name}", first.reads)
        where = place(names[0])
        asked = getattr(first, "asked", "")
        only_if = int(place(f"{nodes[0].path}.{asked}")[0]) if asked else -1
        path = nodes[0].path
        late = dependencies.late(path, first)
        looped = any((one, name) == (path, first.name) for one, _, name in dependencies.old)
        return ExternalSegment(
            when, path, names, argument, where,
            block=first.external, only_if=only_if, late=late, looped=looped,
        )  # fmt: skip
    fresh = _with_new_values(placed, between, nodes, candidates, dependencies.whole)
    values, places = [], []
    parts: dict[tuple[str, str], list[int]] = defaultdict(list)  # components of each memory; none for all
    for node in nodes:
        parts[node.path, node.name] += [] if node.component is None else [node.component]
    for (path, name), components in parts.items():
        where = place(f"{path}.{name}")
        value = fresh.memories[path, name]
        if components:
            value, where = value[components], where[components]
        values.append(value)
        places.append(where)
    seams = ca.vertcat(ca.SX(0, 1), *fresh.outputs.values())
    where = np.concatenate(places)
    made = OutputSegment(when, nodes[0].path, names, ca.vertcat(*values), where, seams=seams)
    return RepeatSegment(**vars(made), limit=first.limit) if isinstance(first, Repeated) else made


def _with_new_values(
    placed: dict[str, PlacedBlock],
    between: Expressions,
    nodes: list[SignalNode],
    candidates: list[SignalNode],
    graph: nx.DiGraph,
) -> Expressions:
    """Expressions in which memories of `nodes`, and outputs between them, see the new values before them."""
    fresh = between.with_new_values()
    members = set(nodes)
    changed: set[SignalNode] = set()  # outputs that see a new value
    written: set[SignalNode] = set()
    for node in candidates:
        before = list(graph.predecessors(node))
        if node in members:
            fresh.sample(node)
            _put_at_rest(placed, fresh, node)
            written.add(node)
        elif node.kind is OutputSignal and any(n in written or n in changed for n in before):
            fresh.output(node)
            changed.add(node)
    return fresh


def _activation(rate: Ticks | None, index: dict[Ticks, int], otherwise: Activation) -> Activation:
    return otherwise if rate is None else AtRate(index[rate])


def _last(
    placed: dict[str, PlacedBlock],
    index: dict[Ticks, int],
    between: Expressions,
    place: Callable[[str], np.ndarray],
) -> list[Segment]:
    """Segments of the memories that change last at an instant, one per rate and one for every instant."""
    found: dict[Ticks | None, list[tuple[str, str]]] = defaultdict(list)
    for inst in placed.values():
        for m in inst.memories(Afterwards):
            found[m.ticks].append((inst.path, m.name))
    segments: list[Segment] = []
    for ticks, members in found.items():
        names = tuple(f"{path}.{name}" for path, name in members)
        value = ca.vertcat(*[between.memory(path, name) for path, name in members])
        when = _activation(ticks, index, EveryInstant())
        places = np.concatenate([place(n) for n in names])
        segments.append(LastSegment(when, members[0][0], names, value, places))
    return segments


def _put_at_rest(placed: dict[str, PlacedBlock], fresh: Expressions, node: SignalNode) -> None:
    """A branch whose condition never moves between ticks keeps no old value at 0; others see that."""
    rest = placed[node.path].refreshed(node.name).at_rest
    if rest is None:
        return
    whole = fresh.memories[node.path, node.name]
    which: slice | int = slice(None) if node.component is None else node.component
    value = ca.SX(whole[which])
    if not any(s.element_hash() in fresh.moving for s in ca.symvar(value)):
        whole[which] = ca.substitute(value, placed[node.path].symbols[node.name], ca.SX(rest))


def _updates(
    placed: dict[str, PlacedBlock],
    rates: Sequence[Ticks],
    between: Expressions,
    place: Callable[[str], np.ndarray],
) -> list[Segment]:
    """Next values of all discrete states, one segment per rate."""
    found: dict[Ticks, list[tuple[str, ca.SX]]] = defaultdict(list)
    first: dict[Ticks, str] = {}
    for inst in placed.values():
        for m in inst.memories(DiscreteState):
            first.setdefault(m.ticks, inst.path)
            found[m.ticks].append((f"{inst.path}.{m.name}", between.memory(inst.path, m.name)))
    segments: list[Segment] = []
    for k, ticks in enumerate(rates):
        if ticks in found:
            names = tuple(name for name, _ in found[ticks])
            value = ca.vertcat(*[v for _, v in found[ticks]])
            places = np.concatenate([place(n) for n in names])
            segments.append(UpdateSegment(AtRate(k), first[ticks], names, value, places))
    return segments
