"""What every element is: an immutable record with an id, a place in a file, and its own checks.

One dataclass per element type; its class name is the XML tag and its fields are the XML attributes, letter
for letter. A field's type names its kind (``kinds.py``), so reading, converting and checking a single
attribute needs no code in the element. An element adds what concerns several attributes (``faults``) or
other elements (``faults_in``).
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Protocol, TypeVar

from blocks.errors import near_miss
from plant.elements.kinds import Boolean, Id, Kind, String
from plant.reporting import ModelProblems

E = TypeVar("E", bound="Element")


@dataclass(frozen=True)
class Source:
    """Where an element was read."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def place(source: Source | None, tag: str, id: object = None, label: str | None = None) -> str:
    """How messages name an element: ``deck.xml:42: Body_Rigid id=7 "Slider"``."""
    name = tag + (f" id={id}" if id else "") + (f' "{label}"' if label else "")
    return f"{source}: {name}" if source else name


def line(where: str, fault: str) -> str:
    """One line of a report: ``place: problem; cure.``"""
    return f"{where}: {fault}" if fault.endswith((".", "?")) else f"{where}: {fault}."


class Others(Protocol):
    """What an element may ask about the other elements of its model while it is checked."""

    def get(self, kind: type[E], id: int | None) -> E | None:
        """The element of this type and id, if there is one without problems of its own."""

    def ids(self, tag: str) -> Collection[int]:
        """Ids of the elements of a type."""

    def missing(self, tags: tuple[str, ...], id: int) -> str | None:
        """What is wrong with the id of an element of one of these types; None when it is there."""

    def first_to_list(self, kind: type[Element], attribute: str) -> Mapping[int, int]:
        """Which element of a type lists an id first in this attribute: listed id to element id."""


@dataclass(frozen=True)
class Idle:
    """Attributes of an element that change nothing: why, and what to write instead."""

    names: tuple[str, ...]
    why: str
    cure: str

    def __str__(self) -> str:
        change = "changes" if len(self.names) == 1 else "change"
        return f"{', '.join(self.names)} {change} nothing: {self.why}; {self.cure}"


class ElementType(type):
    """The type of element types: what is no attribute of one is refused by name where it is written."""

    @property
    def __signature__(cls) -> inspect.Signature:
        """The arguments of the dataclass, for help and completion."""
        made = inspect.signature(cls.__init__)  # type: ignore[misc]
        return made.replace(parameters=[*made.parameters.values()][1:])

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make an element.

        Raises
        ------
        ModelProblems    what is no attribute, attributes without their names, or a missing one
        """
        try:
            return super().__call__(*args, **kwargs)
        except TypeError as error:
            signature = cls.__signature__
            try:
                signature.bind(*args, **kwargs)
            except TypeError as wrong:
                unknown = next((name for name in kwargs if name not in signature.parameters), None)
                fault = f"{wrong}; name every attribute: {cls.__name__}(id=1, ...)"
                if unknown is not None:
                    fault = f"has no attribute '{unknown}'; {near_miss(unknown, signature.parameters)}"
                raise ModelProblems([line(cls.__name__, fault)], about=cls.__name__) from error
            raise


@dataclass(frozen=True, kw_only=True)
class Element(metaclass=ElementType):
    """Base of all elements; an interface, nobody instantiates it.

    Subclasses may set ``synonyms`` (other spellings of attribute names), ``block`` (where the element may
    stand: "model", "command" or "either"), ``open_ended`` (keep attributes without a field of their own
    in ``attributes``), ``switchable`` (False where others find an inactive element all the same) and
    ``readers`` (functions of the expression language that read the force the element exerts,
    ``NAME(id, jflag, comp [, RM])``, the most general one first). ``is_active=False`` elements are kept, but
    ``Model.all`` leaves them out.
    """

    id: Id
    label: String | None = None
    is_active: Boolean = True
    source: Source | None = field(default=None, compare=False, repr=False)

    tag: ClassVar[str]
    block: ClassVar[str] = "model"
    open_ended: ClassVar[bool] = False
    readers: ClassVar[tuple[str, ...]] = ()
    switchable: ClassVar[bool] = True
    synonyms: ClassVar[Mapping[str, str]] = MappingProxyType({})

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.tag = cls.__name__

    def __post_init__(self) -> None:
        faults = list(self._check_attributes()) or list(self.faults())
        if faults:
            where = self.where
            raise ModelProblems([line(where, fault) for fault in faults], about=where, path=where)

    def _check_attributes(self) -> Iterator[str]:
        """Bring every attribute into its own type; a fault for each that is not of its kind."""
        for name, attribute in attributes_of(type(self)).items():
            value = getattr(self, name)
            if value is None:
                if attribute.default is not None:
                    yield f"{name} is None; give a value or leave it out"
                continue
            try:
                checked = attribute.kind.check(value)
            except ValueError as fault:
                yield f"{name}={shown(value)} {fault}"
                continue
            if checked is not value:
                object.__setattr__(self, name, checked)

    @property
    def where(self) -> str:
        """The element as messages name it, ``deck.xml:42: Body_Rigid id=7 "Slider"``."""
        return place(self.source, self.tag, self.id, self.label)

    def faults(self) -> Iterator[str]:
        """What is wrong with this element on its own: ``problem; cure`` for each fault."""
        yield from ()

    def faults_in(self, others: Others) -> Iterator[str]:
        """What is wrong between this element and the others; by itself, ids that name nothing."""
        for name, attribute in references_of(type(self)).items():
            value = getattr(self, name)
            for id in value if isinstance(value, tuple) else (value,):
                if id and (missing := others.missing(attribute.kind.tags, id)):
                    yield f"{name}={id} {missing}"

    def remarks(self) -> Iterator[str]:
        """What is usable but probably not meant; becomes a PlantWarning."""
        yield from ()

    def idle(self) -> Iterator[Idle]:
        """Attributes that are written and change nothing here; becomes a PlantWarning."""
        yield from ()

    def unused(self, names: Iterable[str], why: str, cure: str) -> Iterator[Idle]:
        """Those of some attributes that differ from their default, as idle for one reason."""
        attributes = attributes_of(type(self))
        written = [name for name in names if getattr(self, name) != attributes[name].default]
        if written:
            yield Idle(tuple(written), why, cure)

    @classmethod
    def read_text(cls, text: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Attributes given by the text between the tags; ``given`` are those already read.

        Most elements have none, and text there is a misplaced attribute.
        """
        raise ValueError(
            f"has the text {shown(text.strip())} between its tags, which means nothing there; "
            'write attributes inside the tag, as in id="1"'
        )


@dataclass(frozen=True)
class Attribute:
    """One XML attribute of an element type; ``default`` is MISSING when it must be written."""

    name: str
    kind: Kind
    default: object

    @cached_property
    def required(self) -> bool:
        return self.default is MISSING


_ATTRIBUTES: dict[type[Element], Mapping[str, Attribute]] = {}  # a memory of attributes_of, nothing else
_REFERENCES: dict[type[Element], Mapping[str, Attribute]] = {}


def attributes_of(cls: type[Element]) -> Mapping[str, Attribute]:
    """The XML attributes of an element type: every field whose type names a kind."""
    if cls not in _ATTRIBUTES:
        hints = typing.get_type_hints(cls, include_extras=True)
        kinds = {entry: _kind(hints[entry.name]) for entry in fields(cls)}
        _ATTRIBUTES[cls] = MappingProxyType(
            {
                entry.name: Attribute(entry.name, kind, entry.default)
                for entry, kind in kinds.items()
                if kind is not None
            }
        )
    return _ATTRIBUTES[cls]


def references_of(cls: type[Element]) -> Mapping[str, Attribute]:
    """Those attributes that hold ids of other elements."""
    if cls not in _REFERENCES:
        _REFERENCES[cls] = MappingProxyType({n: a for n, a in attributes_of(cls).items() if a.kind.tags})
    return _REFERENCES[cls]


def _kind(hint: Any) -> Kind | None:
    """The kind in ``Annotated[T, kind]`` or ``Annotated[T, kind] | None``; None where there is none."""
    for part in (hint, *typing.get_args(hint)):
        if typing.get_origin(part) is Annotated:
            kind: Kind = part.__metadata__[0]
            return kind
    return None


def shown(value: object) -> str:
    """A value as messages show it, cut to a readable length."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:56]}...{text[-1]}"
