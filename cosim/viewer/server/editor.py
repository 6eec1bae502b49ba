"""A scenario being edited: its text, undo and redo, its problems, and its file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from blocks.errors import PlantloopError, near_miss
from blocks.files import write_whole
from cosim.compile.netlist import Netlist
from cosim.scenario.blocks import block_type, block_types
from cosim.scenario.loader import scenario_from
from cosim.scenario.scenario import Scenario
from cosim.scenario.source import read_source, source_of
from cosim.system import System
from cosim.viewer.server import scenario_text
from cosim.viewer.server.scenario_settings import EDITED, run_keys, set_value, values_of

MOST_STEPS = 500  # that can be undone
MOST_NAMES = 2_000  # of parameters and states that a page proposes
LONGEST = 5_000  # letters of a text from a page


@dataclass(frozen=True)
class Picture:
    """The drawing: the diagram, and the flat system if it can run, else the reason why it cannot."""

    netlist: Netlist
    system: System | None
    problems: str


class Editor:
    """Edits one scenario file; nothing is written before `save`.

    path : Path     the file, which has to be a scenario that can be read
    trust : bool    may the Python code it names be run?

    Raises
    ------
    ScenarioError   it cannot be read
    """

    def __init__(self, path: Path, trust: bool = False) -> None:
        self.path, self.trust = path, trust
        self.text = self.on_disk = read_source(path).text
        self._before: list[str] = []
        self._after: list[str] = []
        self._drawn: tuple[str, Picture] | None = None
        self._scenario(self.text)

    # --- looking ----------------------------------------------------------------------------------
    @property
    def state(self) -> dict[str, Any]:
        """The data that a page shows beside the diagram."""
        tables = self._scenario(self.text).source.tables
        system = self.picture().system
        known = {} if system is None else {"parameters": system.parameters, "initial": system.states}
        return {
            "unsaved": self.text != self.on_disk,
            "undo": len(self._before),
            "redo": len(self._after),
            "blocks": {name: _fields_of(table) for name, table in tables.get("blocks", {}).items()},
            "settings": {name: _fields_of(values_of(tables.get(name, {}))) for name in EDITED},
            "names": {table: list(names)[:MOST_NAMES] for table, names in known.items()},
            "text": self.text,
        }

    def picture(self) -> Picture:
        """The present diagram."""
        if self._drawn is None or self._drawn[0] != self.text:
            scenario = self._scenario(self.text)
            netlist = scenario.diagram().netlist()
            try:
                found = Picture(netlist, scenario.system(), "")
            except PlantloopError as error:
                found = Picture(netlist, None, str(error))
            self._drawn = (self.text, found)
        return self._drawn[1]

    # --- changing ---------------------------------------------------------------------------------
    def do(self, message: Mapping[str, Any]) -> str:
        """Carry out a request of a page; returns the answer.

        Raises
        ------
        PlantloopError      it cannot be done; nothing has changed then
        """
        deeds: dict[str, Callable[[Mapping[str, Any]], str]] = {
            "add": lambda m: scenario_text.add_block(self.text, _text(m, "name"), _kind(m), _given(m)),
            "set": lambda m: scenario_text.set_field(
                self.text, _text(m, "block"), _text(m, "field"), _text(m, "value")
            ),
            "setting": lambda m: set_value(self.text, _text(m, "table"), _text(m, "name"), _text(m, "value")),
            "rename": lambda m: scenario_text.rename_block(self.text, _text(m, "block"), _text(m, "to")),
            "delete": lambda m: scenario_text.delete_block(self.text, _text(m, "block")),
            "wire": lambda m: scenario_text.wire(self.text, _text(m, "from"), _text(m, "to")),
            "unwire": lambda m: scenario_text.unwire(self.text, _text(m, "to")),
            "ground": lambda m: scenario_text.ground(self.text, _text(m, "to")),
        }
        others = {"undo": self.undo, "redo": self.redo, "save": self.save, "reload": self.reload}
        what = message.get("do")
        if isinstance(what, str) and what in others:
            return others[what]()
        if not isinstance(what, str) or what not in deeds:
            raise PlantloopError(
                f"no command {what!r}; {near_miss(str(what), [*deeds, *others])}", value=what
            )
        self._take(deeds[what](message))
        return ""

    def _take(self, text: str) -> None:
        """Replace the text, if the new one is that of a scenario."""
        if text == self.text:
            return
        self._scenario(text)
        self._before = [*self._before[-MOST_STEPS + 1 :], self.text]
        self._after, self.text = [], text

    def undo(self) -> str:
        """Undo the newest change."""
        if not self._before:
            raise PlantloopError("there is nothing to undo.")
        self._after.append(self.text)
        self.text = self._before.pop()
        return ""

    def redo(self) -> str:
        """Redo the last change undone."""
        if not self._after:
            raise PlantloopError("there is nothing to do again.")
        self._before.append(self.text)
        self.text = self._after.pop()
        return ""

    # --- the file ---------------------------------------------------------------------------------
    def save(self) -> str:
        """Write the file.

        Raises
        ------
        PlantloopError      it was changed by somebody else meanwhile, or cannot be written
        """
        gone = not self.path.exists()  # then nothing of somebody else is lost
        if not gone and self.changed_on_disk():
            raise PlantloopError(
                f"{self.path.name} was changed on disk.", hint="Load it again: undo brings your text back."
            )
        try:
            windows = not gone and b"\r\n" in self.path.read_bytes()
            write_whole(self.path, self.text.replace("\n", "\r\n") if windows else self.text)
        except OSError as error:
            raise PlantloopError(
                f"{self.path.name} cannot be written: {error}.", path=str(self.path)
            ) from None
        self.on_disk = self.text
        return f"saved {self.path.name}"

    def changed_on_disk(self) -> bool:
        """Whether the file differs from the one last read or written; one that is gone does."""
        try:
            return read_source(self.path).text != self.on_disk
        except PlantloopError:
            return True

    def reload(self) -> str:
        """Reload the text on the disk; `undo` restores the present one.

        Raises
        ------
        ScenarioError   it is no scenario any more
        """
        if not self.path.exists():
            raise PlantloopError(
                f"{self.path.name} is not there any more.", hint="Save: it is written again.",
                path=str(self.path),
            )  # fmt: skip
        text = read_source(self.path).text
        self._take(text)
        self.on_disk = text
        return f"read {self.path.name} again"

    def _scenario(self, text: str) -> Scenario:
        return scenario_from(source_of(self.path, text), self.trust)


def settings_of_run() -> list[dict[str, str]]:
    """Every key of [run]: its name, its default as TOML writes it ("": none), what it does."""
    return [
        {**entry, "default": "" if entry["default"] is None else _as_text(entry["default"])}
        for entry in run_keys()
    ]


def library() -> list[dict[str, Any]]:
    """Every block of the library: its name, what it is in a line, and its fields with their defaults."""
    found = []
    for name, cls in block_types().items():
        known = fields(cls)  # type: ignore[arg-type]  # every block is a dataclass
        if any("Callable" in str(f.type) for f in known):
            continue
        line = (cls.__doc__ or "").strip().partition("\n")[0]
        listed = [{"name": f.name, "default": _default(f), "type": str(f.type)} for f in known if f.init]
        found.append({"type": name, "line": line, "fields": listed})
    return sorted(found, key=lambda block: str(block["type"]).lower())


def _default(field: Any) -> str | None:
    """A default as TOML writes it, "" if TOML cannot express it, None if there is no default."""
    if field.default is MISSING and field.default_factory is MISSING:
        return None
    return _as_text(field.default if field.default is not MISSING else field.default_factory())


def _as_text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_as_text, value))}]"
    return ""


def _fields_of(table: Mapping[str, Any]) -> dict[str, str]:
    return {name: _as_text(value) for name, value in table.items()}


def _text(message: Mapping[str, Any], key: str) -> str:
    found = message.get(key)
    if not isinstance(found, str) or len(found) > LONGEST:
        raise PlantloopError(f"{key} is no text, or too long a one.")
    return found


def _kind(message: Mapping[str, Any]) -> str:
    kind = _text(message, "type")
    block_type(kind)
    return kind


def _given(message: Mapping[str, Any]) -> dict[str, str]:
    found = message.get("fields", {})
    if not isinstance(found, dict) or not all(
        isinstance(v, str) and len(v) <= LONGEST for v in found.values()
    ):
        raise PlantloopError("fields are texts by their names.")
    return {name: text for name, text in found.items() if text.strip()}
