"""Two results in one page: curves of the second beside those of the first, and their differences."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

from cosim.result.differences import differences
from cosim.viewer.page_data import PageData
from cosim.viewer.stored_drawings import of_result

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
    return [list(astuple(one)) for one in differences(first, second)]
