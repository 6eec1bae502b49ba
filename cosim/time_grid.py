"""The common grid of the ticks of all rates: one whole number of parts of a second."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

from blocks.contract.rate import Ticks
from blocks.errors import PlantloopError


def grid_of(rates: Sequence[Ticks]) -> int:
    """D: every tick of these rates falls on an integer number of units of 1/D s.

    Raises
    ------
    PlantloopError      1e10 ticks of some pair of rates would leave 64-bit integers
    """
    common = _denominator(rates)
    if _positions(rates, common) < 2**63:
        return common
    if (alone := next((r for r in rates if _positions((r,)) >= 2**63), None)) is not None:
        raise PlantloopError(
            f"period and offset of the rate {alone} have no common time grid that fits 64-bit integers.",
            hint="Give an offset that is a simple fraction of the period.",
        )
    first, second = max(itertools.combinations(rates, 2), key=_positions)
    raise PlantloopError(
        f"rates {first} and {second} have no common time grid that fits 64-bit integers.",
        hint="Give sample times whose ratio is a simple fraction.",
    )


def _denominator(rates: Sequence[Ticks]) -> int:
    return math.lcm(1, *[f.denominator for r in rates for f in (r.period, r.offset)])


def _positions(rates: Sequence[Ticks], denominator: int | None = None) -> Fraction:
    """How many places of their grid 1e10 ticks of the slowest of some rates span, offset included."""
    common = denominator or _denominator(rates)
    return common * max((10**10 * r.period + r.offset for r in rates), default=Fraction(0))
