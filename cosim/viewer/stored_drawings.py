"""Diagrams and plants in files of results, which let a page show a run made elsewhere."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np

from blocks.contract.user_lines import warn_user
from blocks.errors import PlantloopError
from cosim.block_alone import system_of
from cosim.result.drawing import MOST_NUMBERS, KeptDrawing
from cosim.viewer.page_data import PageData, of_diagram

KEYS = ("diagram", "plants", "tables")
MOST_POSES = 4_000_000  # numbers of poses kept with a result (16 MB); beyond it instants are left out
POSE = 12


def drawing_of(result: Any) -> KeptDrawing | None:
    """The drawing to save with a result (`cosim.Result`); None if its diagram is unknown.

    Warns
    -----
    UserWarning     it cannot be made; the result is saved without it
    """
    if result.origin is None:
        found: KeptDrawing | None = result.drawing
        return found
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            drawn, system, _ = result.origin
            page = of_diagram(drawn, system, result, with_result=False, most=MOST_POSES)
            return KeptDrawing.of(page.text(), page.numbers.array())
    except Exception as error:  # code of a user's block may raise anything
        warn_user(f"'{result.name}' is saved without its drawing: {error}", UserWarning)
        return None


def of_result(result: Any, forces: bool = False, linear: bool = False) -> PageData:
    """A result (`cosim.Result`); with its diagram and plants, from this process or the file it was read from.

    forces : compute forces and reactions that were not logged, see `PageData.add_plants`
    linear : linear models about the start and later instants, see `cosim.viewer.linear_data`

    Raises
    ------
    PlantloopError      the drawing in its file is damaged; forces are asked for, and cannot be found
    """
    if result.origin is not None:
        drawn, system, start = result.origin
        page = of_diagram(drawn, system, result, forces=system_of if forces else None)
        if linear:
            from cosim.viewer.linear_data import add_linear  # slow to import

            add_linear(page, drawn, system, start, result)
        return page
    for asked, what in ((forces, "forces"), (linear, "a linear model")):
        if asked:
            raise PlantloopError(
                f"{what} of result '{result.name}' cannot be found: it comes from a file or another process.",
                hint="Ask where it was run: r.view(...), or cosim view of the scenario.",
            )
    page = PageData(result.name) if result.drawing is None else of_drawing(result.drawing)
    page.title = result.name
    page.add_result(result)
    return page


def of_drawing(drawing: KeptDrawing) -> PageData:
    """The page stored in a drawing.

    Raises
    ------
    PlantloopError      it is damaged
    """
    try:
        given = json.loads(drawing.text())
        page = PageData(str(given["title"]), {key: given[key] for key in KEYS if key in given})
        count = int(drawing.numbers.size)
        if drawing.numbers.ndim != 1 or count > MOST_NUMBERS:
            raise ValueError(f"its numbers have shape {drawing.numbers.shape}")
        for plant in page.content.get("plants", []):
            _check_plant(plant, count)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise PlantloopError(
            f"the drawing kept with this result is damaged: {error}.",
            hint="Save the result again, or with drawing=False.",
        ) from error
    page.numbers.put(drawing.numbers)
    return page


def _check_plant(plant: dict[str, Any], count: int) -> None:
    """Check that all references point at existing numbers."""
    rows, links, width = _inside(plant["poses"], count)
    if width != POSE:
        raise ValueError(f"poses have {width} numbers")
    if "instants" in plant and _inside(plant["instants"], count) != [rows]:
        raise ValueError("poses and their instants differ in number")
    used = [b["link"] for b in plant["bodies"]] + [j["link"] for j in plant["joints"]]
    used += [link for f in plant["forces"] for link in f["links"]]
    used += [a["link"] for a in plant.get("arrows", ())]
    if any(_inside(a["values"], count) != [rows, 3] for a in plant.get("arrows", ())):
        raise ValueError("an arrow has no value at every instant")
    if not all(isinstance(k, int) and -1 <= k < links for k in used):
        raise ValueError("a shape is on a link that is not there")


def _inside(ref: dict[str, Any], count: int) -> list[int]:
    at, shape = int(ref["at"]), [int(k) for k in ref["shape"]]
    if at < 0 or min(shape) < 0 or at + int(np.prod(shape, dtype=object)) > count:
        raise ValueError("it refers to numbers that are not there")
    return shape
