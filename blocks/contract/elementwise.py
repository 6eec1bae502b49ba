"""NumPy's elementwise functions as CasADi expressions of columns; values are NumPy's, to rounding.

Every function takes dense SX columns of one length, or scalars, or plain numbers. Where NumPy's rules differ
from C's they are written out here: remainders take the sign of the divisor, halves round to the even number,
``minimum`` and ``maximum`` pass a nan on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import casadi as ca

Function = Callable[..., Any]

_LARGEST = 1.7976931348623157e308
_LN2 = math.log(2.0)


def choose(condition: Any, a: Any, b: Any) -> ca.SX:
    """`a` where the condition is not zero, else `b`; the other one may be nan."""
    return ca.if_else(condition, a, b, False)


def is_finite(x: Any) -> Any:
    """1 where x is neither infinite nor nan."""
    return ca.fabs(x) <= _LARGEST


def _is_nan(x: Any) -> Any:
    return ca.logic_not(ca.logic_or(x <= _LARGEST, x > _LARGEST))


def _is_number(value: Any) -> bool:
    return not isinstance(value, ca.SX) or bool(value.is_constant())


def _is_bound(value: Any) -> bool:
    """Plain numbers, none of them nan."""
    return _is_number(value) and not math.isnan(float(ca.norm_1(ca.DM(value))))


def _divide(x: Any, y: Any) -> Any:
    """x / y; CasADi makes x / 0 of a constant 0 infinite with one sign."""
    if _is_number(y) and not bool(ca.logic_all(ca.DM(y))):
        divisors = ca.DM(y)
        return choose(ca.eq(y, 0.0), x * ca.copysign(math.inf, divisors), ca.rdivide(x, divisors))
    return ca.rdivide(x, y)


def _maximum(x: Any, y: Any) -> Any:
    """The larger; nan where either is nan, unlike C's fmax."""
    if _is_bound(y):
        return choose(x < y, y, x)
    if _is_bound(x):
        return choose(y < x, x, y)
    return choose(x <= y, y, choose(x > y, x, x + y))


def _minimum(x: Any, y: Any) -> Any:
    """The smaller; nan where either is nan, unlike C's fmin."""
    if _is_bound(y):
        return choose(x > y, y, x)
    if _is_bound(x):
        return choose(y > x, x, y)
    return choose(x >= y, y, choose(x < y, x, x + y))


def _remainder(x: Any, y: Any) -> Any:
    """What C's exact fmod leaves, moved to the sign of the divisor: Python's and NumPy's %."""
    rest = ca.fmod(x, y)
    return rest + choose(ca.logic_and(ca.ne(rest, 0.0), ca.ne(ca.lt(rest, 0.0), ca.lt(y, 0.0))), y, 0.0)


def _floor_divide(x: Any, y: Any) -> Any:
    """floor(x/y) from the exact remainder: 1.0 // 0.1 is 9, where floor(1.0 / 0.1) is 10."""
    rest = ca.fmod(x, y)  # not moved to the sign of y, which may be infinite
    other_side = ca.logic_and(ca.ne(rest, 0.0), ca.ne(ca.lt(rest, 0.0), ca.lt(y, 0.0)))
    quotient = (x - rest) / y - other_side
    below = ca.floor(quotient)
    return choose(ca.eq(y, 0.0), _divide(x, y), below + ca.gt(quotient - below, 0.5))


def round_half_even(x: Any) -> Any:
    """Nearest whole number, halves to the even one."""
    below = ca.floor(x)
    rest = x - below
    return below + choose(ca.eq(rest, 0.5), below - 2.0 * ca.floor(below / 2.0), rest > 0.5)


def _trunc(x: Any) -> Any:
    return choose(x < 0.0, ca.ceil(x), ca.floor(x))


def _modf(x: Any) -> tuple[Any, Any]:
    whole = _trunc(x)
    return choose(is_finite(x), x - whole, choose(_is_nan(x), x, 0.0)), whole


def _logaddexp(x: Any, y: Any) -> Any:
    return ca.fmax(x, y) + ca.log1p(ca.exp(-ca.fabs(x - y)))


def _logaddexp2(x: Any, y: Any) -> Any:
    return ca.fmax(x, y) + ca.log1p(ca.exp(-ca.fabs(x - y) * _LN2)) / _LN2


# Results are numbers.
NUMBERS: dict[str, Function] = {
    "negative": lambda x: -x,
    "positive": lambda x: x,
    "conjugate": lambda x: x,
    "absolute": ca.fabs,
    "fabs": ca.fabs,
    "sqrt": ca.sqrt,
    "cbrt": lambda x: ca.sign(x) * ca.power(ca.fabs(x), 1.0 / 3.0),
    "square": lambda x: x * x,
    "reciprocal": lambda x: 1 / x,
    "sign": ca.sign,
    "exp": ca.exp,
    "exp2": lambda x: ca.power(2.0, x),
    "expm1": ca.expm1,
    "log": ca.log,
    "log2": lambda x: ca.log(x) / _LN2,
    "log10": ca.log10,
    "log1p": ca.log1p,
    "sin": ca.sin,
    "cos": ca.cos,
    "tan": ca.tan,
    "arcsin": ca.asin,
    "arccos": ca.acos,
    "arctan": ca.atan,
    "sinh": ca.sinh,
    "cosh": ca.cosh,
    "tanh": ca.tanh,
    "arcsinh": ca.asinh,
    "arccosh": ca.acosh,
    "arctanh": ca.atanh,
    "erf": ca.erf,
    "floor": ca.floor,
    "ceil": ca.ceil,
    "trunc": _trunc,
    "rint": round_half_even,
    "modf": _modf,
    "deg2rad": lambda x: x * (math.pi / 180.0),
    "radians": lambda x: x * (math.pi / 180.0),
    "rad2deg": lambda x: x * (180.0 / math.pi),
    "degrees": lambda x: x * (180.0 / math.pi),
    "add": ca.plus,
    "subtract": ca.minus,
    "multiply": ca.times,
    "divide": _divide,
    "power": ca.power,
    "float_power": ca.power,
    "remainder": _remainder,
    "fmod": ca.fmod,
    "floor_divide": _floor_divide,
    "divmod": lambda x, y: (_floor_divide(x, y), _remainder(x, y)),
    "minimum": _minimum,
    "maximum": _maximum,
    "fmin": ca.fmin,
    "fmax": ca.fmax,
    "arctan2": ca.atan2,
    "hypot": ca.hypot,
    "copysign": ca.copysign,
    "heaviside": lambda x, y: choose(x < 0.0, 0.0, choose(x > 0.0, 1.0, choose(ca.eq(x, 0.0), y, x))),
    "ldexp": lambda x, n: x * ca.power(2.0, n),
    "logaddexp": _logaddexp,
    "logaddexp2": _logaddexp2,
}

# Results are conditions (NumPy's bool): 0 or 1.
CONDITIONS: dict[str, Function] = {
    "less": ca.lt,
    "less_equal": ca.le,
    "greater": lambda x, y: ca.lt(y, x),
    "greater_equal": lambda x, y: ca.le(y, x),
    "equal": ca.eq,
    "not_equal": ca.ne,
    "logical_not": ca.logic_not,
    "logical_and": ca.logic_and,
    "logical_or": ca.logic_or,
    "logical_xor": lambda x, y: ca.ne(ca.ne(x, 0), ca.ne(y, 0)),
    "isfinite": is_finite,
    "isinf": lambda x: ca.fabs(x) > _LARGEST,
    "isnan": _is_nan,
    "signbit": lambda x: ca.copysign(1.0, x) < 0.0,
}

# What NumPy does where every operand is a condition.
OF_CONDITIONS: dict[str, str] = {
    "add": "logical_or",
    "maximum": "logical_or",
    "fmax": "logical_or",
    "bitwise_or": "logical_or",
    "multiply": "logical_and",
    "minimum": "logical_and",
    "fmin": "logical_and",
    "bitwise_and": "logical_and",
    "bitwise_xor": "logical_xor",
    "invert": "logical_not",
    "absolute": "",
    "floor": "",
    "ceil": "",
    "trunc": "",
}
ONLY_CONDITIONS = ("bitwise_and", "bitwise_or", "bitwise_xor", "invert")
NO_CONDITIONS = (
    "negative",
    "positive",
    "subtract",
    "sign",
    "floor_divide",
    "remainder",
    "fmod",
    "divmod",
    "reciprocal",
)

# Value of a reduction over nothing.
EMPTY = {"add": 0.0, "multiply": 1.0, "logical_and": 1.0, "logical_or": 0.0, "logical_xor": 0.0}
