"""What memories begin with, where the value of one depends on those of others: each reads the new ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import casadi as ca
import networkx as nx
import numpy as np

from blocks.contract.event_memories import Branch
from cosim.compile.placed_block import PlacedBlock
from cosim.segments import Segment
from cosim.slots import Slot


def in_order(values: ca.SX, own: ca.SX) -> ca.SX:
    """Values of memories, each from the new values of the others it reads and from its own old one.

    A branch that rests on its threshold keeps what it was: that is what it was given, and nothing that it
    would be while others are not found yet. Memories that read each other in a circle read the old values.

    values : (n,) new values; own : (n,) the symbols of the memories
    """
    reads = ca.jacobian_sparsity(values, own)
    rows, columns = reads.get_triplet()
    edges = [(source, target) for target, source in zip(rows, columns, strict=True) if source != target]
    if not edges:
        return values
    graph = nx.DiGraph(edges)
    whole = nx.condensation(graph)
    new = [values[k] for k in range(values.numel())]
    known: list[int] = []
    for generation in nx.topological_generations(whole):
        members = sorted(k for component in generation for k in whole.nodes[component]["members"])
        if known:
            found = ca.substitute(
                ca.vertcat(*[new[k] for k in members]), own[known], ca.vertcat(*[new[k] for k in known])
            )
            for place, k in enumerate(members):
                new[k] = found[place]
        known += members
    return ca.vertcat(*new)


def waiting_modes(
    values: ca.SX,
    places: np.ndarray,
    h: ca.SX,
    placed: Mapping[str, PlacedBlock],
    slots: Mapping[str, Slot],
    schedule: Iterable[Segment],
) -> np.ndarray:
    """Which values, (n,) bool, are of modes that remember and are found at the first instant, not before it.

    A relay whose input is a sampled signal begins with what that is after its first tick, not with what its
    memory holds before; so does one behind a comparison of that. What depends on continuous states alone, and
    on what accepted steps have left, is there already.

    values : (n,) new values; places : (n,) where they are in h
    """
    refreshed = {name for segment in schedule for name in segment.names if name in slots}
    branches = {
        name: m.remembers and not m.begins
        for inst in placed.values()
        for m in inst.memories(Branch)
        if (name := f"{inst.path}.{m.name}") in refreshed
    }
    places = places.tolist()
    reads = nx.DiGraph()
    reads.add_edges_from(
        (column, places[row])
        for row, column in zip(*ca.jacobian_sparsity(values, h).get_triplet(), strict=True)
    )
    sampled = _places(slots, refreshed - branches.keys()) & reads.nodes
    later = set(sampled).union(*(nx.descendants(reads, place) for place in sampled))
    modes = _places(slots, (name for name, remembers in branches.items() if remembers))
    return np.array([place in modes & later for place in places], dtype=bool)


def _places(slots: Mapping[str, Slot], names: Iterable[str]) -> set[int]:
    return {place for name in names for place in slots[name].index.tolist()}
