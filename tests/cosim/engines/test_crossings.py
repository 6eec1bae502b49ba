"""Crossings are looked at where they may have changed: what is held inside a step, single ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from blocks import Backlash, FirstOrder, Gain, MinMaxRunning, Relay, Sine
from cosim import Diagram, simulate
from cosim.engines.methods.crossing_rates import moving
from tests.helpers.made import alone, ramp

ENGINES = ("reference", "native")


def modes_and_ticks(b):
    """x is the time; crossings of it, of a mode and of a count of ticks."""
    x = ramp(b)
    passed, n = b.mode("passed", 0.0), b.mode("n", [0.0, 0.0])
    count = b.discrete("count", 0.0, sample=0.125)
    b.update(count, count + 1.0)
    b.when(x[0] - 0.3, [(passed, 1.0)], "rising", "x")
    b.when(passed - 0.5, [(n, n + np.array([1.0, 0.0]))], "rising", "follows")
    b.when(count - 3.5, [(n, n + np.array([0.0, 1.0]))], "rising", "counted")
    b.output("n", n)


def accepted_memory(b):
    """A crossing of the largest time so far, as it was at the end of a step."""
    highest, n = b.accepted("highest", ramp(b)[0], 0.0), b.mode("n", 0.0)
    b.when(highest - 0.77, [(n, n + 1.0)], "rising", "high")
    b.output("n", n)


def events_of(equations, engine):
    """Names and times of events until t = 1; the runtime is called once, which lets it keep what it knows."""
    r = simulate(alone(equations), 1.0, engine=engine, solver="rk4", step=0.125, log_at=[1.0])
    return [(e.name.rpartition(".")[2], e.time) for e in r.events]


def test_what_moves_inside_a_step_is_known():
    assert moving(alone(modes_and_ticks).system()) == [True, False, False]
    assert moving(alone(accepted_memory).system()) == [False]


@pytest.mark.parametrize("engine", ENGINES)
def test_crossings_of_what_is_held_fire_where_it_changes(engine):
    """At the event that sets the mode, and at the tick that counts to four."""
    (x, first), (follows, second), (counted, third) = events_of(modes_and_ticks, engine)
    assert [x, follows, counted] == ["x", "follows", "counted"]
    assert [first, second, third] == [pytest.approx(0.3, abs=1e-9), first, 0.5]


@pytest.mark.parametrize("engine", ENGINES)
def test_crossings_of_accepted_memories_fire_in_the_step_behind(engine):
    """0.875 is accepted at the end of a step and looked at in quarters of the next one."""
    [(name, time)] = events_of(accepted_memory, engine)
    assert name == "high"
    assert 0.875 <= time <= 0.875 + 0.125 / 4


def many(cells):
    """Relays, each with play behind it and the extremes of that: 8 crossings a cell, 6 of them held."""
    d = Diagram("many")
    source = d.add("sine", Sine(amplitude=1.0, frequency=20.0))["y"]
    for k in range(cells):
        v = (k + 1) / (cells + 1)
        chain = [
            d.add(f"{name}{k}", block)
            for name, block in (
                ("lag", FirstOrder(1.0, 0.01 + 0.1 * v)),
                ("relay", Relay(0.4 * v, -0.4 * v)),
                ("gain", Gain(1.0 + v)),
                ("play", Backlash(0.1 + v)),
                ("extremes", MinMaxRunning()),
            )
        ]
        d.connect(source, chain[0].the("input"))
        for one, two in itertools.pairwise(chain):
            d.connect(one[one.ports.outputs[0]], two[two.ports.inputs[0]])
    return d


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"solver": "rk4", "step": 0.004}, {"solver": "dopri5"}])
def test_events_of_many_crossings_are_those_of_the_reference_engine(options):
    """Enough of them that single ones are evaluated in pieces, and that several turn between two looks."""
    system = many(25).system()
    runs = [simulate(system, 0.6, engine=engine, signals=[], **options) for engine in ENGINES]
    lists = [[(e.time, e.name, e.before, e.after) for e in r.events] for r in runs]
    assert len(lists[0]) > 100
    assert lists[0] == lists[1]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_pulse_in_time_shorter_than_a_quarter_of_a_step_is_found(engine):
    """Above one half for 0.05 s of a step of 0.5 s, between two of the quarters that are looked at."""

    def pulse(b):
        x, n = ramp(b), b.mode("n", 0.0)
        b.when(np.exp(-(((b.time - 0.83) / 0.03) ** 2)) - 0.5, [(n, n + 1.0)], "both", "pulse")
        b.output("n", n + 0.0 * x)

    half = 0.03 * np.sqrt(np.log(2.0))
    r = simulate(alone(pulse), 2.0, engine=engine, solver="rk4", step=0.5, log_at=[2.0])
    assert [e.time for e in r.events] == pytest.approx([0.83 - half, 0.83 + half], abs=1e-12)


def moving_off(b):
    """x stands below 0 by rounding, and falls from 0.3 s on."""
    x, n = b.continuous("x", -1e-12), b.mode("n", 0.0)
    b.derivative(x, -np.maximum(b.time - 0.3, 0.0))
    b.when(x[0], [(n, n + 1.0)], "falling", "off")
    b.output("n", n)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_crossing_that_rests_on_its_threshold_fires_where_it_begins_to_move(engine):
    """Its value is beyond zero all the way, so that it does not say where the sign changes: its rate does."""
    r = simulate(alone(moving_off), 1.0, engine=engine, solver="rk4", step=0.02)
    assert [e.time for e in r.events] == [pytest.approx(0.3, abs=0.02)]  # a step


FALLING = 0.9 - 0.01 * np.arange(80)
PASSED = np.concatenate([FALLING[:63], [0.5003, 0.5003, 0.2501], FALLING[63:]])


def many_crossings(b):
    """More than are compared at once: two of different rows fire together, those behind fire first."""
    x = ramp(b)[0]
    for k, threshold in enumerate(PASSED):
        rising = k % 2 == 0
        towards = x - threshold if rising else threshold - x
        b.when(towards, [(b.mode(f"m{k}", 0.0), 1.0)], "rising" if rising else "falling", f"c{k}")


@pytest.mark.parametrize("engine", ENGINES)
def test_each_of_many_crossings_fires_once_where_it_is_passed(engine):
    order = np.argsort(PASSED, kind="stable")
    found = events_of(many_crossings, engine)
    assert [name for name, _ in found] == [f"c{k}" for k in order]
    np.testing.assert_allclose([time for _, time in found], PASSED[order], rtol=0.0, atol=1e-9)
