"""Changes of a scenario's text that keep its comments and order: blocks, fields, wires, names.

Each takes a text and returns another. What the new text says is compared with what the change means, so that
a file that is written in an unusual way is refused rather than damaged.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array, Table

from blocks.errors import PlantloopError, near_miss
from cosim.block_names import FORBIDDEN, names_port, written_connections
from cosim.viewer.server.block_renaming import renamed

Plain = dict[str, Any]


def add_block(text: str, name: str, kind: str, fields: dict[str, str]) -> str:
    """A block of a type of the library; each field as TOML writes its value.

    Raises
    ------
    PlantloopError      the name is taken or malformed, or a value is no TOML
    """
    tables = tables_of(text)
    _check_new(name, tables)
    values = {"type": kind, **{field: value_of(field, given) for field, given in fields.items()}}

    def wanted(plain: Plain) -> None:
        plain.setdefault("blocks", {})[name] = values

    def write(document: Any) -> None:
        table = tomlkit.table()
        for field, value in values.items():
            table[field] = value
        table.add(tomlkit.nl())
        if "blocks" not in document:
            document["blocks"] = tomlkit.table(is_super_table=True)
        document["blocks"][name] = table

    return edited(text, wanted, write)


def set_field(text: str, block: str, field: str, given: str) -> str:
    """A field of a block, as TOML writes its value; an empty text takes it out: its default holds."""
    _check_block(block, tables_of(text))
    value = value_of(field, given) if given.strip() else None

    def wanted(plain: Plain) -> None:
        if value is None:
            plain["blocks"][block].pop(field, None)
        else:
            plain["blocks"][block][field] = value

    def write(document: Any) -> None:
        table = document["blocks"][block]
        if value is None:
            table.pop(field, None)
        else:
            assign(table, field, value)

    return edited(text, wanted, write)


def delete_block(text: str, block: str) -> str:
    """Delete a block, with its wires."""
    _check_block(block, tables_of(text))
    mine = lambda port: port.strip().partition(".")[0] == block
    text = _list(text, "connect", lambda items: _without_wires(items, lambda *ends: any(map(mine, ends))))

    def wanted(plain: Plain) -> None:
        del plain["blocks"][block]
        if not plain["blocks"]:
            del plain["blocks"]
        wiring = plain.get("wiring", {})
        for key in ("convert", "ground"):
            if key in wiring:
                wiring[key] = [entry for entry in wiring[key] if not mine(entry)]
        for table in ("parameters", "initial", "units"):
            if table in plain:
                _without(plain[table], block)

    def write(document: Any) -> None:
        del document["blocks"][block]
        if not document["blocks"]:
            del document["blocks"]
        wiring = document.get("wiring", {})
        for key in ("convert", "ground"):
            for k in reversed(range(len(wiring.get(key, ())))):
                if mine(str(wiring[key][k])):
                    del wiring[key][k]
        for table in ("parameters", "initial", "units"):
            if table in document:
                _without(document[table], block)

    return edited(text, wanted, write)


def wire(text: str, source: str, target: str) -> str:
    """A connection of an output, "block.port", to an input; one that was grounded no longer is."""
    tables = tables_of(text)
    for end in (source, target):
        _check_port(end, tables)
    entries = tables.get("wiring", {}).get("connect", ())
    taken = [c for c in entries if any(names_port(port, target) for _, port in written_connections(c))]
    if taken:
        raise PlantloopError(f'"{target}" has a wire already: "{taken[0]}".', hint="Take that away first.")
    text = _list(text, "ground", lambda items: [i for i in items if i.strip() != target])
    return _list(text, "connect", lambda items: [*items, f"{source} -> {target}"])


def unwire(text: str, target: str) -> str:
    """Remove the connection to an input, "block.port", or its ground."""
    wiring = tables_of(text).get("wiring", {})
    before = list(wiring.get("connect", ()))
    after = _without_wires(before, lambda _, port: names_port(port, target))
    grounded = [g for g in wiring.get("ground", ()) if g.strip() == target]
    if after == before and not grounded:
        raise PlantloopError(f'nothing is connected to "{target}".')
    text = _list(text, "connect", lambda _: after)
    if any(c.strip() == target for c in wiring.get("convert", ())):
        text = _list(text, "convert", lambda items: [i for i in items if i.strip() != target])
    return _list(text, "ground", lambda items: [i for i in items if i not in grounded])


def ground(text: str, target: str) -> str:
    """Leave an input, "block.port", open on purpose."""
    _check_port(target, tables_of(text))
    return _list(text, "ground", lambda items: [*items, target])


def rename_block(text: str, old: str, new: str) -> str:
    """Another name for a block, wherever the file names it."""
    tables = tables_of(text)
    _check_block(old, tables)
    _check_new(new, tables)
    return _checked(*renamed(text, tables, old, new), "rename it in the file itself")


def value_of(field: str, given: str) -> Any:
    """The value of a text in TOML.

    Raises
    ------
    PlantloopError      it is none
    """
    try:
        found = tomllib.loads(f"value = {given}")
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise PlantloopError(
            f"{field} = {given}: {str(error).partition(' (at')[0]}.", value=given,
            hint='Numbers and [lists] as they are, text in quotes: "text".',
        ) from None  # fmt: skip
    if found.keys() != {"value"}:
        raise PlantloopError(f"{field} = {given}: expected one value.", value=given)
    return found["value"]


def tables_of(text: str) -> Plain:
    """The tables of a text."""
    return tomllib.loads(text)


def edited(text: str, wanted: Callable[[Plain], None], write: Callable[[Any], None]) -> str:
    """The text after a change of its document, which must mean the same as the change of its tables."""
    plain = copy.deepcopy(tables_of(text))
    wanted(plain)
    try:
        document = tomlkit.parse(text)
        write(document)
        found = tomlkit.dumps(document)
    except (TOMLKitError, KeyError, ValueError, TypeError) as error:
        raise PlantloopError(
            f"the file cannot be changed so: {error}.", hint="Change it in an editor."
        ) from None
    return _checked(found, plain, "change it in an editor")


def assign(table: Any, field: str, value: Any) -> None:
    """Replace a value, whose comment stays after it; a new value is added behind the last.

    What stands between the last value and the next table, a comment about that one for example, stays there.
    """
    old = table.get(field)
    item = tomlkit.item(value)
    if old is not None and hasattr(old, "trivia"):
        item.trivia.comment_ws, item.trivia.comment = old.trivia.comment_ws, old.trivia.comment
    body = table.value.body if isinstance(table, Table) and old is None else []
    last = max((k for k, (key, _) in enumerate(body) if key is not None), default=-1)
    behind = body[last + 1 :]
    del body[last + 1 :]
    table[field] = item
    body.extend(behind)


# --- inside ---------------------------------------------------------------------------------------------
def _checked(text: str, wanted: Plain, cure: str) -> str:
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        found = {}
    if not _same(found, wanted):
        raise PlantloopError(f"the file is written in a way that this change does not fit; {cure}.")
    return text


def _same(a: Any, b: Any) -> bool:
    """Whether two values are equal, where an empty table or list counts as none, and nan is itself."""
    if isinstance(a, dict) and isinstance(b, dict):
        keys = a.keys() | b.keys()
        return all(_same(a.get(k, {}), b.get(k, {})) for k in keys)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return all(map(_same, a, b))
    return bool(a == b) or (a in ({}, []) and b in ({}, [])) or (a != a and b != b)


def _list(text: str, key: str, change: Callable[[list[str]], list[str]]) -> str:
    """A list of the table [wiring] with other entries; its layout and comments stay."""
    before = list(tables_of(text).get("wiring", {}).get(key, ()))
    after = change(before)
    if before == after:
        return text

    def wanted(plain: Plain) -> None:
        plain.setdefault("wiring", {})[key] = after

    def write(document: Any) -> None:
        wiring = document.setdefault("wiring", tomlkit.table())
        if key not in wiring:
            wiring[key] = tomlkit.array()
        array: Array = wiring[key]
        for k in reversed(range(len(array))):
            if str(array[k]) not in after:
                del array[k]
        for entry in after:
            if entry not in before:
                if "\n" in array.as_string():
                    array.add_line(entry)
                    if not array.as_string().rstrip("]").endswith("\n"):
                        array.add_line(indent="")
                else:
                    array.append(entry)

    return edited(text, wanted, write)


def _without_wires(entries: list[str], gone: Callable[[str, str], bool]) -> list[str]:
    """Connections without some wires; what is left of a series or fan-out is written wire by wire."""
    kept, broken_up = [], []
    for entry in entries:
        wires = written_connections(entry)
        left = [f"{source} -> {target}" for source, target in wires if not gone(source, target)]
        if len(left) == len(wires):
            kept.append(entry)
        else:
            broken_up += left
    return kept + broken_up


def _without(table: Any, block: str) -> None:
    """Remove the keys of a block from a table of names."""
    for key in [k for k in table if k == block or str(k).startswith(f"{block}.")]:
        del table[key]


def _check_new(name: str, tables: Plain) -> None:
    if (
        not isinstance(name, str)
        or not name
        or FORBIDDEN & set(name)
        or not name.isprintable()
        or set("\"'") & set(name)
    ):
        raise PlantloopError(f"a block's name is {name!r}, expected one without . / [ ] blanks and quotes.")
    if name in _block_names(tables):
        raise PlantloopError(f"there is a block '{name}' already.")


def _check_block(name: str, tables: Plain) -> None:
    if name not in tables.get("blocks", {}):
        near = near_miss(str(name), tables.get("blocks", {}))
        raise PlantloopError(f"the table [blocks] has no '{name}'; {near}", value=name)


def _check_port(port: str, tables: Plain) -> None:
    block, dot, name = port.partition(".") if isinstance(port, str) else ("", "", "")
    if not dot or not name or set(" \t\n\"'\\") & set(port) or block not in _block_names(tables):
        raise PlantloopError(
            f"no port {port!r} of a block; {near_miss(block, _block_names(tables))}", value=port
        )


def _block_names(tables: Plain) -> list[str]:
    model = tables.get("model")
    own = [model.get("block", "plant")] if isinstance(model, dict) else []
    return [*own, *tables.get("blocks", {}), *tables.get("fmus", {})]
