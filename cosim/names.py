"""Names a user gives: one or a list of them, and what they mean.

`Names` finds signals, states, parameters, inputs and outputs alike: by their full names, by other names they
have, by components, with or without the name of a block that is looked at alone.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from blocks.errors import PlantloopError, near_miss, shown

UNIT = re.compile(r"\s*\[[^\]]*\]$")  # at the end of a label: "theta [rad]"
COMPONENT = re.compile(r"(.+)\[(\d+)\]", re.DOTALL)


def that_fit(pattern: str, names: Iterable[str]) -> list[str]:
    """The names that a pattern with stars means; nothing else in it has a meaning."""
    literal = pattern.replace("[", "[[]").replace("?", "[?]")
    fits = re.compile(fnmatch.translate(literal))  # which never tries two stars in all ways
    return [name for name in names if fits.fullmatch(name)]


@dataclass(frozen=True)
class Names:
    """What of one kind can be named somewhere, and which of it a name means.

    kind, where : for messages: "signal", "'pendulum'"
    known : full name -> what it is
    aliases : other names -> full names
    prefix : what a name may leave out ("plant." of a block that is looked at alone), or have in excess
    parts : can components be named? then what is known has `size` and `labels`, or `labels` gives them
    error : what is raised about a name

    An exact name wins over an alias, that over ``signal[i]``, and that over ``signal.label``; a label may
    leave out the unit in brackets at its end. Last comes the one name that differs in capitals, blanks,
    dashes and slashes only: ports of plants are called by the slug of their label, which a user may spell as
    it is, and what FMUs call "arm.motor.w" is "arm/motor.w" here.
    """

    kind: str
    where: str
    known: Mapping[str, Any]
    aliases: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""
    parts: bool = True
    size: Callable[[str], int] | None = None  # of what is known by its full name, where it has no `size`
    labels: Callable[[str], Sequence[str]] | None = None
    error: type[PlantloopError] = PlantloopError
    hint: Callable[[str], str | None] | None = None  # what to write for a name that is of another kind

    def locate(self, name: str) -> tuple[str, int | None]:
        """The full name of what is meant and the number of the component, None where all are.

        Raises
        ------
        PlantloopError      no text, no such thing (with a near miss) or component, or a label several have
        """
        found = self.find(name)
        if found is None:
            raise self.unknown(name)
        return found

    def whole(self, name: str) -> str:
        """The full name of what is meant; a component means its whole."""
        return self.locate(name)[0]

    def find(self, name: str) -> tuple[str, int | None] | None:
        """As `locate`, None where there is no such thing."""
        if text(name, self.kind) in self.known:
            return name, None
        tried = [name]
        if self.prefix:
            shorter = name.removeprefix(self.prefix)
            tried.append(self.prefix + name if shorter == name else shorter)
        for candidate in tried:
            if (found := self._whole(candidate)) is not None:
                return found, None
        for candidate in tried if self.parts else ():
            if (component := self._component(candidate)) is not None:
                return component
        return self._spelled_otherwise(tried)

    def _spelled_otherwise(self, tried: Sequence[str]) -> tuple[str, int | None] | None:
        """What is meant where capitals, blanks, dashes or slashes differ; None if several are.

        Of what has no parts (parameters, ports) capitals tell one from another, and slashes alone may differ.
        """
        alike = folded if self.parts else dotted
        wanted = {alike(name) for name in tried}
        found = {full for full in self.known if alike(full) in wanted}
        found |= {
            full for alias, full in self.aliases.items() if full in self.known and alike(alias) in wanted
        }
        return (found.pop(), None) if len(found) == 1 else None

    def unknown(self, name: str) -> PlantloopError:
        """The error about a name that means nothing."""
        if self.hint is not None and (cure := self.hint(name)):
            return self.error(f"{self.where} has no {self.kind} '{name}'.", path=name, value=name, hint=cure)
        known = [*self.known, *(alias for alias, full in self.aliases.items() if full in self.known)]
        inside = [full for full in known if full.startswith((f"{name}.", f"{name}/"))]
        if self.parts:
            every = ((full, label) for full in self.known for label in self._labels(full))
            known += [f"{full}.{UNIT.sub('', label)}" for full, label in every if label]
        near = near_miss("", inside) if inside else near_miss(name, known)  # of the block that is named
        return self.error(f"{self.where} has no {self.kind} '{name}'; {near}", path=name, value=name)

    def _size(self, full: str) -> int:
        return self.size(full) if self.size is not None else int(self.known[full].size)

    def _labels(self, full: str) -> Sequence[str]:
        return self.labels(full) if self.labels is not None else tuple(self.known[full].labels)

    def _whole(self, name: str) -> str | None:
        full = name if name in self.known else self.aliases.get(name)
        return full if full in self.known else None

    def _component(self, name: str) -> tuple[str, int] | None:
        indexed = COMPONENT.fullmatch(name)
        if indexed and (full := self._whole(indexed[1])) is not None:
            i, size = int(indexed[2]), self._size(full)
            if i < size:
                return full, i
            raise self.error(
                f"no component {i} in '{full}': it has {size}, counted from 0.", path=full, value=i
            )
        for dot in (i for i, c in enumerate(name) if c == "."):
            if (full := self._whole(name[:dot])) is not None:
                found = self._labelled(full, name[dot + 1 :], name)
                if found is not None:
                    return full, found
        return None

    def _labelled(self, full: str, label: str, name: str) -> int | None:
        """The component of a label."""
        labels = self._labels(full)
        found = [i for i, text in enumerate(labels) if text == label]
        found = found or [i for i, text in enumerate(labels) if text and UNIT.sub("", text) == label]
        if len(found) > 1:
            choices = ", ".join(f"'{full}[{i}]'" for i in found)
            raise self.error(f"'{name}' is ambiguous.", path=full, hint=f"Use one of {choices}.")
        return found[0] if found else None


def folded(name: str) -> str:
    """Lower case, slashes as dots, other signs than letters, digits, dots and brackets as one underscore.

    >>> folded("plant.Control force")
    'plant.control_force'
    """
    return re.sub(r"[^a-z0-9.\[\]@]+", "_", dotted(name).lower())


def dotted(name: str) -> str:
    """As FMUs write it: "arm.motor.w" for "arm/motor.w"."""
    return name.replace("/", ".")


def component_names(slots: Mapping[str, Any], size: int) -> tuple[str, ...]:
    """Names of the components of a vector: "motor.w", "motor.x[1]", "controller.K[0,1]".

    slots : name -> what has places in it as `index`, each called as `components` says
    """
    found = [""] * size
    for name, slot in slots.items():
        places = [int(k) for k in slot.index]
        for place, where in zip(places, slot.components, strict=True):
            found[place] = f"{name}[{where}]" if where else name
    return tuple(found)


def listed(names: Any, what: str) -> list[str]:
    """A list of names; one name alone is a list of one.

    Raises
    ------
    PlantloopError      anything else
    """
    if isinstance(names, str):
        return [names]
    names = names.tolist() if isinstance(names, np.ndarray) else names  # an array without axes is no list
    found = list(names) if isinstance(names, Iterable) else [names]
    for name in found:
        if not isinstance(name, str):
            raise PlantloopError(
                f"{what} contains {shown(name)}, expected names.",
                value=names,
                hint='Write a list of texts such as ["block.port"].',
            )
    return found


def mapped(values: Any, what: str) -> dict[str, Any]:
    """Values by name.

    Raises
    ------
    PlantloopError      no mapping
    """
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise PlantloopError(
            f"{what} is {shown(values)}, expected values by name.",
            value=values,
            hint=f'Write {what}={{"block.name": value}}.',
        )
    for name in values:
        text(name, what)
    return dict(values)


def no_block(given: Any, expected: str) -> PlantloopError:
    """The error about something in place of a block or diagram."""
    if isinstance(given, type):
        return PlantloopError(f"got the class {given.__name__}, not a block; write {given.__name__}(...).")
    return PlantloopError(f"expected {expected}, got {type(given).__name__}.", value=given)


def text(name: Any, what: str) -> str:
    """One name.

    Raises
    ------
    PlantloopError      no text
    """
    if not isinstance(name, str):
        raise PlantloopError(
            f"{what}: {shown(name)} is no name.", value=name, hint="Write a text such as 'block.port'."
        )
    return name
