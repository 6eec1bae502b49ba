"""Curves and surfaces: values and derivatives against SciPy, the ends, generated C, wrong data."""

import ctypes
import shutil
import subprocess

import casadi as ca
import numpy as np
import pytest
from scipy.interpolate import Akima1DInterpolator, CubicSpline, make_interp_spline

from blocks.errors import ModelError
from plant.expressions.expression import ExpressionError, parse
from plant.expressions.splines import KINDS, SplineData, choice, curve
from tests.helpers.checked import independent
from tests.helpers.scope import Symbols, at, number

RNG = np.random.default_rng(11)
X = np.cumsum(RNG.uniform(0.1, 1.5, 12)) - 3
Y = np.sin(X) + 0.2 * X**2
INSIDE = np.linspace(X[0] + 0.01, X[-1] - 0.01, 41)


REFERENCE = {
    "LINSPL": lambda x, y: make_interp_spline(x, y, k=1),
    "CUBSPL": lambda x, y: CubicSpline(x, y, bc_type="natural"),
    "AKISPL": Akima1DInterpolator,
    "FITSPL": lambda x, y: make_interp_spline(x, y, k=3),
    "QUISPL": lambda x, y: make_interp_spline(
        x, y, k=5, bc_type=([(3, 0.0), (4, 0.0)], [(3, 0.0), (4, 0.0)])
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_values_and_derivatives(checked, kind):
    data = SplineData(X, Y)
    expected = REFERENCE[kind](X, Y)
    scope = Symbols(splines={1: data})
    for order in (0, 1, 2):
        wanted = [expected(INSIDE, order + k) for k in range(3)]
        got = np.array([at(f"{kind}(VARVAL(1), 0, 1, {order})", x, scope=scope) for x in INSIDE]).T
        what = f"{('value', 'first derivative', 'second derivative')[order]}, and two derivatives of it"
        checked(got, wanted, f"spline {kind}", what, independent("scipy.interpolate"), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose([number(f"{kind}(VARVAL(1),0,1)", x, scope=scope) for x in X], Y, rtol=1e-12)


def test_quintic_is_the_smoothest_interpolant():
    """The integral of y'''^2 grows when anything that vanishes at the points is added."""
    x = np.linspace(0, 3, 7)
    y = np.sin(2 * x)
    f = curve(SplineData(x, y), "QUISPL", 2)
    fine = np.linspace(0, 3, 30001)
    middle = (fine[1:] + fine[:-1]) / 2
    third = np.diff(np.array(f(fine.reshape(1, -1))).ravel()) / np.diff(fine)
    bump = np.polynomial.Polynomial.fromroots(x).deriv(3)(middle)
    smooth = np.trapezoid(third**2, middle)
    for size in (1e-3, -1e-3):
        assert np.trapezoid((third + size * bump) ** 2, middle) > smooth


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unit", [1e-9, 1e5, 1e12])
def test_the_unit_of_x_changes_nothing(kind, unit):
    """The natural quintic through 50 points in Pa, 1e5 apart, was off by twenty times the largest value."""
    draw = np.random.default_rng(3)
    x, y = np.cumsum(draw.uniform(0.5, 2.0, 50)), draw.normal(size=50)
    between = draw.uniform(x[0], x[-1], 100)
    for order in range(2):
        known = REFERENCE[kind](x, y)(between, order)
        found = curve(SplineData(unit * x, y), kind, order).map(100)(unit * between)
        assert np.allclose(np.ravel(found) * unit**order, known, rtol=0, atol=1e-9 * np.abs(known).max())


@pytest.mark.parametrize("kind", KINDS)
def test_outside_the_points(kind):
    expected = REFERENCE[kind](X, Y)
    for end, beyond in ((X[0], X[0] - 0.7), (X[-1], X[-1] + 0.7)):
        # the polynomial of the end piece; Akima's SciPy object needs to be told
        continued = (
            expected(beyond) if kind != "AKISPL" else Akima1DInterpolator(X, Y)(beyond, extrapolate=True)
        )
        scope = Symbols(splines={1: SplineData(X, Y)})
        assert number(f"{kind}(VARVAL(1), 0, 1)", beyond, scope=scope) == pytest.approx(float(continued))
        slope = expected(end, 1)
        scope = Symbols(splines={1: SplineData(X, Y, linear_extrap=True)})
        value, first, second = at(f"{kind}(VARVAL(1), 0, 1)", beyond, scope=scope)
        assert value == pytest.approx(expected(end) + slope * (beyond - end))
        assert first == pytest.approx(slope)
        assert second == 0
        assert number(f"{kind}(VARVAL(1), 0, 1, 1)", beyond, scope=scope) == pytest.approx(slope)
        assert number(f"{kind}(VARVAL(1), 0, 1, 2)", beyond, scope=scope) == 0
        inside = (X[0] + X[1]) / 2
        assert number(f"{kind}(VARVAL(1), 0, 1)", inside, scope=scope) == pytest.approx(
            float(expected(inside))
        )


def test_cost_does_not_grow_with_the_points():
    def instructions(n: int) -> int:
        return curve(SplineData(np.arange(n), np.sin(np.arange(n))), "CUBSPL").n_instructions()

    assert instructions(2000) == instructions(8)


def test_one_function_per_data_kind_and_order():
    first = curve(SplineData(X, Y, where="a"), "CUBSPL", 1)
    assert curve(SplineData(X, Y, where="b"), "CUBSPL", 1) is first
    names = {curve(SplineData(X, Y + k), kind, n).name() for k in (0, 1) for kind in KINDS for n in (0, 1)}
    assert len(names) == 4 * len(KINDS)


@pytest.mark.parametrize("kind", ["CUBSPL", "LINSPL"])
def test_surface(kind):
    z = np.array([0.0, 1.0, 3.0])
    y = np.stack([Y, 2 * Y + 1, -Y], axis=1)
    scope = Symbols(splines={1: SplineData(X, y, z=z)})
    edge = REFERENCE[kind](X, Y)
    x = 0.37
    for at_z, expected in (
        (0.0, edge(x)),
        (1.0, 2 * edge(x) + 1),
        (2.0, (2 * edge(x) + 1 - edge(x)) / 2),
        (3.0, -edge(x)),
        (-1.0, 2 * edge(x) - (2 * edge(x) + 1)),  # goes on straight
    ):
        assert number(f"{kind}({x}, VARVAL(1), 1)", at_z, scope=scope) == pytest.approx(float(expected))
    value = at(f"{kind}(VARVAL(1), 1, 1)", x, scope=scope)
    np.testing.assert_allclose(
        value, [2 * edge(x) + 1, 2 * edge(x, 1), 2 * edge(x, 2)], rtol=1e-9, atol=1e-12
    )
    expression = parse(f"{kind}(0, 2*TIME, 1)")
    assert expression.break_times(spline=scope.spline) == (0.5,)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_generated_c(tmp_path, monkeypatch):
    scope = Symbols(splines={1: SplineData(X, Y), 2: SplineData(X, np.stack([Y, -Y], 1), z=[0.0, 1.0])})
    x = scope.variable(1)
    value = parse("QUISPL(VARVAL(1), 0, 1) + 2*CUBSPL(VARVAL(1), VARVAL(1), 2)").evaluate(scope)
    f = ca.Function("f", [x], [value, ca.jacobian(value, x), ca.hessian(value, x)[0]])
    monkeypatch.chdir(tmp_path)
    f.generate("f.c")
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "f.c", "-o", "f.so", "-lm"], check=True)
    compiled = ca.external("f", str(tmp_path / "f.so"))
    for point in (-9.0, -1.234, 0.5, 9.0):
        np.testing.assert_allclose(np.array(compiled(point)).ravel(), np.array(f(point)).ravel(), rtol=1e-13)
    assert ctypes.CDLL(str(tmp_path / "f.so")).f_n_out() == 3


def test_choice():
    f = choice((3.0, 1.0, 2.0))
    assert [float(f(k)) for k in range(3)] == [3, 1, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ([0, 1, 1, 2], [0, 1, 2, 3]),
            r"x must increase strictly, but point 3 is 1 after 1 in m.xml:4 spline 7",
        ),
        (([0, 1, 2], [0, 1]), r"y has shape \(2,\), expected \(3,\)"),
        (([0], [1]), r"x needs at least 2 numbers"),
        (([0, 1, np.nan], [1, 2, 3]), r"x has a number that is not finite"),
        (([0, 1], [1, np.inf]), r"y has a number that is not finite"),
        (([0, 1], [[1, 2], [3, 4]], False, [1, 0]), r"z must increase strictly"),
        (([0, 1], [1, 2], False, [0, 1]), r"y has shape \(2,\), expected \(2, 2\)"),
    ],
)
def test_wrong_data(arguments, message):
    with pytest.raises(ModelError, match=message):
        SplineData(*arguments, where="m.xml:4 spline 7")


def test_data_cannot_be_changed():
    numbers = np.array([0.0, 1.0])
    data = SplineData(numbers, numbers)
    numbers[0] = 5
    assert data.x[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        data.y[0] = 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CUBSPL(TIME, 0, 1)", r"CUBSPL needs at least 4 points, m.xml:4 spline 1 has 3"),
        ("AKISPL(TIME, 0, 3)", r"AKISPL needs at least 5 points"),
        ("QUISPL(TIME, 0, 3)", r"QUISPL needs at least 6 points"),
        ("LINSPL(TIME, 1, 3)", r"spline 3 is a curve, so the second argument must be 0"),
        ("LINSPL(TIME, 1, 2, 1)", r"surface has no derivative"),
    ],
)
def test_wrong_use(text, message):
    scope = Symbols(
        splines={
            1: SplineData([0, 1, 2], [0, 1, 2], where="m.xml:4 spline 1"),
            2: SplineData([0, 1], [[0, 1], [2, 3]], z=[0, 1]),
            3: SplineData([0, 1, 2, 3], [0, 1, 2, 3]),
        }
    )
    with pytest.raises(ExpressionError, match=message) as info:
        parse(f"1 + {text}", "here").evaluate(scope)
    assert str(info.value).endswith("        ^")
