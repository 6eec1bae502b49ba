"""The ModelStructure of an exported model, from the sparsity of its equations.

Three questions, one matrix each: at a point between events; in event mode, where ticks are executed and a
sampled output follows its input at once; and at the start, where everything is found from what was set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import casadi as ca
import numpy as np
from scipy import sparse

from cosim.columns import stack
from cosim.fmi.export.exported_variables import Exported, Variables
from cosim.segments import AtRate, EventSegment, Segment
from cosim.system import System
from cosim.timed_events import timed_segments

# (rows, columns) True where something depends on something: a sparse matrix of SciPy, which has no types.
# Sums and products of truth values are truth values, of however many terms.
Pattern: TypeAlias = Any


@dataclass(frozen=True)
class Unknown:
    """A variable that is computed, and the references that each of its numbers depends on."""

    variable: Exported
    depends: tuple[tuple[int, ...], ...]

    @property
    def together(self) -> tuple[int, ...]:
        """The references that any of its numbers depends on."""
        return tuple(sorted({k for row in self.depends for k in row}))


@dataclass(frozen=True)
class Structure:
    """Lists of ModelStructure, in order."""

    outputs: tuple[Unknown, ...]
    derivatives: tuple[Unknown, ...]
    indicators: tuple[Unknown, ...]
    initial: tuple[Unknown, ...]


class _Patterns:
    """Patterns of a system in the columns t, x, h, p; unknowns of w in terms of these."""

    def __init__(self, system: System) -> None:
        s = self.system = system
        self.sizes = (1, len(s.x0), len(s.h0), len(s.p0))
        self.columns = sum(self.sizes)
        m, w = s.residual.numel(), sparse.lil_matrix((len(s.w0), self.columns), dtype=bool)
        for delay in s.delays:
            w[delay.places] = _any(self._direct(delay.seconds))
            w[delay.places, 0] = True
        if m:  # all unknowns of a loop depend on everything it reads
            delayed = _pattern(s.residual, s.w[m:]) @ w[m:].tocsr()
            w[:m] = _each(m, self._direct(s.residual) + delayed)
        self._w = w.tocsr()

    def _direct(self, e: ca.SX) -> Pattern:
        s = self.system
        return sparse.hstack([_pattern(e, v) for v in (s.t, s.x, s.h, s.p)], format="csr")

    def of(self, e: ca.SX) -> Pattern:
        """(n, columns) dependencies of an expression."""
        return self._direct(e) + _pattern(e, self.system.w) @ self._w

    @cached_property
    def resets(self) -> list[list[tuple[np.ndarray, Pattern]]]:
        """By event, places in h that it resets, with (n, columns) dependencies of what it writes there."""
        every = [
            (number, places, value, event.crossing)
            for number, event in enumerate(self.system.events)
            for vector, places, value in event.resets
            if vector == "h"
        ]
        # at once: CasADi looks at the whole graph each time
        read = self.of(stack(e for _, _, value, crossing in every for e in (value, crossing)))
        found: list[list[tuple[np.ndarray, Pattern]]] = [[] for _ in self.system.events]
        row = 0
        for number, places, *_ in every:
            n = len(places)
            found[number].append((places, read[row : row + n] + _each(n, read[row + n : row + n + 1])))
            row += n + 1
        return found

    @property
    def x(self) -> slice:
        """The columns of x."""
        return slice(1, 1 + self.sizes[1])

    @property
    def h(self) -> slice:
        """The columns of h."""
        return slice(self.x.stop, self.x.stop + self.sizes[2])


def _pattern(e: ca.SX, of: ca.SX) -> Pattern:
    shape = (int(e.numel()), int(of.numel()))
    if 0 in shape:
        return sparse.csr_matrix(shape, dtype=bool)
    rows, columns = ca.jacobian_sparsity(ca.densify(e), of).get_triplet()
    return sparse.csr_matrix((np.ones(len(rows), bool), (rows, columns)), shape=shape)


def _any(pattern: Pattern) -> Pattern:
    """(1, columns) dependencies of all rows together."""
    return sparse.csr_matrix(np.ones((1, pattern.shape[0]), bool)) @ pattern


def _each(n: int, pattern: Pattern) -> Pattern:
    """(n, columns) of n numbers that depend on all that any row does."""
    return sparse.vstack([_any(pattern)] * n, format="csr")


def _after_ticks(patterns: _Patterns, start: bool) -> Pattern:
    """(nh, columns) dependencies of all held values once the segments that may be due are executed.

    start : at the start, where only rates without offset tick, and modes find their values
    """
    s = patterns.system
    held = sparse.lil_matrix((len(s.h0), patterns.columns), dtype=bool)
    held[:, patterns.h] = sparse.identity(len(s.h0), dtype=bool)

    def now(found: Pattern) -> Pattern:
        return _through(patterns, found, held.tocsr())

    if start and s.starting[0].numel():
        held[s.starting[1]] = now(patterns.of(s.starting[0]))
    for rate, ticks in enumerate(s.tick_slots):
        if not start or s.rates[rate].offset == 0:
            held[[ticks.time, ticks.count, *ticks.since]] = False
            held[ticks.time, 0] = True

    def reset(which: Sequence[int]) -> None:
        for k in which:
            for places, written in patterns.resets[k]:
                held[places] = held[places].tocsr() + now(written)

    timed = timed_segments(s)
    for number, segment in enumerate(s.schedule):
        if isinstance(segment, EventSegment):
            reset(np.flatnonzero(timed == number).tolist())
        if segment.writes_next or not len(segment.writes) or not _due(s, segment, start):
            continue
        found = now(patterns.of(segment.expression))
        if not segment.refreshes:  # a loop: each depends on everything that any of them does
            found = _each(len(segment.writes), found)
        held[segment.writes] = found
    reset(range(len(s.events)))
    return held.tocsr()


def _due(system: System, segment: Segment, start: bool) -> bool:
    a = segment.activation
    return not (start and isinstance(a, AtRate)) or system.rates[a.number].offset == 0


def _through(patterns: _Patterns, found: Pattern, held: Pattern) -> Pattern:
    """Replace dependencies on held values by the dependencies of these values."""
    h = patterns.h
    before, after = found[:, : h.start], found[:, h.stop :]
    none = sparse.csr_matrix((found.shape[0], h.stop - h.start), dtype=bool)
    return sparse.hstack([before, none, after]) + found[:, h] @ held


def structure_of(system: System, variables: Variables, shown: ca.SX, event_mode: bool) -> Structure:
    """The structure of an exported system.

    shown : (n,) expressions of the shown signals, in their order
    event_mode : outputs may be asked for while ticks are executed (model exchange): they then depend on what
        sampled blocks read as well
    """
    p = _Patterns(system)
    signals, rates, crossings = (
        p.of(e) for e in (shown, system.derivative, stack(e.crossing for e in system.events))
    )
    at_events = signals
    if event_mode:
        at_events = signals + _through(p, signals, _after_ticks(p, start=False))
    start = _after_ticks(p, start=True)
    first_signals, first_rates = (_through(p, e, start) for e in (signals, rates))
    known = _columns(p, variables, ("UNIT_TIME", "UNIT_STATE", "UNIT_INPUT"))
    kinds = ("UNIT_TIME", "UNIT_STATE", "UNIT_INPUT", "UNIT_PARAMETER", "UNIT_HELD", "UNIT_DISCRETE")
    given = _columns(p, variables, kinds)
    outputs = [v for v in variables.of("UNIT_SIGNAL") if v.causality == "output"]
    states, derivatives = variables.of("UNIT_STATE"), variables.of("UNIT_RATE")
    moved = []
    if system.invariants.numel():
        onto = _onto_invariants(p)
        first_signals, first_rates = (e + e[:, p.x] @ onto for e in (first_signals, first_rates))
        moved = [_unknown(v, onto, given) for v in states]
    return Structure(
        tuple(_unknown(v, at_events, known) for v in outputs),
        tuple(_unknown(v, rates, known) for v in derivatives),
        tuple(_unknown(v, crossings, known) for v in variables.of("UNIT_INDICATOR")),
        (
            *(_unknown(v, first_signals, given) for v in outputs),
            *moved,
            *(_unknown(v, first_rates, given) for v in derivatives),
        ),
    )


def _onto_invariants(p: _Patterns) -> Pattern:
    """(nx, columns) dependencies of states that are moved onto the invariants: each on all."""
    read = sparse.lil_matrix(_any(p.of(p.system.invariants)))
    read[0, p.x] = True
    return _each(p.sizes[1], read)


def _columns(p: _Patterns, variables: Variables, kinds: Sequence[str]) -> dict[int, int]:
    """Reference of each number of some kinds, by its column."""
    t, x, h, _ = np.cumsum([0, *p.sizes[:-1]]).tolist()
    begin = {"UNIT_TIME": t, "UNIT_STATE": x, "UNIT_PARAMETER": p.columns - p.sizes[3]}
    found = {}
    for v in variables.every:
        if v.kind in kinds:
            for k, place in enumerate(v.places):
                if place >= 0:
                    found[begin.get(v.kind, h) + place] = v.reference + k
    return found


def _unknown(v: Exported, pattern: Pattern, references: dict[int, int]) -> Unknown:
    rows = []
    for place in v.places:
        columns = pattern.indices[pattern.indptr[place] : pattern.indptr[place + 1]].tolist()
        rows.append(tuple(sorted(references[c] for c in columns if c in references)))
    return Unknown(v, tuple(rows))
