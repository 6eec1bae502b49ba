"""Corners that are only looked at at ticks need no events: quantizers and the like before sampled blocks."""

from dataclasses import dataclass
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

from blocks import (
    Abs,
    Block,
    Clock,
    CompareToConstant,
    Constant,
    Equations,
    Gain,
    Hold,
    Integrator,
    Quantizer,
    Relay,
    Sine,
    State,
    StateChart,
    StopWhen,
    Switch,
    Transition,
)
from cosim import Diagram, Triggered, simulate
from cosim.compile.tick_only_branches import FollowingBranch, without_idle_events
from cosim.system_parts import SystemEvent


def encoder(*behind, until=None):
    """The integral 1 - cos t of a sine, through an encoder of 1e-3, into what is behind it."""
    d = Diagram("encoder")
    wave, x, count = d.add("wave", Sine(1.0, 1.0)), d.add("x", Integrator()), d.add("count", Quantizer(1e-3))
    d.connect(wave["y"], x["u"])
    d.connect(x["y"], count["u"])
    last = count
    for k, block in enumerate(behind):
        node = d.add(f"b{k}", block)
        d.connect(last["y"], node["u"])
        last = node
    return d


def counts(x):
    return 1e-3 * np.sign(x) * np.floor(np.abs(x) / 1e-3 + 0.5)


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("log", [{"log_every": 0.037}, {"log_every": "step"}])
def test_a_quantizer_before_a_sampled_block_has_no_events_and_exact_logs(engine, log):
    r = simulate(encoder(Hold(0, sample=0.1)), 2.0, engine=engine, **log)
    assert len(r.events) == 0
    assert r["count.y"].tolist() == counts(r["x.y"]).tolist()
    ticks = r.ticks("b0.y")
    assert ticks.values[:, 0] == pytest.approx(counts(1 - np.cos(ticks.time)), abs=1.1e-3)
    assert ticks.values[5, 0] == pytest.approx(counts(1 - np.cos(0.5)), abs=1e-12)


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_chain_of_corners_before_a_sampled_block(engine):
    d = encoder(Abs(), Quantizer(0.25), Hold(0, sample=0.1))
    r = simulate(d, 2.0, engine=engine, log_every=0.037)
    assert len(r.events) == 0
    assert r["b1.y"] == pytest.approx(0.25 * np.floor(np.abs(counts(r["x.y"])) / 0.25 + 0.5), abs=1e-12)


@pytest.mark.parametrize(
    "behind", [(Integrator(),), (), (StopWhen("far", 0.50025),), (Relay(0.5, 0.2), Hold(0, sample=0.1))]
)
def test_what_is_looked_at_between_ticks_keeps_its_events(behind):
    """An integral, a log alone, a stop, a relay: what they see must not be late."""
    d = encoder(*behind)
    d.add("sampled", Hold(0, sample=0.1))
    d.connect(d["wave"]["y"], d["sampled"]["u"])
    r = simulate(d, 1.5, log_every=0.1)
    assert len(r.events) > 300
    if behind and isinstance(behind[0], StopWhen):
        assert r.time[-1] == pytest.approx(np.arccos(0.4995), abs=1e-6)


def test_corners_that_only_the_log_looks_at_keep_their_events_beside_others():
    """Two quantizers that nothing reads, beside one that a sampled block reads, which alone has none."""
    d = encoder(Hold(0, sample=0.1))
    for name, interval in (("fine", 0.01), ("coarse", 0.3)):
        d.connect(d["x"]["y"], d.add(name, Quantizer(interval))["u"])
    r = simulate(d, 1.5, log_every=0.1)
    names = [event.name for event in r.events]
    final = 1 - np.cos(1.5)
    assert sum(name.startswith("fine") for name in names) == int(final / 0.01 + 0.5)
    assert sum(name.startswith("coarse") for name in names) == int(final / 0.3 + 0.5)
    assert not any(name.startswith("count") for name in names)


@dataclass(frozen=True)
class Newest(Block):
    """Its input as it was at the end of the last accepted step or event."""

    def define(self, b: Equations) -> None:
        b.output("y", b.accepted("last", b.input("u", size=1), 0.0))


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_memory_of_accepted_steps_sees_every_count(engine):
    """Each count is an event, and what is remembered there is the count since."""
    d = encoder(Hold(0, sample=1.0))
    d.connect(d["count"]["y"], d.add("newest", Newest())["u"])
    r = simulate(d, 1.5, engine=engine, log_every=0.037)
    assert len(r.events) == np.floor((1 - np.cos(1.5)) / 1e-3 + 0.5)
    assert r["newest.y"][:, 0] == pytest.approx(counts(1 - np.cos(r.time)), abs=1e-12)


def test_both_a_sampled_and_a_continuous_reader_keep_them():
    d = encoder(Hold(0, sample=0.1))
    it = d.add("it", Integrator())
    d.connect(d["count"]["y"], it["u"])
    r = simulate(d, 1.5, log_at=[1.5])
    assert len(r.events) > 300
    assert r["it.y"][-1, 0] == pytest.approx(1.5 - np.sin(1.5), abs=1e-4)


def test_a_switch_by_a_sampled_signal_is_no_matter():
    d = encoder(Hold(0, sample=0.1))
    switch, one = d.add("switch", Switch(0.3)), d.add("one", Constant(1.0))
    d.connect(d["b0"]["y"], switch["control"])
    d.connect(one["y"], switch["in1"])
    d.connect(d["count"]["y"], switch["in2"])
    it = d.add("it", Integrator())
    d.connect(switch["y"], it["u"])
    r = simulate(d, 1.5, log_at=[1.5])
    assert len(r.events) > 300


def test_a_corner_that_nothing_reads_keeps_its_events_behind_one_that_is_sampled():
    """The quantizer behind the sampled block is refreshed at ticks: that looks at its own old value alone."""
    d = encoder(Hold(0, sample=0.1))
    total = d.add("total", Integrator())
    d.connect(d["b0"]["y"], total["u"])
    d.connect(total["y"], d.add("late", Quantizer(0.05))["u"])
    r = simulate(d, 1.5, log_every=0.1)
    final = 0.1 * counts(1 - np.cos(0.1 * np.arange(15))).sum()
    assert all(event.name.startswith("late") for event in r.events)
    assert len(r.events) == round(final / 0.05)


@pytest.mark.slow
def test_charts_and_parts_that_follow_at_once_keep_their_events_beside_ticks():
    """A sine above 0.5 turns a lamp on and calls a part; a Hold beside them changes nothing."""
    d = Diagram("press")
    d.add("wave", Sine(1.0, 2.0)) >> d.add("above", CompareToConstant(">=", 0.5))
    lamp = StateChart(
        events=["press"],
        outputs={"light": 0.0},
        states=[State("off", entry="light = 0"), State("on", entry="light = 1")],
        transitions=[Transition("off", "on", on="press"), Transition("on", "off", on="press")],
    )
    d["above"] >> d.add("lamp", lamp)["press"]
    d.add("clock", Clock()) >> d.add("kept", Triggered(Gain(1.0)))["u"]
    d["above"] >> d["kept"]["trigger"]
    d.add(
        "guarded",
        StateChart(
            inputs=["u"],
            outputs={"n": 0.0},
            states=[State("a"), State("b", entry="n = 1")],
            transitions=[Transition("a", "b", "u > 0.7")],
        ),
    )
    d["wave"] >> d["guarded"]["u"]
    d["wave"] >> d.add("held", Hold(sample=0.7))
    at = [np.arcsin(0.5) / 2, np.arcsin(0.7) / 2, np.arcsin(0.5) / 2 + np.pi]
    near = np.ravel([[t - 1e-6, t + 1e-6] for t in at])
    r = simulate(d, 3.5, engine="reference", log_at=[*near, 3.5])
    assert r["lamp.light"][:, 0].tolist() == [0, 1, 1, 1, 1, 0, 0]
    assert r["guarded.n"][:, 0].tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert r["kept.y"][-1, 0] == pytest.approx(at[2], abs=1e-9)


def test_finding_a_branch_anew_at_a_tick_is_no_look_at_it():
    """Of two branches a segment refreshes one from its own old value, and a signal of time reads it."""
    one, other = ca.SX.sym("one"), ca.SX.sym("other")
    branches = [FollowingBranch("one", one, ca.SX(1)), FollowingBranch("other", other, ca.SX(2))]
    event = SystemEvent("e", "e", one - 1, 1, (), ("one",), np.zeros(0, int))
    own, reader, chart = (
        SimpleNamespace(names=names, expression=2 * one, activation=SimpleNamespace(again=again))
        for names, again in ((("one",), False), (("hold",), False), (("chart",), True))
    )
    assert without_idle_events(branches, [event], [own], {}, [])[0] == (event,)
    assert without_idle_events(branches, [event], [own, reader], {}, [])[0] == ()
    assert without_idle_events(branches, [event], [own, reader], {}, [one])[0] == (event,)
    assert without_idle_events(branches, [event], [own, reader, chart], {}, [])[0] == (event,)
    assert without_idle_events(branches, [event], [reader], {}, [])[0] == (event,)  # nothing finds it anew
