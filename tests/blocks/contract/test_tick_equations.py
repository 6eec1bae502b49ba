"""The calls about ticks and listed instants: what each shows at times between them, and what they note."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from blocks import Block, BlockError
from blocks.contract.memories import CountedInstants, RandomDraw, SampledMemory
from blocks.contract.rate import Ticks
from blocks.contract.trace import trace
from cosim import Diagram, Simulation
from tests.helpers.made import Made, alone

PERIOD, OFFSET = 0.25, 0.125


def shown(equations, times, engine="reference"):
    """Values of the outputs at these times, by name."""
    d = alone(equations)
    with Simulation(d, engine=engine) as s:
        rows = []
        for t in times:
            s.advance(t)
            rows.append({name: s.value(name).tolist() for name in d.signals})
    return [{name.removeprefix("it."): row[name] for name in row} for row in rows]


@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_times_and_counts_of_ticks(engine):
    """Ticks at 0.125 s, 0.375 s, ...; before the first one its time, and none counted."""

    def equations(b):
        b.output("sampled", b.sampled(b.time, PERIOD, OFFSET, initial=-7.0))
        b.output("time", b.tick_time(PERIOD, OFFSET))
        b.output("count", b.tick_count(PERIOD, OFFSET))
        b.output("since", b.sample_count(PERIOD, OFFSET))
        clock, counted = b.clock(1.0, 0.75)
        b.output("clock", clock)
        b.output("counted", counted)

    found = shown(equations, [0.0, 0.1, 0.125, 0.3, 0.8], engine)
    for t, row in zip([0.0, 0.1, 0.125, 0.3, 0.8], found, strict=True):
        ticks = 0 if t < OFFSET else 1 + int((t - OFFSET) // PERIOD)
        newest = OFFSET + PERIOD * max(ticks - 1, 0)
        rings = float(t >= 0.75)
        assert row == {
            "sampled": [newest if ticks else -7.0], "time": [newest], "count": [ticks], "since": [ticks],
            "clock": [0.75], "counted": [rings],
        }, t  # fmt: skip


def test_times_and_counts_are_numbers_and_samples_are_rows():
    def equations(b):
        for found in (b.tick_time(1.0), b.tick_count(1.0), b.sample_count(1.0), *b.clock(2.0)):
            assert np.shape(found) == ()
        assert b.sampled([1.0, 2.0], 1.0).shape == (2,)
        assert b.instants([1.0, 2.0, 3.0]).shape == b.random(1.0).shape == (1,)
        assert b.random(1.0, size=3).shape == (3,)

    trace(Made(equations), {})


def test_rates_are_known_by_period_and_offset_or_given_whole():
    ticks = Ticks.of("1/4", "1/8")

    def equations(b):
        b.sampled(1.0, PERIOD, OFFSET, name="apart")
        b.sampled(1.0, ticks, name="whole")
        b.random(PERIOD, offset=OFFSET, name="draw")
        b.sampled(1.0, PERIOD, name="plain")

    declared = trace(Made(equations), {}).declared
    rates = {m.name: m.rate for m in declared.memories}
    assert rates == {"apart": ticks, "whole": ticks, "draw": ticks, "plain": Ticks.of("1/4")}


def test_counts_that_begin_anew_and_clocks_are_noted_by_their_rate():
    def equations(b):
        b.tick_count("1/4")
        b.tick_count("1/2", anew=True)
        b.tick_count("1/8", "1/16", True)
        b.tick_time("1/3")
        b.sample_count("1/5")
        b.clock("1/6")
        b.clock("1/7", "1/70")

    declared = trace(Made(equations), {}).declared
    assert set(declared.counted_anew) == {Ticks.of("1/2"), Ticks.of("1/8", "1/16")}
    assert set(declared.clocks) == {Ticks.of("1/6"), Ticks.of("1/7", "1/70")}


@pytest.mark.parametrize("wrong", ["yes", 1, None])
def test_anew_is_a_truth_value(wrong):
    with pytest.raises(BlockError, match="anew"):
        trace(Made(lambda b: b.tick_count(1.0, anew=wrong)), {})


def test_names_are_those_given_or_count_the_memories_before():
    def equations(b):
        for name in ("mine", None):
            b.sampled(1.0, 1.0, name=name and f"{name} s")
            b.instants([1.0], name=name and f"{name} i")
            b.random(1.0, name=name and f"{name} r")

    declared = trace(Made(equations), {}).declared
    assert [m.name for m in declared.memories] == [
        "mine s", "mine i", "mine r", "sampled3", "instants4", "random5",
    ]  # fmt: skip


def test_a_sample_is_of_its_kind_and_remembers_its_expression():
    def equations(b):
        u = b.input("u", size=2)
        b.sampled(3.0 * u, 1.0, initial=[1.0, 2.0], name="s")

    (memory,) = trace(Made(equations), {"u": 2}).declared.memories
    assert isinstance(memory, SampledMemory) and memory.initial.tolist() == [1.0, 2.0] and memory.size == 2
    assert memory.expression is not None and memory.output == ""


def test_a_draw_says_from_what():
    def equations(b):
        b.random(1.0, name="a")
        b.random(1.0, "uniform", 4, name="b")

    found = trace(Made(equations), {}).declared.memories_of(RandomDraw)
    assert [(m.name, m.distribution, m.size) for m in found] == [("a", "normal", 1), ("b", "uniform", 4)]
    assert [m.initial.tolist() for m in found] == [[0.0], [0.0] * 4]
    with pytest.raises(BlockError, match="'unifrom'.*did you mean 'uniform'"):
        trace(Made(lambda b: b.random(1.0, "unifrom")), {})


@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_draws_are_new_at_every_tick_and_of_their_distribution(engine):
    """Uniform ones lie in [0, 1); normal ones, of which some are below 0, do not."""

    def equations(b):
        b.output("normal", b.random(PERIOD, size=2))
        b.output("uniform", b.random(PERIOD, "uniform", 2))

    rows = shown(equations, [0.0, 0.1, *np.arange(1, 40) * PERIOD], engine)
    assert rows[0] == rows[1]
    for name in ("normal", "uniform"):
        values = np.array([row[name] for row in rows[1:]])
        assert len(np.unique(values)) == values.size
        assert np.all((values >= 0.0) & (values < 1.0)) == (name == "uniform")


@dataclass(frozen=True)
class Listed(Block):
    """Counts the instants in its field."""

    times: Any

    def define(self, b):
        b.output("y", b.instants(self.times, name="i"))


@dataclass(frozen=True)
class ListedAlone(Block):
    """Counts the one instant in its field."""

    time: Any

    def define(self, b):
        b.output("y", b.instants([self.time], name="i"))


@pytest.mark.parametrize("engine", ["reference", "auto"])
@pytest.mark.parametrize("times", [[0.5, 0.25, 0.25], (0.25, "1/4", 0.5), np.array([[0.5], [0.25], [0.25]])])
def test_instants_are_counted_when_they_have_passed(times, engine):
    """In any order and shape, as numbers or texts; two at once count twice."""
    rows = shown(lambda b: b.output("y", b.instants(times)), [0.0, 0.2, 0.25, 0.4, 0.5, 1.0], engine)
    assert [row["y"] for row in rows] == [[0.0], [0.0], [2.0], [2.0], [3.0], [3.0]]


def test_a_single_instant_is_a_list_of_one():
    rows = shown(lambda b: b.output("y", b.instants(0.5)), [0.4, 0.6])
    assert [row["y"] for row in rows] == [[0.0], [1.0]]


def test_instants_know_the_field_that_lists_them():
    """By the object itself: a list, or the only entry of one; not a list that was made of it."""

    def owner(block):
        (memory,) = trace(block, {}).declared.memories_of(CountedInstants)
        assert memory.initial.tolist() == [0.0] and memory.size == 1
        return memory.times_field

    assert (
        owner(Listed((0.25, 0.5)))
        == owner(Listed((0.25,)))
        == owner(Listed(np.array([0.25, 0.5])))
        == "times"
    )
    assert owner(ListedAlone(0.3)) == "time"
    assert owner(Made(lambda b: b.instants([0.25, 0.5]))) is None


def test_masked_instants_are_refused():
    times = np.ma.masked_array([0.25, 0.5], mask=[False, True])
    with pytest.raises(BlockError, match="masked entries are no times"):
        trace(Made(lambda b: b.instants(times)), {})
    trace(Made(lambda b: b.instants(np.ma.masked_array([0.25], mask=[False]))), {})


def test_without_an_offset_the_first_tick_is_at_zero_and_before_it_samples_are_zero():
    for call in ("tick_time", "tick_count", "sample_count", "clock"):
        declared = trace(Made(lambda b, call=call: getattr(b, call)("1/4")), {}).declared
        assert list(declared.ticks) == [Ticks.of("1/4")], call
    declared = trace(Made(lambda b: (b.sampled(3.0, "1/4"), b.random("1/4"))), {}).declared
    assert [m.rate for m in declared.memories] == [Ticks.of("1/4")] * 2
    assert [m.initial.tolist() for m in declared.memories] == [[0.0], [0.0]]


@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_samples_are_counted_anew_at_an_event_in_front_and_ticks_are_not(engine):
    """The input jumps at 0.6 s by an event: samples of it before are of no use to a hold, and 1 is left."""

    def jumps(b):
        m = b.mode("m", 1.0)
        b.when(b.time - 0.6, {m: 5.0}, direction="rising", name="jump")
        b.output("y", m)

    def counts(b):
        now = b.sampled(b.input("u", size=1), PERIOD)
        before = b.discrete("before", 0.0, PERIOD)
        b.update(before, b.input("v", size=1))
        b.sample_history(now, [before])
        b.output("ticks", b.tick_count(PERIOD))
        b.output("samples", b.sample_count(PERIOD))

    d = Diagram("jumping")
    for name, block in (("jumps", Made(jumps)), ("counts", Made(counts))):
        d.add(name, block)
    d.connect("jumps.y -> counts.u, counts.v")
    with Simulation(d, engine=engine) as s:
        found = []
        for t in (0.55, 0.65, 0.8, 1.1):
            s.advance(t)
            found.append([s.value("counts.ticks").item(), s.value("counts.samples").item()])
    assert found == [[3.0, 3.0], [3.0, 1.0], [4.0, 2.0], [5.0, 3.0]]
