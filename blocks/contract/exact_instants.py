"""The instants that many numbers mean, found for all of them at once: what `instant` finds one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from blocks.contract.rate import LARGEST_DENOMINATOR, LONGEST, TOLERANCE_BELOW, Rate, instant

SPLITTER = 2.0**27 + 1  # takes the upper half of a float's digits
UNSURE = 1e-6  # of a tolerance: nearer to its edge rounding might decide, and exact arithmetic does
LARGEST_WHOLE = 2**53 // LARGEST_DENOMINATOR - 1  # s; numerators beyond it are no floats
SMALLEST = 2.0**-9  # s; below it 63 bits do not hold the denominators


class ListedInstants:
    """Listed instants [s] in ascending order, exact; a million of them are made exact one by one when asked.

    nearest : (n,) float      the float nearest to each
    exact : (n,) fractions    None: what `instant` makes of each float
    """

    def __init__(self, nearest: np.ndarray, exact: tuple[Fraction, ...] | None = None) -> None:
        self.nearest, self._exact = nearest, exact
        nearest.flags.writeable = False

    def __len__(self) -> int:
        return len(self.nearest)

    def __iter__(self) -> Iterator[Fraction]:
        return iter(map(instant, self.nearest.tolist()) if self._exact is None else self._exact)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ListedInstants) and self._exact is other._exact is None:
            return np.array_equal(self.nearest, other.nearest)
        return isinstance(other, (ListedInstants, tuple)) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))  # that of the fractions, which it equals


NO_INSTANTS = ListedInstants(np.zeros(0))


def moments(times: Sequence[Rate]) -> np.ndarray:
    """The float nearest to the exact instant of each number [s], (n,).

    Raises
    ------
    BlockError, TypeError, ValueError    one of them is no finite number
    """
    plain = _plain(times)
    if plain is not None:
        return _of_floats(plain)
    return np.fromiter((float(instant(t)) for t in times), float, len(times))


def _plain(times: Sequence[Rate]) -> np.ndarray | None:
    """The numbers as floats, where floats and whole numbers of no more than `LONGEST` are all there is."""
    kinds = set(map(type, times))
    whole = (t for t in times if isinstance(t, int)) if int in kinds else ()
    if not kinds <= {float, int} or any(abs(t) > LONGEST for t in whole):
        return None
    plain = np.array(times, dtype=float)
    return plain if bool(np.all(np.abs(plain) <= LONGEST)) else None  # False for nan


@lru_cache(maxsize=8)  # a table's times are looked at when it is made and when it is traced
def instants(times: tuple[Rate, ...]) -> ListedInstants:
    """Listed instants [s].

    Raises
    ------
    BlockError, TypeError, ValueError    one of them is no finite number
    """
    plain = _plain(times)
    if plain is not None:
        return ListedInstants(np.sort(_of_floats(plain)))
    exact = tuple(sorted(map(instant, times)))
    return ListedInstants(np.fromiter(map(float, exact), float, len(exact)), exact)


def _of_floats(x: np.ndarray) -> np.ndarray:
    size = np.abs(x)
    found, open_ = _decimals(size)
    if open_.any():
        inside = open_ & (size >= SMALLEST) & (size <= LARGEST_WHOLE)
        found[inside], sure = _fractions(size[inside])
        inside[inside] = sure
        left = np.flatnonzero(open_ & ~inside)
        found[left] = [float(instant(float(v))) for v in size[left]]
    result: np.ndarray = np.copysign(found, x) + 0.0
    return result


def _decimals(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """p / 1e6 next to each number, and where that does not lie within the tolerance, or may not.

    The product with 1e6 is taken with what its rounding loses.
    Source: Dekker, Numerische Mathematik 18 (1971) 224-242.
    """
    q = float(LARGEST_DENOMINATOR)
    product = x * q
    p = np.rint(product)
    high = SPLITTER * x - (SPLITTER * x - x)
    lost = (high * q - product) + (x - high) * q
    apart = np.abs((product - p) + lost)
    near = apart <= (1 - UNSURE) * q / TOLERANCE_BELOW
    return np.where(near, p / q, x), ~(near & (x <= LARGEST_WHOLE))


def _fractions(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the continued fraction of each number finds (see `simple`), and is it sure in spite of rounding?

    Of a convergent p/q of x = a/b the error |a q - p b| is the remainder of Euclid's algorithm.
    """
    whole = np.floor(x)
    bits = 53 - np.frexp(x)[1]  # x is a whole number of 2^-bits
    b = np.ldexp(x - whole, bits).astype(np.int64)
    a = np.int64(1) << bits.astype(np.int64)
    unit = np.ldexp(1.0, bits)
    n = np.arange(x.size)
    p, q, p_last, q_last = (np.full(x.size, v, dtype=np.int64) for v in (0, 1, 1, 0))
    found, sure = x.copy(), np.ones(x.size, dtype=bool)
    while n.size:
        apart, least = b / unit, q / TOLERANCE_BELOW
        near = apart <= least
        sure[n[np.abs(apart - least) <= UNSURE * least]] = False
        hits = n[near]
        found[hits] = (whole[hits] * q[near] + p[near]) / q[near]
        more = ~near
        n, a, b, unit, p, q, p_last, q_last = (v[more] for v in (n, a, b, unit, p, q, p_last, q_last))
        times = np.minimum(a // b, 2 * LARGEST_DENOMINATOR)
        a, b = b, a % b
        p, q, p_last, q_last = times * p + p_last, times * q + q_last, p, q
        more = q <= LARGEST_DENOMINATOR
        n, a, b, unit, p, q, p_last, q_last = (v[more] for v in (n, a, b, unit, p, q, p_last, q_last))
    return found, sure
