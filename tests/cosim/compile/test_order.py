"""Algebraic loops: where there are some, where there are none, and how they are told."""

from fractions import Fraction

import numpy as np
import pytest

from blocks import (
    AlgebraicLoopError,
    Clock,
    Constant,
    Demux,
    Function,
    Gain,
    Hold,
    Mux,
    PythonFunction,
    RateTransition,
    StateFeedback,
    StateSpace,
    Sum,
    UnitDelay,
)
from tests.helpers.runs import build, simulate

DOUBLE = [[0.0, 1.0], [0.0, 0.0]]
CURE = "Break it with a delay or a sampled block, or allow it with solve_loops=True."


def loop(d):
    with pytest.raises(AlgebraicLoopError) as caught:
        d.system()
    assert caught.value.hint == CURE
    assert str(caught.value).endswith("\n" + CURE)
    return str(caught.value)


# --- the text
def test_a_loop_between_ticks_is_shown_hop_by_hop():
    inner = build("", sum=Sum("+-"), gain=Gain(2.0))
    inner.connect(inner.inport("r"), "sum.in1")
    inner.connect("sum.y", "gain.u")
    inner.connect("gain.y", "sum.in2")
    d = build("", r=Constant(1.0))
    d.connect("r.y", d.add("controller", inner)["r"])
    assert loop(d) == (
        "Algebraic loop between ticks through 4 ports:\n"
        "  controller/sum.y  ->  controller/gain.u\n"
        "  controller/gain.u  feeds through to  controller/gain.y\n"
        "  controller/gain.y  ->  controller/sum.in2\n"
        "  controller/sum.in2  feeds through to  controller/sum.y\n"
        "Break it with a delay or a sampled block, or allow it with solve_loops=True."
    )


def test_a_loop_at_a_tick_says_so_and_names_ports_only():
    d = build("r.y>s.in1 k.u>s.in2 s.y>h.u h.y>k.x", r=Clock(), s=Sum("+-"), k=StateFeedback(2.0, sample=0.1),
              h=Hold(1, sample=0.1))  # fmt: skip
    text = loop(d)
    assert text.startswith("Algebraic loop at a tick through 6 ports:\n")
    hops = set(text.splitlines()[1:-1])
    assert hops == {
        "  k.u  ->  s.in2",
        "  s.in2  feeds through to  s.y",
        "  s.y  ->  h.u",
        "  h.u  feeds through to  h.y",
        "  h.y  ->  k.x",
        "  k.x  feeds through to  k.u",
    }


def test_a_loop_through_a_component_shows_that_component():
    d = build("c.y>m.in1 m.out>g.u g.y>x.in x.out2>k.u k.y>m.in2", c=Constant(1.0), m=Mux(2),
              g=Gain([[1.0, 0.0], [0.0, 2.0]]), x=Demux(2), k=Gain(3.0))  # fmt: skip
    text = loop(d)
    assert "  m.out[1]  ->  g.u[1]\n  g.u[1]  feeds through to  g.y[1]\n" in text
    assert "[0]" not in text


def test_a_block_connected_to_itself():
    d = build("g.y>g.u", g=Gain(0.5))
    assert "through 2 ports:\n  g.y  ->  g.u\n  g.u  feeds through to  g.y\n" in loop(d)


def test_every_loop_is_reported():
    d = build("a.y>b.u b.y>a.u c.y>e.u e.y>c.u", a=Gain(1.0), b=Gain(1.0), c=Gain(1.0), e=Gain(1.0))
    text = loop(d)
    assert text.count("Algebraic loop between ticks") == 2
    assert all(f"{name}.u  feeds through to  {name}.y" in text for name in "abce")


def test_the_loop_shown_is_the_one_there_is_not_a_harmless_one_beside_it():
    # s and g make a loop; the way through the two holds, which never tick together, makes none.
    blocks = {"s": Sum("+++"), "g": Gain(0.5), "h": Hold(sample=1), "k": Hold(sample=1, offset=0.5)}
    d = build("s.y>g.u g.y>s.in1 s.y>h.u h.y>k.u k.y>s.in2 c.y>s.in3", **blocks, c=Constant(1.0))
    text = loop(d)
    assert "  s.y  ->  g.u\n" in text and "h." not in text and "k." not in text


# --- per component
def test_a_cycle_of_ports_without_a_cycle_of_components_is_no_loop():
    d = build("c.y>m.in1 m.out>g.u g.y>x.in x.out1>k.u k.y>m.in2", c=Constant(1.0), m=Mux(2),
              g=Gain([[1.0, 0.0], [0.0, 2.0]]), x=Demux(2), k=Gain(3.0))  # fmt: skip
    assert simulate(d, 0.0, log_at=[0.0])["x.out2"].item() == 6.0


def test_the_same_cycle_through_a_sampled_vector():
    d = build("c.y>m.in1 m.out>h.u h.y>x.in x.out1>k.u k.y>m.in2", c=Clock(), m=Mux(2), h=Hold(sample=0.1),
              x=Demux(2), k=Gain(3.0))  # fmt: skip
    r = simulate(d, 0.3, log_at=[0.0, 0.1, 0.25, 0.3])
    np.testing.assert_allclose(r["x.out1"][:, 0], [0.0, 0.1, 0.2, 0.3], rtol=1e-15)
    np.testing.assert_allclose(r["x.out2"][:, 0], [0.0, 0.3, 0.6, 0.9], rtol=1e-15)


def test_a_cycle_through_every_component_of_a_long_vector_in_turn_is_no_loop():
    n = 6  # component k+1 is component k plus one
    shift = np.zeros((n, n))
    shift[1:, :-1] = np.eye(n - 1)
    blocks = {"g": Gain(shift), "s": Sum("++"), "one": Constant(np.ones(n))}
    d = build("s.y>g.u g.y>s.in1 one.y>s.in2", **blocks)
    assert simulate(d, 0.0, log_at=[0.0])["s.y"][0].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_a_state_space_without_feedthrough_makes_no_loop():
    d = build("p.y>k.x k.u>p.u", p=StateSpace(DOUBLE, [[0], [1]], np.eye(2)), k=StateFeedback([1.0, 2.0]))
    assert d.system().schedule == ()


def test_a_zero_of_d_makes_no_loop_but_another_entry_does():
    plant = StateSpace(DOUBLE, [[0], [1]], np.eye(2), [[0.0], [1.0]])
    build("p.y>k.x k.u>p.u", p=plant, k=StateFeedback([1.0, 0.0])).system()
    text = loop(build("p.y>k.x k.u>p.u", p=plant, k=StateFeedback([1.0, 2.0])))
    assert "p.y[1]  ->  k.x[1]" in text and "p.u  feeds through to  p.y[1]" in text


def test_a_loop_through_subsystem_borders():
    inner = build("", s=Sum("++"))
    inner.connect(inner.inport("u"), "s.in1")
    inner.connect(inner.inport("v"), "s.in2")
    inner.outport("y", "s.y")
    d = build("", c=Constant(1.0), g=Gain(0.5))
    n = d.add("n", inner)
    d["c"]["y"] >> n["u"]
    n["y"] >> d["g"]["u"]
    d["g"]["y"] >> n["v"]
    assert "  g.y  ->  n/s.in2\n  n/s.in2  feeds through to  n/s.y\n" in loop(d)


# --- what breaks a loop
@pytest.mark.parametrize("breaker", [UnitDelay(0.1), StateSpace(-1.0, 1.0, 1.0)], ids=["delay", "lag"])
def test_a_block_without_feedthrough_breaks_a_loop(breaker):
    build(
        "s.y>g.u g.y>b.u b.y>s.in2 c.y>s.in1", s=Sum("+-"), g=Gain(2.0), b=breaker, c=Constant(1.0)
    ).system()


def test_a_sampled_block_with_feedthrough_breaks_it_between_ticks_but_not_at_its_tick():
    blocks = {"s": Sum("+-"), "c": Constant(1.0), "k": StateFeedback(2.0, sample=0.1)}
    assert "at a tick" in loop(build("c.y>s.in1 k.u>s.in2 s.y>k.x", **blocks))


def test_an_opaque_function_feeds_every_input_through_to_every_output():
    d = build("c.y>m.in1 m.out>f.u f.y>x.in x.out1>g.u g.y>m.in2", c=Constant(1.0), m=Mux(2), x=Demux(2),
              g=Gain(0.5), f=PythonFunction(lambda t, u: u, 2, 2, sample=0.1))  # fmt: skip
    assert "at a tick" in loop(d)


# --- rates that never coincide
def ring(*rates, before=0):
    """Holds in a ring, each with a gain behind it; `before` holds upstream of the first."""
    d = build("", clock=Clock(), s=Sum("++"))
    last = d["clock"]["y"]
    for k in range(before):
        last >> d.add(f"u{k}", RateTransition((0.1, 0.05)[k % 2]))["u"]
        last = d[f"u{k}"]["y"]
    last >> d["s"]["in1"]
    for k in reversed(range(len(rates))):
        d.add(f"h{k}", RateTransition(*rates[k]))
        d.connect(f"h{k}.y", d.add(f"g{k}", Gain(1.0))["u"])
    d.connect("s.y", "h0.u")
    for k in range(1, len(rates)):
        d.connect(f"g{k - 1}.y", f"h{k}.u")
    d.connect(f"g{len(rates) - 1}.y", "s.in2")
    return d


def refreshed(d):
    """Blocks in the order in which a tick of all rates refreshes them."""
    return [name.rpartition(".")[0] for segment in d.system().schedule for name in segment.names]


@pytest.mark.parametrize(
    ("one", "other"),
    [((0.1, 0), (0.1, 0.05)), ((0.2, 0), (0.3, 0.05)), (("1/3", 0), ("1/3", "1/6")), ((2, 0), (4, 1))],
)
def test_rates_that_never_coincide_make_no_loop(one, other):
    assert sorted(refreshed(ring(one, other))) == ["h0", "h1"]


@pytest.mark.parametrize(
    ("one", "other"),
    [((0.1, 0), (0.1, 0)), ((0.2, 0), (0.3, 0.1)), (("1/3", 0), ("1/60", "1/60")), ((2, 0), (3, 1))],
)
def test_rates_that_coincide_now_and_then_make_a_loop(one, other):
    assert "at a tick" in loop(ring(one, other))


def test_two_of_three_rates_that_coincide_keep_their_order():
    # h0 meets h1 and h1 meets h2, but h0 and h2 never tick together.
    rates = [(Fraction(1, 5), 0), (Fraction(1, 10), 0), (Fraction(1, 5), Fraction(1, 10))]
    order = refreshed(ring(*rates))
    assert order.index("h0") < order.index("h1") < order.index("h2")


def test_memories_of_a_harmless_cycle_have_segments_of_their_own():
    rates = [(Fraction(1, 5), 0), (Fraction(1, 5), Fraction(1, 10)), (Fraction(1, 5), 0)]
    found = [(g.path, len(g.names)) for g in ring(*rates).system().schedule]
    assert sorted(found) == [("h0", 1), ("h1", 1), ("h2", 1)]


def test_a_harmless_cycle_stays_behind_what_feeds_it_from_outside():
    rates = [(Fraction(1, 5), 0), (Fraction(1, 10), 0), (Fraction(1, 5), Fraction(1, 10))]
    order = refreshed(ring(*rates, before=3))
    assert order.index("u0") < order.index("u1") < order.index("u2") < order.index("h0")
    # at t = 0.2 the whole chain ticks: h0 takes the present time from upstream, and adds what h2 holds
    r = simulate(ring(*rates, before=3), 0.3, log_at=[0.0, 0.1, 0.2, 0.3])
    np.testing.assert_allclose(r["h0.y"][:, 0], [0.0, 0.0, 0.2, 0.2], rtol=1e-15)
    np.testing.assert_allclose(r["h2.y"][:, 0], [0.0, 0.0, 0.0, 0.2], rtol=1e-15)


def test_opaque_functions_that_take_turns_are_no_loop():
    f, g = (PythonFunction(lambda t, u: u + 1, 1, sample=0.2, offset=o) for o in (0, 0.1))
    r = simulate(build("f.y>g.u g.y>f.u", f=f, g=g), 0.5, log_at=[0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
    assert r["f.y"][:, 0].tolist() == [1.0, 1.0, 3.0, 3.0, 5.0, 5.0]
    assert r["g.y"][:, 0].tolist() == [0.0, 2.0, 2.0, 4.0, 4.0, 6.0]


def test_a_function_sampled_at_the_same_rate_is_no_way_out():
    d = build("f.y>g.a g.y>f.a", f=Function(lambda a: a, sample=0.1), g=Function(lambda a: a, sample=0.1))
    assert "Algebraic loop at a tick through 4 ports" in loop(d)
