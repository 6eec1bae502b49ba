"""Two results in one page: curves of the second beside those of the first, and their differences."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

from cosim.result.differences import differences, pairs
from cosim.signal_tree import Leaf
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
    """The page of a result, with the curves of those signals of another that it has too.

    The table of differences looks at the instants of the first that the second covers; the second is taken in
    between as a line, or as its last sample where the signal is sampled.

    labels : what the results are called in the page; forces, linear : see `of_result`
    """
    page = of_result(first, forces, linear)
    page.add_result(second, "other", _named(first, second))
    page.content["labels"] = list(labels)
    page.add_table("differences", COLUMNS, _rows_of(first, second))
    return page


def _named(first: Any, second: Any) -> list[tuple[Leaf, Leaf]]:
    """Signals of the second, each with the one of the first that it is compared with."""
    theirs = {leaf.name: leaf for leaf in second.tree.leaves}
    found = {name: name for name in theirs} | pairs(first, second)  # samples alone: by the same name
    return [
        (theirs[found[leaf.name]], leaf)
        for leaf in first.tree.leaves
        if leaf.name in found and theirs[found[leaf.name]].size == leaf.size
    ]


def _rows_of(first: Any, second: Any) -> list[list[Any]]:
    return [list(astuple(one)) for one in differences(first, second)]
