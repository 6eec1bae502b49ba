"""Exact sample times: a rate is a period and an offset as rational numbers of seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite  # by name: what stands in `math` while equations are traced looks for signals

import numpy as np

from blocks.errors import BlockError, shown

Rate = int | float | str | Fraction
"""How a user writes a period, an offset or an instant: 1, 0.01, "0.01", "1/60" or Fraction(1, 60), in s."""

TOLERANCE_BELOW = 10**14  # 1 / s; a fraction may be 1e-14 s from the float it stands for
LARGEST_DENOMINATOR = 10**6


def simple(number: float) -> Fraction | None:
    """The fraction with a denominator up to 1e6 that lies within 1e-14 s of a finite number, if there is one.

    There is one at most, since two of them differ by 1e-12 or more, and it is a convergent of the number's
    continued fraction, since it is nearer to it than 1/(2 q^2) (Legendre).
    """
    above, below = abs(number).as_integer_ratio()
    q = LARGEST_DENOMINATOR
    p = (2 * above * q + below) // (2 * below)
    if abs(above * q - p * below) * TOLERANCE_BELOW <= below * q:  # decimals: most of a table's times
        return Fraction(p if number >= 0 else -p, q)
    p, q, p_last, q_last = 1, 0, 0, 1
    a, b = above, below
    while b:
        whole, rest = divmod(a, b)
        p, q, p_last, q_last = whole * p + p_last, whole * q + q_last, p, q
        if q > LARGEST_DENOMINATOR:
            return None
        if abs(above * q - p * below) * TOLERANCE_BELOW <= below * q:
            return Fraction(p if number >= 0 else -p, q)
        a, b = b, rest
    return None


def rational(value: Rate, what: str = "rate") -> Fraction:
    """Exact rational number of seconds a user meant.

    Parameters
    ----------
    value : int, Fraction, decimal or fraction text, or float [s]
        a float becomes the simplest fraction within 1e-14 with denominator up to 1e6, or, where it is smaller
        than those can be, the decimal number it is written as; a NumPy number what it is written as
    what : str    what the number is, for the message

    Raises
    ------
    BlockError    not a finite number, or a float that is no simple fraction
    """
    if isinstance(value, (int, Fraction)) and not isinstance(value, bool):
        return _within_reach(Fraction(value), value, what)
    if isinstance(value, np.integer) and not isinstance(value, np.timedelta64):
        return _within_reach(Fraction(int(value)), int(value), what)
    if isinstance(value, (np.float16, np.float32)) and np.isfinite(value):
        value = str(value)
    if isinstance(value, str):
        try:
            return _within_reach(_fraction(value.replace(" ", "")), value, what)
        except (ValueError, ZeroDivisionError):
            raise _no_number(value, what) from None
    if isinstance(value, bool) or not isinstance(value, (float, np.floating)):
        raise _no_number(value, what)
    number = float(value)
    if not isfinite(number):
        raise BlockError(f"{what} is {number}, expected a finite number of seconds.", value=value)
    found = simple(number)
    if found is None:
        found = Fraction(repr(number))
        if abs(found) >= LEAST and abs(found.numerator) <= LARGEST_DENOMINATOR and abs(number) < 1e-3:
            return found
        raise BlockError(
            f"{what} {number!r} s is no fraction with a denominator up to 1e6, so its ticks cannot be exact.",
            value=value,
            hint='Write it as a fraction, for instance "1/60" or Fraction(1, 60).',
        )
    return found


LEAST = Fraction(1, 10**12)  # s; floats below it are no sample times
LONGEST = 10**15  # s


def _fraction(text: str) -> Fraction:
    """The number a text stands for, unless its digits alone would fill memory ("1e-99999999")."""
    exponent = text.lower().rpartition("e")[2] if "e" in text.lower() else ""
    if len(text) > 1000 or len(exponent.lstrip("+-")) > 3:
        raise ValueError("too many digits")
    return Fraction(text)


def _within_reach(found: Fraction, value: Rate, what: str) -> Fraction:
    if abs(found) > LONGEST:
        raise BlockError(f"{what} is {shown(value, 30)} s, expected at most {LONGEST:g} s.", value=value)
    return found


def _no_number(value: object, what: str) -> BlockError:
    return BlockError(
        f"{what} {shown(value)} is not a number of seconds.",
        value=value,
        hint='Write it as 0.01, "0.01" or "1/60".',
    )


def instant(value: Rate, what: str = "instant") -> Fraction:
    """Exact rational of a single instant [s]: like `rational`, but any finite float is accepted as it is."""
    if type(value) is float and isfinite(value):
        found = simple(value)
        return Fraction(value) if found is None else found
    try:
        return rational(value, what)
    except BlockError:
        if isinstance(value, (str, bool, int, Fraction)) or not isinstance(value, (float, np.floating)):
            raise
        if not isfinite(value):
            raise
        return Fraction(float(value))


@dataclass(frozen=True, order=True)
class Ticks:
    """The grid of instants offset + k*period, k = 0, 1, ... (both in s)."""

    period: Fraction
    offset: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        for name in ("period", "offset"):
            if type(value := getattr(self, name)) is not Fraction:
                object.__setattr__(self, name, rational(value, name))

    def __hash__(self) -> int:
        """As fast as integers: a Fraction takes a modular inverse."""
        return hash((*self.period.as_integer_ratio(), *self.offset.as_integer_ratio()))

    @staticmethod
    def of(sample: Rate, offset: Rate = 0) -> Ticks:
        """Ticks from what a user wrote; both are checked.

        Raises
        ------
        BlockError    period not positive, or offset negative
        """
        period, start = rational(sample, "sample time"), rational(offset, "offset")
        if period <= 0:
            raise BlockError(
                f"sample time is {sample} s, expected a positive period.",
                value=sample,
                hint="Give the period, in s; none is inherited (-1), and only where it may be left out is a "
                "block continuous.",
            )
        if start < 0:
            raise BlockError(
                f"offset is {offset} s, expected zero or more.",
                value=offset,
                hint=f"Add whole periods: {start % period} s gives the same grid from t = 0 on.",
            )
        return Ticks(period, start)

    def meets(self, other: Ticks) -> bool:
        """Can a tick of both fall on one instant? (offset difference a multiple of the gcd of the periods)"""
        a, b = self.period, other.period
        scale = math.lcm(a.denominator, b.denominator)
        common = Fraction(math.gcd(int(a * scale), int(b * scale)), scale)
        return (self.offset - other.offset) % common == 0

    def __str__(self) -> str:
        hz = 1 / self.period
        rate = f"{float(hz):.6g} Hz" if hz >= 1 else f"every {float(self.period):.6g} s"
        return f"{rate}, offset {float(self.offset):.6g} s" if self.offset else rate


CALLED = Ticks(Fraction(-1))  # of a block without a sample time: the calls of the part that it is in
