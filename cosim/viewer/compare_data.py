"""Two results in one page: curves of the second beside those of the first, and their differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from cosim.viewer.kept import of_result
from cosim.viewer.page_data import PageData

COLUMNS = (
    "signal",
    "unit",
    "largest difference",
    "at t [s]",
    "relative to largest value",
    "instants compared",
)


def of_two(
    first: Any, second: Any, labels: tuple[str, str], forces: bool = False, linear: bool = False
) -> PageData:
    """The page of a result, with the curves of another.

    The table of differences looks at the instants of the first that the second covers; the second is taken in
    between as a line, or as its last sample where the signal is sampled.

    labels : what the results are called in the page; forces, linear : see `of_result`
    """
    page = of_result(first, forces, linear)
    page.add_result(second, "other")
    page.content["labels"] = list(labels)
    page.add_table("differences", COLUMNS, _rows_of(first, second))
    return page


def _rows_of(first: Any, second: Any) -> list[list[Any]]:
    found: list[list[Any]] = []
    for leaf in first.tree.leaves:
        if leaf.name not in first.signals:
            continue
        if leaf.name not in second.signals or second.signals[leaf.name].shape[1] != leaf.size:
            found.append([leaf.name, "", None, None, None, 0])
            continue
        inside = (first.time >= second.time[0]) & (first.time <= second.time[-1])
        time = first.time[inside]
        for k, name in enumerate(leaf.components):
            one, other = first.signals[leaf.name][inside, k], second.signals[leaf.name][:, k]
            if leaf.rate is not None:
                there = other[np.searchsorted(second.time, time, side="right") - 1]
            else:
                there = np.interp(time, second.time, other)
            apart = np.abs(one - there)
            if not np.isfinite(apart).any():
                found.append([name, leaf.unit(k), None, None, None, len(time)])
                continue
            at = int(np.nanargmax(apart))
            size = max(float(np.nanmax(np.abs(one))), float(np.nanmax(np.abs(there))))
            share = float(apart[at]) / size if size > 0 else 0.0
            found.append([name, leaf.unit(k), float(apart[at]), float(time[at]), share, len(time)])
    return found
