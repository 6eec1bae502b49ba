"""Values that are meant to stay between two numbers, looked at when a run is over.

Nothing is added to what runs: the states and memories such a value depends on are logged beside the signals,
and the value is worked out from them at the logged instants. One that depends on algebraic unknowns, or on a
delay, is left alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from blocks.contract.symbols import hash_of
from cosim.engines.engine import Logged
from cosim.run.watched import WatchedSignalWarning
from cosim.system import System
from cosim.system_parts import NamedRange, Signal

ROUNDING = 1e-9  # of a range: what is beyond it by less is not beyond it


@dataclass(frozen=True, eq=False)
class Ranges:
    """The ranges of a system that can be looked at.

    signals : (k,) what is logged for it, by the names in a log
    function : (t, p, (k,) values of the signals) -> (n,) values of the ranges
    """

    ranges: tuple[NamedRange, ...]
    signals: tuple[Signal, ...]
    function: ca.Function | None

    @staticmethod
    def of(system: System) -> Ranges:
        """Those of a system, found once."""
        return system.derived.get("ranges", lambda: _ranges(system)) if system.ranges else NONE

    def warn(self, logged: Logged, p: np.ndarray) -> None:
        """Warn of each value that was beyond its range: how far, and when first.

        p : parameters of the run
        """
        if self.function is None or not len(logged.time):
            return
        columns = [logged.signals[s.name] for s in self.signals]
        values = np.hstack([np.zeros((len(logged.time), 0)), *columns])
        for r, worst, first in self.beyond(logged.time, values, p):
            warnings.warn(
                f"'{r.path}': {r.what} went to {worst:.6g}, beyond {r.low:g} to {r.high:g} (first at "
                f"t={first:.6g} s); {r.otherwise}.",
                WatchedSignalWarning,
                stacklevel=3,
            )

    def beyond(
        self, time: np.ndarray, values: np.ndarray, p: np.ndarray
    ) -> Iterator[tuple[NamedRange, float, float]]:
        """The ranges that were left at instants (m,): what was farthest beyond, and when first [s].

        values : (m, k) of the signals; p : parameters of the run
        """
        found = np.array(self.function(time[None, :], p, values.T)) if self.function else ()
        for r, row in zip(self.ranges, found, strict=True):
            slack = ROUNDING * (r.high - r.low)
            over = np.fmax(r.low - row, row - r.high)
            if np.fmax.reduce(over) > slack:
                yield r, row[np.nanargmax(over)], time[np.argmax(over > slack)]


NONE = Ranges((), (), None)


def _ranges(system: System) -> Ranges:
    unknown = {hash_of(symbol) for symbol in system.w.nonzeros()}
    read = [{hash_of(s) for s in ca.symvar(r.value)} for r in system.ranges]
    ranges = tuple(r for r, found in zip(system.ranges, read, strict=True) if not found & unknown)
    every = {h for found in read if not found & unknown for h in found}
    signals = _logged_for(system, every)
    value = ca.vertcat(*[r.value for r in ranges])
    given = ca.vertcat(ca.SX(0, 1), *[s.expression for s in signals])
    return Ranges(ranges, signals, ca.Function("ranges", [system.t, system.p, given], [value]))


def _logged_for(system: System, symbols: set[int]) -> tuple[Signal, ...]:
    """What has to be logged to know these symbols: states and memories."""
    found: dict[str, Signal] = {}
    for signal in system.observable.values():
        own = {hash_of(part) for part in signal.expression.nonzeros()}
        if symbols & own and signal.expression.is_valid_input():
            found[signal.name] = signal
            symbols = symbols - own
    return tuple(found.values())


def strip(logged: Logged, names: Sequence[str]) -> Logged:
    """A log without the signals of these names."""
    if not names:
        return logged
    signals = {n: v for n, v in logged.signals.items() if n not in names}
    ticks = {n: v for n, v in logged.ticks.items() if n not in names}
    return Logged(logged.time, signals, ticks, logged.found)
