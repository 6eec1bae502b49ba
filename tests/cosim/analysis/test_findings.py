"""What `Diagram.check` lists: jumps, unit faults, outputs nobody reads, rates that go badly together."""

from dataclasses import dataclass

import numpy as np
import pytest

from blocks import (
    Block,
    Constant,
    Demux,
    Equations,
    FunctionCallGenerator,
    Gain,
    Integrator,
    State,
    StateChart,
    Transition,
    UnitDelay,
    WiringError,
)
from cosim import Diagram, FunctionCall, Triggered
from cosim.analysis.findings import KINDS, findings


def of(d, kind):
    return [f for f in d.check() if f.kind == kind]


def chain(*rates):
    """Delays one behind the other, at (period, offset) each, the last one shown."""
    d = Diagram()
    d.add("source", Constant(1.0))
    last = "source.y"
    for k, (period, offset) in enumerate(rates):
        d.add(f"d{k}", UnitDelay(sample=period, offset=offset))
        d.connect(last, f"d{k}.u")
        last = f"d{k}.y"
    d.outport("y", last)
    return d


@dataclass(frozen=True)
class Jumping(Block):
    """x' = 1 where u > v, else -1."""

    def define(self, b: Equations) -> None:
        """Declare ports and a state."""
        u, v = b.input("u"), b.input("v")
        x = b.continuous("x", 0.0, size=1)
        b.derivative(x, np.where(u > v, 1.0, -1.0))
        b.output("x", x)


def jumping():
    d = Diagram()
    d.add("j", Jumping())
    d.add("i", Integrator(0.3))
    d.connect("j.x -> j.u, i.u", "i.y -> j.v")
    return d


def test_nothing_is_said_of_what_is_in_order():
    d = chain((0.01, 0), (0.02, 0), (0.1, 0))
    assert d.check() == ()


def test_jumps_are_faults_with_their_cure():
    (found,) = of(jumping(), "jumps")
    assert found.fault and found.place == "j" and "where_event" in found.cure


def test_unit_faults_are_listed_and_not_raised():
    d = Diagram()
    d.add("a", Constant(1.0), units={"y": "mm"})
    d.add("b", Gain(1.0), units={"u": "m"})
    d.connect("a.y -> b.u")
    d.outport("y", d["b"]["y"])
    (found,) = d.check()
    assert (found.kind, found.place, found.fault) == ("units", "a.y", True)
    assert "1 mm = 0.001 m" in found.cure and "convert=True" in found.cure
    with pytest.raises(WiringError):
        d.system()


def test_outputs_that_nobody_reads_are_listed_by_block():
    inner = Diagram("inner")
    inner.add("apart", Demux(3))
    inner.connect(inner.inport("u"), inner["apart"]["in"])
    inner.outport("y", inner["apart"]["out2"])
    d = Diagram()
    d.add("source", Constant([1.0, 2.0, 3.0]))
    d.add("part", inner)
    d.connect("source.y -> part.u")
    d.inport("ghost")
    found = {f.place: f for f in of(d, "open outputs")}
    assert found.keys() == {"part/apart", "ghost"}  # out2 leaves the part, and nobody outside reads it
    assert "out1, out2, out3" in found["part/apart"].text
    assert not any(f.fault for f in found.values())
    d.add("sink", Gain(1.0))
    d.connect("part.y -> sink.u")
    found = {f.place: f for f in of(d, "open outputs")}
    assert "out1, out3" in found["part/apart"].text and "sink" in found


@pytest.mark.parametrize("rates, words", [
    ([(0.01, 0), ("0.0100001", 0)], ["grid of 1e-07 s", "nearly the same rate"]),
    ([(0.01, 0), (0.015, 0)], ["neither period is a multiple"]),
    ([(0.01, 0.05)], ["a whole period or more"]),
    ([(0.01, 0.001), (0.01, 0.009)], ["0.002 s before it is renewed, when it is 0.008 s old"]),
    ([(0.01, 0.001), (0.01, 0.004)], []),
    ([(0.01, 0.009), (0.01, 0.008)], ["0.001 s before it is renewed, when it is 0.009 s old"]),
    ([(0.1, 0), (0.01, 0)], []),
    ([(0.01, 0.002), (0.1, 0.001)], ["0.001 s before it is renewed"]),
    ([("1/60", 0), ("1/120", 0)], []),
])  # fmt: skip
def test_rates(rates, words):
    found = of(chain(*rates), "rates")
    for word in words:
        assert any(word in f.text for f in found), [f.text for f in found]
    assert words or not found
    assert not any(f.fault for f in found)


def test_faults_come_first_and_kinds_are_known():
    d = jumping()
    d.add("u", UnitDelay(sample=0.01, offset=0.02))
    d.connect("i.y -> u.u")
    found = d.check()
    assert [f.fault for f in found] == sorted((f.fault for f in found), reverse=True)
    assert {f.kind for f in found} <= set(KINDS) and len(found) >= 3
    assert findings(d.netlist()) == found
    assert all(str(f) and "\n" not in str(f) for f in found)


def test_counts_of_events_where_only_rises_are_heard():
    d = Diagram()
    d.add("calls", FunctionCallGenerator(sample=0.1))
    states, turn = [State("off"), State("on")], {"on": "go", "action": "send(turned)"}
    for name, heard in (("first", {"events": ["go"]}), ("every", {"calls": ["go"]})):
        ways = [Transition("off", "on", **turn), Transition("on", "off", **turn)]
        d.add(name, StateChart(**heard, sends=["turned"], states=states, transitions=ways, sample=0.1))
        d.connect("calls.call", f"{name}.go")
    for name, part, port in (
        ("once", Triggered(Gain(1.0)), "trigger"),
        ("each", FunctionCall(Gain(1.0)), "call"),
    ):
        d.connect("first.turned", d.add(name, part)[port])
        d.connect("every.turned", d[name]["u"])
    found = {f.place: f for f in of(d, "events")}
    assert found.keys() == {"calls.call -> first.go", "first.turned -> once.trigger"}
    assert found["calls.call -> first.go"].cure == "List 'go' in calls= instead of events=."
    assert found["first.turned -> once.trigger"].cure == "Use a FunctionCall."
    assert not any(f.fault for f in found.values())


@pytest.mark.parametrize("count", [5, 6, 7])
def test_six_names_are_listed_and_dots_stand_for_more(count):
    d = Diagram()
    d.connect(d.add("source", Constant(np.ones(count)))["y"], d.add("apart", Demux(count))["in"])
    (found,) = of(d, "open outputs")
    names = ", ".join(f"out{k}" for k in range(1, min(count, 6) + 1))
    assert f"outputs {names}{', ...' if count > 6 else ''} of 'apart'" in found.text


@pytest.mark.parametrize("count", [2, 3, 4])
def test_three_blocks_are_named_for_a_rate(count):
    d = chain(*[("1/10", "1/5")] * count)
    (found,) = [f for f in of(d, "rates") if "a whole period or more" in f.text]
    names = ", ".join(f"d{k}" for k in range(min(count, 3)))
    assert f"(of {names}{', ...' if count > 3 else ''})" in found.text


@pytest.mark.parametrize(("age", "late"), [("1/20", False), ("51/1000", True)])
def test_a_sample_is_late_from_half_a_period_on(age, late):
    found = of(chain((0.1, 0), (0.1, age)), "rates")
    assert [f.text.endswith("when it is 0.051 s old") for f in found] == [True] * late
