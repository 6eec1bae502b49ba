"""A function of NumPy on numbers, and on signals that stand for them."""

import warnings
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.symbols import SignalArray, column, tracing

U = np.array([-2.5, -0.5, 0.0, 0.5, 1.5, 0.3])
V = np.array([0.7, -1.5, 2.5, -0.5, 3.0, 1.2])
A = np.array([[2.0, -0.5, 1.5], [0.5, 3.5, -1.0], [0.0, 0.25, -2.5]])
B = np.array([[0.5, 1.0, -1.5], [2.0, -0.5, 0.0], [1.0, 3.0, 0.75]])
W = np.array([[0.5, -1.5, 2.5, 3.0], [1.0, 0.0, -0.5, 7.0]])


def symbols_of(numbers: np.ndarray) -> tuple[ca.SX, SignalArray]:
    symbol = ca.SX.sym("x", numbers.size)
    return symbol, SignalArray(symbol, numbers.shape)


def on_symbols(function: Callable[..., Any], *numbers: np.ndarray) -> Any:
    """What the function gives of symbols, evaluated at these numbers."""
    pairs = [symbols_of(np.asarray(n, dtype=float)) for n in numbers]
    with tracing(getattr(function, "__globals__", None)):
        found = function(*[signal for _, signal in pairs])

    def value(part: Any) -> Any:
        if isinstance(part, (list, tuple)):
            return [value(p) for p in part]
        if (
            part is None
            or isinstance(part, np.dtype)
            or (not isinstance(part, (SignalArray, ca.SX)) and np.asarray(part).dtype != object)
        ):
            return part
        with tracing():
            array = SignalArray.operand(part)
            f = ca.Function("f", [s for s, _ in pairs], [column(array)])
        out = f.call([ca.DM(np.ravel(n).astype(float)) for n in numbers])[0]
        return np.array(out).reshape(array.shape).astype(array.dtype)

    return value(found)


def same(found: Any, expected: Any, half: bool = False) -> None:
    """half : NumPy's sine of a bool has half precision, and so has what is made of it"""
    if isinstance(expected, (list, tuple)):
        assert len(found) == len(expected)
        for f, e in zip(found, expected, strict=True):
            same(f, e, half)
        return
    if expected is None or isinstance(expected, (str, np.dtype, type)):
        assert found == expected
        return
    assert np.shape(found) == np.shape(expected)
    assert (np.asarray(found).dtype == bool) == (np.asarray(expected).dtype == bool)
    half |= np.asarray(expected).dtype.itemsize < 8
    tolerance = 1e-3 if half else 1e-12
    actual, desired = np.asarray(found, float), np.asarray(expected, float)
    np.testing.assert_allclose(actual, desired, rtol=tolerance, atol=tolerance)


def check(function: Callable[..., Any], *numbers: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        same(on_symbols(function, *numbers), function(*[n.copy() for n in numbers]))


def outcome(function: Callable[..., Any], *numbers: np.ndarray) -> Any:
    """What NumPy gives of numbers; None where it refuses them itself or answers in other types."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = function(*[n.copy() for n in numbers])
        flat = (
            np.concatenate([np.ravel(part) for part in found]) if isinstance(found, (tuple, list)) else found
        )
        return None if np.asarray(flat).dtype.kind not in "fbiu" else found
    except Exception:
        return None
