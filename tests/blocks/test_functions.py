"""Functions give the same on symbols and on numbers, and NumPy's values where NumPy has them."""

import casadi as ca
import numpy as np
import pytest

from blocks import functions
from blocks.contract.symbols import as_array, column, tracing

POINTS = np.array(
    [-np.inf, -4.0, -2.5, -1.5, -0.5, -0.0, 0.0, 0.5, 0.49999999999999994, 1.5, 2.0, 3.7, np.nan]
)


def on_symbols(function, x, derivative=False):
    with tracing():
        symbol = ca.SX.sym("x", len(x))
        expression = column(function(as_array(symbol)))
        result = ca.jacobian(expression, symbol) if derivative else expression
        return np.array(ca.Function("f", [symbol], [result])(x)).squeeze()


def test_symbols_tell_casadi_that_they_are_no_numbers_while_equations_are_traced():
    x = ca.SX.sym("x", 2)
    with tracing():
        assert x.__DM__() is None
        assert ca.is_equal(x + ca.SX([1.0, 2.0]), x + np.array([1.0, 2.0]), 1)
        assert ca.is_equal(ca.mtimes(np.eye(2), x), ca.SX.eye(2) @ x, 1)
        assert np.array(ca.DM(ca.SX([1.0, 2.0]))).ravel().tolist() == [1.0, 2.0]
    assert not hasattr(x, "__DM__")


@pytest.mark.parametrize(
    ("ours", "numpys"),
    [
        (lambda x: functions.clip(x, -1.0, 2.0), lambda x: np.clip(x, -1.0, 2.0)),
        (lambda x: functions.clip(x, high=2.0), lambda x: np.clip(x, None, 2.0)),
        (functions.round_half_even, np.round),
        (lambda x: functions.interp(x, [-1, 0, 2], [5, 6, 2]), lambda x: np.interp(x, [-1, 0, 2], [5, 6, 2])),
        (functions.signed_sqrt, lambda x: np.sign(x) * np.sqrt(np.abs(x))),
    ],
    ids=["clip", "clip_high", "round_half_even", "interp", "signed_sqrt"],
)
def test_same_as_numpy_on_symbols_and_numbers(ours, numpys):
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(ours(POINTS), numpys(POINTS))
        np.testing.assert_array_equal(on_symbols(ours, POINTS), numpys(POINTS))


def test_polyval():
    p, x = [1.0, -2.0, 3.0], POINTS[1:]  # at -inf np.polyval says nan where the value is inf
    np.testing.assert_array_equal(functions.polyval(p, x), np.polyval(p, x))
    np.testing.assert_array_equal(on_symbols(lambda x: functions.polyval(p, x), x), np.polyval(p, x))


def test_norm_and_its_derivative_at_zero():
    assert functions.norm(np.array([3.0, 4.0])) == 5.0
    assert on_symbols(functions.norm, [3.0, 4.0]) == 5.0
    assert on_symbols(functions.norm, [0.0, 0.0]) == 0.0
    np.testing.assert_array_equal(on_symbols(functions.norm, [0.0, 0.0], derivative=True), [0, 0])
    np.testing.assert_allclose(on_symbols(functions.norm, [3.0, 4.0], derivative=True), [0.6, 0.8])


def test_derivatives_at_corners_are_finite():
    assert on_symbols(functions.signed_sqrt, [0.0], derivative=True) == 0
    assert on_symbols(lambda x: functions.clip(x, -1.0, 1.0), [1.0], derivative=True) == 1
    assert on_symbols(lambda x: functions.interp(x, [0, 1], [0, 3]), [1.0], derivative=True) == 0


@pytest.mark.parametrize("rows", [1, 2, 7, 32, 33, 100])
def test_pick_reads_one_row(rows):
    table = np.random.default_rng(rows).normal(size=(rows, 3))
    for row in range(rows):
        picked = on_symbols(lambda index: functions.pick(table, index[0]), [row])
        np.testing.assert_array_equal(picked, table[row])
        np.testing.assert_array_equal(functions.pick(table, row), table[row])


@pytest.mark.parametrize("rows", [4, 100])
def test_what_is_picked_visibly_depends_on_the_index(rows):
    with tracing():
        index = ca.SX.sym("index")
        picked = column(functions.pick(np.ones((rows, 2)), as_array(index)[0]))
    assert ca.jacobian_sparsity(picked, index).nnz() == 2


def test_interp_refuses_knots_out_of_order():
    with pytest.raises(ValueError, match="knots must increase"):
        functions.interp(np.zeros(1), [0, 2, 1], [0, 0, 0])
