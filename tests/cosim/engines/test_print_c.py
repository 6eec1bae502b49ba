"""Printed C computes what CasADi's virtual machine computes, bit for bit."""

import math

import casadi as ca
import numpy as np
import pytest

from cosim.engines.codegen import operations_c, planner, print_c
from cosim.engines.native import compiler
from tests.helpers.printed import printed, same, symbols

try:
    compiler.find()
except compiler.CompilerError as missing:  # pragma: no cover
    pytest.skip(f"no C compiler: {missing}", allow_module_level=True)

ONE = {
    "neg": lambda x: -x, "sq": lambda x: x * x, "twice": lambda x: x + x, "inv": lambda x: 1 / x,
    "not": ca.logic_not, "sign": ca.sign, "erfinv": ca.erfinv, "exp": ca.exp, "log": ca.log, "sqrt": ca.sqrt,
    "sin": ca.sin, "cos": ca.cos, "tan": ca.tan, "asin": ca.asin, "acos": ca.acos, "atan": ca.atan,
    "floor": ca.floor, "ceil": ca.ceil, "fabs": ca.fabs, "erf": ca.erf, "sinh": ca.sinh, "cosh": ca.cosh,
    "tanh": ca.tanh, "asinh": ca.asinh, "acosh": ca.acosh, "atanh": ca.atanh, "log1p": ca.log1p,
    "expm1": ca.expm1, "pow2": lambda x: x**2.0, "pow.5": lambda x: x**0.5, "pow3": lambda x: x**3.0,
    "pow-1": lambda x: x**-1.0, "plus": lambda x: x + math.pi, "negative": lambda x: -0.1 * x - 1e-300,
}  # fmt: skip
TWO = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "lt": lambda x, y: x < y, "le": lambda x, y: x <= y, "eq": lambda x, y: x == y, "ne": lambda x, y: x != y,
    "and": ca.logic_and, "or": ca.logic_or, "where": lambda x, y: ca.if_else(x > 0, y, x), "pow": ca.power,
    "fmin": ca.fmin, "fmax": ca.fmax, "fmod": ca.fmod, "remainder": ca.remainder, "copysign": ca.copysign,
    "atan2": ca.atan2, "hypot": ca.hypot,
}  # fmt: skip
AWKWARD = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.7,
    0.71,
    2.0,
    1e-320,
    1e300,
    math.inf,
    -math.inf,
    math.nan,
    710.0,
    -3.3,
]


def test_every_operation_gives_the_same_bits(tmp_path):
    t, x, h, w, p = symbols(2, 1, 0, 2)
    results = [f(x[0]) for f in ONE.values()] + [f(x[0], x[1]) for f in TWO.values()]
    results += [f(p[0]) * x[1] for f in ONE.values()] + [f(p[0], h) for f in TWO.values()]
    f = ca.Function("f", [t, x, h, w, p], [ca.densify(ca.vertcat(*results))])
    call, _ = printed(f, tmp_path)
    rng = np.random.default_rng(0)
    points = [(a, b) for a in AWKWARD for b in AWKWARD] + [tuple(rng.normal(size=2) * 3) for _ in range(300)]
    names = [*ONE, *TWO] * 2
    for a, b in points:
        expected = np.array(f(0.3, [a, b], [b], [], [a, b])).ravel()
        found = call(0.3, [a, b], [b], [], [a, b])
        for name, e, value in zip(names, expected, found, strict=True):
            assert same(np.array([e]), np.array([value])), (name, a, b, e, value)


def test_long_functions_are_cut_and_values_cross(tmp_path, monkeypatch):
    monkeypatch.setattr(planner, "PIECE", 7)
    t, x, h, w, p = symbols(4, 2, 1, 3)
    values = [*ca.vertsplit(ca.vertcat(t, x, h, w, p))]
    rng = np.random.default_rng(1)
    for k in range(300):
        a, b = (values[int(rng.integers(max(0, len(values) - 60), len(values)))] for _ in range(2))
        values.append([a + b, a * 0.5 - b, ca.sin(a) * b, ca.fmin(a, b)][k % 4])
    f = ca.Function("f", [t, x, h, w, p], [ca.vertcat(*values[-25:])])
    call, pieces = printed(f, tmp_path)
    assert len(pieces) > 10
    arguments = [rng.normal(size=n) for n in (4, 2, 1, 3)]
    assert same(np.array(f(0.1, *arguments)).ravel(), call(0.1, *arguments))


def test_functions_that_are_called_keep_their_own_code(tmp_path):
    """Two functions of one name, one with several inputs and outputs, and a spline."""
    m, n = ca.MX.sym("m", 2), ca.MX.sym("n", 2, 2)
    first = ca.Function("g", [m, n], [ca.mtimes(n, m), ca.sum1(m)])
    second = ca.Function("g", [m], [ca.solve(ca.MX(ca.DM([[2, 1], [1, 3]])), m)])
    knots = np.linspace(0, 1, 7)
    spline = ca.interpolant("s", "bspline", [knots.tolist()], np.sin(knots).tolist())
    t, x, h, w, p = symbols(2, 4, 0, 1)
    a, total = first.call([x, ca.reshape(h, 2, 2)], False, True)
    b = second.call([a * p], False, True)[0]
    s = spline.call([t], False, True)[0]
    f = ca.Function("f", [t, x, h, w, p], [ca.vertcat(a, total, b, s)])
    call, _ = printed(f, tmp_path)
    rng = np.random.default_rng(2)
    for _ in range(5):
        arguments = [rng.normal(size=n) for n in (2, 4, 0, 1)]
        assert same(np.array(f(0.37, *arguments)).ravel(), call(0.37, *arguments))


def test_long_lists_of_arguments_and_results_are_copied_by_tables(tmp_path):
    """Arguments from every array and from steps; results that are stored twice, used, or not at all."""
    n = print_c.TABLED // 2 + 5
    m = ca.MX.sym("m", 2 * n)
    turned = ca.Function("g", [m], [ca.sin(m)[::-1]])
    t, x, h, w, p = symbols(n, 3, 1, n)
    given = ca.vertcat(x[:-4], h, t, x[0] * x[1], w, ca.sqrt(p[0] ** 2), 0.25, p[1:], x[-2:])
    found = turned.call([given[: 2 * n]], False, True)[0]
    results = ca.vertcat(found[: 2 * n - 9], found[3] + found[5], found[7], x[2])
    f = ca.Function("f", [t, x, h, w, p], [ca.densify(results)])
    call, _ = printed(f, tmp_path)
    rng = np.random.default_rng(3)
    for _ in range(2):
        arguments = [rng.normal(size=n) for n in (n, 3, 1, n)]
        assert same(np.array(f(0.37, *arguments)).ravel(), call(0.37, *arguments))


@pytest.mark.parametrize(
    "value", [0.0, -0.0, 1.0, 1e22, -5e-324, 0.1, math.inf, -math.inf, math.nan, 123456789.0]
)
def test_numbers_read_back_exactly(value):
    text = operations_c.number(value).strip("()")
    known = {"NAN": math.nan, "INFINITY": math.inf, "-INFINITY": -math.inf}
    back = known[text] if text in known else float(text)
    assert same(np.array([back]), np.array([value]))
