"""FactSheet about a model or diagram: a mapping that a person can read at a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from typing import Any

WIDTH = 110  # characters of a line


class FactSheet(dict[str, Any]):
    """A dict, printed as one bounded line per entry: how many there are, and the first of them."""

    def __repr__(self) -> str:
        widest = max(map(len, self), default=0)
        return "\n".join(f"{name:<{widest}}  {_line(value, WIDTH - widest)}" for name, value in self.items())


class NamedFacts(dict[str, Any]):
    """Facts about one of many things, with its "name" and "type", by which a `FactSheet` shows it."""

    def __str__(self) -> str:
        return f"{self['name']} ({self['type']})"


def _line(value: Any, width: int) -> str:
    """One entry within `width` characters."""
    if isinstance(value, Mapping):
        return _counted((f"{key} = {_word(v)}" for key, v in value.items()), value, width)
    if isinstance(value, (list, tuple, set, frozenset)):
        return _counted(map(_word, value), value, width)
    return _cut(_word(value) or "none", width)


def _word(value: Any) -> str:
    """A value inside a line."""
    if isinstance(value, Mapping) and not isinstance(value, NamedFacts):
        return f"({', '.join(f'{key} {_word(v)}' for key, v in value.items())})"
    return " ".join(str(value).split()) if value is not None else "-"


def _counted(words: Iterable[str], of: Sized, width: int) -> str:
    """``3: a, b, c``, ``12: a, b, ...``, or ``none``."""
    text = f"{len(of)}: "
    for k, word in enumerate(words):
        added = word if k == 0 else f", {word}"
        if len(text) + len(added) + len(", ...") > width:
            return _cut(text + word, width) if k == 0 else f"{text}, ..."
        text += added
    return text if len(of) else "none"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 4]} ..."
