"""What a run keeps: rows of signals at the instants asked for, and sampled signals at their ticks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

import numpy as np

from blocks.arguments import is_number, real_numbers
from blocks.contract.rate import Rate, rational
from blocks.errors import BlockError, PlantloopError, near_miss, shown
from cosim.columns import stack
from cosim.engines.engine import Logged
from cosim.engines.methods.steppers import AcceptedStep
from cosim.engines.reference.bound import Bound
from cosim.engines.reference.invariants import Invariants
from cosim.engines.reference.unknowns import Unknowns
from cosim.engines.reference.workspace import Workspace
from cosim.result.record import Event, TickSeries
from cosim.run.memory import check_memory
from cosim.system import System
from cosim.system_parts import Signal

DEFAULT_INTERVALS = 1000
SMALL = 10**5  # rows or instants for which there is memory
SNAP = 1e-12  # relative; a log time this close to a stop is that stop (0.15000000000000002 is 0.15)


def log_times(
    start: float, until: float, log_every: Rate | str | None, log_at: Sequence[float] | None
) -> np.ndarray | None:
    """Instants [s] to log, None for every step; without a wish a thousand equal intervals.

    Multiples of an interval, and the end, whether it is one of them or not.

    Raises
    ------
    PlantloopError     both given, not increasing, outside [start, until], or an interval that is not positive
    """
    if log_at is not None and log_every is not None:
        raise PlantloopError("log_every and log_at exclude each other; give one of them.")
    if log_at is not None:
        return given_times(log_at, start, until, "log_at")
    if log_every is None and until == start:
        return np.array([float(until)])
    if log_every is None:
        return _multiples(Fraction(until) / DEFAULT_INTERVALS, 0, DEFAULT_INTERVALS)
    if isinstance(log_every, str) and log_every == "step":
        return None
    try:
        return _instants(start, until, log_every)
    except TypeError:  # it cannot be kept by: a list, an array
        return _instants.__wrapped__(start, until, log_every)


@lru_cache(maxsize=8, typed=True)
def _instants(start: float, until: float, log_every: Rate | str) -> np.ndarray:
    """Multiples of an interval, for many runs one after the other; nobody may change them."""
    try:
        every = rational(log_every, "log_every")
    except BlockError as error:
        if not isinstance(log_every, str):
            raise
        raise PlantloopError(
            f"log_every is '{log_every}', expected seconds or 'step'.",
            value=log_every,
            hint=near_miss(log_every, ["step"]).capitalize() if log_every[:4] == "step" else error.hint,
        ) from None
    if every <= 0:
        raise PlantloopError(f"log_every is {log_every} s, expected a positive interval.", value=log_every)
    first = -(-Fraction(start) // every) if start else 0
    last = _multiple_before(until, every)
    count = last - int(first) + 1
    if count > SMALL:
        check_memory(
            16.0 * min(count, 2**999), f"log_every={shown(log_every)} s over {until:g} s", "Log less often."
        )
    times = _multiples(every, int(first), last)
    ends = len(times) > 0 and until - times[-1] <= SNAP * until
    times = times if ends else np.append(times, until)  # the end is logged whatever the interval
    times.flags.writeable = False
    return times


def _multiple_before(until: float, every: Fraction) -> int:
    """The last multiple of an interval that is not behind the end by more than a billionth of it."""
    above, below = until.as_integer_ratio()
    times = below * every.numerator
    return (above * every.denominator * 10**9 + times) // (times * 10**9)


def _multiples(every: Fraction, first: int, last: int) -> np.ndarray:
    """Float nearest to each k * every, k = first to last: whole numbers are exact, a division rounds once."""
    above, below = every.as_integer_ratio()
    if max(last * above, above, below) < 2**53:  # above: NumPy takes no larger whole number, though last is 0
        return np.arange(first, last + 1) * above / below
    return np.array([k * above / below for k in range(first, last + 1)])


def given_times(
    times: object, start: float, until: float = np.inf, what: str = "instants to log"
) -> np.ndarray:
    """Instants a user listed, checked.

    Raises
    ------
    PlantloopError     no row of numbers, not finite, decreasing, or outside [start, until]
    """
    try:
        found = real_numbers(times)
    except (TypeError, ValueError, OverflowError):
        found = np.zeros((0, 0))
    if found.ndim != 1 or np.asarray(times).dtype.kind == "b":  # such as ``times > 1``
        cure = f"Write [{times:g}] for one instant." if is_number(times) else None
        wanted = f"{what}: got {shown(times)}, expected a list of times [s]."
        raise PlantloopError(wanted, value=times, hint=cure)
    _check_row(found, what)
    if len(found) and (found[0] < start * (1 - SNAP) or found[-1] > until * (1 + SNAP)):
        run = f"from {start:g} to {until:g} s" if np.isfinite(until) else f"that stands at {start:g} s"
        raise PlantloopError(
            f"{what} goes from {found[0]:g} to {found[-1]:g} s, outside the run {run}.",
            value=times,
            hint="Leave the others out" + (", or run longer: until=." if found[-1] > until else "."),
        )
    return found


def _check_row(times: np.ndarray, what: str) -> None:
    """Refuse a list of times with a gap or a step back in it, at its first place."""
    if len(gaps := np.flatnonzero(~np.isfinite(times))):
        k = int(gaps[0])
        raise PlantloopError(
            f"{what}: entry {k} is {times[k]}, expected a finite time [s]; {len(gaps)} of {len(times)} are "
            "not finite.",
            value=float(times[k]),
            hint="Leave gaps out: t[np.isfinite(t)].",
        )
    if len(back := np.flatnonzero(times[1:] < times[:-1])):
        k = int(back[0]) + 1
        raise PlantloopError(
            f"{what}: entry {k} is {times[k]:.9g} s, after one of {times[k - 1]:.9g} s; expected times that "
            "do not decrease.",
            value=float(times[k]),
            hint="Sort them: np.sort(t), or np.unique(t) for each one once.",
        )


@dataclass
class _Samples:
    """The sampled signals of one rate, a row per tick."""

    signals: list[Signal]
    row: Bound
    times: list[float] = field(default_factory=list)
    rows: list[np.ndarray] = field(default_factory=list)


class Log:
    """Collects rows while a run goes on."""

    def __init__(
        self,
        workspace: Workspace,
        unknowns: Unknowns,
        invariants: Invariants,
        names: Sequence[str],
        times: np.ndarray | None,
    ) -> None:
        system = workspace.system
        self.workspace, self.unknowns, self.invariants = workspace, unknowns, invariants
        self.names, self.times = list(names), times
        self._signals = [system.signal(n) for n in self.names]
        key = "signals:" + "|".join(self.names)
        logged = self._signals
        self._row = workspace.bind(key, lambda: [stack(s.expression for s in logged)])
        self._position = 0
        self._time: list[float] = []
        self._rows: list[np.ndarray] = []
        self.events: list[Event] = []
        self._ticked = [self._of_rate(system, k) for k in range(len(system.rates))]

    def _of_rate(self, system: System, k: int) -> _Samples | None:
        signals = [s for s in self._signals if s.ticks == system.rates[k]]
        if not signals:
            return None
        key = f"ticks{k}:" + "|".join(s.name for s in signals)
        bound = self.workspace.bind(key, lambda: [stack(s.expression for s in signals)])
        return _Samples(signals, bound)

    def step(self, step: AcceptedStep) -> None:
        """An accepted step: log what falls strictly inside it, right-continuous ends come later."""
        if self.times is None:
            return
        edge = step.t1 - SNAP * abs(step.t1)
        while self._position < len(self.times) and self.times[self._position] < edge:
            t = float(self.times[self._position])
            inside = max(t, step.t0)
            self.workspace.put(inside, self.invariants.restored(inside, step.inside(inside)))
            self.unknowns.refresh()
            self._add(t)
            self._position += 1

    def end_of_step(self, t: float) -> None:
        """The end of a step that is no stop."""
        if self.times is None:
            self._add(t)

    def instant(self, t: float, due: Sequence[int]) -> None:
        """After everything that happens at a stop."""
        for k in due:
            found = self._ticked[k]
            if found is not None:
                found.times.append(t)
                found.rows.append(found.row().copy())
        if self.times is None:
            self._add(t)
            return
        edge = t + SNAP * abs(t)
        while self._position < len(self.times) and self.times[self._position] <= edge:
            self._add(float(self.times[self._position]))
            self._position += 1
        if not self.workspace.context.stopped:
            return
        label = t  # the end of a run is its last row, asked for or not
        if self._rows and self._position and self.times[self._position - 1] >= t - SNAP * abs(t):
            label = float(self.times[self._position - 1])  # logged here, perhaps just before the event
            del self._rows[-1], self._time[-1]
        self._add(label)

    def _add(self, t: float) -> None:
        row = self._row().copy()
        if not np.isfinite(row).all():
            raise self.workspace.non_finite(t)
        self.workspace.last_good = t
        self._time.append(t)
        self._rows.append(row)

    def mark(self) -> tuple[int, ...]:
        """How far it is."""
        ticked = [0 if found is None else len(found.times) for found in self._ticked]
        return (self._position, len(self._time), len(self.events), *ticked)

    def back(self, mark: tuple[int, ...]) -> None:
        """Forget what came after a mark."""
        self._position, rows, events = mark[:3]
        del self._time[rows:], self._rows[rows:], self.events[events:]
        for found, count in zip(self._ticked, mark[3:], strict=True):
            if found is not None:
                del found.times[count:], found.rows[count:]

    def logged(self) -> Logged:
        """Everything kept so far."""
        tree = self.workspace.system.tree(self.names)
        table = np.array(self._rows).reshape(len(self._rows), tree.width)
        return Logged(np.array(self._time), tree.split(table), self._ticks(), tuple(self.events))

    def _ticks(self) -> dict[str, TickSeries]:
        """Samples of every sampled signal."""
        result: dict[str, TickSeries] = {}
        for found in self._ticked:
            if found is not None:
                tree = self.workspace.system.tree(s.name for s in found.signals)
                table = np.array(found.rows).reshape(len(found.rows), tree.width)
                for name, values in tree.split(table).items():
                    result[name] = TickSeries(np.array(found.times), values)
        return result
