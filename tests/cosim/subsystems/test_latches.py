"""What outputs of a part show while it stands still: at which rate they are held, and parts inside parts."""

from __future__ import annotations

import pytest

from blocks import (
    Clock,
    Constant,
    CounterLimited,
    DiscreteIntegrator,
    Function,
    Gain,
    Relay,
    RepeatingSequenceStair,
    TimeTable,
    UnitDelay,
)
from cosim import Diagram, Enabled, If, Resettable, SwitchCase, Triggered, simulate

ENGINES = ("reference", "native")


@pytest.mark.parametrize("engine", ENGINES)
def test_an_output_of_one_rate_keeps_its_last_active_tick_until_the_next_one(engine):
    """The part is active on [0, 0.12] and from 0.25 on; what it shows changes at ticks, not at 0.25."""
    d = Diagram("d")
    d.add("clock", Clock())
    d.add("sampled", Function(lambda u: u, sample=0.1))
    d.add("on", TimeTable([0.0, 0.12, 0.25], [1.0, -1.0, 1.0], "previous"))
    d.add("steps", Enabled(Gain(1.0)))
    d.add("smooth", Enabled(Gain(1.0)))
    d.connect("clock.y", "sampled.u")
    d.connect("sampled.y", "steps.u")
    d.connect("clock.y", "smooth.u")
    for part in ("steps", "smooth"):
        d.connect("on.y", f"{part}.enable")
    times = [0.05, 0.11, 0.21, 0.27, 0.31]
    r = simulate(d, 0.4, engine=engine, log_at=times)
    assert r["steps.y"][:, 0] == pytest.approx([0.0, 0.1, 0.1, 0.1, 0.3], abs=1e-12)
    assert r["smooth.y"][:, 0] == pytest.approx([0.05, 0.11, 0.12, 0.27, 0.31], abs=1e-9)


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_signal_that_is_above_zero_from_the_start_has_no_edge_in_a_part_within_a_part(engine, reset):
    """Alone, and in a part around it: the counter inside is called at the edge at 0.5 and no earlier."""

    def counter():
        return Triggered(DiscreteIntegrator(sample=0.1, initial=3.0))

    outer = Diagram("outer")
    outer.add("inner", counter())
    outer.connect(outer.inport("u"), "inner.u")
    outer.connect(outer.inport("trigger"), "inner.trigger")
    outer.outport("y", "inner.y")
    d = Diagram("d")
    d.add("one", Constant(1.0))
    d.add("edge", TimeTable([0.0, 0.2, 0.5], [1.0, -1.0, 1.0], "previous"))
    d.add("alone", counter())
    d.add("nested", Enabled(outer, reset=reset))
    for part in ("alone", "nested"):
        d.connect("one.y", f"{part}.u")
        d.connect("edge.y", f"{part}.trigger")
    d.connect("one.y", "nested.enable")
    r = simulate(d, 0.8, engine=engine, log_at=[0.1, 0.3, 0.6, 0.8])
    assert (r["nested.y"] == r["alone.y"]).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_relay_that_starts_on_in_a_part_makes_no_edge_for_what_it_calls_there(engine):
    """It goes off at 0.3 and on at 0.5: the first call of the counter, whose output is 3 + 0.1 then."""
    outer = Diagram("outer")
    relay = outer.add("relay", Relay(0.5, -0.5, on=True))
    called = outer.add("called", Triggered(DiscreteIntegrator(sample=0.1, initial=3.0, method="backward")))
    outer.inport("u") >> relay >> called["trigger"]
    outer.add("one", Constant(1.0)) >> called["u"]
    outer.outport("y", called["y"])
    d = Diagram("d")
    part = d.add("part", Enabled(outer))
    d.add("u", TimeTable([0.0, 0.3, 0.5], [0.0, -1.0, 1.0], "previous")) >> part["u"]
    d.add("on", Constant(1.0)) >> part["enable"]
    r = simulate(d, 0.8, engine=engine, log_at=[0.1, 0.35, 0.65])
    assert r["part/relay.y"][:, 0].tolist() == [1.0, 0.0, 1.0]
    assert r["part.y"][:, 0].tolist() == [3.0, 3.0, 3.1]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_part_that_is_active_from_the_start_shows_its_signal_before_the_first_tick(engine):
    """The input is 3 until its first tick at 0.25, where it is 3 for the last time; the parts double it."""
    parts = {
        "resettable": (Resettable(Gain(2.0)), "reset"),
        "enabled": (Enabled(Gain(2.0)), "enable"),
        "fallen": (Enabled(Gain(2.0), outputs="reset"), "enable"),
        "if": (If(Gain(2.0), Gain(-1.0)), "condition"),
        "case": (SwitchCase({1: Gain(2.0)}), "case"),
    }
    d = Diagram("d")
    d.add("four", Constant(4.0)) >> d.add("u", UnitDelay(0.5, 0.25, initial=3.0))
    d.add("on", Constant(1.0))
    d.add("off", Enabled(Gain(2.0)))
    for name, (part, port) in parts.items():
        d.add(name, part)
        d.connect("u.y", f"{name}.u")
        d.connect("on.y", f"{name}.{port}")
    d.connect("u.y", "off.u")
    d.connect(0.0 * d["on"]["y"], "off.enable")
    r = simulate(d, 1.0, engine=engine, log_at=[0.0, 0.2, 0.5, 0.8])
    for name in parts:
        assert r[f"{name}.y"][:, 0].tolist() == [6.0, 6.0, 6.0, 8.0], name
    assert (r["off.y"] == 0.0).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_source_that_counts_ticks_is_merged_from_its_first_tick_in_an_active_part(engine):
    """As of any sampled block: the second branch is chosen at 0.6, its ticks are at 0.5 and 0.75."""
    d = Diagram("d")
    d.add("choice", TimeTable([0.0, 0.6], [1.0, -1.0], "previous"))
    d.add("nine", Constant(9.0))
    for name, block in {
        "count": CounterLimited(3, sample=0.25),
        "stair": RepeatingSequenceStair([5.0, 6.0], sample=0.25),
    }.items():
        d.add(name, If(Gain(1.0), block))
        d.connect("nine.y", f"{name}.u")
        d.connect("choice.y", f"{name}.condition")
    r = simulate(d, 1.0, engine=engine, log_at=[0.5, 0.6, 0.7, 0.75, 1.0])
    assert r["count.y"][:, 0].tolist() == [9.0, 9.0, 9.0, 0.0, 1.0]
    assert r["stair.y"][:, 0].tolist() == [9.0, 9.0, 9.0, 5.0, 6.0]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sampled_trigger_of_any_size_has_no_edge_where_it_is_on_from_the_start(engine):
    """1e-12, -1e-12, 1e-12, ... from 0.1 on: the first sample is that of the memory before it."""
    d = Diagram("d")
    d.add("trigger", UnitDelay(0.1, initial=1e-12))
    d.connect(-d["trigger"]["y"], "trigger.u")
    d.add("part", Triggered(DiscreteIntegrator(sample=1, method="backward")))
    d.connect(d.add("one", Constant(1.0))["y"], "part.u")
    d.connect("trigger.y", "part.trigger")
    r = simulate(d, 0.5, engine=engine, log_every=0.1)
    assert r["part.y"][:, 0].tolist() == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]
