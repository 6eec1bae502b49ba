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
    memory holds before. What depends on continuous states alone is there already.

    values : (n,) new values; places : (n,) where they are in h
    """
    refreshed = {name for segment in schedule for name in segment.names}
    modes = [
        slots[name].index
        for inst in placed.values()
        for m in inst.memories(Branch)
        if (name := f"{inst.path}.{m.name}") in refreshed and m.remembers and not m.begins
    ]
    of_others = np.zeros(len(places), dtype=bool)
    for row, column in zip(*ca.jacobian_sparsity(values, h).get_triplet(), strict=True):
        of_others[row] |= column != places[row]
    found: np.ndarray = of_others & np.isin(places, np.concatenate([np.zeros(0, int), *modes]))
    return found
