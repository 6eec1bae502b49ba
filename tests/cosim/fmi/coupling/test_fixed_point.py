"""A step of the coupling as an equation y = F(y): linear ones have closed solutions, Newton's updates a rule.

Source of the rule: Broyden, A class of methods for solving nonlinear simultaneous equations, Math. Comp. 19
(1965): the updated inverse takes the change to the step, and leaves alone what the step does not reach.
"""

from dataclasses import replace

import numpy as np
import pytest

from blocks.errors import SimulationError
from cosim.fmi.coupling.fixed_point import FixedPoint, _broyden, _times, inverted

A = np.array([[0.2, -1.5, 0.3], [1.1, 0.4, -0.6], [0.5, 0.9, -2.0]])  # of which |eigenvalues| exceed 1
B = np.array([1.0, -2.0, 0.5])


def point(f, scale=1.0, ended=lambda: False):
    """F, counted, and the outputs asked for so far."""
    asked = []

    def delivered(y):
        asked.append(y.copy())
        return f(y)

    return FixedPoint(delivered, np.full(3, scale), 0.25, ("a", "b", "c"), ended), asked


@pytest.mark.parametrize("size", [1.0, 1e-3, 1e6])
def test_a_linear_step_is_solved_in_one_step_of_newton(size):
    problem, asked = point(lambda y: A @ y + size * B, size)
    problem.solve(np.zeros(3), newton=True)
    assert asked[-1] == pytest.approx(size * np.linalg.solve(np.eye(3) - A, B), rel=1e-9)
    assert len(asked) <= 1 + 3 + 2  # the guess, differences by each output, and two steps for their rounding


def test_substitution_asks_for_what_was_delivered():
    problem, asked = point(lambda y: 0.5 * y + B)
    problem.solve(np.zeros(3), newton=False)
    assert asked[-1] == pytest.approx(2.0 * B, rel=1e-9)
    errors = [np.abs(y - 2.0 * B).max() for y in asked[:10]]
    assert errors == [4.0 * 0.5**k for k in range(10)]
    assert 30 < len(asked) < 40  # 2^-33 is 1e-10


def test_updates_make_newton_superlinear():
    """With the first inverse alone this function does not settle in a hundred rounds."""
    problem, asked = point(lambda y: np.array([np.cos(y[1]), 1.5 * np.sin(y[0]), np.exp(-y[2]) + 0.2 * y[0]]))
    problem.solve(np.zeros(3), newton=True)
    found = asked[-1]
    assert np.cos(found[1]) == pytest.approx(found[0], abs=1e-9)
    assert 1.5 * np.sin(found[0]) == pytest.approx(found[1], abs=1e-9)
    assert np.exp(-found[2]) + 0.2 * found[0] == pytest.approx(found[2], abs=1e-9)
    assert len(asked) < 18


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e6])
def test_outputs_agree_within_1e_10_of_their_size(size):
    """Or of their own value where that is larger, and 1e-12."""
    allowed = 1e-10 * size + 1e-12
    for off, rounds in ((0.9, 1), (-0.9, 1), (1.1, 2), (-1.1, 2)):
        for scale, value in ((size, 0.0), (0.0, size)):
            answer = np.array([0.0, value, 0.0])
            problem, asked = point(lambda y, answer=answer: answer, scale)
            problem.solve(answer + np.array([0.0, off * allowed, 0.0]), newton=False)
            assert len(asked) == rounds, (off, scale, value)


def test_where_a_unit_ends_the_run_nothing_more_is_looked_for():
    problem, asked = point(lambda y: 3.0 * y + B, ended=lambda: True)
    problem.solve(np.zeros(3), newton=False)
    assert len(asked) == 1


def test_what_does_not_settle_is_named_with_its_numbers():
    problem, asked = point(lambda y: np.array([0.5, -1.0, 1.0]) * y + np.array([1.0, 3.0, 0.0]))
    with pytest.raises(SimulationError, match="'b' is assumed as 0 and delivered as 3") as caught:
        problem.solve(np.zeros(3), newton=False)
    assert (caught.value.path, caught.value.time, caught.value.value) == ("b", 0.25, 3.0)
    assert "100 rounds" in str(caught.value) and len(asked) == 101
    problem, _ = point(lambda y: np.array([1.0, 2.0, np.inf]))
    with pytest.raises(SimulationError, match="'c' is inf at t=0.25 s"):
        problem.solve(np.zeros(3), newton=True)


def test_inverses_are_those_of_linear_algebra():
    rng = np.random.default_rng(1)
    for n in (1, 2, 5):
        matrix = rng.normal(size=(n, n))
        assert inverted(matrix) == pytest.approx(np.linalg.inv(matrix), rel=1e-9)
    turned = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, -4.0], [0.5, 0.0, 0.0]])  # no pivot in its place
    assert inverted(turned) == pytest.approx(np.linalg.inv(turned))
    assert inverted(1e-20 * turned) == pytest.approx(1e20 * np.linalg.inv(turned))
    halves = np.array([[4.0, 2.0], [2.0, 2.0]])  # elimination rounds nothing, singular values do
    assert inverted(halves).tolist() == [[0.5, -0.5], [-0.5, 1.0]]
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    assert inverted(singular) == pytest.approx(singular / 25.0)  # its Moore-Penrose inverse
    nearly = np.diag([1.0, 1e-13])  # a pivot above 1e-14 is one, below none
    assert inverted(nearly) == pytest.approx(np.diag([1.0, 1e13]))
    assert inverted(np.diag([1.0, 1e-16])) == pytest.approx(np.diag([1.0, 0.0]))


def test_an_update_fits_the_step_and_nothing_else():
    rng = np.random.default_rng(2)
    inverse, step, change = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=3)
    updated = _broyden(inverse, step, change)
    assert updated @ change == pytest.approx(step)
    unreached = np.linalg.solve(
        inverse, np.cross(step, rng.normal(size=3))
    )  # its image is normal to the step
    assert updated @ unreached == pytest.approx(inverse @ unreached)
    assert _broyden(inverse, np.zeros(3), change).tolist() == inverse.tolist()
    assert _times(inverse, step) == pytest.approx(inverse @ step)


@pytest.mark.parametrize("newton", [False, True])
def test_what_units_round_to_single_precision_settles_within_it(newton):
    """Its rounding takes turns between two numbers; what does not round is found as closely as ever."""
    turns = {False: 2.0, True: -2.0}

    def rounded(y):
        turns[newton] *= -1.0
        return 0.5 * y + B + turns[newton] * 2.0**-25

    with pytest.raises(SimulationError, match="does not settle in 100 rounds"):
        point(rounded)[0].solve(np.zeros(3), newton)
    problem, asked = point(rounded)
    replace(problem, single=True).solve(np.zeros(3), newton)
    assert asked[-1] == pytest.approx(2.0 * B, rel=1e-6) and len(asked) < 30
    problem, asked = point(lambda y: 0.1 * y + B)
    replace(problem, single=True).solve(np.zeros(3), newton)
    assert asked[-1] == pytest.approx(B / 0.9, rel=1e-9)


@pytest.mark.parametrize(("part", "settles"), [(0.9, True), (1.1, False)])
@pytest.mark.parametrize("size", [1.0, 1e3])
def test_single_precision_is_two_units_in_the_last_place(part, settles, size):
    """Outputs that take turns between two numbers 2^-21 of their size apart, seen after twenty rounds."""
    apart = part * 2.0**-21 * size

    def turns(y):
        return np.where(y > 0.0, -0.5, 0.5) * apart

    problem, asked = point(turns, size)
    problem = replace(problem, single=True)
    if settles:
        problem.solve(np.full(3, 0.5 * apart), newton=False)
        assert len(asked) == 21
    else:
        with pytest.raises(SimulationError, match="does not settle"):
            problem.solve(np.full(3, 0.5 * apart), newton=False)


@pytest.mark.parametrize(("scale", "worst"), [(1.0, "b"), (1e6, "a")])
def test_the_worst_output_is_measured_by_its_size(scale, worst):
    """Off by 2 of 1e6, and by 0.5 of 1; where all are of one size the first is farther off."""
    problem, _ = point(lambda y: np.array([2e6 - y[0], 1.0 - y[1], 0.0]), scale)
    with pytest.raises(SimulationError, match=f"'{worst}' is assumed"):
        problem.solve(np.array([1e6 - 1.0, 0.25, 0.0]), newton=False)


@pytest.mark.parametrize("small", [1e-3, 1e-9, 1e-13])
def test_the_largest_pivot_is_taken(small):
    """With the first one, above what counts as none, up to all digits are lost."""
    matrix = np.array([[small, 1.0], [1.0, 1.0]])
    expected = np.array([[1.0, -1.0], [-1.0, small]]) / (small - 1.0)
    np.testing.assert_allclose(inverted(matrix), expected, rtol=0, atol=1e-15)
    np.testing.assert_allclose(inverted(matrix[::-1]), expected[:, ::-1], rtol=0, atol=1e-15)
