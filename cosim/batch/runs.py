"""What many runs leave behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from blocks.errors import PlantloopError
from cosim.batch.ways import How
from cosim.names import Names

NO_RUNS = How("one after the other", 1, "there are no runs")


@dataclass(frozen=True, repr=False)
class Runs:
    """What many runs leave behind.

    time : (n,) s                    instants logged, the same in all runs
    table : (runs, n, width)         all signals side by side; ``runs["plant.x"]`` is a view (runs, n, k)
    columns : name -> slice of width
    errors : run -> exception        runs that stopped before their end; what is missing of them is nan
    labels : name -> texts           of a signal's components; optional
    aliases : name -> signal         other names of signals: the outputs of the diagram
    how : How                        in threads, in processes or one after the other, and why

    >>> runs["plant.x"]                                # (runs, n, k)
    >>> runs["plant.x[0]"], runs["plant.x.theta"]      # (runs, n): one component, by number or label
    """

    time: np.ndarray
    table: np.ndarray
    columns: Mapping[str, slice]
    errors: Mapping[int, PlantloopError] = field(default_factory=dict)
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    how: How = NO_RUNS

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, name: str) -> np.ndarray:
        signal, component = self._names.locate(name)
        values = self.table[:, :, self.columns[signal]]
        return values if component is None else values[:, :, component]

    @property
    def _names(self) -> Names:
        size = lambda n: self.columns[n].stop - self.columns[n].start
        labels = lambda n: self.labels.get(n, ())
        return Names("signal", "the log", self.columns, self.aliases, size=size, labels=labels)

    def keys(self) -> list[str]:
        """Names of the logged signals."""
        return list(self.columns)

    def __repr__(self) -> str:
        failed = f", {len(self.errors)} stopped early" if self.errors else ""
        return f"<{len(self)} runs: {len(self.time)} instants, {len(self.columns)} signals{failed}>"
