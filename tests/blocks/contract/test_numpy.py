"""Equations in NumPy are NumPy: every function of its namespace equals its values or is refused by name."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from blocks import Function
from blocks.contract.trace import trace
from blocks.errors import BlockError
from tests.helpers.numpy_on_signals import A, B, U, V, W, check, on_symbols, outcome, same

# --- what engineers write ---------------------------------------------------------------------------------
MASK = np.array([True, False, True, True, False, True])


def filled(u: Any) -> Any:
    z = np.zeros_like(u)
    view = z[1:4]
    view[0], z[-1], z[2:4] = u[0], 7.0, u[:2]
    z[MASK] += 1.0
    return z


def filled_with_a_row(u: Any) -> Any:
    z, y = u.copy(), u.copy()
    z[1:4], y[:1] = u[None, :3], u[None, None, 5:]
    return z, y


def put(u: Any) -> Any:
    z = u.copy()
    np.put(z, [0, 3], [u[1], 5.0])
    np.putmask(z, MASK, u[::-1])
    np.copyto(z, 9.0, where=~MASK)
    m = np.outer(u, u)
    np.fill_diagonal(m, u[2])
    return z, m


def swapped(a: Any) -> Any:
    b = a.T
    c = b.copy()
    c[0] *= 2.0
    c[1, 2] = a[0, 0]
    return b, c, c.flat[3], c[:, ::2]


def views_changed(a: Any) -> Any:
    """What NumPy gives a view of is changed with it."""
    z, y, x = a.copy(), a.copy(), a.copy()
    np.atleast_2d(z)[0] = 7.0
    np.asarray(y, dtype=float)[1] = 7.0
    x.astype(float, copy=False)[2] = 7.0
    x.astype(float)[1] = 9.0
    return z, y, x


def place_in(a: Any) -> Any:
    flat = a.flat
    first = flat.coords
    next(flat)
    return first, flat.index, list(flat)


def places_met(u: Any) -> Any:
    """Where ``flat`` stands before each element, behind the last one, and of arrays with nothing in them."""
    found = []
    for a in (u, u.reshape(2, 3), u.reshape(1, 3, 2), u[:0], u[:0].reshape(3, 0), u[:0].reshape(0, 2)):
        flat = a.flat
        found += [flat.coords, *(flat.coords for _ in flat)]
    return found


def flat_changed(a: Any) -> Any:
    z, y = a.copy(), a.copy()
    z.flat[1] = 7.0
    z.flat[[3, 5]] = a[0, 0], 9.0
    y.flat = [1.0, a[1, 1]]
    for (i, k), value in np.ndenumerate(a):
        y[i, k] += value
    return z, y, len(z.flat), a.flat[2:4]


WRITTEN: dict[str, tuple[Callable[..., Any], Any]] = {
    "array": (lambda u, v: np.array([u[0], v[1], 2.0]) > 1, (U, V)),
    "array with a type": (lambda u: [np.array([u[0], 1.0], float), np.asarray([u[1], 2.0], float)], U),
    "array of arrays": (lambda u, v: np.array([u, v]).T, (U, V)),
    "nested array": (lambda u: np.array([[u[0], 1.0], [0.0, u[1]]]) @ u[:2], U),
    "array as float": (lambda u: np.array([u[0], u[1]], dtype=float, ndmin=2), U),
    "array as int": (lambda u: np.array(u).astype(int) + u.astype(bool), U),
    "asarray": (lambda u: np.asarray(u)[::-1] + np.asanyarray([u[0]]), U),
    "full": (lambda u: np.full((2, 3), u[1]), U),
    "r_": (lambda u: np.r_[u, 1.0, u[:2]] < 1, U),
    "c_": (lambda u, v: np.c_[u, v], (U, V)),
    "stack": (lambda u, v: np.stack([u, v], axis=1), (U, V)),
    "rows and columns stacked": (
        lambda u, v: [f([u, v]) for f in (np.vstack, np.hstack, np.dstack, np.column_stack, np.concatenate)],
        (U, V),
    ),
    "tile": (lambda u: np.tile(u[:2], 2), U),
    "tile of numbers": (lambda u: np.tile([1.0, 2.0], 3) * u, U),
    "tile 2-D": (lambda a: np.tile(a, (2, 1)), A),
    "pad": (lambda u: np.pad(u, 1), U),
    "pad values": (lambda u: np.pad(u, (2, 1), constant_values=(u[0], 3.0)), U),
    "pad reflect": (lambda a: np.pad(a, ((1, 1), (0, 2)), mode="reflect"), A),
    "mask": (lambda u: u[MASK], U),
    "mask 2-D": (lambda a: a[A > 0], A),
    "list": (lambda u: u[[2, 0, -1]], U),
    "newaxis": (lambda u: u[:, None] + u[None, :], U),
    "ellipsis": (lambda a: a[..., 1] - a[-1, ...], A),
    "step": (lambda u: u[::-2], U),
    "grid": (lambda a: a[np.ix_([0, 2], [1, 2])], A),
    "column": (lambda a: a[:, [0, 2]] + a[1:2, 0], A),
    "filled": (filled, U),
    "filled with a row": (filled_with_a_row, U),
    "put": (put, U),
    "views": (swapped, A),
    "loop": (lambda u: [v * k for k, v in enumerate(u)], U),
    "unpack": (lambda a: [x + y * z for x, y, z in a], A),
    "round": (lambda u: [np.round(u), np.rint(u), u.round(), np.round(u * 1.37, 2), np.round(40 * u, -1)], U),
    "round builtin": (lambda u: [round(u[0]), round(u[4]), abs(u[0]), u[0] // 0.2, u[0] % -0.2], U),
    "floor division": (lambda u, v: [u // v, u % v, *divmod(u, v), np.fmod(u, v), 1.0 // (0.2 * v)], (U, V)),
    "tenths": (lambda v: [v // 0.1, v % 0.1, np.floor_divide(v, -0.1)], np.array([1.0, 0.3, -0.7, 0.0])),
    "sums": (lambda a: [a.sum(), a.sum(0), a.mean(axis=1), a.max(1), a.min(), a.prod(0), a.std(ddof=1)], A),
    "logical": (lambda u, v: (u > 0) & (v > 0) | ~(u < -1) ^ (v == 2.5), (U, V)),
    "bools add": (lambda u, v: [(u > 0) + (v > 0), (u > 0) * (v > 0), np.sum(u > 0), (u > 0) * 2.0], (U, V)),
    "any all": (lambda u: [(u > 0).any(), np.all(u > -3), u.any(), np.any(u[2:3])], U),
    "heaviside": (lambda u: np.heaviside(u, 0.5), U),
    "sign": (lambda u: [np.sign(u), np.copysign(2.0, u), np.signbit(u)], U),
    "select": (lambda u: np.select([u > 1, u > 0], [u, 2 * u], default=-1.0), U),
    "where": (lambda u: np.where(u > 0, np.sqrt(np.abs(u)), [1, 2, 3, 4, 5, 6]), U),
    "clip": (lambda u: [np.clip(u, -1, 1), u.clip(max=0.2), np.clip(u, u[1], None)], U),
    "interp": (lambda u: np.interp(u, [-1, 0, 2], [5, 6, 2]), U),
    "interp sides": (lambda u: np.interp(u, [-1, 0, 1], [5, 6, 2], left=0, right=u[0]), U),
    "interp period": (lambda u: np.interp(u, [0.2, 1.5, 0.9], [5, 6, 2], period=2.0), U),
    "interp of values": (lambda u: np.interp(0.3, [-1.0, 0.0, 1.0], u[:3]), U),
    "polyval": (
        lambda u, v: [np.polyval([1.0, -2.0, 3.0], u), np.polyval(v, u), np.poly1d([1, 2])(u)],
        (U, V),
    ),
    "polynomial": (lambda u: np.polynomial.polynomial.polyval(u, [1.0, -2.0, 3.0]), U),
    "norm": (
        lambda u, a: [
            np.linalg.norm(u),
            np.linalg.norm(a),
            np.linalg.norm(u, 1),
            np.linalg.norm(a, axis=0),
            np.linalg.norm(u, np.inf),
            np.linalg.norm(a, 1),
            np.linalg.norm(u, 3),
            np.linalg.norm(a, keepdims=True),
            np.linalg.norm(a, "fro", keepdims=True),
            np.linalg.norm(a, axis=1, keepdims=True),
        ],
        (U, A),
    ),
    "vectors times stacks of matrices": (
        lambda u, a: [
            np.matmul(u[:3], np.stack([a, 2.0 * a.T])),
            np.matmul(np.stack([a, 2.0 * a.T]), u[:3]),
        ],
        (U, A),
    ),
    "accumulated": (
        lambda u, a: [np.add.accumulate(u), np.add.accumulate(a), np.multiply.accumulate(a, axis=1)],
        (U, A),
    ),
    "a type that is given": (
        lambda u: [
            np.array(u, float),
            np.asarray(u, float),
            np.full((2,), u[0], dtype=float),
            np.sum(u, dtype=float),
            np.cumsum(u, dtype=float),
            ~np.array([u[0] > 0.5, u[1] > 0.5]),
        ],
        U,
    ),
    "inverse": (lambda a, b: [np.linalg.inv(a), np.linalg.solve(a, b), np.linalg.solve(a, b[0])], (A, B)),
    "inverse of numbers": (lambda u: np.linalg.inv(A) @ np.linalg.solve(A, u[:3]), U),
    "det": (
        lambda a, b: [np.linalg.det(a), np.linalg.det(a[:2, :2]), np.linalg.det(np.kron(a, b[:2, :2]))],
        (A, B),
    ),
    "cholesky": (lambda a: np.linalg.cholesky(a @ a.T + np.eye(3)), A),
    "products": (
        lambda a, b, u: [
            a @ b,
            a @ u[:3],
            u[:3] @ a,
            np.dot(u, u),
            np.outer(u, u),
            np.cross(a, b),
            np.kron(a, u),
            a.dot(b),
            np.vdot(a, b),
            np.trace(a),
        ],
        (A, B, U),
    ),
    "stacks": (lambda w: [np.stack([w, 2 * w]) @ w.T, w @ np.stack([w.T, w.T])], W),
    "two axes": (
        lambda w: [w.shape, w.size, w.ndim, len(w), w.T, w.reshape(4, 2), w.reshape(-1), w.ravel("F")],
        W,
    ),
    "diff": (lambda u: [np.diff(u), np.ediff1d(u), np.gradient(u, 0.5), np.trapezoid(u), np.cumsum(u)], U),
    "convolve": (
        lambda u, v: [np.convolve(u, [1.0, 2.0]), np.convolve(u, v, "same"), np.vander(u, 3)],
        (U, V),
    ),
    "reduce": (
        lambda w: [
            np.add.reduce(w, axis=1),
            np.multiply.accumulate(w, axis=1),
            np.maximum.reduce(w, 1),
            np.subtract.outer(w[0], w[1]),
            np.logical_and.reduce(w, 1),
        ],
        W,
    ),
    "maximum": (lambda u, v: [np.maximum(u, v), np.minimum(u, 0.3), np.fmax(1.0, u)], (U, V)),
    "constants": (lambda u: [u / 0.0, 0.0 * u, u**2, 2.0**u, u**-1.0, u**0.0], U),
    "trigonometry": (
        lambda u: [np.hypot(u, 1.0), np.arctan2(u, -1.0), np.sinc(u), np.degrees(u), np.exp2(u)],
        U,
    ),
    "logaddexp": (
        lambda u, v: [np.logaddexp(u, v), np.logaddexp2(u, v), np.cbrt(u), np.log1p(u * u)],
        (U, V),
    ),
    "close": (lambda u, v: [np.isclose(u, u + 1e-9), np.allclose(u, v), np.array_equal(u, u)], (U, V)),
    "close to 0": (lambda u: [np.allclose(0 * u, b) for b in (0.99e-8, 1.01e-8)], (U,)),
    "numbers first": (
        lambda u: [np.float64(2.0) * u, np.arange(6) - u, [1, 2, 3, 4, 5, 6] / (u + 9), np.eye(6) @ u],
        U,
    ),
    "python": (lambda u: [sum(u), abs(u), -u, +u, u is not None, list(u[:2]), u.tolist()[1], u.item(3)], U),
    "math floor": (lambda u: [math.floor(u[0]), math.ceil(u[0]), math.trunc(u[0])], U),
    "changed through views": (views_changed, A),
    "flat": (flat_changed, A),
    "place in flat": (lambda a: [place_in(a), place_in(a[:1, 2]), place_in(a[1:, :1])], A),
    "places in flat": (places_met, U),
    "norms of stacks": (
        lambda u, w: [
            np.linalg.matrix_norm(u.reshape(1, 2, 3), ord=1),
            np.linalg.matrix_norm(w.reshape(2, 2, 2), ord=np.inf),
            np.linalg.matrix_norm(w.reshape(2, 2, 2)),
        ],
        (U, W),
    ),
    "no number": (
        lambda u: [np.nan_to_num(u / 0.0), np.nan_to_num(u / 0.0, nan=5.0, posinf=3.0, neginf=-2.0)],
        U,
    ),
    "ignored": (
        lambda u, v: [np.add(u, v, casting="same_kind"), np.multiply(u, v, order="C", subok=True)],
        (U, V),
    ),
    "with a start": (
        lambda u, w: [
            np.cumulative_sum(u, include_initial=True),
            np.cumulative_prod(w, axis=1, include_initial=True),
            np.cumulative_sum(w[:, :1], axis=1, include_initial=True),
        ],
        (U, W),
    ),
    "other diagonals": (lambda a: [np.linalg.trace(a), np.linalg.trace(a, offset=1), np.trace(a, -1)], A),
    "counts": (
        lambda u, a: [np.sum([u[0] > 0, u[4] > 0, u[5] > 0]), np.trace(a > 0), np.max([u[0], u[3]])],
        (U, A),
    ),
    "lists": (lambda u: [np.mean([u[0], u[1]]), np.cumsum([u[0], u[1]]), np.any([u[0] > 0, u[1] > 0])], U),
    "beyond all": (lambda u: [u // np.inf, u % np.inf, u // -np.inf, u // 0.0], U),
    "no bound": (lambda u: [np.maximum(u, np.nan), np.minimum(np.nan, u), np.clip(u, np.nan, 1.0)], U),
    "linspace": (
        lambda u: [np.linspace(u[0], u[1], 4), np.linspace(0, u[:2], 3, False), np.linspace(u, 2, 1)],
        U,
    ),
    "einsum": (
        lambda a, u: [
            np.einsum("ij,jk->ik", a, a),
            np.einsum("ii", a),
            np.einsum("ij,j", a, u[:3]),
            np.tensordot(a, a, axes=([0], [1])),
        ],
        (A, U),
    ),
    "fractions": (lambda u: [u * Fraction(1, 3), Fraction(2, 3) / u[0]], U),
    "compressed": (lambda a: [a.compress([True, False, True], axis=1), a.compress([False, True])], A),
    "is scalar": (lambda u: [np.isscalar(u[0]), np.isscalar(u), np.isscalar(2.0)], U),
    "attributes": (
        lambda w: [w.flatten(), w.T.mT, w.real, w.imag, w.dtype, w.squeeze(), w.take([1, 2]), w.cumsum(1)],
        W,
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_engineers_write_equals_numpy(name):
    function, numbers = WRITTEN[name]
    with np.errstate(all="ignore"):
        check(function, *(numbers if isinstance(numbers, tuple) else (numbers,)))


ONE_ARGUMENT = (
    "sin cos tan asin acos atan sinh cosh tanh asinh atanh exp expm1 exp2 log2 log10 log1p sqrt cbrt fabs "
    "erf degrees radians"
)


@pytest.mark.parametrize("name", [n for n in ONE_ARGUMENT.split() if hasattr(math, n)])
def test_pythons_math_takes_signals(name):
    function = getattr(math, name)

    def equations(u):
        return getattr(math, name)(u[0])

    found = on_symbols(equations, np.array([0.37]))
    np.testing.assert_allclose(found, function(0.37), rtol=1e-14)
    assert getattr(math, name) is function, "math is as it was"


def test_pythons_math_of_two_numbers():
    def equations(u):
        x, y = u
        return [
            math.atan2(x, y),
            math.pow(y, 3),
            math.hypot(x, y, 2.0),
            math.fmod(x, y),
            math.copysign(x, y),
            math.log(y, 2),
            math.log(y),
            math.remainder(x, y),
            math.dist([x, y], [1.0, 2.0]),
            math.fsum([x, y]),
            math.isfinite(x),
            math.ldexp(x, 3),
            math.prod([x, y]),
        ]

    found, expected = on_symbols(equations, np.array([-2.7, 0.8])), equations([-2.7, 0.8])
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(f, float), e, rtol=1e-14)


def test_pythons_math_tells_what_is_close():
    """Within a share of the larger one, or within an absolute tolerance, with the edge."""

    def equations(u):
        x, y = u
        return [
            math.isclose(x, x * (1 + 5e-10)),
            math.isclose(x * (1 + 2e-9), x),
            math.isclose(x, y, abs_tol=0.5),
            math.isclose(x, y, abs_tol=0.4375),
            math.isclose(y, x, rel_tol=0.5),
            math.isclose(y, x, rel_tol=0.4375),
            math.isclose(x, 0.0),
        ]

    assert list(on_symbols(equations, np.array([1.0, 0.5]))) == [1, 0, 1, 0, 1, 0, 0]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda a: np.linalg.solve(a, np.ones(2)), "right-hand side"),
        (lambda a: np.linalg.solve(np.eye(2), a), "right-hand side"),
        (lambda a: np.linalg.solve(a, np.ones((3, 1, 1))[:2]), "right-hand side"),
        (lambda a: np.max(a[:0]), "zero-size|identity"),
        (lambda a: np.cumulative_sum(a), "``axis`` argument is required"),
    ],
)
def test_shapes_that_numpy_refuses_are_refused(function, said):
    with pytest.raises(ValueError):
        function(np.array(A))
    with pytest.raises((ValueError, BlockError), match=said):
        on_symbols(lambda u: function(u.reshape(3, 3)), np.arange(9.0))


def test_names_imported_from_math_take_signals_as_well():
    space: dict[str, Any] = {}
    exec(
        "from math import sin as sine\nfrom numpy import array\ndef f(u): return array([sine(u[0]), 2.0])",
        space,
    )
    np.testing.assert_allclose(on_symbols(space["f"], U), [math.sin(U[0]), 2.0], rtol=1e-15)
    assert space["sine"] is math.sin and space["array"] is np.array


METHODS = [n for n in dir(np.ndarray) if not n.startswith("_") and callable(getattr(np.ndarray, n))]


@pytest.mark.parametrize("name", METHODS)
def test_a_method_of_arrays_equals_numpys_or_is_refused_by_name(name):
    tried = 0
    for arguments in [(), (1,), ([1, 0],), (0, 1), (-1, 1), ((2, 4),), (8,), (float,)]:
        expected = outcome(lambda w, a=arguments: getattr(w, name)(*a), W)
        if expected is None:
            continue
        tried += 1
        try:
            found = on_symbols(lambda w, a=arguments: getattr(w, name)(*a), W)
        except BlockError as error:
            assert name in str(error)
            continue
        same(found, expected)
    if name not in (
        "byteswap",
        "ctypes",
        "dump",
        "dumps",
        "getfield",
        "setfield",
        "setflags",
        "tofile",
        "tobytes",
        "tolist",
        "to_device",
        "view",
        "fill",
        "put",
        "resize",
        "sort",
        "partition",
        "nonzero",
        "dot",
        "compress",
        "choose",
        "searchsorted",
    ):
        assert tried or name.startswith("_"), f"no arguments for {name} were tried"


@pytest.mark.parametrize("shape", [(5,), (2, 3), (1, 4), (3, 1)])
@pytest.mark.parametrize("seed", range(3))
def test_random_numbers_through_every_elementwise_function(shape, seed):
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(0.0, 3.0, shape) * 2.0) / 2.0  # halves, zeros, signs
    y = rng.normal(0.0, 2.0, shape)
    for name in dir(np):
        function = getattr(np, name)
        if not isinstance(function, np.ufunc) or function.signature:
            continue
        numbers = (x, y)[: function.nin]
        for given in (numbers, numbers[::-1]):
            if outcome(function, *given) is None:
                continue
            try:
                found = on_symbols(function, *given)
            except BlockError as error:
                assert function.__name__ in str(error)
                continue
            same(found, outcome(function, *given))


@pytest.mark.parametrize(
    "other",
    [
        None,
        "1",
        b"1",
        object(),
        [None],
        ["1"],
        np.datetime64("2020-01-01"),
        np.timedelta64(5, "ns"),
        np.array(["1"]),
    ],
)
def test_what_is_no_number_beside_a_signal_is_refused_with_its_value(other):
    with pytest.raises(TypeError, match="beside signals"):
        on_symbols(lambda u: np.add(u, other), U[:1])
    with pytest.raises(BlockError, match="beside signals"):
        trace(Function(lambda u: np.add(u, other)), {"u": 1})
