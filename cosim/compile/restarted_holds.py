"""Which extrapolating holds an event starts anew: those behind the block that has the event.

An event may let everything behind its block jump, whatever blocks are in between; nothing else. Holds of
one rate that are behind the same blocks with events share a count of samples; all others have their own.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping

import casadi as ca
import networkx as nx

from blocks.contract.rate import Ticks
from blocks.contract.trace import Traced
from cosim.compile.placed_block import PlacedBlock

Count = tuple[Ticks, int]  # a rate, and which of its counts of samples


class RestartedHolds:
    """The counts of samples of each rate: which one a block reads, and which ones its events start anew."""

    def __init__(self, placed: Mapping[str, PlacedBlock]) -> None:
        readers = _readers(placed)
        self._read: dict[tuple[str, Ticks], int] = {}
        self._counts: dict[Ticks, dict[int, int]] = {ticks: {} for ticks in readers}
        with_events = [path for path, i in placed.items() if i.traced.declared.events]
        self._bits = {path: 1 << k for k, path in enumerate(with_events)} if readers else {}
        fronts = _fronts(placed, self._bits) if readers else {}
        for ticks, paths in readers.items():
            numbers = self._counts[ticks]
            for path in paths:
                self._read[path, ticks] = numbers.setdefault(fronts[path], len(numbers))

    def counts(self, ticks: Ticks) -> int:
        """How many counts of samples a rate has: at least one."""
        return max(1, len(self._counts.get(ticks, ())))

    def read(self, path: str, ticks: Ticks) -> int:
        """Which of the counts of a rate the block at a path reads; the first where it reads none."""
        return self._read.get((path, ticks), 0)

    def by(self, path: str) -> list[Count]:
        """The counts that the events of the block at a path start anew."""
        bit = self._bits.get(path, 0)
        return [
            (ticks, k)
            for ticks, numbers in self._counts.items()
            for front, k in numbers.items()
            if front & bit
        ]


def _fronts(placed: Mapping[str, PlacedBlock], bits: Mapping[str, int]) -> dict[str, int]:
    """For each block, the blocks with events whose signals reach it, and itself: the sum of their `bits`."""
    graph = nx.DiGraph()
    graph.add_nodes_from(placed)
    graph.add_edges_from((s[0], path) for path, i in placed.items() for s in i.drivers if s is not None)
    whole = nx.condensation(graph)
    found: dict[int, int] = {}
    for k in nx.topological_sort(whole):
        own = (bits.get(path, 0) for path in whole.nodes[k]["members"])
        found[k] = functools.reduce(operator.or_, own, 0)
        for j in whole.predecessors(k):
            found[k] |= found[j]
    return {path: found[k] for path, k in whole.graph["mapping"].items()}


def _readers(placed: Mapping[str, PlacedBlock]) -> dict[Ticks, list[str]]:
    """Blocks that read a count of samples, by its rate."""
    found: dict[Ticks, list[str]] = {}
    known: dict[int, tuple[Ticks, ...]] = {}
    for path, inst in placed.items():
        key = id(inst.traced)
        if key not in known:
            known[key] = _counted(inst.traced)
        for ticks in known[key]:
            found.setdefault(ticks, []).append(path)
    return found


def _counted(traced: Traced) -> tuple[Ticks, ...]:
    d = traced.declared
    if not d.ticks:
        return ()
    every = ca.vertcat(ca.SX(0, 1), traced.new_values, *[o.expression for o in d.outputs])
    counts = range(2, d.tick_symbols.numel(), 3)
    return tuple(
        ticks for ticks, k in zip(d.ticks, counts, strict=True) if ca.depends_on(every, d.tick_symbols[k])
    )


def samples_in_a_row(own: ca.SX, whole: ca.SX, period: float) -> ca.SX:
    """How many samples a hold in a part that pauses may use at a tick: those taken a period apart.

    own, whole : (3,)    time [s], count, and count of samples of a rate: at the newest tick of the part, and
                         now in the diagram
    period : s
    """
    return ca.fmin(ca.if_else(whole[0] - own[0] > 1.5 * period, 1, own[2] + 1), whole[2])
