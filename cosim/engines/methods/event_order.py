"""Which crossings depend on what other events reset: where both are due at an instant, the others come first.

Without an order a comparison of a comparison lags behind it by one round, and what combines the two sees
values that never hold together: an exclusive or of both is 1 for a round, which a counter would count.

Events that reset one memory and come `in_turn` (`BlockEvent`) have an order too, that of their declaration.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from cosim.engines.methods.crossing_rates import crossings_of
from cosim.system import System


@dataclass(frozen=True)
class EventOrder:
    """Events in an order in which those come first whose resets the crossings of others depend on.

    order : (ne,) numbers of events
    loop : (ne,) the number of the cycle that each is in (events that depend on each other), or its own
    before : (ne,) the events outside of its cycle that each depends on at once, ascending
    """

    order: tuple[int, ...]
    loop: tuple[int, ...]
    before: tuple[tuple[int, ...], ...]

    @property
    def trivial(self) -> bool:
        """Does no event depend on one outside of its cycle?"""
        return not any(self.before)

    def behind(self, due: Sequence[int]) -> np.ndarray:
        """Which events depend, at once or through others, on events `due` outside of their cycles, (ne,)."""
        now, reached = set(due), np.zeros(len(self.order), dtype=bool)  # by cycle
        for k in self.order:
            if any(j in now or reached[self.loop[j]] for j in self.before[k]):
                reached[self.loop[k]] = True
        return reached[list(self.loop)]


def event_order(s: System) -> EventOrder:
    """The order of the events of a system."""
    return s.derived.get("order of events", lambda: _event_order(s))


def _event_order(s: System) -> EventOrder:
    n = len(s.events)
    moved_by: dict[int, set[int]] = {}  # events by the places in h that they reset
    for k, e in enumerate(s.events):
        for place in (p for vector, places, _ in e.resets if vector == "h" for p in places.tolist()):
            if not e.acknowledges:
                moved_by.setdefault(place, set()).add(k)
    turns = _turns(s)
    if n < 2 or not (moved_by or turns):
        return EventOrder(tuple(range(n)), tuple(range(n)), ((),) * n)
    depends = [set().union(*[moved_by.get(p, ()) for p in reads]) for reads in _reads(s)]
    for members in turns:  # what these reset orders nothing among them
        for k in members:
            depends[k] -= set(members)
    order, _ = _sorted(depends)
    for members in turns:
        chain = sorted(members, key=order.index)
        for first, then in itertools.pairwise(chain):
            depends[then].add(first)
    order, loop = _sorted(depends)
    before = [tuple(sorted(j for j in others if loop[j] != loop[k])) for k, others in enumerate(depends)]
    return EventOrder(tuple(order), tuple(loop), tuple(before))


def _sorted(depends: list[set[int]]) -> tuple[list[int], list[int]]:
    """Numbers in an order in which others come after those they depend on, and the cycle that each is in."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(depends)))
    graph.add_edges_from((j, k) for k, others in enumerate(depends) for j in others)
    loops = sorted(map(sorted, nx.strongly_connected_components(graph)))
    loop = {k: number for number, members in enumerate(loops) for k in members}
    cycles = nx.condensation(graph, loops)
    order = [k for number in nx.lexicographical_topological_sort(cycles) for k in loops[number]]
    return order, [loop[k] for k in range(len(depends))]


def _turns(s: System) -> list[list[int]]:
    """Events that come in turn, ascending, for each memory that several of them reset."""
    members: dict[tuple[str, int], list[int]] = {}
    for k, e in enumerate(s.events):
        for vector, places, _ in e.resets if e.in_turn else ():
            for place in places.tolist():
                members.setdefault((vector, place), []).append(k)
    return [list(found) for found in dict.fromkeys(map(tuple, members.values())) if len(found) > 1]


def _reads(s: System) -> list[set[int]]:
    """Places in h that each crossing depends on, through unknowns and accepted memories too, (ne,)."""
    g, (values, places) = ca.densify(crossings_of(s)), s.accepted
    found = _rows(g, s.h)
    if s.residual.numel():
        solved = set().union(*_rows(ca.densify(s.residual), s.h))
        for k, unknown in enumerate(_rows(g, s.w)):
            found[k] |= solved if unknown else set()
    kept = dict(zip(places.tolist(), _rows(ca.densify(values), s.h), strict=True))
    for reads in found:
        to_see = [p for p in reads if p in kept]
        while to_see:
            more = kept[to_see.pop()] - reads
            reads |= more
            to_see += [p for p in more if p in kept]
    return found


def _rows(e: ca.SX, by: ca.SX) -> list[set[int]]:
    """Which components of `by` each row of e depends on."""
    found: list[set[int]] = [set() for _ in range(e.numel())]
    for row, column in zip(*ca.jacobian_sparsity(e, by).get_triplet(), strict=True):
        found[row].add(column)
    return found
