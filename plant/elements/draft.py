"""A model being put together: it collects elements and everything that is wrong with them.

The reader and ``Model.build`` fill a draft; when there are no problems it becomes a ``Model``. It is what
elements ask about one another (`Others`, in ``Element.faults_in``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TypeVar, cast

from blocks.contract.user_lines import warn_user
from plant.elements.bodies import Body_Rigid
from plant.elements.element import Element, Source, line, place
from plant.reporting import ModelProblems, PlantWarning

E = TypeVar("E", bound=Element)


class Draft:
    """Elements, commands, problems and remarks collected so far.

    Parameters
    ----------
    name : str    name of the model
    file : str    the file it is read from, as messages name it; None for a model written in Python
    """

    def __init__(self, name: str, file: str | None = None) -> None:
        self.name, self.file = name, file
        self.elements: dict[str, dict[int, Element]] = {}
        self.commands: list[Element] = []
        self.problems: list[str] = []
        self.remarks: list[str] = []
        self._in_commands: dict[str, set[int]] = {}  # elements that stand among the commands
        self._unreadable: dict[str, set[int]] = {}  # elements with problems of their own
        self._ignored: dict[str, dict[int, Source]] = {}  # elements of unsupported types
        self._first: dict[tuple[str, str], dict[int, int]] = {}

    def add(self, element: Element) -> None:
        """A model element; an id must be unique among the elements of its type."""
        same_type = self.elements.setdefault(element.tag, {})
        if (other := same_type.get(element.id)) is not None:
            there = f"first at {other.source}" if other.source else "given before"
            cure = "give it a new id" if element.id else "keep one of them"
            what = f"id={element.id} is used twice" if element.id else "stands twice in the model"
            self.problems.append(line(element.where, f"{what}, {there}; {cure}"))
            return
        same_type[element.id] = element

    def add_command(self, command: Element) -> None:
        """The next command of the command block."""
        self.commands.append(command)
        self._in_commands.setdefault(command.tag, set()).add(command.id)

    def unreadable(self, tag: str, id: int) -> None:
        """An element whose problems are reported already: references to it are no further problem."""
        self._unreadable.setdefault(tag, set()).add(id)

    def is_unreadable(self, id: int) -> bool:
        """Has an element of this id, of any type, problems that are reported already?"""
        return any(id in ids for ids in self._unreadable.values())

    def ignore(self, tag: str, id: int, source: Source) -> None:
        """An element of an unsupported type: references to it are a problem."""
        self._ignored.setdefault(tag, {})[id] = source

    def get(self, kind: type[E], id: int | None) -> E | None:
        """The element of this type and id, if there is one without problems of its own."""
        found = self.elements.get(kind.tag, {}).get(id or 0)
        return cast(E, found) if found is not None else None

    def ids(self, tag: str) -> Collection[int]:
        """Ids of the elements of a type."""
        return self.elements.get(tag, {}).keys()

    def first_to_list(self, kind: type[Element], attribute: str) -> Mapping[int, int]:
        """Which element of a type lists an id first in this attribute: listed id to element id."""
        key = (kind.tag, attribute)
        if key not in self._first:
            first: dict[int, int] = {}
            for element in self.elements.get(kind.tag, {}).values():
                for id in getattr(element, attribute):
                    first.setdefault(id, element.id)
            self._first[key] = first
        return self._first[key]

    def missing(self, tags: tuple[str, ...], id: int) -> str | None:
        """What is wrong with the id of an element of one of these types; None when it is there.

        The text continues ``attribute=12 ...``.
        """
        for tag in tags:
            places = (self.elements, self._in_commands, self._unreadable)
            if any(id in there.get(tag, ()) for there in places):
                return None
        family = tags[0].partition("_")[0]
        for tag, ids in self._ignored.items():
            if id in ids and tag.partition("_")[0].lower() == family.lower():
                if tag.lower() in {known.lower() for known in tags}:
                    return (
                        f"is the {tag} of {ids[id]}, which stands inside another element; move it out of that"
                    )
                return (
                    f"is the {tag} of {ids[id]}, an element type that is not supported; "
                    f"replace it by a {' or '.join(tags)}"
                )
        return no_such(tags, id, (known for tag in tags for known in self.elements.get(tag, {})))

    def check(self) -> None:
        """Look for everything that is wrong between elements, and for what is doubtful."""
        active = [e for same_type in self.elements.values() for e in same_type.values() if e.is_active]
        self._check_ground()
        for element in (*active, *self.commands):
            self.problems.extend(line(element.where, fault) for fault in element.faults_in(self))
            self.remarks.extend(line(element.where, remark) for remark in element.remarks())
        self.remarks.extend(_idle((*active, *self.commands)))
        for same_type in self.elements.values():
            for element in same_type.values():
                if not element.is_active and not element.switchable:
                    why = 'what refers to it finds it all the same; delete it, or write is_active="TRUE"'
                    self.remarks.append(line(element.where, f"is_active changes nothing: {why}"))

    def report(self) -> None:
        """Warn of what is doubtful, raise what is wrong; called by what the user called.

        Raises
        ------
        ModelProblems    all problems together, one line each
        """
        for remark in self.remarks:
            warn_user(remark, PlantWarning)
        if self.problems:
            raise ModelProblems(self.problems, about=self.file or f"model '{self.name}'")

    def _check_ground(self) -> None:
        """Exactly one active ground body, with every other one named."""
        bodies = cast("Iterable[Body_Rigid]", self.elements.get("Body_Rigid", {}).values())
        ground = [body for body in bodies if body.isground and body.is_active]
        if not ground and not self._unreadable.get("Body_Rigid"):
            about = self.file or f"model '{self.name}'"
            self.problems.append(
                f"{about}: {place(None, 'Body_Rigid')}: there is no ground body; "
                'add one, such as <Body_Rigid id="1" isground="TRUE"/>.'
            )
        for body in ground[1:]:
            self.problems.append(
                f'{body.where}: isground="TRUE", but {ground[0].where} is the ground already; '
                "keep one ground body and move the markers of the other to it."
            )


def _idle(elements: Iterable[Element]) -> Iterator[str]:
    """What is written without effect, once per kind: of the first element, with the number of the others."""
    found: dict[tuple[str, str], list[str]] = {}
    for element in elements:
        for idle in element.idle():
            found.setdefault((element.tag, str(idle)), []).append(element.where)
    for (_, text), places in found.items():
        more = f" (and of {len(places) - 1} more)" if len(places) > 1 else ""
        yield line(places[0] + more, text)


def no_such(tags: tuple[str, ...], id: int, ids: Iterable[int]) -> str:
    """Text for an id that names nothing, with the nearest ids there are."""
    known = set(ids)
    what = " or ".join(tags)
    if not known:
        return f"names a {what}, and the model has none; add it or correct the id"
    slips = sorted(_slips(id) & known)
    if slips:
        return f"names no {what}; did you mean {' or '.join(str(slip) for slip in slips[:3])}?"
    near = sorted(sorted(known, key=lambda other: (abs(other - id), other))[:3])
    return f"names no {what}; the nearest ids are {', '.join(str(other) for other in near)}"


def _slips(id: int) -> set[int]:
    """Numbers one slip of a finger away: a digit wrong, missing, too many, or two exchanged."""
    digits = str(id)
    texts: set[str] = set()
    for k in range(len(digits) + 1):
        head, tail = digits[:k], digits[k:]
        texts.update(head + d + tail for d in "0123456789")
        if tail:
            texts.add(head + tail[1:])
            texts.update(head + d + tail[1:] for d in "0123456789")
        if len(tail) > 1:
            texts.add(head + tail[1] + tail[0] + tail[2:])
    return {int(text) for text in texts if text and not text.startswith("0")} - {id}
