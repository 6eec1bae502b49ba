"""The results of many runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from blocks.errors import PlantloopError
from cosim.batch.ways import How
from cosim.signal_tree import SignalTree

NO_RUNS = How("one after the other", 1, "there are no runs")


@dataclass(frozen=True, repr=False)
class Runs:
    """The results of many runs.

    time : (n,) s                    instants logged, the same in all runs
    table : (runs, n, width)         all signals side by side; ``runs["plant.x"]`` is a view (runs, n, k)
    tree : SignalTree                where each signal stands, its labels and other names
    errors : run -> exception        runs that failed before their end; what is missing of them is nan
    how : How                        in threads, in processes or one after the other, and why
    stopped : (runs,) bool           runs that a stop event ended: no error; from its stop on, every row of
                                     such a run shows the signals at the stop
    time_of_stop : (runs,) s         when; nan for a run that went to its end
    message : (runs,) of str         what the event says; "" for a run that went to its end

    >>> runs["plant.x"]                                # (runs, n, k)
    >>> runs["plant.x[0]"], runs["plant.x.theta"]      # (runs, n): one component, by number or label
    """

    time: np.ndarray
    table: np.ndarray
    tree: SignalTree
    errors: Mapping[int, PlantloopError] = field(default_factory=dict)
    how: How = NO_RUNS
    stopped: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    time_of_stop: np.ndarray = field(default_factory=lambda: np.zeros(0))
    message: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, name: str) -> np.ndarray:
        found: np.ndarray = self.table[:, :, self.tree.columns(name, "the log")]
        return found

    def keys(self) -> list[str]:
        """Names of the logged signals."""
        return list(self.tree)

    def __repr__(self) -> str:
        stopped = f", {self.stopped.sum()} stopped by an event" if self.stopped.any() else ""
        failed = f", {len(self.errors)} failed" if self.errors else ""
        return f"<{len(self)} runs: {len(self.time)} instants, {len(self.tree)} signals{stopped}{failed}>"
