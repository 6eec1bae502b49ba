"""Another name for a block in the text of a scenario: where names stand, and which texts are none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

BARE = re.compile(r"[A-Za-z0-9_-]+")
HEADER = re.compile(r"\s*\[{1,2}\s*([^\s.\]]+)")  # of a table, up to the first dot of its name
TEXT = re.compile(r"([\"'])((?:(?!\1)[^\n])*)\1")
OTHER_NAMES = ("scenario", "model", "blocks", "fmus", "diagram")  # tables that name nothing in the diagram
TEXTS = ("file", "result", "title", "labels", "description")  # keys, in tables that do: texts of their own
OTHER_TEXTS = re.compile(rf"\s*({'|'.join(TEXTS)})\s*=")
BY_BLOCK = ("blocks", "parameters", "initial", "units", "sweep", "final", "largest", "settling")


def renamed(text: str, tables: Mapping[str, Any], old: str, new: str) -> tuple[str, dict[str, Any]]:
    """The text of a file with another name of a block, and the tables that it has to mean."""
    change = _Renaming(old, new, any(str(name).endswith(f"-{old}") for name in tables.get("blocks", {})))
    lines, table = [], ""
    for line in text.splitlines(keepends=True):
        if begins := HEADER.match(line):
            table = begins[1].strip("\"'")
            line = change.header(line)
        if table not in OTHER_NAMES and not OTHER_TEXTS.match(line):
            line = change.line(line)
        lines.append(line)
    wanted = {**tables, **change.value({n: t for n, t in tables.items() if n not in OTHER_NAMES})}
    wanted["blocks"] = {new if n == old else n: table for n, table in tables["blocks"].items()}
    return "".join(lines), wanted


@dataclass(frozen=True)
class _Renaming:
    """From an old name to a new one; `hyphen`: is it also the end of another name, behind a hyphen?"""

    old: str
    new: str
    hyphen: bool

    @property
    def key(self) -> str:
        """The new name as TOML writes a key."""
        return self.new if BARE.fullmatch(self.new) else f'"{self.new}"'

    def header(self, line: str) -> str:
        """The header of a table [blocks.NAME]."""
        name = re.escape(self.old)
        found = rf"^(\s*\[\s*blocks\s*\.\s*)(?:{name}|\"{name}\"|'{name}')(?=\s*[\].])"
        return re.sub(found, lambda m: m[1] + self.key, line)

    def line(self, line: str) -> str:
        """A line in which ports and parameters stand in texts, in quoted keys and in dotted ones."""
        line = TEXT.sub(lambda m: m[1] + self.text(m[2]) + m[1], line)
        of_variant = rf"^(\s*blocks\s*\.\s*){re.escape(self.old)}(?=\s*\.)"
        line = re.sub(of_variant, lambda m: m[1] + self.key, line)
        return re.sub(rf"^(\s*){re.escape(self.old)}(?=\s*\.)", lambda m: m[1] + self.key, line)

    def text(self, text: str) -> str:
        """A port, a formula or a connection, in which the name may stand alone."""
        begins = r"(?<![\w.\-])" if self.hyphen else r"(?<![\w.])"
        ends = r"(?=\.|\s*->|\s*,|\s*$)" if "->" in text else r"(?=\.)"
        return re.sub(begins + re.escape(self.old) + ends, lambda _: self.new, text)

    def value(self, value: Any) -> Any:
        """Tables in which texts and keys name ports of the block."""
        if isinstance(value, dict):
            return {
                self.text(key): item if key in TEXTS else self._table(key, item)
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [self.value(item) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def _table(self, key: str, item: Any) -> Any:
        found = self.value(item)
        if key in BY_BLOCK and isinstance(found, dict):
            return {self.new if k == self.old else k: v for k, v in found.items()}
        return found
