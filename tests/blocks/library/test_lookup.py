"""Lookup tables against NumPy's and SciPy's interpolation; corners, ends, long tables, wrong fields."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, RegularGridInterpolator

from blocks import BlockError, LookupTable1D, LookupTable2D
from tests.helpers.checked import independent
from tests.helpers.solo import Solo

X = np.linspace(-3, 3, 61)


def values(block, u):
    return Solo(block, {"u": len(u)}).outputs([np.asarray(u, float)])["y"]


@pytest.mark.parametrize("n", [9, 50])  # a tree of comparisons, and a call
@pytest.mark.parametrize("outside", ["hold", "extrapolate"])
@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
def test_one_dimension(checked, n, outside, interpolation):
    points = np.sort(np.append(np.random.default_rng(3).uniform(-2, 2, n - 2), [-2, 2]))
    table = np.sin(points)
    block = LookupTable1D(points, table, interpolation, outside)
    if interpolation == "cubic":
        known = CubicSpline(points, table)(X)
    else:
        known = np.interp(X, points, table)
        for side, end in ((X < -2, 0), (X > 2, n - 1)):
            one, two = (0, 1) if end == 0 else (n - 2, n - 1)
            slope = (table[two] - table[one]) / (points[two] - points[one])
            known[side] = table[end] + slope * (X[side] - points[end])
    if outside == "hold":
        known = np.where(X < -2, table[0], np.where(X > 2, table[-1], known))
    oracle = independent("scipy CubicSpline" if interpolation == "cubic" else "numpy.interp")
    checked(values(block, X), known, "LookupTable1D", interpolation, oracle, rtol=1e-9, atol=1e-11)
    assert values(block, points).tolist() == table.tolist()  # exact at the points


def test_several_columns_and_nan():
    block = LookupTable1D([0, 1, 3], [[0, 10], [1, 20], [2, -20]])
    assert values(block, [2.0]).tolist() == [1.5, 0.0]
    assert np.isnan(values(block, [np.nan])).all()


@pytest.mark.parametrize("outside", ["hold", "extrapolate"])
def test_two_dimensions(outside):
    rows, columns = np.array([-1.0, 0.0, 2.0, 2.5]), np.array([0.0, 1.0, 4.0])
    table = np.random.default_rng(1).normal(size=(4, 3))
    solo = Solo(LookupTable2D(rows, columns, table, outside), {"u1": 1, "u2": 1})
    known = RegularGridInterpolator((rows, columns), table, bounds_error=False, fill_value=None)
    for u in np.random.default_rng(2).uniform(-3, 6, (40, 2)):
        at = np.clip(u, [-1, 0], [2.5, 4]) if outside == "hold" else u
        assert solo.outputs([u[:1], u[1:]])["y"][0] == pytest.approx(known(at)[0], rel=1e-12)
    for i, r in enumerate(rows):
        for j, c in enumerate(columns):
            assert solo.outputs([np.array([r]), np.array([c])])["y"][0] == pytest.approx(
                table[i, j], rel=1e-15
            )
    assert np.isnan(solo.outputs([np.array([np.nan]), np.array([1.0])])["y"][0])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: LookupTable1D([0, 2, 1], [1, 2, 3]), "points goes from 2 to 1, expected increasing"),
        (lambda: LookupTable1D([0, 1], [1, 2, 3]), "values has shape (3,), expected one row per point, 2"),
        (lambda: LookupTable1D([0], [1]), "points has 1 points, expected at least 2"),
        (lambda: LookupTable1D([0, 1, 2], [1, 2, 3], "cubic"), "points has 3 points, expected at least 4"),
        (lambda: LookupTable1D([0, 1], [1, 2], "lineal"), "Did you mean 'linear'"),
        (
            lambda: LookupTable2D([0, 1], [0, 1], [[1, 2, 3], [4, 5, 6]]),
            "values has shape (2, 3), expected (2, 2)",
        ),
        (lambda: LookupTable2D([0, 1], [0, 1], [[1, 2], [3, 4]], "clip"), "outside is 'clip'"),
    ],
)
def test_wrong_fields(make, text):
    with pytest.raises(BlockError) as caught:
        make()
    assert text in str(caught.value)


def test_a_long_spline_costs_no_more_than_its_points(checked):
    """A dense matrix of 20 000 points would take 3 GB."""
    points = np.cumsum(np.random.default_rng(5).uniform(0.5, 1.5, 20_000))
    block = LookupTable1D(points, np.sin(points), "cubic")
    x = np.array([points[0] + 0.1, 7000.3, 12345.6, points[-1] - 0.1])
    known, oracle = CubicSpline(points, np.sin(points))(x), independent("scipy CubicSpline")
    checked(values(block, x), known, "LookupTable1D of 20 000 points", "cubic", oracle, rtol=1e-9, atol=1e-11)
