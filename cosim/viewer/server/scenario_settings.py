"""Changes of a scenario's settings, parameters and initial values that keep its comments and order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import tomlkit

from blocks.errors import PlantloopError, near_miss
from cosim.scenario.keys import keys_of
from cosim.scenario.schema import Run
from cosim.settings import SETTINGS
from cosim.viewer.server.scenario_text import Plain, assign, edited, tables_of, value_of

EDITED = ("run", "parameters", "initial")


def set_value(text: str, table: str, name: str, given: str) -> str:
    """A value of [run], [parameters] or [initial], as TOML writes it; an empty text takes it out.

    name : a key of [run]; of the other tables "block.name", however the file writes it

    Raises
    ------
    PlantloopError      no such table, a value that is no TOML, or one that is not there to be taken out
    """
    if table not in EDITED:
        raise PlantloopError(f"no table [{table}] to set; {near_miss(table, EDITED)}", value=table)
    if not name or not name.isprintable():
        raise PlantloopError(f"[{table}] {name!r} is no name of a value.", value=name)
    keys = _keys_of_name(tables_of(text).get(table, {}), name)
    if not given.strip():
        if keys is None:
            raise PlantloopError(f"[{table}] has no '{name}' to take out.", value=name)
        return _without(text, (table, *keys))
    return _with(text, (table, *(keys or (name,))), value_of(name, given))


def values_of(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Values by dotted names, of a table written with quoted keys or tables in it."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= values_of(value, f"{before}{key}.") if isinstance(value, dict) else {before + key: value}
    return found


def run_keys() -> list[dict[str, Any]]:
    """Every key of [run]: its name, its default (None: none, or it depends on others), what it does."""
    own = {f.name: None for f in fields(Run) if "check" in f.metadata}
    found = []
    for name in keys_of(Run):
        default = own[name] if name in own else SETTINGS[name].default
        plain = default if isinstance(default, (bool, int, float, str)) else None
        found.append({"name": name, "default": plain, "text": _about(name)})
    return found


# --- inside ---------------------------------------------------------------------------------------------
LOGGED = MappingProxyType(
    {
        "until": "how long [s]",
        "log_every": 'interval of what is logged [s], or "step"; default a thousandth of the run',
        "log_at": "instants that are logged [s]",
    }
)


def _about(name: str) -> str:
    return LOGGED[name] if name in LOGGED else str(SETTINGS[name].metadata["text"])


def _keys_of_name(table: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    """The keys under which a dotted name stands in a table; None where it does not."""
    for key, value in table.items():
        if key == name and not isinstance(value, dict):
            return (key,)
        if isinstance(value, dict) and name.startswith(f"{key}."):
            inside = _keys_of_name(value, name[len(key) + 1 :])
            if inside is not None:
                return (key, *inside)
    return None


def _with(text: str, keys: tuple[str, ...], value: Any) -> str:
    *path, last = keys

    def wanted(plain: Plain) -> None:
        for key in path:
            plain = plain.setdefault(key, {})
        plain[last] = value

    def write(document: Any) -> None:
        if path[0] not in document:
            document[path[0]] = tomlkit.table()
        for key in path:
            document = document[key]
        assign(document, last, value)

    return edited(text, wanted, write)


def _without(text: str, keys: tuple[str, ...]) -> str:
    def take(tables: Any) -> None:
        for key in keys[:-1]:
            tables = tables[key]
        del tables[keys[-1]]

    return edited(text, take, take)
