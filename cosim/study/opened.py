"""The results of a study so far; they can be read while it is running."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from blocks.arguments import file_path, flag, is_whole
from blocks.errors import PlantloopError, near_miss
from blocks.figure_file import save_figure
from blocks.files import replacing
from cosim.result.result import Result
from cosim.signal_tree import Leaf, SignalTree
from cosim.study.running import FAILED
from cosim.study.store import StudyStore
from cosim.study.study_plan import StudyPlan

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

    from cosim.study.one_case import OneCase
    from cosim.viewer.page import Page
    from cosim.viewer.server.study_live import StudyLive


@dataclass(frozen=True, eq=False)
class StudyResult:
    """Results of a study: as a table, as signals, case by case.

    find_plan : what was run, to run cases again; None where that is not at hand
    """

    store: StudyStore
    find_plan: Callable[[], StudyPlan | None] = lambda: None

    def __len__(self) -> int:
        return self.store.manifest.count

    def __repr__(self) -> str:
        m = self.store.manifest
        done = len(self.store.done())
        return f"<Study of '{m.name}' in '{self.store.folder.url}': {done} of {m.count} cases done>"

    # --- looking --------------------------------------------------------------------------------------------
    @property
    def table(self) -> pd.DataFrame:
        """One row per case done so far: definition, metrics, requirements, status, message, wall time [s].

        A requirement is a column of True and False; how much margin there is, is beside it as
        "NAME.robustness".
        """
        return self.store.table()

    @property
    def failed(self) -> pd.DataFrame:
        """Rows of the cases that failed, or do not meet a requirement."""
        table = self.table
        bad = table["status"] == FAILED
        for name in self.store.manifest.requirements:
            if name in table:
                bad |= ~table[name].astype(bool)
        return table[bad]

    @property
    def missing(self) -> np.ndarray:
        """Numbers of the cases that are not done."""
        return np.setdiff1d(np.arange(self.store.manifest.count), self.store.done())

    @property
    def complete(self) -> bool:
        """Whether all cases are done."""
        return len(self.missing) == 0

    @property
    def passed(self) -> bool:
        """Whether no case failed and all meet all requirements."""
        return len(self.failed) == 0

    @property
    def signals(self) -> xr.Dataset:
        """Stored signals over (case, time), read when they are used; nan where nothing is stored.

        Outputs of subsystems are there by their own names and by those of the signals they show.

        Raises
        ------
        PlantloopError     the study keeps none, or they are damaged
        """
        if not self.store.manifest.stored:
            raise PlantloopError(
                "this study keeps no signals.", hint='Say keep = "all" or "failed" in its [store].'
            )
        return self.store.dataset()

    def case(self, number: int) -> OneCase | StoredCase:
        """One case: ``.result`` has all its signals, run again; without the model only the stored ones.

        Raises
        ------
        PlantloopError     no such case
        """
        count = self.store.manifest.count
        if not is_whole(number) or not 0 <= number < count:
            raise PlantloopError(f"no case {number!r}: there are {count}, counted from 0.", value=number)
        if self.plan is None:
            return StoredCase(self, int(number))
        from cosim.study.one_case import OneCase

        if any(np.isnan(values[number]).any() for values in self.plan.cases.columns.values()):
            raise PlantloopError(f"case {number} is not done yet.", value=number)
        return OneCase(self.plan, int(number), self.store)

    @cached_property
    def plan(self) -> StudyPlan | None:
        """The plan of the study, as given or read from the files in the results; None if unreadable."""
        return self.find_plan()

    def plot(
        self,
        *names: str,
        cases: Sequence[int] | None = None,
        path: str | os.PathLike[str] | None = None,
    ) -> Figure:
        """Signals over time with their envelope over all cases, or metrics over parameters.

        names : stored signals (or components), one row each; or two columns of the table, one over the other
        cases : of signals, those to draw as lines; default the ten worst, or first ones
        path : file the picture is saved to, as of `cosim.Result.plot`
        """
        from cosim.study.study_plots import plotted

        figure = plotted(self, names, cases)
        if path is not None:
            save_figure(figure, path)
        return figure

    def report(self, file: str | os.PathLike[str]) -> None:
        """Write the results as one self-contained HTML page."""
        from cosim.study.study_report import report

        with replacing(file_path(file, "the page", "report.html")) as temporary:
            temporary.write_text(report(self), encoding="utf-8")

    @overload
    def view(
        self, *, out: str | os.PathLike[str] | None = None, show: bool = True, live: Literal[False] = False
    ) -> Page: ...

    @overload
    def view(
        self, *, live: Literal[True], show: bool = True, host: str = "127.0.0.1", port: int = 0
    ) -> StudyLive: ...

    def view(
        self,
        *,
        out: str | os.PathLike[str] | None = None,
        show: bool = True,
        live: bool = False,
        **address: Any,
    ) -> Page | StudyLive:
        """One page in the browser: cases, parallel coordinates, metrics and envelopes.

        What is selected in one is selected in all. Also while the study runs: as far as it is.

        out : path      where the page is written; default a temporary file that a browser shows
        show : bool     False: no browser is opened
        live : bool     a page that renews itself while the study runs, see `cosim.viewer.server.study_live`
        host, port      where a live page is served

        Raises
        ------
        PlantloopError      the page cannot be written, or served
        """
        if flag(live, "live"):
            if out is not None:
                raise PlantloopError("a live page is no file: leave out= away.", value=out)
            from cosim.viewer.server.study_live import view_study

            return view_study(self, show=show, **address)
        if address:
            raise PlantloopError(f"{', '.join(address)} belongs to live pages.", hint="Add live=True.")
        from cosim.viewer.page import view
        from cosim.viewer.study_data import of_study

        return view(of_study(self), out, show)

    def sensitivity(self, metric: str, method: str = "auto") -> pd.DataFrame:
        """The influence of each parameter on a metric; see `cosim.study.sensitivity`."""
        from cosim.study.sensitivity import sensitivity

        return sensitivity(self, metric, method)

    def column(self, name: str) -> np.ndarray:
        """A column of the table as numbers.

        Raises
        ------
        PlantloopError     no such column, or one of texts
        """
        table = self.table
        if name not in table:
            raise PlantloopError(
                f"the table has no column '{name}'; {near_miss(name, map(str, table.columns))}", path=name
            )
        if table[name].dtype.kind not in "biuf":
            raise PlantloopError(
                f"column '{name}' of the table has texts, expected one of numbers.", path=name
            )
        return table[name].to_numpy(dtype=float)


@dataclass(frozen=True)
class StoredCase:
    """A case of which only the stored results are available."""

    of: StudyResult
    number: int

    @property
    def parameters(self) -> dict[str, Any]:
        """The definition of the case: variant, seed, numbers by name."""
        m, row = self.of.store.manifest, self._row
        return {name: row[name] for name in ("variant", "seed", *m.parameters) if name in row}

    @property
    def measures(self) -> dict[str, Any]:
        """Metrics, requirements, status and message."""
        return {str(name): value for name, value in self._row.items() if name not in self.parameters}

    @property
    def _row(self) -> dict[str, Any]:
        table = self.of.table
        if self.number not in table.index:
            raise PlantloopError(f"case {self.number} is not done yet.", value=self.number)
        return dict(table.loc[self.number])

    @property
    def result(self) -> Result:
        """The stored signals of the case.

        Raises
        ------
        PlantloopError     nothing is stored of it
        """
        m, signals = self.of.store.manifest, self.of.signals
        found = {name: self.of.store.numbers_of(signals[name][self.number]) for name in m.stored}
        wide = {name: v if v.ndim == 2 else v[:, None] for name, v in found.items()}
        kept = np.zeros(len(m.times), bool)
        for values in wide.values():
            kept |= ~np.isnan(values).all(axis=1)  # inf may be stored
        if not kept.any():
            raise PlantloopError(
                f"no signals are stored of case {self.number}.",
                value=self.number,
                hint="Open the study with what was run, open_study(out, study=study), to run the case again.",
            )
        leaves = [
            Leaf(name, 0, size, labels if any(labels) else ()) for name, (size, labels) in m.stored.items()
        ]
        row = self._row
        return Result(
            name=m.name,
            time=np.array(m.times)[kept],
            signals={name: values[kept] for name, values in wide.items()},
            tree=SignalTree.of(leaves, m.other_names),
            complete=row["status"] != FAILED,
            message=str(row["message"]),
        )
