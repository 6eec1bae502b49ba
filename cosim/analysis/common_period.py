"""The instants of one common period of several rates, as exact rationals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from blocks.contract.rate import Ticks
from blocks.errors import PlantloopError

MOST = 50_000  # instants of one period; a model of more takes too long


@dataclass(frozen=True)
class CommonPeriod:
    """The instants of one common period, which repeat in every period.

    length : s, the least time after which all rates are as they were
    instants : times [s] since its beginning, ascending, the first is 0; rates : which tick at each
    """

    length: Fraction
    instants: tuple[Fraction, ...]
    rates: tuple[frozenset[int], ...]

    @staticmethod
    def of(rates: Sequence[Ticks], name: str = "") -> CommonPeriod:
        """The period of all rates; it begins at a tick of the slowest one, the first of several.

        Raises
        ------
        PlantloopError      more instants than `MOST`
        """
        length = common(r.period for r in rates)
        count = sum(length / r.period for r in rates)
        if count > MOST:
            listed = ", ".join(map(str, rates[:6]))
            raise PlantloopError(
                f"the rates of '{name}' ({listed}) have {int(count)} ticks in their common period of "
                f"{float(length):g} s; a linear model over it may have {MOST} at most.",
                value=int(count),
                hint="Give sample times whose ratios are simple, or linearise a part of the diagram.",
            )
        start = max(rates, key=lambda r: r.period).offset
        at: dict[Fraction, set[int]] = {}
        for k, rate in enumerate(rates):
            first = (rate.offset - start) % rate.period
            for n in range(int(length / rate.period)):
                at.setdefault(first + n * rate.period, set()).add(k)
        times = sorted(at)
        return CommonPeriod(length, tuple(times), tuple(frozenset(at[t]) for t in times))

    def with_instants(self, more: Iterable[Fraction]) -> CommonPeriod:
        """The same with instants at which nothing ticks."""
        at = dict(zip(self.instants, self.rates, strict=True))
        for t in more:
            at.setdefault(t % self.length, frozenset())
        times = sorted(at)
        return CommonPeriod(self.length, tuple(times), tuple(at[t] for t in times))

    def turned(self, k: int) -> CommonPeriod:
        """The same, beginning at its k-th instant."""
        times = [(t - self.instants[k]) % self.length for t in self.instants]
        return CommonPeriod(self.length, (*times[k:], *times[:k]), (*self.rates[k:], *self.rates[:k]))

    def duration(self, k: int) -> Fraction:
        """From the k-th instant to the next [s]."""
        following = self.instants[k + 1] if k + 1 < len(self.instants) else self.length
        return following - self.instants[k]


def common(periods: Iterable[Fraction]) -> Fraction:
    """Least common multiple of positive fractions."""
    several = list(periods)
    scale = math.lcm(*[p.denominator for p in several])
    return Fraction(math.lcm(*[int(p * scale) for p in several]), scale)
