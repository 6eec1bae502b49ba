"""When does what run: segments, coincident ticks of several rates, and grids far from zero."""

import itertools
from fractions import Fraction
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

from blocks import (
    Clock,
    Constant,
    Function,
    Gain,
    Hold,
    Integrator,
    PlantloopError,
    PythonFunction,
    RateTransition,
    Sine,
    Step,
    Sum,
    TransportDelay,
    UnitDelay,
)
from blocks.errors import BlockError
from cosim.compile.schedule import _Labels
from cosim.compile.signal_nodes import OutputSignal, SampledSignal, SignalNode
from cosim.segments import EventSegment
from tests.helpers.made import Made
from tests.helpers.runs import Simulation, build, simulate


def segments(d):
    s = d.system()
    return [(g.word, g.activation.text(s.rates), len(g.names)) for g in s.schedule]


def plus_one(sample, offset=0):
    return Function(lambda u: u + 1.0, sample=sample, offset=offset)


def chain(*rates):
    """Sampled blocks in a row, the last added first; each adds one."""
    blocks = {f"b{k}": plus_one(rate) for k, rate in reversed(list(enumerate(rates)))}
    wires = [f"b{k}.y>b{k + 1}.u" for k in range(len(rates) - 1)]
    return build(" ".join(["c.y>b0.u", *wires]), **blocks, c=Constant(0.0))


# --- segments
def test_a_chain_of_one_rate_is_one_segment():
    d = chain(*[0.1] * 50)
    assert segments(d) == [("output", "10 Hz", 50)]
    assert simulate(d, 0.0, log_at=[0.0])["b49.y"].item() == 50.0


def test_a_segment_is_called_by_the_block_whose_memory_it_writes_first():
    schedule = chain(*[0.1] * 5, *[0.2] * 3).system().schedule
    assert [(g.path, len(g.names)) for g in schedule] == [("b0", 5), ("b5", 3)]
    assert all(name.startswith(f"{g.path}.") for g in schedule for name in g.names[:1])


def test_blocks_of_one_rate_merge_across_continuous_ones_between_them():
    d = build("c.y>a.u a.y>g.u g.y>b.u", c=Clock(), a=plus_one(0.1), g=Gain(2.0), b=plus_one(0.1))
    assert segments(d) == [("output", "10 Hz", 2)]
    assert simulate(d, 0.1, log_at=[0.1])["b.y"].item() == pytest.approx(2 * 1.1 + 1)


def test_alternating_rates_take_turns():
    d = chain(0.1, 0.2, 0.1, 0.2)
    assert segments(d) == [("output", name, 1) for name in ("10 Hz", "5 Hz", "10 Hz", "5 Hz")]
    assert simulate(d, 0.0, log_at=[0.0])["b3.y"].item() == 4.0


def counted(b):
    """Counts its rising input, and has a timed event beside."""
    u, n = b.input("u"), b.mode("n", 0.0)
    b.event_at("due", 1e30, lambda _: {n: n + 10.0}, "never")
    b.when(u - 0.5, {n: n + 1.0}, direction="rising", name="up", follow_time=True)
    b.output("y", n)


@pytest.mark.parametrize(
    ("source", "between", "jumps"),
    [
        (Clock(), Gain(2.0), False), (Constant(1.0), Integrator(), False), (Step(0.5), Gain(2.0), True),
        (Clock(), Hold(sample=0.1), True), (Step(0.5), Integrator(), False),
        (Clock(), TransportDelay(0.3), True),
        (Sine(sample=0.1), Gain(1.0), True), (Sine(), Gain(1.0), False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("read", [True, False])
def test_events_that_follow_others_are_looked_for_where_their_inputs_jump_and_somebody_reads_them(
    source, between, jumps, read
):
    blocks = {"s": source, "m": between, "it": Made(counted)} | ({"h": Hold(sample=0.1)} if read else {})
    d = build("s.y>m.u m.y>it.u" + (" it.y>h.u" if read else ""), **blocks)
    (segment,) = [g for g in d.system().schedule if isinstance(g, EventSegment)]
    assert segment.following == ((0,) if jumps and read else ())


def test_independent_chains_share_segments():
    blocks, wires = {"c": Constant(0.0)}, []
    for name in "fgh":
        blocks |= {f"{name}{k}": plus_one(rate) for k, rate in enumerate((0.1, 0.2, 0.1))}
        wires += [f"c.y>{name}0.u", f"{name}0.y>{name}1.u", f"{name}1.y>{name}2.u"]
    d = build(" ".join(wires), **blocks)
    assert segments(d) == [("output", "10 Hz", 3), ("output", "5 Hz", 3), ("output", "10 Hz", 3)]


def test_an_opaque_block_stands_alone_in_the_order_of_its_inputs():
    blocks = {
        "c": Clock(),
        "a": plus_one(0.1),
        "f": PythonFunction(lambda t, u: 10.0 * u, sample=0.1),
        "g": PythonFunction(lambda t, u: -u, sample=0.1),
        "b": plus_one(0.1),
    }
    d = build("c.y>a.u a.y>f.u f.y>g.u g.y>b.u", **blocks)
    assert [kind for kind, _, _ in segments(d)] == ["output", "external", "external", "output"]
    assert simulate(d, 0.1, log_at=[0.0, 0.1])["b.y"][:, 0] == pytest.approx([-9.0, -10.0])


def test_updates_come_last_one_segment_per_rate():
    blocks = {"c": Clock(), "a": UnitDelay(0.1), "b": UnitDelay(0.2), "e": UnitDelay(0.1), "h": plus_one(0.1)}
    d = build("c.y>a.u a.y>b.u b.y>e.u e.y>h.u", **blocks)
    assert segments(d) == [("output", "10 Hz", 1), ("update", "10 Hz", 2), ("update", "5 Hz", 1)]


def test_the_same_rate_written_in_several_ways_is_one_rate():
    samples = [0.1, "0.1", "1/10", Fraction(1, 10), np.float64(0.1)]
    assert segments(chain(*samples)) == [("output", "10 Hz", 5)]


# --- three rates with offsets, worked by hand
RATES = {"a": (2, 0), "b": (3, 1), "c": (4, 2), "d": (2, 0), "e": (3, 1)}  # (period, offset) s
# a samples the time; b = a + 100; c samples b; d shows c one tick of its rate later; e = c - d.
# Ticks of (2, 0): 0 2 4 6 8 10 12 14 16;  of (3, 1): 1 4 7 10 13 16;  of (4, 2): 2 6 10 14;  all three at 10.
TABLE = """
    t   a    b    c    d   e
    0   0    0    0    0   0
    1   0  100    0    0   0    e: 0 - 0
    2   2  100  100    0   0    c sees b of t=1; d shows c of t=0 and keeps 100
    3   2  100  100    0   0
    4   4  104  100  100   0    b sees a of this instant; e: 100 - 100 with d already moved
    5   4  104  100  100   0
    6   6  104  104  100   0    c sees b of t=4; d keeps 104
    7   6  106  104  100   4    e: 104 - 100
    8   8  106  104  104   4
    9   8  106  104  104   4
   10  10  110  110  104   6    all three: a, then b, then c, then e: 110 - 104
   11  10  110  110  104   6
   12  12  110  110  110   6
   13  12  112  110  110   0
   14  14  112  112  110   0
   15  14  112  112  110   0
   16  16  116  112  112   0
"""


def by_hand():
    rows = [[float(word) for word in line.split()[:6]] for line in TABLE.strip().splitlines()[1:]]
    return np.array(rows)


def three_rates(order):
    blocks = {
        "a": RateTransition(*RATES["a"]),
        "b": Function(lambda u: u + 100.0, *RATES["b"]),
        "c": RateTransition(*RATES["c"]),
        "d": UnitDelay(*RATES["d"]),
        "e": Function(lambda u, v: u - v, *RATES["e"]),
    }
    wires = "t.y>a.u a.y>b.u b.y>c.u c.y>d.u c.y>e.u d.y>e.v"
    return build(wires, **{name: blocks[name] for name in order}, t=Clock())


@pytest.mark.parametrize("order", ["abcde", "edcba", "cebda"])
def test_three_rates_with_offsets_agree_with_the_table(order):
    expected = by_hand()
    r = simulate(three_rates(order), 16.0, log_at=expected[:, 0])
    for k, name in enumerate("abcde", start=1):
        np.testing.assert_array_equal(r[f"{name}.y"][:, 0], expected[:, k], err_msg=name)


def test_the_table_does_not_depend_on_the_order_in_which_blocks_were_added():
    expected = [segments(three_rates("abcde"))]
    for order in itertools.islice(itertools.permutations("abcde"), 0, None, 7):
        assert sorted(segments(three_rates(order))) == sorted(expected[0])


def test_the_table_holds_beside_continuous_states_and_between_ticks():
    expected = by_hand()
    d = three_rates("abcde")
    d.connect("e.y", d.add("x", Integrator())["u"])
    r = simulate(d, 16.5, solver="rk4", step=0.3, log_at=expected[:, 0] + 0.5)
    for k, name in enumerate("abcde", start=1):
        np.testing.assert_array_equal(r[f"{name}.y"][:, 0], expected[:, k], err_msg=name)
    area = np.concatenate([[0.0], np.cumsum(expected[:-1, 5])]) + 0.5 * expected[:, 5]
    np.testing.assert_allclose(r["x.y"][:, 0], area, rtol=1e-14)


def test_ticks_of_every_rate_are_counted():
    r = simulate(three_rates("abcde"), 16.0)
    ticks = dict.fromkeys(r.statistics["ticks"], 0)
    ticks |= r.statistics["ticks"]
    assert sorted(ticks.values()) == [4, 6, 9]


# --- far from zero
def moved(sim, ticks, t):
    """Put a simulation where it would be after so many ticks of each rate, without running them."""
    snapshot = sim.snapshot()
    snapshot.ticks[:] = ticks
    snapshot.t = t
    sim.restore(snapshot)


FAR = 10**9


@pytest.mark.parametrize("period", ["1/10", "1/3", "1/60", "1/1000", "1/44100", "7/6", "1/999983"])
@pytest.mark.parametrize("offset", ["0", "1/7"])
def test_a_tick_at_a_billion_periods_falls_exactly_where_it_should(period, offset):
    period, offset = Fraction(period), Fraction(offset)
    sim = Simulation(build("c.y>h.u", c=Clock(), h=Hold(sample=period, offset=offset)))
    moved(sim, [FAR], float(offset + (FAR - 1) * period))
    for k in range(3):
        exact = offset + (FAR + k) * period
        assert sim.step() == float(exact)  # Fraction to float is rounded once
        assert sim.value("h.y").item() == float(exact)


def test_a_billion_periods_of_a_tenth_of_a_second():
    sim = Simulation(build("c.y>h.u", c=Clock(), h=Hold(sample=0.1)))
    moved(sim, [FAR], 99_999_999.9)
    assert sim.step() == 1e8
    sim.log(None)
    sim.advance(1e8 + 1.0)
    exact = [float(Fraction(k, 10)) for k in range(FAR + 1, FAR + 11)]
    np.testing.assert_array_equal(sim.result().ticks("h.y").time[-10:], exact)


def test_rates_that_coincide_far_out_still_do():
    periods = {"tenth": Fraction(1, 10), "third": Fraction(1, 3), "sixtieth": Fraction(1, 60)}
    blocks = {name: Hold(sample=period) for name, period in periods.items()}
    sim = Simulation(build(" ".join(f"c.y>{name}.u" for name in blocks), c=Clock(), **blocks))
    meeting = 10**8  # s: a multiple of all three
    moved(sim, [int(meeting / r.period) for r in sim.system.rates], meeting - 1 / 60)
    assert sim.step() == float(meeting)
    assert [sim.value(f"{name}.y").item() for name in blocks] == [float(meeting)] * 3
    following = meeting + Fraction(1, 60)
    assert sim.step() == float(following)
    assert [sim.value(f"{name}.y").item() for name in blocks] == [meeting, meeting, float(following)]


@pytest.mark.parametrize("solver", ["rk4", "dopri5"])
def test_a_solver_lands_on_a_tick_far_out(solver):
    options = {"step": 0.01} if solver == "rk4" else {}
    blocks = {"s": Constant(2.0), "h": Hold(sample=0.1), "x": Integrator()}
    sim = Simulation(build("s.y>h.u h.y>x.u", **blocks), solver=solver, **options)
    moved(sim, [FAR], 99_999_999.9)
    before = sim.value("x.y").item()
    assert sim.step() == 1e8
    ulp = np.spacing(1e8)  # the length of the step is known no better
    assert sim.value("x.y").item() - before == pytest.approx(0.2, abs=4 * ulp)


# --- grids
def test_rates_without_a_common_grid_in_64_bits_are_refused_by_name():
    blocks = {"a": Sine(sample="1/999983"), "b": Sine(sample="1000000/999979"), "ok": Sine(sample=1)}
    with pytest.raises(PlantloopError) as caught:
        simulate(build("", **blocks), 1.0)
    text = "rates 999983 Hz and every 1.00002 s have no common time grid that fits 64-bit integers. "
    assert str(caught.value) == text + "Give sample times whose ratio is a simple fraction."
    simulate(build("", a=Sine(sample="1/1000"), b=Sine(sample="1/999983")), 1e-5)


def test_one_rate_is_never_without_a_grid_because_it_is_fast():
    r = simulate(build("", s=Sine(sample=Fraction(1, 10**9))), 5e-9)
    assert r.ticks("s.y").time.tolist() == [0.0, 1e-9, 2e-9, 3e-9, 4e-9, 5e-9]


def test_an_offset_off_the_grid_is_refused():
    with pytest.raises(PlantloopError, match="period and offset of the rate 1 Hz, offset 1e-15 s"):
        simulate(build("", s=Sine(sample=1, offset=Fraction(1, 10**15))), 1.0)


@pytest.mark.parametrize("rate", [0.1 + 1e-9, np.pi, 1e-7 / 3])
def test_a_float_that_is_no_simple_fraction_is_refused_where_it_is_written(rate):
    with pytest.raises(BlockError, match="no fraction with a denominator up to 1e6"):
        Sine(sample=rate)


def test_a_sum_of_rates_with_many_offsets_has_one_order():
    blocks = {f"s{k}": Sine(sample="1/10", offset=Fraction(k, 100)) for k in range(10)} | {"sum": Sum(10)}
    d = build(" ".join(f"s{k}.y>sum.in{k + 1}" for k in range(10)), **blocks)
    r = simulate(d, 0.2, log_at=[0.095, 0.195])
    for row, start in zip(r["sum.y"][:, 0], (0.0, 0.1), strict=True):
        assert row == pytest.approx(sum(np.sin(start + k / 100) for k in range(10)), rel=1e-13)


def test_what_reads_a_loop_at_a_tick_comes_behind_it():
    """Memories a and c read each other; y reads a and stands between the two in the order."""
    a, c = (SignalNode(n, SampledSignal, "m") for n in "ac")
    y = SignalNode("y", OutputSignal, "y")
    loop = nx.DiGraph([(a, c), (c, a), (a, y)])
    ordered = nx.DiGraph([(a, c), (a, y)])
    dependencies = SimpleNamespace(cut=True, solved=False, alone=set(), ordered=ordered)
    labels = _Labels({}, dependencies, loop, [a, y, c])
    assert labels.bucket == {0: [a, c, y]}
    assert labels.groups == {(0, ("loop", a)): [a, c]}
