"""Jacobians of the functions of FMUs for model exchange: what the FMU says of them, and differences.

The function is f(x1, x2, n, u; p, q, k) = (x1^2 u, 3 x2 + p1 u + p2^2, k q x1), whose derivatives are written
down here.
"""

from __future__ import annotations

import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from cosim.fmi.description import Variable
from cosim.fmi.fmi_errors import FMUCallError
from cosim.fmi.interface.caller import FATAL
from cosim.fmi.model_exchange_slopes import DIFFERENCE, FMUSlopes, _contradiction, slope_by_time

X = Variable("x", 1, "Float64", "local", "continuous", shape=(2,))
N = Variable("n", 2, "Float64", "input", "discrete")
U = Variable("u", 3, "Float64", "input", "continuous")
P = Variable("p", 4, "Float64", "parameter", "tunable", shape=(2,))
Q = Variable("q", 5, "Float64", "parameter", "fixed")
K = Variable("k", 6, "Int32", "parameter", "tunable")
Y = Variable("y", 7, "Float64", "output", "continuous", shape=(2,))
Z = Variable("z", 8, "Float64", "output", "continuous")
MOVING, PARAMETERS, ROWS = (X, N, U), (P, Q, K), (Y, Z)
A = np.array([2.0, -1.5, 4.0, 0.5, 1e4, -3.0, 0.25, 2.0])


def f(t: float, a: np.ndarray) -> np.ndarray:
    x1, x2, n, u, p1, p2, q, k = a
    return np.array([x1**2 * u, 3 * x2 + p1 * u + p2**2, k * q * x1 + n * n])


def slopes_at(a: np.ndarray) -> np.ndarray:
    """(3, 8): zero by n and k, which do not move, or not by little."""
    x1, _, _, u, p1, p2, q, k = a
    return np.array(
        [
            [2 * x1 * u, 0, 0, x1**2, 0, 0, 0, 0],
            [0, 3, 0, p1, u, 2 * p2, 0, 0],
            [k * q, 0, 0, 0, 0, 0, k * x1, 0],
        ]
    )


class Unit:
    """An FMU that says derivatives: those of f times `factor`, or fails."""

    def __init__(self, factor: float = 1.0, says: bool = True, fails: object = None, **of: float) -> None:
        self.factor, self.of, self.fails, self.asked = factor, of, fails, []
        self.interface = SimpleNamespace(directional_derivatives=says)
        self.description = SimpleNamespace(file="unit.fmu", major=3)
        self.closed = False

    def directional(self, rows, known, seed):
        (v,) = known
        self.asked.append(v.name)
        if self.fails is not None:
            raise FMUCallError("it refuses", value=self.fails)
        start = {"x": 0, "n": 2, "u": 3, "p": 4, "q": 6, "k": 7}[v.name]
        assert tuple(rows) == ROWS and sorted(seed) == [0.0] * (v.size - 1) + [1.0]
        whole = np.zeros(8)
        whole[start : start + v.size] = seed
        return slopes_at(A) @ whole * self.of.get(v.name, self.factor)


def jacobian(unit: Unit, value=f, rows=ROWS, slopes: FMUSlopes | None = None) -> np.ndarray:
    return (slopes or FMUSlopes(unit)).jacobian(0.5, A, rows, MOVING, PARAMETERS, value)


def test_differences_are_central_and_relative():
    """Of squares they are exact but for rounding; a large number is moved by more."""
    noted: list[np.ndarray] = []

    def value(t, a):
        noted.append(a.copy())
        return f(t, a)

    unit = Unit(says=False)
    found = jacobian(unit, value)
    assert found == pytest.approx(slopes_at(A), abs=1e-6) and not unit.asked
    moved = np.array([a - A for a in noted if (a != A).any()])
    h = DIFFERENCE * np.maximum(1.0, np.abs(A))
    for place in (0, 1, 3, 4, 5, 6):
        assert sorted(moved[moved[:, place] != 0.0, place]) == pytest.approx([-h[place], h[place]], rel=1e-4)
    assert not moved[:, [2, 7]].any() and (np.count_nonzero(moved, axis=1) == 1).all()


def test_differences_are_of_second_order():
    """e^x: (e^h - e^-h) / 2h = 1 + h^2 / 6."""
    x = Variable("x", 1, "Float64", "local", "continuous")
    found = FMUSlopes(Unit(says=False)).jacobian(0.0, np.zeros(1), (), (x,), (), lambda t, a: np.exp(a))
    assert found == pytest.approx(np.ones((1, 1)), rel=1e-9)


def test_what_an_fmu_says_is_taken_where_its_values_do_not_contradict_it():
    """A difference of 4 % is none: it may be that of a table, or of a solver inside."""
    unit = Unit(factor=1.04, p=1.0 + 1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = jacobian(unit)
    expected = slopes_at(A)
    assert found[:, :4] == pytest.approx(1.04 * expected[:, :4], rel=1e-12)
    assert found[:, 4:6] == pytest.approx((1 + 1e-6) * expected[:, 4:6], rel=1e-12)
    assert found[:, 6:] == pytest.approx(expected[:, 6:], abs=1e-9)
    assert unit.asked == ["x", "x", "u", "p", "p"]  # neither discrete nor fixed ones, nor whole numbers


@pytest.mark.parametrize(("of", "named"), [({"x": 1.3}, "y[1]' by 'x[1]"), ({"u": 0.7}, "y[1]' by 'u")])
def test_what_its_values_contradict_is_not_taken(of, named):
    unit = Unit(**of)
    slopes = FMUSlopes(unit)
    name, exact = (("x", 2.0), ("u", 4.0))["u" in of]
    with pytest.warns(UserWarning) as said:
        found = jacobian(unit, slopes=slopes)
    assert len(said) == 1
    for part in ("'unit.fmu'", "fmi3GetDirectionalDerivative", named, f"gives {of[name] * exact:g} ",
                 f"values {exact:g}", "t=0.5 s"):  # fmt: skip
        assert part in str(said[0].message)
    assert found == pytest.approx(slopes_at(A), abs=1e-6)
    unit.asked.clear()
    assert jacobian(unit, slopes=slopes) == pytest.approx(slopes_at(A), abs=1e-6)
    assert not {"x", "u"}.intersection(unit.asked)


def test_functions_are_compared_once():
    """Values are asked for to compare, and then for parameters alone."""
    unit, calls = Unit(), []
    slopes = FMUSlopes(unit)
    value = lambda t, a: (calls.append(0), f(t, a))[1]
    counts = []
    for _ in range(3):
        jacobian(unit, value, slopes=slopes)
        counts.append(len(calls))
        calls.clear()
    assert counts[0] > counts[1] == counts[2] == 1 + 2 + 2 + 1  # it stands there; q by differences
    other = Variable("w", 9, "Float64", "output", "continuous", shape=(3,))
    unit.directional = lambda rows, known, seed: np.full(3, np.nan)
    with pytest.warns(UserWarning, match=r"of 'w\[1\]' by 'x\[1\]'"):
        jacobian(unit, rows=(other,), slopes=slopes)


def test_a_wrong_derivative_by_a_parameter_is_left_out_alone():
    unit = Unit(p=1.2)  # of values of 5000 a derivative may be wrong by 0.05
    slopes = FMUSlopes(unit)
    for _ in range(2):
        assert jacobian(unit, slopes=slopes) == pytest.approx(slopes_at(A), abs=1e-5)
    assert unit.asked.count("p") == 1 and unit.asked.count("u") == 2


@pytest.mark.parametrize("rows", [(), (Y, Variable("z", 8, "Float32", "output", "continuous"))])
def test_of_what_is_unknown_or_in_single_precision_differences_are_taken(rows):
    unit = Unit()
    assert jacobian(unit, rows=rows) == pytest.approx(slopes_at(A), abs=1e-6)
    assert not unit.asked


def test_an_fmu_that_refuses_is_asked_no_more():
    unit = Unit(fails=3)
    with pytest.warns(UserWarning, match=r"'unit.fmu' says .* but refuses to: differences are taken") as said:
        assert jacobian(unit) == pytest.approx(slopes_at(A), abs=1e-6)
    assert len(said) == 1 and [name for name in unit.asked if name != "p"] == ["x"]
    with pytest.raises(FMUCallError, match="it refuses"):
        jacobian(Unit(fails=FATAL))
    unit = Unit(fails=3)
    unit.closed = True
    with pytest.raises(FMUCallError, match="it refuses"):
        jacobian(unit)


@pytest.mark.parametrize(
    ("said", "row"),
    [
        ([1.0, 2.0], -1),
        ([0.0, 2.0], -1),  # between the slopes of both sides of a corner
        ([-0.05, 2.0], -1),
        ([1.25, 2.0], 0),
        ([-0.25, 2.0], 0),
        ([0.5, 2.0 * 1.12], 1),
        ([0.5, 2.0 * 1.1], -1),
        ([0.5, 2.0 * 0.88], 1),
        ([math.nan, 9.0], 0),
        ([0.5, math.inf], 1),
    ],
)
def test_what_counts_as_a_contradiction(said, row):
    """At a corner, max(0, a), and of a line, 2 a + 1; a tenth of the larger one is allowed."""
    value = lambda t, a: np.array([max(0.0, a[1]), 2 * a[1] + 1.0])
    found = _contradiction(value, 0.0, np.zeros(2), 1, np.array(said))
    assert found[0] == row
    if row >= 0:
        assert found[1] == pytest.approx(said[row], nan_ok=True)
        assert found[2] == pytest.approx((0.5, 2.0)[row])


def test_rounding_contradicts_nothing():
    """Of a value of 1e10 a difference says nothing below 1e-10 of it over its step."""
    value = lambda t, a: np.array([1e10 + 0.0 * a[0]])
    largest = 1e-10 * 1e10 / DIFFERENCE
    assert _contradiction(value, 0.0, np.zeros(1), 0, np.array([0.9 * largest]))[0] == -1
    assert _contradiction(value, 0.0, np.zeros(1), 0, np.array([1.2 * largest]))[0] == 0
    moved = np.array([1e3])  # a step relative to where it stands
    assert _contradiction(value, 0.0, moved, 0, np.array([0.9e-3 * largest]))[0] == -1
    assert _contradiction(value, 0.0, moved, 0, np.array([1.2e-3 * largest]))[0] == 0


@pytest.mark.parametrize(
    ("first", "last", "times"),
    [
        (1.0, 3.0, [2e-6, -2e-6]),  # there is room on both sides
        (2.0, 3.0, [0.0, 2e-6, 4e-6]), (1.0, 2.0, [0.0, -2e-6, -4e-6]),
        (2.0, 2.0 + 2e-6, [0.0, 1e-6, 2e-6]), (2.0, 2.0, [0.0]),  # half of the room, and none
    ],
)  # fmt: skip
def test_differences_by_time_are_of_second_order_within_the_times_that_are_known(first, last, times):
    """Of 3 - 5 (t - 2) + 4000 (t - 2)^2 at t = 2 it is -5; one of first order is 0.008 off."""
    asked = []

    def value(t, a):
        asked.append(t - 2.0)
        return np.array([3.0 - 5.0 * (t - 2.0) + 4000.0 * (t - 2.0) ** 2, a[0]])

    found = slope_by_time(value, 2.0, np.array([7.0]), first, last)
    assert found == pytest.approx([-5.0 if len(times) > 1 else 0.0, 0.0], abs=1e-7)
    assert asked == pytest.approx(times, abs=1e-12)
