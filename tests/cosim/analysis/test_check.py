"""Jumps of continuous equations at switches of several signals, in a diagram and in a block alone."""

import numpy as np
import pytest

from blocks import AlgebraicLoopError, Gain, PlantloopError, Sum
from cosim import Diagram, check
from cosim.analysis.bisected_sides import bisected_sides
from tests.helpers.made import Made


def jumping(b):
    """x' jumps by 3 where x = v^2, y by nothing where x = v; its input may shift it."""
    x, v, u = b.continuous("x", 0.0), b.continuous("v", 0.5), b.input("u", 1)
    b.derivative(x, np.where(x > v * v, 2.0, -1.0) + u)
    b.derivative(v, -v)
    b.output("y", np.maximum(x, v))


def in_a_diagram(block):
    d = Diagram("d")
    d.connect(d.inport("u"), d.add("it", block)["u"])
    return d


@pytest.mark.parametrize("inside", [lambda block: block, in_a_diagram])
def test_a_jump_between_signals_is_found_with_its_size(inside):
    (found,) = check(inside(Made(jumping)))
    assert found.size == pytest.approx(3.0) and found.by == "a comparison" and not found.in_time
    assert (found.kind, found.what) == ("Made", "the derivative of 'x'")


def test_a_loop_is_refused_unless_it_is_to_be_solved():
    d = in_a_diagram(Made(jumping))
    s, g = d.add("s", Sum("++")), d.add("g", Gain(0.5))
    d.connect(d["it"]["y"], s["in1"])
    d.connect(g["y"], s["in2"])
    d.connect(s["y"], g["u"])
    with pytest.raises(AlgebraicLoopError):
        check(d)
    assert [j.path for j in check(d, solve_loops=True)] == ["it"]
    with pytest.raises(PlantloopError, match="solve_loops"):
        check(d, solve_loops=1)


class Seldom:
    """x > 0.3 as a condition, known for one in five x alone: what is behind it is 5, else 2."""

    names, f = ("a comparison",), None
    points = type("Points", (), {"draw": staticmethod(lambda rng: rng.uniform(-4.0, 1.0, 1))})

    def at(self, f, rows):
        behind = rows > 0.3
        return [np.where(behind, 5.0, 2.0), np.where(rows > 0.0, behind * 1.0, np.nan)]


def test_points_at_which_a_condition_is_no_number_take_no_place_of_others():
    found = list(bisected_sides(Seldom()))
    assert found and {(k, *sorted([*below, *above])) for k, below, above in found} == {(0, 2.0, 5.0)}
