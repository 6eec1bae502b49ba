"""Names a user gives: one or a list of them, and components of signals by number or label."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    return dict(values)


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
