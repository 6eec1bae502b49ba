"""Systems that settle: to hollows of an energy, along narrow valleys, to the edge of what they may do."""

import numpy as np
import pytest

from cosim.analysis.relaxation import Descent, relaxed


def of_energy(gradient, curvature, low=-np.inf, high=np.inf):
    """Unit masses in an energy V(q): x = (q, qd), qd' = -grad V."""
    n = len(gradient(np.zeros(2)))

    def slopes(x):
        A = np.zeros((2 * n, 2 * n))
        A[:n, n:], A[n:, :n] = np.eye(n), -curvature(x[:n])
        return A

    limits = [
        np.concatenate([np.full(n, end), np.full(n, side)]) for end, side in ((low, -np.inf), (high, np.inf))
    ]
    rates = lambda x: np.concatenate([x[n:], -gradient(x[:n])])
    return Descent(rates, slopes, lambda x: x, np.arange(2 * n) >= n, *limits)


def rosenbrock(b):
    """V = (1 - x)^2 + b (y - x^2)^2: a valley with walls of stiffness b, its hollow at (1, 1)."""

    def gradient(q):
        x, y = q
        return np.array([-2 * (1 - x) - 4 * b * x * (y - x * x), 2 * b * (y - x * x)])

    def curvature(q):
        x, y = q
        return np.array([[2 - 4 * b * (y - 3 * x * x), -4 * b * x], [-4 * b * x, 2 * b]])

    return gradient, curvature


@pytest.mark.parametrize("b", [1.0, 100.0, 1e4, 1e5])
def test_rosenbrocks_valley_is_followed_to_its_end(b):
    found = relaxed(of_energy(*rosenbrock(b)), np.array([-1.2, 1.0, 5.0, -3.0]))
    assert found == pytest.approx([1.0, 1.0, 0.0, 0.0], abs=1e-9)


def test_the_nearer_of_two_hollows_is_found_and_no_hilltop():
    """V = (x^2 - 1)^2 / 4 + y^2 / 2: hollows at x = -1 and 1, a saddle between."""
    motion = of_energy(
        lambda q: np.array([q[0] ** 3 - q[0], q[1]]), lambda q: np.diag([3 * q[0] ** 2 - 1, 1.0])
    )
    for start, hollow in ((0.01, 1.0), (-0.01, -1.0), (5.0, 1.0)):
        assert relaxed(motion, np.array([start, 2.0, 0.0, 0.0])) == pytest.approx(
            [hollow, 0.0, 0.0, 0.0], abs=1e-9
        )


def test_a_bound_is_where_it_ends():
    found = relaxed(of_energy(*rosenbrock(1.0), high=0.5), np.array([-1.2, 0.2, 0.0, 0.0]))
    assert np.all(found[:2] <= 0.5) and found[0] == 0.5


def test_what_never_rests_comes_back_too():
    motion = of_energy(lambda q: np.array([1.0, 0.0 * q[1]]), lambda q: np.zeros((2, 2)))
    assert relaxed(motion, np.zeros(4)).shape == (4,)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_first_step_does_not_leap_over_the_next_hilltop(side):
    """V = -100 cos x at 1.45, nearly where it is steepest: a step of 1 s leads into the hollow beyond."""
    motion = Descent(
        lambda x: np.array([x[1], -100.0 * np.sin(x[0])]),
        lambda x: np.array([[0.0, 1.0], [-100.0 * np.cos(x[0]), 0.0]]),
        lambda x: x, np.array([False, True]), np.full(2, -np.inf), np.full(2, np.inf),
    )  # fmt: skip
    assert relaxed(motion, np.array([1.45 * side, 0.0])) == pytest.approx([0.0, 0.0], abs=1e-9)


def test_steps_that_invariants_take_back_come_to_an_end():
    """On the circle r = 1, where rounding pushes outwards: x settles at its lowest point and stays there."""
    asked = []

    def rates(x):
        asked.append(x)
        along = np.array([-x[1], x[0]])
        return -x[0] * along + 1e-9 * x

    def slopes(x):
        along, across = np.array([-x[1], x[0]]), x
        return x[1] * np.outer(along, along) + 1e-12 * np.outer(across, across)

    free = np.zeros(2, bool)
    motion = Descent(
        rates, slopes, lambda x: x / np.linalg.norm(x), free, np.full(2, -np.inf), np.full(2, np.inf)
    )
    assert relaxed(motion, np.array([1.0, 0.0])) == pytest.approx([0.0, -1.0], abs=1e-6)
    assert len(asked) < 300
