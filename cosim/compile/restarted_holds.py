"""Which extrapolating holds an event starts anew: those behind the block that has the event.

An event may let everything behind its block jump, whatever blocks are in between; nothing else. Holds of
one rate share a count of samples, so that they start anew together.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import networkx as nx

from blocks.contract.rate import Ticks
from blocks.contract.trace import Traced
from cosim.compile.placed_block import PlacedBlock


class RestartedHolds:
    """For each block, the rates whose counts of samples its events start anew."""

    def __init__(self, placed: Mapping[str, PlacedBlock]) -> None:
        self._holds = _holds(placed)
        if not self._holds:
            return
        graph = nx.DiGraph()
        graph.add_nodes_from(placed)
        graph.add_edges_from((s[0], path) for path, i in placed.items() for s in i.drivers if s is not None)
        backwards = graph.reverse(copy=False)
        self._sources = {
            ticks: {path for layer in nx.bfs_layers(backwards, paths) for path in layer}
            for ticks, paths in self._holds.items()
        }

    def by(self, path: str) -> list[Ticks]:
        """The rates for the events of the block at a path."""
        return [ticks for ticks in self._holds if path in self._sources[ticks]]


def _holds(placed: Mapping[str, PlacedBlock]) -> dict[Ticks, list[str]]:
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
