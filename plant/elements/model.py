"""A whole model: everything a deck says, immutable."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar, cast

from blocks.errors import ModelError
from plant.elements.bodies import Body_Point, Body_Rigid
from plant.elements.draft import Draft, no_such
from plant.elements.element import Element, line, shown
from plant.elements.markers import Frame, Reference_Marker, design_frames
from plant.elements.world import Force_Gravity, Param_Unit
from plant.reporting import ModelProblems

E = TypeVar("E", bound=Element)
WRITTEN = "write elements such as Body_Rigid(id=1, isground=True), each by itself, in one list"


@dataclass(frozen=True)
class Model:
    """Everything a deck says; raw, in its own units and frames.

    ``elements`` maps tag, then id, to the element, in file order; ``commands`` is the command block in order.
    Models are equal when their elements are, wherever they were read from.
    """

    name: str
    file: str | None = field(default=None, compare=False)
    units: Param_Unit = field(default_factory=Param_Unit)
    gravity: Force_Gravity = field(default_factory=Force_Gravity)
    elements: Mapping[str, Mapping[int, Element]] = cast(Any, None)
    commands: tuple[Element, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.elements is None:
            what = f"Model({shown(self.name)}): elements become a model with Model.build(elements)."
            raise ModelProblems([what], about="Model")

    @classmethod
    def build(cls, elements: Iterable[Element], name: str = "model") -> Model:
        """A model from elements written in Python, checked as a file is.

        Raises
        ------
        ModelProblems    everything wrong with it, together, one line each

        Example
        -------
        >>> Model.build([Body_Rigid(id=1, isground=True)]).ground_body.id
        1
        """
        draft = Draft(name)
        for element in _elements(elements, name):
            if element.block == "command":
                draft.add_command(element)
            else:
                draft.add(element)
        draft.check()
        draft.report()
        return cls.of(draft)

    @classmethod
    def of(cls, draft: Draft, file: str | None = None) -> Model:
        """The model of a draft that was checked and found without problems."""
        return cls(
            name=draft.name,
            file=file,
            units=_active(draft.get(Param_Unit, 0)) or Param_Unit(),
            gravity=_active(draft.get(Force_Gravity, 0)) or Force_Gravity(),
            elements=_frozen(draft.elements),
            commands=tuple(draft.commands),
        )

    def changed(self, *elements: Element) -> Model:
        """The model with these elements in place of, or beside, those of the same type and id; checked.

        Raises
        ------
        ModelProblems    everything that is wrong with the new model
        """
        draft = Draft(self.name, self.file)
        draft.elements = {tag: dict(same) for tag, same in self.elements.items()}
        for element in _elements(elements, self.name):
            draft.elements.setdefault(element.tag, {})[element.id] = element
        draft.check()
        draft.remarks.clear()  # shown when the model was read
        draft.report()
        return dataclasses.replace(Model.of(draft, self.file), commands=self.commands)

    def all(self, kind: type[E]) -> list[E]:
        """The active elements of a type, in file order."""
        return [cast(E, e) for e in self.elements.get(kind.tag, {}).values() if e.is_active]

    def find(self, kind: type[E], id: int, asked_by: Element | None = None, attribute: str = "") -> E:
        """The element of a type with this id, active or not.

        Raises
        ------
        ModelError    naming who asks, the missing id and the nearest ids there are
        """
        same_type = self.elements.get(kind.tag, {})
        if id in same_type:
            return cast(E, same_type[id])
        place = asked_by.where if asked_by is not None else f"model '{self.name}'"
        name = f"{attribute}={id}" if attribute else f"id={id}"
        raise ModelError(
            line(place, f"{name} {no_such((kind.tag,), id, same_type)}"),
            path=place,
            value=id,
        )

    def body_of(self, marker: Reference_Marker) -> Body_Rigid | Body_Point:
        """The body a marker is fixed to."""
        if marker.body[0] == Body_Point.tag:
            return self.find(Body_Point, marker.body_id, marker, "body_id")
        return self.find(Body_Rigid, marker.body_id, marker, "body_id")

    @cached_property
    def ground_body(self) -> Body_Rigid:
        """The one body that is the ground."""
        return next(body for body in self.all(Body_Rigid) if body.isground)

    @cached_property
    def frames(self) -> Mapping[int, Frame]:
        """Origin r (3,) [length] and axes A (3,3) of every marker in the global frame, by marker id.

        In the design configuration; id 0 is the global frame itself. Arrays are read-only.
        """
        markers = cast(Mapping[int, Reference_Marker], self.elements.get(Reference_Marker.tag, {}))
        return design_frames(markers)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        listed = tuple(e for same_type in self.elements.values() for e in same_type.values())
        return hash((self.name, self.units, self.gravity, frozenset(listed), self.commands))

    def __reduce__(self) -> tuple[Any, ...]:
        # Read-only mappings cannot be pickled or deep-copied; plain ones can, and are wrapped again.
        plain = {tag: dict(same_type) for tag, same_type in self.elements.items()}
        return _rebuild, (self.name, self.file, self.units, self.gravity, plain, self.commands)


def _elements(given: Iterable[Element], name: str) -> list[Element]:
    """The elements, or the error that something else is among them."""
    about, found = f"model '{name}'", list(given) if isinstance(given, Iterable) else [given]
    problems = [
        line(about, f"{shown(e)} is no element; {WRITTEN}") for e in found if not isinstance(e, Element)
    ]
    if problems:
        raise ModelProblems(problems, about=about)
    return found


def _active(element: E | None) -> E | None:
    return element if element is not None and element.is_active else None


def _rebuild(
    name: str,
    file: str | None,
    units: Param_Unit,
    gravity: Force_Gravity,
    elements: Mapping[str, Mapping[int, Element]],
    commands: tuple[Element, ...],
) -> Model:
    return Model(name, file, units, gravity, _frozen(elements), commands)


def _frozen(elements: Mapping[str, Mapping[int, Element]]) -> Mapping[str, Mapping[int, Element]]:
    return MappingProxyType({tag: MappingProxyType(dict(same)) for tag, same in elements.items()})
