"""Branches whose value is only looked at at ticks, and in logs: they need no events between ticks.

A quantizer in front of a sampled block would make an event of every count, though only its value at the next
tick matters, and that is found anew there; not that of one in a loop at a tick, which changes after it. In
signals, which are logged at any time, such a branch is the value that its expression has there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import casadi as ca
import networkx as nx

from blocks.contract.symbols import hash_of
from cosim.segments import Segment
from cosim.system_parts import Signal, SystemEvent


@dataclass(frozen=True)
class FollowingBranch:
    """A branch that is what its expression says, whatever it was before, but for ties.

    name : of the memory; symbol, value : (size,) symbols between ticks, and what it is anew
    """

    name: str
    symbol: ca.SX
    value: ca.SX


def without_idle_events(
    branches: Sequence[FollowingBranch],
    events: Sequence[SystemEvent],
    schedule: Sequence[Segment],
    signals: Mapping[str, Signal],
    continuous: Iterable[ca.SX],
) -> tuple[tuple[SystemEvent, ...], dict[str, Signal]]:
    """Events that are needed, and signals that do without the others.

    continuous : everything else that is evaluated between ticks, and may not jump without an event
    """
    refreshed = {name for s in schedule for name in s.names}
    branches = [b for b in branches if b.name in refreshed]  # others change after a loop that they are in
    if not branches:
        return tuple(events), dict(signals)
    own = {b.name: _symbols_in([b.symbol]) for b in branches}
    reads = {b.name: _symbols_in([b.value]) for b in branches}
    at_ticks = _symbols_in([s.expression for s in schedule if not set(s.names) <= set(own)])
    owner = {symbol: name for name, symbols in own.items() for symbol in symbols}
    waiting = [name for name in own if own[name] & at_ticks]
    found: set[str] = set()
    while waiting:  # one may be looked at through another
        name = waiting.pop()
        found.add(name)
        waiting += {owner[s] for s in reads[name] if s in owner} - found
    idle = {b.name: b for b in branches if b.name in found}
    asks = [_symbols_in(_parts(e)) for e in events]
    after_events = [s.expression for s in schedule if s.activation.again]  # charts, parts: follow at once
    between = _symbols_in([*continuous, *after_events])
    while True:
        needed = [_acts(e) or not set(e.targets) <= set(idle) for e in events]
        seen = between.union(*[symbols for symbols, keep in zip(asks, needed, strict=True) if keep])
        reset = {name for e, keep in zip(events, needed, strict=True) if keep for name in e.targets}
        fewer = {name: b for name, b in idle.items() if name not in reset and not own[name] & seen}
        if len(fewer) == len(idle):
            break
        idle = fewer
    kept = tuple(e for e, keep in zip(events, needed, strict=True) if keep)
    return kept, _with_values(list(idle.values()), signals)


def _acts(event: SystemEvent) -> bool:
    """Does more follow from an event than what it resets?"""
    return bool(event.stop) or not event.targets or event.timed >= 0 or event.follow_time


def _parts(event: SystemEvent) -> Iterator[ca.SX]:
    yield event.crossing
    for _, _, value in event.resets:
        yield value


def _symbols_in(expressions: Iterable[ca.SX]) -> set[int]:
    stacked = ca.vertcat(ca.SX(0, 1), *[ca.vec(ca.SX(e)) for e in expressions])
    return {hash_of(s) for s in ca.symvar(stacked)}


def _with_values(branches: list[FollowingBranch], signals: Mapping[str, Signal]) -> dict[str, Signal]:
    """Signals in which each branch is what it is anew, those that it depends on first."""
    if not branches:
        return dict(signals)
    owner = {hash_of(s): k for k, b in enumerate(branches) for s in b.symbol.nonzeros()}
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(branches)))
    for k, branch in enumerate(branches):
        read = {owner[s] for s in _symbols_in([branch.value]) if s in owner}
        graph.add_edges_from((other, k) for other in read - {k})
    values: dict[int, ca.SX] = {}
    for k in nx.topological_sort(graph):
        before, value = list(graph.predecessors(k)), branches[k].value
        if before:
            symbols = ca.vertcat(*[branches[other].symbol for other in before])
            value = ca.substitute(value, symbols, ca.vertcat(*[values[other] for other in before]))
        values[k] = value
    symbols = ca.vertcat(*[branches[k].symbol for k in values])
    found = ca.substitute([s.expression for s in signals.values()], [symbols], [ca.vertcat(*values.values())])
    return {
        name: replace(signal, expression=e) for (name, signal), e in zip(signals.items(), found, strict=True)
    }
