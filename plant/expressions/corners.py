"""Building blocks of the functions that keep value and derivative finite where textbook formulas do not.

All take and give scalars (1, 1) SX. The rules: a branch that is not selected is never evaluated where it
or its derivative is not finite; where a derivative does not exist, it is that of the selected branch; a
``nan`` that comes in goes out, so that a failure is seen.
"""

from __future__ import annotations

import math

import casadi as ca


def root(x: ca.SX) -> ca.SX:
    """Square root; at 0 the derivative is 0, below 0 the value is nan."""
    return ca.if_else(x == 0, 0, ca.sqrt(ca.if_else(x == 0, 1, x)))


def norm(v: ca.SX) -> ca.SX:
    """Length of a vector (n, 1); at 0 the derivative is 0."""
    return root(ca.dot(v, v))


def direction_angle(y: ca.SX, x: ca.SX) -> ca.SX:
    """``atan2(y, x)``; where both are 0 the value and the derivative are 0."""
    nowhere = x * x + y * y == 0  # squares, because the derivative divides by their sum
    return ca.atan2(ca.if_else(nowhere, 0, y), ca.if_else(nowhere, 1, x))


def arc_sine(x: ca.SX) -> ca.SX:
    """Inverse sine; at -1 and 1 the derivative is 0, outside the value is nan."""
    end = ca.fabs(x) == 1
    return ca.if_else(end, ca.sign(x) * (math.pi / 2), ca.asin(ca.if_else(end, 0, x)))


def arc_cosine(x: ca.SX) -> ca.SX:
    """Inverse cosine; at -1 and 1 the derivative is 0, outside the value is nan."""
    end = ca.fabs(x) == 1
    return ca.if_else(end, (1 - ca.sign(x)) * (math.pi / 2), ca.acos(ca.if_else(end, 0, x)))


def larger(a: ca.SX | float, b: ca.SX | float) -> ca.SX:
    """The larger of two; unlike ``fmax`` it does not hide a nan."""
    a, b = ca.SX(a), ca.SX(b)
    if a.is_constant():
        return ca.if_else(b < a, a, b)
    if b.is_constant():
        return ca.if_else(a < b, b, a)
    return ca.if_else(a < b, b, ca.if_else(a >= b, a, a + b))


def smaller(a: ca.SX | float, b: ca.SX | float) -> ca.SX:
    """The smaller of two; unlike ``fmin`` it does not hide a nan."""
    return -larger(-ca.SX(a), -ca.SX(b))


def positive(x: ca.SX) -> ca.SX:
    """1 where x > 0, else 0."""
    return ca.if_else(x > 0, 1, ca.if_else(x <= 0, 0, x))


def power(base: ca.SX, exponent: ca.SX) -> ca.SX:
    """``base ** exponent``; nan for a negative base and a fraction.

    At base 0 a positive fraction gives value and derivatives 0, also where those of the formula are
    infinite; a whole number gives the polynomial's. The exponent's derivative counts for base > 0 only.
    """
    base, exponent = ca.SX(base), ca.SX(exponent)
    if exponent.is_constant():
        number = float(exponent)
        if number <= 0 or number % 1 == 0 or not math.isfinite(number):
            return base**number
        return ca.if_else(base == 0, 0, ca.if_else(base == 0, 1, base) ** exponent)
    if base.is_constant() and float(base) > 0:
        return base**exponent
    whole = ca.floor(exponent)  # its derivative is 0: log(base) does not appear
    below = ca.if_else(whole == exponent, ca.if_else(base < 0, base, -1) ** whole, math.nan)
    at = ca.if_else(
        exponent > 0, 0, ca.if_else(exponent < 0, math.inf, ca.if_else(exponent == 0, 1, exponent))
    )
    above = ca.if_else(base > 0, base, 1) ** exponent
    return ca.if_else(base > 0, above, ca.if_else(base == 0, at, ca.if_else(base < 0, below, base)))
