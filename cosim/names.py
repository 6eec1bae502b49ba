"""Names a user gives: one or a list of them, and components of signals by number or label."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from blocks.errors import PlantloopError

UNIT = re.compile(r"\s*\[[^\]]*\]$")  # at the end of a label: "theta [rad]"


def listed(names: Any, what: str) -> list[str]:
    """A list of names; one name alone is a list of one.

    Raises
    ------
    PlantloopError      anything else
    """
    if isinstance(names, str):
        return [names]
    found = list(names) if isinstance(names, Iterable) else [names]
    for name in found:
        if not isinstance(name, str):
            raise PlantloopError(
                f"{what} contains {name!r}, expected names.",
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
            f"{what} is {values!r}, expected values by name.",
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
            f"{what}: {name!r} is no name.", value=name, hint="Write a text such as 'block.port'."
        )
    return name


def file_path(path: Any, what: str) -> Path:
    """The path of a file.

    Raises
    ------
    PlantloopError      neither text nor a path
    """
    try:
        return Path(path)
    except TypeError:
        raise PlantloopError(
            f"{what} is {path!r}, expected the path of a file.", value=path, hint="Write 'run.nc'."
        ) from None


def component_of(
    name: str,
    known: Mapping[str, Any],
    size_of: Callable[[str], int],
    labels_of: Callable[[str], Sequence[str]],
    aliases: Mapping[str, str],
    error: type[PlantloopError] = PlantloopError,
) -> tuple[str, int | None] | None:
    """The signal a name means and the number of its component, None where all are meant.

    An exact name wins over an alias, that over ``signal[i]``, and that over ``signal.label``; a label may
    leave out the unit in brackets at its end.

    Returns
    -------
    found : (signal, component), or None where there is no such name

    Raises
    ------
    error               no such component, or a label that several have
    """

    def whole(text: str) -> str | None:
        return text if text in known else aliases[text] if aliases.get(text) in known else None

    if (signal := whole(name)) is not None:
        return signal, None
    indexed = re.fullmatch(r"(.+)\[(\d+)\]", name, re.DOTALL)
    if indexed and (signal := whole(indexed[1])) is not None:
        i, size = int(indexed[2]), size_of(signal)
        if i < size:
            return signal, i
        raise error(f"no component {i} in '{signal}': it has {size}, counted from 0.", path=signal, value=i)
    for dot in (i for i, c in enumerate(name) if c == "."):
        if (signal := whole(name[:dot])) is None:
            continue
        labels, label = labels_of(signal), name[dot + 1 :]
        found = [i for i, text in enumerate(labels) if text == label]
        found = found or [i for i, text in enumerate(labels) if text and UNIT.sub("", text) == label]
        if len(found) == 1:
            return signal, found[0]
        if found:
            choices = ", ".join(f"'{signal}[{i}]'" for i in found)
            raise error(f"'{name}' is ambiguous.", path=signal, hint=f"Use one of {choices}.")
    return None
