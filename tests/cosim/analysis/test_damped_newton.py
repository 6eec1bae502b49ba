"""Newton's method with damping: linear equations at once, flat ones in smaller steps, bounds as bounds."""

import numpy as np
import pytest

from cosim.analysis.damped_newton import damped_newton

FREE = np.full(2, np.inf)


def counted(f, jacobian):
    """The equations, and where they were asked."""
    asked = []

    def equations(v):
        asked.append(v.copy())
        return np.atleast_1d(f(v)), np.atleast_2d(jacobian(v))

    return equations, asked


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_linear_equations_take_one_step_in_either_direction(sign):
    """However unequal they are scaled, and whichever way it goes: two evaluations."""
    a, b = np.array([[1e6, 2e6], [3e-3, -1e-3]]), sign * np.array([5e6, 1e-3])
    equations, asked = counted(lambda v: a @ v - b, lambda v: a)
    found = damped_newton(equations, np.zeros(2), -FREE, FREE)
    np.testing.assert_allclose(found, np.linalg.solve(a, b), rtol=1e-12)
    np.testing.assert_allclose(asked[1], found, rtol=1e-12)
    assert len(asked) <= 3


@pytest.mark.parametrize("start", [1.5, -3.0, 20.0])
def test_a_full_step_that_leads_astray_is_halved(start):
    """arctan(x) = 0: full steps diverge from 1.3918 on."""
    equations, _ = counted(lambda v: np.arctan(v), lambda v: np.diag(1 / (1 + v**2)))
    found = damped_newton(equations, np.array([start]), -FREE[:1], FREE[:1])
    assert found == pytest.approx([0.0], abs=1e-12)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_unknown_on_a_bound_stays_and_the_others_do_what_they_can(sign):
    """x + y = 3 with x at its bound of 1, x - y = 5 as well: y is the least squares of 2 and -4, -1."""
    a, b = np.array([[1.0, 1.0], [1.0, -1.0]]), sign * np.array([3.0, 5.0])
    low, high = np.array([-1.0, -10.0]), np.array([1.0, 10.0])
    equations, _ = counted(lambda v: a @ v - b, lambda v: a)
    found = damped_newton(equations, np.array([sign, 0.5 * sign]), low, high)
    assert found == pytest.approx([sign, -sign])


def test_an_unknown_on_a_bound_may_leave_it_inwards():
    equations, _ = counted(lambda v: v - np.array([0.25, -0.25]), lambda v: np.eye(2))
    found = damped_newton(equations, np.array([-1.0, 1.0]), -np.ones(2), np.ones(2))
    assert found == pytest.approx([0.25, -0.25])


@pytest.mark.parametrize("start", [np.ones(2), np.array([3.0, 3.0])])
def test_equations_that_say_one_thing_twice_are_solved_by_the_shortest_step(start):
    """x + y = 4, and twice that: from the diagonal to (2, 2)."""
    a = np.array([[1.0, 1.0], [2.0, 2.0], [0.1, 0.1]])
    equations, asked = counted(lambda v: a @ v - a @ [2.0, 2.0], lambda v: a)
    found = damped_newton(equations, start, -FREE, FREE)
    assert found == pytest.approx([2.0, 2.0], rel=1e-12) and len(asked) <= 4


def test_an_equation_that_nothing_changes_has_no_part():
    equations, asked = counted(lambda v: [v[0] - 3.0, 7.0], lambda v: [[1.0], [0.0]])
    assert damped_newton(equations, np.ones(1), -FREE[:1], FREE[:1]) == pytest.approx([3.0])
    assert len(asked) <= 3


def test_what_rounding_leaves_of_an_equation_moves_nothing():
    """The acceleration of a joint that is locked, 1e-26 with a slope of 1e-23, was worth a step of 1e-3."""
    equations, _ = counted(
        lambda v: [v[0] - 3.0, v[1] - 2.0, 1e-26 + 1e-23 * (v[0] - 3.0)],
        lambda v: [[1, 0], [0, 1], [1e-23, 0]],
    )
    found = damped_newton(equations, np.ones(2), -FREE, FREE, fulfilled=1e-9)
    assert found == pytest.approx([3.0, 2.0], abs=1e-14)
