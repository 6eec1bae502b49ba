"""The tables the runtime reads of a system: its rates, schedule, memories and events as arrays of numbers.

Groups of different lengths are one array with a `start` array: group k is `[start[k]:start[k + 1]]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from blocks.contract.memories import CountedInstants
from cosim.engines.methods.crossing_rates import taken_anew, thresholds
from cosim.engines.methods.event_order import event_order
from cosim.engines.methods.tolerances import nominal_sizes
from cosim.engines.methods.turning import COLUMNS, bodies_of
from cosim.engines.native import bindings
from cosim.engines.reference.draws import stream
from cosim.segments import (
    EventSegment,
    ExternalSegment,
    LastSegment,
    OutputSegment,
    RepeatSegment,
    SolveSegment,
    UpdateSegment,
)
from cosim.system import System
from cosim.timed_events import following, timed_events, timed_segments

KINDS = {
    OutputSegment: "PL_OUTPUT",
    LastSegment: "PL_OUTPUT",
    RepeatSegment: "PL_REPEAT",
    UpdateSegment: "PL_UPDATE",
    ExternalSegment: "PL_EXTERNAL",
    SolveSegment: "PL_SOLVE",
    EventSegment: "PL_EVENTS",
}

Arrays = dict[str, np.ndarray]


def tables_of(system: System) -> tuple[bindings.Structure, Arrays]:
    """The structure `pl_system`, and the arrays it points into, by field: keep them as long as it is used."""
    arrays: Arrays = {}
    for part in PARTS:
        arrays |= part(system)
    counts = {
        "rates": len(system.rates),
        "segments": len(system.schedule),
        "instants": len(arrays["instant_time"]),
        "event_times": len(arrays["event_time_place"]),
        "lists": len(system.held_of(CountedInstants)),
        "accepted": len(system.accepted[1]),
        "invariants": system.invariants.numel(),
        "events": len(system.events),
        "draws": len(system.draws),
        "starting": len(system.starting[1]),
        "unknowns": system.residual.numel(),
        "delays": len(system.delays),
        "rounding": np.count_nonzero(system.rounding),
        "loops": len(arrays["loop_segment"]),
        "again": sum(s.activation.again for s in system.schedule),
        "bodies": len(arrays["bodies"]) // COLUMNS,
        "before": len(arrays["before"]),
        "controlled": np.isfinite(arrays["nominal"]).sum(),
    }
    tables = bindings.new("pl_system")
    values = {"grid": system.grid} | {f"n_{name}": int(count) for name, count in counts.items()}
    values |= {name: bindings.pointer(array) for name, array in arrays.items()}
    for name in bindings.fields("pl_system"):
        setattr(tables, name, values[name])
    return tables, arrays


def _integers(values: Iterable[int]) -> np.ndarray:
    """What C reads as int32_t."""
    return np.array([int(v) for v in values], dtype=np.int32)


def _grouped(groups: Iterable[Iterable[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Where every group starts, and all groups in a row."""
    every = [list(group) for group in groups]
    starts = np.cumsum([0, *map(len, every)])
    return _integers(starts), _integers(k for group in every for k in group)


def _rates(system: System) -> Arrays:
    """Ticks are whole multiples of 1/grid s; `*_place` are places in h."""
    since_starts, since = _grouped(places.since for places in system.tick_slots)
    return {
        "first": np.array([int(r.offset * system.grid) for r in system.rates], dtype=np.int64),
        "period": np.array([int(r.period * system.grid) for r in system.rates], dtype=np.int64),
        "time_place": _integers(places.time for places in system.tick_slots),
        "count_place": _integers(places.count for places in system.tick_slots),
        "since_start": since_starts,
        "since": since,
    }


def _segments(system: System) -> Arrays:
    starts, writes = _grouped(s.writes for s in system.schedule)
    follow_starts, follow = _grouped(following(system, s) for s in system.schedule)
    return {
        "segment_kind": _integers(bindings.constant(KINDS[type(s)]) for s in system.schedule),
        "segment_rate": _integers(s.activation.number for s in system.schedule),
        "segment_again": _integers(s.activation.again for s in system.schedule),
        "segment_asked": _integers(s.asked for s in system.schedule),
        "segment_limit": _integers(s.limit if isinstance(s, RepeatSegment) else 1 for s in system.schedule),
        "follow_start": follow_starts,
        "follow": follow,
        "segment_early": _integers(isinstance(s, EventSegment) and bool(s.early) for s in system.schedule),
        "segment_start": starts,
        "segment_writes": writes,
        "segment_size": _integers(s.expression.numel() for s in system.schedule),
    } | _loops(system)  # fmt: skip


def _loops(system: System) -> Arrays:
    """What events in loops at one instant read of them."""
    looped = [(k, s) for k, s in enumerate(system.schedule) if s.repeated_by >= 0]
    sizes = [s.expression.numel() - len(following(system, s)) for _, s in looped]
    return {
        "loop_segment": _integers(k for k, _ in looped),
        "loop_place": _integers(s.repeated_by for _, s in looped),
        "read_start": _integers(np.cumsum([0, *sizes])),
        "read_from": _integers(len(following(system, s)) for _, s in looped),
    }


def _instants(system: System) -> Arrays:
    """Listed instants [s] of all lists in the order of time."""
    slots = system.held_of(CountedInstants)
    times, lists = system.listed_instants()
    events, event_times = timed_events(system)
    places = _integers(int(slot.index[0]) for slot in slots.values())
    return {
        "instant_time": times, "instant_list": lists.astype(places.dtype), "instant_place": places[lists],
        "event_time_event": _integers(events), "event_time_place": _integers(event_times),
    }  # fmt: skip


def _memories(system: System) -> Arrays:
    """Discrete states by rate, what is refreshed at accepted steps and starts, scales of the states."""
    starts, discrete = _grouped(system.discrete_places)
    return {
        "discrete_start": starts,
        "discrete": discrete,
        "accepted": _integers(system.accepted[1]),
        "starting": _integers(system.starting[1]),
        "nominal": nominal_sizes(system, system.p0),
        "rounding": np.array(system.rounding, dtype=float),
        "bodies": bodies_of(system).ravel(),
        "tolerance": np.array(system.tolerances, dtype=float),
    }


def _events(system: System) -> Arrays:
    """A reset place k in h is k, in x it is -1 - k."""
    reset_starts, resets = _grouped(
        [int(k) if vector == "h" else -1 - int(k) for vector, places, _ in e.resets for k in places]
        for e in system.events
    )
    anew_starts, anew = _grouped(taken_anew(system))
    restarted_starts, restarted = _grouped(e.counts for e in system.events)
    renewed_starts, renewed = _grouped(e.discrete for e in system.events)
    order = event_order(system)
    before_starts, before = _grouped(order.before)
    return {
        "direction": _integers(e.direction for e in system.events),
        "threshold": np.array(thresholds(system), dtype=float),
        "rest": _integers(e.rest for e in system.events),
        "eager": _integers(e.eager for e in system.events),
        "timed": _integers(e.timed >= 0 for e in system.events),
        "timed_segment": _integers(timed_segments(system)),
        "ends": _integers(bool(e.stop) for e in system.events),
        "anew_start": anew_starts,
        "anew": anew,
        "reset_start": reset_starts,
        "reset_places": resets,
        "restarted_start": restarted_starts,
        "restarted": restarted,
        "renewed_start": renewed_starts,
        "renewed": renewed,
        "order": _integers(order.order),
        "loop": _integers(order.loop),
        "before_start": before_starts,
        "before": before,
    }


def _draws(system: System) -> Arrays:
    starts, places = _grouped(d.places for d in system.draws)
    return {
        "draw_stream": np.array([stream(d.name) for d in system.draws], dtype=np.uint64),
        "draw_rate": _integers(d.rate for d in system.draws),
        "draw_counter": _integers(d.counter for d in system.draws),
        "draw_normal": _integers(d.distribution == "normal" for d in system.draws),
        "draw_start": starts,
        "draw_places": places,
    }


def _delays(system: System) -> Arrays:
    starts, places = _grouped(d.places for d in system.delays)
    return {
        "delay_start": starts,
        "delay_places": places,
        "delay_initial": np.array([v for d in system.delays for v in d.initial], dtype=float),
        "delay_shortest": np.array([d.shortest for d in system.delays], dtype=float),
        "delay_longest": np.array([d.longest for d in system.delays], dtype=float),
    }


PARTS: tuple[Callable[[System], Arrays], ...] = (
    _rates,
    _segments,
    _instants,
    _memories,
    _events,
    _draws,
    _delays,
)
