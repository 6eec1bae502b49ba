"""The text of a scenario file: reading it, and finding the line on which a key stands."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from blocks.errors import ScenarioError, near_miss
from blocks.files import is_folder, read_whole

Keys = tuple[str | int, ...]  # ("outputs", "plots", 0, "file"): names of tables and keys, places in lists

SUFFIX = ".toml"
WIDEST = 160  # characters of a line that are shown
DEEPEST = 40  # how deep tables and lists may be nested
PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""  # of a dotted key
LONG_KEY = re.compile(rf"(?<![\w-]){PART}(?:[ \t]*+\.[ \t]*+{PART}){{100}}")
"""A key of many parts, for which Python's parser takes a time that grows like their square."""
HINTS = (  # texts of errors of tomllib, and their usual causes
    ("Invalid value", 'Text needs quotes: solver = "rk4".'),
    ("Expected '=' after a key", "Every line is key = value, a [table], or a # comment."),
    ("Cannot declare", "A table stands in the file once; put its keys together."),
    ("Cannot overwrite", "A key stands in its table once; keep one of them."),
    ("Cannot mutate immutable namespace", "A table in braces is complete: put all its keys inside them."),
    ("Unescaped '\\'", "Write a path with / or in single quotes."),
    ("Unclosed array", "Close the list with ]."),
    ("Expected newline or end of document", "Write one key = value per line."),
)


@dataclass(frozen=True)
class ScenarioFile:
    """A scenario file: its path, its text, and its tables."""

    path: Path
    text: str
    tables: dict[str, Any]
    changes: Mapping[str, Any] = field(default_factory=dict)  # tables from another place in the file
    home: Keys = ()  # the path of that place

    def _origin(self, keys: Keys) -> Keys:
        """The path of a key in the file: a key of the changes is inside their table."""
        inside: Any = self.changes
        for key in keys:
            if not isinstance(inside, Mapping):
                break
            if key not in inside:
                return keys
            inside = inside[key]
        return (*self.home, *keys) if keys else keys

    @cached_property
    def _index(self) -> tuple[dict[Keys, int], set[Keys]]:
        """Lines of all keys, and the paths that are headers of tables; computed for the first problem."""
        return _lines_of_keys(self.text)

    @cached_property
    def _rows(self) -> list[str]:
        return self.text.splitlines()

    def line(self, keys: Keys, item: object = None) -> int | None:
        """Line of a key, or of the nearest table around it; with a text, its line in a list."""
        lines, _ = self._index
        keys = self._origin(keys)
        while keys and keys not in lines:
            keys = keys[:-1]
        start = lines.get(keys)
        if start is None or not isinstance(item, str):
            return start
        below = enumerate(self._rows[start - 1 :], start)
        return next((number for number, line in below if f'"{item}"' in line or f"'{item}'" in line), start)

    def where(self, keys: Keys, item: object = None) -> str:
        """Place in words: ``pendulum.toml:12: [run] step``."""
        line, keys = self.line(keys, item), self._origin(keys)
        _, headers = self._index
        depth = max((n for n in range(len(keys) + 1) if keys[:n] in headers), default=0)
        table = f"[{_dotted(keys[:depth])}]" if depth else ""
        words = " ".join(part for part in (table, _dotted(keys[depth:])) if part)
        return f"{self.path.name}{f':{line}' if line else ''}: {words}".rstrip(": ")


def read_source(path: Path) -> ScenarioFile:
    """Read and parse a scenario file.

    Raises
    ------
    ScenarioError     no such file, another kind of file, not UTF-8, or not TOML: with line and column
    """
    raw = _read_bytes(path)
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ScenarioError(
            f"{path.name}:{line}: byte {raw[error.start]:#04x} is not UTF-8 text.",
            path=f"{path}:{line}",
            hint="Save the file as UTF-8.",
        ) from None
    return source_of(path, text)


def source_of(path: Path, text: str) -> ScenarioFile:
    """Make a scenario file of a text.

    Raises
    ------
    ScenarioError     it is not TOML: with line and column
    """
    if LONG_KEY.search(text):
        raise _too_much(path, f"nested deeper than {DEEPEST}")
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(path, text, str(error)) from None
    except (RecursionError, ValueError) as error:  # an integer of more digits than Python converts
        deep = isinstance(error, RecursionError)
        what = f"nested deeper than {DEEPEST}" if deep else "an integer of too many digits"
        raise _too_much(path, what) from None
    if _depth(tables) > DEEPEST:
        raise _too_much(path, f"nested deeper than {DEEPEST}")
    return ScenarioFile(path, text, tables)


def _too_much(path: Path, what: str) -> ScenarioError:
    return ScenarioError(
        f"{path.name}: something in it is {what}.",
        path=str(path),
        hint="No scenario needs that; take it out.",
    )


def _depth(tables: dict[str, Any]) -> int:
    """The depth of nesting of tables and lists, counted up to one more than is allowed."""
    depth = 0
    level: list[Any] = [tables]
    while level and depth <= DEEPEST:
        depth += 1
        inside = (v for part in level for v in (part.values() if isinstance(part, dict) else part))
        level = [v for v in inside if isinstance(v, (dict, list))]
    return depth


def _read_bytes(path: Path) -> bytes:
    if path.suffix.lower() != SUFFIX:
        raise ScenarioError(f"'{path}' is no scenario: expected a {SUFFIX} file.", path=str(path))
    try:
        return read_whole(path)
    except FileNotFoundError:
        raise ScenarioError(no_such_file(path, "scenario"), path=str(path)) from None
    except OSError as error:
        raise ScenarioError(f"cannot read '{path}': {error.strerror}.", path=str(path)) from None


def no_such_file(path: Path, what: str) -> str:
    """The error for a missing file: the folder that was searched, and the nearest name in it."""
    folder = path.parent
    if is_folder(path):
        return f"'{path}' is a folder, expected a {what}."
    if not is_folder(folder):
        return f"no {what} '{path}': there is no folder '{folder}'."
    files = []
    with suppress(OSError):  # of a folder that may not be looked into
        files = [f.name for f in folder.iterdir() if f.suffix.lower() == path.suffix.lower() and f.is_file()]
    if not files:
        return f"no {what} '{path}': folder '{folder}' has no {path.suffix} file."
    return f"no {what} '{path.name}' in folder '{folder}'; {near_miss(path.name, files)}"


def _syntax_error(path: Path, text: str, said: str) -> ScenarioError:
    """The parser's error with file, line, column, the line itself and a caret."""
    found = re.fullmatch(r"(?s)(.*?) \(at (?:line (\d+), column (\d+)|end of document)\)", said)
    what, lines = said, text.splitlines() or [""]
    line, column = len(lines), len(lines[-1]) + 1
    if found:
        what = found[1]
        if found[2]:
            line, column = int(found[2]), int(found[3])
    # the parser names a table by a Python tuple: ('blocks', 'lag') is [blocks.lag]
    what = re.sub(r"\(('[^)]*)\)", lambda table: "[" + ".".join(re.findall("[^', ]+", table[1])) + "]", what)
    shown = lines[line - 1] if line <= len(lines) else ""
    hint = next((hint for start, hint in HINTS if said.startswith(start)), None)
    if said.startswith("Invalid value") and shown.lstrip().startswith("["):
        hint = "Did a list above lose its closing ]?"
    begin = max(0, column - WIDEST // 2) if len(shown) > WIDEST else 0
    return ScenarioError(
        f"{path.name}:{line}:{column}: not valid TOML: {what[0].lower() + what[1:]}.\n"
        f"    {shown[begin : begin + WIDEST]}\n    {' ' * (column - 1 - begin)}^",
        path=f"{path}:{line}:{column}",
        hint=hint,
    )


def _lines_of_keys(text: str) -> tuple[dict[Keys, int], set[Keys]]:
    """Line of each key and table of a valid file, by their paths, and which paths are headers."""
    lines: dict[Keys, int] = {}
    headers: set[Keys] = set()
    seen: Counter[Keys] = Counter()
    table: Keys = ()
    for number, statement in _statements(text):
        parsed = tomllib.loads(statement)
        if statement.lstrip().startswith("["):
            table = _header(parsed, seen)
            for depth in range(1, len(table) + 1):  # [blocks.lag] also opens [blocks]
                headers.add(table[:depth])
                lines.setdefault(table[:depth], number)
        else:
            for keys in _paths(parsed):
                lines.setdefault(table + keys, number)
    return lines, headers


_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"""'  # texts of several lines come first
    r"|'''.*?'''"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
    r"|[\[\]{}\n]",
    re.DOTALL,
)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Each header and each ``key = value`` of a valid file with its line; a value may go on over several.

    A statement ends with the line on which all brackets are closed: one pass over the text.
    """
    begin, first, line, depth = 0, 1, 1, 0
    for token in _TOKEN.finditer(text):
        sign = token[0]
        line += sign.count("\n")
        depth += (sign in "[{") - (sign in "]}") if len(sign) == 1 else 0
        if sign == "\n" and depth <= 0:
            if statement := text[begin : token.start()].strip():
                yield first + _blank_lines(text, begin), statement
            begin, first, depth = token.end(), line, 0
    if statement := text[begin:].strip():
        yield first + _blank_lines(text, begin), statement


def _blank_lines(text: str, begin: int) -> int:
    """Empty lines a statement begins with."""
    end = begin
    while end < len(text) and text[end].isspace():
        end += 1
    return text.count("\n", begin, end)


def _header(parsed: dict[str, Any], seen: Counter[Keys]) -> Keys:
    """Path of the table a header opens; each ``[[list]]`` header opens its next entry."""
    keys: Keys = ()
    inside: Any = parsed
    while inside:
        ((name, inside),) = inside.items()
        keys += (name,)
        if isinstance(inside, list):  # [[keys]]
            keys += (seen[keys],)
            seen[keys[:-1]] += 1
            break
        if inside and (count := seen[keys]):  # a table inside the newest entry of a list
            keys += (count - 1,)
    return keys


def _paths(value: object) -> Iterator[Keys]:
    """Paths of all keys in a parsed ``key = value``."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield (key,)
        for rest in _paths(item):
            yield (key, *rest)


def _dotted(keys: Keys) -> str:
    """``plots[0].file``; a name TOML would quote is quoted."""
    text = ""
    for key in keys:
        if isinstance(key, int):
            text += f"[{key}]"
        else:
            plain = re.fullmatch(r"[A-Za-z0-9_-]+", key)
            text += ("." if text else "") + (key if plain else f'"{key}"')
    return text
