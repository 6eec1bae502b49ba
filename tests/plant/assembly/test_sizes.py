"""How large mechanisms are taken to be, and which conditions begin flat: closed form."""

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

from plant.assembly.flat_gradients import add_written, starts_flat, step_aside
from plant.assembly.mechanism_size import Sizes, nominal_sizes, travels
from plant.constraints.conditions import Condition, NamedConstraint
from plant.description import GROUND_KEY, Connection, Description, frame, rigid_body
from plant.mechanics.mechanism import mechanism_of

TURNS = np.array([False, True])  # the slide travels, the crank turns


def slide_and_crank(slide, crank):
    """Joints at these heights on the z axis, with the centres of mass in them."""
    places = {"slide": ("TRANSLATIONAL", slide), "crank": ("REVOLUTE", crank)}
    bodies = [rigid_body(k, 2.0, centre=(0, 0, z), tensor=1e-30 * np.eye(3)) for k, (_, z) in places.items()]
    ties = [
        Connection(kind, (GROUND_KEY, frame((0, 0, z))), (k, frame((0, 0, z))), key=k)
        for k, (kind, z) in places.items()
    ]
    return mechanism_of(Description.build(bodies, ties))


@pytest.mark.parametrize(
    ("heights", "points", "length"),
    [
        ((0.0, 3.0), [], 3.0),
        ((-5.0, 3.0), [], 5.0),
        ((0.0, 3.0), [(0.0, -7.0, 2.0), (1.0, 1.0, 1.0)], 7.0),
        ((0.0, 1e-3), [], 1e-3),
        ((0.0, 1e-13), [], 1e-13),
        ((0.0, 0.0), [], 1.0),
        ((0.0, 1e-17), [], 1.0),  # rounding
    ],
)
def test_lengths_are_distances_from_the_origin(heights, points, length):
    sizes = Sizes.of(slide_and_crank(*heights), [np.array(p) for p in points])
    assert sizes.length == pytest.approx(length)
    assert sizes.rates == pytest.approx(np.where(TURNS, 1.0, length))
    assert sizes.coordinates == pytest.approx(np.where(TURNS, 1.0, length))


@pytest.mark.parametrize(
    ("size", "unit"), [(0.99e-2, 0.99e-2), (1.01e-2, 1.0), (30.0, 1.0), (0.99e4, 1.0), (1.01e4, 1.01e4)]
)
def test_from_a_hundredth_to_ten_thousand_one_unit_of_length_is_a_fair_way(size, unit):
    """Distances of the two joints, wherever they are: the slide is moved by half of it at first."""
    mechanism = slide_and_crank(0.3, 0.3 + size)
    found = nominal_sizes(mechanism)
    assert found.rates == pytest.approx(np.where(TURNS, 1.0, unit))
    assert found.coordinates == pytest.approx(np.where(TURNS, 1.0, unit))
    for moved in (0.0, 0.5 * size, -0.25 * size):  # the slide, away from the crank where that is below 0
        way = size - min(moved, 0.0) if moved <= 0.0 else size - moved
        expected = 1.0 if 1e-2 <= way <= 1e4 else way
        q = [np.array([moved]), np.array([0.2])]
        assert travels(mechanism, q, []) == pytest.approx(np.where(TURNS, 1.0, expected))
    beside = [np.array([3e4, 0.0, 0.3])]
    assert travels(mechanism, [np.zeros(1), np.zeros(1)], beside) == pytest.approx([3e4, 1.0])


def test_where_all_is_in_one_place_a_fair_way_is_one():
    assert travels(slide_and_crank(0.3, 0.3), [np.zeros(1), np.ones(1)], []).tolist() == [1.0, 1.0]


def condition(**more):
    return Condition(NamedConstraint("JOINT", "JOINT 1"), "an angle", ca.SX(0), **more)


@pytest.mark.parametrize("natural", [1e-3, 1.0, 200.0])
def test_flat_is_what_is_open_by_1e_7_and_has_a_gradient_below_a_thousandth(natural):
    """Both of the condition's natural size, the gradient as the square of its length."""

    def flat(gap, length, *, behind=0, **kind):
        size = np.full(1 + behind, natural)
        others = np.zeros(behind)
        residual = np.concatenate([others, [gap * natural]]) if behind else np.array([gap * natural])
        squares = np.concatenate([others, [(length * natural) ** 2]])
        return starts_flat([condition(**kind)], residual, squares, size)

    assert flat(1.01e-7, 0.99e-3) and flat(-1.01e-7, 0.0)
    assert not flat(0.99e-7, 0.0) and not flat(-0.99e-7, 0.0) and not flat(0.1, 1.01e-3)
    assert not flat(0.1, 0.0, written=True) and not flat(0.1, 0.0, driven=True)
    assert not flat(0.1, 0.0, behind=1)  # which is no condition


def test_a_step_aside_has_no_direction_of_an_axis_and_the_size_of_the_mechanism():
    rates = np.array([2.0, 1.0, 0.5])
    assert step_aside(rates, 0.1) == pytest.approx([0.2, 0.1 * np.cos(1.0), 0.05 * np.cos(2.0)])


def test_written_conditions_may_contain_all_they_are_written_with():
    """Of four conditions three count, of which one is a model's expression; it has entries in two columns."""
    conditions = [condition(), condition(uneven=True), condition(), condition(uneven=True)]
    J = ca.SX(ca.Sparsity.triplet(4, 3, [0, 1, 1, 2, 3], [0, 0, 2, 1, 1]), 1.0)
    pattern = np.zeros((4, 3), dtype=bool)
    add_written(SimpleNamespace(conditions=conditions, J=J), np.array([0, 1, 2]), pattern)
    assert [(int(i), int(j)) for i, j in np.argwhere(pattern)] == [(1, 0), (1, 2)]
