"""The scheduler of the reference engine by itself: what comes when, and segments in their order."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from blocks.errors import SimulationError
from cosim.engines.reference.draws import draw, stream
from cosim.engines.reference.scheduler import Scheduler, one_instant
from cosim.segments import EventSegment, OutputSegment, RepeatSegment, UpdateSegment


# --- what comes when --------------------------------------------------------------------------------------
@pytest.mark.parametrize(("begin", "stop"), [(0.0, 1.0), (1.0, 3.0), (-2.0, 0.0), (5.0, 5.0), (-4.0, -3.0)])
def test_one_instant_is_a_share_of_the_way_and_the_rounding_of_its_end(begin, stop):
    assert one_instant(begin, stop) == pytest.approx(1e-12 * (stop - begin) + 2.0**-50 * abs(stop), rel=1e-12)
    assert one_instant(begin, math.inf) == 0.0


def scheduler(**fields):
    """A scheduler without a system: its fields as given, a context with 16 numbers held."""
    s = object.__new__(Scheduler)
    s.context = SimpleNamespace(
        t=1.0, ticks=[], instants={}, stops=[], h=np.zeros(16), next=100.0 + np.arange(16)
    )
    s.workspace = SimpleNamespace(
        put=lambda t: setattr(s.context, "t", t), context=s.context, settings=SimpleNamespace(seed=5),
        counters=SimpleNamespace(python={}),
        non_finite=lambda t, place=None, value=math.nan: SimulationError(f"no number: {value}", time=t),
    )  # fmt: skip
    s.unknowns = SimpleNamespace(refreshed=0)
    s.unknowns.refresh = lambda: setattr(s.unknowns, "refreshed", s.unknowns.refreshed + 1)
    s._grid, s._first, s._period, s._instants = 4, [], [], []
    s._event_times, s._segments, s._branches, s._again = np.zeros(0, dtype=int), [], False, []
    for name, value in fields.items():
        setattr(s, name, value)
    return s


def test_the_next_stop_is_the_first_tick_instant_event_or_delayed_jump():
    """At 1 s: ticks at 0.25 + 0.5 k and 3 k s, and the rest one by one."""
    s = scheduler(_first=[1, 0], _period=[2, 12], _instants=[(t, "a", 0) for t in (0.1, 0.2, 0.3, 1.2)])
    c = s.context
    c.ticks, c.instants = [2, 1], {"a": 1, "b": 2}
    assert s.next_stop() == 1.2
    c.ticks[0] = 1
    assert s.next_stop() == 0.75
    c.ticks[0], c.instants["b"] = 5, 3  # all instants have passed
    assert s.next_stop() == 2.75
    c.ticks[0] = 9
    assert s.next_stop() == 3.0  # of the slower rate
    c.stops = [0.5, 1.0]
    assert s.next_stop() == 3.0 and c.stops == []
    c.stops = [0.5, 1.0, 1.0625]
    assert s.next_stop() == 1.0625 and c.stops == [1.0625]
    s._event_times = np.array([3, 2])
    for times, first in [
        ([1.03, 1.04], 1.03), ([1.05, 1.04], 1.04), ([1.0, 0.5], 1.0625), ([1.07, 2.0], 1.0625),
        ([1.0625 - 1e-15, math.inf], 1.0625), ([1.0625 - 1e-9, 5.0], 1.0625 - 1e-9),
    ]:  # fmt: skip
        c.h[[3, 2]] = times
        assert s.next_stop() == first, times
    s._first, s._period, c.ticks, c.stops = [], [], [], []
    for times, first in [([1e30, 9e29], 9e29), ([1e30, 2e30], math.inf), ([math.nan, 5.0], 5.0)]:
        c.h[[3, 2]] = times
        assert s.next_stop() == first, times


def test_ticks_count_rates_that_hit_and_instants_that_are_reached():
    """At 0.5 s of rates of 0.25 s (its third tick), 0.5 s from 0.25 s on, and 0.5 s."""
    place = lambda t, n, *since: SimpleNamespace(time=t, count=n, since=since)
    system = SimpleNamespace(tick_slots=[place(0, 1, 6), place(2, 3, 7), place(4, 5)], draws=[])
    s = scheduler(
        system=system, _first=[0, 1, 0], _period=[1, 2, 2], _discrete=[[8], [9], [10, 11]],
        _instants=[(0.25, "a", 8), (0.5, "b", 9), (0.5, "a", 12), (0.75, "b", 13)],
    )  # fmt: skip
    c = s.context
    c.ticks, c.instants = [2, 1, 1], {"a": 1, "b": 0}
    c.h[6:12] = [5.0, 6.0, 40.0, 41.0, 42.0, 43.0]
    assert s.count(0.5) == [0, 2]
    assert c.t == 0.5 and c.ticks == [3, 1, 2] and c.instants == {"a": 2, "b": 1}
    assert c.h[:8].tolist() == [0.5, 3.0, 0.0, 0.0, 0.5, 2.0, 6.0, 6.0]
    assert c.h[8:14].tolist() == [108.0, 42.0, 110.0, 111.0, 1.0, 0.0]
    assert s.counts_of([0, 2]) == {6} and s.counts_of([1]) == {7}


def test_draws_are_those_of_the_tick_or_of_a_count_that_comes():
    """A rate's third tick; a part that has been called four times draws its fifth number."""
    drawn = lambda name, rate, counter: SimpleNamespace(
        name=name, rate=rate, counter=counter, places=[rate + 1], distribution="normal"
    )
    draws = [drawn("a", 0, -1), drawn("b", 1, 0), drawn("c", 2, -1)]
    s = scheduler(system=SimpleNamespace(draws=draws), _substreams={n: stream(n) for n in "abc"})
    s.context.ticks, s.context.h[0] = [3, 7, 1], 4.0
    s._draw([0, 1])
    expected = [draw("normal", 1, 5, stream("a"), 3)[0], draw("normal", 1, 5, stream("b"), 5)[0], 0.0]
    assert s.context.h[1:4].tolist() == expected and len({*expected}) == 3


# --- segments ---------------------------------------------------------------------------------------------
class Due:
    """An activation: at some rates, or always."""

    def __init__(self, *rates, again=False):
        self.rates, self.again = rates, again

    def due(self, hits):
        return not self.rates or any(r in hits for r in self.rates)


def segment(kind, place, due=None, asked=-1, **more):
    made = object.__new__(kind)
    fields = {
        "activation": due or Due(),
        "path": f"b{place}",
        "names": (),
        "writes": np.array([place]),
        **more,
    }
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    if asked >= 0:
        made = type("Asked", (kind,), {"asked": asked})
        found = object.__new__(made)
        for name, value in fields.items():
            object.__setattr__(found, name, value)
        return found
    return made


def run(s, some, due):
    """Which segments were called, and events handled."""
    called, left = [], [list(values) for _, values in some]

    def function(k):
        called.append(k)
        return np.array([left[k].pop(0)])

    s._segments = [(g, lambda k=k: function(k)) for k, (g, _) in enumerate(some)]
    s.run_segments(2.0, due, lambda k: called.append(f"events {k}"))
    return called


def test_segments_run_in_order_where_they_are_due():
    some = [
        (segment(OutputSegment, 0, Due(0)), [10.0]), (segment(UpdateSegment, 1, Due(1)), [20.0]),
        (segment(EventSegment, 2), []), (segment(OutputSegment, 3, Due(1)), [40.0]),
        (segment(OutputSegment, 4), [50.0]),
    ]  # fmt: skip
    s = scheduler(_branches=True)
    assert run(s, some, [1]) == [1, "events 2", 3, 4]
    assert s.context.h[:5].tolist() == [0.0, 0.0, 0.0, 40.0, 50.0] and s.context.next[:2].tolist() == [
        100.0,
        20.0,
    ]
    assert s.unknowns.refreshed == 3
    s = scheduler(_branches=False)
    assert run(s, some, []) == []  # nothing follows where nothing ticks
    s = scheduler(_branches=True)
    assert run(s, [(segment(OutputSegment, 0, Due(0)), []), (segment(OutputSegment, 4), [5.0])], []) == [1]


@pytest.mark.parametrize(("held", "called"), [(0.0, []), (0.49, []), (0.5, [0]), (1.0, [0])])
def test_one_that_is_asked_for_runs_where_its_place_says_so(held, called):
    s = scheduler()
    s.context.h[7] = held
    assert run(s, [(segment(OutputSegment, 1, Due(0), asked=7), [3.0])], [0]) == called


@pytest.mark.parametrize("asked", [0, 3])
def test_the_first_place_of_all_may_ask(asked):
    s = scheduler()
    assert run(s, [(segment(OutputSegment, 5, Due(0), asked=asked), [3.0])], [0]) == []


def test_a_repeated_one_runs_until_it_says_zero_or_the_most_often():
    for values, rounds in [([0.0], 1), ([1.0, 2.0, 0.0], 3), ([1.0, 1.0, 1.0, 0.0], 4)]:
        s = scheduler()
        called = run(s, [(segment(RepeatSegment, 1, Due(0), limit=4), values)], [0])
        assert called == [0] * rounds and s.context.h[1] == 0.0 and s.unknowns.refreshed == rounds
    s = scheduler()
    with pytest.raises(SimulationError, match="has had 4 rounds"):
        run(s, [(segment(RepeatSegment, 1, Due(0), limit=4), [1.0] * 5)], [0])
    s = scheduler()
    assert run(s, [(segment(OutputSegment, 1, Due(0)), [1.0])], [0]) == [0]  # not repeated, whatever it says


def test_those_that_follow_events_are_called_again():
    s = scheduler(_again=[1])
    s._segments = [(segment(OutputSegment, k), lambda k=k: np.array([float(k + 1)])) for k in range(3)]
    assert s.follow(2.0) is True and s.context.h[:3].tolist() == [0.0, 2.0, 0.0]
    s._again = []
    assert s.follow(2.0) is False


def test_numbers_before_one_that_is_none_are_written_and_its_place_is_named():
    slot = SimpleNamespace(index=np.array([1, 2, 3]), place=lambda k: f"place {k}")
    s = scheduler(system=SimpleNamespace(held={"m": slot}))
    g = segment(OutputSegment, 0, writes=np.array([3, 1, 2]), names=("m",))
    s.workspace.non_finite = lambda t, place, value: SimulationError(f"{place} is {value}", time=t)
    with pytest.raises(SimulationError, match="place 1 is inf"):
        s.take(g, np.array([7.0, math.inf, 8.0]), 1.0)
    assert s.context.h[:4].tolist() == [0.0, 0.0, 0.0, 7.0]
    s.take(g, np.array([7.0, 5.0, 8.0]), 1.0)
    assert s.context.h[:4].tolist() == [0.0, 5.0, 8.0, 7.0]


def test_the_time_of_python_functions_adds_up(monkeypatch):
    """3 s of clock in each of two calls."""
    clock = iter([10.0, 13.0, 20.0, 23.0])
    monkeypatch.setattr("cosim.engines.reference.scheduler.time.perf_counter", lambda: next(clock))
    s = scheduler()
    s.workspace.instances = SimpleNamespace(call=lambda segment, t, argument: 2.0 * argument)
    g = segment(OutputSegment, 4)
    for spent in (3.0, 6.0):
        assert s._call(g, np.array([4.0]), 1.0).tolist() == [8.0]
        assert s.workspace.counters.python == {"b4": spent}
