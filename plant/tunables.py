"""Run-time parameters of a plant: every plain number of its bodies, forces and gravity.

Zeros are structural, and so are positions of markers, unless ``tunable=`` names them. Structural numbers
shape the equations: constants fold into them, and changing one means building the plant again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import casadi as ca

from blocks.contract.block import Equations
from blocks.contract.symbols import column
from blocks.contract.user_lines import warn_user
from blocks.errors import ModelError, near_miss, shown
from plant.elements import (
    FORCES,
    Body_Point,
    Body_Rigid,
    Constraint_Joint,
    Element,
    Force_Penalty,
    Model,
    Reference_Marker,
)
from plant.elements.bodies import shifted_too_far
from plant.elements.element import attributes_of
from plant.elements.kinds import Number, NumberOrExpression
from plant.names import slug
from plant.reporting import ModelProblems, PlantWarning

BEARERS: tuple[type[Element], ...] = (Body_Rigid, Body_Point, *FORCES, Force_Penalty)
"""Elements whose numbers are run-time parameters."""

POSITION = ("pos_x", "pos_y", "pos_z")


class Tunables:
    """Numeric attributes as symbols, declared as parameters of a block when first asked for."""

    def __init__(self, b: Equations, model: Model, tunable: Sequence[str]) -> None:
        self._b, self._model, self._tunable = b, model, frozenset(tunable)
        self._known: dict[str, ca.SX] = {}
        labels = Counter(slug(e.label) for kind in BEARERS for e in model.all(kind))
        self._unique = {name for name, count in labels.items() if name and count == 1}

    def __call__(self, element: Element, attribute: str) -> Any:
        """(1, 1) symbol of a number; 0.0 where it is a structural zero."""
        value, name = getattr(element, attribute), parameter_name(element, attribute)
        if not value and name not in self._tunable:
            return 0.0
        if name not in self._known:
            short = slug(element.label)
            aliases = (f"{short}.{attribute}",) if short in self._unique and type(element) in BEARERS else ()
            self._known[name] = column(self._b.parameter(name, value or 0.0, aliases=aliases))
        return self._known[name]

    def shift(self, marker_id: int) -> ca.SX | None:
        """(3, 1) shift of a marker along global axes in the design; None where its position is structural."""
        if not any(name.startswith(f"{Reference_Marker.tag}/{marker_id}.") for name in self._tunable):
            return None
        marker = self._model.find(Reference_Marker, marker_id)
        named = [name if parameter_name(marker, name) in self._tunable else "" for name in POSITION]
        return ca.vertcat(*[self(marker, name) - getattr(marker, name) if name else 0.0 for name in named])


def parameter_name(element: Element, attribute: str) -> str:
    """Name of a number among the plant's parameters, ``Body_Rigid/7.mass`` or ``Force_Gravity.grav_z``."""
    return f"{element.tag}/{element.id}.{attribute}" if element.id else f"{element.tag}.{attribute}"


def named_numbers(model: Model) -> dict[str, tuple[Element, str]]:
    """Element and attribute of every number that may be a parameter, by the name of that."""
    elements = [element for same_type in model.elements.values() for element in same_type.values()]
    return {
        parameter_name(element, name): (element, name)
        for element in (*elements, model.gravity)
        for name in attributes_of(type(element))
    }


class _Numbered(Protocol):
    @property
    def model(self) -> Model:
        """What its numbers belong to."""

    @property
    def numbers(self) -> Mapping[str, tuple[Element, str]]:
        """As `named_numbers` gives them."""


def check_numbers(plant: _Numbered, values: Mapping[str, float]) -> None:
    """Refuse numbers of elements, by their names as parameters of a plant, that they refuse, or no body has.

    Raises
    ------
    ModelProblems    naming the element
    """
    changes: dict[tuple[str, int], tuple[Element, dict[str, Any]]] = {}
    for name in values.keys() & plant.numbers.keys():
        element, attribute = plant.numbers[name]
        changes.setdefault((element.tag, element.id), (element, {}))[1][attribute] = values[name]
    for element, attributes in changes.values():
        fault = shifted_too_far(replace(element, **attributes), plant.model.frames)
        if fault and not shifted_too_far(element, plant.model.frames):  # else said when it was read
            raise ModelProblems([fault], path=element.where)


def check_tunable(model: Model, tunable: Sequence[str]) -> None:
    """Refuse names of `tunable` that are no number of the model, or one that has to stay structural.

    Raises
    ------
    ModelError    with the near miss
    """
    if isinstance(tunable, str):
        raise ModelError(
            f"tunable={tunable!r} is text, expected a list of names.", hint=f"Write [{tunable!r}]."
        )
    if not isinstance(tunable, Iterable) or not all(isinstance(name, str) for name in tunable):
        raise ModelError(
            f"tunable is {shown(tunable)}, expected a list of names.",
            value=tunable,
            hint='Write tunable=["Body_Rigid/1.mass"].',
        )
    known = {
        parameter_name(element, name)
        for kind in BEARERS
        for element in (*model.all(kind), model.gravity)
        for name, attribute in attributes_of(type(element)).items()
        if isinstance(attribute.kind, NumberOrExpression)
        or (isinstance(attribute.kind, Number) and not attribute.kind.start)
    }
    markers = {parameter_name(m, name): m for m in model.all(Reference_Marker) for name in POSITION}
    for wanted in tunable:
        if wanted in markers:
            _check_marker(model, markers[wanted], wanted)
        elif wanted not in known and wanted in named_numbers(model):
            raise ModelError(
                f"tunable names '{wanted}', which is built into the equations: parameters of a run are "
                "numbers of bodies, forces and gravity, and positions of markers.",
                path=named_numbers(model)[wanted][0].where, value=wanted,
                hint="Change the file and read it again.",
            )  # fmt: skip
        elif wanted not in known:
            raise ModelError(
                f"tunable names '{wanted}', which is no number of the model; "
                f"{near_miss(wanted, known | set(markers))}",
                value=wanted,
            )


def mention_unread(model: Model, tunable: Sequence[str], read: Callable[[], Collection[str]]) -> None:
    """Warn of tunable positions of markers that nothing reads: they are no parameters of the plant.

    read : names of the parameters that its equations have; asked only if there are such positions
    """
    markers = {parameter_name(m, name): m for m in model.all(Reference_Marker) for name in POSITION}
    if not any(name in markers for name in tunable):
        return
    found = read()
    for name in dict.fromkeys(tunable):
        if name in markers and name not in found:
            warn_user(
                f"tunable names '{name}', and no equation reads {markers[name].where}: it has no effect, and "
                "is no parameter of the plant. Name a marker that a force or an expression refers to.",
                PlantWarning,
            )


def _check_marker(model: Model, marker: Reference_Marker, wanted: str) -> None:
    """Positions that shape the mechanism itself stay structural."""
    reason = ""
    for joint in model.all(Constraint_Joint):
        if marker.id in (joint.i_marker_id, joint.j_marker_id):
            reason = f"it places {joint.where}"
    bodies: list[Body_Rigid | Body_Point] = [*model.all(Body_Rigid), *model.all(Body_Point)]
    for body in bodies:
        if marker.id in (body.cg_id, getattr(body, "im_id", None)):
            reason = f"it places the mass of {body.where}"
    if marker.rm_id is not None or any(m.rm_id == marker.id for m in model.all(Reference_Marker)):
        reason = "it is given relative to another marker, or another one relative to it"
    if reason:
        raise ModelError(
            f"tunable names '{wanted}', but {reason}, which is not supported yet.",
            path=marker.where,
            value=wanted,
            hint="Change the file and read it again.",
        )
