"""Start values of many runs of one system, and room for what they log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from blocks.errors import PlantloopError
from cosim.run.context import Context
from cosim.settings import RunSettings
from cosim.system import System

# states of a run; an engine may write codes of its own above 0
DONE, WAITING, RUNNING, FAILED = (
    0,
    -1,
    -2,
    -3,
)


@dataclass(frozen=True)
class Starts:
    """Runs from t = 0 to `until` [s], numbered from 0; engines write into `rows`, `logged` and `state`.

    names, times : signals and instants [s] to log
    x, h, w, p : (runs, n) start values of each run, as in `cosim.system`
    seeds : (runs,) uint64 of random draws
    rows : (runs, capacity, 1 + width) time and signals side by side; nan where nothing was logged; a row per
        instant, and one more for the end of a run where an event may stop it
    logged : (runs,) int64 rows written
    stopped : (runs,) int32, which of `System.stops` ended a run, counted from 1, or 0
    ended : (runs,) s, where it stands
    state : (runs,) int32, 0 for a run that is done, by its end or by a stop event
    errors : why runs ended early, of those that were run one by one in this process
    """

    system: System
    settings: RunSettings
    until: float
    names: Sequence[str]
    times: np.ndarray
    x: np.ndarray
    h: np.ndarray
    w: np.ndarray
    p: np.ndarray
    seeds: np.ndarray
    rows: np.ndarray
    logged: np.ndarray
    stopped: np.ndarray
    ended: np.ndarray
    state: np.ndarray
    errors: dict[int, PlantloopError] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.state)

    def context(self, k: int) -> Context:
        """The context in which a run begins."""
        context = Context.initial(self.system)
        context.x[:], context.h[:], context.w[:], context.p[:] = self.x[k], self.h[k], self.w[k], self.p[k]
        context.next[:] = self.h[k]
        return context

    def settings_of(self, k: int) -> RunSettings:
        """The settings of a run: its own seed."""
        return replace(self.settings, seed=int(self.seeds[k]))

    def record(self, k: int, time: np.ndarray, signals: dict[str, np.ndarray]) -> None:
        """Keep what a run logged."""
        self.rows[k] = np.nan
        self.rows[k, : len(time)] = np.column_stack([time, *(signals[n] for n in self.names)])
        self.logged[k] = len(time)

    @property
    def done(self) -> int:
        """How many runs are done."""
        return int((self.state == DONE).sum())
