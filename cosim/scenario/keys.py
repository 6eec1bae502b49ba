"""Checks of the keys of a table: allowed values, unknown and missing keys, near misses.

A table is a frozen dataclass whose fields are made with `key`; each carries the check of its value::

    @dataclass(frozen=True, kw_only=True)
    class Run:
        until: float = key(number(least=0, unit="s"))
        engine: str = key(one_of(ENGINES), default="auto")

A check turns a TOML value into the field's value or raises `Expected`; the problem is noted with the
`FilePlace` of the value, and reading goes on, so that all problems of a file are reported together.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from itertools import pairwise
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

from blocks.arguments import is_number
from blocks.contract.rate import instant, rational
from blocks.contract.units import units_of
from blocks.errors import (
    LISTED,
    LOOKED_UP,
    BlockError,
    PlantloopError,
    ScenarioError,
    listed_problems,
    near_miss,
    shown,
)
from cosim.block_names import kept_by_files
from cosim.scenario.source import Keys, ScenarioFile

Check = Callable[[Any, "FilePlace"], Any]  # Any: a TOML value going in, a field's value coming out


MOST = 10**9  # of a whole number
SHOWN = 20  # unknown keys of a table that are looked at one by one


class Expected(Exception):
    """Raised where a value is wrong, with what its key expects."""

    def __init__(self, expected: str, hint: str = "") -> None:
        super().__init__(expected)
        self.expected, self.hint = expected, hint


@dataclass(frozen=True)
class FilePlace:
    """The place of a value in the file, and the list in which problems with it are collected."""

    source: ScenarioFile
    keys: Keys = ()
    problems: list[tuple[int, str]] = field(default_factory=list)  # (line, text)
    trust: bool = False  # may what the file names lie outside its folder?

    def at(self, *keys: str | int) -> FilePlace:
        """The place of a key inside this one."""
        return FilePlace(self.source, self.keys + keys, self.problems, self.trust)

    def add_problem(self, text: str, item: object = None) -> None:
        """Note a problem; `item` is the text in a list that the problem is about."""
        if len(self.problems) >= LOOKED_UP:
            item = None  # only the line on which the list begins is reported then, without a search in it
        line = self.source.line(self.keys, item) or 0
        self.problems.append((line, f"{self.source.where(self.keys, item)}: {text}"))

    def read(self, value: object, check: Check) -> Any:
        """The checked value; None, with a problem noted, if it is wrong."""
        try:
            return check(value, self)
        except Expected as wrong:
            hint = f" {wrong.hint}" if wrong.hint else ""
            self.add_problem(f"got {as_toml(value)}, expected {wrong.expected}.{hint}", value)
            return None

    def raise_problems(self) -> None:
        """Raise `error` if there were problems."""
        if self.problems:
            raise self.error()

    def error(self) -> ScenarioError:
        """All problems as one error; its ``value`` lists them.

        Those that are shown are in the order of the file; of those found after them lines are not looked up.
        """
        parts = self.problems[:LISTED], self.problems[LISTED:]
        texts = [text for part in parts for _, text in sorted(part, key=lambda problem: problem[0])]
        about = self.source.path.name
        return ScenarioError(listed_problems(texts, about), path=str(self.source.path), value=texts)


def as_toml(value: object) -> str:
    """A value as TOML writes it, shortened."""
    match value:
        case bool():
            text = str(value).lower()
        case str():
            text = '"' + value.replace("\n", "\\n") + '"'
        case list():
            text = f"[{', '.join(as_toml(v) for v in value)}]"
        case dict():
            text = "a table" if value else "an empty table"
        case _:
            text = shown(value)
    return text if len(text) <= 60 else text[:57] + "..."


# --- tables -----------------------------------------------------------------------------------------
def key(check: Check, **default: Any) -> Any:
    """A field of a table with the check of its value; optional with ``default=`` or ``default_factory=``."""
    return field(metadata={"check": check}, **default)


def keys_among(checks: Mapping[str, Check]) -> Any:
    """A field that gathers other optional keys of its table, those that are given, by name."""
    return field(metadata={"gathers": checks}, default_factory=dict)


def record(cls: type) -> Check:
    """A check of a table with the keys of a dataclass."""

    def check(value: Any, place: FilePlace) -> Any:
        table = _table(value, place)
        known = {f.name: f for f in fields(cls) if "check" in f.metadata}
        gathered = {f.name: f.metadata["gathers"] for f in fields(cls) if "gathers" in f.metadata}
        check_known(table, keys_of(cls), place)
        read: dict[str, Any] = {}
        for field_name, checks in gathered.items():
            here = [name for name in checks if name in table]
            read[field_name] = {name: place.at(name).read(table[name], checks[name]) for name in here}
        for name, f in known.items():
            if name in table:
                read[name] = place.at(name).read(table[name], f.metadata["check"])
            elif f.default is MISSING and f.default_factory is MISSING:
                place.add_problem(f"{_what(place, name)} is missing.")
                read[name] = None  # never seen: the problem stops the reading at its end
        return cls(**read)

    return check


def _what(place: FilePlace, name: str) -> str:
    return f"key '{name}'" if place.keys else f"table [{name}]"


def keys_of(cls: type) -> list[str]:
    """Every key that a table may have."""
    own = [f.name for f in fields(cls) if "check" in f.metadata]
    return [*own, *(name for f in fields(cls) for name in f.metadata.get("gathers", ()))]


def check_known(
    table: Mapping[str, Any],
    known: Collection[str],
    place: FilePlace,
    homes: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Note unknown keys as problems; `homes` names the table in which some of them belong."""
    unknown, what = [name for name in table if name not in known], "key" if place.keys else "table"
    for name in unknown[:SHOWN]:
        belongs = f"'{name}' is a key of [{homes[name]}]." if name in homes else near_miss(name, known)
        place.at(name).add_problem(f"no such {what}; {belongs}")
    if len(unknown) > SHOWN:
        place.add_problem(f"{len(unknown) - SHOWN} more {what}s that there are not.")


def table_of(check: Check, names: Check | None = None) -> Check:
    """A table whose keys are names of the user's choice, checked by `names`."""

    def checked(value: Any, place: FilePlace) -> Any:
        read = {}
        for name, item in _table(value, place).items():
            here = place.at(name)
            if names is not None:
                here.read(name, names)
            read[name] = here.read(item, check)
        return read

    return checked


def list_of(check: Check) -> Check:
    """A list, each item checked."""

    def checked(value: Any, place: FilePlace) -> Any:
        if not isinstance(value, list):
            raise Expected("a list", "Write [...] around it, even around one.")
        return tuple(place.at(i).read(item, check) for i, item in enumerate(value))

    return checked


def _table(value: Any, place: FilePlace) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Expected("a table", f"Write [{'.'.join(map(str, place.keys))}] and its keys below.")
    return value


# --- values -----------------------------------------------------------------------------------------
def number(least: float = -math.inf, above: float = -math.inf, unit: str = "") -> Check:
    """A finite number, as a float."""
    limit = f" of at least {least:g}" if least > -math.inf else ""
    limit += f" above {above:g}" if above > -math.inf else ""

    def check(value: Any, place: FilePlace) -> float:
        if not is_number(value) or not math.isfinite(value) or value < least or value <= above:
            raise Expected(f"a number{limit}{f' [{unit}]' if unit else ''}", _unquoted(value))
        return float(value)

    return check


def integer(least: int, most: int = MOST) -> Check:
    """A whole number."""

    def check(value: Any, place: FilePlace) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            limit = f" and at most {most}" if isinstance(value, int) and value > most else ""
            raise Expected(f"a whole number of at least {least}{limit}", _unquoted(value))
        return value

    return check


def boolean(value: Any, place: FilePlace) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise Expected("true or false", "Write it without quotes.")
    return value


def duration(least: float = -math.inf, above: float = -math.inf) -> Check:
    """A number of seconds that must be exact: 0.01, "0.01" or "1/60"; kept as it was written."""

    def check(value: Any, place: FilePlace) -> Any:
        limit = f"{least:g} or more" if least > -math.inf else f"more than {above:g}"
        expected = f'seconds as a number or as text like "1/60", {limit}'
        if not (is_number(value) or isinstance(value, str)):
            raise Expected(expected)
        try:
            exact = rational(value, "The value")
        except BlockError as error:
            raise Expected(expected, (error.hint or "") if isinstance(value, str) else str(error)) from None
        if exact < least or exact <= above:
            raise Expected(expected)
        return value

    return check


def moments(value: Any, place: FilePlace) -> tuple[float, ...]:
    """A list of instants [s], zero or more, not decreasing."""
    if not isinstance(value, list) or not value or not all(is_number(v) and math.isfinite(v) for v in value):
        raise Expected("a list of numbers of seconds")
    times = tuple(float(instant(v)) for v in value)
    if times[0] < 0 or any(b < a for a, b in pairwise(times)):
        raise Expected("times of 0 s or more that do not decrease")
    return times


def interval(value: Any, place: FilePlace) -> tuple[float, float]:
    """Two times [s], the first before the second."""
    start, end = moments(value, place) if isinstance(value, list) and len(value) == 2 else (0.0, 0.0)
    if not start < end:
        raise Expected("two times [start, end] with start before end [s]")
    return start, end


def text(value: Any, place: FilePlace) -> str:
    """Any text."""
    if not isinstance(value, str):
        raise Expected("text in quotes")
    return value


def matching(pattern: str, expected: str, hint: str = "") -> Check:
    """Text of a given form, of characters that files keep."""

    def check(value: Any, place: FilePlace) -> str:
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise Expected(expected, hint)
        if not kept_by_files(value):
            raise Expected(f"{expected}, of characters that files keep", hint)
        return value

    return check


def one_of(choices: Iterable[str]) -> Check:
    """One of some words."""
    known = list(choices)

    def check(value: Any, place: FilePlace) -> str:
        if value not in known:
            listed = " or ".join(f'"{word}"' for word in known)
            cure = near_miss(value, known) if isinstance(value, str) else ""
            raise Expected(listed, cure[:1].upper() + cure[1:] if cure.startswith("did") else "")
        return str(value)

    return check


def either(*checks: Check) -> Check:
    """The value as the first fitting check returns it; if none fits, the last one says what is expected."""

    def check(value: Any, place: FilePlace) -> Any:
        for option in checks[:-1]:
            try:
                return option(value, place)
            except Expected:
                continue
        return checks[-1](value, place)

    return check


def file_name(*suffixes: str) -> Check:
    """Name of a file to write, inside the folder of the results."""

    def check(value: Any, place: FilePlace) -> str:
        name = text(value, place)
        parts = name.replace("\\", "/").split("/")
        if (
            PurePosixPath(name).suffix.lower() not in suffixes
            or ".." in parts
            or "" in parts
            or ":" in name
            or not name.isprintable()
        ):
            listed = " or ".join(suffixes)
            raise Expected(
                f"a file name ending in {listed}", "It is written inside the folder given by --out."
            )
        return name

    return check


def quantities(value: Any, place: FilePlace) -> dict[str, Any]:
    """Numbers and lists of numbers by dotted names: ``"plant.hinge.q" = 0.1`` or ``plant.hinge.q = 0.1``."""
    return _by_dotted_names(value, place, numbers_in)


def unit_texts(value: Any, place: FilePlace) -> dict[str, Any]:
    """Units by dotted names, a text or one for each component: ``"motor.u" = "V"``."""
    return _by_dotted_names(value, place, _unit_text)


def _by_dotted_names(value: Any, place: FilePlace, check: Check) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, item in _table(value, place).items():
        here = place.at(name)
        if isinstance(item, dict):
            read = {f"{name}.{rest}": v for rest, v in _by_dotted_names(item, here, check).items()}
        else:
            read = {name: here.read(item, check)}
        for twice in read.keys() & found:
            here.add_problem(f"'{twice}' is there twice, with and without quotes; keep one.")
        found |= read
    return found


def _unit_text(value: Any, place: FilePlace) -> Any:
    try:
        units_of(value, f"'{place.keys[-1]}'")
    except PlantloopError as error:
        place.add_problem(str(error))
    return value


def numbers_in(value: Any, place: FilePlace) -> Any:
    """A number, or a list of numbers or of equally long lists of them."""
    if not _is_array(value):
        raise Expected("a number, or a list of numbers or of equally long lists of them", _unquoted(value))
    return value


def _is_array(value: Any) -> bool:
    if not isinstance(value, list):
        return is_number(value) and not math.isnan(value)
    sizes = {len(item) if isinstance(item, list) else 0 for item in value}
    return len(sizes) == 1 and all(_is_array(item) for item in value)


def _unquoted(value: object) -> str:
    try:
        float(value) if isinstance(value, str) else float("not text")
    except ValueError:
        return ""
    return "Leave the quotes out."
