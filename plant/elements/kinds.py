"""What an attribute can hold: how it is read from text, and how its value is checked.

An element's field names its kind in its type, ``mass: Positive``, and that is all the reader and the
checks need to know about it. Each kind says what is wrong as a ValueError whose text continues
``attribute='value' ...`` and ends with the cure.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import numpy as np

from blocks.errors import near_miss


class Kind(Protocol):
    """The two questions every kind answers; values are ``Any`` because each kind has its own type."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Element types whose ids the attribute holds; empty for all other kinds."""

    def read(self, text: str) -> Any:
        """The value written as ``text`` in a file; None when the text says "not defined"."""

    def check(self, value: Any) -> Any:
        """The value, in its own type, or a ValueError saying what is wrong and how to mend it."""


def items(text: str) -> list[str]:
    """Entries of a list attribute: any mix of commas and white space separates them."""
    return text.replace(",", " ").split()


def number(text: str) -> float:
    """A finite real number as the format writes it (no underscores, no Fortran exponents)."""
    try:
        value = float(text)
    except ValueError:
        if not text.strip():
            raise ValueError("is empty; write a number, or leave the attribute out") from None
        if re.fullmatch(r"\s*[-+]?(\d+\.?\d*|\.\d+)[dD][-+]?\d+\s*", text):
            raise ValueError("is not a number; write the exponent with E, as in 1.0E-3") from None
        raise ValueError("is not a number; write a decimal number such as 1.5 or 1e-3") from None
    if "_" in text:
        raise ValueError("is not a number; leave out the underscores")
    return value


def integer(text: str) -> int:
    """An integer as the format writes it: an optional sign and digits."""
    if not re.fullmatch(r"\s*[-+]?[0-9]+\s*", text):
        raise ValueError("is not an integer; write digits only, such as 12")
    return int(text)


NO_NUMBERS = (bool, str, bytes, bytearray, np.bool_, np.complexfloating, np.timedelta64)


def _converted(to: Callable[[Any], Any], value: Any, fault: str) -> Any:
    """A number of Python, from one of another type that loses nothing by it."""
    if isinstance(value, NO_NUMBERS):  # which float() takes all the same
        raise ValueError(fault)
    try:
        return to(value)
    except (TypeError, OverflowError):
        raise ValueError(fault) from None


@dataclass(frozen=True)
class Number:
    """A finite real number, optionally bounded below (``above`` excludes the bound).

    start : does it only say where a motion begins, so that it is no number of the equations?
    """

    above: float = -math.inf
    at_least: float = -math.inf
    start: bool = False
    tags: tuple[str, ...] = ()

    def read(self, text: str) -> float:
        return self.check(number(text))

    def check(self, value: Any) -> float:
        if type(value) is not float:
            value = _converted(float, value, "is not a number; give an int or a float")
        if not math.isfinite(value):
            raise ValueError("is not finite; write an ordinary number")
        if value < self.at_least:
            raise ValueError(f"is too small; write a number of at least {self.at_least:g}")
        if value <= self.above:
            raise ValueError(f"is too small; write a number above {self.above:g}")
        return float(value)


@dataclass(frozen=True)
class Integer:
    """A whole number, optionally bounded below."""

    at_least: int | None = None
    tags: tuple[str, ...] = ()

    def read(self, text: str) -> int:
        return self.check(integer(text))

    def check(self, value: Any) -> int:
        if type(value) is not int:
            value = _converted(operator.index, value, "is not an integer; give a whole number")
        if self.at_least is not None and value < self.at_least:
            raise ValueError(f"is too small; write an integer of at least {self.at_least}")
        return int(value)


@dataclass(frozen=True)
class Unnumbered(Integer):
    """The id of an element that needs none, since a model has one of it at most: whatever is given is 0."""

    def check(self, value: Any) -> int:
        super().check(value)
        return 0


@dataclass(frozen=True)
class IdOf:
    """The id of another element, of one of the types ``tags``; 0, where allowed, is the global frame."""

    tags: tuple[str, ...]
    zero: bool = False

    def read(self, text: str) -> int:
        return self.check(integer(text))

    def check(self, value: Any) -> int:
        value = Integer().check(value)
        if value < 1 and not (self.zero and value == 0):
            raise ValueError(f"is not an id; write the id of a {' or '.join(self.tags)}, an integer above 0")
        return int(value)


@dataclass(frozen=True)
class IdsOf:
    """A list of ids of other elements; no id twice."""

    tags: tuple[str, ...]

    def read(self, text: str) -> tuple[int, ...]:
        return self.check(_each(integer, items(text)))

    def check(self, value: Any) -> tuple[int, ...]:
        ids = _each(IdOf(self.tags).check, _sequence(value))
        if len(set(ids)) < len(ids):
            twice = next(id for id in ids if ids.count(id) > 1)
            raise ValueError(f"lists {twice} twice; write every id once")
        return ids


@dataclass(frozen=True)
class Numbers:
    """A list of finite real numbers."""

    tags: tuple[str, ...] = ()

    def read(self, text: str) -> tuple[float, ...]:
        return self.check(_each(number, items(text)))

    def check(self, value: Any) -> tuple[float, ...]:
        return _each(Number().check, _sequence(value))


@dataclass(frozen=True)
class Flag:
    """TRUE/FALSE or YES/NO."""

    tags: tuple[str, ...] = ()

    def read(self, text: str) -> bool:
        folded = text.strip().upper()
        if folded not in ("TRUE", "FALSE", "YES", "NO"):
            raise ValueError("is neither true nor false; write TRUE or FALSE")
        return folded in ("TRUE", "YES")

    def check(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError("is neither true nor false; give True or False")
        return value


@dataclass(frozen=True)
class Text:
    """Free text, kept as written: labels, file names, function names."""

    tags: tuple[str, ...] = ()

    def read(self, text: str) -> str:
        return text

    def check(self, value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError("is not text; give a str")
        return value


@dataclass(frozen=True)
class Keyword:
    """One word of a list; letter case does not matter and upper case is kept.

    ``aliases`` pairs other spellings with a word of the list.
    """

    words: tuple[str, ...]
    aliases: tuple[tuple[str, str], ...] = ()
    tags: tuple[str, ...] = ()

    def read(self, text: str) -> str:
        return self.check(text)

    def check(self, value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError(f"is not a keyword; write one of {', '.join(self.words)}")
        word = " ".join(value.upper().split())
        word = dict(self.aliases).get(word, word)
        if word not in self.words:
            raise ValueError(f"is not a known value; {near_miss(word, self.words)}")
        return word


def keyword(*words: str, **aliases: str) -> Keyword:
    """A Keyword of these words; ``aliases`` are other spellings of one of them."""
    return Keyword(words, tuple(aliases.items()))


@dataclass(frozen=True)
class ExpressionText:
    """Text of the run-time expression language, parsed later; empty or NULL means "not defined"."""

    tags: tuple[str, ...] = ()

    def read(self, text: str) -> str | None:
        folded = text.strip()
        return None if folded.upper() in ("", "NULL") else folded

    def check(self, value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError(f"is not an expression; give its text, such as '{value!s:.20}'")
        return value


@dataclass(frozen=True)
class NumberOrExpression:
    """A plain number where the text is one, otherwise the text of an expression."""

    tags: tuple[str, ...] = ()

    def read(self, text: str) -> float | str:
        if not text.strip():
            raise ValueError("is empty; write a number or an expression")
        try:
            value = number(text)
        except ValueError:
            return text.strip()
        return Number().check(value)

    def check(self, value: Any) -> float | str:
        return value if isinstance(value, str) else Number().check(value)


def _sequence(value: Any) -> Iterable[Any]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ValueError("is not a list; give a tuple")
    return value


def _each(convert: Callable[[Any], Any], entries: Iterable[Any]) -> tuple[Any, ...]:
    """Every entry converted; the ValueError says which entry of the list is wrong."""
    done = []
    for place, entry in enumerate(entries, start=1):
        try:
            done.append(convert(entry))
        except ValueError as fault:
            raise ValueError(f"is wrong at entry {place}: {entry!r} {fault}") from None
    return tuple(done)


# The names elements use for their fields' types.
Id = Annotated[int, Integer(at_least=1)]
NoId = Annotated[int, Integer(at_least=0)]
OnlyOne = Annotated[int, Unnumbered(at_least=0)]
Real = Annotated[float, Number()]
StartRate = Annotated[float, Number(start=True)]
Positive = Annotated[float, Number(above=0.0)]
NonNegative = Annotated[float, Number(at_least=0.0)]
Count = Annotated[int, Integer(at_least=1)]
Whole = Annotated[int, Integer()]
Boolean = Annotated[bool, Flag()]
String = Annotated[str, Text()]
Formula = Annotated[str, ExpressionText()]
Reals = Annotated[tuple[float, ...], Numbers()]
MarkerId = Annotated[int, IdOf(("Reference_Marker",))]
FrameId = Annotated[int, IdOf(("Reference_Marker",), zero=True)]  # 0: the global frame
ArrayId = Annotated[int, IdOf(("Reference_Array",))]
JointId = Annotated[int, IdOf(("Constraint_Joint",))]
VariableIds = Annotated[tuple[int, ...], IdsOf(("Reference_Variable",))]
