"""Events of one instant that depend on each other: no crossing sees values that never hold together."""

import numpy as np
import pytest

from blocks import (
    AlgebraicConstraint,
    CompareToConstant,
    Constant,
    Counter,
    DFlipFlop,
    Function,
    HitCrossing,
    Integrator,
    LogicalOperator,
    PeakHold,
    Relay,
    Sine,
)
from cosim import Diagram, simulate
from cosim.engines.methods.event_order import EventOrder, event_order
from tests.helpers.made import alone, ramp

ENGINES = pytest.mark.parametrize("engine", ["reference", "native"])
LINKS = [
    "u.y -> a.u",
    "a.y -> b.u, differ.in1",
    "b.y -> c.u",
    "c.y -> differ.in2",
    "differ.y -> count.u, hits.u, relay.u, area.reset",
    "one.y -> area.u",
]


@ENGINES
@pytest.mark.parametrize("seed", range(3))
def test_comparisons_of_comparisons_never_differ(engine, seed):
    """a = u > 0, b = a > 1/2, c = b > 1/2: a xor c is 0 for ever, and was 1 for a round at every crossing."""
    made = {
        "u": Sine(1.0, 3.0, 0.3),
        "a": CompareToConstant(">", 0.0),
        "b": CompareToConstant(">", 0.5),
        "c": CompareToConstant(">", 0.5),
        "differ": LogicalOperator("xor", 2),
        "count": Counter(),
        "hits": HitCrossing(0.5),
        "relay": Relay(0.5, -0.5),
        "area": Integrator(reset="rising"),
        "one": Constant(1.0),
    }
    rng = np.random.default_rng(seed)
    d = Diagram("d")
    for name in rng.permutation(list(made)):
        d.add(str(name), made[name])
    for link in rng.permutation(LINKS):
        d.connect(str(link))
    r = simulate(d, 3.0, log_at=[3.0], engine=engine)
    assert [r[f"{name}.y"][0, 0] for name in ("count", "hits", "relay")] == [0.0, 0.0, 0.0]
    assert r["area.y"][0, 0] == pytest.approx(3.0)
    flips = [e.time for e in r.events if e.name.startswith("a.")]
    np.testing.assert_allclose(flips, (np.pi * np.array([1, 2]) - 0.3) / 3, atol=1e-9)


@pytest.mark.slow
@ENGINES
def test_a_lowest_value_that_was_held_does_not_follow_a_jump_up_for_a_round(engine):
    """The lowest of a bit is 0 once it was 0: one crossing of 1/2, and never another."""
    d = Diagram("d")
    bit = d.add("u", Sine(1.0, 3.0, 0.3)) >> d.add("bit", CompareToConstant(">", 0.0))
    bit >> d.add("lowest", PeakHold("min")) >> d.add("hits", HitCrossing(0.5))
    r = simulate(d, 6.0, log_at=[6.0], engine=engine, max_step=0.02)
    assert r["hits.y"][0, 0] == 1.0
    assert r["hits.time"][0, 0] == pytest.approx((np.pi - 0.3) / 3)


@ENGINES
def test_a_shift_register_shifts_by_one(engine):
    """Flip-flops of one clock read what the others held before it: their clocks do not depend on them."""
    d = Diagram("d")
    clock = d.add("u", Sine(1.0, 2 * np.pi, -0.1)) >> d.add("clock", CompareToConstant(">", 0.0))
    bit = d.add("one", Constant(1.0))
    for k in range(3):
        node = d.add(f"q{k}", DFlipFlop())
        bit >> node["D"]
        clock >> node["CLK"]
        bit = node["Q"]
    r = simulate(d, 3.5, log_at=[0.5, 1.5, 2.5], engine=engine, max_step=0.02)
    found = np.hstack([r[f"q{k}.Q"] for k in range(3)])
    assert found.tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_what_depends_on_what():
    """Events 2 -> 0 -> {1, 3}, where 1 and 3 depend on each other, and 4 alone."""
    order = EventOrder((2, 0, 1, 3, 4), (0, 1, 2, 1, 4), ((2,), (0,), (), (), ()))
    assert order.behind([2]).tolist() == [True, True, False, True, False]
    assert order.behind([0]).tolist() == [False, True, False, True, False]
    assert not order.behind([3, 4]).any()


def test_events_are_ordered_as_their_signals():
    d = Diagram("d")
    d.add("c", CompareToConstant(">", 0.5))
    d.add("b", CompareToConstant(">", 0.5))
    d.add("a", CompareToConstant(">", 0.0))
    d.connect("b.y -> c.u")
    d.connect("a.y -> b.u")
    d.add("u", Sine())
    d.connect("u.y -> a.u")
    s = d.system()
    order = event_order(s)
    paths = [s.events[k].path for k in order.order]
    assert list(dict.fromkeys(paths)) == ["a", "b", "c"]
    before = {s.events[k].path: {s.events[j].path for j in order.before[k]} for k in order.order}
    assert before == {"a": set(), "b": {"a"}, "c": {"b"}}


def test_events_that_come_in_turn_have_the_order_of_their_declaration_but_for_what_they_read():
    """All but the third reset n; the second resets k for the third, and that resets m for the first."""

    def equations(b):
        x = ramp(b)
        n, m, k = (b.mode(name, 0.0) for name in "nmk")
        b.when(x[0] - m[0] - 0.5, [(n, n + 1)], "rising", "first", in_turn=True)
        b.when(x[0] + n[0] - 0.5, [(n, n + 1), (k, 1 + k)], "rising", "second", in_turn=True)
        b.when(x[0] + k[0] - 0.5, [(m, m + 1)], "rising", "third")
        b.when(x[0] - 0.5, [(n, n + 1)], "rising", "fourth", in_turn=True)

    order = event_order(alone(equations).system())
    assert order.before == ((1, 2), (), (1,), (0,)) and order.order == (1, 2, 0, 3)


@pytest.mark.parametrize(("in_turn", "before"), [(True, ((), (0,))), (False, ((), ()))])
def test_events_that_reset_one_state_have_an_order_where_they_come_in_turn(in_turn, before):
    def equations(b):
        x = ramp(b)
        b.when(x[0] - 0.5, [(x, 2 * x)], "rising", "one", in_turn=in_turn)
        b.when(2 * x[0] - 1.0, [(x, 3 * x)], "rising", "other", in_turn=in_turn)

    assert event_order(alone(equations).system()).before == before


def test_events_are_ordered_through_what_is_solved():
    """2 z = a, and b = z > 0.2; what else is solved depends on no event, and neither does its crossing."""
    d = Diagram("d")
    d.add("b", CompareToConstant(">", 0.2))
    d.add("alone", CompareToConstant(">", 0.7))
    d.add("a", CompareToConstant(">", 0.0))
    z, f = d.add("z", AlgebraicConstraint()), d.add("f", Function(lambda z, a: 2.0 * z - a))
    u = d.add("u", Sine())
    u >> d["a"]
    u >> d["alone"]
    d.connect(z["z"], f["z"], d["b"]["u"])
    d.connect("a.y", f["a"])
    d.connect(f["y"], z["f"])
    s = d.system()
    order = event_order(s)
    before = {s.events[k].path: {s.events[j].path for j in order.before[k]} for k in order.order}
    assert before == {"a": set(), "alone": set(), "b": {"a"}}
