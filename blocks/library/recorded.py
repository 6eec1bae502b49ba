"""Recorded signals as a source: arrays, data frames, files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from blocks.arguments import real_numbers
from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.errors import shown
from blocks.functions import pick
from blocks.library.lookup import spline_coefficients
from blocks.table_file import SUFFIXES, read_table

__all__ = ["FromData"]


@dataclass(frozen=True)
class FromData(Block):
    """A signal that was recorded, or comes from elsewhere.

    Output: y(t) through the points of the data: "linear" straight lines, "previous" a staircase
    (right-continuous), "cubic" the not-a-knot spline. The first value holds before the first time, the last
    one after the last.  No inputs, no states. A step ends on every point where y has a corner or a jump.

    data : (times, values) with values (n,) or (n, k); a pandas Series or DataFrame, or an xarray DataArray,
        with the times as index or first dimension; the path of a .csv or .parquet file with the times in its
        first column, or stored as index by pandas, in a scenario relative to the scenario. Times are in s
        and increase; structural
    columns : names of columns, in order; None for all; structural
    interpolation : "linear", "previous" or "cubic"; structural

    Use::

        road = d.add("road", FromData(([0.0, 1.0, 2.0], [0.0, 0.1, 0.0])))
        d.connect(road["y"], sink["u"])

    Source: the spline as in de Boor, A Practical Guide to Splines, ch. IV (not-a-knot end conditions).
    """

    reads: ClassVar[tuple[str, ...]] = ("data",)

    data: Any
    columns: Sequence[str] | None = None
    interpolation: str = "linear"

    def __post_init__(self) -> None:
        checks.choice(self, "interpolation", ("linear", "previous", "cubic"))
        names = self.columns
        if isinstance(names, str):
            names = (names,)
        if names is not None:
            if (
                not isinstance(names, (list, tuple))
                or not names
                or not all(isinstance(n, str) for n in names)
            ):
                raise checks.fault(self, "columns", f"is {shown(self.columns)}", "names of columns, or None")
            names = tuple(names)
        times, values = self._read(names)
        self._check(times, values)
        rows = tuple(map(tuple, values.tolist()))
        checks.assign(self, data=(tuple(times.tolist()), rows), columns=None)

    def _read(self, names: tuple[str, ...] | None) -> tuple[np.ndarray, np.ndarray]:
        data = self.data
        if isinstance(data, (str, os.PathLike)):
            data = self._file(Path(data))
        if hasattr(data, "to_series") and hasattr(data, "dims"):  # xarray
            data = data.to_pandas()
        if hasattr(data, "index") and hasattr(data, "to_numpy"):  # pandas
            if names is not None:
                missing = [n for n in names if n not in getattr(data, "columns", ())]
                if missing:
                    known = ", ".join(map(str, getattr(data, "columns", ())))
                    raise checks.fault(self, "columns", f"has {missing[0]!r}", f"some of: {known}")
                data = data[list(names)]
            pair = (data.index.to_numpy(), data.to_numpy())
        elif names is not None:
            raise checks.fault(self, "columns", f"is {names}", "None: an array has no names of columns")
        elif isinstance(data, (list, tuple)) and len(data) == 2:
            pair = (data[0], data[1])
        else:
            expected = "(times, values), a pandas or xarray object, or the path of a .csv or .parquet file"
            raise checks.fault(self, "data", f"is {shown(self.data)}", expected)
        try:
            times, values = real_numbers(pair[0]), real_numbers(pair[1])
        except (OverflowError, TypeError, ValueError):
            raise checks.fault(
                self,
                "data",
                "has entries that are no numbers",
                "times in s and numbers",
                "Of dates: (index - index[0]).total_seconds().",
            ) from None
        return times, values.reshape(-1, 1) if values.ndim == 1 else values

    def _file(self, path: Path) -> Any:
        if path.suffix.lower() not in SUFFIXES:
            raise checks.fault(self, "data", f"is the path {path}", "a .csv or .parquet file")
        try:
            frame = read_table(path)
        except OSError as error:
            raise checks.fault(
                self, "data", f"is {path}: {error.strerror}", "a file that can be read"
            ) from None
        except Exception as error:  # whatever a damaged file makes pandas raise
            raise checks.fault(self, "data", f"is {path}: {error}", "a table") from None
        return self._by_time(frame, path)

    def _by_time(self, frame: Any, path: Path) -> Any:
        """A table with its times as index: those that pandas has stored as its index, or the first column."""
        numbered = hasattr(frame.index, "step")  # 0, 1, 2, ..., what a table has without an index of its own
        if not numbered and (frame.index.name is not None or len(frame.columns) < 2):
            return frame
        if not numbered:
            what = f"is {path}, whose rows have an index without a name"
            cure = 'Name it where it is the time, frame.index.name = "t"; else frame.reset_index(drop=True).'
            raise checks.fault(self, "data", what, "times in an index with a name or the first column", cure)
        if len(frame.columns) < 2:
            what = f"is {path}, which has one column"
            raise checks.fault(self, "data", what, "times in the first column, values in others")
        return frame.set_index(frame.columns[0])

    def _check(self, times: np.ndarray, values: np.ndarray) -> None:
        least = 4 if self.interpolation == "cubic" else 1
        if times.ndim != 1 or values.ndim != 2 or len(times) != len(values) or len(times) < least:
            what = f"has times of shape {times.shape} and values of shape {values.shape}"
            raise checks.fault(self, "data", what, f"(n,) and (n,) or (n, k), n at least {least}")
        if not (np.all(np.isfinite(times)) and np.all(np.isfinite(values))) or not values.shape[1]:
            raise checks.fault(
                self, "data", "has gaps or infinite numbers", "finite numbers", "Drop those rows."
            )
        back = np.flatnonzero(np.diff(times) <= 0)
        if back.size:
            what = f"goes from {times[back[0]]:g} to {times[back[0] + 1]:g} s"
            raise checks.fault(
                self, "data", what, "increasing times", "Sort the rows; keep one of each time."
            )

    def define(self, b: Equations) -> None:
        """Declare the instants and the output."""
        times, values = (np.array(part, dtype=float) for part in self.data)
        passed = b.instants([_short(t) for t in times.tolist()])[0]
        first, last = values[:1], values[-1:]
        if self.interpolation == "previous":
            b.output("y", pick(np.concatenate([first, values]), passed))
            return
        h = np.diff(times)[:, None]
        if self.interpolation == "linear":
            rows = [values[:-1], np.diff(values, axis=0) / h]
        else:
            rows = [values[:-1], *spline_coefficients(times, values)]
        start = np.concatenate([times[:1], times]).reshape(-1, 1)
        since = b.time - pick(start, passed)
        ends = [(first, last)] + [(0.0 * first, 0.0 * last)] * (len(rows) - 1)
        padded = [np.concatenate([a, row, z]) for (a, z), row in zip(ends, rows, strict=True)]
        y = pick(padded[-1], passed)
        for row in padded[-2::-1]:
            y = y * since + pick(row, passed)
        b.output("y", y)


def _short(t: float) -> float:
    """The time, rounded to what instants can be: recorded times have digits of rounding at their end."""
    return round(t, 12)
