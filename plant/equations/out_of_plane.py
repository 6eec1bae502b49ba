"""Whether what acts in a model of one plane may push its bodies out of it.

Where it may, the bodies are given coordinates in space: planar ones know nothing of reactions across.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from plant.description import Description
from plant.elements import (
    FORCES,
    Constraint_General,
    Element,
    Force_Penalty,
    Model,
    Reference_Variable,
)
from plant.elements.forces.in_plane import Plane
from plant.expressions.formulas import Formulas


def with_what_acts(description: Description, model: Model, formulas: Formulas) -> Description:
    """The description of a model, with whether its elements may push it out of its plane."""
    plane = Plane.of(description)
    if plane is None or _stays(plane, model, formulas):
        return description
    return replace(description, pushed_across=True)


def _stays(plane: Plane, model: Model, formulas: Formulas) -> bool:
    for kind in FORCES:
        if not all(element.in_plane(plane) for element in model.all(kind)):
            return False
    return all(plane.mirrors(_asked(e, formulas)) for e in _along_gradients(model)) and not any(
        e.has_subroutine for e in _along_gradients(model)
    )


def _along_gradients(model: Model) -> Iterator[Force_Penalty | Constraint_General | Reference_Variable]:
    """Elements that act along the gradient of an expression."""
    yield from model.all(Force_Penalty)
    yield from model.all(Constraint_General)
    yield from (v for v in model.all(Reference_Variable) if v.is_implicit)


def _asked(element: Element, formulas: Formulas) -> Iterator[int]:
    """Markers its expression asks for, by itself or through variables."""
    own = formulas.get((element.tag, element.id, "expr"))
    kinds = set() if own is None else {kind for kind, _ in own.references()}
    read = [] if own is None else [own]
    if kinds - {"marker", "time", "spline"}:  # through other elements: whatever any variable asks for
        read += [f for (tag, _, _), f in formulas.items() if tag == Reference_Variable.tag]
    for expression in read:
        yield from (int(ids[0]) for kind, ids in expression.references() if kind == "marker")
