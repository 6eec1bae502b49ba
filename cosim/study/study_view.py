"""The interface of results that pictures, reports and analyses use, whatever the source of the results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from cosim.study.store import StudyStore

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


class StudyView(Protocol):
    """Results of a study; see `cosim.study.opened.StudyResult`."""

    @property
    def store(self) -> StudyStore:
        """The store of the results."""

    @property
    def table(self) -> pd.DataFrame:
        """One row per case."""

    @property
    def failed(self) -> pd.DataFrame:
        """Rows of cases that failed or do not meet a requirement."""

    @property
    def signals(self) -> xr.Dataset:
        """Stored signals over (case, time)."""

    def column(self, name: str) -> np.ndarray:
        """A column of the table as numbers."""
