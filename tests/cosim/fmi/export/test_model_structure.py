"""What depends on what in a description, by hand from equations: loops, delays, ticks, events, invariants.

FMI 3.0, 2.4.8: at communication points and in event mode outputs depend on time, states and inputs; at the
start also on whatever may be set before it.
"""

from __future__ import annotations

from dataclasses import dataclass

import fmpy
import pytest

import blocks as B
from blocks import Block
from blocks.library.starts import start_time
from cosim import Diagram, export_fmu

LISTS = ("outputs", "derivatives", "initialUnknowns", "eventIndicators")


def lists(d, path, **options):
    """By list of the structure: names of what each unknown depends on."""
    unit = fmpy.read_model_description(str(export_fmu(d, path / "unit.fmu", platforms=[], **options)))
    found = []
    for name in LISTS:
        unknowns = getattr(unit, name)
        found.append({u.variable.name: {v.name for v in u.dependencies} for u in unknowns})
    return found


def wired(block, *inputs):
    """The block alone, each input and output that of a diagram."""
    d = Diagram("wired")
    b = d.add("b", block)
    for name in inputs:
        d.connect(d.inport(name), b[name])
    return d, b


def test_a_rate_with_an_offset_has_not_ticked_at_the_start(tmp_path):
    """The prompt one shows its input there, the late one what it holds before."""
    d = Diagram("holds")
    u = d.inport("u")
    for name, offset in (("prompt", 0.0), ("late", 0.05)):
        h = d.add(name, B.Hold(sample=0.1, offset=offset))
        d.connect(u, h["u"])
        d.outport(name, h["y"])
    outputs, _, start, _ = lists(d, tmp_path)
    assert outputs == {"prompt": {"u"}, "late": {"u"}}
    assert start == {"prompt": {"u"}, "late": {"late.hold_now"}}
    assert lists(d, tmp_path, kinds=["cs"])[0] == {"prompt": set(), "late": set()}


@dataclass(frozen=True)
class Ticking(Block):
    """Time and number of the newest tick, and a state that adds up its input."""

    offset: float = 0.0

    def define(self, b):
        u = b.input("u", size=1)
        x = b.discrete("x", 0.0, 0.1, offset=self.offset)
        b.update(x, x + u)
        b.output("time", b.tick_time(0.1, self.offset))
        b.output("count", b.tick_count(0.1, self.offset))
        b.output("x", x)
        b.output("rate", b.sampled(x + 2.0 * u, 0.1, self.offset, name="sum"))


@pytest.mark.parametrize("offset", [0.0, 0.05])
def test_ticks_know_the_time_and_show_states_as_they_were(offset, tmp_path):
    """At a tick the sum reads x and u; x itself changes behind it, so that no output follows u through x."""
    d, b = wired(Ticking(offset), "u")
    for name in ("time", "count", "x", "rate"):
        d.outport(f"its_{name}", b[name])
    outputs, _, start, _ = lists(d, tmp_path)
    assert outputs == {"its_time": {"time"}, "its_count": set(), "its_x": set(), "its_rate": {"u"}}
    first = {"its_time": {"time"}, "its_rate": {"b.x", "u"}}
    later = {"its_time": set(), "its_rate": {"b.sum"}}
    assert start == {"its_count": set(), "its_x": {"b.x"}, **(later if offset else first)}


def test_a_sample_of_a_sample_follows_what_the_first_reads(tmp_path):
    """Two rates: the slow one reads the fast one at the instants they share; a state is read as it is."""
    d = Diagram("samples")
    x, total = d.add("x", B.Integrator()), d.add("total", B.Sum("++"))
    for name, sample in (("fast", 0.1), ("slow", 0.2)):
        d.add(name, B.Hold(sample=sample))
    d.connect(d.inport("u"), total["in1"])
    d.connect(d.inport("rate"), x["u"])
    d.connect("x -> total.in2", "total -> fast", "fast -> slow")
    d.outport("y", "slow.y")
    outputs, rates, start, _ = lists(d, tmp_path)
    assert outputs == {"y": {"u", "x.x"}} and rates == {"der(x.x)": {"rate"}}
    assert start == {"y": {"u", "x.x"}, "der(x.x)": {"rate"}}


def loops(sample=None):
    """ya = 0.5 (ua - ya) and yb likewise: two loops, between ticks or at them."""
    d = Diagram("loops")
    for k in "ab":
        f = d.add(k, B.Function(lambda u, v: 0.5 * u - 0.5 * v, sample=sample))
        d.connect(d.inport(f"u{k}"), f["u"])
        d.add(f"g{k}", B.Gain(1.0))
        d.connect(f"{k} -> g{k}", f"g{k} -> {k}.v")
        d.outport(f"y{k}", f["y"])
    return d


def test_unknowns_that_are_solved_for_together_depend_on_all_that_their_equations_read(tmp_path):
    outputs, _, start, _ = lists(loops(), tmp_path, solve_loops=True)
    assert outputs == {"ya": {"ua", "ub"}, "yb": {"ua", "ub"}}
    assert start == {y: {"ua", "ub", "ga.k", "gb.k"} for y in ("ya", "yb")}


def test_loops_at_a_tick_are_solved_there_one_by_one(tmp_path):
    """Newton's method begins with the value that was there before."""
    outputs, _, start, _ = lists(loops(0.1), tmp_path, solve_loops=True)
    assert outputs == {"ya": {"ua"}, "yb": {"ub"}}
    assert start == {f"y{k}": {f"u{k}", f"g{k}.k", f"{k}.'y@sampled'"} for k in "ab"}


@dataclass(frozen=True)
class Pair(Block):
    """p = 0.5 (u - r), q = 0.5 (v - s): two numbers sampled together."""

    def define(self, b):
        u, v = b.input("u", size=1), b.input("v", size=2)
        w = b.input("w", size=1)
        b.output("y", b.sampled([0.5 * (u[0] - v[1]), 0.5 * (w[0] - v[0])], 0.1, name="pair"))


def test_numbers_of_one_loop_at_a_tick_depend_on_each_other(tmp_path):
    d, b = wired(Pair(), "u", "w")
    g = d.add("g", B.Gain(1.0))
    d.connect(b["y"], g["u"])
    d.connect(g["y"], b["v"])
    d.outport("y", b["y"])
    d.outport("first", "b.y[0]")
    outputs = lists(d, tmp_path, solve_loops=True)[0]
    assert outputs == {"y": {"u", "w"}, "first": {"u", "w"}}


def test_a_delay_shows_the_past_at_a_time_that_depends_on_time_and_its_length(tmp_path):
    """Not on what goes in now; nor does a signal beside it, or a loop that does not read it."""
    d = Diagram("delays")
    u, length = d.inport("u"), d.inport("length")
    fixed, moving = d.add("fixed", B.TransportDelay(0.5)), d.add("moving", B.VariableTransportDelay(1.0, 0.1))
    for node in (fixed, moving):
        d.connect(u, node["u"])
    d.connect(length, moving["delay"])
    d.connect(u, d.add("beside", B.Gain(2.0))["u"])
    for name in ("fixed", "moving", "beside"):
        d.outport(f"past_{name}", f"{name}.y")
    outputs, _, start, _ = lists(d, tmp_path)
    assert outputs == {"past_fixed": {"time"}, "past_moving": {"time", "length"}, "past_beside": {"u"}}
    assert start["past_fixed"] == {"time", "fixed.delay"}
    assert {"time", "length"} <= start["past_moving"] and "u" not in start["past_moving"]
    assert start["past_beside"] == {"u", "beside.k"}


def test_a_loop_depends_on_what_the_delays_in_it_do(tmp_path):
    """y = 0.5 (u(t - T) + t v - y): on T and time, not on u."""
    d = Diagram("looped")
    past, f = (
        d.add("past", B.TransportDelay(0.5)),
        d.add("f", B.Function(lambda u, v, w, t: 0.5 * (u + t * v - w))),
    )
    d.connect(d.inport("u"), past["u"])
    d.connect(past["y"], f["u"])
    d.connect(d.inport("v"), f["v"])
    d.connect(d.add("clock", B.Clock())["y"], f["t"])
    g = d.add("g", B.Gain(1.0))
    d.connect(f["y"], g["u"])
    d.connect(g["y"], f["w"])
    d.outport("y", g["y"])
    outputs, _, start, _ = lists(d, tmp_path, solve_loops=True)
    assert outputs == {"y": {"time", "v"}}
    assert start == {"y": {"time", "v", "past.delay", "g.k"}}


@pytest.mark.slow
@pytest.mark.parametrize("n", [255, 256])
def test_dependencies_of_many_numbers_are_not_lost(n, tmp_path):
    """A sum of n delayed signals depends on time, in a loop too, and one of n samples on all inputs."""
    d = Diagram("many")
    u = d.inport("u", n)
    for name, block in (("past", B.TransportDelay(0.5, [0.0] * n)), ("now", B.Hold(sample=0.1))):
        d.connect(u, d.add(name, block)["u"])
        d.connect(f"{name}.y", d.add(f"of_{name}", B.Gain([[1.0] * n]))["u"])
        d.outport(f"total_{name}", f"of_{name}.y")
    s = d.add("s", B.Sum("+-"))
    d.connect(d.add("half", B.Gain(0.5))["y"], s["in2"])
    d.connect("of_past -> s.in1", "s -> half")
    d.outport("looped", "half.y")
    outputs = lists(d, tmp_path, version="2.0", solve_loops=True)[0]
    assert outputs["total_past"] == outputs["looped"] == {"time"}
    assert outputs["total_now"] == {f"u[{k + 1}]" for k in range(n)}


@dataclass(frozen=True)
class Switch(Block):
    """Where u rises through 1, m becomes v; n is what nothing changes; x starts anew there."""

    def define(self, b):
        u, v, w = (b.input(name, size=1) for name in "uvw")
        m, n, x = b.mode("m", 0.0), b.mode("n", 0.0), b.continuous("x", 0.0)
        b.derivative(x, n + v)
        b.when(u[0] - 1.0, {m: v, x: w}, direction="rising", name="set")
        b.output("y", m)
        b.output("z", n + w)


def test_what_an_event_may_set_depends_on_its_value_and_its_crossing(tmp_path):
    d, b = wired(Switch(), "u", "v", "w")
    for name in "yz":
        d.outport(name, b[name])
    outputs, rates, start, indicators = lists(d, tmp_path)
    assert outputs == {"y": {"u", "v"}, "z": {"w"}}
    assert rates == {"der(b.x)": {"v"}} and indicators == {"indicators.b.set": {"u"}}
    assert start == {"y": {"u", "v", "b.m"}, "z": {"w", "b.n"}, "der(b.x)": {"v", "b.n"}}
    assert lists(d, tmp_path, kinds=["cs"])[0] == {"y": set(), "z": {"w"}}


@dataclass(frozen=True)
class Alarm(Block):
    """At the time m: c becomes u; what follows: e becomes c + v."""

    def define(self, b):
        u, v = (b.input(name, size=1) for name in "uv")
        c, e = b.mode("c", 0.0), b.mode("e", 0.0)
        b.event_at("m", 0.5, lambda m: {m: 1e30, c: u}, "alarm")
        b.when(c[0] - 1.0, {e: c + v}, direction="rising", name="after", follow_time=True)
        b.output("c", c)
        b.output("e", e)


def test_a_sampled_block_behind_an_event_at_a_time_reads_what_it_set(tmp_path):
    """The hold reads e behind the event: it shows u of the same instant."""
    d, b = wired(Alarm(), "u", "v")
    h = d.add("h", B.Hold(sample=0.1))
    d.connect(b["e"], h["u"])
    d.outport("c", b["c"])
    d.outport("h", h["y"])
    outputs, _, start, indicators = lists(d, tmp_path)
    assert outputs == {"c": {"time", "u"}, "h": {"time", "u", "v"}}
    assert start == {"c": {"time", "u", "b.c", "b.m"}, "h": {"time", "u", "v", "b.c", "b.e", "b.m"}}
    assert indicators == {"indicators.b.alarm": {"time"}, "indicators.b.after": set()}


@dataclass(frozen=True)
class Circle(Block):
    """x' = -u y, y' = x on the circle of radius r; z' = x."""

    def define(self, b):
        (r,) = b.parameters(r=1.0)
        u = b.input("u", size=1)
        x, y = b.continuous("x", 1.0), b.continuous("y", 0.0)
        b.derivative(x, -u * y)
        b.derivative(y, x)
        b.invariant(x * x + y * y - r * r)
        b.output("x", x)
        b.output("v", 2.0 * u)


def test_states_on_an_invariant_are_found_from_all_of_them_at_the_start(tmp_path):
    """They are moved onto it before anything is computed, as its parameter says; later they are free."""
    d, b = wired(Circle(), "u")
    for name in "xv":
        d.outport(name, b[name])
    outputs, rates, start, _ = lists(d, tmp_path)
    assert outputs == {"x": {"b.x"}, "v": {"u"}}
    assert rates == {"der(b.x)": {"b.y", "u"}, "der(b.y)": {"b.x"}}
    moved = {"b.x", "b.y", "b.r"}
    assert start == {
        "x": moved, "v": {"u"}, "b.x": moved, "b.y": moved, "der(b.x)": {*moved, "u"}, "der(b.y)": moved,
    }  # fmt: skip


@dataclass(frozen=True)
class Side(Block):
    """A branch and a mode that begin where the run starts: y is u while v >= 0, else w."""

    def define(self, b):
        u, v, w = (b.input(name, size=1) for name in "uvw")
        b.output("y", b.where_event(v, u, w))
        b.output("held", b.sampled(b.where_event(v, 1.0, 2.0), 0.1, name="held"))


def test_a_branch_follows_its_condition_at_ticks_and_at_the_start(tmp_path):
    d, b = wired(Side(), "u", "v", "w")
    for name in ("y", "held"):
        d.outport(name, b[name])
    outputs, _, start, indicators = lists(d, tmp_path)
    assert outputs == {"y": {"u", "v", "w"}, "held": {"v"}}
    assert {k: v & {"u", "v", "w"} for k, v in start.items()} == outputs
    assert all(v == {"v"} for v in indicators.values()) and indicators
    assert lists(d, tmp_path, kinds=["cs"])[0] == {"y": {"u", "w"}, "held": set()}


@dataclass(frozen=True)
class Begun(Block):
    """The time at which the run began, and how long ago that was."""

    def define(self, b):
        begin = start_time(b)
        b.output("began", begin)
        b.output("age", b.time - begin)


def test_what_is_found_at_the_start_alone_is_memory_later(tmp_path):
    d, b = wired(Begun())
    for name in ("began", "age"):
        d.outport(f"its_{name}", b[name])
    outputs, _, start, _ = lists(d, tmp_path)
    assert outputs == {"its_began": set(), "its_age": {"time"}}
    assert start == {"its_began": {"time"}, "its_age": {"time"}}
