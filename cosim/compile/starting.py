"""What memories begin with, where the value of one depends on those of others: each reads the new ones."""

from __future__ import annotations

import casadi as ca
import networkx as nx


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
