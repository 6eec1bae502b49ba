"""The next ticks of the input clocks of one FMU instance, and the number of ticks of each clock.

Periodic clocks (constant, fixed, tunable) tick first at t_start + shift and then every interval; a changing
clock after the interval that the FMU says at each tick; a countdown clock when the FMU announces it.
Instants of periodic clocks are found by one division each, never by sums.

Source: FMI 3.0.2, section 2.2.9, Clocks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from blocks.contract.rate import instant
from cosim.fmi.description import ClockTiming, FMUDescription, Variable
from cosim.fmi.fmi_errors import FMUCallError
from cosim.fmi.interface.any_component import AnyComponent
from cosim.fmi.interface.outcomes import ClockInterval

NEAR = 1e-12  # relative; instants closer than this are equal


def reached(tick: float, t: float) -> bool:
    """Whether time t [s] has reached a tick, apart from rounding."""
    return tick <= t + NEAR * max(1.0, abs(t))


class ClockSchedule:
    """The clocks of one instance.

    intervals : intervals [s] that the user chose, by name
    counts : how often each clock has ticked, by name
    """

    def __init__(
        self, component: AnyComponent, description: FMUDescription, intervals: Mapping[str, Fraction]
    ) -> None:
        self._component, self._description = component, description
        self._chosen = dict(intervals)
        self.counts = {v.name: 0 for v in description.clocks}
        self._timed = [v for v in description.clocks if v.causality == "input" and _of(v).kind != "triggered"]
        self._period: dict[str, tuple[Fraction, Fraction, int]] = {}  # first tick, interval, ticks so far
        self._interval: dict[str, float] = {}  # the newest intervals of changing clocks
        self._next = {v.name: math.inf for v in self._timed}

    def prepare(self, start: float) -> None:
        """In initialisation mode, at `start` [s]: set and query intervals.

        Raises
        ------
        FMUError      nobody knows the interval of a clock
        """
        c = self._component
        chosen = [v for v in self._timed if v.name in self._chosen]
        c.clocks.set_intervals(chosen, [float(self._chosen[v.name]) for v in chosen])
        first = instant(start)
        asked = [v for v in self._timed if _of(v).interval is None or not _of(v).periodic]
        said = dict(zip((v.name for v in asked), c.clocks.intervals(asked), strict=True))
        shifted = [v for v in asked if _of(v).periodic]
        shifts = dict(zip((v.name for v in shifted), c.clocks.shifts(shifted), strict=True))
        for v in self._timed:
            clock = _of(v)
            if not clock.periodic:
                self.said(v, start, said[v.name])
                continue
            interval, shift = self._chosen.get(v.name, clock.interval), clock.shift
            if interval is None:
                seconds, shift = said[v.name].seconds, instant(shifts[v.name])
                if not seconds > 0 or not math.isfinite(seconds):
                    raise self._description.fault(f"clock '{v.name}' has an interval of {seconds} s")
                interval = instant(seconds)
            self._period[v.name] = (first + shift, interval, 0)
            self._next[v.name] = float(first + shift)

    @property
    def countdowns(self) -> list[Variable]:
        """Clocks whose intervals are queried in every event mode."""
        return [v for v in self._timed if _of(v).kind == "countdown"]

    @property
    def next(self) -> float:
        """Instant of the next tick [s], infinity where none is known."""
        return min(self._next.values(), default=math.inf)

    def due(self, t: float, triggers: Sequence[Variable] = ()) -> list[Variable]:
        """Clocks that tick at t [s], in order of priority; with `triggers`, which tick as well."""
        found = [v for v in self._timed if reached(self._next[v.name], t)]
        return sorted([*found, *triggers], key=_order)

    def ticked(self, v: Variable) -> None:
        """Note a tick of a clock."""
        self.counts[v.name] += 1
        if v.name in self._period:
            first, interval, count = self._period[v.name]
            self._period[v.name] = (first, interval, count + 1)
            self._next[v.name] = float(first + (count + 1) * interval)
        elif v.name in self._next:
            self._next[v.name] = math.inf  # until the FMU gives the next interval

    def said(self, v: Variable, t: float, interval: ClockInterval, ticked: bool = False) -> None:
        """Note the interval that the FMU returned at t [s] for a clock, which may have ticked there.

        Raises
        ------
        FMUCallError      an interval below zero, or no number
        """
        if not interval.known:
            return
        changing = _of(v).kind == "changing"
        if not interval.changed and not (changing and ticked and v.name in self._interval):
            return
        seconds = interval.seconds if interval.changed else self._interval[v.name]
        if not (seconds >= 0 and math.isfinite(seconds)):
            raise FMUCallError(
                f"FMU '{self._description.file}', instance '{self._component.name}': the next interval of "
                f"clock '{v.name}' is {seconds} s at t={t:.9g} s. {self._component.log.shown()}",
                port=v.name,
                time=t,
                value=seconds,
            )
        self._interval[v.name] = seconds
        self._next[v.name] = t + seconds

    def kept(self) -> Any:
        """All changing data, as plain data."""
        period = {n: [str(a), str(b), k] for n, (a, b, k) in self._period.items()}
        return {
            "period": period, "interval": dict(self._interval),
            "next": {n: t for n, t in self._next.items() if t < math.inf}, "counts": dict(self.counts),
        }  # fmt: skip

    def restored(self, kept: Any) -> None:
        """Put back what `kept` gave."""
        self._period = {n: (Fraction(a), Fraction(b), k) for n, (a, b, k) in kept["period"].items()}
        self._interval, self.counts = dict(kept["interval"]), dict(kept["counts"])
        self._next = {n: kept["next"].get(n, math.inf) for n in self._next}


def common_interval(d: FMUDescription, chosen: Mapping[str, Fraction]) -> Fraction | None:
    """The longest step [s] that divides all ticks of periodic clocks; None if there are none."""
    found = Fraction(0)
    for v in d.clocks:
        interval = chosen.get(v.name, _of(v).interval)
        if _of(v).periodic and interval is not None:
            for seconds in (interval, _of(v).shift):
                found = _divisor(found, seconds)
    return found or None


def _divisor(a: Fraction, b: Fraction) -> Fraction:
    common = math.gcd(a.numerator * b.denominator, b.numerator * a.denominator)
    return Fraction(common, a.denominator * b.denominator)


def _of(v: Variable) -> ClockTiming:
    assert v.clock is not None  # the variable is a clock
    return v.clock


def _order(v: Variable) -> tuple[bool, int]:
    priority = _of(v).priority
    return priority is None, priority or 0
