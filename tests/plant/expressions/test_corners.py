"""Values and derivatives at the corners of roots, angles, extremes and powers, as numbers."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest

from plant.expressions.corners import (
    arc_cosine,
    arc_sine,
    direction_angle,
    larger,
    norm,
    positive,
    power,
    root,
    smaller,
)

NAN, INF, HALF = math.nan, math.inf, math.pi / 2


def found(function, *numbers):
    """Value, and its derivatives with respect to each argument, at these numbers."""
    x = [ca.SX.sym(f"x{k}") for k in range(len(numbers))]
    value = function(*x)
    f = ca.Function("f", x, [value, ca.gradient(value, ca.vertcat(*x))])
    result, slopes = f(*numbers)
    return [float(result), *np.array(slopes).ravel().tolist()]


@pytest.mark.parametrize(
    ("function", "numbers", "expected"),
    [
        (root, (4.0,), (2.0, 0.25)),
        (root, (0.0,), (0.0, 0.0)),
        (root, (-1.0,), (NAN, NAN)),
        (lambda x, y: norm(ca.vertcat(x, y)), (3.0, -4.0), (5.0, 0.6, -0.8)),
        (lambda x, y: norm(ca.vertcat(x, y)), (0.0, 0.0), (0.0, 0.0, 0.0)),
        (direction_angle, (1.0, 0.0), (HALF, 0.0, -1.0)),
        (direction_angle, (0.0, -2.0), (math.pi, -0.5, 0.0)),
        (direction_angle, (0.0, 0.0), (0.0, 0.0, 0.0)),
        (arc_sine, (0.6,), (math.asin(0.6), 1.25)),
        (arc_sine, (1.0,), (HALF, 0.0)),
        (arc_sine, (-1.0,), (-HALF, 0.0)),
        (arc_sine, (1.5,), (NAN, NAN)),
        (arc_cosine, (0.6,), (math.acos(0.6), -1.25)),
        (arc_cosine, (1.0,), (0.0, 0.0)),
        (arc_cosine, (-1.0,), (math.pi, 0.0)),
        (larger, (2.0, 3.0), (3.0, 0.0, 1.0)),
        (larger, (3.0, 2.0), (3.0, 1.0, 0.0)),
        (smaller, (2.0, 3.0), (2.0, 1.0, 0.0)),
        (smaller, (3.0, 2.0), (2.0, 0.0, 1.0)),
        (lambda x: larger(x, 1.0), (0.0,), (1.0, 0.0)),
        (lambda x: larger(1.0, x), (0.0,), (1.0, 0.0)),
        (lambda x: smaller(x, 1.0), (0.0,), (0.0, 1.0)),
        (lambda x: smaller(1.0, x), (0.0,), (0.0, 1.0)),
        (positive, (1e-300,), (1.0, 0.0)),
        (positive, (0.0,), (0.0, 0.0)),
        (positive, (-1.0,), (0.0, 0.0)),
        (power, (2.0, 3.0), (8.0, 12.0, 8 * math.log(2))),
        (power, (-2.0, 3.0), (-8.0, 12.0, 0.0)),
        (power, (-2.0, -2.0), (0.25, 0.25, 0.0)),
        (power, (0.0, 0.5), (0.0, 0.0, 0.0)),
        (power, (0.0, 0.0), (1.0, 0.0, 0.0)),
        (lambda x: power(x, 1.5), (4.0,), (8.0, 3.0)),
        (lambda x: power(x, 1.5), (0.0,), (0.0, 0.0)),
        (lambda x: power(x, 1.0), (0.0,), (0.0, 1.0)),
        (lambda x: power(x, -1.0), (2.0,), (0.5, -0.25)),
        (lambda x: power(2.0, x), (-1.0,), (0.5, 0.5 * math.log(2))),
    ],
)
def test_value_and_derivatives(function, numbers, expected):
    np.testing.assert_allclose(found(function, *numbers), expected, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("function", [larger, smaller])
@pytest.mark.parametrize("numbers", [(NAN, 1.0), (1.0, NAN)])
def test_extremes_do_not_hide_what_is_no_number(function, numbers):
    assert math.isnan(found(function, *numbers)[0])


def test_powers_that_are_no_number_or_infinite():
    assert found(power, 0.0, -1.0)[0] == INF
    for numbers in ((-8.0, 1 / 3), (0.0, NAN), (NAN, 2.0)):
        assert math.isnan(found(power, *numbers)[0]), numbers
    assert math.isnan(found(positive, NAN)[0])
