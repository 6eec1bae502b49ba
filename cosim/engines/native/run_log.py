"""What a run on the native engine logs: rows of signals, samples at ticks, events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cosim.engines.engine import Logged
from cosim.engines.native import bindings as b
from cosim.engines.native.build import Compiled
from cosim.engines.native.event_log import EventLog
from cosim.engines.native.rows import SAMPLES, Rows
from cosim.result.record import TickSeries
from cosim.system import System


class RunLog:
    """The buffers of one run, and what was taken out of them.

    table : `pl_log`; events : those of the run. Buffers are made where something is written or read: what a
    run logs may be chosen several times before it begins.
    """

    def __init__(self, system: System, code: Compiled) -> None:
        self._system, self._code = system, code
        self.table = b.new("pl_log")
        self.table.ticks = self._buffers = b.new("pl_buffer", len(system.rates))
        self.events = EventLog(system, b.ffi().addressof(self.table, "events"))
        self._names: list[str] = []
        self._times: np.ndarray | None = np.zeros(0)
        self._made: tuple[Rows, list[tuple[Rows, list[str]]]] | None = None

    def start(self, names: Sequence[str], times: np.ndarray | None) -> None:
        """See `Engine.start_log`."""
        self._names, self._made = list(names), None
        self._times = None if times is None else np.ascontiguousarray(times, dtype=float)
        self.events.clear()

    @property
    def rows(self) -> Rows:
        """Rows of the signals."""
        return (self._made or self._make())[0]

    @property
    def samples(self) -> list[tuple[Rows, list[str]]]:
        """Samples at the ticks of each rate, and their names."""
        return (self._made or self._make())[1]

    def _make(self) -> tuple[Rows, list[tuple[Rows, list[str]]]]:
        log, times = self.table, np.zeros(0) if self._times is None else self._times
        log.every_step, log.times, log.n_times = self._times is None, b.pointer(times), len(times)
        log.position = 0
        log.log = empty = b.new("pl_buffer")[0]
        samples = []
        for k, rate in enumerate(self._system.rates):
            chosen = [n for n in self._names if self._system.signal(n).ticks == rate]
            self._buffers[k] = empty
            samples.append((Rows(self._code, chosen, self._buffers + k, SAMPLES), chosen))
        rows = Rows(self._code, self._names, b.ffi().addressof(log, "log"))
        self._kept, self._made = times, (rows, samples)
        return self._made

    def reserve(self, span: float) -> None:
        """Room for the rows of the next `span` [s], as far as their number is known."""
        rows, log = self.rows, self.table
        rows.reserve(1024 if log.every_step else int(log.n_times - log.position) + 1)
        for (found, names), rate in zip(self.samples, self._system.rates, strict=True):
            if names:
                found.reserve(int(span / float(rate.period)) + 2)

    def only_rows(self) -> None:
        """From now on nothing but rows is kept."""
        if self._made is None:
            self._make()
        for buffer in self._buffers:
            buffer.width = 0
        self.events.discard()

    def mark(self) -> Any:
        """See `Engine.log_mark`."""
        rows = (len(self.rows), *(len(found) for found, _ in self.samples))
        return int(self.table.position), self.events.used, rows

    def back(self, mark: Any) -> None:
        """See `Engine.log_back`."""
        self.table.position, events, rows = mark
        self.events.back(events)
        for found, count in zip([self.rows, *(found for found, _ in self.samples)], rows, strict=True):
            found.back(count)

    def logged(self) -> Logged:
        """See `Engine.logged`."""
        table, tree = self.rows.all(), self._system.tree
        ticks: dict[str, TickSeries] = {}
        for rows, names in self.samples:
            if names:
                found = rows.all()
                ticks |= {n: TickSeries(found[:, 0], v) for n, v in tree(names).split(found[:, 1:]).items()}
        return Logged(table[:, 0], tree(self._names).split(table[:, 1:]), ticks, self.events.kept())
