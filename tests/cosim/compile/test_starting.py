"""Memories that depend on each other begin as the signals are: no first edge is lost."""

import pytest

from blocks import Clock, CompareToConstant, Gain, LogicalOperator, RelationalOperator
from cosim import Diagram, Enabled, Triggered, simulate
from cosim.compile.starting import in_order


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("operator", [">=", ">"])
def test_the_first_edge_of_a_comparison_calls(operator, engine):
    d = Diagram("d")
    d.add("t", Clock()) >> d.add("late", CompareToConstant(operator, 1.0))
    d.connect("t.y", d.add("part", Triggered(Gain(2.0)))["u"])
    d.connect("late.y -> part.trigger")
    r = simulate(d, until=3.0, log_every=0.5, engine=engine)
    assert r["part.y"][:, 0] == pytest.approx([0, 0, 2, 2, 2, 2, 2], abs=1e-9)


def test_conditions_in_a_row_begin_in_their_order():
    """t >= 1, then (t >= 1) >= 0.5 and so on: all are false at the start, and a part is off."""
    d = Diagram("d")
    last = d.add("t", Clock())
    for k, limit in enumerate((1.0, 0.5, 0.5, 0.5)):
        last = last >> d.add(f"c{k}", CompareToConstant(">=", limit))
    d.add("both", LogicalOperator("and")), d.add("less", RelationalOperator("<"))
    d.connect("c3.y -> both.in1, less.in1", "c0.y -> both.in2", "t.y -> less.in2")
    d.add("part", Enabled(Gain(1.0)))
    d.connect("t.y -> part.u", "both.y -> part.enable")
    r = simulate(d, until=2.0, log_every=0.5, engine="reference")
    assert r["part.y"][:, 0] == pytest.approx([0, 0, 1, 1.5, 2], abs=1e-9)


def test_memories_that_read_each_other_in_a_circle_keep_the_old_values():
    import casadi as ca

    a = ca.SX.sym("a", 4)
    found = in_order(ca.vertcat(a[1] + 1, a[0] + 1, a[1] * 10, a[3] + a[2]), a)
    f = ca.Function("f", [a], [found])
    assert f([1, 2, 3, 4]).full().ravel().tolist() == [3, 2, 20, 24]
